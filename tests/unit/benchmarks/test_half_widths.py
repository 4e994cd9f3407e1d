"""Labels to a half-width in a certification: who is compared with whom, and who is not."""

import csv

import numpy as np
import pytest
from doubles.pools import synthetic_pool

from assay.evalcore.measures.registry import measure
from assay.evalcore.replay.run import oracles
from benchmarks.half_widths import HALF_WIDTHS, every_row, oracle_needs, table, write_csv

BUDGETS = (50, 200, 800)


def sums(width, covered, n=1000, wide=None):
    """Of n repeats whose mean width at b labels is width √(100/b)."""
    each = [width * (100 / b) ** 0.5 * n for b in BUDGETS]
    wider = [wide * (100 / b) ** 0.5 * n for b in BUDGETS] if wide else each
    return {
        b: {"n": n, "covers": covered * n, "width": w, "wide": n if wide else covered * n, "wide_width": ww}
        for b, w, ww in zip(BUDGETS, each, wider, strict=True)
    }


def found(**by_method):
    return {
        ("pool", name.replace("_", "-"), "f1", budget): entry
        for name, by_budget in by_method.items() for budget, entry in by_budget.items()
    }


# half-widths of 0.2 at 100 labels: 0.10 at 400, 0.05 at 1,600, and so on with the square of the width
CACHE = found(
    recalibrated=sums(0.4, 0.97),
    stratified_neyman=sums(0.36, 0.95),
    dirichlet_tree=sums(0.2, 0.80),
    passive=sums(0.8, 0.95),
)
NEEDS = {("pool", "f1"): {0.10: 100, 0.05: 400}}


def test_the_rival_is_the_one_with_the_fewest_labels_that_covers():
    rows = every_row(CACHE, NEEDS)
    first, second = table(rows, "recalibrated").splitlines()[2:]
    # 400 of ours against 100 · (0.18 / 0.10)² = 324; the tree's 100 do not count, and are shown as such
    assert first == (
        "| pool | f1 | 0.1 | 100 | 400 | 0.970 | 4.00 | stratified-neyman | 324 | 0.950 | 3.24 | 1.23 "
        "| dirichlet-tree 100* |"
    )
    # neither gets to 0.05 by 800 labels
    assert second == (
        "| pool | f1 | 0.05 | 400 | > 800 | - | > 2.00 | none | - | - | - | - | dirichlet-tree 400* |"
    )


def test_where_positives_hide_the_wide_interval_counts():
    cache = found(recalibrated=sums(0.2, 0.30, wide=0.4))
    (main,), (wide,) = every_row(cache, NEEDS), every_row(cache, NEEDS, hidden=["pool"])
    assert (main.reached[0].labels, main.reached[0].covers) == (100, False)
    assert (wide.reached[0].labels, wide.reached[0].coverage) == (400, 1.0)


@pytest.mark.parametrize(("covered", "covers"), [(0.92, False), (0.925, True)])
def test_ours_is_held_to_a_point_more(covered, covers):
    (ours,) = every_row(found(recalibrated=sums(0.4, covered)), NEEDS)
    (published,) = every_row(found(passive=sums(0.4, covered)), NEEDS)
    # P(at most 920 of 1,000) is 0.006 at 0.94 and 0.12 at 0.93; P(at most 925) 0.03 and 0.28
    assert ours.reached[0].covers is covers
    assert published.reached[0].covers


def test_the_csv_has_every_method(tmp_path):
    write_csv({"f1": every_row(CACHE, NEEDS)}, tmp_path / "all.csv")
    with (tmp_path / "all.csv").open(newline="") as file:
        lines = list(csv.DictReader(file))
    assert len(lines) == 4 * len(HALF_WIDTHS)
    ours = next(line for line in lines if (line["method"], line["half_width"]) == ("recalibrated", "0.1"))
    assert (ours["labels"], ours["coverage"], ours["covers"], ours["times_oracle"]) == (
        "400", "0.97", "True", "4.0"
    )


def test_the_oracle_s_needs_are_by_measure():
    pool = synthetic_pool(400, seed=1)
    needs = oracle_needs(pool, ["f1", "fbeta(2)"])
    (f1,) = oracles(pool, [measure("f1")])
    assert set(needs) == {"f1", "fbeta(2)"}
    assert needs["f1"] == {target: f1.labels_to(target) for target in HALF_WIDTHS}
    assert np.all(np.diff(list(needs["f1"].values())) > 0)
