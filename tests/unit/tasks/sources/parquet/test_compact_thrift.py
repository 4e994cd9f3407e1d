"""Parquet's own structures, read and written again."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assay.tasks.sources.parquet.compact_thrift import (
    BINARY,
    FALSE,
    I64,
    LIST,
    STRUCT,
    TRUE,
    read_struct,
    thrift_bytes,
)


def test_a_footer_that_is_read_and_written_again_has_the_same_bytes(tmp_path):
    table = pa.table({f"c{i}": pa.array([i, None, -i], pa.float64()) for i in range(20)})
    pq.write_table(table, tmp_path / "p.parquet", row_group_size=1, write_page_index=True)
    data = (tmp_path / "p.parquet").read_bytes()
    footer = data[-8 - int.from_bytes(data[-8:-4], "little") : -8]
    struct, end = read_struct(footer)
    assert end == len(footer)
    assert struct[3] == (I64, 3)
    assert thrift_bytes(struct) == footer


def test_all_that_parquet_uses_comes_back():
    struct = {
        1: (TRUE, True), 2: (FALSE, False), 3: (I64, -(2**40)), 40: (BINARY, b"x" * 200),
        41: (LIST, (I64, list(range(-10, 10)))),
        42: (STRUCT, {1: (LIST, (TRUE, [1, 2])), 2: (7, b"12345678")}),
    }
    assert read_struct(thrift_bytes(struct) + b"more") == (struct, len(thrift_bytes(struct)))


@pytest.mark.parametrize("data", [
    b"", b"\x18\x7fabc", b"\x15", b"\x15" + b"\xff" * 20, b"\x1b\x00", b"\x1c" * 100,
    b"\x19\xfc\xff\xff\xff\xff\x0f",
])
def test_what_is_no_structure_is_refused(data):
    with pytest.raises((ValueError, IndexError)):
        read_struct(data)
