"""Folders as Spark and warehouses write them: partitions in names, markers, structures, logs of tables."""

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from assay.evalcore.errors import BadInput
from assay.tasks.sources.files.file import partition_columns
from assay.tasks.sources.reader import column_kinds, column_names, open_source, read_rows

ROWS = pa.table({
    "id": [f"m{n}" for n in range(8)],
    "output": [{"label": "spam" if n % 2 else "ham", "of": {"spam": n / 8}} for n in range(7)] + [None],
    "date": ["2026-11-19"] * 4 + ["2026-11-20"] * 4,
    "country": ["DE", "DE", "F R", "F R", "DE", "DE", None, None],
})


@pytest.fixture
def folder(tmp_path):
    ds.write_dataset(
        ROWS, tmp_path / "predictions", format="parquet", basename_template="part-{i}.c000.snappy.parquet",
        partitioning=ds.partitioning(
            pa.schema([("date", pa.string()), ("country", pa.string())]), flavor="hive"
        ),
    )
    (tmp_path / "predictions" / "_SUCCESS").touch()
    return tmp_path / "predictions"


def rows_of(source, columns):
    return [row for batch in open_source(str(source)).batches(columns) for row in batch.columns.to_pylist()]


def test_names_of_folders_are_columns(folder):
    assert rows_of(folder, ["date", "id", "country"]) == [
        {"date": row["date"], "id": row["id"], "country": row["country"]}
        for row in sorted(ROWS.to_pylist(), key=lambda r: (r["date"], r["country"] or "__HIVE"))
    ]
    assert rows_of(folder / "date=2026-11-20", ["date"]) == [{"date": "2026-11-20"}] * 4
    source = open_source(str(folder))
    assert column_names(source) == ["id", "output.label", "output.of.spam", "date", "country"]
    assert column_kinds(source) == {"id": "text", "output": "other"}


def test_single_rows_have_them_too(folder):
    [file, *_] = open_source(str(folder)).files
    table = read_rows(file.path, [1, 0], ["country", "id", "output.label"])
    assert table.to_pylist() == [
        {"country": "DE", "id": "m1", "output.label": "spam"},
        {"country": "DE", "id": "m0", "output.label": "ham"},
    ]


def test_a_column_of_the_file_is_not_read_from_a_folder(tmp_path):
    for name, text in (("p.csv", "id,score\na,1\n"), ("p.jsonl", '{"id": "a", "score": "1"}\n')):
        path = tmp_path / name.partition(".")[2] / "id=9" / "run=5" / name
        path.parent.mkdir(parents=True)
        path.write_text(text)
        assert rows_of(path, ["id", "run", "score"]) == [{"id": "a", "run": "5", "score": "1"}]


def test_fields_of_structures_are_columns(folder):
    rows = rows_of(folder, ["id", "output.label", "output.of.spam"])
    assert sorted((r["id"], r["output.label"], r["output.of.spam"]) for r in rows) == [
        (f"m{n}", "spam" if n % 2 else "ham", n / 8) for n in range(7)
    ] + [("m7", None, None)]
    with pytest.raises(BadInput, match=r"no column 'output.lable'; did you mean 'output.label'"):
        rows_of(folder, ["output.lable"])


def test_a_dot_in_a_name_is_no_structure(tmp_path):
    pq.write_table(pa.table({"a.b": [1], "a": [{"b": 2, "c": 3}], "x.y": [{"z": 4}]}), tmp_path / "p.parquet")
    assert rows_of(tmp_path / "p.parquet", ["a.b", "a.c", "x.y.z"]) == [{"a.b": 1, "a.c": 3, "x.y.z": 4}]


def test_escaped_names_and_missing_values():
    assert partition_columns("s3://b/t/at=10%3A30/country=__HIVE_DEFAULT_PARTITION__/a=b=c/x=1.parquet") == {
        "at": "10:30", "country": None, "a": "b=c",
    }


def test_a_partition_may_begin_with_an_underscore(tmp_path):
    path = tmp_path / "_day=3" / "p.csv"
    path.parent.mkdir()
    path.write_text("id\na\n")
    assert rows_of(tmp_path, ["id", "_day"]) == [{"id": "a", "_day": "3"}]


@pytest.mark.parametrize(
    ("log", "table", "remedy"),
    [("_delta_log/00000000000000000000.json", "Delta Lake", r"source: \{delta: FOLDER\}"),
     ("metadata/00001-a.metadata.json", "Iceberg", r"source: \{iceberg: FOLDER\}"),
     (".hoodie/hoodie.properties", "Hudi", "export the rows of today")],
)
def test_tables_with_deleted_rows_in_their_files_are_refused(folder, log, table, remedy):
    (folder / log).parent.mkdir(parents=True)
    (folder / log).write_text("{}")
    with pytest.raises(BadInput, match=f"this folder is a table of {table} .* {remedy}"):
        open_source(str(folder))
