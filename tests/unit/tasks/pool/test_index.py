"""From (cell, rank) to items and to what people see, reading little and refusing what changed."""

import numpy as np
import pytest
from doubles.specs import a_spec

from assay.tasks.ledger.manifest import load_manifest
from assay.tasks.ledger.record import DamagedRecord, Ledger
from assay.tasks.ledger.stores.local import LocalStore
from assay.tasks.ledger.stores.store import MemoryStore
from assay.tasks.pool import freeze_shards, frozen, shown
from assay.tasks.pool import shown as pool_index
from assay.tasks.pool import shown as row_finder
from assay.tasks.pool.counts import counts_of_frozen
from assay.tasks.pool.cut import load_partition
from assay.tasks.pool.freeze import freeze_pool
from assay.tasks.pool.shown import PoolIndex

ROWS = 30


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    """Shards of two parts, parts of eight rows and groups of two, so that thirty rows are many."""
    monkeypatch.setattr(frozen, "SHARD_PARTS", 2)
    for module in (frozen, freeze_shards, pool_index):
        monkeypatch.setattr(module, "PART_ROWS", 8)
    monkeypatch.setattr(frozen, "GROUP_ROWS", 2)


def write_source(folder, change=lambda row, line: line) -> str:
    folder.mkdir(exist_ok=True)
    for file in range(2):
        rows = range(file * ROWS // 2, (file + 1) * ROWS // 2)
        lines = [change(i, f"i{i},{(i * 7) % 11 - 5},{i % 3 == 0},seg{i % 2},text {i},{i}.5\n") for i in rows]
        (folder / f"{file}.csv").write_text("item_id,score,prediction,seg,text,extra\n" + "".join(lines))
    return str(folder)


def opened(tmp_path, store=None):
    store = store or MemoryStore()
    spec = a_spec(write_source(tmp_path / "src"), segments=["seg"], display=["text", "extra"])
    manifest = freeze_pool(spec, store)
    partition = load_partition(spec, store, manifest)
    return spec, partition.cells, PoolIndex(Ledger(store, "trial"), manifest, partition.cells)


def everything(cells) -> tuple[np.ndarray, np.ndarray]:
    return np.repeat(np.arange(cells.n_cells), cells.size), np.concatenate([np.arange(n) for n in cells.size])


def test_every_cell_and_rank_is_one_row_of_that_cell(tmp_path):
    _, cells, index = opened(tmp_path)
    cell, rank = everything(cells)
    rows = index.rows(cell, rank)
    assert sorted(row.row for row in rows) == list(range(ROWS))
    for row, c in zip(rows, cell, strict=True):
        i = row.row
        assert (row.item_id, row.score, row.prediction) == (f"i{i}", (i * 7) % 11 - 5, int(i % 3 == 0))
        assert row.prediction == cells.prediction[c]
        assert row.segments == {"seg": f"seg{i % 2}"}
        assert (row.source_file, row.source_row) == divmod(i, ROWS // 2)


def test_items_come_in_the_order_asked_and_may_be_asked_for_twice(tmp_path):
    _, cells, index = opened(tmp_path)
    cell, rank = everything(cells)
    order = np.random.default_rng(1).integers(0, ROWS, 50)
    all_rows = index.rows(cell, rank)
    assert index.rows(cell[order], rank[order]) == [all_rows[i] for i in order]
    assert index.rows(np.empty(0, int), np.empty(0, int)) == []


@pytest.mark.parametrize(("cell", "rank"), [(-1, 0), (10**6, 0), (0, -1), (0, 10**6)])
def test_an_address_outside_the_pool_is_refused(tmp_path, cell, rank):
    _, _, index = opened(tmp_path)
    with pytest.raises(ValueError, match="must"):
        index.rows(np.array([cell]), np.array([rank]))


def test_far_apart_rows_are_read_apart(tmp_path, monkeypatch):
    monkeypatch.setattr(row_finder, "BRIDGED", 3)
    monkeypatch.setattr(frozen, "SHARD_PARTS", 16)
    store = MemoryStore()
    _, cells, index = opened(tmp_path, store)
    read: list[tuple[int, int]] = []
    get_range = store.get_range

    def noted(key: str, start: int, length: int) -> bytes:
        if "/rows-" in key:
            read.append((start, length))
        return get_range(key, start, length)

    monkeypatch.setattr(store, "get_range", noted)
    cell, rank = everything(cells)
    index.rows(cell[[0, 2, 20]], rank[[0, 2, 20]])
    assert read == [(0, 12), (80, 4)]   # entries 0 to 2 at once, entry 20 by itself


def test_shown_fields_are_the_texts_of_the_source(tmp_path):
    spec, cells, index = opened(tmp_path)
    rows = index.rows(*everything(cells))
    seen = index.shown(spec, rows)
    assert seen == [{"text": f"text {row.row}", "extra": f"{row.row}.5"} for row in rows]
    assert list(seen[0]) == ["text", "extra"]
    assert index.shown(spec, [rows[4], rows[0], rows[4]]) == [seen[4], seen[0], seen[4]]


def test_what_is_shown_is_what_was_frozen_whatever_becomes_of_the_source(tmp_path):
    spec, cells, index = opened(tmp_path)
    rows = index.rows(*everything(cells))
    seen = index.shown(spec, rows)
    write_source(tmp_path / "src", lambda i, line: line.replace("text", "another text"))
    assert index.shown(spec, rows) == seen
    for file in (tmp_path / "src").iterdir():
        file.unlink()
    assert index.shown(spec, rows) == seen


def test_long_texts_are_in_several_files(tmp_path, monkeypatch):
    monkeypatch.setattr(shown, "FILE_BYTES", 30)
    monkeypatch.setattr(shown, "GROUP_BYTES", 20)
    store = MemoryStore()
    spec, cells, index = opened(tmp_path, store)
    rows = index.rows(*everything(cells))
    assert len([key for key in store.keys("") if "/shown-" in key]) > 4
    assert index.shown(spec, rows) == [{"text": f"text {row.row}", "extra": f"{row.row}.5"} for row in rows]
    manifest = load_manifest(Ledger(store, "trial"))
    assert all(sum(one.rows for one in part.shown) == part.rows for part in manifest.parts)
    monkeypatch.undo()
    monkeypatch.setattr(frozen, "PART_ROWS", 8)
    assert counts_of_frozen(spec, store, manifest).digest == manifest.digest


def test_a_shown_field_that_was_changed_in_the_ledger_is_found(tmp_path):
    store = LocalStore(tmp_path / "ledger")
    spec, cells, index = opened(tmp_path, store)
    manifest = load_manifest(Ledger(store, "trial"))
    other = freeze_pool(
        a_spec(write_source(tmp_path / "other", lambda i, line: line.replace("text 3,", "text X,")),
               segments=["seg"], display=["text", "extra"]), changed := MemoryStore()
    )
    path = tmp_path / "ledger" / manifest.shown_keys[0]
    path.unlink()
    path.write_bytes(changed.get(other.shown_keys[0]))
    with pytest.raises(DamagedRecord, match="its values are not the ones in the manifest"):
        counts_of_frozen(spec, store, manifest)
    path.unlink()
    path.write_bytes(b"nothing")
    with pytest.raises(DamagedRecord, match=path.name):
        index.shown(spec, index.rows(*everything(cells)))


@pytest.mark.parametrize("name", ["rows-00000-*", "rows-00001-*", "*.starts"])
@pytest.mark.parametrize("kept", [0, 8])
def test_a_damaged_ledger_is_named(tmp_path, name, kept):
    store = LocalStore(tmp_path / "ledger")
    _, cells, index = opened(tmp_path, store)
    path = next((tmp_path / "ledger/trial/partitions").glob(name))
    blob = path.read_bytes()[:kept] + b"\xff" * kept
    path.unlink()
    path.write_bytes(blob)
    with pytest.raises(DamagedRecord, match=f"{path.name}: .*restore this key"):
        index.rows(*everything(cells))
