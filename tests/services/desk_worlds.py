"""Each kind of desk with its people: one way to open it, and one way to have everybody answer.

A world knows what is true of every item: an answer, or None for what cannot be decided and is skipped.
"""

import csv
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import httpx
from doubles.desks import folder_desk, label_studio_desk, labelling, simulated_desk
from doubles.langfuse import PUBLIC, SECRET, LangfuseDouble
from services.label_studio_people import Person

from assay.evalcore.annotators.answers import AnswerKind, class_answers
from assay.tasks.desks.caller import CallerDesk
from assay.tasks.desks.desk import Batch, Desk
from assay.tasks.desks.kind import Resources
from assay.tasks.desks.label_studio.api import LabelStudioApi
from assay.tasks.desks.label_studio.desk import batch_name
from assay.tasks.desks.label_studio.page.controls import Control
from assay.tasks.desks.label_studio.page.fields import unmarked
from assay.tasks.desks.langfuse.api import LangfuseApi
from assay.tasks.desks.langfuse.desk import LangfuseDesk
from assay.tasks.desks.phoenix.api import PhoenixApi
from assay.tasks.desks.phoenix.desk import PhoenixDesk, annotation_config
from assay.tasks.desks.rest import CANNOT_TELL, name_of_batch
from assay.tasks.ledger.stores.store import Store
from assay.tasks.testing import FakeDesk

CLASSES = ("match", "no match")
TWO = class_answers(*CLASSES)
DISPLAY = ("name_a", "name_b")
Truth = Mapping[str, str | None]


@dataclass(frozen=True)
class Asked:
    """What people may answer, and what they are shown."""

    answers: AnswerKind = TWO
    display: tuple[str, ...] = DISPLAY


ASKED = Asked()


class World(Protocol):
    def open(self, annotators: int = 1) -> Desk:
        """A desk object as a new process would make it."""
        ...

    def everybody_answers(self, batch: Batch, annotators: int = 1) -> None:
        """So many people answer every item they are still offered, all of them right."""
        ...


class LabelStudioWorld:
    def __init__(
        self, api: LabelStudioApi, people: list[Person], evaluation: str, truth: Truth, asked: Asked = ASKED
    ) -> None:
        self._api, self._people, self._evaluation, self._truth = api, people, evaluation, truth
        self._asked = asked

    def open(self, annotators: int = 1) -> Desk:
        return label_studio_desk(
            self._api, evaluation=self._evaluation, answers=self._asked.answers, display=self._asked.display,
            annotators_per_item=annotators,
        )

    def everybody_answers(self, batch: Batch, annotators: int = 1) -> None:
        # People see names, never ids: the test's items carry their id in the first shown field.
        by_name = {item.shown["name_a"]: item.item_id for item in batch.items}
        project = self._people[0].projects(self._evaluation)[0]["id"]
        for person in self._people[:annotators]:
            for task in person.tasks(project):
                if task["data"]["assay_batch"] != batch_name(batch):
                    continue
                if person.has_answered(task):
                    continue
                label = self._truth[by_name[unmarked(task["data"]["shown_name_a"])]]
                person.answer(task["id"], Control(self._asked.answers).results(label))


class PhoenixWorld:
    """People who annotate spans: by the interface for programs, which the page uses too."""

    def __init__(self, url: str, evaluation: str, truth: Truth, asked: Asked = ASKED) -> None:
        self._url, self._evaluation, self._truth, self._asked = url, evaluation, truth, asked

    def open(self, annotators: int = 1) -> Desk:
        asked = labelling(
            evaluation=self._evaluation, answers=self._asked.answers, display=self._asked.display
        )
        return PhoenixDesk(PhoenixApi(self._url), asked, identity="a ledger")

    def everybody_answers(self, batch: Batch, annotators: int = 1) -> None:
        desk = self.open()
        by_name = {item.shown["name_a"]: item.item_id for item in batch.items}
        with httpx.Client(base_url=f"{self._url}/v1", timeout=60) as client:
            for project in client.get("/projects").json()["data"]:
                params = {"name": name_of_batch(batch), "limit": 1000}
                for span in client.get(f"/projects/{project['name']}/spans", params=params).json()["data"]:
                    shown = json.loads(span["attributes"]["input.value"])
                    if project["name"] != desk.project or shown["name_a"] not in by_name:
                        continue
                    label = self._truth[by_name[shown["name_a"]]]
                    client.post("/span_annotations", params={"sync": True}, json={"data": [
                        self._annotation(project["name"], span["context"]["span_id"], label, number)
                        for number in range(annotators)
                    ]}).raise_for_status()

    def _annotation(self, project: str, span: str, label: str | None, number: int) -> dict[str, object]:
        kind = annotation_config(project, self._asked.answers)["type"]
        name = project if label is not None or kind == "CATEGORICAL" else f"{project} {CANNOT_TELL}"
        result = {"label": CANNOT_TELL if label is None else label}
        if label is not None and kind == "CONTINUOUS":
            result = {"score": float(label)}
        if label is not None and kind == "FREEFORM":
            result = {"explanation": label}
        return {"name": name, "annotator_kind": "HUMAN", "span_id": span, "result": result,
                "identifier": f"person{number}"}


class LangfuseWorld:
    """People at a double of Langfuse, who take the open entries of the queue and complete them."""

    def __init__(
        self, double: LangfuseDouble, url: str, evaluation: str, truth: Truth, asked: Asked = ASKED
    ) -> None:
        self._double, self._url, self._evaluation, self._truth = double, url, evaluation, truth
        self._asked = labelling(evaluation=evaluation, answers=asked.answers, display=asked.display)

    def open(self, annotators: int = 1) -> Desk:
        return LangfuseDesk(
            LangfuseApi(self._url, PUBLIC, SECRET), self._asked, annotators_per_item=annotators,
            identity="a ledger",
        )

    def everybody_answers(self, batch: Batch, annotators: int = 1) -> None:
        by_name = {item.shown["name_a"]: item.item_id for item in batch.items}
        (queue,) = (one for one in self._double.queues if self._evaluation in one["name"])
        names = {config["id"]: config for config in self._double.configs}
        answer, *skip = (names[number] for number in queue["scoreConfigIds"])
        entries = [entry for entry in self._double.entries if entry["queueId"] == queue["id"]]
        traces = {entry["objectId"] for entry in entries}
        for number in range(annotators):
            seen = {
                self._item(score["traceId"]) for score in self._double.scores
                if score["authorUserId"] == f"person{number}" and score["traceId"] in traces
            }
            for entry in entries:
                trace = entry["objectId"]
                if entry["status"] != "PENDING" or self._item(trace) in seen:
                    continue
                name, shown = self._item(trace)
                if name != name_of_batch(batch) or shown not in by_name:
                    continue
                seen.add((name, shown))
                label = self._truth[by_name[shown]]
                config = answer if label is not None or not skip else skip[0]
                value = CANNOT_TELL if label is None else label
                number_is = config["dataType"] == "NUMERIC"
                self._double.annotate(
                    trace, config["name"], float(value) if number_is else value, f"person{number}"
                )
                self._double.complete(trace)

    def _item(self, trace: str) -> tuple[str, str]:
        span = self._double.traces[trace]
        return span["name"], json.loads(span["attributes"]["langfuse.observation.input"])["name_a"]


class FolderWorld:
    def __init__(self, folder: Path, evaluation: str, truth: Truth, asked: Asked = ASKED) -> None:
        self._path, self._evaluation, self._truth, self._asked = folder, evaluation, truth, asked

    def open(self, annotators: int = 1) -> Desk:
        return folder_desk(
            self._path, evaluation=self._evaluation, answers=self._asked.answers, display=self._asked.display,
            annotators_per_item=annotators,
        )

    def everybody_answers(self, batch: Batch, annotators: int = 1) -> None:
        """Opens the batch files and saves copies, as a spreadsheet would: the cells as they are."""
        by_name = {item.shown["name_a"]: item.item_id for item in batch.items}
        folder = self._path / self._evaluation
        for number in range(annotators):
            again = f"-again-{batch.asking}" if batch.asking > 1 else ""
            for source in sorted(folder.glob(f"round-{batch.round:04d}{again}*.csv")):
                if not again and "-again-" in source.name:
                    continue
                with source.open(encoding="utf-8-sig", newline="") as file:
                    rows = list(csv.DictReader(file))
                target = folder / "answers" / f"{source.stem}-person{number}.csv"
                with target.open("w", encoding="utf-8-sig", newline="") as file:
                    writer = csv.writer(file)
                    writer.writerow(["item_id", "label", "skip"])
                    for row in rows:
                        name = row["name_a"]
                        label = self._truth[by_name.get(name) or by_name[name.removeprefix("'")]]
                        writer.writerow([row["item_id"], label or "", "" if label else "yes"])


class CallerWorld:
    def __init__(self, store: Store, evaluation: str, truth: Truth, asked: Asked = ASKED) -> None:
        self._store, self._evaluation, self._truth, self._asked = store, evaluation, truth, asked

    def open(self, annotators: int = 1) -> CallerDesk:
        return CallerDesk(
            self._store, evaluation=self._evaluation, answers=self._asked.answers,
            annotators_per_item=annotators,
        )

    def everybody_answers(self, batch: Batch, annotators: int = 1) -> None:
        by_name = {item.shown["name_a"]: item.item_id for item in batch.items}
        desk = self.open(annotators)
        for number in range(annotators):
            name = f"person{number}"
            desk.tell({
                question.item.item_id: self._truth[by_name[question.item.shown["name_a"]]]
                for question in desk.ask(name)
            }, name)


class FakeWorld:
    """The double that is shipped: one object, since it lives in one process."""

    def __init__(self, truth: Truth, asked: Asked = ASKED) -> None:
        self._truth, self._desk = truth, FakeDesk()
        self._desk.second_answers = {}

    def open(self, annotators: int = 1) -> Desk:
        self._desk.annotators_per_item = annotators
        return self._desk

    def everybody_answers(self, batch: Batch, annotators: int = 1) -> None:
        given = self._desk.answers if batch.asking == 1 else self._desk.second_answers
        given |= {item.item_id: self._truth[item.item_id] for item in batch.items}


class SimulatedWorld:
    DELAY = 60.0

    def __init__(
        self, folder: Path, store: Store, evaluation: str, truth: Truth, asked: Asked = ASKED
    ) -> None:
        self._asked = asked
        self._labels = folder / "labels.jsonl"
        rows = [json.dumps({"item_id": item_id, "label": label}) for item_id, label in truth.items()]
        self._labels.write_text("\n".join(rows), encoding="utf-8")
        self._store, self._evaluation = store, evaluation
        self._now = 1000.0

    def open(self, annotators: int = 1) -> Desk:
        asked = labelling(
            evaluation=self._evaluation, answers=self._asked.answers, display=self._asked.display
        )
        return simulated_desk(
            self._labels, asked, Resources(store=self._store, clock=lambda: self._now),
            annotators_per_item=annotators, delay=self.DELAY,
        )

    def everybody_answers(self, batch: Batch, annotators: int = 1) -> None:
        self._now += self.DELAY
