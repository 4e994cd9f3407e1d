"""Outcomes that came by themselves, wherever an answer is one of several classes: nobody is asked again."""

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


KINDS = {
    "classes": partial(classes.pool_and_spec, pool_segments=["predicted"]),
    "preference": partial(outcomes.pool_and_spec, "preference"),
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


@pytest.mark.parametrize("kind", ["number", "tags"])
def test_labels_that_are_no_class_have_none(kind, tmp_path):
    with pytest.raises(BadInput, match="outcomes need labels that are one of several classes"):
        Spec.from_json({**outcomes.pool_and_spec(kind, tmp_path), "outcomes": {"source": "came.csv"}})
