"""A few rows of Parquet: the same values as by reading everything, whoever wrote the file."""

from datetime import UTC, datetime
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assay.evalcore.errors import BadInput
from assay.tasks.sources import parquet
from assay.tasks.sources.reader import file_at, read_rows

N = 3_000
COLUMNS = ["text", "few", "number", "score", "flag", "when", "price", "kind", "output.text", "output.more.n",
           "a.b"]
WANTED = [2_999, 0, 1, 1_999, 2_000, 7, 1_234, 7]


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


@pytest.mark.parametrize("how", [
    {"compression": "snappy"},
    {"compression": "zstd", "write_page_index": True},
    {"compression": "none", "data_page_version": "2.0", "use_dictionary": False},
    {"compression": "lz4", "data_page_version": "2.0", "write_page_index": True, "store_schema": False},
    {"compression": "gzip", "use_dictionary": False, "row_group_size": N, "column_encoding": {
        "text": "DELTA_BYTE_ARRAY", "number": "DELTA_BINARY_PACKED", "score": "BYTE_STREAM_SPLIT"}},
])
def test_rows_are_those_of_the_whole_file_whoever_wrote_it(tmp_path, how):
    path = tmp_path / "p.parquet"
    how = {"row_group_size": 2_000, "data_page_size": 512, "write_batch_size": 64} | how
    pq.write_table(table(), path, **how)
    found = read_rows(str(path), WANTED, COLUMNS)
    whole = pa.concat_tables(pa.Table.from_batches([b]) for _, b in parquet.parquet_batches(
        file_at(str(path)), COLUMNS, None))
    assert found.equals(whole.take(WANTED).combine_chunks().cast(found.schema))
    assert [field.type for field in found.schema] == [field.type for field in whole.schema]


def test_lists_and_structures_are_read(tmp_path):
    pq.write_table(table(), tmp_path / "p.parquet")
    found = read_rows(str(tmp_path / "p.parquet"), WANTED, ["few", "words", "output"])
    assert found.equals(table().take(WANTED).select(["few", "words", "output"]))


def test_a_value_that_is_too_long_is_refused_as_when_all_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(parquet, "_LONGEST_ROW", 1 << 20)
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
