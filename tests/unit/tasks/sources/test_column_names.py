"""What columns a source has, and what kind of values they hold."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assay.tasks.sources.column_names import column_kinds, column_names
from assay.tasks.sources.reader import open_source

COLUMNS = {"id": ["a", "b"], "age": [1, 2], "share": [0.5, None], "new": [True, False], "empty": [None, None]}
KINDS = {"id": "text", "age": "number", "share": "number", "new": "boolean", "empty": "nothing"}


@pytest.mark.parametrize("format", ["parquet", "csv", "jsonl"])
def test_kinds_are_told_from_the_first_file_of_any_format(tmp_path, format):
    path = tmp_path / f"window.{format}"
    if format == "parquet":
        pq.write_table(pa.table(COLUMNS), path)
    elif format == "csv":
        path.write_text(",".join(COLUMNS) + "\na,1,0.5,true,\nb,2,,false,\n")
    else:
        rows = [{name: values[i] for name, values in COLUMNS.items()} for i in range(2)]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    source = open_source(str(path))
    assert column_names(source) == list(COLUMNS)
    assert column_kinds(source) == (dict.fromkeys(KINDS, "text") if format == "csv" else KINDS)
