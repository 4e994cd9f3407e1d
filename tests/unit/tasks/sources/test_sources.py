"""Reading predictions: the same rows from three formats, and clear errors for files that cannot be read."""

import gzip
import json
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assay.evalcore.errors import BadInput
from assay.tasks.sources.files.file import glob_pattern
from assay.tasks.sources.reader import list_files, open_source, read_rows
from assay.tasks.sources.values import as_numbers, as_text, of_python

ROWS = [{"item_id": f"i{n}", "score": n / 4, "note": f"line {n}\nnext, \"quoted\""} for n in range(10)]


def write(path, rows=ROWS) -> str:
    """Rows as text columns, in the format of the name."""
    path.parent.mkdir(parents=True, exist_ok=True)
    name = path.name.removesuffix(".gz")
    if name.endswith(".parquet"):
        pq.write_table(pa.Table.from_pylist(rows), path, row_group_size=3)
        return str(path)
    if name.endswith(".csv"):
        quote = [",".join('"' + str(v).replace('"', '""') + '"' for v in row.values()) for row in rows]
        blob = "\n".join([",".join(rows[0]), *quote, ""]).encode()
    else:
        blob = "".join(json.dumps(row) + "\n" for row in rows).encode()
    path.write_bytes(gzip.compress(blob) if path.suffix == ".gz" else blob)
    return str(path)


def rows_of(source: str, columns: list[str]) -> list[dict]:
    return [row for batch in open_source(source).batches(columns) for row in batch.columns.to_pylist()]


FORMATS = ["p.parquet", "p.csv", "p.csv.gz", "p.jsonl", "p.ndjson", "p.jsonl.gz"]


@pytest.mark.parametrize("name", FORMATS)
def test_the_asked_columns_come_back_in_the_order_asked(tmp_path, name):
    got = rows_of(write(tmp_path / name), ["note", "item_id"])
    assert got == [{"note": row["note"], "item_id": row["item_id"]} for row in ROWS]


@pytest.mark.parametrize("name", FORMATS)
def test_single_rows_are_found_again_in_the_order_asked(tmp_path, name):
    path = write(tmp_path / name)
    table = read_rows(path, [7, 0, 4, 7], ["item_id"])
    assert table.column("item_id").to_pylist() == ["i7", "i0", "i4", "i7"]
    with pytest.raises(BadInput, match="has no row 11 any more"):
        read_rows(path, [1, 10], ["item_id"])


@pytest.mark.parametrize("name", FORMATS)
def test_a_missing_column_is_named_with_the_nearest_one_and_all_there_are(tmp_path, name):
    with pytest.raises(BadInput) as caught:
        rows_of(write(tmp_path / name), ["item_id", "scoer"])
    assert f"{name}: no column 'scoer'; did you mean 'score'?" in str(caught.value)
    assert "'item_id', 'score', 'note'" in str(caught.value)


def test_csv_takes_nothing_for_a_number_or_for_missing(tmp_path):
    path = tmp_path / "p.csv"
    path.write_bytes(b"\xef\xbb\xbfid,flag\r\n007,NA\r\n\r\n1e5,\r\n")   # a mark of Excel, an empty line
    assert rows_of(str(path), ["id", "flag"]) == [{"id": "007", "flag": "NA"}, {"id": "1e5", "flag": ""}]


@pytest.mark.parametrize("text", ["id,score", "id,score\n", "\n\nid,score\n"])
def test_column_names_without_rows_are_no_rows(tmp_path, text):
    (tmp_path / "p.csv").write_text(text)
    assert rows_of(str(tmp_path / "p.csv"), ["id"]) == []


def test_jsonl_types_are_kept_and_a_key_that_is_not_there_is_missing(tmp_path):
    path = tmp_path / "p.jsonl"
    path.write_text('{"id": 1, "when": "2026-01-01", "x": {"b": 1, "a": [1]}}\n\n{"id": 2, "when": null}\n')
    assert rows_of(str(path), ["id", "when", "x"]) == [
        {"id": 1, "when": "2026-01-01", "x": '{"a":[1],"b":1}'}, {"id": 2, "when": None, "x": None}
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "blob", "message"),
    [
        ("p.csv", b"", "empty; a CSV file begins with a line of column names"),
        ("p.csv", b"id,s\n1,2\n3\n", "names has 2 values (id, s), and a row has 1 (3)"),
        ("p.csv", "id,s\né,2\n".encode() + b"\xff,2\n", "line 3 holds bytes that are not UTF-8, though"),
        ("p.csv", "id,s\nдвижение,2\n".encode("cp1251"), "not Windows-1252 either; save the file as UTF-8"),
        ("p.csv", b"id,s\n" + b"1,2\n" * (3 << 20) + b"caf\xe9,2\n", "bytes that are not UTF-8, as which it"),
        ("p.csv", b"id,s\n1\x8d,2\n", "not Windows-1252 either"),
        ("p.csv", "id,s\n1,2\n".encode("utf-32"), "is text in UTF-32; save it as UTF-8"),
        ("p.csv", "\ufeffid,s\n1,2\n".encode("utf-16-le") + b"\x00", "holds bytes that are not UTF-16"),
        ("p.csv", b"sep=;\nid;s\n1;2\n", "its first line (sep=;) is for Excel alone; remove that line"),
        ("p.csv", b'"id,s\n' + b"1,2\n" * 999, "a quotation mark in its line of column names is not closed"),
        ("p.csv", b"id,id\n1,2\n", "the column 'id' is there twice"),
        ("p.csv.gz", b"id\n1\n", "Not a gzipped file"),
        ("p.csv.gz", gzip.compress(b"id\n" + b"1\n" * 9999, mtime=0)[:-12], "ended before the end-of-stream"),
        ("p.parquet", b"", "not a sound Parquet file"),
        ("p.parquet", b"PAR1 is how it begins, and nothing more PAR1", "not a sound Parquet file"),
        ("p.jsonl", b'{"id": 1}\n{"id": \n', "line 2 is not JSON"),
        ("p.jsonl", b'{"id": 1}\n[2]\n', "line 2 is '[2]', not an object"),
        ("p.jsonl", b'{"id": "\\ud800"}\n', "the column 'id' holds text that is not Unicode"),
        ("p.jsonl", b'{"id": "\xff"}\n', "line 1 is not UTF-8, so it is not JSON Lines"),
        ("p.jsonl", b'{"id": 1}\n{"id": 2, "x": {"a": 1, "a": 2}}\n', "line 2 is not JSON (the key 'a'"),
        ("p.jsonl", b'[{"id": 1},\n {"id": 2}]\n', "is one JSON array; JSON Lines has one object a line"),
        ("p.jsonl", b'[{"id": 1}, {"id": 2}]\n', "Name the file .json, which may be an array"),
        ("p.jsonl", b'{"id": ' + b"[" * 100_000, "line 1 is nested too deeply"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(tmp_path, name, blob, message):
    path = tmp_path / name
    path.write_bytes(blob)
    with pytest.raises(BadInput) as caught:
        rows_of(str(path), ["id"])
    assert str(path) in str(caught.value)
    assert message in str(caught.value)


def test_a_corrupt_page_is_found_when_it_is_reached(tmp_path):
    path = tmp_path / "p.parquet"
    pq.write_table(pa.table({"id": [str(i) * 9 for i in range(9999)]}), path, use_dictionary=False)
    blob = bytearray(path.read_bytes())
    blob[2000:3000] = b"\xff" * 1000
    path.write_bytes(bytes(blob))
    with pytest.raises(BadInput, match="not a sound Parquet file"):
        rows_of(str(path), ["id"])


def test_files_of_a_folder_come_sorted_without_markers_and_half_written_files(tmp_path):
    for name in ("b/2.csv", "a.csv", "b/10.csv", "_SUCCESS.csv", ".a.csv", "b/.tmp/x.csv", "b/notes.txt"):
        write(tmp_path / name)
    names = [file.path.removeprefix(f"{tmp_path}/") for file in list_files(str(tmp_path))]
    assert names == ["a.csv", "b/10.csv", "b/2.csv"]
    names = [file.path.removeprefix(f"{tmp_path}/") for file in list_files(f"{tmp_path}/b/*.csv")]
    assert names == ["b/10.csv", "b/2.csv"]
    assert len(list_files(f"{tmp_path}/**/*.csv")) == 3


@pytest.mark.parametrize(
    ("glob", "fits", "misses"),
    [
        ("a/*.csv", "a/x.csv", "a/b/x.csv"),
        ("a/**/x.csv", "a/b/c/x.csv", "b/x.csv"),
        ("a/**/x.csv", "a/x.csv", "ab/x.csv"),
        ("part-[0-3]?.csv", "part-21.csv", "part-41.csv"),
        ("part-[!0].csv", "part-1.csv", "part-0.csv"),
        ("v1.csv", "v1.csv", "v1xcsv"),
    ],
)
def test_the_globs_of_s3_mean_what_those_of_the_disk_mean(glob, fits, misses):
    assert glob_pattern(glob).fullmatch(fits)
    assert not glob_pattern(glob).fullmatch(misses)


def test_no_file_mixed_formats_and_unknown_kinds_are_refused(tmp_path):
    with pytest.raises(BadInput, match=r"pool.source: no file matches .*none"):
        list_files(str(tmp_path / "none*.csv"))
    write(tmp_path / "a.csv")
    write(tmp_path / "b.parquet")
    with pytest.raises(BadInput, match="mixes formats"):
        list_files(str(tmp_path))
    for name, says in (("c.weights", "unknown kind of file"), ("c.xlsx", "save it as CSV"),
                       ("c.pkl", "write it with to_parquet"), ("c.csv.zip", "unpack it")):
        (tmp_path / name).write_bytes(b"")
        with pytest.raises(BadInput, match=says):
            list_files(str(tmp_path / name))


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path):
    path = tmp_path / "p.csv"
    write(path)
    batches = open_source(str(path)).batches(["item_id"])
    next(batches)
    path.write_text("item_id\nother\n")
    with pytest.raises(BadInput, match="changed while it was being read"):
        next(batches)


def test_text_does_not_depend_on_how_a_value_was_stored():
    same = [
        pa.array(["0.1", "17.0", None]),
        pa.array([0.1, 17.0, None]),
        pa.array([0.1, 17.0, float("nan")], pa.float32()),
        pa.array(["0.1", "17.0", None]).dictionary_encode(),
        pa.array(["0.1", "17.0", None], pa.large_string()),
    ]
    assert {tuple(as_text(values).to_pylist()) for values in same} == {("0.1", "17.0", None)}
    assert as_text(pa.array([17, None])).to_pylist() == ["17", None]
    assert as_text(pa.array([True])).to_pylist() == ["true"]
    assert as_text(pa.array([[1, 2]])).to_pylist() == ["[1,2]"]


def test_numbers_are_written_as_python_writes_them():
    rng = np.random.default_rng(32)
    sign = rng.choice([-1.0, 1.0], 20_000)
    for values in (
        rng.random(20_000),
        sign * 10.0 ** rng.uniform(-9, 20, 20_000),         # with a point, and with an exponent
        sign * rng.integers(1, 100, 20_000) * 10.0 ** rng.integers(-9, 20, 20_000),
        np.round(10.0 ** rng.uniform(0, 20, 20_000)),
        rng.integers(0, 1 << 63, 20_000).view(np.float64),                 # any bits
        np.array([0.0, -0.0, 1e-4, 1e16, 1e10, 9999999999.5, np.inf, -np.inf, np.nan, 5e-324]),
    ):
        written = [None if value != value else str(value) for value in values.tolist()]
        assert as_text(pa.array(values)).to_pylist() == written
        with np.errstate(over="ignore", invalid="ignore"):
            short = values.astype(np.float32)
        short = short[abs(short) != np.float32(1e-4)]   # with an exponent by NumPy, without in 64 bits
        written = [None if value != value else str(value) for value in short]
        assert as_text(pa.array(short)).to_pylist() == written


@pytest.mark.parametrize("values", [pa.array([b"\xff"]), pa.array([b"\x00x"]).dictionary_encode()])
def test_bytes_are_no_text(values):
    with pytest.raises(BadInput, match="holds bytes"):
        as_text(values)


@pytest.mark.parametrize("type", [pa.binary(), pa.large_binary(), pa.binary(1), pa.binary_view()])
def test_bytes_that_are_utf_8_are_text(type):
    assert as_text(pa.array([b"x", None], type)).to_pylist() == ["x", None]


def test_numbers_are_parsed_exactly_and_nothing_else_is_one():
    numbers, good = as_numbers(pa.array(["1e-3", " 0.1 ", "1_000", "0x1", "", None, "nan"]))
    assert numbers[:2].tolist() == [0.001, 0.1]
    assert good.tolist() == [True, True, False, False, False, False, True]   # NaN is read, and refused later
    numbers, good = as_numbers(pa.array([3, None]))
    assert (numbers[0], good.tolist()) == (3.0, [True, False])


def test_mixed_json_values_become_text():
    assert of_python([1, 2.5, None]).to_pylist() == [1.0, 2.5, None]
    assert of_python([1, "a", True, None, {"x": 1}]).to_pylist() == ["1", "a", "true", None, '{"x":1}']
    assert of_python([2**70, 1]).to_pylist() == [str(2**70), "1"]
    assert of_python([None, None]).type == pa.null()


BOMB = """
import sys
from pathlib import Path
from assay.tasks.sources.reader import open_source
rows = sum(batch.columns.num_rows for batch in open_source(sys.argv[1]).batches(["id", "text"]))
status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
print(rows, int(status["VmHWM"].split()[0]) // 1024)
"""


def test_a_small_parquet_file_that_stands_for_gigabytes_is_read_in_bounded_memory(tmp_path):
    path = tmp_path / "bomb.parquet"
    n = 1 << 15
    text = pa.DictionaryArray.from_arrays(pa.array([0] * n, pa.int32()), ["x" * (1 << 16)])   # 2 GB of it
    table = pa.table({"id": [str(i) for i in range(n)], "text": text})
    pq.write_table(table, path, compression="zstd", store_schema=False)
    assert path.stat().st_size < 200_000
    done = subprocess.run([sys.executable, "-c", BOMB, path], capture_output=True, text=True, check=True)
    rows, megabytes = map(int, done.stdout.split())
    assert rows == n
    assert megabytes < 700


def test_rows_are_numbered_the_same_whatever_the_size_of_batches(tmp_path):
    path = tmp_path / "pool.parquet"
    n = 40_000
    texts = [f"text {i}" * (i % 7) for i in range(n)]
    pq.write_table(pa.table({"id": list(range(n)), "text": texts}), path, row_group_size=33_000)
    batches = list(open_source(str(path)).batches(["text", "id"]))
    assert [batch.first_row for batch in batches] == [0, 32_768, 33_000]
    assert [t for batch in batches for t in batch.columns.column("text").to_pylist()] == texts
    wanted = [0, 1_023, 1_024, 32_999, 33_000, 39_999]
    assert read_rows(str(path), wanted, ["id"]).column("id").to_pylist() == wanted
