"""Whole evaluations on real desks, with people who skip, edit, take back, delete and answer late."""

import csv
from datetime import timedelta
from uuid import uuid4

import pytest
from doubles.desks import folder_desk, label_studio_desk
from doubles.small_pool import small_spec

from assay.evalcore.annotators.answers import class_answers
from assay.flows.evaluation.advance import Timing, advance
from assay.flows.evaluation.begin import begin_evaluation
from assay.flows.verify.ledger import verify
from assay.tasks.desks.desk import Batch
from assay.tasks.desks.label_studio.desk import batch_name
from assay.tasks.ledger.asked_round import read_plan
from assay.tasks.ledger.closed_round import read_labels, read_revisions
from assay.tasks.ledger.record import Ledger
from assay.tasks.ledger.stores.store import MemoryStore

CLASSES = ("match", "no match")
OTHER = {"match": "no match", "no match": "match"}


class InLabelStudio:
    """People who work through the API of a real server."""

    def __init__(self, spec, request):
        self.person = request.getfixturevalue("people")[0]
        api = request.getfixturevalue("label_studio_api")
        self.name = spec.name
        self.desk = label_studio_desk(
            api, evaluation=spec.name, answers=class_answers(*CLASSES), display=["text"], identity=uuid4().hex
        )

    def _task(self, planned, item, asking=1):
        project = next(p["id"] for p in self.person.projects(f"evaluation {self.name}."))
        batch = batch_name(Batch(evaluation=self.name, round=planned.number, items=[], asking=asking))
        shown = next(planned.shown[t]["text"] for t in planned.asked() if planned.item_id[t] == item)
        return next(
            task for task in self.person.tasks(project)
            if task["data"]["assay_batch"] == batch and task["data"]["shown_text"] == shown
        )

    def answer(self, planned, item, label, asking=1):
        task = self._task(planned, item, asking)["id"]
        result = [{"from_name": "label", "to_name": "shown_text", "type": "choices",
                   "value": {"choices": [label]}}]
        self.person.answer(task, [] if label is None else result, was_cancelled=label is None)

    def edit(self, planned, item, label):
        (annotation,) = self._task(planned, item)["annotations"]
        self.person.withdraw(annotation["id"])
        self.answer(planned, item, label)

    def take_back(self, planned, item):
        (annotation,) = self._task(planned, item)["annotations"]
        self.person.withdraw(annotation["id"])

    def delete(self, planned, item):
        self.person.delete_task(self._task(planned, item)["id"])


class InAFolder:
    """People who save CSV files."""

    def __init__(self, spec, request):
        self.folder = request.getfixturevalue("tmp_path") / "desk"
        self.name, self.said = spec.name, {}
        self.desk = folder_desk(
            self.folder, evaluation=spec.name, answers=class_answers(*CLASSES), display=["text"]
        )

    def answer(self, planned, item, label, asking=1):
        self.said.setdefault((planned.number, asking), {})[item] = label
        self._save(planned.number, asking)

    def _save(self, number, asking):
        again = f"-again-{asking}" if asking > 1 else ""
        path = self.folder / self.name / "answers" / f"round-{number:04d}{again}-kim.csv"
        with path.open("w", newline="") as opened:
            rows = csv.writer(opened)
            rows.writerow(["item_id", "label", "skip"])
            for item, label in self.said[number, asking].items():
                rows.writerow([item, label or "", "" if label else "yes"])

    def edit(self, planned, item, label):
        self.answer(planned, item, label)

    def take_back(self, planned, item):
        del self.said[planned.number, 1][item]
        self._save(planned.number, 1)

    def delete(self, planned, item):
        """Somebody cuts the item's line out of the batch file and out of the answers."""
        self.take_back(planned, item)
        path = self.folder / self.name / f"round-{planned.number:04d}.csv"
        lines = path.read_text(encoding="utf-8-sig").splitlines(keepends=True)
        path.write_text("".join(line for line in lines if not line.startswith(item)), encoding="utf-8-sig")


@pytest.fixture(params=[pytest.param(InLabelStudio, marks=pytest.mark.services), InAFolder])
def world(request, tmp_path):
    spec = small_spec(tmp_path, n=60, name=f"change-{uuid4().hex[:8]}", budget={"labels": 12},
                      batch_size=6, measure=["accuracy"])
    made = request.param(spec, request)
    with (tmp_path / "labels.csv").open(newline="") as opened:
        made.truth = {row["item_id"]: row["label"] for row in csv.DictReader(opened)}
    made.store, made.spec = MemoryStore(), spec
    begin_evaluation(made.store, spec, made.desk)
    return made


def step(world, **more):
    return advance(
        world.store, world.name, world.desk, timing=Timing(repost_after=timedelta(hours=1)), **more
    )


def the_round(world, number):
    planned = read_plan(Ledger(world.store, world.name), number)
    return planned, [planned.item_id[t] for t in planned.asked()]


def verified(world):
    result = verify(world.store, world.name)
    assert result.verified, result.differences


def test_skips_edits_deletions_and_late_answers_come_to_what_the_policy_says(world):
    step(world)
    planned, items = the_round(world, 1)
    skipped, edited, taken_back, deleted = items[:4]
    for item in items:
        world.answer(planned, item, None if item == skipped else world.truth[item])
    waiting = step(world)
    assert (waiting.waiting_for.asked_again, waiting.waiting_for.round) == (1, 1)
    world.answer(planned, skipped, None, asking=2)
    step(world)
    decided = {d.item_id: d for d in read_labels(Ledger(world.store, world.name), 1)}
    assert (decided[skipped].reason, decided[skipped].askings) == ("skipped", 2)

    world.edit(planned, edited, OTHER[world.truth[edited]])
    world.take_back(planned, taken_back)
    world.delete(planned, deleted)
    standing = step(world, look_again=True)
    assert standing.revision == 1
    (revision,) = read_revisions(Ledger(world.store, world.name))
    now = {i.decided.item_id: (i.decided.label, i.decided.reason) for i in revision.changed}
    assert now == {
        edited: (int(world.truth[edited] == "no match"), None), taken_back: (None, "withdrawn")
    }, "and what was deleted keeps the answer that was seen"
    verified(world)

    planned, items = the_round(world, 2)
    by_prediction = {}
    for t in planned.asked():
        by_prediction.setdefault(int(planned.prediction[t]), []).append(planned.item_id[t])
    late = max(by_prediction.values(), key=len)[-1]
    for item in items:
        if item != late:
            world.answer(planned, item, world.truth[item])
    closed = step(world, close_round="open")
    assert closed.to_json()["estimates"][0]["nonresponse"]["unanswered"] == 1
    world.answer(planned, late, world.truth[late])
    done = step(world, look_again=True)
    assert (done.state, done.undecided) == ("finished", 2)
    assert "nonresponse" not in done.to_json()["estimates"][0]
    verified(world)
