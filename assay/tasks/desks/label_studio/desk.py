"""The desk in Label Studio: one project per evaluation, one of its tasks per item.

What Label Studio guarantees is little (an import may commit minutes after its reply was lost; ids are used
again after deletions), so everything rests on our own keys inside each task's data, and on reading again:

    assay_batch   evaluation and round        assay_item   a digest of evaluation, round and item id, and of
                                                           the asking where an item is asked again
    shown_...     the shown fields

Nothing else is uploaded: no predictions, scores, weights or strata, and not the item's id, which may be
confidential. Items go up in the order of their digests, which says nothing about scores.

*Copies*, several tasks of one item, do no harm. A copy that nobody touched is deleted while another one is
there, after a last look at it. Labelled copies stay, and their answers are merged. A draft is not an answer,
but a task with a draft counts as touched. If an answer and two clean-ups fall into the same moment, an item
may disappear: it is then missing, and is posted again. A task whose shown fields somebody edited asks another
question: it does not count as its item, which is then missing too.
"""

import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from assay.evalcore.annotators.adjudication import Annotation
from assay.evalcore.errors import plural
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
from assay.tasks.desks.label_studio.api import Condition, LabelStudioApi, Listed
from assay.tasks.desks.label_studio.page.controls import Control, control_of
from assay.tasks.desks.label_studio.page.fields import (
    IMPORT_BYTES,
    Field,
    shown_fields,
    shown_values,
    still_shows,
)
from assay.tasks.desks.label_studio.project import EvaluationProject, ensure_webhook
from assay.tasks.desks.replies import NotThere

IMPORT_SIZE = 1000   # tasks in one import, which is one transaction: all or nothing


_log = logging.getLogger("assay.desk")


class LabelStudioDesk:
    """A desk for one evaluation.

    Call `prepare` before anything was ever posted. The other methods only look for the project, so one that
    somebody deleted is reported (DeskRefused) and not quietly replaced by an empty one.
    """

    def __init__(
        self, api: LabelStudioApi, labelling: Labelling, *, annotators_per_item: int = 1,
        title: str | None = None, identity: str = "",
    ) -> None:
        """`title` of the project instead of the evaluation's name and the question; `identity` tells apart
        evaluations of one name in different ledgers on one server."""
        self._api = api
        self._control = control_of(labelling.answers)
        self._fields = shown_fields(list(labelling.display), labelling.show_as)
        self._project = EvaluationProject(
            api, labelling, self._control, annotators=annotators_per_item, title=title, identity=identity
        )

    def prepare(self) -> None:
        """Sign in, and find the evaluation's project by its mark or create it; once more changes nothing.
        Raises DeskRefused, for a wrong token for instance, or DeskUnreachable."""
        self._project.ensure()

    def place(self) -> str:
        """The page on which people label; Label Studio leads from there to the list of items."""
        return f"{self._api.url}/projects/{self._project.ids()[0]}/data?labeling=1"

    def send_hints_to(self, url: str, secret: str) -> bool:
        """Have Label Studio call this address when somebody answers; whether that was new to it."""
        return ensure_webhook(self._api, self._project.ids(), url, secret)

    def missing(self, batch: Batch) -> list[Item]:
        """The items of the batch without a task; a late import is seen as soon as it has committed."""
        copies = self._copies(batch)
        return [item for item in batch.items if item.item_id not in copies]

    def post(self, batch: Batch, items: Sequence[Item]) -> None:
        """Import the items into the project. One attempt: after AmbiguousPost, read `missing` before another.

        More than a thousand items, or more than 20 MB, take several imports; if a later one fails the earlier
        ones stay, and `missing` knows. DeskRefused, and nothing is sent, if one item alone is larger.
        """
        if not items:
            return
        fields = self._project.fit_page(batch.items, batch.round)
        path = f"api/projects/{self._project.ids()[0]}/import"
        tasks = [{"data": self._data(batch, item, fields)} for item in items]
        tasks.sort(key=lambda task: task["data"]["assay_item"])
        for part in list(_imports(tasks)):
            try:
                reply = self._api.send("POST", path, part)
            except NotThere:
                raise self._project.deleted() from None
            if not isinstance(reply, dict) or reply.get("task_count") != len(part):
                raise AmbiguousPost(
                    f"Label Studio at {self._api.url} did not confirm the import of "
                    f"{plural(len(part), 'item')}; the desk is read before anything is sent again"
                )

    def collect(self, batch: Batch) -> Collected:
        """Read the whole batch, delete copies that nobody touched, and translate every answer."""
        copies = self._copies(batch)
        removed = 0
        answers: list[Annotation] = []
        for item_id, tasks in copies.items():
            removed += self._remove_untouched_copies(tasks)
            for task in tasks:
                answers += [
                    annotation(item_id, raw, self._control, batch.asking)
                    for raw in task.get("annotations") or ()
                ]
        return Collected(annotations=answers, present=frozenset(copies), copies_removed=removed)

    def request_more(self, batch: Batch, item_ids: Sequence[str], annotators: int) -> None:
        """Raise the overlap of the items' tasks, so that Label Studio offers them to more people.

        A task that had all its answers is offered to nobody, and raising the overlap alone does not change
        that: its `is_labeled` has to be taken back with it. Label Studio counts `can't tell` as an answer, so
        there is a place more for each.
        """
        ids = set(item_ids)
        for item_id, tasks in self._copies(batch).items():
            places = annotators + sum(
                cannot_tell(raw, self._control) for raw in tasks[0].get("annotations") or ()
            )
            if item_id in ids and int(tasks[0].get("overlap") or 1) < places:
                changes = {"overlap": places, "is_labeled": False}
                self._api.change("PATCH", f"api/tasks/{tasks[0]['id']}/", changes)

    def _copies(self, batch: Batch) -> dict[str, list[Listed]]:
        """Item id -> its tasks, the first project's lowest id first, from a full read of the batch."""
        items = {self._key(batch, item.item_id): item for item in batch.items}
        copies: dict[str, list[Listed]] = {}
        try:
            for project in self._project.ids():
                for task in self._api.tasks(project, self._in_batch(batch)):
                    data = task["data"]
                    item = items.get(str(data.get("assay_item")))
                    if item is None:   # something else somebody put there is not ours to judge
                        continue
                    if self._asks_otherwise(item, data):
                        _log.warning(
                            "%s: task %s of project %s no longer shows what was posted: somebody edited its "
                            "data; it does not count as the item %r", batch_name(batch), task.get("id"),
                            project, item.item_id,
                        )
                        continue
                    copies.setdefault(item.item_id, []).append(task)
        except NotThere:
            raise self._project.deleted() from None
        return copies

    def _asks_otherwise(self, item: Item, data: Mapping[str, object]) -> bool:
        """Whether a task shows something else than was posted: it is another question then."""
        return any(
            not still_shows(data.get(field.key), item.shown.get(field.name, "")) for field in self._fields
        )

    def _data(self, batch: Batch, item: Item, fields: Sequence[Field]) -> dict[str, str]:
        data = {"assay_batch": batch_name(batch), "assay_item": self._key(batch, item.item_id)}
        return data | shown_values(fields, item.shown)

    def _key(self, batch: Batch, item_id: str) -> str:
        repeat = [str(batch.asking)] if batch.asking > 1 else []
        return digest_of_parts(self._project.mark, str(batch.round), item_id, *repeat)[:32]

    @staticmethod
    def _in_batch(batch: Batch) -> Condition:
        return ("data.assay_batch", "equal", "String", batch_name(batch))

    def _remove_untouched_copies(self, tasks: Sequence[Listed]) -> int:
        """Delete the copies nobody touched, as long as one copy stays: the touched ones, or the first."""
        untouched = [task for task in tasks if not touched(task)]
        spare = untouched if len(untouched) < len(tasks) else untouched[1:]
        return sum(self._remove_if_untouched(int(task["project"]), int(task["id"])) for task in spare)

    def _remove_if_untouched(self, project: int, task_id: int) -> bool:
        """A last look, then delete: the time in which an answer could be lost is one round trip.

        The look is a list of one, because only lists tell of other people's drafts.
        """
        try:
            tasks = self._api.tasks(project, ("id", "equal", "Number", task_id))
            if not tasks or touched(tasks[0]):
                return False
            self._api.change("DELETE", f"api/tasks/{task_id}/")
        except (NotThere, DeskUnreachable):
            return False   # gone already, or still there at the next read
        return True


def _imports(tasks: Sequence[Listed]) -> Iterator[Sequence[Listed]]:
    """The tasks in order, as many together as one import takes. DeskRefused if one is too large."""
    part: list[Listed] = []
    held = 0
    for task in tasks:
        size = len(json.dumps(task)) + 2
        if size > IMPORT_BYTES:
            fields = {name: len(str(value)) for name, value in task["data"].items()}
            longest = max(fields, key=lambda name: fields[name])
            raise DeskRefused(
                f"an item is too large for Label Studio: its field {longest.removeprefix('shown_')!r} has "
                f"{fields[longest]:,} characters, and all fields together may have {IMPORT_BYTES:,} bytes; "
                "show a shorter text, or the address of a picture instead of the picture itself"
            )
        if part and (len(part) == IMPORT_SIZE or held + size > IMPORT_BYTES):
            yield part
            part, held = [], 0
        part.append(task)
        held += size
    if part:
        yield part


def batch_name(batch: Batch) -> str:
    """What `assay_batch` holds: `evaluation/0001`, and `evaluation/0001/again-2` of what is asked again."""
    suffix = f"/again-{batch.asking}" if batch.asking > 1 else ""
    return f"{batch.evaluation}/{batch.round:04d}{suffix}"


# Not created_username: it holds an e-mail address.
_KEPT = ("id", "task", "result", "was_cancelled", "ground_truth", "created_at", "updated_at", "lead_time")


def annotation(
    item_id: str, raw: Mapping[str, object], control: Control, asking: int = 1
) -> Annotation:
    """One annotation that Label Studio lists, in our terms: what it means (a label, a skip or invalid), who
    gave it and when, and the raw fields that are kept. Its id joins Label Studio's, used again after
    deletions, with the time of creation.

    What an annotation in Label Studio means. Nothing on the server checks it, so everything is checked here.

    Skipped comes first, because a skip may hold a choice; then the answer `can't tell`, which is a skip too;
    then what the page's control makes of the results (`page.controls`). Anything else (no result, two
    choices, an unknown class, malformed data) is invalid: it is not counted, and the raw record is kept for
    inspection. Regions that people drew in the shown text are ignored.

    An answer is the work of whoever edited it last, and the raw record tells who gave it first. An answer
    that Label Studio attributes to nobody (its person was deleted, or it was imported) is invalid: how many
    people stand behind such answers cannot be known.
    """
    person = _number(raw.get("updated_by")) or _number(raw.get("completed_by"))
    kind, label = _meaning(raw, control) if person else ("invalid", None)
    people = {name: _number(raw[name]) for name in ("completed_by", "updated_by") if name in raw}
    return Annotation(
        item_id=item_id,
        # Ids are used again after deletions on SQLite; together with the creation time they are not.
        annotation_id=f"{raw.get('id')}@{raw.get('created_at')}",
        annotator=f"ls-{person}" if person else "ls-nobody",
        kind=kind,
        label=label,
        updated_at=str(raw.get("updated_at") or ""),
        raw={key: raw[key] for key in _KEPT if key in raw} | people,
        asking=asking,
    )


def touched(task: Mapping[str, object]) -> bool:
    """Whether anybody has answered this task, skipped it or begun to (a draft). A copy of an item is removed
    only while nobody has touched it."""
    return bool(
        task.get("annotations") or task.get("drafts") or task.get("draft_exists")
        or task.get("total_annotations") or task.get("cancelled_annotations")
    )


def cannot_tell(raw: Mapping[str, object], control: Control) -> bool:
    """Whether somebody answered that the item cannot be decided, not by Label Studio's own skipping."""
    return not raw.get("was_cancelled") and control.cannot_tell(raw.get("result"))


def _meaning(
    raw: Mapping[str, object], control: Control
) -> tuple[Literal["label", "skip", "invalid"], str | None]:
    if raw.get("was_cancelled"):
        return "skip", None
    if cannot_tell(raw, control):
        return "skip", None
    meaning = control.meaning(raw.get("result"))
    return ("invalid", None) if meaning is None else ("label", meaning)


def _number(person: object) -> int | None:
    """The person's number on this server; replies hold a number, or a record with one and an address."""
    number = person.get("id") if isinstance(person, dict) else person
    return number if isinstance(number, int) and not isinstance(number, bool) else None
