"""The same predictions on the local disk and on S3 are the same pool, read the same way."""

import io
from dataclasses import replace

import boto3
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from doubles.specs import a_spec, spec_data

from assay.evalcore.errors import AssayError, BadInput
from assay.tasks.ledger import open_store
from assay.tasks.ledger.record import Ledger
from assay.tasks.ledger.stores.store import MemoryStore, StoreUnreachable
from assay.tasks.pool.cut import load_partition
from assay.tasks.pool.freeze import freeze_pool
from assay.tasks.pool.shown import PoolIndex
from assay.tasks.sources.reader import file_at, list_files, open_source
from assay.tasks.spec.evaluation import Spec

pytestmark = pytest.mark.services


def table(first: int, last: int) -> pa.Table:
    rows = range(first, last)
    return pa.table(
        {
            "item_id": [f"i{i}" for i in rows],
            "score": [(i * 37 % 101) / 8 - 6 for i in rows],
            "prediction": [int(i % 5 == 0) for i in rows],
            "text": [f"text {i}" for i in rows],
        }
    )


def as_bytes(rows: pa.Table, format: str) -> bytes:
    sink = io.BytesIO()
    if format == "parquet":
        pq.write_table(rows, sink, row_group_size=64)
    elif format == "csv":
        rows.to_pandas().to_csv(sink, index=False)
    else:
        rows.to_pandas().to_json(sink, orient="records", lines=True)
    return sink.getvalue()


@pytest.fixture
def bucket(s3):
    """Puts objects under a new prefix; gives its s3:// address."""

    class Folder:
        url = s3.new_url("source")
        client = boto3.client("s3")

        def put(self, name: str, blob: bytes) -> str:
            _, _, key = f"{self.url}/{name}".removeprefix("s3://").partition("/")
            self.client.put_object(Bucket=s3.bucket, Key=key, Body=blob)
            return f"{self.url}/{name}"

    return Folder()


@pytest.mark.parametrize("format", ["parquet", "csv", "jsonl"])
def test_local_and_s3_sources_give_the_same_pool(tmp_path, bucket, format):
    for name, rows in (("b/1", table(0, 150)), ("a", table(150, 300)), ("b/_tmp", table(0, 9))):
        blob = as_bytes(rows, format)
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / f"{name}.{format}").write_bytes(blob)
        bucket.put(f"{name}.{format}", blob)
    stores = MemoryStore(), open_store(bucket.url + "-ledger")
    local, remote = (
        freeze_pool(a_spec(source, display=["text"]), store)
        for source, store in zip((tmp_path, bucket.url), stores, strict=True)
    )
    assert replace(remote, sources=()) == replace(local, sources=())
    assert [s.path.removeprefix(bucket.url) for s in remote.sources] == [f"/a.{format}", f"/b/1.{format}"]
    for key in (*local.part_keys, *local.partition_keys, *local.piece_keys):
        assert stores[0].get(key) == stores[1].get(key)


@pytest.mark.parametrize("format", ["parquet", "csv", "jsonl"])
def test_shown_fields_of_a_source_on_s3_are_kept(bucket, format):
    spec = a_spec(bucket.put(f"p.{format}", as_bytes(table(0, 300), format)), display=["text"])
    store = MemoryStore()
    manifest = freeze_pool(spec, store)
    partition = load_partition(spec, store, manifest)
    cells = partition.cells
    index = PoolIndex(Ledger(store, "trial"), manifest, partition.cells)
    rows = index.rows(range(cells.n_cells), [0] * cells.n_cells)
    assert index.shown(spec, rows) == [{"text": f"text {row.row}"} for row in rows]
    bucket.put(f"p.{format}", as_bytes(table(1, 301), format))
    assert index.shown(spec, rows) == [{"text": f"text {row.row}"} for row in rows]


def test_globs_on_s3_mean_what_they_mean_on_the_disk(tmp_path, bucket):
    for name in ("a.csv", "b/c.csv", "b/d/e.csv", "b/f.jsonl"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"x\n")
        bucket.put(name, b"x\n")
    for glob in ("*.csv", "b/*.csv", "**/*.csv", "b/**/*.csv", "?.csv", "b/[a-c].csv", "b/f.jsonl", "b/d"):
        local = [file.path.removeprefix(str(tmp_path)) for file in list_files(f"{tmp_path}/{glob}")]
        remote = [file.path.removeprefix(bucket.url) for file in list_files(f"{bucket.url}/{glob}")]
        assert local == remote, glob
        assert local, glob


def test_an_object_that_changes_while_it_is_read_is_refused(bucket):
    path = bucket.put("p.parquet", as_bytes(table(0, 300), "parquet"))
    source = open_source(path)
    bucket.put("p.parquet", as_bytes(table(1, 301), "parquet"))
    with pytest.raises(BadInput, match=r"p\.parquet: changed while it was being read"):
        list(source.batches(["item_id"]))


def test_a_compressed_object_is_read_as_a_stream(bucket):
    import gzip

    path = bucket.put("p.csv.gz", gzip.compress(as_bytes(table(0, 300), "csv")))
    assert sum(batch.columns.num_rows for batch in open_source(path).batches(["item_id"])) == 300


def test_what_is_not_there_is_said_plainly(s3, bucket):
    with pytest.raises(BadInput, match="there is no such bucket; correct"):
        list_files("s3://assay-no-such-bucket/x.csv")
    with pytest.raises(BadInput, match="no file matches"):
        list_files(f"{bucket.url}/none.csv")
    with pytest.raises(BadInput, match="there is no such object"):
        file_at(f"{bucket.url}/none.csv")
    with pytest.raises(BadInput, match="no bucket"):
        list_files("s3:///x.csv")


def test_wrong_credentials_and_a_silent_server_are_said_plainly(s3, monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "nobody")
    with pytest.raises(StoreUnreachable, match="AWS_ACCESS_KEY_ID"):
        list_files(f"{s3.url}/x.csv")
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    with pytest.raises(StoreUnreachable, match="no answer from"):
        list_files(f"{s3.url}/x.csv")


def test_bad_input_on_s3_leaves_no_manifest(bucket):
    path = bucket.put("p.csv", b"item_id,score,prediction\na,nan,1\n")
    store = open_store(bucket.url + "-ledger")
    with pytest.raises(AssayError, match=r"p\.csv: column 'score'"):
        freeze_pool(Spec.from_json(spec_data(path)), store)
    assert not store.exists("trial/pool/manifest.json")


def test_tables_of_delta_lake_and_iceberg_on_s3(s3, monkeypatch):
    deltalake = pytest.importorskip("deltalake", reason="needs the extra delta")
    catalogs = pytest.importorskip("pyiceberg.catalog", reason="needs the extra iceberg")
    monkeypatch.setenv("AWS_ALLOW_HTTP", "true")      # of the package deltalake: this server has no TLS
    folder, warehouse = s3.new_url("delta"), s3.new_url("iceberg")
    deltalake.write_deltalake(folder, table(0, 100), partition_by=["prediction"])
    catalog = catalogs.load_catalog("tests", type="in-memory", warehouse=warehouse, **{
        "s3.endpoint": s3.endpoint, "s3.access-key-id": s3.access_key, "s3.secret-access-key": s3.secret_key,
        "s3.region": "us-east-1",
    })
    catalog.create_namespace("models")
    catalog.create_table("models.rows", schema=table(0, 1).schema).append(table(0, 100))
    for address in (f"delta://{folder}?version=0", f"iceberg://{warehouse}/models/rows"):
        rows = [row for batch in open_source(address).batches(["item_id", "prediction", "text"])
                for row in batch.columns.to_pylist()]
        assert sorted(rows, key=str) == sorted(
            table(0, 100).select(["item_id", "prediction", "text"]).to_pylist(), key=str)
