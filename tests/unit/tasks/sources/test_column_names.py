"""What columns a source has, and what kind of values they hold."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assay.tasks.sources.files.file import check_columns
from assay.tasks.sources.parquet import every_name, is_within, picked
from assay.tasks.sources.reader import column_kinds, column_names, open_source

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


class Name(str):
    """Counts how often it is compared with another text."""

    compared = 0

    def __eq__(self, other):
        Name.compared += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


def test_work_does_not_grow_with_the_square_of_the_columns():
    """Names are looked up, not compared one with another."""
    n = 2_000
    batch = pa.RecordBatch.from_pydict({f"c{i}": [i] for i in range(n)} | {"s": [{"a": 1, "b": 2}]})
    names = [Name(name) for name in every_name(batch.schema)]
    assert names[-3:] == ["s", "s.a", "s.b"]
    Name.compared = 0
    check_columns("p", [*names], names)
    assert Name.compared < 20 * n
    asked = frozenset(names)
    assert all(is_within(name, asked) for name in ("c7", "s", "s.a", "s.b.x"))
    assert not is_within("cs.a", asked)
    assert Name.compared < 40 * n
    assert picked(batch, ["s.b", "c3"]).to_pylist() == [{"s.b": 2, "c3": 3}]


def test_every_name_asks_a_schema_for_its_names_once(monkeypatch):
    class Schema:
        asked = 0

        @property
        def names(self):
            Schema.asked += 1
            return [f"c{i}" for i in range(50)]

        def __iter__(self):
            return iter([pa.field(f"c{i}", pa.int64()) for i in range(50)])

    assert len(every_name(Schema())) == 50
    assert Schema.asked == 1
