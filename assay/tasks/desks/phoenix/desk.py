"""The desk in Arize Phoenix: a project for each evaluation, one of its spans for each item.

Everything rests on identities that are computed: the project's name and each span's id are digests of the
ledger, the evaluation, the round, the asking and the item, so whoever posts again posts the same span, which
Phoenix refuses. A span holds the shown fields and the name of its batch, and nothing else of the pool: not
the item's id, no prediction, no score.

People answer with an annotation of the project's name, of which Phoenix offers the values: a list of classes,
a range of numbers, or text (tags, separated by bars). `can't tell` is a value of its own. Only annotations
by people count; of several by one person the latest. Phoenix shows every item to everybody, so several people
may answer each without being asked; who they are it knows only where they sign in.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Literal
from urllib.parse import quote

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
from assay.tasks.desks.phoenix.api import PHOENIX_PAGE_SIZE, PhoenixApi
from assay.tasks.desks.replies import NotThere
from assay.tasks.desks.rest import (
    CANNOT_TELL,
    Query,
    Row,
    annotated_answer,
    displayed_text,
    finite_bounds,
    name_of_batch,
)

MOST_SPANS = 100            # whose annotations are asked for at once, in an address
ARRIVES_WITHIN = 20.0       # seconds in which posted spans are listed, or the post is ambiguous
_LOOK_EVERY = 0.2   # seconds between two looks for what was posted
_KEPT = ("id", "name", "result", "source", "annotator_kind", "created_at", "updated_at")


class PhoenixDesk:
    """A desk for one evaluation. Call `prepare` before anything was ever posted: the other methods report a
    project that is gone (DeskRefused), and make no new one."""

    def __init__(self, api: PhoenixApi, labelling: Labelling, *, identity: str = "") -> None:
        """`identity` tells apart evaluations of one name in different ledgers on one server."""
        self._api, self._labelling, self._answers = api, labelling, labelling.answers
        self._mark = digest_of_parts(identity, labelling.evaluation)
        self._project = f"assay-{labelling.evaluation}-{self._mark[:8]}"

    @property
    def project(self) -> str:
        """The name of the evaluation's project in Phoenix."""
        return self._project

    def prepare(self) -> None:
        """Find the project or make it, with the annotations that people give; once more changes nothing."""
        try:
            self._api.get_json(self._path())
        except NotThere:
            about = " ".join(filter(None, (self._labelling.question, self._labelling.guidelines)))
            project = {"name": self._project, "description": about or "made by assay"}
            self._made("projects", project, lambda: self._api.get_json(self._path()))
        for config in self._configs():
            path = self._path(f"annotation_configs/{quote(config['name'])}")
            self._made("annotation_configs", config, partial(self._api.change, "PUT", path))

    def place(self) -> str:
        """The page of the project on which people annotate."""
        number = self._api.get_json(self._path()).get("data", {}).get("id", "")
        return f"{self._api.url}/projects/{number}"

    def missing(self, batch: Batch) -> list[Item]:
        """The items of the batch without a span, by a fresh read of all spans of the batch."""
        present = self._present(batch)
        return [item for item in batch.items if self._span(batch, item.item_id) not in present]

    def post(self, batch: Batch, items: Sequence[Item]) -> None:
        """Put spans of these items into the project, and wait until Phoenix lists them. Spans that are there
        are left as they are. AmbiguousPost where a reply was lost, or they are not listed in time."""
        present = self._present(batch)
        new = {
            span: item for item in items if (span := self._span(batch, item.item_id)) not in present
        }
        if not new:
            return
        moment = datetime.now(UTC).isoformat()
        spans = [self._span_json(batch, span, new[span], moment) for span in sorted(new)]
        status, reply = self._api.send("POST", self._path("spans"), {"data": spans})
        if status == 400 and not reply.get("duplicate_spans"):
            raise DeskRefused(f"Phoenix at {self._api.url} refused the spans of {name_of_batch(batch)}")
        waits_until = time.monotonic() + ARRIVES_WITHIN
        while not new.keys() <= self._present(batch):
            if time.monotonic() > waits_until:
                raise AmbiguousPost(
                    f"Phoenix at {self._api.url} does not list what was posted yet; it is read again before "
                    "anything is posted twice"
                )
            time.sleep(_LOOK_EVERY)

    def collect(self, batch: Batch) -> Collected:
        """Read the annotations of the whole batch: of each item and person the latest answer."""
        present = self._present(batch)
        items = {self._span(batch, item.item_id): item.item_id for item in batch.items}
        spans = sorted(present & items.keys())
        newest: dict[tuple[str, str], Row] = {}
        names = [config["name"] for config in self._configs()]
        for start in range(0, len(spans), MOST_SPANS):
            for row in self._annotations(spans[start : start + MOST_SPANS], names):
                if row.get("annotator_kind") == "HUMAN" and row.get("span_id") in items:
                    key = str(row["span_id"]), _person(row)
                    earlier = newest.get(key, {})
                    if str(row.get("updated_at")) >= str(earlier.get("updated_at", "")):
                        newest[key] = row
        answers = [
            self._annotation(items[span], person, row, batch.asking)
            for (span, person), row in sorted(newest.items())
        ]
        return Collected(annotations=answers, present=frozenset(items[span] for span in spans))

    def request_more(self, batch: Batch, item_ids: Sequence[str], annotators: int) -> None:
        """Nothing: Phoenix shows every item to everybody, as often as they like."""

    def _annotations(self, spans: Sequence[str], names: Sequence[str]) -> list[Row]:
        params: Query = {
            "span_ids": list(spans), "include_annotation_names": list(names), "limit": PHOENIX_PAGE_SIZE,
        }
        try:
            return self._api.rows(self._path("span_annotations"), params)
        except NotThere:   # all of them were deleted meanwhile, or the project: the next read says which
            return []

    def _present(self, batch: Batch) -> set[str]:
        """The ids of the spans of the batch."""
        params: Query = {"name": name_of_batch(batch), "limit": PHOENIX_PAGE_SIZE}
        try:
            rows = self._api.rows(self._path("spans"), params)
        except NotThere:
            raise DeskRefused(
                f"the project {self._project} is gone from Phoenix at {self._api.url}; restore it, or begin "
                "another evaluation"
            ) from None
        contexts = (row.get("context") for row in rows)
        return {str(context.get("span_id")) for context in contexts if isinstance(context, dict)}

    def _made(self, path: str, body: Row, use: Callable[[], object]) -> None:
        """Make something that may be there already, and use it. What became of a lost reply, its use tells:
        DeskUnreachable where it is not there then."""
        lost = ""
        try:
            status, _ = self._api.send("POST", path, body)
            if status == 400:
                refused = f"Phoenix at {self._api.url} refused to make {body['name']!r} among its {path}"
                raise DeskRefused(refused)
        except AmbiguousPost as error:
            lost = str(error)
        try:
            use()
        except NotThere:
            if lost:
                raise DeskUnreachable(lost) from None
            raise

    def _configs(self) -> list[Row]:
        """What people are offered: the answer, and where Phoenix has no list of values, `can't tell`."""
        answer = annotation_config(self._project, self._answers)
        if answer["type"] == "CATEGORICAL":
            return [answer]
        skip = {"name": f"{self._project} {CANNOT_TELL}", "type": "CATEGORICAL", **_NO_DIRECTION,
                "values": [{"label": CANNOT_TELL}]}
        return [answer, skip]

    def _annotation(self, item_id: str, person: str, row: Row, asking: int) -> Annotation:
        kind, label = meaning(row.get("result"), self._answers)
        return Annotation(
            item_id=item_id, annotation_id=f"{row.get('id')}@{row.get('created_at')}", annotator=person,
            kind=kind, label=label, updated_at=str(row.get("updated_at") or ""),
            raw={key: row[key] for key in _KEPT if key in row}, asking=asking,
        )

    def _span_json(self, batch: Batch, span: str, item: Item, moment: str) -> Row:
        text, mime = displayed_text(item)
        return {
            "name": name_of_batch(batch),
            "context": {"trace_id": digest_of_parts(span)[:32], "span_id": span},
            "span_kind": "CHAIN", "start_time": moment, "end_time": moment, "status_code": "OK",
            "attributes": {"input.value": text, "input.mime_type": mime},
        }

    def _span(self, batch: Batch, item_id: str) -> str:
        return digest_of_parts(self._mark, str(batch.round), str(batch.asking), item_id)[:16]

    def _path(self, rest: str = "") -> str:
        return f"projects/{quote(self._project)}" + (f"/{rest}" if rest else "")


_NO_DIRECTION: Row = {"optimization_direction": "NONE"}


def annotation_config(name: str, answers: AnswerKind) -> Row:
    """What Phoenix is told of the answers that people may give, as its configuration of an annotation: a list
    of values that ends in `can't tell`, a range of numbers, or text."""
    if answers.choices and not answers.several:
        values = [{"label": choice} for choice in (*answers.choices, CANNOT_TELL)]
        return {"name": name, "type": "CATEGORICAL", **_NO_DIRECTION, "values": values}
    if isinstance(answers, NumberAnswers):
        bounds = finite_bounds(answers, "lower_bound", "upper_bound")
        return {"name": name, "type": "CONTINUOUS", **_NO_DIRECTION, **bounds}
    return {"name": name, "type": "FREEFORM", "description": f"write {answers.wanted}"}


def meaning(result: object, answers: AnswerKind) -> tuple[Literal["label", "skip", "invalid"], str | None]:
    """What an annotation's result says: a label in its fixed spelling, a skip, or something that is no
    answer. The value is the label, else the explanation (of text), else the score (of numbers)."""
    parts = result if isinstance(result, Mapping) else {}
    return annotated_answer(map(parts.get, ("label", "explanation", "score")), answers)


def _person(row: Row) -> str:
    """Who gave an annotation, without a name: a digest of the account, or of the identifier that came with
    it."""
    account = row.get("user_id") or row.get("identifier") or ""
    return f"px-{digest_of_parts(str(account))[:16]}" if account else "px-nameless"
