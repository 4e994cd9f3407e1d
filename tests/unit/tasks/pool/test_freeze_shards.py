"""A pool in many shards: the same bytes as in one, whoever does them, in any order, killed or not."""

import csv
import gzip
import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from doubles.specs import a_spec, spec_data

from assay.evalcore.errors import BadInput
from assay.tasks.ledger.record import DamagedRecord
from assay.tasks.ledger.stores.local import LocalStore
from assay.tasks.ledger.stores.opening import Travelling
from assay.tasks.ledger.stores.store import MemoryStore
from assay.tasks.pool import freeze, freeze_shards, frozen, scores, shards
from assay.tasks.pool.cut import prediction_kind
from assay.tasks.pool.freeze import freeze_pool
from assay.tasks.pool.scores import StoredRun, run_bytes
from assay.tasks.pool.shards import shards_of_source
from assay.tasks.sources import jsonl_rows, marks
from assay.tasks.sources.reader import open_source, read_rows
from assay.tasks.spec.evaluation import Spec

ROWS = 59
POOL = {"segments": ["region"], "display": ["text"]}


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    """Parts of four rows, two to a shard and three to one that is cut: the same code as for millions."""
    for module in (frozen, freeze_shards, shards):
        monkeypatch.setattr(module, "PART_ROWS", 4)
    monkeypatch.setattr(frozen, "GROUP_ROWS", 2)
    monkeypatch.setattr(shards, "SHARD_ROWS", 8)
    monkeypatch.setattr(shards, "SMALL_BYTES", 0)
    monkeypatch.setattr(frozen, "SHARD_PARTS", 3)
    few = {"SCORES_TOGETHER": 0, "SUMMARY": 1, "LEAST_OF_RUN": 3, "GRID_SCORES": 5, "GATHERED": 7}
    for name, number in few.items():
        monkeypatch.setattr(scores, name, number)


def rows(start: int, end: int) -> list[dict]:
    return [
        {"item_id": f"i{i}", "score": i / 8 - 3, "prediction": i % 2, "region": f"r{i % 3}", "text": f"t {i}"}
        for i in range(start, end)
    ]


def write(folder, name: str, some: list[dict], format: str) -> None:
    table = pa.Table.from_pylist(some, schema=pa.schema([
        ("item_id", pa.string()), ("score", pa.float64()), ("prediction", pa.int64()),
        ("region", pa.string()), ("text", pa.string()),
    ]))
    path = folder / f"{name}.{format}"
    if format == "parquet":
        pq.write_table(table, path, row_group_size=5)
    elif format.startswith("csv"):
        text = ",".join(table.column_names) + "\n" + "".join(
            ",".join(map(str, row.values())) + "\n" for row in some
        )
        path.write_bytes(gzip.compress(text.encode()) if format.endswith("gz") else text.encode())
    else:
        path.write_text("\n".join(json.dumps(row) for row in some) + "\n\n")


def source(tmp_path, format: str = "parquet", change=lambda i, row: row):
    """Files of 3, 0, 30, 1 and 25 rows."""
    folder = tmp_path / "source"
    folder.mkdir(exist_ok=True)
    for name, (start, end) in enumerate([(0, 3), (3, 3), (3, 33), (33, 34), (34, ROWS)]):
        some = [change(start + i, row) for i, row in enumerate(rows(start, end))]
        if some or format != "jsonl":
            write(folder, str(name), some, format)
    return folder


def last_first(freeze_shards, over) -> Iterator:
    """Every piece of work done, the last one first, some of it twice."""
    done = {place: freeze_shards(over[place]) for place in reversed(range(len(over)))}
    assert freeze_shards(over[0]) is not None
    return iter([done[place] for place in range(len(over))])


def in_threads(freeze_shards, over) -> Iterator:
    with ThreadPoolExecutor(3) as pool:
        return iter(list(pool.map(freeze_shards, over)))


def ledger(store) -> dict[str, bytes]:
    """What there is but for the times of files."""
    return {key: store.get(key) for key in store.keys("") if not key.endswith("sources.json")}


def in_one(monkeypatch, spec) -> dict[str, bytes]:
    """What freezing the pool as one shard leaves."""
    store = MemoryStore()
    with monkeypatch.context() as patch:
        patch.setattr(shards, "SMALL_BYTES", 1 << 30)
        freeze_pool(spec, store)
    return ledger(store)


@pytest.mark.parametrize(("format", "map_over"), [
    ("parquet", in_threads), ("parquet", last_first), ("csv", in_threads), ("csv.gz", map),
    ("jsonl", last_first),
])
def test_the_ledger_is_the_same_to_the_byte(tmp_path, monkeypatch, format, map_over):
    spec, store = a_spec(source(tmp_path, format), **POOL), MemoryStore()
    assert len(shards_of_source(open_source(spec.pool.source), "item_id", map)) >= 2
    freeze_pool(spec, store, map_over=map_over)
    assert ledger(store) == in_one(monkeypatch, spec)
    assert len(json.loads(store.get("trial/pool/manifest.json"))["parts"]) == 15


def test_shards_follow_from_row_groups_and_hold_whole_parts(tmp_path):
    opened = open_source(str(source(tmp_path)))
    shards = shards_of_source(opened, "item_id", map)
    # row groups end at 3, 8, 13, 18, 23, 28, 33, 34, 39 ...: the first whole part that begins there
    sizes = [sum(one.rows or 0 for one in shard.slices) for shard in shards]
    assert sizes == [8, 8, 8, 12, 8, 8, 7]
    assert [shard.first_part for shard in shards] == [0, 2, 4, 6, 9, 11, 13]
    assert [shard.number for shard in shards] == list(range(len(shards)))
    read = [(b.file, b.first_row + i) for s in shards for b in opened.slices(s.slices, ["item_id"])
            for i in range(b.columns.num_rows)]
    assert read == [(b.file, b.first_row + i) for b in opened.batches(["item_id"])
                    for i in range(b.columns.num_rows)]
    assert {one.file for shard in shards for one in shard.slices} == {0, 1, 2, 3, 4}   # the empty one too


def test_a_file_of_text_of_few_rows_is_not_divided(tmp_path):
    shards = shards_of_source(open_source(str(source(tmp_path, "csv"))), "item_id", map)
    # files end at 3, 3, 33, 34, 59
    assert [sum(one.rows or 0 for one in shard.slices) for shard in shards] == [36, 23]


def test_one_file_of_text_and_a_small_source_are_one_shard(tmp_path, monkeypatch):
    write(tmp_path, "p", rows(0, ROWS), "csv")
    assert len(shards_of_source(open_source(str(tmp_path / "p.csv")), "item_id", map)) == 1
    monkeypatch.setattr(shards, "SMALL_BYTES", 1 << 20)
    assert len(shards_of_source(open_source(str(source(tmp_path))), "item_id", map)) == 1


QUOTED = 'line one\n"",""x,\n\n'


@pytest.fixture
def close_marks(monkeypatch):
    """Marks every three rows, and a single file of text is large."""
    monkeypatch.setattr(marks, "_EVERY", 3)
    monkeypatch.setattr(jsonl_rows, "BATCH_ROWS", 3)
    monkeypatch.setattr(shards, "LARGE_TEXT_BYTES", 0)


def one_text_file(tmp_path, format: str, change=lambda i, row: row) -> str:
    """A file with line breaks within values, blank lines, and ids that are fractions in some batches."""
    some = [change(i, row | {"item_id": i if i % 10 else i + 0.5}) for i, row in enumerate(rows(0, ROWS))]
    path = tmp_path / f"all.{format}"
    if format.startswith("jsonl"):
        text = "\n\n".join(json.dumps(row) for row in some)
    else:
        lines = [",".join([*map(str, list(row.values())[:4]), f'"{row["text"]}{QUOTED}"']) for row in some]
        text = "\ufeffitem_id,score,prediction,region,text\n" + "\n\n".join(lines)
    path.write_bytes(gzip.compress(text.encode()) if format.endswith("gz") else text.encode())
    return str(path)


@pytest.mark.parametrize(("format", "map_over"), [
    ("csv", in_threads), ("csv", last_first), ("jsonl", map), ("jsonl", last_first),
])
def test_one_file_of_text_is_divided_where_rows_begin(tmp_path, monkeypatch, close_marks, format, map_over):
    spec, store = a_spec(one_text_file(tmp_path, format), **POOL), MemoryStore()
    shards = shards_of_source(open_source(spec.pool.source), "item_id", map)
    assert [sum(one.rows or 0 for one in shard.slices) for shard in shards] == [8] * 7 + [3]
    assert [shard.slices[0].mark.row for shard in shards[1:]] == [6, 15, 24, 30, 39, 48, 54]
    freeze_pool(spec, store, map_over=map_over)
    assert ledger(store) == in_one(monkeypatch, spec)
    assert not list(store.keys("index/freezing/"))


@pytest.mark.parametrize("format", ["csv.gz", "jsonl.gz"])
def test_a_compressed_file_is_one_shard(tmp_path, close_marks, format):
    path = one_text_file(tmp_path, format)
    assert len(shards_of_source(open_source(path), "item_id", map)) == 1


def test_rows_that_cannot_be_told_apart_for_certain_are_one_shard(tmp_path, monkeypatch, close_marks):
    path = one_text_file(tmp_path, "csv", lambda i, row: row | {"region": 'a 5" disk' if i == 40 else "b"})
    spec, store = a_spec(path, **POOL), MemoryStore()
    assert len(shards_of_source(open_source(path), "item_id", map)) == 1
    freeze_pool(spec, store)
    assert ledger(store) == in_one(monkeypatch, spec)


DIALECTS = [(",", "utf-8", 8), (";", "utf-8", 8), ("\t", "utf-8", 8), ("|", "utf-8", 8), (";", "cp1252", 1),
            (",", "utf-16", 1), ("\t", "utf-16-le", 1)]


@pytest.mark.parametrize(("delimiter", "encoding", "pieces"), DIALECTS)
@pytest.mark.parametrize("id", ["item_id", "row number"])
def test_every_dialect_has_the_same_rows_in_shards_and_in_one(
    tmp_path, monkeypatch, close_marks, delimiter, encoding, pieces, id
):
    some = [row | {"text": f"Mühle {i}\nand{delimiter} \"so\" on"} for i, row in enumerate(rows(0, ROWS))]
    path = tmp_path / "all.csv"
    with path.open("w", encoding=encoding, newline="") as opened:
        writer = csv.DictWriter(opened, some[0], delimiter=delimiter)
        writer.writeheader()
        writer.writerows(some)
    data = spec_data(path, id=id, **POOL)
    spec, store = Spec.from_json(data | {"desk": data["desk"] | {"labels": str(path)}}), MemoryStore()
    assert len(shards_of_source(open_source(str(path)), id, map)) == pieces
    freeze_pool(spec, store, map_over=last_first)
    assert ledger(store) == in_one(monkeypatch, spec)
    read = [row for part in store.keys("trial/pool/part-") for row in frozen.frozen_parts(store, [part])]
    ids = [one for table in read for one in table.column("item_id").to_pylist()]
    assert ids == [str(i + 1) if id == "row number" else f"i{i}" for i in range(ROWS)]
    shown = read_rows(str(path), [41, 7], [id, "text"]).to_pylist()
    assert [row[id] for row in shown] == [ids[41], ids[7]]
    assert [row["text"] for row in shown] == [some[41]["text"], some[7]["text"]]


def test_rows_of_json_lines_and_parquet_are_numbered_alike(tmp_path, monkeypatch, close_marks):
    for format in ("jsonl", "parquet", "csv"):
        write(tmp_path, "p", rows(0, ROWS), format)
        path = str(tmp_path / f"p.{format}")
        shards = shards_of_source(open_source(path), "row number", map)
        slices = [one for shard in shards for one in shard.slices]
        assert len(slices) > 1
        read = [v for b in open_source(path).slices(slices, ["row number", "item_id"])
                for v in zip(*(c.to_pylist() for c in b.columns.columns), strict=True)]
        assert read == [(str(i + 1), f"i{i}") for i in range(ROWS)]


def test_a_quotation_mark_too_many_is_the_same_error_in_shards_and_in_one(tmp_path, monkeypatch, close_marks):
    some = rows(0, ROWS)
    some[40]["region"] = '"b'
    write(tmp_path, "p", some, "csv")
    path = str(tmp_path / "p.csv")
    text = said(a_spec(path, **POOL))
    assert "row 41 (line 42), column 'region': a quotation mark opens a value that is not closed" in text
    monkeypatch.setattr(shards, "SMALL_BYTES", 1 << 30)
    assert said(a_spec(path, **POOL)) == text


@pytest.mark.parametrize(("format", "told"), [
    ("csv", "column 'score': values are not finite numbers: row 44: 'much'; row 45: 'much'"),
    ("jsonl", "column 'score' holds text values from row 43 on"),      # the batch begins there
])
def test_errors_of_a_later_shard_name_the_row_of_the_file(tmp_path, monkeypatch, close_marks, format, told):
    path = one_text_file(tmp_path, format, lambda i, row: row | ({"score": "much"} if i in (43, 44) else {}))
    text = said(a_spec(path))
    assert told in text
    monkeypatch.setattr(shards, "SMALL_BYTES", 1 << 30)
    assert said(a_spec(path)) == text


def test_errors_of_a_later_shard_name_the_line_of_the_file(tmp_path, close_marks):
    path = one_text_file(tmp_path, "jsonl")
    with open(path, "a") as file:
        file.write("\n{no\n")
    assert f"{path}: cannot be read: line 118 is not JSON" in said(a_spec(path))


def test_the_ids_of_a_giant_shard_are_kept_in_runs(tmp_path, monkeypatch, close_marks):
    monkeypatch.setattr(freeze_shards, "HASHES_OF_RUN", 8)
    path = one_text_file(tmp_path, "csv.gz")
    spec, store = a_spec(path, **POOL), MemoryStore()
    kept, put = [], store.put
    monkeypatch.setattr(store, "put", lambda key, blob: kept.append((key, len(blob))) or put(key, blob))
    freeze_pool(spec, store)
    assert [size for key, size in kept if key.endswith(".ids")] == [64] * 7 + [24]
    assert not list(store.keys("index/freezing/"))
    assert ledger(store) == in_one(monkeypatch, spec)
    again = one_text_file(tmp_path, "csv.gz", lambda i, row: row | ({"item_id": 3} if i == 57 else {}))
    assert f"'3' ({path} row 4, {path} row 58)" in said(a_spec(again))


def one_row_group(tmp_path, change=lambda i, row: row, **more) -> str:
    table = pa.Table.from_pylist([change(i, row) for i, row in enumerate(rows(0, ROWS))])
    for name, values in more.items():
        table = table.append_column(name, values)
    path = tmp_path / "all.parquet"
    pq.write_table(table, path, data_page_size=40, write_batch_size=3, compression="zstd")
    return str(path)


def test_a_row_group_is_not_divided(tmp_path):
    path = one_row_group(tmp_path, lambda i, row: row | ({"score": float("nan")} if i == 43 else {}))
    [shard] = shards_of_source(open_source(path), "item_id", map)
    assert shard.rows == ROWS
    assert "column 'score': values are not finite numbers: row 44: nan" in said(a_spec(path))


def test_scores_of_a_shard_too_long_for_memory_are_not_kept_in_order(tmp_path, monkeypatch):
    spec, store = a_spec(source(tmp_path, "parquet"), **POOL), MemoryStore()
    kept, put = [], store.put
    monkeypatch.setattr(store, "put", lambda key, blob: kept.append(key) or put(key, blob))
    monkeypatch.setattr(freeze_shards, "HASHES_OF_RUN", 8)
    freeze_pool(spec, store)
    assert not [key for key in kept if key.endswith(".scores")]
    assert ledger(store) == in_one(monkeypatch, spec)


def test_a_small_pool_is_given_to_no_worker(tmp_path, monkeypatch):
    monkeypatch.setattr(shards, "SMALL_BYTES", 1 << 20)
    monkeypatch.setattr(frozen, "SHARD_PARTS", 16)

    def nobody(freeze_shards, over):
        raise AssertionError("a worker was started")

    store = MemoryStore()
    assert freeze_pool(a_spec(source(tmp_path)), store, map_over=nobody).rows == ROWS
    assert not list(store.keys("index/freezing/"))


class Killed(BaseException):
    """The process ends here."""


@pytest.mark.parametrize("format", ["parquet", "csv"])
def test_a_killed_freeze_goes_on_from_the_shards_it_has(tmp_path, monkeypatch, format):
    spec, store = a_spec(source(tmp_path, format), **POOL), LocalStore(tmp_path / "ledger")
    whole = in_one(monkeypatch, spec)
    shards = len(shards_of_source(open_source(spec.pool.source), "item_id", map))

    def killed_before_the_last(freeze_shards, over):
        results = [freeze_shards(one) for one in over[:-1]]
        if len(over) == shards and hasattr(freeze_shards, "spec"):
            raise Killed
        return iter([*results, freeze_shards(over[-1])])

    with pytest.raises(Killed):
        freeze_pool(spec, store, map_over=killed_before_the_last)
    assert not store.exists("trial/pool/manifest.json")
    assert len(list(store.keys("index/freezing/trial/"))) == 3 * (shards - 1)
    passes = []
    once = freeze_shards._Pass

    def counted(*given):
        passes.append(given[1].number)
        return once(*given)

    monkeypatch.setattr(freeze_shards, "_Pass", counted)
    told: list[int] = []
    freeze_pool(spec, store, told.append)
    assert passes == [shards - 1]
    assert told[-1] == ROWS
    assert ledger(store) == whole
    assert not list(store.keys("index/freezing/"))     # cleared up once the manifest is there


@pytest.mark.parametrize("what", ["source", "part", "receipt", "ids", "scores"])
def test_what_no_longer_holds_is_frozen_again(tmp_path, monkeypatch, what):
    folder = source(tmp_path)
    spec, store = a_spec(folder, **POOL), LocalStore(tmp_path / "ledger")

    def killed_at_the_end(freeze_shards, over):
        if not hasattr(freeze_shards, "spec"):
            return map(freeze_shards, over)
        list(map(freeze_shards, over))
        raise Killed

    with pytest.raises(Killed):
        freeze_pool(spec, store, map_over=killed_at_the_end)
    key = {"source": None, "part": "trial/pool/part-00003", "receipt": "index/freezing/trial/000002",
           "ids": "index/freezing/trial/000001", "scores": "index/freezing/trial/000003"}[what]
    if key is None:
        source(tmp_path, change=lambda i, row: row | {"score": 9.0} if i == 40 else row)
    else:
        [first, *more] = store.keys(key)
        ending = {"receipt": ".json", "scores": ".scores"}.get(what, "")
        path = tmp_path / "ledger" / next(k for k in [first, *more] if k.endswith(ending))
        path.unlink()
        if what == "receipt":
            path.write_bytes(b"half a rec")
    freeze_pool(spec, store)
    found = {k: v for k, v in ledger(store).items() if what != "source" or "part-" not in k}
    assert found == {k: v for k, v in in_one(monkeypatch, spec).items()
                     if what != "source" or "part-" not in k}


@pytest.mark.parametrize(("whole", "pool", "ranked"), [
    ({}, {}, "score"),
    ({"outcomes": {"source": "known.csv"}}, {}, None),
    ({"method": "oasis:partition=kd-tree"}, {"features": ["length"]}, None),
    ({}, {"cluster": "region", "task": "scored"}, None),
    ({"method": "recycle"}, {"systems": {"other": {"prediction": "also"}}}, None),
], ids=["by score", "some outcomes known", "by features", "clusters", "by systems"])
def test_scores_are_kept_in_order_only_where_all_rows_are_cut_by_them(tmp_path, whole, pool, ranked):
    data = a_spec(source(tmp_path)).to_json()
    spec = Spec.from_json(data | whole | {"pool": data["pool"] | pool})
    assert prediction_kind(spec).ranked == ranked


def test_a_run_of_scores_that_is_too_short_is_named(tmp_path):
    store = MemoryStore()
    store.put("index/freezing/trial/000000-aa.scores", run_bytes([np.array([2.0, -0.0])]))
    run = StoredRun(
        store=Travelling(store), key="index/freezing/trial/000000-aa.scores", rows=2, positives=1
    )
    assert run.again().tobytes() == np.array([0.0, 2.0]).tobytes()
    with pytest.raises(DamagedRecord, match=r"000000-aa.scores: does not hold 3 scores; remove it"):
        replace(run, rows=3).first()


def test_another_process_that_commits_while_this_one_cuts_is_followed(tmp_path, monkeypatch):
    spec, store = a_spec(source(tmp_path)), LocalStore(tmp_path / "ledger")
    cut = freeze.cut_pool
    theirs = []

    def overtaken(*given):
        monkeypatch.setattr(freeze, "cut_pool", cut)
        theirs.append(freeze_pool(spec, store))
        assert not list(store.keys("index/freezing/"))
        return cut(*given)

    monkeypatch.setattr(freeze, "cut_pool", overtaken)
    assert [freeze_pool(spec, store)] == theirs


def said(spec, map_over=map) -> str:
    store = MemoryStore()
    with pytest.raises(BadInput) as caught:
        freeze_pool(spec, store, map_over=map_over)
    assert not store.exists("trial/pool/manifest.json")
    return str(caught.value)


@pytest.mark.parametrize("map_over", [last_first, in_threads])
def test_the_error_of_the_first_shard_is_told(tmp_path, monkeypatch, map_over):
    bad = {20: "third", 45: "later"}
    folder = source(tmp_path, change=lambda i, row: row | {"score": float("nan")} if i in bad else row)
    spec = a_spec(folder)
    assert "2.parquet: column 'score': values are not finite numbers: row 18: nan" in said(spec, map_over)


@pytest.mark.parametrize("map_over", [map, last_first])
def test_columns_of_two_kinds_in_different_shards_are_refused(tmp_path, monkeypatch, map_over):
    folder = source(tmp_path)
    numbers = pa.table({"item_id": list(range(34, ROWS)), "score": [1.0] * 25, "prediction": [1] * 24 + [7]})
    pq.write_table(numbers, folder / "4.parquet", row_group_size=5)
    text = said(a_spec(folder), map_over)
    # and not the 7 that is no class, which comes later
    assert "4.parquet: column 'item_id' holds number values from row 1 on, but text values before" in text
    assert f"({folder}/0.parquet)" in text
    monkeypatch.setattr(shards, "SMALL_BYTES", 1 << 30)
    assert said(a_spec(folder)) == text


@pytest.mark.parametrize("at_once", [1, 1 << 24])
def test_ids_that_are_in_two_shards_are_found(tmp_path, monkeypatch, at_once):
    monkeypatch.setattr("assay.tasks.pool.duplicate_ids._HASHES_AT_ONCE", at_once)
    again = {58: "i1", 40: "i39", 50: "i1"}
    folder = source(tmp_path, change=lambda i, row: row | {"item_id": again.get(i, row["item_id"])})
    text = said(a_spec(folder))
    assert (f"'i1' ({folder}/0.parquet row 2, {folder}/4.parquet row 17, {folder}/4.parquet row 25); "
            f"'i39' ({folder}/4.parquet row 6, {folder}/4.parquet row 7)") in text
    monkeypatch.setattr(shards, "SMALL_BYTES", 1 << 30)
    assert said(a_spec(folder)) == text


def test_where_every_id_is_there_twice_the_first_are_listed(tmp_path, monkeypatch):
    monkeypatch.setattr("assay.tasks.pool.duplicate_ids._SUSPECTS_AT_ONCE", 7)
    folder = source(tmp_path, change=lambda i, row: row | {"item_id": f"i{i % 29}"})
    text = said(a_spec(folder))
    assert [f"'i{i}' (" in text for i in range(6)] == [True] * 5 + [False]


def test_a_segment_of_too_many_values_over_all_shards_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(freeze_shards, "_MOST_SEGMENT_VALUES", 20)
    folder = source(tmp_path, change=lambda i, row: row | {"region": f"r{i // 2}"})
    assert "column 'region' has more than 20 different values" in said(a_spec(folder, segments=["region"]))


def test_a_source_that_changes_between_two_shards_is_refused(tmp_path):
    folder = source(tmp_path)

    def meanwhile(freeze_shards, over):
        yield freeze_shards(over[0])
        if hasattr(freeze_shards, "spec"):
            source(tmp_path, change=lambda i, row: row | {"text": "another"})
        yield from map(freeze_shards, over[1:])

    assert "changed while it was being read" in said(a_spec(folder, **POOL), meanwhile)


def test_two_sharded_freezes_at_once_agree(tmp_path, monkeypatch):
    spec, store = a_spec(source(tmp_path), **POOL), LocalStore(tmp_path / "ledger")
    manifests = []
    threads = [threading.Thread(target=lambda: manifests.append(freeze_pool(spec, store))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(manifests) == 4
    assert ledger(store) == in_one(monkeypatch, spec)
