"""Outcomes that came by themselves, of every kind of labels, by segment and of several systems: they ask
nobody.
"""

import csv
from functools import partial

import pytest
from doubles import classes, outcomes, small_pool

from assay.evalcore.errors import BadInput
from assay.flows.evaluation.advance import advance
from assay.flows.evaluation.begin import begin_evaluation
from assay.flows.verify.ledger import verify
from assay.tasks.ledger.closed_round import read_labels
from assay.tasks.ledger.record import Ledger
from assay.tasks.ledger.stores.store import MemoryStore
from assay.tasks.spec.evaluation import Spec


def _curve(folder):
    data = small_pool.spec_json(
        *small_pool.write_small_pool(folder), method="auto", measure=[{"name": "pr_curve", "at": [0]}, "f1"]
    )
    del data["pool"]["segments"]
    return data


def _two_classes(folder, **changes):
    data = small_pool.spec_json(*small_pool.write_small_pool(folder))
    return {**data, **changes}


def _of_systems(folder):
    """Two systems judged beside the pool's own prediction."""
    data = _two_classes(folder, method="recycle", measure=["recall"])
    del data["pool"]["segments"]
    data["pool"]["systems"] = {"copy": {"prediction": "prediction"}}
    return data


KINDS = {
    "two classes by segment": _two_classes,
    "two classes of two systems": _of_systems,
    "classes by segment": partial(classes.pool_and_spec, pool_segments=["predicted"]),
    "two classes with a curve": _curve,
}


def _spec(kind, folder, share):
    """With the outcomes of so large a part of the items, and all labels on the desk."""
    data = KINDS[kind](folder)
    with (folder / "labels.csv").open(newline="", encoding="utf-8") as opened:
        rows = [(row["item_id"], row["label"]) for row in csv.DictReader(opened)]
    known = rows[: round(share * len(rows))]
    with (folder / "came.csv").open("w", newline="", encoding="utf-8") as opened:
        csv.writer(opened).writerows([("item_id", "label"), *known])
    return Spec.from_json({**data, "outcomes": {"source": str(folder / "came.csv")}}), {i for i, _ in known}


@pytest.mark.parametrize("kind", KINDS)
def test_an_item_with_an_outcome_is_drawn_and_asks_nobody(kind, tmp_path):
    spec, known = _spec(kind, tmp_path, 0.5)
    store = MemoryStore()
    begin_evaluation(store, spec)
    standing = advance(store, spec.name)
    drawn = [one for n in range(1, standing.rounds + 1) for one in read_labels(Ledger(store, spec.name), n)]
    assert {one.item_id for one in drawn if one.reason == "reused"} == known & {one.item_id for one in drawn}
    asked = [one for one in drawn if one.reason != "reused"]
    assert 0 < len(asked) <= spec.budget.labels < len(drawn), "only the others count against the budget"
    assert verify(store, spec.name).verified


@pytest.mark.parametrize("kind", KINDS)
def test_where_all_are_known_the_value_is_exact_and_nobody_is_asked(kind, tmp_path):
    spec, known = _spec(kind, tmp_path, 1.0)
    store = MemoryStore()
    begin_evaluation(store, spec)
    standing = advance(store, spec.name)
    assert (standing.state, standing.rounds, standing.labels) == ("finished", 1, len(known))
    assert {row.interval for row in standing.estimates if row.value is not None} == {"exact"}
    assert verify(store, spec.name).verified


@pytest.mark.parametrize(("kind", "otherwise", "exactly"), [("number", 40, 40.0), ("tags", "arts|war", 0.5)])
def test_an_item_without_an_outcome_is_what_the_spec_says(kind, otherwise, exactly, tmp_path):
    measure = {"number": "mean", "tags": {"name": "rate", "class": "war"}}[kind]
    data = outcomes.pool_and_spec(kind, tmp_path, measure=[measure])
    ids = [f"item-{i:03d}" for i in range(outcomes.N)]
    came = {"number": dict.fromkeys(ids[:2], 40), "tags": dict.fromkeys(ids[: outcomes.N // 2], "sport")}
    with (tmp_path / "came.csv").open("w", newline="", encoding="utf-8") as opened:
        csv.writer(opened).writerows([("item_id", "label"), *came[kind].items()])
    data["outcomes"] = {"source": str(tmp_path / "came.csv"), "otherwise": otherwise}
    store = MemoryStore()
    begin_evaluation(store, Spec.from_json(data))
    [row] = advance(store, kind).estimates
    assert (row.value, row.interval) == (pytest.approx(exactly), "exact")


@pytest.mark.parametrize(("kind", "otherwise", "why"), [
    ("number", 140, "is 140.0; give a number from 0 to 100"),
    ("tags", "peace", "is 'peace'; name tags joined by bars, or none"),
    ("preference", "both", "is 'both'; name one of the classes"),
])
def test_what_no_item_can_be_is_refused(kind, otherwise, why, tmp_path):
    with pytest.raises(BadInput, match=why):
        Spec.from_json({
            **outcomes.pool_and_spec(kind, tmp_path),
            "outcomes": {"source": "came.csv", "otherwise": otherwise},
        })


def test_of_several_segments_known_items_come_into_the_sample_with_their_chances(tmp_path):
    """Known items are all positive ones of one region: no estimate leans towards them."""
    truth = {}
    data = _two_classes(tmp_path, measure=["recall"], method="passive", budget={"labels": 60})
    with (tmp_path / "labels.csv").open(newline="", encoding="utf-8") as opened:
        truth = {row["item_id"]: row["label"] for row in csv.DictReader(opened)}
    known = [item for i, item in enumerate(sorted(truth)) if truth[item] == "match" and i % 3]
    with (tmp_path / "came.csv").open("w", newline="", encoding="utf-8") as opened:
        csv.writer(opened).writerows([("item_id", "label"), *((item, "match") for item in known)])
    data["outcomes"] = {"source": str(tmp_path / "came.csv")}
    found = []
    for seed in range(8):
        store, spec = MemoryStore(), Spec.from_json({**data, "seed": seed})
        begin_evaluation(store, spec)
        found.append({row.segment: row for row in advance(store, spec.name).estimates})
    with (tmp_path / "predictions.csv").open(newline="", encoding="utf-8") as opened:
        rows = [(r["region"], truth[r["item_id"]], r["prediction"]) for r in csv.DictReader(opened)]
    for segment in (None, "region=north", "region=south"):
        mine = [p for region, y, p in rows if segment in (None, f"region={region}") and y == "match"]
        exactly = mine.count("match") / len(mine)
        covered = sum(one[segment].lower <= exactly <= one[segment].upper for one in found)
        assert covered >= 5, (segment, covered)   # 8 intervals of 95%: under 5 in one of 2,700 runs
