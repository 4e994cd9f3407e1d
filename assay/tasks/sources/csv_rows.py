"""Rows of a CSV file, a block at a time.

How it is written (its encoding, what separates values) is recognised; what it says is not guessed: every
column is read as text, so an id 007 keeps its zeros and NA is a word. The first line names the columns; one
without a name is called by its place, `column 1`. Quoted values may hold line breaks, but no rows
(`quoting`); empty lines are no rows.
"""

import codecs
import csv
import gzip
import io
import re
import zlib
from codecs import BOM_UTF8
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from threading import Lock
from typing import TYPE_CHECKING, BinaryIO, NoReturn, cast

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from assay.evalcore.errors import BadInput, plural
from assay.tasks.arrow import texts_of
from assay.tasks.sources.files.file import SourceFile, check_columns, is_compressed, line_too_long, unreadable
from assay.tasks.sources.marks import CountedRows, CsvMarks, Mark
from assay.tasks.sources.quoting import MOST_ROW_BYTES, Misquoted, QuotedValues

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

LOOK = 8 << 20           # bytes that are looked at
_HEAD = 1 << 20          # of them, bytes in which columns are counted
_RECORDS = 50            # rows that have to have as many values as the header
_WORDS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
_BY_MARK = ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_NAMES = {"utf-16-le": "UTF-16", "utf-16-be": "UTF-16", "cp1252": "Windows-1252"}
# of Windows-1252: three signs and more beyond ASCII in a row, and signs that are no letters within words
_UNUSUAL = re.compile(
    rb"[\x80-\xff]{3,}|(?<=[A-Za-z])[\xa1-\xa9\xab\xac\xae-\xb4\xb6\xb8\xb9\xbb-\xbf\xd7\xf7](?=[A-Za-z])"
)
_WORD = re.compile(r"\w*[^\W\x00-\x7f]\w*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """How a CSV file is written: what separates values, its encoding as Python calls it, and a word of the
    file that shows what the encoding was taken for.

    How a file of text is written: its encoding, and what separates the values of a row.

    Both are recognised from the beginning of the file, and what is not plain (UTF-8, commas) is said. Nothing
    is taken for UTF-16 that has no mark of it or no zero in every second byte. Text that is not UTF-8 is
    taken for Windows-1252, of which Latin-1 is a part, if it looks like Western words; other text is refused,
    because no program can tell what it says.
    """

    delimiter: str = ","
    encoding: str = "utf-8"      # as Python calls it
    word: str = ""               # that shows what the encoding was taken for

    @property
    def transcoded(self) -> bool:
        """Whether the file has to be translated because its encoding is not UTF-8."""
        return self.encoding != "utf-8"

    @property
    def in_words(self) -> str | None:
        """What was recognised, in a sentence; None for UTF-8 with commas."""
        parts = [] if self.delimiter == "," else [f"values separated by {_WORDS[self.delimiter]}"]
        if self.encoding == "cp1252":
            as_in = f", as in {self.word!r}" if self.word else ""
            parts.append(f"text taken for Windows-1252 (Latin-1), since it is not UTF-8{as_in}; if that is "
                        "wrong, save the file as UTF-8")
        elif self.transcoded:
            parts.append(f"text in {_NAMES[self.encoding]}")
        return f"read with {', '.join(parts)}" if parts else None


def dialect_of(path: str, start: bytes) -> Dialect:
    """Of the file that begins so, with LOOK bytes or all it has.

    Raises BadInput for an encoding that cannot be told.
    """
    _refuse_other_formats(path, start)
    encoding = _encoding(path, start)
    text = _decoded(start[:_HEAD], encoding)
    word = _WORD.search(_decoded(start, encoding)) if encoding == "cp1252" else None
    return Dialect(
        delimiter=_delimiter(text, "\t" if ".tsv" in path.lower() else ","), encoding=encoding,
        word=word[0][:30] if word else "",
    )


_OTHER_FORMATS = (
    (b"PK\x03\x04", "a workbook of a spreadsheet or another archive", "save its table as CSV"),
    (b"\xd0\xcf\x11\xe0", "a workbook of a spreadsheet", "save its table as CSV"),
    (b"PAR1", "Parquet", "give it a name that ends in .parquet"),
    (b"ARROW1", "Arrow", "give it a name that ends in .arrow"),
    (b"\x1f\x8b", "compressed by gzip", "give it a name that ends in .csv.gz"),
    (b"BZh", "compressed by bzip2", "unpack it"), (b"%PDF", "a PDF", "save its table as CSV"),
    (b"SQLite format 3", "a database of SQLite", "name it as a table: sqlite:///FILE#TABLE"),
    (b"<!doctype", "a page of HTML", "open it: it may ask for a login"),
    (b"<html", "a page of HTML", "open it: it may ask for a login"),
)


def _refuse_other_formats(path: str, start: bytes) -> None:
    """Raises BadInput for what its first bytes say is no text of a table, whatever the file is called."""
    head = start[:32].lstrip().lower()
    for magic, what, remedy in _OTHER_FORMATS:
        if start.startswith(magic) or (magic[:1] == b"<" and head.startswith(magic)):
            raise BadInput(f"{path}: is {what}, whatever its name says; {remedy}")


def without_mark(start: bytes, encoding: str) -> bytes:
    """Without the mark of UTF-16. That of UTF-8 stays: readers of CSV know it."""
    mark = next((mark for mark, name in _BY_MARK if name == encoding), b"")
    return start.removeprefix(mark)


def _encoding(path: str, start: bytes) -> str:
    if start.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        raise BadInput(f"{path}: is text in UTF-32; save it as UTF-8")
    for mark, name in _BY_MARK:
        if start.startswith(mark):
            return name
    if start.isascii() and b"\0" not in start[:_HEAD]:
        return "utf-8"
    for place, name in ((0, "utf-16-be"), (1, "utf-16-le")):
        head = start[: 1 << 12]
        if len(head) > 3 and head[place::2].count(0) > 0.4 * len(head) and not head[1 - place :: 2].count(0):
            return name
    try:
        codecs.getincrementaldecoder("utf-8")().decode(start, final=len(start) < LOOK)
    except UnicodeDecodeError as error:
        return _western(path, start, error.start)
    return "utf-8"


def _western(path: str, start: bytes, wrong: int) -> str:
    """Windows-1252, if it can be that. Raises BadInput where it cannot."""
    line = start.count(b"\n", 0, wrong) + 1
    what = f"{path}: line {line:,} holds bytes that are not UTF-8"
    read = start.decode("utf-8", errors="surrogateescape")
    high = [sign for sign in read if sign > "\x7f"]
    stray = sum("\udc80" <= sign <= "\udcff" for sign in high)
    if 10 * (len(high) - stray) > stray:
        raise BadInput(f"{what}, though other parts are: two encodings are mixed; save the file as UTF-8")
    unusual = sum(len(match[0]) for match in _UNUSUAL.finditer(start))
    try:
        start.decode("cp1252")
        if 10 * unusual > len(high):
            raise ValueError("few words of a Western language look so")
    except ValueError:
        raise BadInput(
            f"{what}, and not Windows-1252 either; save the file as UTF-8, in which alone every text can be "
            f"read (or: iconv -f ITS-ENCODING -t UTF-8 {path} > utf8.csv)"
        ) from None
    return "cp1252"


def _decoded(start: bytes, encoding: str) -> str:
    text = codecs.getincrementaldecoder(encoding)("replace").decode(without_mark(start, encoding))
    return text.removeprefix("\ufeff")


def _delimiter(text: str, usual: str) -> str:
    """What the header has; of several, one by which every row has as many values as the header."""
    candidates = [sign for sign in _WORDS if len(next(_records(text, sign), [])) > 1]
    if len(candidates) < 2:
        return candidates[0] if candidates else usual
    even = [sign for sign in candidates if _is_even(text, sign)]
    return usual if usual in even or not even else even[0]


def _is_even(text: str, delimiter: str) -> bool:
    # the last record may have been cut off
    rows = [len(row) for row, _ in zip(_records(text, delimiter), range(_RECORDS + 1), strict=False)]
    lengths = rows if len(rows) < 3 or len(rows) > _RECORDS else rows[:-1]
    return len(set(lengths)) == 1


def _records(text: str, delimiter: str) -> Iterator[list[str]]:
    try:
        yield from (row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if row)
    except csv.Error:
        return


class Transcoded(io.RawIOBase):
    """A stream of bytes in another encoding, read as UTF-8. Reading raises BadInput where bytes are not of
    that encoding."""

    def __init__(self, path: str, inner: BinaryIO, encoding: str) -> None:
        self._path, self._inner, self._encoding = path, inner, encoding
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._left = b""

    def readable(self) -> bool:
        """Always True: the stream can be read from."""
        return True

    def readinto(self, into: "bytearray | memoryview") -> int:    # type: ignore[override]
        """Read some bytes. Raises BadInput for those that are not of the encoding."""
        while not self._left:
            block = self._inner.read(1 << 20)
            try:
                text = self._decoder.decode(block, final=not block)
                self._left = text.encode()
            except UnicodeError:
                raise BadInput(
                    f"{self._path}: holds bytes that are not {_NAMES[self._encoding]}, as which it begins; "
                    "save the file as UTF-8"
                ) from None
            if not block:
                break
        piece, self._left = self._left[: len(into)], self._left[len(into) :]
        into[: len(piece)] = piece
        return len(piece)



class BoundedLines(io.RawIOBase):
    """The bytes of `inner` up to a line of more than `longest` bytes. `see` gets all of them.

    A thread of Arrow's may read ahead. An error that it meets in Python, while the process ends, aborts the
    process; so whoever reads finds the end where something is refused, and `raise_refusal` says what it was.
    After `stop` it finds the end, whatever is left.

    A stream that refuses a line that is too long, before the line is held.

    A few megabytes of gzip can be one line of gigabytes, and whoever looks for its end would hold all of it.
    """

    def __init__(
        self, file: SourceFile, inner: BinaryIO, longest: int, lines: int = 0,
        see: Callable[[bytes], None] | None = None,
    ) -> None:
        """lines: of the file, that were passed before."""
        self._file, self._inner, self._longest, self._see = file, inner, longest, see
        self._lines, self._open = lines, 0      # lines that ended; bytes of the one that did not
        self._stopped = False
        self._refusal: Exception | None = None
        self._reading = Lock()

    def readable(self) -> bool:
        """Always True: the stream can be read from."""
        return True

    def readinto(self, into: "WriteableBuffer") -> int:
        """Read some bytes, at most as many as there is room for."""
        room = memoryview(into)
        with self._reading:
            if self._stopped or self._refusal is not None:
                return 0
            try:
                block = self._inner.read(min(len(room), self._longest))
                self._count(block)
                if self._see:
                    self._see(block)
            except (BadInput, OSError, EOFError, ValueError, zlib.error) as error:
                self._refusal = error
                return 0
            room[: len(block)] = block
            return len(block)

    def raise_refusal(self) -> None:
        """Raise what ended the reading before the end of the file, if anything did."""
        if self._refusal is not None:
            raise self._refusal

    def stop(self) -> None:
        """Read nothing more: from now on the stream is at its end. Returns when no other thread is reading.
        """
        with self._reading:
            self._stopped = True

    def _count(self, block: bytes) -> None:
        if self._open + len(block) > self._longest:
            ends = [place for end in (b"\n", b"\r") if (place := block.find(end)) >= 0]
            line_end = min(ends, default=len(block))
            if self._open + line_end > self._longest:
                raise line_too_long(self._file.path, self._lines + 1, self._longest)
        last_break = block.rfind(b"\n")
        if last_break < 0:
            last_break = block.rfind(b"\r")
        self._open = self._open + len(block) if last_break < 0 else len(block) - 1 - last_break
        self._lines += block.count(b"\n") or block.count(b"\r")


_BLOCK = MOST_ROW_BYTES      # also the longest row there may be
_LONGEST_LINE = 2 * _BLOCK   # a longer one does not fit however blocks fall
_CSV_BUFFER_BYTES = 8 << 20   # bytes a request on S3
_STREAM_BYTES = 1 << 20   # of the buffer before the reader of Arrow
_MOST_HEADER_BYTES = 1 << 20   # of the beginning, in which the line of column names is looked for
_LONGEST_COLUMN_NAME = 1_000   # characters
_UNEVEN = re.compile(r"Expected (\d+) columns?, got (\d+): (.*)", re.DOTALL)
_ROW_CHARACTERS = 60   # characters of a row in a message
_BETWEEN_SPACES = re.compile(r'"[^"]*"|\S+')
_ENOUGH = 2              # columns that tell a repeated line of names from a value
_FOR_EXCEL = re.compile(r"sep=.[\r\n]", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Beginning:
    """What the first bytes of a file tell."""

    dialect: Dialect
    names: tuple[str, ...]   # of the columns, as written
    taken: int               # bytes of UTF-8, that their line takes
    start: bytes = field(repr=False)

    @property
    def text(self) -> str:
        """The first bytes as text."""
        return _start_text(self.start, self.dialect)


@dataclass(frozen=True, slots=True)
class _Asked:
    """What is to be read from a place on."""

    names: Sequence[str]
    columns: Sequence[str]
    wanted: Sequence[int] | None
    delimiter: str
    first: int = 0           # row that comes first


def csv_batches(
    file: SourceFile,
    columns: Sequence[str],
    numbers: Sequence[int] | None = None,
    mark: Mark | None = None,
    marks: CsvMarks | None = None,
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """(number of its first row, batch of these columns as text); with `numbers` rows, up to the last.

    It begins at a mark, if one is given: such a file was looked through when its marks were found. `marks`
    sees all bytes that are read.
    """
    with _explained(file), closing(file.open(_CSV_BUFFER_BYTES)) as raw, closing(_text(file, raw)) as text:
        begins = _beginning(file, text.read(LOOK))
        check_columns(file.path, columns, _named(begins.names))
        request = _Asked(begins.names, columns, numbers, begins.dialect.delimiter, mark.row if mark else 0)
        if mark is not None:
            raw.seek(mark.byte)
            with _bounded(file, raw, mark.line) as lines:
                yield from _batches(file, _buffered(lines), lines, request)
            return
        values = QuotedValues(
            request.delimiter, lambda: begins.text, lambda value: _refuse(file, begins, value)
        )

        def see(block: bytes) -> None:
            values.see(block)
            if marks:
                marks.see(block)

        with _bounded(file, _whole(file, begins.start, begins.dialect, text), 0, see) as lines:
            stream = _buffered(lines)
            stream.read(begins.taken)
            if stream.peek(1):
                yield from _batches(file, stream, lines, request)
            lines.raise_refusal()


def _buffered(lines: BoundedLines) -> io.BufferedReader:
    return io.BufferedReader(lines, buffer_size=_STREAM_BYTES)


def _batches(
    file: SourceFile, stream: io.BufferedReader, lines: BoundedLines, request: _Asked
) -> Iterator[tuple[int, pa.RecordBatch]]:
    start, path = request.first, file.path
    names = [request.names[_named(request.names).index(column)] for column in request.columns]
    try:
        rows = pacsv.open_csv(
            stream,
            read_options=pacsv.ReadOptions(block_size=_BLOCK, column_names=list(request.names)),
            parse_options=pacsv.ParseOptions(newlines_in_values=True, delimiter=request.delimiter),
            convert_options=pacsv.ConvertOptions(
                include_columns=names, column_types=dict.fromkeys(names, pa.string())
            ),
        )
        with rows:
            for batch in rows:
                _refuse_header_again(path, request, start, batch)
                if request.wanted is not None and (not request.wanted or start > request.wanted[-1]):
                    return
                yield start, pa.RecordBatch.from_arrays(batch.columns, names=list(request.columns))
                start += batch.num_rows
            lines.raise_refusal()
    except pa.ArrowInvalid as error:
        lines.raise_refusal()
        if "straddling" in str(error):
            raise BadInput(
                f"{file.path}: a row after row {start:,} is longer than {_BLOCK >> 20} MB, or a quotation "
                "mark is not closed; shorten its texts, or correct the quotation marks"
            ) from None
        if "invalid UTF8" in str(error):
            raise BadInput(
                f"{file.path}: after row {start:,} there are bytes that are not UTF-8, as which it begins; "
                "save the file as UTF-8"
            ) from None
        uneven = _UNEVEN.search(str(error))
        if uneven is not None:
            raise _uneven(file.path, request.names, int(uneven[2]), uneven[3]) from None
        raise unreadable(file.path, f"not a sound CSV file ({error})") from None


def _uneven(path: str, names: Sequence[str], many: int, row: str) -> BadInput:
    return BadInput(
        f"{path}: its line of column names has {plural(len(names), 'value')} "
        f"({', '.join(names)[:_ROW_CHARACTERS]}), and a row has {many} ({row[:_ROW_CHARACTERS]}); a table "
        "begins with a name for each column: remove lines above and below it, and name all"
    )


def _refuse_header_again(path: str, request: _Asked, start: int, batch: pa.RecordBatch) -> None:
    """Raises BadInput where a row repeats the line of column names, as in files that were joined."""
    if batch.num_columns < _ENOUGH:
        return
    names = texts_of(list(batch.schema.names))
    same = pc.equal(batch.column(0), names[0])
    for name, column in zip(names[1:], batch.columns[1:], strict=True):
        if not pc.any(same).as_py():
            return
        same = pc.and_(same, pc.equal(column, name))
    rows = pc.indices_nonzero(same)
    if len(rows):
        raise BadInput(
            f"{path}: row {start + rows[0].as_py() + 1:,} repeats the line of column names, as where files "
            "were joined; remove that line"
        )


def count_csv_rows(file: SourceFile, column: str) -> CountedRows:
    """How many rows the file has, by a column, or by its first where that one is not its own. Raises
    BadInput where it cannot be read.

    A file that has to be decompressed or translated has no marks.
    """
    written, names = dialect(file), header(file)
    marks = None if is_compressed(file.path) or written.transcoded else CsvMarks(written.delimiter)
    counted = [column if column in names else names[0]]
    rows = sum(batch.num_rows for _, batch in csv_batches(file, counted, marks=marks))
    return marks.found(rows) if marks else CountedRows(rows=rows)


def header(file: SourceFile) -> list[str]:
    """The names of the columns, from the first line; one without a name is called by its place. Raises
    BadInput for a file without any."""
    return _named(_known(cast("Hashable", file))[1])


def dialect(file: SourceFile) -> Dialect:
    """How the file is written. Raises BadInput where that cannot be told."""
    return _known(cast("Hashable", file))[0]


@lru_cache(maxsize=256)
def _known(file: SourceFile) -> tuple[Dialect, tuple[str, ...]]:
    with _explained(file), closing(file.open(_CSV_BUFFER_BYTES)) as raw, closing(_text(file, raw)) as text:
        begins = _beginning(file, text.read(LOOK))
        return begins.dialect, begins.names


def opened(file: SourceFile, raw: BinaryIO) -> io.BufferedReader:
    """The file's text as bytes: decompressed if its name says so."""
    return io.BufferedReader(cast("io.RawIOBase", _text(file, raw)), buffer_size=_STREAM_BYTES)


def _text(file: SourceFile, raw: BinaryIO) -> BinaryIO:
    return cast("BinaryIO", gzip.GzipFile(fileobj=raw)) if is_compressed(file.path) else raw


@contextmanager
def _explained(file: SourceFile) -> Iterator[None]:
    try:
        yield
    except (OSError, EOFError, zlib.error) as error:
        raise unreadable(file.path, str(error) or type(error).__name__) from None


@contextmanager
def _bounded(
    file: SourceFile, text: BinaryIO, passed: int, see: Callable[[bytes], None] | None = None
) -> Iterator[BoundedLines]:
    """Text in lines of bounded length; passed: lines before it."""
    lines = BoundedLines(file, text, _LONGEST_LINE, passed, see)
    try:
        yield lines
    finally:
        lines.stop()     # Arrow reads ahead in a thread, and goes on with a file that it refused


class _Again(io.RawIOBase):
    """What was read already, and then the rest."""

    def __init__(self, start: bytes, stream: BinaryIO) -> None:
        self._start, self._rest = memoryview(start), stream

    def read(self, size: int = -1) -> bytes:
        """At most so many bytes; none at the end."""
        if not self._start:
            return self._rest.read(size)
        piece, self._start = self._start[:size], self._start[size:]
        return bytes(piece)


def _whole(file: SourceFile, start: bytes, dialect: Dialect, stream: BinaryIO) -> BinaryIO:
    """A file as UTF-8, of which the start was read."""
    whole_file = cast("BinaryIO", _Again(without_mark(start, dialect.encoding), stream))
    if not dialect.transcoded:
        return whole_file
    return cast("BinaryIO", Transcoded(file.path, whole_file, dialect.encoding))


def _refuse(file: SourceFile, begins: _Beginning, value: Misquoted) -> NoReturn:
    """Raises BadInput that names the value by row and column, as far as the file is read again for it."""
    with closing(file.open(_CSV_BUFFER_BYTES)) as raw, closing(_text(file, raw)) as text:
        whole_file = _whole(file, text.read(LOOK), begins.dialect, text)
        bounded = BoundedLines(file, whole_file, _LONGEST_LINE)
        with io.TextIOWrapper(io.BufferedReader(bounded), "utf-8", errors="replace", newline="") as lines:
            records = csv.reader(islice(lines, value.line), delimiter=begins.dialect.delimiter)
            row = sum(1 for record in records if record) - 1
            bounded.raise_refusal()
    raise BadInput(f"{file.path}: {value.in_words(row, _named(begins.names))}")


def _named(names: Sequence[str]) -> list[str]:
    """The names; a column without one, as data frames write their index, is called by its place."""
    named = [name or f"column {place}" for place, name in enumerate(names, 1)]
    return named if len({*named}) - len({*names}) == max(names.count("") - 1, 0) else list(names)


def _start_text(start: bytes, dialect: Dialect) -> str:
    text = without_mark(start, dialect.encoding).decode(dialect.encoding, errors="replace")
    return text.removeprefix("\ufeff")


def _are_between_spaces(text: str) -> bool:
    """Whether spaces cut all lines into as many values; the first may have one less, as R writes it."""
    lines = (line for line in io.StringIO(text) if line.strip())
    of_header, *of_rows = [len(_BETWEEN_SPACES.findall(line)) for line in islice(lines, _RECORDS)]
    return of_header > 1 and len(of_rows) > 1 and {*of_rows} in ({of_header}, {of_header + 1})


def _beginning(file: SourceFile, start: bytes) -> _Beginning:
    dialect = dialect_of(file.path, start)
    text = _start_text(start[:_MOST_HEADER_BYTES], dialect)
    taken = 3 if start.startswith(BOM_UTF8) else 0

    def lines() -> Iterator[str]:
        nonlocal taken
        for line in io.StringIO(text, newline=""):
            taken += len(line.encode())
            yield line

    try:
        names = next((row for row in csv.reader(lines(), delimiter=dialect.delimiter) if row), [])
    except csv.Error as error:
        raise unreadable(file.path, f"its first line is not a line of column names ({error})") from None
    if not names:
        raise BadInput(f"{file.path}: empty; a CSV file begins with a line of column names")
    if max(map(len, names)) > _LONGEST_COLUMN_NAME:
        raise unreadable(file.path, "a quotation mark in its line of column names is not closed")
    if _FOR_EXCEL.match(text):
        raise BadInput(f"{file.path}: its first line ({text[:5]}) is for Excel alone; remove that line")
    if len(names) == 1 and _are_between_spaces(text):
        raise BadInput(f"{file.path}: spaces separate its values; write commas, semicolons or tabs instead")
    _, *rows = islice(_records(text, dialect.delimiter), _RECORDS if len(names) == 1 else 3)
    for row in rows[:-1]:      # the last one may be cut off
        if len(row) != len(names):
            raise _uneven(file.path, names, len(row), dialect.delimiter.join(row))
    return _Beginning(dialect, tuple(names), taken, start)
