"""A mark is where a row begins: read from there, a file says what it says when it is read from the start."""

import random

import pytest

from assay.tasks.sources import jsonl_rows, marks
from assay.tasks.sources.csv_rows import count_csv_rows, csv_batches
from assay.tasks.sources.jsonl_rows import jsonl_batches
from assay.tasks.sources.marks import CsvMarks
from assay.tasks.sources.reader import file_at


def a_value(rng: random.Random) -> str:
    if rng.random() < 0.3:
        return '"' + "".join(rng.choices(["a", ",", "\n", '""', "\r\n", "\r"], k=rng.randint(0, 5))) + '"'
    return rng.choice(["", "1", "abc", "d e"])


def a_file(rng: random.Random) -> bytes:
    end, columns = rng.choice(["\n", "\r\n"]), rng.randint(2, 3)
    records = [",".join(rng.choice([f"h{i}", f'"h{i}"']) for i in range(columns))]
    for _ in range(rng.randint(7, 40)):
        records += [",".join(["x", *(a_value(rng) for _ in range(columns - 1))])]
        records += [""] * (rng.random() < 0.1)
    return (end.join(records) + rng.choice([end, ""])).encode("utf-8-sig" if rng.random() < 0.2 else "utf-8")


def test_marks_of_csv_files_are_where_rows_begin_however_blocks_fall(tmp_path, monkeypatch):
    monkeypatch.setattr(marks, "_EVERY", 3)
    path, seen = tmp_path / "p.csv", 0
    for seed in range(40):
        rng = random.Random(seed)
        data = a_file(rng)
        path.write_bytes(data)
        rows = [row for _, batch in csv_batches(file_at(str(path)), ["h0"]) for row in batch.to_pylist()]
        found, at = CsvMarks(), 3
        found.see(data[:3])
        while at < len(data):
            step = rng.choice([1, 2, 5, 17, 1_000])
            found.see(data[at : at + step])
            at += step
        counted = found.found(len(rows))
        assert counted == count_csv_rows(file_at(str(path)), "h0")
        assert [mark.row for mark in counted.marks] == list(range(3, len(rows), 3))
        for mark in rng.sample(counted.marks, 2):
            read = list(csv_batches(file_at(str(path)), ["h0"], mark=mark))
            assert read[0][0] == mark.row
            assert [row for _, batch in read for row in batch.to_pylist()] == rows[mark.row :]
            assert data[: mark.byte].count(b"\n") == mark.line
            seen += 1
    assert seen == 80


@pytest.mark.parametrize("value", ['5" disk', 'x"y"', '"a"b"c"', '"a" "b"', "lone\rreturn"])
def test_where_rows_are_not_certain_there_are_no_marks(monkeypatch, value):
    monkeypatch.setattr(marks, "_EVERY", 3)
    lines = ["a,b"] + ["1,2"] * 20
    found = CsvMarks()
    found.see("\n".join(lines).encode())
    assert len(found.found(20).marks) == 6
    assert found.found(19).marks == ()           # nor where others count other rows
    found = CsvMarks()
    found.see("\n".join([*lines, f"1,{value}", *lines]).encode())
    assert found.found(42).marks == found.found(43).marks == ()


def test_marks_of_json_lines_are_where_batches_begin(tmp_path, monkeypatch):
    monkeypatch.setattr(jsonl_rows, "BATCH_ROWS", 3)
    monkeypatch.setattr(jsonl_rows, "_LINES_BATCH_BYTES", 100)
    path = tmp_path / "p.jsonl"
    lines = ['{"id": %s}' % (i if i % 7 else f'"{"x" * 90}"') for i in range(20)]
    path.write_text("\ufeff" + "\r\n \n".join(lines))
    batches = list(jsonl_batches(file_at(str(path)), ["id"]))
    counted = jsonl_rows.count_jsonl_rows(file_at(str(path)))
    assert counted.rows == 20
    assert [0, *(mark.row for mark in counted.marks)] == [first for first, _ in batches]
    for place, mark in enumerate(counted.marks, start=1):
        assert list(jsonl_batches(file_at(str(path)), ["id"], mark=mark)) == batches[place:]
