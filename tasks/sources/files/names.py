"""What names of files and folders say: formats, wildcards, what a folder leaves out, and columns.

Some columns are in no file: the number of a row, and what stands in the names of folders, as Spark, Hive and
warehouses write them.

    predictions/date=2026-11-20/country=DE/part-00000.snappy.parquet      date, country

They are text; `%3A` in a name is a colon, and `__HIVE_DEFAULT_PARTITION__` a missing value. A column that the
file has itself is read from the file.
"""

import re
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import Literal
from urllib.parse import unquote

from assay.evalcore.errors import BadInput

Format = Literal["parquet", "csv", "jsonl"]
_FORMATS: dict[str, Format] = {
    ".parquet": "parquet",
    ".csv": "csv",
    ".csv.gz": "csv",
    ".tsv": "csv",
    ".tsv.gz": "csv",
    ".jsonl": "jsonl",
    ".jsonl.gz": "jsonl",
    ".ndjson": "jsonl",
    ".ndjson.gz": "jsonl",
}


_SAVE_AS_CSV = "open it in a spreadsheet and save it as CSV (CSV UTF-8, where that is offered)"
_AS_PARQUET = "read it where it was made, for instance with pandas, and write it with to_parquet"
_INSTEAD = {
    **dict.fromkeys((".xlsx", ".xls", ".xlsm", ".xlsb", ".ods", ".numbers"), (
        "a workbook of a spreadsheet", _SAVE_AS_CSV)),
    ".json": ("JSON", "write one object a line, as .jsonl (jq -c '.[]' FILE > FILE.jsonl, or pandas' "
                      "to_json(orient='records', lines=True)), or save it as CSV"),
    **dict.fromkeys((".pkl", ".pickle", ".feather", ".arrow", ".orc", ".h5", ".hdf5", ".rds", ".dta",
                     ".sav", ".sas7bdat"), ("data of another program", _AS_PARQUET)),
    **dict.fromkeys((".zip", ".7z", ".bz2", ".xz", ".zst", ".tar"), (
        "an archive", "unpack it; of compressed files, .csv.gz and .jsonl.gz can be read")),
}


def no_predictions(path: str) -> str | None:
    """Of a name that promises data in a format that is not read: what it is, and what to do."""
    found = _INSTEAD.get(_suffix(path))
    return None if found is None else f"{path}: {found[0]}, which is not read; {found[1]}"


def supported_formats() -> str:
    """What a source may be, for messages."""
    return (
        f"give a file, a folder or a glob of {', '.join(_FORMATS)}, "
        "local or s3://bucket/key, gs://bucket/key, az://container/key"
    )


def format_of(path: str) -> Format | None:
    """The format a name promises, or None."""
    return _FORMATS.get(_suffix(path))


def is_compressed(path: str) -> bool:
    """Whether the name says gzip."""
    return path.lower().endswith(".gz")


def glob_pattern(path: str) -> re.Pattern[str]:
    """A whole-path pattern: `*`, `?` and `[...]` stay within a path segment, `**` crosses them."""
    pieces = re.split(r"(\*\*/?|\*|\?|\[[^\]/]+\])", path)
    translated = [_GLOB.get(piece, _bracket(piece)) for piece in pieces]
    return re.compile("".join(translated), re.DOTALL)


def is_glob(path: str) -> bool:
    """Whether the path has a wildcard."""
    return any(sign in path for sign in "*?[")


def fixed_part(path: str) -> str:
    """The folder, slash included, above the first wildcard."""
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
                    "that were deleted or replaced since; export the rows of today as Parquet, and name that "
                    "folder"
                )
    return [name for name in names if format_of(name) and not hidden(name)]


def hidden(name: str) -> bool:
    """Whether a part of the path begins with a dot or an underscore, as markers and half-written files do.

    A folder `_name=value` is no such part: it says what its rows have in a column.
    """
    *folders, file = name.split("/")
    return file.startswith((".", "_")) or any(
        part.startswith((".", "_")) and "=" not in part for part in folders
    )


_TABLES = {
    "Delta Lake": re.compile(r"(^|/)_delta_log/"),
    "Iceberg": re.compile(r"(^|/)metadata/[^/]*\.metadata\.json$"),
    "Hudi": re.compile(r"(^|/)\.hoodie/"),
}


def trial_name(source: str) -> str:
    """A name for a first evaluation of a source, as evaluations may be named."""
    stem = PurePosixPath(source.rstrip("/")).name.split(".")[0].lower()
    made = "".join(sign if sign in _NAME_SIGNS else "-" for sign in stem).strip("-._") or "evaluation"
    return f"{made[:60]}-trial"


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


# Columns that are in no file.

ROW_NUMBER = "row number"    # from 1, in its file; a file's own column of this name comes first
_MISSING = "__HIVE_DEFAULT_PARTITION__"


def partition_columns(path: str) -> dict[str, str | None]:
    """Column -> value, of the folders above a file; where a name comes twice, the folder nearest the file."""
    found: dict[str, str | None] = {}
    for folder in path.split("/")[:-1]:
        name, equals, value = folder.partition("=")
        if equals and name:
            found[unquote(name)] = None if value == _MISSING else unquote(value)
    return found
