"""Freezing a pool: what is kept, when it is committed, and that nothing changes it afterwards."""

import json
import threading
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from doubles.specs import a_spec, spec_data

from assay.evalcore.errors import BadInput
from assay.tasks.ledger import layout
from assay.tasks.ledger.manifest import load_manifest
from assay.tasks.ledger.record import DamagedRecord, Ledger, put_record
from assay.tasks.ledger.stores.local import LocalStore
from assay.tasks.ledger.stores.store import KeyMissing, MemoryStore
from assay.tasks.pool import freeze_shards, frozen, shards
from assay.tasks.pool.counts import counts_of_frozen
from assay.tasks.pool.cut import load_partition
from assay.tasks.pool.duplicate_ids import first_duplicates, id_hashes
from assay.tasks.pool.freeze import freeze_pool
from assay.tasks.pool.frozen import frozen_parts
from assay.tasks.spec.evaluation import Spec

CSV = """\
item_id,score,prediction,region,text
a,-1.5,no match,north,one
b,0.25,match,south,two
c,2,match,north,three
d,-0.5,no match,,four
"""


def source(tmp_path, text: str = CSV, name: str = "p.csv") -> str:
    (tmp_path / name).write_text(text)
    return str(tmp_path / name)


def frozen_columns(store, manifest) -> dict[str, list]:
    return pa.concat_tables(frozen_parts(store, manifest.part_keys)).to_pydict()


@pytest.fixture
def small_parts(monkeypatch):
    """Parts of four rows, groups of two: the same code as for millions."""
    for module in (frozen, freeze_shards, shards):
        monkeypatch.setattr(module, "PART_ROWS", 4)
    monkeypatch.setattr(frozen, "GROUP_ROWS", 2)


def test_the_manifest_says_what_was_frozen(tmp_path):
    store = MemoryStore()
    path = source(tmp_path)
    spec = a_spec(path, segments=["region"], display=["text"])
    manifest = freeze_pool(spec, store)
    assert manifest.rows == 4
    assert [(s.path, s.rows) for s in manifest.sources] == [(path, 4)]
    assert manifest.predicted_positives == 2
    assert manifest.score_range == (-1.5, 2.0)
    assert manifest.segments == {"region": {"": 1, "north": 2, "south": 1}}
    assert manifest.partition.method == spec.choice_of(manifest.predicted).method
    assert manifest == load_manifest(Ledger(store, "trial"))


def test_frozen_rows_are_the_rows_of_the_source(tmp_path):
    store = MemoryStore()
    manifest = freeze_pool(a_spec(source(tmp_path), segments=["region"], display=["text"]), store)
    rows = frozen_columns(store, manifest)
    assert rows["item_id"] == ["a", "b", "c", "d"]
    assert rows["score"] == [-1.5, 0.25, 2.0, -0.5]
    assert rows["prediction"] == [0, 1, 1, 0]
    assert rows["region"] == ["north", "south", "north", ""]
    assert rows["source_row"] == [0, 1, 2, 3]
    # expit(0.25) = 1 / (1 + e^-0.25)
    assert rows["probability"][1] == pytest.approx(1 / (1 + np.exp(-0.25)), rel=1e-15)
    assert "text" not in rows


def test_without_shown_fields_none_are_kept(tmp_path):
    store = MemoryStore()
    manifest = freeze_pool(a_spec(source(tmp_path)), store)
    assert not manifest.shown_keys
    assert not [key for key in store.keys("") if "/shown-" in key]


def test_the_partition_lists_every_row_once_by_cell_and_then_by_row(tmp_path):
    store = MemoryStore()
    spec = a_spec(source(tmp_path))
    manifest = freeze_pool(spec, store)
    cells = load_partition(spec, store, manifest).cells
    [key] = manifest.piece_keys
    rows = np.frombuffer(store.get(key), "<u4").astype(int)
    assert sorted(rows) == [0, 1, 2, 3]
    predictions = np.array([0, 1, 1, 0])[rows]
    assert (predictions == np.repeat(cells.prediction, cells.size)).all()
    for block in np.split(rows, np.cumsum(cells.size)[:-1]):
        assert (np.diff(block) > 0).all()


@pytest.mark.parametrize(
    ("pool", "score", "probability", "prediction"),
    [
        # score > threshold is positive, and probability = expit(score - threshold): 1/2 at the threshold
        ({"score": "x", "prediction": None, "threshold": 0.5},
         [0.5, 0.75], [0.5, 1 / (1 + np.exp(-0.25))], [0, 1]),
        # probability >= threshold is positive, and score = logit(probability): log(0.75 / 0.25) = log 3
        ({"score": None, "probability": "x", "prediction": None, "threshold": 0.75},
         [0.0, np.log(3)], [0.5, 0.75], [0, 1]),
        # given both, the threshold is on the score and neither is derived
        ({"score": "y", "probability": "x", "prediction": None, "threshold": 0},
         [3.0, -3.0], [0.5, 0.75], [1, 0]),
    ],
)  # fmt: skip
def test_what_is_not_given_follows_from_what_is(tmp_path, pool, score, probability, prediction):
    store = MemoryStore()
    path = source(tmp_path, "item_id,x,y\na,0.5,3\nb,0.75,-3\n")
    rows = frozen_columns(store, freeze_pool(a_spec(path, **pool), store))
    assert rows["score"] == pytest.approx(score)
    assert rows["probability"] == pytest.approx(probability)
    assert rows["prediction"] == prediction


def test_certain_probabilities_have_finite_scores(tmp_path):
    store = MemoryStore()
    path = source(tmp_path, "item_id,p,prediction\na,0,0\nb,1,1\n")
    rows = frozen_columns(store, freeze_pool(a_spec(path, score=None, probability="p"), store))
    # clipped at 1e-12: log(1e-12) = -27.63
    assert rows["score"] == pytest.approx([-27.631, 27.631], abs=1e-3)
    assert rows["probability"] == [0.0, 1.0]


@pytest.mark.parametrize(
    ("labels", "written", "codes"),
    [
        (("match", "no match"), ["match", "no match", "1", "0", "1.0", "0.0", "true", "False"], [1, 0] * 4),
        (("1", "0"), ["1", "0", "1.0", "0.0", "true", "False"], [1, 0, 1, 0, 1, 0]),
        (("0", "1"), ["1", "0", "1.0", "0.0"], [0, 1, 0, 1]),   # whoever calls the positive class 0 means it
        (("False", "True"), ["True", "False", "true", "false", "1"], [0, 1, 0, 1, 0]),
    ],
)
def test_predictions_are_class_names_or_their_usual_spellings(tmp_path, labels, written, codes):
    store = MemoryStore()
    text = "item_id,score,prediction\n" + "".join(f"{i},0,{p}\n" for i, p in enumerate(written))
    data = spec_data(source(tmp_path, text)) | {"labels": {"positive": labels[0], "negative": labels[1]}}
    assert frozen_columns(store, freeze_pool(Spec.from_json(data), store))["prediction"] == codes


@pytest.mark.parametrize("values", [[True, False], [1, 0], [1.0, 0.0], ["match", "no match"]])
def test_predictions_in_parquet_may_be_booleans_numbers_or_names(tmp_path, values):
    table = pa.table({"item_id": [1, 2], "score": [1.0, 2.0], "prediction": values})
    pq.write_table(table, tmp_path / "p.parquet")
    store = MemoryStore()
    manifest = freeze_pool(a_spec(tmp_path / "p.parquet"), store)
    assert frozen_columns(store, manifest)["prediction"] == [1, 0]


def test_parts_are_cut_at_the_same_rows_however_the_files_are_cut(tmp_path, small_parts):
    lines = [f"{i},{i / 8},{i % 2}\n" for i in range(11)]
    head = "item_id,score,prediction\n"
    whole = source(tmp_path, head + "".join(lines))
    (tmp_path / "cut").mkdir()
    for name, some in (("0", lines[:3]), ("1", []), ("2", lines[3:10]), ("3", lines[10:])):
        source(tmp_path / "cut", head + "".join(some), f"{name}.csv")
    one, many = MemoryStore(), MemoryStore()
    a, b = freeze_pool(a_spec(whole), one), freeze_pool(a_spec(tmp_path / "cut"), many)
    assert [p.rows for p in a.parts] == [p.rows for p in b.parts] == [4, 4, 3]
    assert a.digest == b.digest
    assert a.partition == b.partition
    assert [s.rows for s in b.sources] == [3, 0, 7, 1]
    rows = frozen_columns(many, b)
    assert rows["item_id"] == [str(i) for i in range(11)]
    assert list(zip(rows["source_file"], rows["source_row"], strict=True))[3:11:7] == [(2, 0), (3, 0)]


def test_the_digest_changes_with_any_value_and_with_the_order(tmp_path):
    def digest(text: str, **pool) -> str:
        return freeze_pool(a_spec(source(tmp_path, text), **pool), MemoryStore()).digest

    pool = {"segments": ["region"], "display": ["text"]}
    lines = CSV.splitlines(keepends=True)
    variants = [CSV, CSV.replace("a,", "x,", 1), CSV.replace("0.25", "0.26"), CSV.replace("south", "north"),
                CSV.replace("c,2,match", "c,2,no match"), CSV.replace("four", "five"),
                "".join([lines[0], *reversed(lines[1:])])]  # fmt: skip
    assert len({digest(text, **pool) for text in variants}) == len(variants)
    assert digest(CSV) != digest(CSV, **pool)


def test_the_digest_can_be_recomputed_and_a_damaged_part_is_named(tmp_path):
    store = LocalStore(tmp_path / "ledger")
    spec = a_spec(source(tmp_path))
    manifest = freeze_pool(spec, store)
    assert counts_of_frozen(spec, store, manifest).digest == manifest.digest
    part = tmp_path / "ledger" / manifest.part_keys[0]
    read = frozen.read_part(store, manifest.part_keys[0])
    table = read.set_column(1, "score", pa.array([-1.5, 0.25, 2.0, -0.25]))
    part.unlink()
    part.write_bytes(frozen.part_bytes(table))
    with pytest.raises(DamagedRecord, match=r"part-00000-.*its values are not the ones in the manifest"):
        counts_of_frozen(spec, store, manifest)
    part.write_bytes(b"rubbish")
    with pytest.raises(DamagedRecord, match="restore this key"):
        counts_of_frozen(spec, store, manifest)


def test_a_source_changed_afterwards_changes_nothing(tmp_path):
    store = MemoryStore()
    spec = a_spec(source(tmp_path))
    manifest = freeze_pool(spec, store)
    before = {key: store.get(key) for key in store.keys("trial/")}
    source(tmp_path, CSV.replace("0.25", "-9"))
    assert freeze_pool(spec, store) == manifest
    assert {key: store.get(key) for key in store.keys("trial/")} == before


def test_what_an_aborted_freeze_left_is_not_taken_for_the_pool(tmp_path, small_parts):
    store = MemoryStore()
    good = "".join(f"{i},{i / 8},{i % 2}\n" for i in range(6))
    head = "item_id,score,prediction\n"
    spec = a_spec(source(tmp_path, head + good.replace("0,0.0,0", "0,7,0") + "6,nan,1\n"))
    with pytest.raises(BadInput, match="row 7: 'nan'"):
        freeze_pool(spec, store)
    with pytest.raises(KeyMissing):
        load_manifest(Ledger(store, "trial"))
    source(tmp_path, head + good + "6,0,1\n")
    manifest = freeze_pool(spec, store)
    clean = MemoryStore()
    assert freeze_pool(spec, clean) == manifest
    assert frozen_columns(store, manifest)["score"][0] == 0.0
    assert counts_of_frozen(spec, store, manifest).digest == manifest.digest


def test_two_freezes_at_once_agree(tmp_path):
    store = LocalStore(tmp_path / "ledger")
    text = "item_id,score,prediction\n" + "".join(f"{i},{i / 7},{i % 2}\n" for i in range(500))
    spec = a_spec(source(tmp_path, text))
    manifests = []
    threads = [threading.Thread(target=lambda: manifests.append(freeze_pool(spec, store))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(manifests) == 4
    assert all(manifest == manifests[0] for manifest in manifests)
    # manifest, sources, one part, a partition of three keys, and two entries of the log: no copies
    assert len(list(store.keys("trial/"))) == 8


def test_whoever_commits_first_decides(tmp_path):
    store = MemoryStore()
    first = a_spec(source(tmp_path))
    other = a_spec(source(tmp_path, CSV.replace("0.25", "0.5"), "q.csv"))
    winner = []
    manifest = freeze_pool(other, store, before_commit=lambda _: winner.append(freeze_pool(first, store)))
    assert manifest == winner[0]


def test_what_refuses_the_commit_leaves_no_manifest(tmp_path):
    store = MemoryStore()

    def refuse(_manifest) -> None:
        raise BadInput("taken")

    with pytest.raises(BadInput, match="taken"):
        freeze_pool(a_spec(source(tmp_path)), store, before_commit=refuse)
    assert not store.exists("trial/pool/manifest.json")


def test_progress_is_told_after_every_part(tmp_path, small_parts):
    told: list[int] = []
    text = "item_id,score,prediction\n" + "".join(f"{i},0,1\n" for i in range(10))
    freeze_pool(a_spec(source(tmp_path, text)), MemoryStore(), told.append)
    assert told == [4, 8, 10]


def test_what_was_read_is_noted_beside_the_manifest(tmp_path):
    store = MemoryStore()
    path = source(tmp_path)
    freeze_pool(a_spec(path), store)
    noted = json.loads(store.get("trial/pool/sources.json"))["files"]
    assert [(file["path"], file["size"]) for file in noted] == [(path, len(CSV))]
    assert noted[0]["version"].startswith("mtime-ns:")
    assert b"mtime" not in store.get("trial/pool/manifest.json")


def test_equal_hashes_are_only_suspects():
    ids = pa.array(["a", "b", "c", "b"])
    everything = np.sort(id_hashes(pa.array(["a", "b", "c"])))   # every id is under suspicion
    assert list(first_duplicates(everything, lambda: [ids])) == [("b", [1, 3])]
    assert list(first_duplicates(everything, lambda: [ids.slice(0, 3)])) == []


def test_a_pool_of_an_earlier_version_is_refused_by_name(tmp_path):
    store = MemoryStore()
    manifest = freeze_pool(a_spec(source(tmp_path)), store)
    earlier = replace(manifest, columns=(*manifest.columns, "shown_hash"))
    ledger = Ledger(MemoryStore(), "trial")
    put_record(ledger, layout.manifest("trial"), earlier)
    with pytest.raises(BadInput, match="trial: its pool was frozen by an earlier version of Assay"):
        load_manifest(ledger)
