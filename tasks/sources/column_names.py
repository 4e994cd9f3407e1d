"""The columns a source has, in its own order, and what kind of values they hold, without reading it all."""

from contextlib import closing

from assay.tasks.sources.file_columns import file_columns, parquet_schema
from assay.tasks.sources.jsonl_rows import jsonl_batches
from assay.tasks.sources.partition_columns import partition_columns
from assay.tasks.sources.reader import Source
from assay.tasks.sources.values import Kind, kind


def column_names(source: Source) -> list[str]:
    """Of its first file, then those that its folders' names tell; for JSON Lines, the keys of its first rows.

    Raises BadInput if it cannot be read.
    """
    file = source.files[0]
    return list(dict.fromkeys([*file_columns(file, source.format), *partition_columns(file.path)]))


def column_kinds(source: Source) -> dict[str, Kind]:
    """Column -> kind of value, of its first file. Raises BadInput if it cannot be read.

    As Parquet declares it, and as the first rows of JSON Lines have it; a CSV file holds text alone.
    """
    file = source.files[0]
    if source.format == "parquet":
        return {field.name: kind(field.type) for field in parquet_schema(file)}
    names = file_columns(file, source.format)
    if source.format == "csv":
        return dict.fromkeys(names, "text")
    with closing(jsonl_batches(file, names)) as batches:
        first = next(batches, None)
    return {} if first is None else {field.name: kind(field.type) for field in first[1].schema}
