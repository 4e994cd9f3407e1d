"""One reader for all sources: a stream of record batches, in bounded memory, in a fixed order.

    source = open_source("s3://models/2026-11-20/*.parquet")
    for batch in source.batches(["item_id", "score"]):
        batch.file, batch.first_row, batch.columns

Files are read in sorted order, once, and only the asked columns of them; `slices` reads some rows of some
files. `read_rows` goes back to one file for a few rows, for questions that are asked later.
The column `row number` is in every file: it names the items of one without ids.
"""

import os
import re
import stat
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from glob import glob
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
import pyarrow as pa

from assay.evalcore.errors import BadInput
from assay.tasks.arrow import column_of, texts_of
from assay.tasks.operating_system import path_in_file_address, with_slashes
from assay.tasks.secrets import refuse_secrets
from assay.tasks.sources.arrow import arrow_batches, arrow_schema, batch_rows
from assay.tasks.sources.csv_rows import csv_batches, dialect, header
from assay.tasks.sources.files.cloud import SCHEMES, CloudFile, list_cloud
from assay.tasks.sources.files.file import (
    ROW_NUMBER,
    Format,
    NoFile,
    SourceFile,
    changed_while_read,
    fixed_part,
    format_of,
    hidden,
    in_folder,
    is_glob,
    no_predictions,
    partition_columns,
    supported_formats,
    unreadable,
)
from assay.tasks.sources.files.s3 import S3File, list_s3
from assay.tasks.sources.json_rows import first_json_keys, json_batches
from assay.tasks.sources.jsonl_rows import first_keys, jsonl_batches
from assay.tasks.sources.marks import Mark
from assay.tasks.sources.parquet import group_rows, leaf_columns, parquet_batches, parquet_schema
from assay.tasks.sources.tables.places import table_at
from assay.tasks.sources.tables.table import Table, table_batches
from assay.tasks.sources.values import Kind, as_text, kind
from assay.tasks.table_address import DELTA, ICEBERG, SQL, QueryAddress, is_table, parsed_address


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalFile:
    """A file on the local disk: its path, its size in bytes, and its modification time as its version.

    Which files a source means.

    A source is one file, a folder (everything below it, except names that begin with a dot or an underscore)
    or a glob (`*` and `?` stop at slashes, `**` does not), on the local disk, on S3, or in another object
    storage that fsspec reads. Files come sorted by path, compared by code point, so that the same files give
    the same pool from every place.

    A file is read as it was when it was listed: one that changes meanwhile is an error, not a mixture.

    Files on the local disk.

    The standard library lists and opens them, not fsspec: its listing gives the modification time of a
    symbolic link instead of the file's, takes a link to a folder for a file, and turns relative paths into
    absolute ones.
    """

    path: str
    size: int
    version: str

    @staticmethod
    def at(path: str) -> "LocalFile":
        """The file as it is now. Raises BadInput when it cannot be looked at."""
        try:
            status = os.stat(path)
        except FileNotFoundError as error:
            if os.path.isabs(path):
                raise unreadable(path, error.strerror or str(error)) from None
            raise BadInput(
                f"{path}: there is no such file in {os.getcwd()}; restore it, or run this where it is: a "
                "relative path starts in the folder a process runs in. What several processes read (sweeps, "
                "the receiver) is best given by an absolute path"
            ) from None
        except OSError as error:
            raise unreadable(path, error.strerror or str(error)) from None
        if not stat.S_ISREG(status.st_mode):
            raise unreadable(path, "not a regular file, but a folder, a pipe or a device")
        return LocalFile(path=path, size=status.st_size, version=f"mtime-ns:{status.st_mtime_ns}")

    def open(self, buffer: int) -> BinaryIO:
        """Open for reading; the operating system's own read-ahead does the rest."""
        try:
            return open(self.path, "rb", buffering=min(buffer, 1 << 20))
        except OSError as error:
            raise unreadable(self.path, error.strerror or str(error)) from None

    def check_unchanged(self) -> None:
        """Raise BadInput where size or modification time of the file are no longer those that were listed."""
        if LocalFile.at(self.path) != self:
            raise changed_while_read(self.path)


def list_local(source: str) -> list[LocalFile]:
    """The files on the local disk that a path, a folder or a glob means, sorted; none where nothing is
    there. Raises BadInput for a pipe, a socket or a device."""
    if source.startswith("file://"):
        source = path_in_file_address(source.removeprefix("file://"))
    source = with_slashes(os.path.expanduser(source))
    path = Path(source)
    if path.is_file():
        return [LocalFile.at(source)]
    if path.is_dir():
        names = (p.relative_to(path).as_posix() for p in path.rglob("*") if p.is_file())
        return [LocalFile.at(with_slashes(os.path.join(source, name))) for name in sorted(in_folder(names))]
    if path.exists():
        raise BadInput(
            f"pool.source: {source}: a pipe, a socket or a device, which cannot be read twice; write the "
            "predictions into a file"
        )
    if not is_glob(source):
        return []
    fixed = len(fixed_part(source))
    names = (name for name in map(with_slashes, glob(source, recursive=True)) if not hidden(name[fixed:]))
    return [LocalFile.at(name) for name in sorted(names) if os.path.isfile(name)]


_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")


class _Place(NamedTuple):
    listed: Callable[[str], Sequence[SourceFile]]
    at: Callable[[str], SourceFile]


_LOCAL = _Place(list_local, LocalFile.at)
_PLACES: Mapping[str, _Place] = {
    "": _LOCAL,
    "file": _LOCAL,
    "s3": _Place(list_s3, S3File.at),
    **dict.fromkeys(SCHEMES, _Place(list_cloud, CloudFile.at)),
    **dict.fromkeys((SQL[:-3], DELTA[:-3], ICEBERG[:-3]), _Place(lambda address: [table_at(address)],
    table_at)),
}


def file_at(path: str) -> SourceFile:
    """The one file at a path, as it is now. Raises BadInput when there is none."""
    return _place(path).at(path)


def list_files(source: str) -> list[SourceFile]:
    """The files a source means, sorted, all of one format.

    Raises NoFile when nothing matches, BadInput when a single file has no known suffix, or when formats are
    mixed.
    """
    files = list(_place(source).listed(source))
    if not files:
        raise NoFile(f"pool.source: no file matches {source!r}; {supported_formats()}")
    by_format = {format_of(file.path): file.path for file in reversed(files)}
    if None in by_format:
        unknown = no_predictions(by_format[None])
        raise BadInput(
            f"pool.source: {unknown or f'{by_format[None]}: unknown kind of file; {supported_formats()}'}"
        )
    if len(by_format) > 1:
        raise BadInput(
            f"pool.source: {source!r} mixes formats: {', '.join(by_format.values())}; "
            "narrow the source down to files of one format"
        )
    return files


def is_there(source: str) -> bool:
    """Whether a source has a file by now. Raises BadInput where it can have none."""
    return bool(_place(source).listed(source))


def is_local(source: str) -> bool:
    """Whether a source is on the local disk, by the scheme of its address."""
    return _PLACES.get(_scheme(source)) is _LOCAL


def _place(path: str) -> _Place:
    scheme = _scheme(path)
    if scheme not in _PLACES:
        raise BadInput(f"pool.source: {path}: cannot read from {scheme}://; {supported_formats()}")
    return _PLACES[scheme]


def _scheme(path: str) -> str:
    match = _SCHEME.match(path)
    return match[1] if match else ""


def file_columns(file: SourceFile, format: Format) -> list[str]:
    """In the file's own order; of JSON Lines, the keys of the first rows; where types are said, a structure's
    fields as `structure.field`. Raises BadInput if it cannot be read."""
    if format in TYPED:
        return leaf_columns(typed_schema(file, format))
    if format == "csv":
        return header(file)
    return first_keys(file) if format == "jsonl" else first_json_keys(file)


_MOST_COMPARED = 100     # files whose columns are compared
DIVIDED: Collection[Format] = ("parquet", "arrow")    # formats of parts that are read by themselves
TYPED: Collection[Format] = (*DIVIDED, "table")       # formats that say what type a column has


def typed_schema(file: SourceFile, format: Format) -> pa.Schema:
    """The types of the columns of a file that says them. Raises BadInput if it cannot be read."""
    if isinstance(file, Table):
        return file.schema()
    return arrow_schema(file) if format == "arrow" else parquet_schema(file)


def rows_of_units(file: SourceFile, format: Format) -> list[int]:
    """Of a file that says it, the rows of each part that is read by itself. Raises BadInput if it cannot be
    read."""
    return batch_rows(file) if format == "arrow" else group_rows(file)


_Batches = Callable[
    [SourceFile, Sequence[str], Sequence[int] | None], Iterator[tuple[int, pa.RecordBatch]]
]
def _batches_of_table(
    file: SourceFile, columns: Sequence[str], wanted: Sequence[int] | None
) -> Iterator[tuple[int, pa.RecordBatch]]:
    if not isinstance(file, Table):
        raise TypeError(f"{file.path} is a file and no table")
    return table_batches(file, columns, wanted, file_at)


_READERS: dict[Format, _Batches] = {
    "parquet": parquet_batches, "arrow": arrow_batches, "csv": csv_batches, "jsonl": jsonl_batches,
    "json": json_batches, "table": _batches_of_table,
}

_FILES_ASKED = 20   # files that are asked how they are written


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceBatch:
    """Some consecutive rows of one file, in the columns that were asked for: which file, the number of the
    first row, and the values."""

    file: int               # index into Source.files
    first_row: int          # number of the first of them in the file, from 0, a header not counted
    columns: pa.RecordBatch  # the asked columns, in the order asked


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """Some consecutive rows of one file that are to be read: the first row and how many, and a place in a
    text file from which reading may begin."""

    file: int                  # index into Source.files
    first: int = 0             # the first of them, from 0
    mark: Mark | None = None   # where reading may begin: at the first of them or before
    rows: int | None = None    # how many; None: all that follow


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """The files that a source means, all of one format, in the order in which they are read."""

    given: str
    files: tuple[SourceFile, ...]
    format: Format

    def batches(self, columns: Sequence[str]) -> Iterator[SourceBatch]:
        """Every row, in order. Raises BadInput for a file that is corrupt, lacks a column or changes."""
        return self.slices([Slice(file=index) for index in range(len(self.files))], columns)

    def slices(self, slices: Sequence[Slice], columns: Sequence[str]) -> Iterator[SourceBatch]:
        """The rows of these slices, in order. Raises BadInput as `batches`."""
        for piece in slices:
            file, count = self.files[piece.file], 0
            try:
                for batch in self._slice(piece, columns):
                    count += batch.columns.num_rows
                    yield batch
            except BadInput:
                file.check_unchanged()      # a file that was written to may look corrupt
                raise
            file.check_unchanged()
            if count != (count if piece.rows is None else piece.rows):
                raise changed_while_read(file.path)

    def dialects(self) -> list[str]:
        """What was recognised of how files of CSV are written, in sentences; none of plain ones.

        Of many files, the first ones are asked. Raises BadInput for a file that cannot be read.
        """
        if self.format != "csv":
            return []
        paths: dict[str, str] = {}
        for file in self.files[:_FILES_ASKED]:
            if (sentence := dialect(file).in_words) is not None:
                paths.setdefault(sentence, file.path)
        return [f"{path}: {sentence}" for sentence, path in paths.items()]

    def _slice(self, piece: Slice, columns: Sequence[str]) -> Iterator[SourceBatch]:
        end = None if piece.rows is None else piece.first + piece.rows
        numbers = None if end is None else range(piece.first, end)
        readers = _READERS if piece.mark is None else _from(piece.mark)
        for first_row, batch in _rows(self.files[piece.file], self.format, readers, columns, numbers):
            before = max(piece.first - first_row, 0)
            rows = batch.slice(before, None if end is None else max(end - first_row - before, 0))
            if rows.num_rows:
                yield SourceBatch(file=piece.file, first_row=first_row + before, columns=rows)


def open_source(address: str, id: str | None = None) -> Source:
    """Find the files of a source. Raises BadInput when there are none or they cannot be one source.

    id   the column that names its rows, which gives the result of a query an order
    """
    refuse_secrets(address, "the address of the predictions")
    files = list_files(_in_order(address, id))
    format = format_of(files[0].path)
    if format is None:
        raise BadInput(f"{files[0].path}: unknown kind of file")
    return Source(given=address, files=tuple(files), format=format)


def _in_order(given: str, id: str | None) -> str:
    """The address of a query with the column that its rows are sorted by; another one as it is. Raises
    BadInput."""
    address = parsed_address(given) if id is not None and is_table(given) else None
    if not isinstance(address, QueryAddress) or address.order is not None:
        return given
    if id == ROW_NUMBER:
        raise BadInput(
            f"pool.id: the rows of a query have no order, so {ROW_NUMBER!r} names nothing in {given}; "
            "select a column that names each item"
        )
    return str(replace(address, order=id))


def read_rows(path: str, rows: Sequence[int], columns: Sequence[str]) -> pa.Table:
    """These rows of one file, in the order asked, each with these columns.

    Parquet reads only the row groups concerned, each up to the last row asked for; CSV and JSONL are streamed
    up to that row.
    Raises BadInput when the file is gone, cannot be read, or has no such row.
    """
    format = format_of(path)
    if format is None:
        raise BadInput(f"{path}: unknown kind of file")
    sorted_rows = sorted(set(rows))
    batches: list[pa.RecordBatch] = []
    numbers: list[int] = []
    for first_row, batch in _rows(file_at(path), format, _READERS, columns, sorted_rows):
        batch_rows = [row for row in sorted_rows if first_row <= row < first_row + batch.num_rows]
        if batch_rows:
            batches.append(batch.take(column_of(np.array(batch_rows, np.int64) - first_row, pa.int64())))
            numbers.extend(batch_rows)
    gone = sorted(set(sorted_rows) - set(numbers))
    if gone:
        raise BadInput(f"{path}: has no row {gone[0] + 1} any more; restore the file as it was")
    place = {row: i for i, row in enumerate(numbers)}
    order = column_of(np.array([place[row] for row in rows], np.int64), pa.int64())
    arrays = [_one_type([batch.column(i) for batch in batches]).take(order) for i in range(len(columns))]
    return pa.Table.from_arrays(arrays, names=list(columns))


def _rows(
    file: SourceFile,
    format: Format,
    readers: Mapping[Format, _Batches],
    columns: Sequence[str],
    numbers: Sequence[int] | None,
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """(number of its first row, batch): columns of the file, or else of the names of its folders."""
    constants = {ROW_NUMBER: None, **partition_columns(file.path)}
    stored = file_columns(file, format) if not constants.keys().isdisjoint(columns) else []
    constants = {name: value for name, value in constants.items() if name in columns and name not in stored}
    if not constants:
        yield from readers[format](file, columns, numbers)
        return
    read = [name for name in columns if name not in constants] or stored[:1]
    for first_row, batch in readers[format](file, read, numbers):
        rows = batch.num_rows
        arrays = [
            batch.column(name) if name not in constants
            else _row_numbers(first_row, rows) if name == ROW_NUMBER
            else pa.repeat(texts_of([constants[name]])[0], rows)
            for name in columns
        ]
        yield first_row, pa.RecordBatch.from_arrays(arrays, names=list(columns))


def _row_numbers(first_row: int, rows: int) -> pa.StringArray:
    return column_of(np.arange(first_row + 1, first_row + 1 + rows), pa.int64()).cast(pa.string())


def _from(mark: Mark) -> dict[Format, _Batches]:
    """Who reads a file of text from a mark on."""
    return {"csv": partial(csv_batches, mark=mark), "jsonl": partial(jsonl_batches, mark=mark)}


def _one_type(chunks: list[pa.Array]) -> pa.Array:
    if not chunks:
        return pa.array([], pa.string())
    if len({chunk.type for chunk in chunks}) > 1:  # batches of one JSONL file may differ
        chunks = [as_text(chunk) for chunk in chunks]
    return pa.concat_arrays(chunks)


def column_names(source: Source) -> list[str]:
    """Of its first file, then those that its folders' names tell; for JSON Lines, the keys of its first rows.

    Raises BadInput if it cannot be read.
    """
    file = source.files[0]
    return list(dict.fromkeys([*file_columns(file, source.format), *partition_columns(file.path)]))


def common_columns(source: Source) -> list[str]:
    """The columns that every file has, in the order of the first; of more than a hundred files, that the
    first hundred have. Of JSON, whose rows may lack keys, those of the first file. Raises BadInput if a file
    cannot be read.
    """
    columns = column_names(source)
    if source.format not in (*TYPED, "csv"):
        return columns
    for file in source.files[1:_MOST_COMPARED]:
        present = {*file_columns(file, source.format), *partition_columns(file.path), ROW_NUMBER}
        columns = [name for name in columns if name in present]
    return columns


def column_kinds(source: Source) -> dict[str, Kind]:
    """Column -> kind of value, of its first file. Raises BadInput if it cannot be read.

    As Parquet, Arrow and tables declare it, and as the first rows of JSON have it; a CSV file holds text
    alone.
    """
    file = source.files[0]
    if source.format in TYPED:
        return {field.name: kind(field.type) for field in typed_schema(file, source.format)}
    names = file_columns(file, source.format)
    if source.format == "csv":
        return dict.fromkeys(names, "text")
    read = json_batches if source.format == "json" else jsonl_batches
    with closing(read(file, names)) as batches:
        first_batch = next(batches, None)
    return {} if first_batch is None else {field.name: kind(field.type) for field in first_batch[1].schema}
