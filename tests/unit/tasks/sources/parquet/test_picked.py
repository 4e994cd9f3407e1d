"""A few rows of Parquet, read by their pages: the same values as by reading everything, and few bytes."""

from datetime import UTC, datetime
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assay.evalcore.errors import BadInput
from assay.tasks.sources.files.listing import file_at
from assay.tasks.sources.files.protocol import open_ranges
from assay.tasks.sources.parquet import pages
from assay.tasks.sources.parquet import picked as parquet_picked
from assay.tasks.sources.parquet import rows as parquet_rows
from assay.tasks.sources.parquet.picked import picked_batches
from assay.tasks.sources.reader import read_rows

N = 3_000
COLUMNS = ["text", "few", "number", "score", "flag", "when", "price", "kind", "output.text", "output.more.n",
           "a.b"]
WANTED = [2_999, 0, 1, 1_999, 2_000, 7, 1_234, 7]


@pytest.fixture(autouse=True)
def every_group_is_long(monkeypatch):
    monkeypatch.setattr(parquet_picked, "_LONG_GROUP", 0)


def table() -> pa.Table:
    rows = range(N)
    return pa.table({
        "text": [None if i % 7 == 0 else f"text {i}" * (i % 5) for i in rows],
        "few": [f"one of {i % 3}" for i in rows],
        "number": pa.array([None if i % 2 else i for i in rows], pa.int32()),
        "score": pa.array([i / 8 for i in rows], pa.float32()),
        "flag": [i % 3 == 0 for i in rows],
        "when": pa.array([datetime(2026, 1, 1, tzinfo=UTC)] * N, pa.timestamp("us", "UTC")),
        "price": pa.array([Decimal(i) / 100 for i in rows], pa.decimal128(9, 2)),
        "kind": pa.array([f"k{i % 4}" for i in rows], pa.large_string()).dictionary_encode(),
        "output": [None if i % 5 == 0 else {"more": {"n": i}, "text": f"t {i}"} for i in rows],
        "a.b": [f"dotted {i}" for i in rows],
        "words": [["a"] * (i % 3) for i in rows],
    })


@pytest.fixture
def read_whole(monkeypatch) -> list[str]:
    """The columns that were read from the start of a row group."""
    noted: list[str] = []
    once = parquet_picked.parquet_batches

    def batches(file, columns, wanted):
        noted.extend(columns if type(file).__name__ != "SmallFile" else [])
        return once(file, columns, wanted)

    monkeypatch.setattr(parquet_picked, "parquet_batches", batches)
    return noted


@pytest.mark.parametrize("how", [
    {"compression": "snappy"},
    {"compression": "zstd", "write_page_index": True},
    {"compression": "none", "data_page_version": "2.0", "use_dictionary": False},
    {"compression": "lz4", "data_page_version": "2.0", "write_page_index": True, "store_schema": False},
    {"compression": "gzip", "use_dictionary": False, "row_group_size": N, "column_encoding": {
        "text": "DELTA_BYTE_ARRAY", "number": "DELTA_BINARY_PACKED", "score": "BYTE_STREAM_SPLIT"}},
])
def test_rows_are_those_of_the_whole_file_whoever_wrote_it(tmp_path, read_whole, how):
    path = tmp_path / "p.parquet"
    how = {"row_group_size": 2_000, "data_page_size": 512, "write_batch_size": 64} | how
    pq.write_table(table(), path, **how)
    found = read_rows(str(path), WANTED, COLUMNS)
    assert read_whole == []
    whole = pa.concat_tables(pa.Table.from_batches([b]) for _, b in parquet_picked.parquet_batches(
        file_at(str(path)), COLUMNS, None))
    assert found.equals(whole.take(WANTED).combine_chunks().cast(found.schema))
    assert [field.type for field in found.schema] == [field.type for field in whole.schema]


def test_lists_and_structures_are_read_from_the_start(tmp_path, read_whole):
    pq.write_table(table(), tmp_path / "p.parquet")
    found = read_rows(str(tmp_path / "p.parquet"), WANTED, ["few", "words", "output"])
    assert found.equals(table().take(WANTED).select(["few", "words", "output"]))
    assert read_whole == ["few", "words", "output"]


def test_a_short_row_group_is_read_at_once(tmp_path, monkeypatch, read_whole):
    monkeypatch.setattr(parquet_picked, "_LONG_GROUP", 1_000)
    pq.write_table(table(), tmp_path / "p.parquet", row_group_size=1_000)
    assert read_rows(str(tmp_path / "p.parquet"), [5, 2_500], ["few"]).column(0).to_pylist() == [
        "one of 2", "one of 1"]
    assert read_whole == ["few", "few"]


class Counted:
    """A file that counts what is read of it, and in how many requests."""

    def __init__(self, path: str) -> None:
        self._inner = file_at(path)
        self.path, self.size, self.version = path, self._inner.size, self._inner.version
        self.requests: list[int] = []

    def open(self, buffer: int):
        return open_ranges(self.size, self._fetch, buffer)

    def _fetch(self, start: int, length: int) -> bytes:
        self.requests.append(length)
        with self._inner.open(1 << 16) as stream:
            stream.seek(start)
            return stream.read(length)

    def check_unchanged(self) -> None:
        pass


@pytest.mark.parametrize(("index", "most"), [(True, 8), (False, 80)])
def test_one_row_far_behind_costs_few_bytes(tmp_path, index, most):
    path = tmp_path / "p.parquet"
    texts = pa.table({"text": [f"{i * 7919 % 100_003:0200d}" for i in range(60_000)]})
    pq.write_table(texts, path, data_page_size=1 << 17, compression="none", use_dictionary=False,
                   write_page_index=index)
    file = Counted(str(path))
    [(first, batch)] = picked_batches(file, ["text"], [59_000])
    assert (first, batch.to_pylist()) == (59_000, texts.slice(59_000, 1).to_pylist())
    assert len(file.requests) <= most
    assert sum(file.requests) < file.size * (0.1 if index else 0.7)     # else 64 KB for every header


@pytest.mark.parametrize("error", [ValueError("no"), IndexError("no"), KeyError(9), RecursionError("no")])
@pytest.mark.parametrize("from_call", [0, 1, 3])
def test_what_cannot_be_read_by_pages_is_read_from_the_start(
    tmp_path, monkeypatch, read_whole, error, from_call
):
    pq.write_table(table(), tmp_path / "p.parquet")
    calls = []
    once = pages.read_struct

    def broken(*given):
        calls.append(given)
        if len(calls) > from_call:
            raise error
        return once(*given)

    monkeypatch.setattr(pages, "read_struct", broken)
    found = read_rows(str(tmp_path / "p.parquet"), WANTED, ["text", "few"])
    assert found.equals(table().take(WANTED).select(["text", "few"]))
    assert read_whole == ["text", "few"]


@pytest.mark.parametrize("name", ["_MOST_FOOTER", "_LONGEST_PAGE"])
def test_a_long_footer_and_a_long_page_are_left_to_pyarrow(tmp_path, monkeypatch, read_whole, name):
    pq.write_table(table(), tmp_path / "p.parquet")
    monkeypatch.setattr(pages, name, 100)
    assert read_rows(str(tmp_path / "p.parquet"), [5], ["few"]).column(0).to_pylist() == ["one of 2"]
    assert read_whole == ["few"]


def test_a_value_that_is_too_long_is_refused_as_when_all_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(pages, "_LONGEST_PAGE", 1 << 20)
    monkeypatch.setattr(parquet_rows, "_LONGEST_ROW", 1 << 20)
    path = tmp_path / "p.parquet"
    pq.write_table(pa.table({"id": [1, 2], "text": ["x" * (2 << 20), ""]}), path, compression="zstd")
    with pytest.raises(BadInput, match=r"p.parquet: column 'text' has values of 2 MB, more than the 1 MB"):
        read_rows(str(path), [1], ["id", "text"])


def test_a_damaged_page_is_an_error_of_the_file(tmp_path):
    path = tmp_path / "p.parquet"
    pq.write_table(table().select(["text"]), path, compression="zstd", use_dictionary=False)
    data = bytearray(path.read_bytes())
    data[200:2_000] = b"\xff" * 1_800
    path.write_bytes(data)
    with pytest.raises(BadInput, match=r"p.parquet: cannot be read: not a sound Parquet file"):
        read_rows(str(path), [5], ["text"])
