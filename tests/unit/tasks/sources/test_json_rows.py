"""Arrays of JSON: the same rows as JSON Lines, in bounded memory."""

import gzip
import json

import pytest

from assay.evalcore.errors import BadInput
from assay.tasks.sources import json_rows, jsonl_rows
from assay.tasks.sources.reader import column_kinds, column_names, list_files, open_source, read_rows

ROWS = [
    {"id": f"é{i}", "score": i / 8, "big": 2**70 + i, "tags": ["a", "]"], "text": '}, {"id": "no"} \\ "\n',
    "none": None} for i in range(3_400)
]
COLUMNS = [*ROWS[0]]


def written(folder, name, text):
    path = folder / name
    content = text if isinstance(text, bytes) else text.encode()
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    return str(path)


@pytest.mark.parametrize(("name", "text"), [
    ("plain.json", json.dumps(ROWS)),
    ("pretty.json", json.dumps(ROWS, indent=2, ensure_ascii=False)),
    ("small.json.gz", "\ufeff \n" + json.dumps(ROWS, separators=(",", ":"), ensure_ascii=False) + "\n"),
    ("spark.json", "".join(f"{json.dumps(row)}\n" for row in ROWS)),
])
def test_rows_are_those_of_json_lines(tmp_path, name, text, monkeypatch):
    monkeypatch.setattr(json_rows, "_JSON_CHUNK_BYTES", 4_099)
    monkeypatch.setattr(jsonl_rows, "BATCH_ROWS", 1_000)
    same = written(tmp_path, "same.jsonl", "".join(f"{json.dumps(row)}\n" for row in ROWS))
    path = written(tmp_path, name, text)
    source, lines = open_source(path), open_source(same)
    assert column_names(source) == column_names(lines) == COLUMNS
    assert column_kinds(source) == column_kinds(lines)
    batches = list(source.batches(COLUMNS))
    assert [(one.first_row, one.columns) for one in batches] == [
        (one.first_row, one.columns) for one in lines.batches(COLUMNS)]
    wanted = [3_399, 0, 2_000]
    assert read_rows(path, wanted, COLUMNS) == read_rows(same, wanted, COLUMNS)
    assert json_rows.count_json_rows(source.files[0]) == len(ROWS)


@pytest.mark.parametrize(("text", "why"), [
    ('[{"a": 1}, {"a": 2}', "it ends behind row 2, in the middle of the array"),
    ('[{"a": 1} {"a": 2}]', "behind row 1 there is '{' and no comma"),
    ('[{"a": 1}, ]', "row 2 is not JSON"),
    ('[{"a": 1}] [{"a": 2}]', "more behind the end of the array"),
    ('[{"a": 1}, 7]', "row 2 is '7', not an object"),
    ('[{"a": 1}, {"a": 2, "a": 3}]', "row 2 is not JSON .the key 'a' is there twice; keep one"),
    ('[{"a": 1}, {"a": tru}]', "row 2 is not JSON"),
    ("[" * 100_000, "nested too deeply"),
    ('"text"', "row 1 is 'text', not an object"),
    (b'[{"a": "\xff"}]', "is not UTF-8"),
])
def test_what_is_no_array_of_objects_says_so(tmp_path, text, why):
    path = written(tmp_path, "a.json", text)
    with pytest.raises(BadInput, match=rf"a\.json: .*{why}"):
        list(open_source(path).batches(["a"]))


def test_a_row_that_is_too_long_is_refused_before_all_of_it_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(json_rows, "_LONGEST_JSON_ROW", 1 << 16)
    monkeypatch.setattr(json_rows, "_JSON_CHUNK_BYTES", 1 << 12)
    path = written(tmp_path, "a.json", '[{"a": "' + "x" * (1 << 20))
    with pytest.raises(BadInput, match="row 1 is not JSON, or is longer than"):
        list(open_source(path).batches(["a"]))


def test_an_empty_array_has_no_rows(tmp_path):
    assert list(open_source(written(tmp_path, "a.json", "[ ]")).batches([])) == []


def test_a_description_beside_other_files_is_no_prediction(tmp_path):
    written(tmp_path, "schema.json", "{}")
    assert [file.path for file in list_files(str(tmp_path))] == [str(tmp_path / "schema.json")]
    written(tmp_path, "rows.csv", "id\n1\n")
    assert [file.path for file in list_files(str(tmp_path))] == [str(tmp_path / "rows.csv")]
