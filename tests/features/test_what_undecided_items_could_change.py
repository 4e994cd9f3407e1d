"""Items that people could not decide are decided either way, whatever people answer."""

import csv
from functools import partial

import pytest
from doubles import classes, outcomes, small_pool

from assay.evalcore.evaluation.estimates import estimates
from assay.evalcore.evaluation.state import before_any_label as start
from assay.evalcore.evaluation.state import close_round
from assay.flows.evaluation.advance import advance
from assay.flows.evaluation.begin import begin_evaluation
from assay.flows.record.fold import fold
from assay.flows.record.opened import open_evaluation
from assay.flows.verify.ledger import verify
from assay.tasks.desks.caller import CallerDesk
from assay.tasks.ledger.stores.store import MemoryStore
from assay.tasks.spec.evaluation import Spec

CURVE = [{"name": "pr_curve", "at": [0, 0.6]}, "f1"]


def _curve(folder):
    data = small_pool.spec_json(*small_pool.write_small_pool(folder), method="auto", measure=CURVE)
    del data["pool"]["segments"]
    return data


# kind -> its spec, and the outcomes that all undecided items may have
KINDS = {
    "two classes with a curve": (_curve, None),
    "classes": (classes.pool_and_spec, set(classes.NAMES)),
    "number": (partial(outcomes.pool_and_spec, "number"), {"0", "100"}),
    "tags": (partial(outcomes.pool_and_spec, "tags"), {"no tag", "all tags"}),
}


@pytest.mark.parametrize("kind", KINDS)
def test_bounds_are_those_of_the_items_decided_either_way(kind, tmp_path):
    write, ways = KINDS[kind]
    spec = Spec.from_json({
        **write(tmp_path), "desk": {"kind": "caller"}, "budget": {"labels": 20}, "batch_size": 20,
    })
    with (tmp_path / "labels.csv").open(newline="", encoding="utf-8") as opened:
        truth = {row["item_id"]: row["label"] for row in csv.DictReader(opened)}
    store, undecided = MemoryStore(), set()
    begin_evaluation(store, spec)
    desk = CallerDesk(store, evaluation=spec.name, answers=spec.labels.answers)
    while advance(store, spec.name).state != "finished":
        asked = [one.item.item_id for one in desk.ask()]
        undecided = undecided or set(asked[:3])
        desk.tell({
            item: None if item in undecided else float(truth[item]) if kind == "number"
            else truth[item] or "none" for item in asked
        })

    opened = open_evaluation(store, spec.name)
    known = fold(opened.ledger, opened.statistics).looks[-1]
    assert known.undecided == 3
    for one in (row.undecided for row in known.estimates):
        if ways is None:
            assert one.all_negative is not None
            assert one.all_positive is not None
        else:
            assert set(one.if_all) == ways
    assert verify(store, spec.name).verified

    # the same rounds, as if people had decided: the estimates are those of the bounds
    closed = fold(opened.ledger, opened.statistics).closed
    codes = opened.statistics.kind.decided_alike
    first, code = next(iter(codes.items()))
    question = opened.question
    state = start(question)
    for planned in closed:
        answered = planned.answered()
        answered.code[answered.code < -1e200] = code
        state = close_round(question, state, answered)
    said = [row.undecided.all_negative or row.undecided.if_all[first] for row in known.estimates]
    assert [e.value for e in estimates(question, state)] == [one.value for one in said]
