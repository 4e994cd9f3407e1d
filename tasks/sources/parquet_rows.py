"""Rows of a Parquet file, a batch at a time.

Column chunks are read through a buffer instead of whole, so a file that is one giant row group costs no more
memory than any other. Row groups without a wanted row are not read at all.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from contextlib import closing

import pyarrow as pa
import pyarrow.parquet as pq

from assay.tasks.sources.columns import check_columns
from assay.tasks.sources.files.protocol import SourceFile, unreadable

_BATCH_ROWS = 1 << 15
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
                    for batch in reader.iter_batches(_BATCH_ROWS, row_groups=[group], columns=list(columns)):
                        if wanted is not None and start > wanted[-1]:
                            return
                        yield start, batch.select(list(columns))
                        start += batch.num_rows
                first += rows
    except (pa.ArrowException, OSError) as error:
        raise unreadable(file.path, f"not a sound Parquet file ({error})") from None
