"""The desk in Langfuse: an annotation queue for each evaluation, and traces that people score there.

A score of Langfuse's is of a trace and shared by all who see it: who answers later writes over it. So every
person an item is asked of has a *place*, a trace of its own, whose id is a digest of the ledger, the
evaluation, the round, the asking, the item and the number of the place: a trace that is posted again is there
once. Entries of the queue have ids of the server's: a trace that is listed twice is one place, and what
nobody completed of it is removed. A trace holds the shown fields and nothing else of the pool.

An answer counts once its entry is completed, and belongs to whoever scored last. An entry that is completed
without a score is a skip, by nobody knows whom; a score that a program filled in is invalid. Who answers two
places of one item counts once, and another place is made. `can't tell` is an answer of its own.
"""

import re
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from assay.evalcore.annotators.adjudication import Annotation
from assay.evalcore.annotators.answers import AnswerKind, NumberAnswers
from assay.tasks.desks.desk import (
    AmbiguousPost,
    Batch,
    Collected,
    DeskRefused,
    DeskUnreachable,
    Item,
    digest_of_parts,
)
from assay.tasks.desks.kind import Labelling
from assay.tasks.desks.langfuse.api import LangfuseApi, Score
from assay.tasks.desks.replies import NotThere
from assay.tasks.desks.rest import (
    CANNOT_TELL,
    Row,
    annotated_answer,
    displayed_text,
    finite_bounds,
    name_of_batch,
)

QUEUES, CONFIGS = "annotation-queues", "score-configs"
MORE_PLACES = 25             # of one item, beyond those that the spec asks for
POST_BYTES = 2_000_000       # of traces that are posted at once
_NAME = 35                   # characters that the name of a score may have
_NOBODY = "lf-nobody"


@dataclass(frozen=True, slots=True)
class _Place:
    """Where one person answers an item: its trace, and the entries of the queue that lead there."""

    trace: str
    entries: tuple[Row, ...]

    @property
    def completed(self) -> Row | None:
        return next((entry for entry in self.entries if entry.get("status") == "COMPLETED"), None)


class LangfuseDesk:
    """A desk for one evaluation. Call `prepare` before anything was ever posted: the other methods report a
    queue that is gone (DeskRefused), and make no new one."""

    def __init__(
        self, api: LangfuseApi, labelling: Labelling, *, annotators_per_item: int = 1, identity: str = ""
    ) -> None:
        """`identity` tells apart evaluations of one name in different ledgers on one server."""
        self._api, self._labelling, self._annotators = api, labelling, annotators_per_item
        self._mark = digest_of_parts(identity, labelling.evaluation)
        self._name = f"assay-{labelling.evaluation}-{self._mark[:8]}"
        self._configs = score_configs(labelling, self._mark[:8])
        self._number = ""

    @property
    def queue(self) -> str:
        """The name of the evaluation's queue in Langfuse."""
        return self._name

    def prepare(self) -> None:
        """Find the queue or make it, with the scores that people give; once more changes nothing."""
        if self._found():
            return
        configs = {row.get("name"): row for row in self._api.rows(CONFIGS) if not row.get("isArchived")}
        for config in self._configs:
            if config["name"] not in configs:
                status, configs[config["name"]] = self._api.change("POST", CONFIGS, config)
                self._refuse(status, configs[config["name"]])
        # refused where another process has made a queue of this name meanwhile: the next read tells
        status, reply = self._api.change("POST", QUEUES, {
            "name": self._name, "description": self._labelling.guidelines or "made by assay",
            "scoreConfigIds": [str(configs[config["name"]].get("id")) for config in self._configs],
        })
        if not self._found():
            self._refuse(status, reply)

    def place(self) -> str:
        """The page of the queue, on which people annotate."""
        projects = self._api.rows_of("projects", self._api.get_json("projects"))
        project = projects[0].get("id", "") if projects else ""
        return f"{self._api.url}/project/{project}/annotation-queues/{self._queue()}"

    def missing(self, batch: Batch) -> list[Item]:
        """The items of the batch that lack a place for one of the people they are asked of, by a fresh read
        of the whole queue."""
        listed = self._listed()
        return [item for item in batch.items if self._lacking(batch, item, listed)]

    def post(self, batch: Batch, items: Sequence[Item]) -> None:
        """Give each of these items its places: traces first, then entries of the queue that lead to them.
        What is there is left as it is. AmbiguousPost where a reply was lost."""
        listed = self._listed()
        self._put(batch, [
            (item, trace) for item in items for trace in self._lacking(batch, item, listed)
        ])

    def collect(self, batch: Batch) -> Collected:
        """Read the whole queue and then the scores of the batch: of each place what the last person said.
        Removes what leads to a place twice, and makes a place where one person answered two of an item."""
        listed = self._listed()
        places, answers = self._answers(batch, listed)
        removed = sum(self._remove_spare(place) for item in places.values() for place in item)
        twice = {item for item in places if _answers_beyond_people(answers.get(item, ()))}
        with suppress(AmbiguousPost, DeskUnreachable):   # the next read makes them
            self._open(batch, twice, self._annotators, places, answers)
        return Collected(
            annotations=[answer for item in places for answer in answers.get(item, ())],
            present=frozenset(
                item.item_id for item in batch.items if not self._lacking(batch, item, listed)
            ),
            copies_removed=removed,
        )

    def request_more(self, batch: Batch, item_ids: Sequence[str], annotators: int) -> None:
        """Give each of these items as many places as so many people need who have not answered it yet."""
        self._open(batch, item_ids, annotators, *self._answers(batch, self._listed()))

    def _open(
        self, batch: Batch, item_ids: Collection[str], annotators: int,
        places: Mapping[str, Sequence[_Place]], answers: Mapping[str, Sequence[Annotation]],
    ) -> None:
        additions: list[tuple[Item, str]] = []
        for item in batch.items:
            if item.item_id in item_ids and (own_places := places.get(item.item_id)):
                counted = [answer for answer in answers.get(item.item_id, ()) if answer.kind != "skip"]
                people = {answer.annotator for answer in counted}
                waiting = sum(not place.completed for place in own_places)
                present = {place.trace for place in own_places}
                free = [trace for trace in self._traces(batch, item.item_id) if trace not in present]
                additions += [(item, trace) for trace in free[: max(0, annotators - len(people) - waiting)]]
        self._put(batch, additions)

    def _answers(
        self, batch: Batch, listed: Mapping[str, Sequence[Row]]
    ) -> tuple[dict[str, list[_Place]], dict[str, list[Annotation]]]:
        """Of every item that is in the queue its places, and what was said there. The queue was read first:
        what is completed there has its score."""
        places = {
            item.item_id: own_places for item in batch.items
            if (own_places := [
                _Place(trace, tuple(listed[trace])) for trace in self._traces(batch, item.item_id)
                if trace in listed
            ])
        }
        completed = [place.trace for own_places in places.values() for place in own_places if place.completed]
        latest: dict[str, Score] = {}
        for score in self._api.scores([config["name"] for config in self._configs], completed):
            earlier = latest.get(score.trace)
            if earlier is None or _moment(score.record) >= _moment(earlier.record):
                latest[score.trace] = score
        return places, {
            item_id: [
                self._annotation(item_id, entry, latest.get(place.trace), batch.asking)
                for place in own_places if (entry := place.completed) is not None
            ]
            for item_id, own_places in places.items()
        }

    def _annotation(self, item_id: str, entry: Row, score: Score | None, asking: int) -> Annotation:
        record = score.record if score else {key: entry.get(key) for key in ("id", "status", "completedAt")}
        created = record.get("createdAt") or entry.get("completedAt")
        kind, label = annotated_answer([score.value], self._labelling.answers) if score else ("skip", None)
        if score and not score.author:
            kind, label = "invalid", None
        return Annotation(
            item_id=item_id, annotation_id=f"{record['id']}@{created}",
            annotator=f"lf-{digest_of_parts(score.author)[:16]}" if score and score.author else _NOBODY,
            kind=kind, label=label, updated_at=_moment(record) or str(created or ""),
            raw=record, asking=asking,
        )

    def _put(self, batch: Batch, places: Sequence[tuple[Item, str]]) -> None:
        """Post traces of these ids, and an entry of the queue for each."""
        moment = str(time.time_ns())
        spans = [_span(name_of_batch(batch), trace, item, moment) for item, trace in places]
        for part in _parts(spans):
            traces = {"resourceSpans": [{"scopeSpans": [{"spans": part}]}]}
            self._refuse(*self._api.send("POST", "otel/v1/traces", traces))
        path = f"{QUEUES}/{self._queue()}/items" if places else ""
        for _, trace in sorted(places, key=lambda place: place[1]):
            try:
                self._refuse(*self._api.send("POST", path, {"objectId": trace, "objectType": "TRACE"}))
            except NotThere:
                raise self._gone() from None

    def _refuse(self, status: int, reply: Row) -> None:
        if status >= 400:
            raise self._api.replies.refusal(status, reply)

    def _remove_spare(self, place: _Place) -> int:
        """Remove entries that lead to a trace again, as long as one stays: a completed one, or the first."""
        stays = place.completed or min(place.entries, key=lambda entry: (entry.get("createdAt"), entry["id"]))
        removed = 0
        for entry in place.entries:
            if entry["id"] != stays["id"] and entry.get("status") != "COMPLETED":
                with suppress(NotThere, AmbiguousPost, DeskUnreachable):   # gone, or there at the next read
                    self._api.send("DELETE", f"{QUEUES}/{self._queue()}/items/{entry['id']}")
                    removed += 1
        return removed

    def _listed(self) -> dict[str, list[Row]]:
        """The entries of the queue, by the trace to which each leads."""
        path = f"{QUEUES}/{self._queue()}/items"
        listed: dict[str, list[Row]] = {}
        try:
            for row in self._api.rows(path):
                listed.setdefault(str(row.get("objectId")), []).append(row)
        except NotThere:
            raise self._gone() from None
        return listed

    def _found(self) -> bool:
        """Whether the queue is there; then its id is known."""
        numbers = [row["id"] for row in self._api.rows(QUEUES) if row.get("name") == self._name]
        self._number = str(numbers[0]) if numbers else ""
        return bool(numbers)

    def _queue(self) -> str:
        """The id of the queue. DeskRefused where it is gone."""
        if not self._number and not self._found():
            raise self._gone()
        return self._number

    def _gone(self) -> DeskRefused:
        return DeskRefused(
            f"the annotation queue {self._name} is not in Langfuse at {self._api.url} (any more): look "
            "whether the keys are those of its project, or begin another evaluation"
        )

    def _lacking(self, batch: Batch, item: Item, listed: Collection[str]) -> list[str]:
        return [
            trace for trace in self._traces(batch, item.item_id)[: self._annotators] if trace not in listed
        ]

    def _traces(self, batch: Batch, item_id: str) -> list[str]:
        """The ids of the places that an item may have, in their order."""
        return [
            digest_of_parts(self._mark, str(batch.round), str(batch.asking), item_id, str(number))[:32]
            for number in range(1, self._annotators + MORE_PLACES + 1)
        ]


def score_configs(labelling: Labelling, mark: str) -> list[Row]:
    """What people are offered in the queue, as configurations of scores: the answer as categories that end in
    `can't tell`, as a number or as text; and where it is no category, `can't tell` as a score of its own."""
    answers = labelling.answers
    name = re.sub(r"[^\w .()-]", "-", labelling.evaluation)[: _NAME - 1 - len(mark)]
    about = " ".join(filter(None, (labelling.question, f"Give {answers.wanted}.")))
    answer: Row = {"name": f"{name} {mark}", "description": about, **_values(answers)}
    if answer["dataType"] == "CATEGORICAL":
        return [answer]
    skip = {"name": f"cannot tell {mark}", "dataType": "CATEGORICAL",
            "categories": [{"label": CANNOT_TELL, "value": 0}]}
    return [answer, skip]


def _values(answers: AnswerKind) -> Row:
    if answers.choices and not answers.several:
        labels = (*answers.choices, CANNOT_TELL)
        categories = [{"label": label, "value": value} for value, label in enumerate(labels)]
        return {"dataType": "CATEGORICAL", "categories": categories}
    if isinstance(answers, NumberAnswers):
        return {"dataType": "NUMERIC", **finite_bounds(answers, "minValue", "maxValue")}
    return {"dataType": "TEXT"}


def _span(name: str, trace: str, item: Item, moment: str) -> Row:
    attributes = {"langfuse.trace.name": name, "langfuse.observation.input": displayed_text(item)[0]}
    return {
        "traceId": trace, "spanId": digest_of_parts(trace)[:16], "name": name, "kind": 1,
        "startTimeUnixNano": moment, "endTimeUnixNano": moment,
        "attributes": [{"key": key, "value": {"stringValue": text}} for key, text in attributes.items()],
    }


def _parts(spans: Sequence[Row]) -> list[list[Row]]:
    """The spans in the order of their traces, as many together as one post takes."""
    parts: list[list[Row]] = []
    held = POST_BYTES
    for span in sorted(spans, key=lambda row: row["traceId"]):
        size = 500 + sum(len(attribute["value"]["stringValue"].encode()) for attribute in span["attributes"])
        if held + size > POST_BYTES:
            parts.append([])
            held = 0
        parts[-1].append(span)
        held += size
    return parts


def _moment(record: Mapping[str, object]) -> str:
    return str(record.get("updatedAt") or "")


def _answers_beyond_people(answers: Sequence[Annotation]) -> bool:
    """Whether somebody answered an item at two of its places."""
    people = [answer.annotator for answer in answers if answer.kind == "label"]
    return len(people) > len(set(people))
