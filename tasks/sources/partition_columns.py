"""Columns that are in no file: the number of a row, and what stands in the names of folders, as Spark, Hive
and warehouses write them.

    predictions/date=2026-11-20/country=DE/part-00000.snappy.parquet      date, country

They are text; `%3A` in a name is a colon, and `__HIVE_DEFAULT_PARTITION__` a missing value. A column that the
file has itself is read from the file.
"""

from urllib.parse import unquote

ROW_NUMBER = "row number"    # from 1, in its file; a file's own column of this name comes first
_MISSING = "__HIVE_DEFAULT_PARTITION__"


def partition_columns(path: str) -> dict[str, str | None]:
    """Column -> value, of the folders above a file; where a name comes twice, the folder nearest the file."""
    found: dict[str, str | None] = {}
    for folder in path.split("/")[:-1]:
        name, equals, value = folder.partition("=")
        if equals and name:
            found[unquote(name)] = None if value == _MISSING else unquote(value)
    return found
