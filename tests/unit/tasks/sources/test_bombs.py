"""Small files that stand for gigabytes, and files that never end, are refused or read in bounded memory."""

import gzip
import os
import subprocess
import sys
import zlib
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assay.evalcore.errors import BadInput
from assay.tasks.sources import jsonl_rows
from assay.tasks.sources.reader import file_at, list_files, open_source
from assay.tasks.spec.strict_yaml import read_yaml

READ = """
import sys
from pathlib import Path
from assay.evalcore.errors import BadInput
from assay.tasks.sources.reader import open_source

try:
    print(sum(batch.columns.num_rows for batch in open_source(sys.argv[1]).batches(["id", "text"])))
except BadInput as error:
    print(error)
status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
print(int(status["VmHWM"].split()[0]) // 1024)
"""


def read_apart(path) -> tuple[str, int]:
    """What reading a file said, and megabytes at most. The process must end by itself."""
    done = subprocess.run(
        [sys.executable, "-c", READ, path], capture_output=True, text=True, check=True, timeout=60
    )
    said, megabytes = done.stdout.splitlines()
    return said, int(megabytes)


def squeezed(path, head: bytes, megabytes: int) -> None:
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    pieces = [packer.compress(head), *(packer.compress(b"x" * (1 << 20)) for _ in range(megabytes))]
    path.write_bytes(b"".join([*pieces, packer.flush()]))


@pytest.mark.parametrize(("name", "head"), [
    ("bomb.csv.gz", b"id,text\na,b\nc,"),
    ("bomb.jsonl.gz", b'{"id": 1, "text": ""}\n\n{"id": 2, "text": "'),
])
def test_a_line_of_gigabytes_is_refused_before_it_is_held(tmp_path, name, head):
    path = tmp_path / name
    squeezed(path, head, 300)
    said, megabytes = read_apart(path)
    assert f"{path}: line 3 is longer than" in said
    assert megabytes < 300


def test_a_quoted_value_of_many_lines_is_refused_and_named(tmp_path):
    path = tmp_path / "p.csv.gz"
    path.write_bytes(gzip.compress(b'id,text\na,b\nc,"' + b"long\n" * (2 << 20), 1))
    said, _ = read_apart(path)
    assert f"{path}: row 2 (line 3), column 'text': a quotation mark opens a value that is not closed" in said


def test_a_dictionary_of_long_values_is_decoded_a_few_rows_at_once(tmp_path):
    path = tmp_path / "bomb.parquet"
    n = 1_500
    text = pa.DictionaryArray.from_arrays(pa.array([0] * n, pa.int32()), ["x" * (1 << 20)])   # 1.5 GB of it
    table = pa.table({"id": list(range(n)), "text": text})
    pq.write_table(table, path, compression="zstd", store_schema=False)
    assert path.stat().st_size < 20_000
    said, megabytes = read_apart(path)
    assert said == str(n)
    assert megabytes < 600


def test_a_value_longer_than_a_row_may_be_is_refused_with_file_and_column(tmp_path):
    path = tmp_path / "p.parquet"
    pq.write_table(pa.table({"id": [1], "text": ["x" * (65 << 20)]}), path, compression="zstd")
    with pytest.raises(BadInput, match=r"p.parquet: column 'text' has values of 65 MB, more than the 64 MB"):
        list(open_source(str(path)).batches(["id", "text"]))
    assert [batch.columns.num_rows for batch in open_source(str(path)).batches(["id"])] == [1]


def test_long_json_lines_come_in_smaller_batches(tmp_path, monkeypatch):
    monkeypatch.setattr(jsonl_rows, "_LINES_BATCH_BYTES", 1_000)
    path = tmp_path / "p.jsonl"
    path.write_text('{"id": "%s"}\n' % ("x" * 400) * 7)
    batches = list(open_source(str(path)).batches(["id"]))
    assert [(batch.first_row, batch.columns.num_rows) for batch in batches] == [(0, 3), (3, 3), (6, 1)]


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".yaml"])
def test_a_named_pipe_is_refused_at_once(tmp_path, suffix):
    path = tmp_path / f"pipe{suffix}"
    os.mkfifo(path)
    if suffix == ".yaml":
        with pytest.raises(BadInput, match=r"pipe.yaml: a pipe, a socket or a device.*write the spec"):
            read_yaml(path)
        return
    with pytest.raises(BadInput, match=r"pool.source: .*pipe, a socket or a device.*into a file"):
        list_files(str(path))
    with pytest.raises(BadInput, match=r"not a regular file"):
        file_at(str(path))


def test_a_device_is_no_spec_and_no_source():
    with pytest.raises(BadInput, match="/dev/zero: a pipe, a socket or a device"):
        read_yaml(Path("/dev/zero"))
    with pytest.raises(BadInput, match="/dev/zero: a pipe, a socket or a device"):
        list_files("/dev/zero")


def test_a_spec_may_come_through_a_pipe_of_the_shell():
    ours, theirs = os.pipe()
    os.write(theirs, b"name: x\n")
    os.close(theirs)
    try:
        assert read_yaml(Path(f"/dev/fd/{ours}")) == {"name": "x"}
    finally:
        os.close(ours)
