"""The columns a source has, in its own order, and what kind of values they hold, without reading it all."""

from contextlib import closing

import pyarrow as pa
import pyarrow.parquet as pq

from assay.tasks.sources.csv_rows import header
from assay.tasks.sources.files.protocol import SourceFile, unreadable
from assay.tasks.sources.jsonl_rows import first_keys, jsonl_batches
from assay.tasks.sources.reader import Source
from assay.tasks.sources.values import Kind, kind


def column_names(source: Source) -> list[str]:
    """Of its first file; for JSON Lines, the keys of its first rows. Raises BadInput if it cannot be read."""
    file = source.files[0]
    if source.format == "parquet":
        return _of_parquet(file)
    return header(file) if source.format == "csv" else first_keys(file)


def column_kinds(source: Source) -> dict[str, Kind]:
    """Column -> kind of value, of its first file. Raises BadInput if it cannot be read.

    As Parquet declares it, and as the first rows of JSON Lines have it; a CSV file holds text alone.
    """
    file = source.files[0]
    if source.format == "parquet":
        return {field.name: kind(field.type) for field in _parquet_schema(file)}
    names = column_names(source)
    if source.format == "csv":
        return dict.fromkeys(names, "text")
    with closing(jsonl_batches(file, names)) as batches:
        first = next(batches, None)
    return {} if first is None else {field.name: kind(field.type) for field in first[1].schema}


def _of_parquet(file: SourceFile) -> list[str]:
    return list(_parquet_schema(file).names)


def _parquet_schema(file: SourceFile) -> pa.Schema:
    try:
        with closing(file.open(1 << 16)) as stream:
            return pq.ParquetFile(stream, pre_buffer=False).schema_arrow
    except (pa.ArrowException, OSError) as error:
        raise unreadable(file.path, f"not a sound Parquet file ({error})") from None
