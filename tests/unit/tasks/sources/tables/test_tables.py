"""Results of SQL and tables: the same pool as the same rows in Parquet, and nothing of a connection told."""

import base64
import json
import logging
import pathlib
import pickle
import random
import sqlite3
import string
import struct
import subprocess

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from doubles.specs import a_spec, spec_data
from services.postgres import PASSWORD, missing_programs, postgres_server

from assay.evalcore.errors import BadInput, MissingExtra
from assay.tasks.ledger import layout
from assay.tasks.ledger.manifest import FilesRead
from assay.tasks.ledger.record import Ledger, find_record
from assay.tasks.ledger.stores.store import MemoryStore
from assay.tasks.pool.freeze import freeze_pool
from assay.tasks.pool.same_source import SourceChanged, refuse_changed_source
from assay.tasks.secrets import secret_in
from assay.tasks.sources.reader import column_kinds, column_names, open_source, read_rows
from assay.tasks.sources.tables import connections
from assay.tasks.spec.evaluation import Spec

N = 2_500
# Sorted by code point: capitals before small letters, and what a locale would sort elsewhere.
IDS = sorted(f"{'ABab_é-'[i % 7]}{i * 7919 % N:05d}" for i in range(N))
ROWS = [(id, (i * 37 % 1000) / 1000, "match" if i * 37 % 1000 > 600 else "no match", f"what {id} says")
        for i, id in enumerate(IDS)]
NAMES = ["item_id", "score", "prediction", "text"]
SHUFFLED = random.Random(3).sample(ROWS, N)


def table(rows=ROWS):
    return pa.table(dict(zip(NAMES, map(list, zip(*rows, strict=True)), strict=True)))


def frozen(source, **changes):
    """The manifest of the pool of a source, and the record of what was read."""
    store = MemoryStore()
    spec = Spec.from_json(spec_data("x", source=source, display=["text"], **changes))
    manifest = freeze_pool(spec, store)
    (read,) = find_record(Ledger(store, spec.name), layout.pool_sources(spec.name), FilesRead).files
    return manifest, read, store, spec


@pytest.fixture(scope="module")
def same(tmp_path_factory):
    """The digest of the pool of the sorted rows in Parquet."""
    path = tmp_path_factory.mktemp("parquet") / "rows.parquet"
    pq.write_table(table(), path)
    return frozen(str(path))[0].digest


def fill(connection, mark="?"):
    connection.execute("create table predictions (item_id text, score real, prediction text, text text)")
    connection.executemany(f"insert into predictions values ({', '.join([mark] * 4)})", SHUFFLED)


@pytest.fixture(scope="module")
def postgres(tmp_path_factory):
    pytest.importorskip("adbc_driver_postgresql", reason="needs the extra sql")
    if missing := missing_programs():
        pytest.skip(missing)
    rows = tmp_path_factory.mktemp("rows") / "rows.csv"
    rows.write_text("".join(",".join(map(str, row)) + "\n" for row in SHUFFLED))
    with postgres_server() as address:
        made = ("create collation words (provider = icu, locale = 'en'); create table predictions "
                "(item_id text collate words, score double precision, prediction text, text text);\n"
                f"\\copy predictions from '{rows}' with (format csv)\n")
        subprocess.run(["psql", "-v", "ON_ERROR_STOP=1", address], input=made, check=True, text=True,
                       capture_output=True, timeout=60)
        yield address


@pytest.fixture
def database(request, tmp_path, monkeypatch):
    """The name of a variable that holds the address of a database of this kind."""
    match request.param:
        case "postgresql":
            address = request.getfixturevalue("postgres")
        case "sqlite":
            pytest.importorskip("adbc_driver_sqlite", reason="needs the extra sql")
            with sqlite3.connect(tmp_path / "rows of today.db") as connection:
                fill(connection)
            connection.close()
            address = f"sqlite:///{tmp_path}/rows of today.db"
        case "duckdb":
            duckdb = pytest.importorskip("duckdb", reason="needs the extra duckdb")
            with duckdb.connect(str(tmp_path / "rows.duckdb")) as connection:
                connection.register("given", table(SHUFFLED))
                connection.execute("create table predictions as select * from given")
            address = f"duckdb:///{tmp_path}/rows.duckdb"
    monkeypatch.setenv("WAREHOUSE", address)
    return "WAREHOUSE"


every_database = pytest.mark.parametrize("database", ["postgresql", "sqlite", "duckdb"], indirect=True)
QUERY = "select * from predictions -- of today"


@every_database
def test_a_query_is_the_pool_of_the_same_rows_sorted_by_id(database, same, caplog):
    caplog.set_level(logging.DEBUG)
    manifest, read, store, spec = frozen({"sql": f"{QUERY};\n", "connection": database})
    assert manifest.digest == same
    assert read.path == manifest.sources[0].path == f"sql://WAREHOUSE:item_id?{QUERY}"
    assert manifest.sources[0].rows == N
    refuse_changed_source(Ledger(store, spec.name), spec, manifest)       # asks again: the digest is the same
    kept = b"".join(store.get(key) for key in sorted(store.keys()))
    assert PASSWORD.split()[1] not in caplog.text + kept.decode(errors="replace")
    rows = read_rows(read.path, [2_000, 5], ["item_id"]).column("item_id").to_pylist()
    assert rows == [IDS[2_000], IDS[5]]


@every_database
def test_what_a_query_says_of_its_columns(database):
    asked = open_source("sql://WAREHOUSE?select item_id, score, 7 as n from predictions")
    source = pickle.loads(pickle.dumps(asked))
    assert column_names(source) == ["item_id", "score", "n"]
    assert column_kinds(source) == {"item_id": "text", "score": "number", "n": "number"}
    with pytest.raises(BadInput, match=r"sql://WAREHOUSE\S* .*no column 'scroe'; did you mean 'score'"):
        next(source.batches(["item_id", "scroe"]))


@every_database
def test_rows_have_one_order_whichever_columns_are_read(database):
    source = open_source("sql://WAREHOUSE?select length(text) * 1000 + row_number() over () as n, p.* "
                         "from predictions p", "n")
    alone, beside = ([row for batch in source.batches(columns) for row in batch.columns.to_pylist()]
                     for columns in (["text"], ["n", "text"]))
    assert [row["text"] for row in alone] == [row["text"] for row in beside]
    assert [row["n"] for row in beside] == sorted(row["n"] for row in beside)


@every_database
def test_a_query_that_has_changed_is_refused(database, monkeypatch):
    manifest, _, store, spec = frozen({"sql": QUERY, "connection": database})
    fewer = a_spec("sql://WAREHOUSE?select * from predictions where score > 0.5", display=["text"])
    with pytest.raises(SourceChanged, match=r"now it holds 1,2\d\d items"):
        refuse_changed_source(Ledger(store, spec.name), fewer, manifest)


@every_database
def test_a_query_that_is_wrong_names_itself_and_the_reason(database):
    with pytest.raises(BadInput, match=r"WAREHOUSE refuses the query: .*nothing_there.*try the query"):
        column_names(open_source("sql://WAREHOUSE?select * from nothing_there"))


@every_database
def test_rows_of_a_query_are_checked_as_those_of_a_file(database):
    score = "case when item_id = 'A00000' then null else score end as score"
    query = f"select item_id, {score}, prediction from predictions"
    assert IDS.index("A00000") == 357
    with pytest.raises(BadInput, match=r"sql://WAREHOUSE:item_id.* column 'score': .* row 358: missing"):
        freeze_pool(a_spec(f"sql://WAREHOUSE?{query}"), MemoryStore())


def test_a_query_needs_a_column_that_names_its_rows():
    with pytest.raises(BadInput, match="rows of a query have no order"):
        open_source("sql://WAREHOUSE?select 1", "row number")


@pytest.mark.parametrize(("rows", "by_index"), [(ROWS, True), (SHUFFLED, False)])
def test_sqlite_goes_by_an_index_only_where_rows_lie_so(tmp_path, monkeypatch, same, rows, by_index):
    """Row after row on a page of its own took three times as long as all else."""
    pytest.importorskip("adbc_driver_sqlite", reason="needs the extra sql")
    with sqlite3.connect(tmp_path / "a.db") as connection:
        connection.execute("create table rows (item_id text, score real, prediction text, text text)")
        connection.executemany("insert into rows values (?, ?, ?, ?)", rows)
        connection.execute("create index by_id on rows (item_id)")
    monkeypatch.setenv("WAREHOUSE", f"sqlite:///{tmp_path}/a.db")
    queries, ask = [], connections._SQLite.reader
    monkeypatch.setattr(
        connections._SQLite, "reader", lambda own, query: queries.append(query) or ask(own, query)
    )
    assert frozen("sql://WAREHOUSE?select * from rows")[0].digest == same
    with sqlite3.connect(tmp_path / "a.db") as connection:
        (plan,) = {str(connection.execute(f"explain query plan {query}").fetchall())
                   for query in queries if "ORDER BY" in query}
    assert ("USING INDEX by_id" in plan) == by_index


def test_values_of_several_types_in_sqlite(tmp_path, monkeypatch):
    pytest.importorskip("adbc_driver_sqlite", reason="needs the extra sql")
    with sqlite3.connect(tmp_path / "a.db") as connection:
        connection.execute("create table t (item_id, score)")
        rows = [(f"{i:06d}", i if i < 40_000 else 0.5) for i in range(50_000)]
        connection.executemany("insert into t values (?, ?)", rows)
    connection.close()
    monkeypatch.setenv("WAREHOUSE", f"sqlite:///{tmp_path}/a.db")
    with pytest.raises(BadInput, match=r"expected INT64 but got DOUBLE; .*cast a column"):
        list(open_source("sql://WAREHOUSE?select * from t", "item_id").batches(["item_id", "score"]))


# Connections.

@pytest.mark.parametrize("address", [
    "postgresql://someone:sesame@127.0.0.1:1/secretdatabase",
    "postgresql://someone:open@sesame@nohost.invalid:1/secretdatabase",
    "postgresql://someone:open%40sesame@127.0.0.1:1x/secretdatabase?sslpassword=sesame",
    "sqlite:////nowhere/sesame/rows.db", "duckdb:////nowhere/sesame/rows.duckdb", "sesame",
    "mysql://sesame@host/db",
])
def test_nothing_of_a_connection_is_told(address, monkeypatch):
    pytest.importorskip("adbc_driver_postgresql", reason="needs the extra sql")
    pytest.importorskip("duckdb", reason="needs the extra duckdb")
    monkeypatch.setenv("WAREHOUSE", address)
    with pytest.raises(BadInput, match="environment variable WAREHOUSE") as refused:
        column_names(open_source("sql://WAREHOUSE?select 1 as a"))
    told = str(refused.value)
    assert not any(word in told for word in ("sesame", "someone", "secretdatabase"))
    assert refused.value.__context__ is None or refused.value.__suppress_context__


def test_a_password_is_not_told_by_a_wrong_query(postgres, monkeypatch):
    monkeypatch.setenv("WAREHOUSE", postgres)
    secret = PASSWORD.split()[1]
    with pytest.raises(BadInput, match=r"refuses the query") as refused:
        column_names(open_source(f"sql://WAREHOUSE?select {secret}x, x.{secret} from predictions"))
    assert f" {secret}." not in str(refused.value)


def test_a_variable_that_is_not_there():
    with pytest.raises(BadInput, match="there is no environment variable NOT_HERE; put the address"):
        column_names(open_source("sql://NOT_HERE?select 1 as a"))


@pytest.mark.parametrize(("address", "extra"), [
    ("postgresql://a", "sql"), ("sqlite:///a", "sql"), ("duckdb:///a", "duckdb"),
    ("snowflake://a", "snowflake"), ("bigquery://a", "bigquery"),
])
def test_a_driver_that_is_absent_is_named(address, extra, monkeypatch):
    def absent(name):
        raise ModuleNotFoundError(name=name)

    monkeypatch.setattr(connections, "import_module", absent)
    monkeypatch.setenv("WAREHOUSE", address)
    with pytest.raises(MissingExtra, match=rf"pip install 'assay-evaluation\[{extra}\]'"):
        column_names(open_source("sql://WAREHOUSE?select 1 as a"))


def test_a_block_of_prefect_holds_a_connection(tmp_path, monkeypatch):
    pytest.importorskip("adbc_driver_sqlite", reason="needs the extra sql")
    from prefect.blocks.core import Block

    class Secret:
        def get(self):
            return f"sqlite:///{tmp_path}/a.db"

    sqlite3.connect(tmp_path / "a.db").close()
    monkeypatch.setattr(Block, "load", lambda name: {"secret/warehouse": Secret()}[name])
    assert column_names(open_source("sql://secret/warehouse?select 1 as a")) == ["a"]
    with pytest.raises(BadInput, match="block secret/other of Prefect cannot be read"):
        column_names(open_source("sql://secret/other?select 1 as a"))


# Tables of Delta Lake and Iceberg.

@pytest.fixture
def delta(tmp_path):
    """A table whose first version has some rows, the second all of them, the third fewer."""
    deltalake = pytest.importorskip("deltalake", reason="needs the extra delta")
    folder = str(tmp_path / "delta")
    for rows in (SHUFFLED[:1_000], SHUFFLED[1_000:]):
        deltalake.write_deltalake(folder, table(rows), mode="append", partition_by=["prediction"])
    deltalake.DeltaTable(folder).delete("score < 0.1")
    return folder


def ids_of(address):
    return [id for batch in open_source(address).batches(["item_id"]) for id in batch.columns[0].to_pylist()]


def test_a_version_of_a_table_of_delta_lake(delta):
    assert sorted(ids_of(f"delta://{delta}?version=1")) == IDS
    assert sorted(ids_of(f"delta://{delta}?version=0")) == sorted(row[0] for row in SHUFFLED[:1_000])
    newest, read, *_ = frozen({"delta": delta})
    assert newest.rows == sum(row[1] >= 0.1 for row in ROWS)
    assert (read.path, read.version) == (f"delta://{delta}?version=2", "version 2")
    again, *_ = frozen({"delta": delta, "version": 2})
    assert again.digest == newest.digest


_Z85 = string.digits + string.ascii_lowercase + string.ascii_uppercase + ".-:+=^!/*?&<>()[]{}@%$#"
_B85 = string.digits + string.ascii_uppercase + string.ascii_lowercase + "!#$%&()*+-;<=>?@^_`{|}~"


def delete_by_vector(folder, rows):
    """Delete these rows of the only file of a table as Spark does: by a vector in the log."""
    pyroaring = pytest.importorskip("pyroaring")
    bits = struct.pack("<i", 1681511377) + pyroaring.BitMap64(rows).serialize()
    padded = base64.b85encode(bits + b"\0" * (-len(bits) % 4)).decode()
    log = (folder / "_delta_log" / f"{0:020d}.json").read_text().splitlines()
    (add,) = [line["add"] for line in map(json.loads, log) if "add" in line]
    vector = {"storageType": "i", "pathOrInlineDv": padded.translate(str.maketrans(_B85, _Z85)),
              "sizeInBytes": len(bits), "cardinality": len(rows)}
    actions = ({"remove": {"path": add["path"], "dataChange": True, "deletionTimestamp": 1}},
               {"add": {**add, "deletionVector": vector}})
    (folder / "_delta_log" / f"{1:020d}.json").write_text("\n".join(map(json.dumps, actions)))


def test_rows_that_a_vector_deletes_are_gone(tmp_path):
    deltalake = pytest.importorskip("deltalake", reason="needs the extra delta")
    n, deleted = 40_000, [2, 5, 9, 33_000]
    items = pa.table({"item_id": pa.array(range(n)).cast(pa.string())})
    deltalake.write_deltalake(tmp_path, items, configuration={"delta.enableDeletionVectors": "true"})
    delete_by_vector(tmp_path, deleted)
    left = [str(row) for row in range(n) if row not in deleted]
    assert ids_of(f"delta://{tmp_path}") == left
    rows = read_rows(f"delta://{tmp_path}?version=1", [2, 39_000], ["item_id"])
    assert rows.column("item_id").to_pylist() == [left[2], left[39_000]]


def test_a_table_with_mapped_columns_is_refused(delta):
    log = pathlib.Path(delta) / "_delta_log" / f"{3:020d}.json"
    first = (log.parent / f"{0:020d}.json").read_text().splitlines()
    (about,) = [line["metaData"] for line in map(json.loads, first) if "metaData" in line]
    mapped = {"metaData": {**about, "configuration": {"delta.columnMapping.mode": "name"}}}
    log.write_text(json.dumps(mapped))
    with pytest.raises(BadInput, match="columnMapping"):
        open_source(f"delta://{delta}")


def test_columns_that_files_of_delta_lake_lack(delta):
    deltalake = pytest.importorskip("deltalake")
    more = pa.table({"item_id": ["new"], "prediction": ["a b:c/d=é"], "extra": [7]})
    deltalake.write_deltalake(delta, more, mode="append", schema_mode="merge")
    source = open_source(f"delta://{delta}")
    assert column_kinds(source)["extra"] == "number"
    rows = [row for batch in source.batches(["extra", "prediction", "item_id", "row number"])
            for row in batch.columns.to_pylist()]
    (new,) = [row for row in rows if row["item_id"] == "new"]
    assert (new["extra"], new["prediction"]) == (7, "a b:c/d=é")
    assert {row["extra"] for row in rows} == {None, 7}
    assert {row["prediction"] for row in rows} == {"match", "no match", "a b:c/d=é"}
    assert [row["row number"] for row in rows] == [str(i + 1) for i in range(len(rows))]


def test_a_table_that_is_not_there(tmp_path, delta):
    with pytest.raises(BadInput, match=r"no table of Delta Lake of version 9 can be read there"):
        open_source(f"delta://{delta}?version=9")
    with pytest.raises(BadInput, match="no table of Delta Lake can be read there"):
        open_source(f"delta://{tmp_path}/nothing")
    pytest.importorskip("pyiceberg", reason="needs the extra iceberg")
    with pytest.raises(BadInput, match=r"is no table of Iceberg"):
        open_source(f"iceberg://{delta}")
    with pytest.raises(BadInput, match=r"name it as a table: source: \{delta: FOLDER\}"):
        open_source(delta)


def test_a_snapshot_of_a_table_of_iceberg(tmp_path, monkeypatch):
    pytest.importorskip("pyiceberg", reason="needs the extra iceberg")
    from pyiceberg.catalog import load_catalog
    from pyiceberg.utils.config import Config

    settings = {"type": "sql", "uri": f"sqlite:///{tmp_path}/catalog.db", "warehouse": f"file://{tmp_path}/w"}
    catalog = load_catalog("prod", **settings)
    catalog.create_namespace("models")
    made = catalog.create_table("models.predictions", schema=table().schema)
    for rows in (SHUFFLED[:1_000], SHUFFLED[1_000:]):
        made.append(table(rows))
    every = made.current_snapshot().snapshot_id
    made.delete("score < 0.1")
    folder = str(tmp_path / "w/models/predictions")
    assert sorted(ids_of(f"iceberg://{folder}?snapshot={every}")) == IDS
    newest, read, *_ = frozen({"iceberg": folder})
    assert newest.rows == sum(row[1] >= 0.1 for row in ROWS)
    assert read.version == f"snapshot {made.current_snapshot().snapshot_id}"
    for name, value in settings.items():
        monkeypatch.setenv(f"PYICEBERG_CATALOG__PROD__{name.upper()}", value)
    monkeypatch.setattr("pyiceberg.catalog._ENV_CONFIG", Config())      # which reads the environment once
    by_name, *_ = frozen({"iceberg": "models.predictions", "catalog": "prod"})
    assert by_name.digest == newest.digest
    with pytest.raises(BadInput, match=r"has no snapshot 7; the newest are \d+"):
        open_source(f"iceberg://{folder}?snapshot=7")
    with pytest.raises(BadInput, match=r"no table of Iceberg can be read there in the catalog 'other'"):
        open_source("iceberg://models.predictions?catalog=other")


# Addresses and mappings.

@pytest.mark.parametrize(("given", "why"), [
    ({"sql": "select 1"}, "connection has to be the name"),
    ({"sql": "select 1", "connection": "postgresql://u:p@h/d"}, "the address itself is a secret"),
    ({"sql": " ;", "connection": "A"}, "the query is empty"),
    ({"sql": "select 1", "connection": "A", "conection": "B"}, "'conection' .*; did you mean 'connection'"),
    ({"delta": "x", "version": "1"}, "version is '1'; give a whole number"),
    ({"delta": "x", "snapshot": 1}, "no key 'snapshot' beside 'delta'"),
    ({"delta": "x", "iceberg": "y"}, "one of the keys sql, delta and iceberg"),
    ({}, "one of the keys"),
    ("delta://x?versoin=1", "no option 'versoin'; did you mean 'version'"),
    ("sql://select 1", "is no query; write sql://NAME"),
    ({"sql": "select * from read_csv('https://u:pw@h/x')", "connection": "A"}, "holds a password or a key"),
    ({"delta": "s3://key:secret@bucket/x"}, "holds a user name or a password"),
])
def test_sources_that_are_wrong_say_why(given, why):
    with pytest.raises(BadInput, match=rf"source.*{why}"):
        Spec.from_json(spec_data("x", source=given))


def test_conditions_on_columns_called_token_are_no_secrets():
    assert not secret_in("sql://WAREHOUSE?select * from t where token = 'a' and key='b' -- a@b")
    query = "sql://WAREHOUSE?select * from t where label = 'secret' and text = 'a secret' or a='b'"
    assert not secret_in(query)
    assert secret_in("sql://WAREHOUSE?select * from attach_of(secret 'abc')")
