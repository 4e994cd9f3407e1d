"""From (cell, rank) to items and to what people see, reading little and refusing what changed."""

import numpy as np
import pytest
from doubles.specs import a_spec

from assay.evalcore.errors import BadInput
from assay.tasks.ledger.record import DamagedRecord, Ledger
from assay.tasks.ledger.stores.local import LocalStore
from assay.tasks.ledger.stores.memory import MemoryStore
from assay.tasks.pool import frozen, part_file
from assay.tasks.pool import index as pool_index
from assay.tasks.pool import index as row_finder
from assay.tasks.pool.cut import load_partition
from assay.tasks.pool.freeze import freeze_pool
from assay.tasks.pool.index import PoolIndex
from assay.tasks.pool.shards import work

ROWS = 30


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    """Shards of two parts, parts of eight rows and groups of two, so that thirty rows are many."""
    monkeypatch.setattr(frozen, "SHARD_PARTS", 2)
    for module in (frozen, work, pool_index):
        monkeypatch.setattr(module, "PART_ROWS", 8)
    monkeypatch.setattr(part_file, "GROUP_ROWS", 2)


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
    shown = index.shown(spec, rows)
    assert shown == [{"text": f"text {row.row}", "extra": f"{row.row}.5"} for row in rows]
    assert list(shown[0]) == ["text", "extra"]


def test_without_shown_fields_the_source_is_not_needed(tmp_path):
    store = MemoryStore()
    spec = a_spec(write_source(tmp_path / "src"))
    manifest = freeze_pool(spec, store)
    partition = load_partition(spec, store, manifest)
    index = PoolIndex(Ledger(store, "trial"), manifest, partition.cells)
    for file in (tmp_path / "src").iterdir():
        file.unlink()
    assert index.shown(spec, index.rows(np.array([0]), np.array([0]))) == [{}]


@pytest.mark.parametrize(
    "change",
    [
        lambda i, line: line.replace("text 17", "another text"),
        lambda i, line: line.replace("17.5", "17.50"),
        lambda i, line: line.replace("i17", "j17"),
        lambda i, line: "" if i == 16 else line,          # the rows below moved up
    ],
)
def test_an_item_whose_source_changed_is_refused(tmp_path, change):
    spec, cells, index = opened(tmp_path)
    rows = [row for row in index.rows(*everything(cells)) if row.row in (3, 17)]
    assert len(index.shown(spec, rows)) == 2
    write_source(tmp_path / "src", change)
    with pytest.raises(BadInput) as caught:
        index.shown(spec, rows)
    assert "src/1.csv row 3: item 'i17' is not what it was when the pool was frozen" in str(caught.value)
    assert len(index.shown(spec, [row for row in rows if row.row == 3])) == 1   # what did not change is shown


def test_fields_that_are_not_shown_may_change(tmp_path):
    spec, cells, index = opened(tmp_path)
    rows = index.rows(*everything(cells))
    write_source(tmp_path / "src", lambda i, line: line.replace("seg", "other "))
    assert len(index.shown(spec, rows)) == ROWS


def test_a_source_that_is_gone_is_refused_by_item_and_file(tmp_path):
    spec, cells, index = opened(tmp_path)
    row = next(row for row in index.rows(*everything(cells)) if row.row == 17)
    (tmp_path / "src" / "1.csv").unlink()
    with pytest.raises(BadInput, match=r"item 'i17' \(row 3\) cannot be shown: .*1\.csv: cannot be read: No"):
        index.shown(spec, [row])
    (tmp_path / "src" / "1.csv").write_text("item_id,text,extra\ni15,text 15,15.5\n")
    with pytest.raises(BadInput, match="has no row 3 any more"):
        index.shown(spec, [row])


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
