"""Rows of a Parquet file, a batch at a time.

Column chunks are read through a buffer instead of whole, so a file that is one giant row group costs no more
memory than any other. Row groups without a wanted row are not read at all. Batches are of 32,768 rows, or of
64 MB where rows are long.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from contextlib import closing

import pyarrow as pa
import pyarrow.parquet as pq

from assay.tasks.sources.columns import check_columns
from assay.tasks.sources.files.protocol import SourceFile, unreadable

_BATCH_ROWS = 1 << 15
_BATCH_BYTES = 64 << 20
# Rows decoded at once where a dictionary might hold long texts that many rows repeat: a small file may then
# stand for gigabytes.
_FEW_ROWS = 1 << 10
_BUFFER = 4 << 20        # bytes read at once, for each column


def parquet_batches(
    file: SourceFile, columns: Sequence[str], wanted: Sequence[int] | None = None
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """(number of its first row, batch of these columns); with `wanted` rows (sorted), only around those."""
    try:
        with closing(file.open(1 << 16)) as stream:
            reader = pq.ParquetFile(stream, pre_buffer=False, buffer_size=_BUFFER)
            check_columns(file.path, columns, reader.schema_arrow.names)
            first = 0
            for group in range(reader.num_row_groups):
                rows = reader.metadata.row_group(group).num_rows
                if wanted is None or bisect_left(wanted, first) < bisect_left(wanted, first + rows):
                    start = first
                    for batch in _batches(reader, group, columns):
                        if wanted is not None and start > wanted[-1]:
                            return
                        yield start, batch.select(list(columns))
                        start += batch.num_rows
                first += rows
    except (pa.ArrowException, OSError) as error:
        raise unreadable(file.path, f"not a sound Parquet file ({error})") from None


def _batches(reader: pq.ParquetFile, group: int, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """The rows of a row group, as many at once as memory allows."""
    rows = _FEW_ROWS if _may_grow(reader.metadata.row_group(group)) else _BATCH_ROWS
    held: list[pa.RecordBatch] = []
    many = much = 0
    for batch in reader.iter_batches(rows, row_groups=[group], columns=list(columns)):
        held.append(batch)
        many, much = many + batch.num_rows, much + batch.nbytes
        if many >= _BATCH_ROWS or much >= _BATCH_BYTES:
            yield _joined(held)
            held, many, much = [], 0, 0
    if held:
        yield _joined(held)


def _may_grow(group: pq.RowGroupMetaData) -> bool:
    """Whether a batch of a row group may hold much more than the pages it is read from."""
    chunks = (group.column(i) for i in range(group.num_columns))
    return any(
        chunk.physical_type == "BYTE_ARRAY" and chunk.total_uncompressed_size * _BATCH_ROWS > _BATCH_BYTES
        for chunk in chunks
    )


def _joined(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    if len(batches) == 1:
        return batches[0]
    return pa.Table.from_batches(batches).combine_chunks().to_batches()[0]
