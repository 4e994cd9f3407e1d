"""CSV for spreadsheets: text that stays text, in cells that can be read back exactly.

A spreadsheet runs a cell that begins with = + - or @, and quietly rewrites what looks like a number or a date
(00123, 1e5, 12345678901234567, 2026-11-20). Such text is written with an apostrophe before it, which
spreadsheets take for "this is text" or show as it is. Text that begins with an apostrophe gets another, so
that reading gives back what was written: `from_cell(to_cell(x)) == x` for every x.

A spreadsheet that cuts at semicolons, at tabs or (after a copy) at line breaks finds cells inside ours. So an
apostrophe also goes before = + - @ and ' after any of these.

Files are UTF-8 with a byte-order mark (Excel guesses wrong without); read back are comma, semicolon and tab,
whatever the spreadsheet's country saves.
"""

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from assay.tasks.desks.desk import DeskRefused
from assay.tasks.sources.quoting import NOT_CLOSED, first_misquoted

# What may stand between a separator that is not ours and what a spreadsheet then takes for a cell.
_INNER_START = r"([;\t\r\n][\s\"]*)"
_INNER_RUNS = re.compile(_INNER_START + "(?=[=+\\-@'＝＋－＠])")
_INNER_MARK = re.compile(_INNER_START + "'")
_RUNS = ("=", "+", "-", "@", "＝", "＋", "－", "＠", "\t", "\r", "\n", "'")
_NUMBER_LIKE = re.compile(r"[\d.,:/\\ -]*\d[\d.,:/\\ -]*(?:[eE][+-]?\d+)?%?")
_PLAIN_INTEGER = re.compile(r"0|[1-9]\d{0,14}")
_WORDS = {"true", "false"}
_END = "\r\n"
OURS = ("item_id", "label", "annotator", "skip")   # columns that mean something in an answer file

csv.field_size_limit(2**31 - 1)   # process-wide, and 128 kB by default: shown text may be longer


@dataclass(frozen=True, slots=True)
class AnswerRow:
    """One row of a file: its last line as an editor numbers them, and its cells by lower-case column name."""

    line: int
    cells: Mapping[str, str]

    def text(self, column: str) -> str:
        """The cell, stripped; "" if the row or the file has none."""
        return self.cells.get(column, "").strip()


def to_cell(text: str) -> str:
    """The text as it is written into a cell of a CSV file. An apostrophe goes before what a spreadsheet
    would run as a formula or rewrite (00123, a date, blanks at an end); `from_cell` gives back exactly
    the text."""
    if text.startswith(_RUNS) or _rewritten(text) or _INNER_RUNS.search(text):
        return "'" + _INNER_RUNS.sub(r"\1'", text)
    return text


def from_cell(cell: str) -> str:
    """The inverse of `to_cell`; a cell without an apostrophe is itself."""
    return _INNER_MARK.sub(r"\1", cell[1:]) if cell.startswith("'") else cell


def write_rows(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> bytes:
    """The bytes of a CSV file for spreadsheets: a heading line and the rows, every cell through `to_cell`,
    lines that end in CR LF, in UTF-8 with a byte-order mark."""
    cells = [[to_cell(cell) for cell in row] for row in rows]
    return write_csv([to_cell(column) for column in columns], cells, "\r\n").encode("utf-8-sig")


def write_csv(columns: Sequence[str], rows: Iterable[Sequence[object]], end: str = "\n") -> str:
    """CSV whose lines end in `end`; cells as they are, None is empty.

    A cell with any kind of line break is quoted, a lone carriage return too: readers end a row at it.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator=_END)
    for row in (columns, *rows):
        writer.writerow(row)
        text.seek(text.tell() - len(_END))   # what csv quotes is what its own end of line is made of
        text.write(end)
        text.truncate()
    return text.getvalue()


def read_answer_rows(
    name: str, blob: bytes, required: Sequence[str], *, max_rows: int = 2**31, in_writing: bool = False,
    also: Sequence[str] = (),
) -> list[AnswerRow]:
    """The rows of a file that has these columns among others; cells as they are, apostrophes and all.

    max_rows     rows that it may have
    in_writing   somebody may not have written all of it yet: a row that is cut off is left out
    also         further columns that mean something, by their lower-case names

    Raises DeskRefused, naming the file and nothing of what it holds, if it is not UTF-8, is no CSV, lacks a
    column, has more rows, or has a quotation mark that takes rows for part of a value. Empty lines are left
    out, and so are columns that mean nothing here.
    """
    try:
        text = blob.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise DeskRefused(
            f"{name}: is not UTF-8 text; save it again as 'CSV UTF-8' (a spreadsheet itself is not read)"
        ) from None
    delimiter = _delimiter(text)
    wrong = first_misquoted(text, delimiter)
    if wrong is not None and not (in_writing and wrong.what == NOT_CLOSED):
        raise DeskRefused(
            f"{name}: line {wrong.line:,}: a quotation mark opens a value that {wrong.what}; correct it and "
            "save the file again"
        )
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    rows: list[AnswerRow] = []
    columns: list[str] = []
    try:
        for cells in reader:
            if not columns:
                columns = [from_cell(cell.strip()).lower() for cell in cells]
            elif any(cell.strip() for cell in cells):
                rows.append(AnswerRow(line=reader.line_num, cells={
                    column: cell for column, cell in zip(columns, cells, strict=False)
                    if column in OURS or column in also
                }))
            if len(rows) > max_rows:
                raise DeskRefused(
                    f"{name}: has more than {max_rows:,} rows, and its round asks about far fewer items; "
                    "move it away if it is another file"
                )
    except csv.Error as error:
        if not in_writing or "end of data" not in str(error):
            raise DeskRefused(f"{name}: line {reader.line_num} is no CSV ({error}); save it again") from None
    for column in required:
        if column not in columns and (rows or not in_writing):
            raise DeskRefused(
                f"{name}: has no column '{column}' among the {len(columns)} of its heading line; keep the "
                "heading line of the file it was copied from"
            )
    return rows


def whole_lines(blob: bytes) -> bytes:
    """A file without its last line if that has no line end."""
    return blob[: max(blob.rfind(b"\n"), blob.rfind(b"\r")) + 1]


def _delimiter(text: str) -> str:
    """What follows item_id in the heading; else whatever the heading has most of."""
    heading = text.split("\n", 1)[0]
    after_id = re.match(r'\s*"?item_id"?([,;\t])', heading, re.IGNORECASE)
    return after_id.group(1) if after_id else max(",;\t", key=heading.count)


def _rewritten(text: str) -> bool:
    """Whether a spreadsheet would turn the text into something else."""
    if text != text.strip() or text.lower() in _WORDS:
        return True
    return bool(_NUMBER_LIKE.fullmatch(text)) and not _PLAIN_INTEGER.fullmatch(text)
