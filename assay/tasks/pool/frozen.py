"""The frozen pool: what the ledger keeps of the predictions, and how it is read back.

    pool/part-00000-<digest>.arrow      65,536 rows each, in the order they were read
        item_id (string); score, probability (float64), prediction (int8; 1 = positive), or with any other
        labels, where there are any, prediction (int16, the code of a class; int64, a mask of tags; float64, a
        number), "assay.probabilities" (K floats of 32 bits), "assay.predictions" (of systems compared, a code
        of 16 bits for each, the baseline's first), "assay.predicted-numbers" (the same of numbers and tags,
        64 bits), "assay.probabilities-by-system" (K floats of 32 bits for each system, where measures need
        them) and "assay.judges" (J floats of 64 bits), "assay.beside" likewise; one column per
        segment (string), per feature (float64, called "assay.feature.NAME") and per further
        system (int8, "assay.system.NAME"); source_file (int32), source_row (int64); and where
        items come in clusters "assay.cluster" (string); where they have weights or ranks "assay.weight",
        "assay.rank" (float64)
    pool/shown-00000-0000-<digest>.arrow   what people see of them (`tasks.pool.shown`)
    pool/manifest.json                  which parts there are; written last, it commits the pool
    pool/sources.json                   sizes and versions of the source files; never compared

Rows are numbered over the parts in order, from 0. Digests are of values, not of files: every column of a
part is hashed by itself, as little-endian numbers or as lengths and UTF-8, so parts that are written in
another way have the same digest. The pool's digest covers what an evaluation depends on; where a row was read
from is left out, so the same predictions in another format, or cut into other files, are the same pool.

A part is an Arrow IPC file, as pandas, Polars and DuckDB read it: record batches of some rows, compressed
with LZ4, of which some rows or some columns are read without the rest. Two columns are not in it, as rows
follow each other in their files: the metadata of its schema has, as JSON, `source`: runs of rows (file, first
row, rows), `columns`: all columns in order, and `group_rows`: how many rows a record batch has, 4,096 unless
said.

Measured on id, score, probability and prediction, with the places of rows (November 2026, nanoseconds of the
processor to write and to read a row; bytes a row): 42, 14 and 24; with Zstandard 86, 74 and 18; as Parquet
with row groups of 4,096 rows, texts compressed, 190, 77 and 17.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import BytesIO
from math import isnan, nan
from typing import Any, BinaryIO, TypedDict

import numpy as np
import pyarrow as pa

from assay.evalcore.outcomes.items import Items
from assay.evalcore.types import Floats, Ints
from assay.tasks.arrow import column_of, ends_of, lengths_of, missing_of, numbers_of
from assay.tasks.ledger import open_reader, record
from assay.tasks.ledger.manifest import (
    BESIDE,
    BY_SYSTEM,
    CLUSTER,
    CONTENDER,
    FEATURE,
    JUDGES,
    OWN_COLUMNS,
    PREDICTED_NUMBERS,
    PREDICTIONS,
    PROBABILITIES,
    PROVENANCE,
    RANK,
    STRATUM,
    WEIGHT,
    FrozenPart,
)
from assay.tasks.ledger.stores.store import Store

GROUP_ROWS = 4_096     # what reading one row costs


class NotAPart(Exception):
    """Raised where bytes are no part of a frozen pool, or have changed since they were written."""


def part_bytes(table: pa.Table, group_rows: int | None = None) -> bytes:
    """The bytes of a part: the same for the same rows; group_rows: of a record batch, if not GROUP_ROWS."""
    group = group_rows or GROUP_ROWS
    rows = table.combine_chunks().to_batches()[0]
    header = {"columns": rows.schema.names, "source": _runs(rows), "group_rows": group}
    fields = [field for field in rows.schema if field.name not in PROVENANCE]
    schema = pa.schema(fields, {name: json.dumps(value) for name, value in header.items()})
    batch = pa.RecordBatch.from_arrays([_alone(rows.column(field.name)) for field in fields], schema=schema)
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="lz4", use_threads=False)
    with pa.ipc.new_file(sink, schema, options=options) as out:
        for start in range(0, len(batch), group):
            out.write_batch(batch.slice(start, group))
    written: bytes = sink.getvalue().to_pybytes()
    return written


def read_part_file(stream: BinaryIO, columns: Sequence[str] | None = None) -> pa.Table:
    """All rows of a part, with these columns (all unless said). Raises NotAPart."""
    with _explained():
        return _Part(stream, columns).whole()


def read_rows_of(stream: BinaryIO, rows: Sequence[int]) -> pa.Table:
    """These rows of a part, numbered within it, in the order asked. Raises NotAPart.

    Reads the end of the part, and each group that holds one of them.
    """
    with _explained():
        part = _Part(stream, None)
        long = part.group_rows
        groups = sorted({row // long for row in rows})
        start = {group: i * long for i, group in enumerate(groups)}
        places = np.array([start[row // long] + row % long for row in rows], np.int64)
        table = part.some([group for group in groups if group < part.groups])
        if places.max(initial=-1) >= table.num_rows:
            raise NotAPart("it has fewer rows than the manifest says")
        return table.take(column_of(places, pa.int64()))


class _Part:
    """A part that is read. Raises whatever Arrow raises of bytes that are no part."""

    def __init__(self, stream: BinaryIO, columns: Sequence[str] | None) -> None:
        # threads that decompress cost three times what they save
        file = pa.ipc.open_file(stream, options=pa.ipc.IpcReadOptions(use_threads=False))
        metadata = file.schema.metadata
        header: dict[str, Any] = {name.decode(): json.loads(text) for name, text in metadata.items()}
        names = list(header["columns"] if columns is None else columns)
        self._source = np.array(header["source"], np.int64).reshape(-1, len(PROVENANCE) + 1)
        self.group_rows = int(header["group_rows"])
        if self.group_rows < 1:
            raise ValueError("its groups have no rows")
        self._kept = [name for name in names if name not in PROVENANCE]
        if len(self._kept) < len(file.schema.names):
            # of a part without any column asked, one says how many rows there are
            fields = [file.schema.get_field_index(name) for name in self._kept] or [0]
            options = pa.ipc.IpcReadOptions(included_fields=fields, use_threads=False)
            file = pa.ipc.open_file(stream, options=options)
        self._file, self._names = file, names
        self.groups: int = file.num_record_batches

    def whole(self) -> pa.Table:
        """All rows of the part."""
        return self._table(self._file.read_all(), 0)

    def some(self, groups: Sequence[int]) -> pa.Table:
        """The rows of these groups."""
        read = []
        for group in groups:
            rows = pa.Table.from_batches([self._file.get_batch(group)])
            read.append(self._table(rows, group * self.group_rows))
        return pa.concat_tables(read) if read else pa.table({})

    def _table(self, rows: pa.Table, first_row: int) -> pa.Table:
        rows.validate(full=True)     # a changed offset may point anywhere
        columns = {name: rows.column(name) for name in self._kept}
        if len(self._kept) < len(self._names):
            columns |= zip(PROVENANCE, _places(self._source, first_row, len(rows)), strict=True)
        return pa.Table.from_arrays([columns[name] for name in self._names], names=self._names)


def _alone(column: pa.Array) -> pa.Array:
    """The same values in memory of their own: of a slice, Arrow also writes some bytes that follow it."""
    return pa.concat_arrays([column, column.slice(0, 0)])


def _runs(rows: pa.RecordBatch) -> list[list[int]]:
    """Where rows come from: (file, first row, rows) of each run of rows that follow each other."""
    if not set(PROVENANCE) <= set(rows.schema.names):
        return []
    file, row = (numbers_of(rows.column(name)).astype(np.int64) for name in PROVENANCE)
    new = np.flatnonzero((np.diff(file) != 0) | (np.diff(row) != 1)) + 1
    starts = np.concatenate([[0], new])
    runs = np.stack([file[starts], row[starts], np.diff([*starts, len(file)])], axis=1)
    result: list[list[int]] = runs.tolist()
    return result


def _places(source: Ints, first_row: int, rows: int) -> tuple[pa.Array, pa.Array]:
    """File and row of some rows that follow each other, the first of them and how many; source: as _runs."""
    file, row, length = source.T
    ends = np.cumsum(length)
    low, high = (np.clip(bound, first_row, first_row + rows) for bound in (ends - length, ends))
    counts = high - low                # of each run, how many of these rows
    begins = row + low - (ends - length)
    within = np.arange(rows) - np.repeat(np.cumsum(counts) - counts, counts)
    rows_of_files = np.repeat(begins, counts) + within
    return column_of(np.repeat(file, counts), pa.int32()), column_of(rows_of_files, pa.int64())


@contextmanager
def _explained() -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, OSError, ValueError, TypeError, LookupError, AttributeError) as error:
        raise NotAPart(str(error)) from None


PART_ROWS = 65_536   # rows of a part of the frozen pool
FEW_ROW_GROUPS = 2   # of a part, that are read one by one


@dataclass(frozen=True, slots=True, kw_only=True)
class FrozenRow:
    """One item of the pool as it was frozen: its number over the whole pool, its id, what is predicted of
    it, its segments, and the file and row it came from. Fields that the pool does not have keep their
    defaults."""

    row: int                         # over the whole pool, from 0
    item_id: str
    score: float = nan               # with a positive and a negative class
    probability: float = nan
    probabilities: tuple[float, ...] | None = None   # of each class or tag, where they are supplied
    predictions: tuple[float, ...] | None = None     # of each system, baseline first, where they are compared
    by_system: tuple[float, ...] | None = None       # what each system gives each class, where that is asked
    prediction: float | None = None  # its code; None where the pool has none
    judges: tuple[float, ...] | None = None   # the codes of what each judge says, where there are any
    beside: tuple[float, ...] | None = None   # covariates and the spread, where there are any
    cluster: str | None = None       # what it comes together with others in, where the pool says
    weight: float | None = None      # what it counts for, where the pool says
    rank: float | None = None        # where a document stands in its query, where the pool says
    stratum: float | None = None     # the number of the stratum that it was drawn from, where the pool says
    contender: float | None = None   # the code of whose answer it is, or whose two it compares
    features: Mapping[str, str] = field(default_factory=dict)   # what may move a judge, where the spec says
    segments: Mapping[str, str]
    source_file: int                 # index into Manifest.sources
    source_row: int                  # in that file, from 0


class ItemColumns(TypedDict):
    """What the pool says of n items, a row each; None where it has no such column."""

    prediction: Floats | None        # (n,) codes
    probabilities: Floats | None     # (n, K) of each class or tag
    predictions: Floats | None       # (n, S) codes, of each of the systems compared
    by_system: Floats | None         # (n, S·K) what each of them gives each class, where a measure needs it
    judges: Floats | None            # (n, J) codes of what judges say
    beside: Floats | None            # (n, X) covariates and the spread
    scores: Floats | None            # (n,) of items that have probabilities of classes beside
    clusters: list[str] | None       # what each item comes together with others in
    weights: Floats | None           # (n,) what each item counts for
    ranks: Floats | None             # (n,) where each document stands in its query
    strata: Floats | None            # (n,) the number of the stratum each item was drawn from
    contenders: Floats | None        # (n,) codes of whose answer each is (`evalcore.measures.contenders`)


def columns_of_items(rows: Sequence[FrozenRow]) -> ItemColumns:
    """The columns of these items, in their order."""
    scored = (row.score for row in rows if row.probabilities is not None and not isnan(row.score))
    return ItemColumns(
        prediction=_present(row.prediction for row in rows),
        probabilities=_present(row.probabilities for row in rows),
        predictions=_present(row.predictions for row in rows),
        by_system=_present(row.by_system for row in rows),
        judges=_present(row.judges for row in rows),
        beside=_present(row.beside for row in rows),
        scores=_present(scored),
        clusters=[row.cluster for row in rows if row.cluster is not None] or None,
        weights=_present(row.weight for row in rows),
        ranks=_present(row.rank for row in rows),
        strata=_present(row.stratum for row in rows),
        contenders=_present(row.contender for row in rows),
    )


def _present(values: Iterable[float | tuple[float, ...] | None]) -> Floats | None:
    """The values that are there, as an array; None where none is."""
    present = [value for value in values if value is not None]
    return np.array(present, np.float64) if present else None


def items_of(rows: Sequence[FrozenRow], *, of_positive: bool) -> Items:
    """What the pool says of these items: prediction, the probability of each class and judges, as there are.

    of_positive: the pool supplies the probability of the positive one of two classes.
    """
    columns = columns_of_items(rows)
    predicted, supplied = columns["prediction"], columns["probabilities"]
    if of_positive:
        positive = np.array([row.probability for row in rows], np.float64)
        supplied = np.stack([1 - positive, positive], axis=1)
    return Items(
        prediction=np.zeros((len(rows), 0)) if predicted is None else predicted[:, None],
        probability=supplied, judge=columns["judges"], covariate=columns["beside"],
        weight=_column(columns["weights"]), rank=_column(columns["ranks"]),
        contender=_column(columns["contenders"]), stratum=_column(columns["strata"]),
    )


def _column(values: Floats | None) -> Floats | None:
    """(n, 1) of (n,)."""
    return None if values is None else values[:, None]


def frozen_row(number: int, values: dict[str, Any], segments: Sequence[str]) -> FrozenRow:
    """The item that a row of a part holds, with packed columns unpacked into numbers and its number over the
    whole pool."""
    return FrozenRow(
        row=number, segments={name: values[name] for name in segments},
        probabilities=_numbers(values.get(PROBABILITIES), "<f4"),
        predictions=_numbers(values.get(PREDICTIONS), "<i2")
        or _numbers(values.get(PREDICTED_NUMBERS), "<f8"),
        by_system=_numbers(values.get(BY_SYSTEM), "<f4"), judges=_numbers(values.get(JUDGES), "<f8"),
        beside=_numbers(values.get(BESIDE), "<f8"),
        cluster=values.get(CLUSTER), weight=values.get(WEIGHT), rank=values.get(RANK),
        stratum=values.get(STRATUM), contender=values.get(CONTENDER),
        features={
            name.removeprefix(FEATURE): text for name, text in values.items() if name.startswith(FEATURE)
        },
        **{name: values[name] for name in OWN_COLUMNS if name in values},
    )


def _numbers(packed: bytes | None, dtype: str) -> tuple[float, ...] | None:
    return None if packed is None else tuple(np.frombuffer(packed, dtype).tolist())


def part_digests(table: pa.Table, shown: Sequence[Sequence[str]]) -> tuple[str, str]:
    """SHA-256 of the values of a part, column by column: of all, and without where its rows come from.

    shown: each shown column, and its digest. Names and order of the columns count.
    """
    columns = {name: _column_digest(table.column(name).combine_chunks()) for name in table.column_names}
    full_digest, value_digest = (
        hashlib.sha256(record.to_json({
            "rows": table.num_rows,
            "columns": [[name, digest] for name, digest in columns.items() if name not in left_out],
            "shown": list(shown),
        })).hexdigest()
        for left_out in ((), PROVENANCE)
    )
    return full_digest, value_digest


def pool_digest(parts: Sequence[str]) -> str:
    """SHA-256 over the digests of the parts without provenance, in order."""
    return hashlib.sha256(record.to_json(list(parts))).hexdigest()


def checked_digest(table: pa.Table, shown: Sequence[Sequence[str]], key: str, part: FrozenPart) -> str:
    """The digest of a part without where its rows come from; shown: as in `part_digests`.

    Raises DamagedRecord naming its key if its values are not those that the manifest says.
    """
    full_digest, value_digest = part_digests(table, shown)
    if table.num_rows != part.rows or full_digest != part.digest:
        raise record.damaged(key, "its values are not the ones in the manifest")
    return value_digest


def frozen_parts(
    store: Store, part_keys: Sequence[str], columns: Sequence[str] | None = None
) -> Iterator[pa.Table]:
    """The parts in order, one at a time, with these columns (all unless said)."""
    for key in part_keys:
        yield read_part(store, key, columns)


def read_part(store: Store, key: str, columns: Sequence[str] | None = None) -> pa.Table:
    """One part, with these columns (all unless said). Raises DamagedRecord when it cannot be read."""
    try:
        return read_part_file(pa.BufferReader(store.get(key)), columns)
    except NotAPart as error:
        raise record.damaged(key, str(error)) from None


def read_part_rows(store: Store, key: str, rows: Sequence[int]) -> pa.Table:
    """These rows of a part (numbered within it), in the order asked, reading only their groups.

    Where they lie in more than a few groups, the part is read whole: one call, where each group is one.
    """
    few = len({row // GROUP_ROWS for row in rows}) <= FEW_ROW_GROUPS
    with open_reader(store, key) if few else BytesIO(store.get(key)) as stream:
        try:
            return read_rows_of(stream, rows)
        except NotAPart as error:
            raise record.damaged(key, str(error)) from None


def _column_digest(column: pa.Array) -> str:
    digest = hashlib.sha256(str(column.type).encode() + b"\n")
    if pa.types.is_string(column.type):
        lengths = lengths_of(column)
        if column.null_count:
            lengths[missing_of(column)] = -1        # missing, which is not ""
            column = column.fill_null("")
        digest.update(lengths.astype("<i4", copy=False).data)
        ends, text = ends_of(column), column.buffers()[2]
        if text is not None:
            digest.update(memoryview(text)[ends[0] : ends[-1]])
    elif pa.types.is_fixed_size_binary(column.type):
        some_missing = column.null_count > 0
        digest.update(bytes([some_missing]))
        if some_missing:
            digest.update((~missing_of(column)).data)
            column = column.drop_null()
        digest.update(packed_bytes(column))
    else:
        digest.update(np.ascontiguousarray(numbers_of(column)).data)
    return digest.hexdigest()


def packed_bytes(chunk: pa.FixedSizeBinaryArray) -> memoryview:
    """The values of a column of packed probabilities, one after the other."""
    if not len(chunk):
        return memoryview(b"")
    width = chunk.type.byte_width
    buffer = chunk.buffers()[1]
    return memoryview(buffer)[chunk.offset * width : (chunk.offset + len(chunk)) * width]


SHARD_PARTS = 16   # parts of a shard: about a million rows


@dataclass(frozen=True, slots=True, kw_only=True)
class FrozenShard:
    """A run of consecutive parts of the frozen pool, on which one worker works: the keys of the parts, the
    number of its first row over the whole pool, its number of rows, and which labels are known
    beforehand.

    Shards of a frozen pool: runs of whole parts, the units in which it is cut.

    Where they begin follows from the parts alone, never from how many workers there are. About a million rows
    make a shard.
    """

    number: int
    part_keys: tuple[str, ...]
    first_row: int                # over the whole pool, from 0
    rows: int
    known: bytes | None = None    # label of each row, one signed byte, -1: in a cell; None: all are in cells

    def tables(self, store: Store, columns: Sequence[str]) -> Iterator[tuple[pa.Table, Ints | None]]:
        """Its parts with these columns, one at a time, and the labels (n,) known of the rows of each."""
        labels = None if self.known is None else np.frombuffer(self.known, np.int8).astype(np.int64)
        start = 0
        for part in frozen_parts(store, self.part_keys, columns):
            yield part, None if labels is None else labels[start : start + part.num_rows]
            start += part.num_rows


def shards_of(part_keys: Sequence[str], part_rows: Sequence[int]) -> tuple[FrozenShard, ...]:
    """The shards of a frozen pool; part_rows: the rows of each part."""
    shards: list[FrozenShard] = []
    first_row = 0
    for i in range(0, len(part_keys), SHARD_PARTS):
        rows, keys = sum(part_rows[i : i + SHARD_PARTS]), tuple(part_keys[i : i + SHARD_PARTS])
        shards.append(FrozenShard(number=len(shards), part_keys=keys, first_row=first_row, rows=rows))
        first_row += rows
    return tuple(shards)
