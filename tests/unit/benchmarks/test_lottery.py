"""Pools drawn by lot: the same on every machine, valid, and of every kind."""

import numpy as np
import pytest

from benchmarks.lottery import EDGE, FAULTS, draw
from benchmarks.unseen import asked, run
from benchmarks.unseen_doc import coverage_table, half_width_table, ratio_table, worst

SOME = (0, 1, 2, 5, 9, 19, 24, 35, 44, 50)   # none above 50,000 items


@pytest.mark.parametrize("index", SOME)
def test_a_drawn_pool_is_valid_and_the_same_again(index: int):
    ticket, again = draw(index), draw(index)
    pool = ticket.pool
    assert np.array_equal(pool.score, again.pool.score)
    assert np.array_equal(pool.label, again.pool.label)
    assert np.isfinite(pool.score).all()
    assert ((pool.probability >= EDGE) & (pool.probability <= 1 - EDGE)).all()
    assert set(np.unique(pool.prediction)) <= {0, 1}
    assert 2 <= pool.label.sum() < len(pool.label)
    # the threshold is 0 unless everything is predicted alike, or only probabilities are supplied
    if ticket.kind not in FAULTS[3:5] and ", probability," not in ticket.says:
        assert np.array_equal(pool.prediction == 1, pool.score > 0)


def test_what_is_asked_depends_on_the_pool_alone():
    batch, measures = asked(7)
    assert asked(7)[0] == batch
    assert [m.name for m in asked(7)[1]] == [m.name for m in measures]
    # F1 alone, F1 with the others, or any order of all eight: each must come up
    heads = {(len(m), m[0].name == "f1") for _, m in map(asked, range(40))}
    assert {(1, True), (8, True), (8, False)} <= heads


def test_one_pool_gives_one_line_of_every_table():
    # 44: 338 items, shuffled
    line = run(44, repeats=2, beside=True, budgets=(50, 100))
    assert set(line["methods"]) >= {"recalibrated"}
    for name, budgets in line["methods"]["recalibrated"].items():
        if name != "seconds":
            assert set(budgets) == {"50", "100"}
            assert all(entry["n"] == 2 for entry in budgets.values())
    assert line["kind"] in worst([line])
    assert line["kind"] in coverage_table([line])
    assert "kind" in ratio_table([line])
    told = half_width_table([line])
    assert set(line["oracle"]["f1"]) == {"0.1", "0.05"}
    assert "| 0.1 | recalibrated |" in told
    assert "| 0.05 | stratified-neyman |" in told


def test_labels_to_a_half_width_are_compared_pool_by_pool():
    def line(own, other):
        def by_budget(width, covers):
            return {"f1": {str(b): {"n": 10, "covers": covers * 10, "width": width * 10 * (100 / b) ** 0.5}
                           for b in (50, 200, 800)}}
        return {"oracle": {"f1": {"0.1": 100, "0.05": 400}},
                "methods": {"recalibrated": by_budget(*own), "passive": by_budget(*other)}}

    # to 0.10: ours 400 and 100 labels, theirs 225 and more than 800: of the two pools one can be compared
    told = half_width_table([line((0.4, 1.0), (0.3, 0.9)), line((0.2, 0.9), (0.8, 1.0))]).splitlines()
    assert told[2] == "| 0.1 | recalibrated | 2 of 2 | 0.950 | 2.50 | 1.00 | 2 |"
    assert told[3] == "| 0.1 | passive | 1 of 2 | 0.900 | 2.25 | 1.78 | 1 |"
