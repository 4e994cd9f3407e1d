"""What an annotation in Label Studio means. Nothing on the server checks it, so everything is checked here.

Skipped comes first, because a skip may hold a choice; then the answer `can't tell`, which is a skip too; then
what the page's control makes of the results (`page.controls`). Anything else (no result, two choices, an
unknown class, malformed data) is invalid: it is not counted, and the raw record is kept for inspection.
Regions that people drew in the shown text are ignored.

An answer is the work of whoever edited it last, and the raw record tells who gave it first. An answer that
Label Studio attributes to nobody (its person was deleted, or it was imported) is invalid: how many people
stand behind such answers cannot be known.
"""

from collections.abc import Mapping
from typing import Any, Literal

from assay.evalcore.annotators.annotation import Annotation
from assay.tasks.desks.label_studio.page.controls import Control

# Not created_username: it holds an e-mail address.
_KEPT = ("id", "task", "result", "was_cancelled", "ground_truth", "created_at", "updated_at", "lead_time")


def annotation(
    item_id: str, raw: Mapping[str, Any], control: Control, asking: int = 1
) -> Annotation:
    """One annotation as Label Studio lists it, translated."""
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


def touched(task: Mapping[str, Any]) -> bool:
    """Whether anybody answered this task, skipped it or began to."""
    return bool(
        task.get("annotations") or task.get("drafts") or task.get("draft_exists")
        or task.get("total_annotations") or task.get("cancelled_annotations")
    )


def cannot_tell(raw: Mapping[str, Any], control: Control) -> bool:
    """Whether somebody answered that the item cannot be decided, not by Label Studio's own skipping."""
    return not raw.get("was_cancelled") and control.cannot_tell(raw.get("result"))


def _meaning(
    raw: Mapping[str, Any], control: Control
) -> tuple[Literal["label", "skip", "invalid"], str | None]:
    if raw.get("was_cancelled"):
        return "skip", None
    if cannot_tell(raw, control):
        return "skip", None
    meaning = control.meaning(raw.get("result"))
    return ("invalid", None) if meaning is None else ("label", meaning)


def _number(person: Any) -> int | None:
    """The person's number on this server; replies hold a number, or a record with one and an address."""
    number = person.get("id") if isinstance(person, dict) else person
    return number if isinstance(number, int) and not isinstance(number, bool) else None
