"""A frozen part as bytes. Some of its rows, or of its columns, are read without the rest.

    groups    of 4,096 rows: the texts, compressed with Zstandard, and then everything else, as it is. Each is
              a record batch in the form in which Arrow sends one (an encapsulated IPC message).
    footer    the columns in order, as Arrow sends a schema. Attached to it as JSON: `rows`, how many;
              `groups`, where each group begins, where its texts end and where it ends; `source`, where the
              rows come from, as runs (file, first row, rows); `missing`, columns that hold no value at all.
    8 bytes   the length of the footer, little-endian

Scores and probabilities are as good as random: compressing them takes time and saves nothing. Which file and
row an item comes from is said once for each run of rows that follow each other.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import accumulate, pairwise

import numpy as np
import pyarrow as pa

from assay.evalcore.types import Array, Ints
from assay.tasks.arrow import column_of, ends_of, missing_of, numbers_of
from assay.tasks.ledger.manifest import PROVENANCE

GROUP_ROWS = 4_096     # what reading one row costs
_LENGTH = 8            # bytes at the end
_LEVEL = 1             # of Zstandard

Fetch = Callable[[int, int], bytes | memoryview]    # the bytes of a part from a start to an end


class NotAPart(Exception):
    """The bytes are no part, or have changed."""


def part_bytes(table: pa.Table) -> bytes:
    """The bytes of a part: the same for the same rows."""
    rows = table.combine_chunks().to_batches()[0]
    missing = [name for name in rows.schema.names if rows.column(name).null_count == len(rows)]
    families = _families(rows.schema, missing)
    codecs = ("zstd", None)
    pieces = [_messages(rows.select(names), codec) for names, codec in zip(families, codecs, strict=True)]
    joined = [message for group in zip(*pieces, strict=True) for message in group]
    ends = [0, *accumulate(len(message) for message in joined)]
    groups = [ends[i : i + 3] for i in range(0, len(joined), 2)]
    told = {"rows": len(rows), "groups": groups, "source": _runs(rows), "missing": missing}
    said = {name: json.dumps(value, separators=(",", ":")) for name, value in told.items()}
    footer = rows.schema.with_metadata(said).serialize()
    return b"".join([*joined, footer, footer.size.to_bytes(_LENGTH, "little")])


def read_part_file(fetch: Fetch, size: int, columns: Sequence[str] | None = None) -> pa.Table:
    """All rows of a part, with these columns (all unless said). Raises NotAPart."""
    with _explained():
        footer = _footer(fetch, size)
        return _table(fetch, footer, range(len(footer.groups)), columns)


def read_rows_of(fetch: Fetch, size: int, rows: Sequence[int]) -> pa.Table:
    """These rows of a part, numbered within it, in the order asked. Raises NotAPart.

    Fetches the end of the part, and each group that holds one of them.
    """
    groups = sorted({row // GROUP_ROWS for row in rows})
    start = {group: i * GROUP_ROWS for i, group in enumerate(groups)}
    places = np.array([start[row // GROUP_ROWS] + row % GROUP_ROWS for row in rows], np.int64)
    with _explained():
        table = _table(fetch, _footer(fetch, size), groups, None)
        if places.max(initial=-1) >= table.num_rows:
            raise NotAPart("it has fewer rows than the manifest says")
        return table.take(column_of(places, pa.int64()))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Footer:
    """What the end of a part says."""

    schema: pa.Schema
    rows: int
    groups: Sequence[Sequence[int]]    # start, end of the texts, end
    source: Ints                       # (runs, 3): file, first row, rows
    missing: Sequence[str]


def _footer(fetch: Fetch, size: int) -> _Footer:
    end = size - _LENGTH
    length = int.from_bytes(fetch(max(end, 0), size), "little")
    if not 0 < length <= end:
        raise NotAPart("it does not end as a part does")
    schema = pa.ipc.read_schema(pa.py_buffer(fetch(end - length, end)))
    told = {name.decode(): json.loads(text) for name, text in (schema.metadata or {}).items()}
    return _Footer(
        schema=schema.remove_metadata(), rows=told["rows"], groups=told["groups"], missing=told["missing"],
        source=np.array(told["source"], np.int64).reshape(-1, 3),
    )


def _table(fetch: Fetch, footer: _Footer, groups: Sequence[int], columns: Sequence[str] | None) -> pa.Table:
    names = footer.schema.names if columns is None else columns
    asked = pa.schema([footer.schema.field(name) for name in names])
    return pa.Table.from_batches([_group(fetch, footer, group, asked) for group in groups], asked)


def _group(fetch: Fetch, footer: _Footer, group: int, asked: pa.Schema) -> pa.RecordBatch:
    """One group, with the columns of a schema; what holds none of these is not fetched."""
    start, middle, end = footer.groups[group]
    texts, others = _families(footer.schema, footer.missing)
    wanted = [not set(names).isdisjoint(asked.names) for names in (texts, others)]
    blob = memoryview(fetch(start if wanted[0] else middle, end if wanted[1] else middle))
    split = middle - start if wanted[0] else 0
    found: dict[str, pa.Array] = {}
    for piece, names, there in zip((blob[:split], blob[split:]), (texts, others), wanted, strict=True):
        if there:
            schema = pa.schema([footer.schema.field(name) for name in names])
            batch = pa.ipc.read_record_batch(pa.py_buffer(piece), schema)
            batch.validate(full=names is texts)     # texts by their offsets: a changed one may point anywhere
            found |= zip(names, batch.columns, strict=True)
    rows = min(GROUP_ROWS, footer.rows - group * GROUP_ROWS)
    if any(len(column) != rows for column in found.values()):
        raise NotAPart("its columns differ in length")
    if not set(PROVENANCE).isdisjoint(asked.names):
        found |= zip(PROVENANCE, _places(footer.source, group * GROUP_ROWS, rows), strict=True)
    arrays = [found[f.name] if f.name in found else pa.nulls(rows, f.type) for f in asked]
    return pa.RecordBatch.from_arrays(arrays, schema=asked)


def _families(schema: pa.Schema, missing: Sequence[str]) -> tuple[list[str], list[str]]:
    """The columns in a group: those of texts, and the others."""
    kept = [field for field in schema if field.name not in (*PROVENANCE, *missing)]
    texts = [field.name for field in kept if pa.types.is_string(field.type)]
    return texts, [field.name for field in kept if field.name not in texts]


def _messages(rows: pa.RecordBatch, codec: str | None) -> list[memoryview]:
    """The groups of some rows as Arrow sends them."""
    sink, ends = pa.BufferOutputStream(), []
    compression = None if codec is None else pa.Codec(codec, _LEVEL)
    options = pa.ipc.IpcWriteOptions(compression=compression, use_threads=False)
    with pa.ipc.new_stream(sink, rows.schema, options=options) as out:
        out.write_batch(_alone(rows.slice(0, 0)))    # the schema comes with it; both are none of the groups
        ends.append(sink.tell())
        for first in range(0, len(rows), GROUP_ROWS):
            out.write_batch(_alone(rows.slice(first, GROUP_ROWS)))
            ends.append(sink.tell())
    sent = memoryview(sink.getvalue())
    return [sent[start:end] for start, end in pairwise(ends)]


def _alone(rows: pa.RecordBatch) -> pa.RecordBatch:
    """The same rows with zeros behind them: of a slice, Arrow also sends some bytes that follow it."""
    if len(rows) % 64 == 0 and not any(pa.types.is_string(type) for type in rows.schema.types):
        return rows        # fills its memory
    arrays = []
    for column in rows.columns:
        there = _padded(np.packbits(~missing_of(column), bitorder="little")) if column.null_count else None
        if pa.types.is_string(column.type):
            ends, text = ends_of(column), column.buffers()[2]
            here = memoryview(b"" if text is None else text)[ends[0] : ends[-1]]
            buffers = [there, _padded(ends - ends[0]), _padded(here)]
        else:
            width = column.type.bit_width // 8
            first = column.offset * width
            buffers = [there, _padded(memoryview(column.buffers()[1])[first : first + len(column) * width])]
        arrays.append(pa.Array.from_buffers(column.type, len(column), buffers, column.null_count))
    return pa.RecordBatch.from_arrays(arrays, schema=rows.schema)


def _padded(values: Array | memoryview) -> pa.Buffer:
    """With zeros up to a multiple of 64 bytes."""
    view = (values if isinstance(values, memoryview) else values.data).cast("B")
    return pa.py_buffer(view if len(view) % 64 == 0 else b"".join([view, bytes(-len(view) % 64)]))


def _runs(rows: pa.RecordBatch) -> list[list[int]]:
    """Where rows come from: (file, first row, rows) of each run of rows that follow each other."""
    if not set(PROVENANCE) <= set(rows.schema.names):
        return []
    file, row = (numbers_of(rows.column(name)).astype(np.int64) for name in PROVENANCE)
    new = np.flatnonzero((np.diff(file) != 0) | (np.diff(row) != 1)) + 1
    starts = np.concatenate([[0], new])
    runs = np.stack([file[starts], row[starts], np.diff([*starts, len(file)])], axis=1)
    found: list[list[int]] = runs.tolist()
    return found


def _places(source: Ints, first: int, rows: int) -> tuple[pa.Array, pa.Array]:
    """File and row of some rows of a part, the first of them and how many."""
    ends = np.cumsum(source[:, 2])
    place = np.arange(first, first + rows)
    run = np.searchsorted(ends, place, side="right")
    row = source[run, 1] + place - (ends - source[:, 2])[run]
    return column_of(source[run, 0], pa.int32()), column_of(row, pa.int64())


@contextmanager
def _explained() -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, OSError, ValueError, TypeError, LookupError, EOFError, OverflowError) as error:
        raise NotAPart(str(error)) from None
