"""Arrow and Feather files: the same rows as the same table in Parquet."""

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from assay.evalcore.errors import BadInput
from assay.tasks.sources.arrow import batch_rows
from assay.tasks.sources.reader import column_kinds, column_names, file_at, open_source, read_rows

N = 100_000
COLUMNS = ["text", "number", "kind", "output.text", "a.b"]
WANTED = [99_999, 0, 1, 40_000, 7, 65_536, 7]


def table():
    numbers = np.arange(N)
    return pa.table({
        "text": pa.array(numbers).cast(pa.string()), "number": pa.array(numbers / 8),
        "kind": pa.array(np.char.add("k", (numbers % 4).astype(str))).dictionary_encode(),
        "output": pa.StructArray.from_arrays([pa.array(numbers).cast(pa.string())], names=["text"]),
        "a.b": pa.array(numbers % 3),
    })


def with_footer(path):
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table().schema) as writer:
        writer.write_table(table(), max_chunksize=70_000)


def as_stream(path):
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, table().schema) as writer:
        writer.write_table(table(), max_chunksize=10_000)


WRITERS = {
    "footer.arrow": with_footer, "stream.arrow": as_stream,
    "lz4.feather": lambda path: pyarrow.feather.write_feather(table(), str(path)),
    "zstd.feather": lambda path: pyarrow.feather.write_feather(table(), str(path), compression="zstd"),
}


@pytest.mark.parametrize("name", WRITERS)
def test_rows_are_those_of_parquet(tmp_path, name):
    WRITERS[name](tmp_path / name)
    pq.write_table(table(), tmp_path / "same.parquet")
    source, same = (open_source(str(tmp_path / one)) for one in (name, "same.parquet"))
    assert column_names(source) == column_names(same)
    assert column_kinds(source) == column_kinds(same)
    read = [read_rows(str(tmp_path / one), WANTED, COLUMNS).to_pylist() for one in (name, "same.parquet")]
    assert read[0] == read[1]
    batches = list(source.batches(COLUMNS))
    assert [batch.first_row for batch in batches] == list(
        np.cumsum([0] + [batch.columns.num_rows for batch in batches[:-1]]))
    assert sum(batch.columns.num_rows for batch in batches) == N
    assert sum(batch_rows(file_at(source.files[0].path))) == N


def test_what_is_no_arrow_is_named_with_what_to_do(tmp_path):
    path = tmp_path / "broken.arrow"
    with_footer(path)
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(BadInput, match=r"broken\.arrow: cannot be read: not a sound Arrow file"):
        list(open_source(str(path)).batches(["text"]))
    path.write_bytes(b"FEA1 and more")
    with pytest.raises(BadInput, match="Feather of version 1"):
        list(open_source(str(path)).batches(["text"]))
    with_footer(path)
    with pytest.raises(BadInput, match="no column 'txt'; did you mean 'text'"):
        list(open_source(str(path)).batches(["txt"]))
