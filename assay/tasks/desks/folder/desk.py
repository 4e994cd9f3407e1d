"""The desk without a server: batches go out as CSV files, answers come back as CSV files.

    <path>/<evaluation>/EVALUATION.txt                 whose folder it is: a mark of evaluation and ledger
    <path>/<evaluation>/INSTRUCTIONS.txt               for the people who label
    <path>/<evaluation>/round-0001.csv                 item_id, the shown fields, an empty `label` column
    <path>/<evaluation>/round-0001-more-...csv         items that were lost from the folder, asked again
    <path>/<evaluation>/round-0001-somebody-else-...   items people disagree on, for one person more
    <path>/<evaluation>/round-0001-again-2.csv         items everybody skipped, asked once more
    <path>/<evaluation>/answers/round-0001*.csv        answers: item_id, label; optionally annotator, skip

Batch files are written once, whole or not at all, so two processes that post at once make one file. An item
is on the desk if any batch file of its round lists it.

People save a copy of a batch file in `answers/`, with their name in its name. Labels filled in and saved in
the batch file itself count too. A file that cannot be read at all stops the evaluation with a message that
names it, because somebody has to save it again; a row that cannot be understood is one invalid answer (see
below). Whoever may write to the folder may be a stranger to the machine that reads it: links are not
followed, files have a limit, and messages repeat nothing of a file that is not understood.

The same name may be used in another ledger, or again after a ledger was deleted. Answers to that evaluation's
question are none to this one's, so a folder with another mark, or with batches and no mark, is refused.
"""

import contextlib
import logging
import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from stat import S_ISREG
from typing import Literal
from uuid import uuid4

from assay.evalcore.annotators.adjudication import Annotation
from assay.evalcore.annotators.answers import AnswerKind
from assay.evalcore.annotators.question_answers import QuestionAnswers
from assay.tasks.desks.desk import Batch, Collected, DeskRefused, DeskUnreachable, Item, digest_of_parts
from assay.tasks.desks.folder.csv_cells import (
    OURS,
    AnswerRow,
    from_cell,
    read_answer_rows,
    to_cell,
    whole_lines,
    write_rows,
)
from assay.tasks.desks.kind import Labelling
from assay.tasks.operating_system import AS_BYTES, NOT_FOLLOWING, NOT_WAITING, flush_folder, write_durably

MOST_ROWS_OF_ITEM = 200   # rows of a file for each item of its round: of so many people
_NOT_SKIPPED = {"", "0", "no", "n", "false", "-"}
_OUR_PART = re.compile(r"(?:more|somebody-else)-[0-9a-f]{16}")
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """One file of answers as it was read: its path, its bytes, when it was last changed, and whether that
    was so lately (less than `WRITING_SECONDS` ago) that it may not be whole yet.

    What the rows of an answer file mean.

    A row without label and skip is not answered yet. A skip comes before a label. What a label may be is said
    by `AnswerKind.meaning`. A row with another label or an unknown item, or with another label than the same
    person gave the same item in the same file, is invalid: kept with what it said, and named in the log.

    A person is a name, in the `annotator` column or else in the file's name (kim in round-0001-kim.csv);
    without either, everybody is one nameless person. The ledger gets a digest of the name, never the name.
    """

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
    answer_rows: dict[tuple[str, str], list[AnswerRow]] = {}
    max_rows = MOST_ROWS_OF_ITEM * len(batch.items) + MOST_ROWS_OF_ITEM
    for row in read_answer_rows(
        str(file), blob, ["item_id", *columns], max_rows=max_rows, in_writing=saved.in_writing, also=columns
    ):
        if any(map(row.text, columns)) or _skipped(row):
            person = _person(batch.evaluation, from_cell(row.text("annotator")) or name_in_file)
            cell = row.cells.get("item_id", "")
            answer_rows.setdefault((items.get(cell) or from_cell(cell), person), []).append(row)

    answers: list[Annotation] = []
    unknown: list[AnswerRow] = []
    for (item_id, person), rows in answer_rows.items():
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
        if item_id not in items:
            unknown += rows
        elif what == "invalid":
            lines = ", ".join(
                f"line {row.line}: {'; '.join(row.text(name) for name in columns)[:80]!r}" for row in rows[:3]
            )
            remedy = "what INSTRUCTIONS.txt says" if isinstance(kind, QuestionAnswers) else kind.wanted
            _log.warning("%s: no valid answer for item %r (%s); write %s", file, item_id[:80], lines, remedy)
    if unknown:
        lines = ", ".join(f"line {row.line}: {row.text('item_id')[:80]!r}" for row in unknown[:3])
        _log.warning(
            "%s: %s not counted, because this round asks of no such item (%s); leave the column "
            "item_id as it was: a spreadsheet takes away the zeros in front of a number",
            file, "1 answer is" if len(unknown) == 1 else f"{len(unknown):,} answers are", lines,
        )
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
    texts = {name: row.text(name.lower()) for name in kind.questions}
    answers = {name: from_cell(text) for name, text in texts.items() if text}
    meaning = kind.joint_answer(dict(answers)) or kind.joint_answer({name: texts[name] for name in answers})
    return ("invalid", None) if meaning is None else ("label", meaning)


def answer_columns(kind: AnswerKind) -> list[str]:
    """The columns of a file that answers are in, in lower case: `label`, or one for each question."""
    return [name.lower() for name in kind.questions] or ["label"]


def _name_in(file: str, stem: str) -> str:
    """kim, of round-0001-kim.csv and of round-0001-somebody-else-0123456789abcdef-kim.csv.

    A somebody-else file without a name was still answered by somebody else than the nameless person.
    """
    suffix = file.removesuffix(".csv")[len(stem) :].strip(" -_.()")
    name = _OUR_PART.sub("", suffix).strip(" -_.()")
    return name or (suffix if suffix.startswith("somebody-else") else "")


def _person(evaluation: str, name: str) -> str:
    name = name.strip().casefold()
    return f"folder-{digest_of_parts(evaluation, name)[:16]}" if name else "folder-nameless"


ANSWERS = "answers"
MARK = "EVALUATION.txt"
MOST_FILE_BYTES = 16 << 20   # of a file, beside what the round shows
WRITING_SECONDS = 10.0   # a file that was changed more lately may not be whole yet
_UNFOLLOWED = NOT_FOLLOWING | NOT_WAITING | AS_BYTES


class FolderDesk:
    """A desk in a folder on a disk that everybody who labels can reach."""

    def __init__(
        self, path: Path, labelling: Labelling, *, annotators_per_item: int = 1, identity: str = "",
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`path` is the spec's `desk.path`; the evaluation gets a folder of its own in it. `identity` tells
        apart evaluations of one name in different ledgers. `clock` gives seconds as times of files do."""
        self._folder = path / labelling.evaluation
        self._evaluation = labelling.evaluation
        self._kind = labelling.answers
        self._display = list(labelling.display)
        self._annotators = annotators_per_item
        self._told = [text.strip() for text in (labelling.question, labelling.guidelines) if text]
        self._mark = digest_of_parts(labelling.evaluation, identity)[:20]
        self._clock = clock

    def prepare(self) -> None:
        """Make the folders, mark them as this evaluation's, and write the instructions."""
        with _disk(self._folder):
            (self._folder / ANSWERS).mkdir(parents=True, exist_ok=True)
            folders = [self._folder / ANSWERS, self._folder]
            begun = any(path.match("round-*.csv") for folder in folders for path in folder.iterdir())
            if not begun:   # looked for before the mark is: batches are written after it
                create_exclusively(self._folder / MARK, self._whose().encode())
            self._refuse_anothers()
            instructions = self._folder / "INSTRUCTIONS.txt"
            if not instructions.is_file() or instructions.read_bytes() != self._instructions().encode():
                replace_with(instructions, self._instructions().encode())

    def place(self) -> str:
        """The path of the evaluation's own folder, `<desk.path>/<evaluation>`, as text. Nothing is read, so
        the folder need not exist yet."""
        return str(self._folder)

    def missing(self, batch: Batch) -> list[Item]:
        """The items of the batch that no batch file of its round lists, in the order of the batch, by a
        fresh read of these files. Raises DeskRefused for a file that cannot be read as CSV and for a
        folder of another evaluation."""
        listed = self._listed(batch)
        return [item for item in batch.items if item.item_id not in listed]

    def post(self, batch: Batch, items: Sequence[Item]) -> None:
        """Write a batch file with these items; of one that is there already, only what it lacks."""
        if not items or self._write(f"{_stem(batch)}.csv", items):
            return
        lost = {item.item_id for item in self.missing(batch)}
        lost_items = [item for item in items if item.item_id in lost]
        if lost_items:
            self._write(f"{_stem(batch)}-more-{_digest_of(lost_items)}.csv", lost_items)

    def collect(self, batch: Batch) -> Collected:
        """Every answer in the folder about the batch, and which of its items the batch files list."""
        answers: list[Annotation] = []
        with _disk(self._folder):
            self._refuse_anothers()
            for path in [*self._files(self._folder, batch), *self._files(self._folder / ANSWERS, batch)]:
                answers += answers_in(self._saved(path, batch), _stem(batch), batch=batch, kind=self._kind)
        return Collected(annotations=answers, present=frozenset(self._listed(batch)))

    def request_more(self, batch: Batch, item_ids: Sequence[str], annotators: int) -> None:
        """Write a file with just these items, for somebody who has not answered them yet."""
        ids = self._listed(batch).intersection(item_ids)
        items = [item for item in batch.items if item.item_id in ids]
        if items and annotators > self._annotators:
            digest = digest_of_parts(str(annotators), _digest_of(items))[:16]
            name = f"{_stem(batch)}-somebody-else-{digest}.csv"
            self._write(name, items)

    def _write(self, name: str, items: Sequence[Item]) -> bool:
        taken = {*OURS, *answer_columns(self._kind)}
        headings = [f"shown_{field}" if field.lower() in taken else field for field in self._display]
        empty = list(self._kind.questions) or ["label"]
        rows = [
            [item.item_id, *(item.shown.get(field, "") for field in self._display), *("" for _ in empty)]
            for item in items
        ]
        with _disk(self._folder):
            self._refuse_anothers()
            return create_exclusively(self._folder / name, write_rows(["item_id", *headings, *empty], rows))

    def _listed(self, batch: Batch) -> set[str]:
        items = ItemCells(batch)
        item_ids: set[str | None] = set()
        with _disk(self._folder):
            self._refuse_anothers()
            for path in self._files(self._folder, batch):
                saved = self._saved(path, batch)
                rows = read_answer_rows(str(path), saved.blob, ["item_id"], in_writing=saved.in_writing)
                item_ids |= {items.get(row.cells.get("item_id", "")) for row in rows}
        return {item_id for item_id in item_ids if item_id is not None}

    def _saved(self, path: Path, batch: Batch) -> Saved:
        """A file of this round. DeskRefused if it is larger than one can be."""
        shown = sum(len(text) for item in batch.items for text in (item.item_id, *item.shown.values()))
        limit = MOST_FILE_BYTES + 8 * shown     # four bytes a character, or a quotation mark for each
        with os.fdopen(os.open(path, os.O_RDONLY | _UNFOLLOWED), "rb") as file:
            about = os.fstat(file.fileno())
            if S_ISREG(about.st_mode) and about.st_size <= limit:
                blob = file.read(limit + 1)
                if len(blob) <= limit:
                    return Saved(
                        path=path, blob=blob, at=datetime.fromtimestamp(about.st_mtime, UTC),
                        in_writing=abs(self._clock() - about.st_mtime) < WRITING_SECONDS,
                    )
        raise DeskRefused(
            f"{path}: has {about.st_size:,} bytes, and a file of this round may have {limit:,}; move it away "
            f"if it is another file, or leave out the columns that are not {', '.join(OURS)}"
        )

    def _refuse_anothers(self) -> None:
        """Raises DeskRefused unless the folder is there, and is this evaluation's of this ledger."""
        for folder in (self._folder, self._folder / ANSWERS):
            if folder.is_symlink():
                raise DeskRefused(
                    f"desk.path: {folder} is a link, and links are not followed; make it a folder (desk.path "
                    "itself may be a link)"
                )
        if not self._folder.is_dir():
            raise self._gone(self._folder)
        mark = self._folder / MARK
        if mark.is_symlink() or not mark.is_file():
            raise DeskRefused(
                f"desk.path: {self._folder} has no file {MARK}, so nobody can tell whose answers it holds. "
                f"If they belong to this evaluation, write {self._mark} into a file of that name; else move "
                "the folder away, or choose another desk.path"
            )
        with mark.open("rb") as file:
            marks = file.read(1000)
        if self._mark.encode() not in marks.split():
            raise DeskRefused(
                f"desk.path: {self._folder} belongs to an evaluation of this name in another ledger ({MARK} "
                f"does not hold {self._mark}), and its answers would be counted here; move the folder away, "
                "or choose another name or desk.path"
            )

    def _whose(self) -> str:
        return (
            f"The folder of the evaluation {self._evaluation}. Please leave this file where it is: its mark\n"
            f"tells which evaluation the answers belong to.\n\n{self._mark}\n"
        )

    def _files(self, folder: Path, batch: Batch) -> list[Path]:
        """round-0001.csv and round-0001-anything.csv, but not round-00012.csv and no half-written files.

        Of an asking, its own files only: round-0001-again-2-kim.csv belongs to the second.
        """
        if not folder.is_dir():
            raise self._gone(folder)
        exclusion = r"(?!-again-[0-9])" if batch.asking == 1 else ""
        name = re.compile(re.escape(_stem(batch)) + exclusion + r"(?:[^0-9].*)?\.csv", re.DOTALL)
        paths = sorted(path for path in folder.iterdir() if name.fullmatch(path.name))
        for path in paths:
            if path.is_symlink():
                raise DeskRefused(f"{path}: is a link, and links are not followed; put the file itself there")
        return [path for path in paths if path.is_file()]

    @staticmethod
    def _gone(folder: Path) -> DeskRefused:
        return DeskRefused(
            f"desk.path: {folder} is not there; it was moved or deleted, or the disk is not mounted. "
            "Answers collected so far are safe in the ledger: bring the folder back"
        )

    def _what_to_write(self) -> str:
        kind = self._kind
        if not isinstance(kind, QuestionAnswers):
            return f"2. In the column `label`, write {kind.wanted}. Leave it empty to answer later.\n"
        return (
            "2. Read the item once, and answer each question in its column:\n"
            f"{''.join(_told(name, part, kind.asks.get(name)) for name, part in kind.questions.items())}"
            "   Leave a column empty where you cannot tell, and the whole row to answer later.\n"
        )

    def _instructions(self) -> str:
        kind = self._kind
        below = "below" in kind.wanted and not kind.questions
        listed = f"\nThe {'tags' if kind.several else 'classes'}:\n\n" + "".join(
            f"  {name}\n" for name in kind.choices
        ) if below else ""
        people = "" if self._annotators == 1 else (
            f"\nEach item is answered by {self._annotators} different people, each in a file of their own.\n"
        )
        return (
            f"Labelling for {self._evaluation}\n\n"
            f"{''.join(text + chr(10) * 2 for text in self._told)}"
            "1. Open a file round-NNNN.csv of this folder.\n"
            f"{self._what_to_write()}"
            "   If an item cannot be decided, add a column `skip` and write yes in it.\n"
            f"3. Save it as CSV UTF-8 in the folder {ANSWERS}, with your name in the file's name, such as\n"
            f"   {ANSWERS}/round-0001-kim.csv. Keep the heading line and the column item_id as they are.\n"
            f"{people}\n"
            "An apostrophe before a value only keeps spreadsheets from changing it.\n"
            "You may change your answers and save again. A file round-NNNN-somebody-else-....csv holds\n"
            "items on which people disagree: it is for somebody who has not answered them yet.\n"
            "A file round-NNNN-again-N.csv holds items that everybody skipped: please look once more, and\n"
            "skip them again if they really cannot be decided.\n"
            f"{listed}"
        )


def _told(name: str, kind: AnswerKind, question: str | None) -> str:
    """What to write in the column of a question."""
    listed = f" ({', '.join(kind.choices)})" if "below" in kind.wanted else ""
    return f"   {name}: {f'{question} ' if question else ''}{kind.wanted.replace(' below', '')}{listed}\n"


@contextlib.contextmanager
def _disk(folder: Path) -> Iterator[None]:
    """Turns errors of the disk into ours."""
    try:
        yield
    except PermissionError as error:
        raise DeskRefused(
            f"desk.path: no right to use {error.filename or folder}; give it, or choose another folder"
        ) from None
    except (FileExistsError, NotADirectoryError) as error:
        raise DeskRefused(
            f"desk.path: {error.filename or folder} is a file where a folder is needed; move it away"
        ) from None
    except OSError as error:
        raise DeskUnreachable(
            f"desk.path: {folder} cannot be used ({error.strerror or error}); check the disk, "
            "then run the same command again"
        ) from None


def _stem(batch: Batch) -> str:
    suffix = f"-again-{batch.asking}" if batch.asking > 1 else ""
    return f"round-{batch.round:04d}{suffix}"


def _digest_of(items: Sequence[Item]) -> str:
    return digest_of_parts(*sorted(item.item_id for item in items))[:16]


def create_exclusively(path: Path, blob: bytes) -> bool:
    """Create the file with all of its content, durably; False if the name is taken. OSError otherwise.

    Written under another name, then linked: a link fails if the name exists, where a rename would overwrite.
    """
    temporary = _write_beside(path, blob)
    try:
        os.link(temporary, path)
    except FileExistsError:
        return False
    finally:
        temporary.unlink(missing_ok=True)
    flush_folder(path.parent)
    return True


def replace_with(path: Path, blob: bytes) -> None:
    """Put a file with this content under the name, in place of what was there. OSError."""
    os.replace(_write_beside(path, blob), path)
    flush_folder(path.parent)


def _write_beside(path: Path, blob: bytes) -> Path:
    """The content under another name in the same folder, on the disk; readable by whom new files are."""
    temporary = path.with_name(f".writing-{uuid4().hex}")
    try:
        write_durably(temporary, blob, read_only=False)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return temporary
