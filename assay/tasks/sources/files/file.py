"""What every file of a source can do, wherever it is, the errors for one that cannot be read, and what names
say.

Included are a seekable file over an object that is read by ranges, and the check that a file has the columns
that are needed.
"""

import io
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, BinaryIO, Literal, Protocol, cast
from urllib.parse import unquote

from assay.evalcore.errors import BadInput, Remediable, did_you_mean
from assay.tasks.table_address import is_table

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

BATCH_ROWS = 1 << 15   # rows of a batch, of whatever format a file is


class NoFile(BadInput):
    """Raised where nothing is where a source says: no file matches it."""


class SourceFile(Protocol):
    """One file of predictions, wherever it is: its path, its size in bytes and its version, and its bytes as
    a seekable stream."""

    @property
    def path(self) -> str:
        """The path as people write it: of this machine, or scheme://bucket/key."""
        ...

    @property
    def size(self) -> int:
        """The size of the file in bytes, as it was listed."""
        ...

    @property
    def version(self) -> str:
        """What changes when the file does: the modification time, the ETag or the generation."""
        ...

    def open(self, buffer: int) -> BinaryIO:
        """Its bytes, seekable, fetched `buffer` bytes at a time where that matters."""
        ...

    def check_unchanged(self) -> None:
        """Raise BadInput if the file is no longer the one that was listed."""
        ...


def unreadable(path: str, reason: str) -> BadInput:
    """The error for a file that cannot be read as what it should be."""
    return BadInput(f"{path}: cannot be read: {reason}; repair or remove this file, then try again")


def line_too_long(path: str, line: int, limit: int) -> BadInput:
    """The error for a line that would cost too much memory."""
    return BadInput(
        f"{path}: line {line:,} is longer than {limit >> 20} MB, which no row needs; shorten its texts, or "
        "store the address of a file instead"
    )


def changed_while_read(path: str) -> BadInput:
    """The error for a file that was written to while it was being read."""
    return BadInput(f"{path}: changed while it was being read; try again when nothing writes to it")


def open_ranges(size: int, fetch: Callable[[int, int], bytes], buffer: int) -> BinaryIO:
    """A file of `size` bytes over `fetch(start, length)`.

    Reads `buffer` bytes a request; a larger read is one request.
    """
    return cast("BinaryIO", io.BufferedReader(_Ranges(size, fetch), buffer_size=max(buffer, 1)))


class _Ranges(io.RawIOBase):
    def __init__(self, size: int, fetch: Callable[[int, int], bytes]) -> None:
        self._size = size
        self._fetch = fetch
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        self._position = max(0, start + offset)
        return self._position

    def readinto(self, into: "WriteableBuffer") -> int:
        view = memoryview(into).cast("B")
        length = min(len(view), self._size - self._position)
        if length <= 0:
            return 0
        view[:length] = self._fetch(self._position, length)
        self._position += length
        return length


def check_columns(path: str, needed: Sequence[str], present: Sequence[str]) -> None:
    """Raise Remediable naming the file, the first missing column, the nearest one and all there are."""
    counts = Counter(present)
    for name in needed:
        if name not in counts:
            raise Remediable(
                f"{path}: no column {name!r}; {did_you_mean(name, present)}it has: "
                f"{', '.join(_short(present))}",
                "correct the name, or add the column",
            )
        if counts[name] > 1:
            raise BadInput(f"{path}: the column {name!r} is there twice; rename or drop one")


def _short(names: Sequence[str], limit: int = 40) -> list[str]:
    shown = [repr(name) for name in names[:limit]]
    return shown if len(names) <= limit else [*shown, f"and {len(names) - limit} more"]


Format = Literal["parquet", "arrow", "csv", "jsonl", "json", "table"]
_FORMATS: dict[str, Format] = {
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".csv": "csv",
    ".csv.gz": "csv",
    ".tsv": "csv",
    ".tsv.gz": "csv",
    ".jsonl": "jsonl",
    ".jsonl.gz": "jsonl",
    ".ndjson": "jsonl",
    ".ndjson.gz": "jsonl",
    ".json": "json",
    ".json.gz": "json",
}


_SAVE_AS_CSV = "open it in a spreadsheet and save it as CSV (CSV UTF-8, where that is offered)"
_AS_PARQUET = "read it where it was made, for instance with pandas, and write it with to_parquet"
_INSTEAD = {
    **dict.fromkeys((".xlsx", ".xls", ".xlsm", ".xlsb", ".ods", ".numbers"), (
        "a workbook of a spreadsheet", _SAVE_AS_CSV)),
    **dict.fromkeys((".pkl", ".pickle", ".orc", ".h5", ".hdf5", ".rds", ".dta",
                     ".sav", ".sas7bdat"), ("data of another program", _AS_PARQUET)),
    **dict.fromkeys((".zip", ".7z", ".bz2", ".xz", ".zst", ".tar"), (
        "an archive", "unpack it; of compressed files, .csv.gz, .json.gz and .jsonl.gz can be read")),
}


def no_predictions(path: str) -> str | None:
    """Of a name that promises data in a format that is not read: what it is, and what to do.

    What names of files and folders say: formats, wildcards, what a folder leaves out, and columns.

    Some columns are in no file: the number of a row, and what stands in the names of folders, as Spark, Hive
    and warehouses write them.

        predictions/date=2026-11-20/country=DE/part-00000.snappy.parquet      date, country

    They are text; %3A in a name is a colon, and __HIVE_DEFAULT_PARTITION__ a missing value. A column that the
    file has itself is read from the file.
    """
    advice = _INSTEAD.get(_suffix(path))
    return None if advice is None else f"{path}: {advice[0]}, which is not read; {advice[1]}"


def supported_formats() -> str:
    """Half a sentence for messages: which formats a source may have, and where it may be."""
    return (
        f"give a file, a folder or a glob of {', '.join(_FORMATS)}, "
        "local or s3://bucket/key, gs://bucket/key, az://container/key; or a query or a table "
        "(docs/how-to/warehouses.md)"
    )


def format_of(path: str) -> Format | None:
    """The format that a file's name promises by its ending, such as `parquet` or `csv`; None for any other
    ending."""
    if is_table(path):
        return "table"
    return _FORMATS.get(_suffix(path))


def is_compressed(path: str) -> bool:
    """Whether the name says that the file is compressed with gzip (`.gz`)."""
    return path.lower().endswith(".gz")


def glob_pattern(path: str) -> re.Pattern[str]:
    """A whole-path pattern: `*`, `?` and `[...]` stay within a path segment, `**` crosses them."""
    pieces = re.split(r"(\*\*/?|\*|\?|\[[^\]/]+\])", path)
    translated = [_GLOB.get(piece, _bracket(piece)) for piece in pieces]
    return re.compile("".join(translated), re.DOTALL)


def is_glob(path: str) -> bool:
    """Whether the path has a wildcard: an asterisk, a question mark or an opening bracket."""
    return any(sign in path for sign in "*?[")


def fixed_part(path: str) -> str:
    """The folder above the first wildcard of a path, with its last slash; the empty text where there is
    none."""
    return "".join(re.split(r"[*?\[]", path, maxsplit=1)[0].rpartition("/")[:2])


def in_folder(names: Iterable[str]) -> list[str]:
    """Of relative names below a folder, those that are predictions: known suffix, no hidden part.

    Raises BadInput for a table whose files hold rows that its log has deleted.
    """
    names = list(names)
    for name in names:
        for kind, log in _TABLES.items():
            if log.search(name):
                raise BadInput(
                    f"pool.source: this folder is a table of {kind} ({name}): its files also hold rows "
                    f"that were deleted or replaced since; {_AS_TABLE.get(kind, _EXPORT)}"
                )
    shown = [name for name in names if format_of(name) and not hidden(name)]
    # a description in JSON may lie beside predictions of another format
    return [name for name in shown if format_of(name) != "json"] or shown


def hidden(name: str) -> bool:
    """Whether a part of the path begins with a dot or an underscore, as markers and half-written files do.

    A folder `_name=value` is no such part: it says what its rows have in a column.
    """
    *folders, file = name.split("/")
    return file.startswith((".", "_")) or any(
        part.startswith((".", "_")) and "=" not in part for part in folders
    )


_EXPORT = "export the rows of today as Parquet, and name that folder"
_AS_TABLE = {
    "Delta Lake": "name it as a table: source: {delta: FOLDER}, or delta://FOLDER",
    "Iceberg": "name it as a table: source: {iceberg: FOLDER}, or iceberg://FOLDER",
}
_TABLES = {
    "Delta Lake": re.compile(r"(^|/)_delta_log/"),
    "Iceberg": re.compile(r"(^|/)metadata/[^/]*\.metadata\.json$"),
    "Hudi": re.compile(r"(^|/)\.hoodie/"),
}


def trial_name(source: str) -> str:
    """A name for a first evaluation of a source, as evaluations may be named."""
    stem = stem_of_source(source).lower()
    made = "".join(sign if sign in _NAME_SIGNS else "-" for sign in stem).strip("-._") or "evaluation"
    return f"{made[:60]}-trial"


def stem_of_source(source: str) -> str:
    """The last part of an address without endings; of a query, the name of its connection."""
    place = re.split(r"[:?]", source.partition("://")[2])[0] if is_table(source) else source
    return PurePosixPath(place.rstrip("/")).name.split(".")[0]


_NAME_SIGNS = "abcdefghijklmnopqrstuvwxyz0123456789._-"
_GLOB = {"**/": r"(?:[^/]+/)*", "**": r".*", "*": r"[^/]*", "?": r"[^/]"}


def _bracket(piece: str) -> str:
    if len(piece) > 2 and piece[0] == "[" and piece[-1] == "]":
        inner = piece[1:-1].replace("\\", r"\\")
        return f"[^{inner[1:]}]" if inner[0] == "!" else f"[{inner}]"
    return re.escape(piece)


def _suffix(path: str) -> str:
    suffixes = [s.lower() for s in Path(path).suffixes]
    return "".join(suffixes[-2:]) if suffixes[-1:] == [".gz"] else "".join(suffixes[-1:])


ROW_NUMBER = "row number"    # from 1, in its file; a file's own column of this name comes first
_MISSING = "__HIVE_DEFAULT_PARTITION__"


def partition_columns(path: str) -> dict[str, str | None]:
    """Column -> value, of the folders above a file; where a name comes twice, the folder nearest the file."""
    columns: dict[str, str | None] = {}
    for folder in [] if is_table(path) else path.split("/")[:-1]:
        name, equals, value = folder.partition("=")
        if equals and name:
            columns[unquote(name)] = None if value == _MISSING else unquote(value)
    return columns
