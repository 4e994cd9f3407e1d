"""What the rows of an answer file mean.

A row without label and skip is not answered yet. A skip comes before a label. What a label may be is said by
`AnswerKind.meaning`. A row with another label or an unknown item, or with another label than the same person
gave the same item in the same file, is invalid: kept with what it said, and named in the log.

A person is a name, in the `annotator` column or else in the file's name (kim in round-0001-kim.csv); without
either, everybody is one nameless person. The ledger gets a digest of the name, never the name.
"""

import logging
import re
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal

from assay.evalcore.annotators.adjudication import Annotation
from assay.evalcore.annotators.answers import AnswerKind
from assay.evalcore.annotators.question_answers import QuestionAnswers
from assay.tasks.desks.desk import Batch, digest_of_parts
from assay.tasks.desks.folder.csv_cells import AnswerRow, from_cell, read_answer_rows, to_cell, whole_lines

MOST_ANSWERS = 200   # rows of a file for each item of its round: of so many people
_NOT_SKIPPED = {"", "0", "no", "n", "false", "-"}
_OUR_PART = re.compile(r"(?:more|somebody-else)-[0-9a-f]{16}")
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """A file of answers as it was read."""

    path: Path
    blob: bytes
    at: datetime          # when it was last changed
    in_writing: bool      # so lately that it may not be whole yet


def answers_in(saved: Saved, stem: str, *, batch: Batch, kind: AnswerKind) -> list[Annotation]:
    """The answers in one file, whose name begins with `stem`.

    A last line that may not be whole is left for the next look: a number that is cut off is a number too.

    Raises DeskRefused if the file cannot be read as CSV with item_id and label.
    """
    file, blob = saved.path, saved.blob
    if saved.in_writing and len(whole_lines(blob)) < len(blob):
        _log.warning("%s: its last line has no end yet, and is read at a later look", file)
        blob = whole_lines(blob)
    items, columns = ItemCells(batch), answer_columns(kind)
    name_in_file = _name_in(file.name, stem)
    place = f"{file.parent.name}/{file.name}"
    given: dict[tuple[str, str], list[AnswerRow]] = {}
    most = MOST_ANSWERS * len(batch.items) + MOST_ANSWERS
    for row in read_answer_rows(
        str(file), blob, ["item_id", *columns], most=most, in_writing=saved.in_writing, also=columns
    ):
        if any(map(row.text, columns)) or _skipped(row):
            person = _person(batch.evaluation, from_cell(row.text("annotator")) or name_in_file)
            cell = row.cells.get("item_id", "")
            given.setdefault((items.get(cell) or from_cell(cell), person), []).append(row)

    answers: list[Annotation] = []
    for (item_id, person), rows in given.items():
        meanings = {_meaning(row, kind) for row in rows}
        what, label = meanings.pop() if len(meanings) == 1 and item_id in items else ("invalid", None)
        answers.append(Annotation(
            item_id=item_id,
            annotation_id=digest_of_parts(str(batch.round), place, item_id, person)[:16],
            annotator=person,
            kind=what,
            label=label,
            updated_at=saved.at.isoformat(),
            raw={"file": digest_of_parts(place)[:16], "rows": [
                {"line": row.line, **{
                    name: row.cells.get(name, "") for name in ("item_id", *columns, "skip")
                }}
                for row in rows
            ]},
            asking=batch.asking,
        ))
        if what == "invalid":
            said = ", ".join(
                f"line {row.line}: {'; '.join(row.text(one) for one in columns)[:80]!r}" for row in rows[:3]
            )
            _log.warning("%s: no valid answer for item %r (%s); correct the file", file, item_id[:80], said)
    return answers


class ItemCells:
    """The items of a batch by what a file may hold for them: as it was written, or as the pool has it."""

    def __init__(self, batch: Batch) -> None:
        self._ids = {item.item_id for item in batch.items}
        self._written = {to_cell(item_id): item_id for item_id in self._ids}

        self._bare: dict[str, list[str]] = {}
        for item_id in self._ids:
            self._bare.setdefault(item_id.strip(), []).append(item_id)

    def get(self, cell: str) -> str | None:
        """The item's id, or None if the batch has no such item, or several that differ in spaces alone."""
        if cell in self._written or cell in self._ids:
            return self._written.get(cell, cell)
        bare = self._bare.get(from_cell(cell.strip()).strip(), [])
        return bare[0] if len(bare) == 1 else None

    def __contains__(self, item_id: str) -> bool:
        return item_id in self._ids


def _skipped(row: AnswerRow) -> bool:
    return row.text("skip").lower() not in _NOT_SKIPPED


def _meaning(
    row: AnswerRow, kind: AnswerKind
) -> tuple[Literal["label", "skip", "invalid"], str | None]:
    if _skipped(row):
        return "skip", None
    if isinstance(kind, QuestionAnswers):
        return _answers(row, kind)
    text = row.text("label")
    for candidate in (from_cell(text), text):
        meaning = kind.meaning(candidate)
        if meaning is not None:
            return "label", meaning
    return "invalid", None


def _answers(
    row: AnswerRow, kind: QuestionAnswers
) -> tuple[Literal["label", "skip", "invalid"], str | None]:
    """The answers to several questions, each in a column of its name; an empty cell is no answer to it."""
    given = {name: row.text(name.lower()) for name in kind.questions}
    said = {name: from_cell(text) for name, text in given.items() if text}
    meaning = kind.of(dict(said)) or kind.of({name: given[name] for name in said})
    return ("invalid", None) if meaning is None else ("label", meaning)


def answer_columns(kind: AnswerKind) -> list[str]:
    """The columns of a file that answers are in, in lower case: `label`, or one for each question."""
    return [name.lower() for name in kind.questions] or ["label"]


def _name_in(file: str, stem: str) -> str:
    """kim, of round-0001-kim.csv and of round-0001-somebody-else-0123456789abcdef-kim.csv.

    A somebody-else file without a name was still answered by somebody else than the nameless person.
    """
    rest = file.removesuffix(".csv")[len(stem) :].strip(" -_.()")
    name = _OUR_PART.sub("", rest).strip(" -_.()")
    return name or (rest if rest.startswith("somebody-else") else "")


def _person(evaluation: str, name: str) -> str:
    name = name.strip().casefold()
    return f"folder-{digest_of_parts(evaluation, name)[:16]}" if name else "folder-nameless"
