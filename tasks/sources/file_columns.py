"""The columns that a file itself has, without reading it all."""

from contextlib import closing

import pyarrow as pa
import pyarrow.parquet as pq

from assay.tasks.sources.csv_rows import header
from assay.tasks.sources.files.names import Format
from assay.tasks.sources.files.protocol import SourceFile, unreadable
from assay.tasks.sources.jsonl_rows import first_keys
from assay.tasks.sources.nested import leaves


def file_columns(file: SourceFile, format: Format) -> list[str]:
    """In the file's own order; of JSON Lines, the keys of the first rows; of Parquet, a structure's fields
    as `structure.field`. Raises BadInput if it cannot be read."""
    if format == "parquet":
        return leaves(parquet_schema(file))
    return header(file) if format == "csv" else first_keys(file)


def parquet_schema(file: SourceFile) -> pa.Schema:
    """The types of a Parquet file's columns. Raises BadInput if it cannot be read."""
    try:
        with closing(file.open(1 << 16)) as stream:
            return pq.ParquetFile(stream, pre_buffer=False).schema_arrow
    except (pa.ArrowException, OSError) as error:
        raise unreadable(file.path, f"not a sound Parquet file ({error})") from None
