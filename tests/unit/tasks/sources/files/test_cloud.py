"""Sources that fsspec reads: rows, order and refusals as on the local disk."""

import sys

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from assay.evalcore.errors import BadInput
from assay.tasks.ledger.stores.store import StoreUnreachable
from assay.tasks.sources.reader import file_at, is_local, list_files, open_source, read_rows

ROWS = [{"item_id": f"i{n}", "score": n / 4} for n in range(300)]
BLOBS = {
    "csv": "item_id,score\n" + "".join(f"{row['item_id']},{row['score']}\n" for row in ROWS),
    "jsonl": "".join(f'{{"item_id": "{row["item_id"]}", "score": {row["score"]}}}\n' for row in ROWS),
}


@pytest.fixture
def memory():
    """An empty `memory://`; puts objects there."""
    files = fsspec.filesystem("memory")
    files.store.clear()
    yield files
    files.store.clear()


def as_bytes(format: str) -> bytes:
    if format != "parquet":
        return BLOBS[format].encode()
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(ROWS), sink, row_group_size=64)
    return sink.getvalue().to_pybytes()


@pytest.mark.parametrize("format", ["parquet", "csv", "jsonl"])
def test_rows_are_those_of_the_local_file(tmp_path, memory, format):
    path = tmp_path / f"p.{format}"
    path.write_bytes(as_bytes(format))
    memory.pipe_file(f"/bucket/p.{format}", as_bytes(format))
    url = f"memory://bucket/p.{format}"
    local, remote = (
        [row for batch in open_source(given).batches(["item_id"]) for row in batch.columns.to_pylist()]
        for given in (str(path), url)
    )
    assert remote == local
    assert read_rows(url, [299, 4], ["item_id"]).column("item_id").to_pylist() == ["i299", "i4"]


def test_a_source_means_the_same_files_in_the_same_order(tmp_path, memory):
    names = ("a.csv", "b/10.csv", "b/2.csv", "b/d/e.csv", "_S.csv", ".a.csv", "b/.tmp/x.csv", "f/g.jsonl")
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"x\n")
        memory.pipe_file(f"/bucket/{name}", b"x\n")
    given_as = ("*.csv", "b/*.csv", "b", "b/", "**/*.csv", "b/**/*.csv", "?.csv", "b/[0-9].csv", "f/g.jsonl")
    for given in given_as:
        local, remote = (
            [file.path.removeprefix(f"{root}/") for file in list_files(f"{root}/{given}")]
            for root in (str(tmp_path), "memory://bucket")
        )
        assert remote == local, given
        assert local, given


def test_an_object_that_changes_while_it_is_read_is_refused(memory):
    memory.pipe_file("/bucket/p.csv", as_bytes("csv"))
    batches = open_source("memory://bucket/p.csv").batches(["item_id"])
    next(batches)
    memory.pipe_file("/bucket/p.csv", as_bytes("csv"))
    with pytest.raises(BadInput, match=r"memory://bucket/p\.csv: changed while it was being read"):
        next(batches)


def test_an_object_that_is_cut_while_it_is_read_is_not_called_corrupt(memory):
    memory.pipe_file("/bucket/p.parquet", as_bytes("parquet"))
    source = open_source("memory://bucket/p.parquet")
    memory.pipe_file("/bucket/p.parquet", b"x" * len(as_bytes("parquet")))
    with pytest.raises(BadInput, match="changed while it was being read"):
        list(source.batches(["item_id"]))


def test_what_is_not_there_is_said_plainly(memory):
    for source in ("memory://bucket/none.csv", "memory://none/*.csv"):
        with pytest.raises(BadInput, match="no file matches"):
            list_files(source)
    with pytest.raises(BadInput, match="there is no such object"):
        file_at("memory://bucket/none.csv")
    with pytest.raises(BadInput, match="no bucket; write gs://bucket/key"):
        list_files("gs:///")
    with pytest.raises(BadInput, match=r"cannot read from ftp://; give a file"):
        list_files("ftp://host/p.csv")


@pytest.mark.parametrize(
    ("scheme", "package", "extra"), [("gs", "gcsfs", "gcs"), ("az", "adlfs", "azure")]
)
def test_a_missing_package_is_named_with_the_extra_that_brings_it(monkeypatch, scheme, package, extra):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(BadInput) as caught:
        list_files(f"{scheme}://bucket/p.csv")
    command = f"pip install 'assay-evaluation[{extra}]'"
    assert f"{scheme}:// need the package {package}: {command}" in str(caught.value)


@pytest.fixture
def google(memory, monkeypatch):
    """`gs://` by a double that keeps generations, as Google does."""

    class Google(MemoryFileSystem):
        protocol = "gs"
        current = "1"
        refuses: Exception | None = None

        def info(self, path, **kwargs):
            if self.refuses:
                raise self.refuses
            return super().info(path, **kwargs) | {"generation": self.current}

        def cat_file(self, path, start=None, end=None, generation=None, **kwargs):
            if generation != self.current:
                raise FileNotFoundError(path)
            return super().cat_file(path, start, end)

    monkeypatch.setattr("fsspec.filesystem", lambda scheme, **_: Google())
    memory.pipe_file("/bucket/p.csv", as_bytes("csv"))
    return Google


def test_every_read_asks_for_the_generation_that_was_listed(google):
    source = open_source("gs://bucket/p.csv")
    assert source.files[0].version == "generation:1"
    assert sum(batch.columns.num_rows for batch in source.batches(["item_id"])) == 300
    google.current = "2"
    with pytest.raises(BadInput, match=r"gs://bucket/p\.csv: changed while it was being read"):
        next(iter(source.batches(["item_id"])))


def test_a_refusal_names_the_variables_to_look_at_and_quotes_nothing(google):
    class Refused(Exception):
        code = 403

    google.refuses = Refused("token=hunter2 is not welcome")
    with pytest.raises(StoreUnreachable) as caught:
        list_files("gs://bucket/p.csv")
    assert "gcsfs could not read it (Refused, status 403)" in str(caught.value)
    assert "GOOGLE_APPLICATION_CREDENTIALS" in str(caught.value)
    assert "hunter2" not in f"{caught.value!r} {caught.value.__cause__!r}"


def test_only_paths_and_file_addresses_are_local():
    assert [is_local(given) for given in ("a.csv", "/a/b.csv", "file:///a.csv", "c:a.csv")] == [True] * 4
    assert [is_local(given) for given in ("s3://b/a.csv", "gs://b/a", "az://b/a", "ftp://b/a")] == [False] * 4
