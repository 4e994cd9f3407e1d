"""Reading part of a value is reading a file: the same bytes, and far fewer of them fetched."""

import io
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.tasks.ledger import open_reader, open_store
from assay.tasks.ledger.stores.opening import RangeReader
from assay.tasks.ledger.stores.store import KeyMissing, MemoryStore, Store


class CountingStore(MemoryStore):
    """Remembers what was fetched."""

    def __init__(self) -> None:
        super().__init__()
        self.fetched: list[tuple[int, int]] = []

    def get_range(self, key: str, start: int, length: int) -> bytes:
        self.fetched.append((start, length))
        return super().get_range(key, start, length)


VALUE = np.random.default_rng(5).bytes(1000)
seeks = st.tuples(st.just("seek"), st.integers(0, 1100), st.just(0))
relative = st.tuples(st.just("seek"), st.integers(-1000, 100), st.sampled_from([1, 2]))
reads = st.tuples(st.just("read"), st.integers(-1, 400), st.just(0))


@given(st.lists(st.one_of(seeks, relative, reads), max_size=30), st.integers(1, 300))
def test_it_reads_as_a_file_in_memory_would(steps: list[tuple[str, int, int]], block: int):
    store = MemoryStore()
    store.put("v", VALUE)
    ours, file = RangeReader(store, "v", block=block), io.BytesIO(VALUE)
    for step, number, whence in steps:
        if step == "read":
            assert ours.read(number) == file.read(number)
        elif whence and number + (file.tell() if whence == 1 else len(VALUE)) < 0:
            with pytest.raises(ValueError, match="cannot seek"):
                ours.seek(number, whence)
        else:
            assert ours.seek(number, whence) == file.seek(number, whence)
        assert ours.tell() == file.tell()
    assert ours.readall() == file.read()


def test_it_works_below_python_buffers_and_not_for_writing():
    store = MemoryStore()
    store.put("v", b"one\ntwo\nthree")
    lines = io.TextIOWrapper(io.BufferedReader(RangeReader(store, "v", block=4)))
    assert list(lines) == ["one\n", "two\n", "three"]
    reader = RangeReader(store, "v")
    assert (reader.readable(), reader.seekable(), reader.writable()) == (True, True, False)
    reader.close()
    with pytest.raises(ValueError, match="closed"):
        reader.read(1)


def test_small_reads_near_each_other_are_one_request():
    store = CountingStore()
    store.put("v", VALUE)
    reader = RangeReader(store, "v", block=100)
    for _ in range(10):
        reader.read(10)
    assert store.fetched == [(0, 100)]
    reader.seek(-8, io.SEEK_END)
    reader.read(8)          # a Parquet footer's length ...
    reader.seek(-60, io.SEEK_END)
    reader.read(52)         # ... and the footer before it come in one block, the value's last
    assert store.fetched == [(0, 100), (900, 100)]
    reader.seek(200)
    reader.read(500)        # more than a block is fetched as it is
    assert store.fetched[2:] == [(200, 500)]


@pytest.fixture(params=["local", "memory", pytest.param("s3", marks=pytest.mark.services)])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    if request.param == "memory":
        return MemoryStore()
    if request.param == "local":
        return open_store(str(tmp_path))
    return open_store(request.getfixturevalue("s3").new_url("reader"))


def parquet_of(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, row_group_size=4096, compression="zstd")
    return sink.getvalue().to_pybytes()


TABLE = pa.table(
    {
        "item_id": [f"item-{i:06d}" for i in range(65_536)],
        "score": np.random.default_rng(5).normal(size=65_536),
    }
)


def test_one_row_group_of_a_parquet_value_is_read_back(store: Store):
    store.put("e/pool/part-00000.parquet", parquet_of(TABLE))
    with open_reader(store, "e/pool/part-00000.parquet") as file:
        parquet = pq.ParquetFile(file)
        assert parquet.num_row_groups == 16
        assert parquet.read_row_group(7).equals(TABLE.slice(7 * 4096, 4096))
        assert parquet.read(columns=["score"]).equals(TABLE.select(["score"]))


def test_one_row_group_costs_a_small_part_of_the_value():
    store = CountingStore()
    blob = store.put("part", parquet_of(TABLE))
    with open_reader(store, "part") as file:
        pq.ParquetFile(file).read_row_group(7, columns=["score"])
    # 4,096 doubles are 32 KiB of about 700: two blocks of at most 128 KiB hold the footer and the column.
    assert sum(length for _, length in store.fetched) <= 2 * 128 * 1024 < len(blob) / 2


def test_opening_what_was_never_put_says_so(store: Store):
    with pytest.raises(KeyMissing, match="'e/none'"):
        open_reader(store, "e/none")
