"""The columns a source has, in its own order, without reading its rows."""

from contextlib import closing

import pyarrow as pa
import pyarrow.parquet as pq

from assay.tasks.sources.csv_rows import header
from assay.tasks.sources.files.protocol import SourceFile, unreadable
from assay.tasks.sources.jsonl_rows import first_keys
from assay.tasks.sources.reader import Source


def column_names(source: Source) -> list[str]:
    """Of its first file; for JSON Lines, the keys of its first rows. Raises BadInput if it cannot be read."""
    file = source.files[0]
    if source.format == "parquet":
        return _of_parquet(file)
    return header(file) if source.format == "csv" else first_keys(file)


def _of_parquet(file: SourceFile) -> list[str]:
    try:
        with closing(file.open(1 << 16)) as stream:
            return list(pq.ParquetFile(stream, pre_buffer=False).schema_arrow.names)
    except (pa.ArrowException, OSError) as error:
        raise unreadable(file.path, f"not a sound Parquet file ({error})") from None
