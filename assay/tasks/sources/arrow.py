"""Rows of an Arrow file (.arrow, .feather), a batch at a time.

Arrow has two formats: files with a footer, which Feather is since its second version, and streams, which
datasets of Hugging Face are.  Both are read, and only the columns that are asked for; of a file with a footer
batches without a wanted row are not read at all.  Batches are as they were written, cut to 32,768 rows.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial

import pyarrow as pa

from assay.evalcore.errors import BadInput
from assay.tasks.sources.files.file import BATCH_ROWS, SourceFile, check_columns, unreadable
from assay.tasks.sources.parquet import column_with_field, every_name, picked

_ARROW_BUFFER_BYTES = 4 << 20   # bytes read at once
_WITH_FOOTER, _FIRST_FEATHER = b"ARROW1", b"FEA1"    # how files begin


def arrow_schema(file: SourceFile) -> pa.Schema:
    """The types of the columns. Raises BadInput if it cannot be read."""
    with _opened(file) as (schema, _):
        return schema


def batch_rows(file: SourceFile) -> list[int]:
    """The rows of each batch. Raises BadInput where it cannot be read."""
    with _opened(file, ()) as (_, batches):
        return [read().num_rows for read in batches]


def arrow_batches(
    file: SourceFile, columns: Sequence[str], numbers: Sequence[int] | None = None
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """(number of its first row, batch of these columns); with `numbers` rows (sorted), only around those."""
    schema = arrow_schema(file)
    check_columns(file.path, columns, every_name(schema))
    needed = {column_with_field(name, schema.names) for name in columns}
    rows_of_batches, start = [] if numbers is None else batch_rows(file), 0
    with _opened(file, [schema.get_field_index(name) for name in needed]) as (_, batches):
        for number, read in enumerate(batches):
            if numbers is not None:
                end = start + rows_of_batches[number]
                if start > numbers[-1]:
                    return
                if bisect_left(numbers, start) == bisect_left(numbers, end):
                    start = end
                    continue
            batch = picked(read(), columns)
            for place in range(0, batch.num_rows, BATCH_ROWS):
                yield start + place, batch.slice(place, BATCH_ROWS)
            start += batch.num_rows


@contextmanager
def _opened(
    file: SourceFile, fields: Sequence[int] | None = None
) -> Iterator[tuple[pa.Schema, Iterator[Callable[[], pa.RecordBatch]]]]:
    """The types of all columns, and what reads each batch, with these columns alone, by their numbers.

    Raises BadInput for what is no Arrow, in whatever is done with it too.
    """
    options = pa.ipc.IpcReadOptions(included_fields=None if fields is None else sorted(fields))
    try:
        with closing(file.open(_ARROW_BUFFER_BYTES)) as stream:
            beginning = stream.read(len(_WITH_FOOTER))
            stream.seek(0)
            if beginning.startswith(_FIRST_FEATHER):
                raise BadInput(f"{file.path}: Feather of version 1, which is not read; write it again with "
                               "pyarrow's write_feather, or as Parquet")
            if beginning == _WITH_FOOTER:
                with pa.ipc.open_file(stream, options=options) as reader:
                    count = reader.num_record_batches
                    yield reader.schema, (partial(reader.get_batch, number) for number in range(count))
            else:
                with pa.ipc.open_stream(stream, options=options) as reader:
                    yield reader.schema, (partial(_given, batch) for batch in reader)
    except (pa.ArrowException, OSError) as error:
        raise unreadable(file.path, f"not a sound Arrow file ({error})") from None


def _given(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch
