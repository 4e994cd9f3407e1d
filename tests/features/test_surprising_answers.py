"""Surprising answers go to a second person, wherever an answer is one of several classes."""

import csv
from functools import partial

import pytest
from doubles import classes, outcomes, small_pool

from assay.evalcore.errors import BadInput
from assay.flows.evaluation.advance import advance
from assay.flows.evaluation.begin import begin_evaluation
from assay.flows.verify.ledger import verify
from assay.tasks.desks.caller import CallerDesk
from assay.tasks.ledger.asked_round import read_plan
from assay.tasks.ledger.closed_round import read_labels
from assay.tasks.ledger.record import Ledger
from assay.tasks.ledger.stores.store import MemoryStore
from assay.tasks.spec.evaluation import Spec

AGAIN = {"kind": "caller", "ask_again": {"when": "always", "chance": 0.3, "moves": 0.0}}


def _small(folder, **changes):
    data = {**small_pool.spec_json(*small_pool.write_small_pool(folder)), **changes}
    if changes:
        del data["pool"]["segments"]
    return data


KINDS = {
    "two classes with a curve": partial(
        _small, method="auto", measure=[{"name": "pr_curve", "at": [0, 0.6]}, "f1"]
    ),
    "classes": classes.pool_and_spec,
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_surprising_answer_is_asked_of_others_who_decide(kind, tmp_path):
    spec = Spec.from_json({
        **KINDS[kind](tmp_path), "desk": AGAIN, "budget": {"labels": 40}, "batch_size": 20,
    })
    with (tmp_path / "labels.csv").open(newline="", encoding="utf-8") as opened:
        truth = {row["item_id"]: row["label"] for row in csv.DictReader(opened)}
    store, ledger = MemoryStore(), None
    begin_evaluation(store, spec)
    ledger = Ledger(store, spec.name)
    desk = CallerDesk(store, evaluation=spec.name, answers=spec.labels.answers)
    tried: dict[str, int] = {}
    number = 1
    while advance(store, spec.name).state != "finished":
        number = number if read_labels(ledger, number) is None else number + 1
        again = read_plan(ledger, number).again
        for one in desk.ask():
            item = one.item.item_id
            count = tried[item] = tried.get(item, 0) + 1
            first = spec.labels.answers.text(again[item][0]) if again.get(item) else truth[item]
            desk.tell({item: first if count == 1 else truth[item]}, annotator=f"person {count}")
    surprised = {
        item for n in (1, 2) for item, answers in read_plan(ledger, n).again.items()
        if spec.labels.answers.text(answers[0]) != truth[item]
    }
    assert surprised, "some answer has a small chance"
    labels = {one.item_id: one.label for n in (1, 2) for one in read_labels(ledger, n)}
    for item in surprised:
        assert tried[item] > 1
        assert spec.labels.answers.text(labels[item]) == truth[item], "two of three say so"
    assert verify(store, spec.name).verified


@pytest.mark.parametrize("kind", ["number", "tags"])
def test_answers_without_a_chance_of_their_own_are_not_asked_again(kind, tmp_path):
    with pytest.raises(BadInput, match=r"desk\.ask_again needs answers that have a chance each"):
        Spec.from_json({**outcomes.pool_and_spec(kind, tmp_path), "desk": AGAIN})
