"""A cut by shard is the cut of the whole pool, whatever the scores, the shards and who ends first."""

import pickle
from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.evalcore.methods.registry import method
from assay.evalcore.pool.partition import build_partition, count_by_segment
from assay.evalcore.pool.strata import ScoresInMemory, score_quantiles
from assay.tasks.ledger import layout
from assay.tasks.ledger.manifest import FEATURE, SYSTEM
from assay.tasks.ledger.stores.local import LocalStore
from assay.tasks.ledger.stores.opening import Travelling
from assay.tasks.ledger.stores.store import MemoryStore
from assay.tasks.pool import cells_by_shard, frozen
from assay.tasks.pool import scores as scores_by_shard
from assay.tasks.pool.cells_by_shard import cut_by_features, cut_by_score, cut_by_systems
from assay.tasks.pool.frozen import part_bytes, shards_of
from assay.tasks.pool.kind import PoolToCut
from assay.tasks.pool.scores import RunOfShard, ScoresByShard, ordered_scores
from assay.tasks.pool.shards import one_after_the_other

# so that hundreds of rows are cut as hundreds of millions are
HELD = {"SUMMARY": 1, "LEAST_OF_RUN": 3, "GRID_SCORES": 5, "GATHERED": 7}    # but the scores are held at once
TINY = HELD | {"SCORES_TOGETHER": 0}
# with sixteen bits: sums are exact in any order, so that every bit can be compared
EXACT = st.one_of(
    st.floats(-5, 5, width=16), st.sampled_from([-0.0, 0.0, 1.0]), st.floats(-60_000, 60_000, width=16)
)


def last_first(work, over):
    """The last shard is done first."""
    done = {i: work(over[i]) for i in reversed(range(len(over)))}
    return (done[i] for i in range(len(over)))


def by_pickles(work, over):
    """As other processes do it."""
    return (pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(work))(shard))) for shard in over)


def a_pool(score, rng, part_rows=8, shard_parts=2, outcomes=None, map_over=last_first, store=None):
    n, store = len(score), store or MemoryStore()
    table = pa.table({
        "item_id": [f"i{i}" for i in range(n)], "score": pa.array(score, pa.float64()),
        "probability": rng.integers(0, 65, n) / 64, "prediction": pa.array(rng.random(n) < 0.3, pa.int8()),
        "seg": rng.choice(["x", "y", "z"], n),
        FEATURE + "f": score, SYSTEM + "s": pa.array(rng.integers(0, 2, n), pa.int8()),
        SYSTEM + "t": pa.array(rng.integers(0, 2, n), pa.int8()), FEATURE + "g": rng.normal(size=n),
    })
    keys, rows = [], []
    for start in range(0, n, part_rows):
        blob = part_bytes(table.slice(start, part_rows))
        keys.append(layout.pool_part("trial", len(keys), layout.digest(blob)))
        rows.append(min(part_rows, n - start))
        store.put(keys[-1], blob)
    with patch.object(frozen, "SHARD_PARTS", shard_parts):
        shards = shards_of(keys, rows)
    pool = PoolToCut(
        evaluation="trial", store=store, shards=shards, segments=[] if outcomes else ["seg"],
        outcomes=outcomes or {}, map_over=map_over, kept=True,
    )
    return table, pool


def arrays(table):
    return [np.asarray(table.column(name)) for name in ("score", "probability", "prediction")]


def rows_of(pool, rows, n_cells):
    """The rows of each cell, read from the pieces one by one."""
    starts = np.frombuffer(rows.starts, "<u4").reshape(n_cells + 1, -1).astype(int)
    found = [[] for _ in range(n_cells)]
    for s, (shard, piece) in enumerate(zip(pool.shards, rows.pieces, strict=True)):
        blob = pool.store.get(layout.partition_rows("trial", shard.number, piece.file))
        numbers = np.frombuffer(blob, "<u4").astype(int) + shard.first_row
        assert starts[-1, s] == len(numbers)
        for cell in range(n_cells):
            found[cell] += numbers[starts[cell, s] : starts[cell + 1, s]].tolist()
    return found


def whole(value):
    """A partition as plain values, without its segments."""
    return replace(value, by_segment={}).to_json()


@settings(max_examples=25, deadline=None)
@given(
    score=st.lists(EXACT, min_size=1, max_size=90).map(np.array),
    how=st.sampled_from(["recalibrated", "dirichlet-tree", "static-is", "topk", "acis", "passive",
                         "oasis:partition=equal-size", "oasis:partition=geometric"]),
    seed=st.integers(0, 9), shard_parts=st.integers(1, 4),
    sizes=st.sampled_from([TINY, HELD, {"GRID_SCORES": 1 << 16}]),
)
def test_a_cut_by_shard_is_the_cut_of_the_whole(score, how, seed, shard_parts, sizes):
    table, pool = a_pool(score, np.random.default_rng(seed), shard_parts=shard_parts)
    partition, cell = build_partition(method(how), *arrays(table))
    with patch.multiple(scores_by_shard, **sizes):
        found, rows = cut_by_score(method(how), pool)
    assert whole(found) == whole(partition)
    n_cells = partition.cells.n_cells
    assert rows_of(pool, rows, n_cells) == [np.flatnonzero(cell == c).tolist() for c in range(n_cells)]
    values, codes = np.unique(np.array(table.column("seg").to_pylist()), return_inverse=True)
    expected = count_by_segment(cell, n_cells, codes, len(values))
    assert (found.by_segment["seg"] == expected).all()


@pytest.mark.parametrize("scores", [
    np.r_[np.zeros(300), np.arange(7.0)], np.full(120, 2.5), np.r_[-1e300, np.arange(50.0), 1e300],
    np.random.default_rng(1).standard_cauchy(150), np.random.default_rng(2).random(130),
    np.repeat([0.0, 1.0], 60), np.r_[-0.0, np.zeros(30), -0.0],
], ids=["tied", "constant", "far away", "heavy tails", "even", "two values", "signed zeros"])
def test_ranks_counts_and_histograms_are_those_of_the_array(scores):
    _, pool = a_pool(scores, np.random.default_rng(3))
    known = ScoresInMemory(scores)
    with patch.multiple(scores_by_shard, **TINY):
        runs = [RunOfShard(store=Travelling(pool.store), shard=shard, folder=None) for shard in pool.shards]
        found, _ = ordered_scores(runs, len(scores), pool.map_over)
        assert isinstance(found, ScoresByShard)
        assert (len(found), found.low, found.high) == (len(known), known.low, known.high)
        assert (found.at(np.arange(len(scores))) == known.at(np.arange(len(scores)))).all()
        values = np.r_[scores, np.nextafter(scores, np.inf), known.low - 1, known.high + 1]
        assert (found.below(values) == known.below(values)).all()
        for ours, theirs in zip(found.histogram(9), known.histogram(9), strict=True):
            assert (ours == theirs).all()
    shares = np.array([0.0, 0.1, 0.25, 0.5, 0.75, 1.0])
    assert (score_quantiles(known, shares) == np.quantile(scores + 0.0, shares)).all()


def test_the_bits_do_not_depend_on_who_does_which_shard_nor_on_who_ends_first(tmp_path):
    score, found = np.random.default_rng(4).normal(size=200), set()
    for map_over in (last_first, one_after_the_other, by_pickles):
        store = LocalStore(tmp_path / map_over.__name__)
        _, pool = a_pool(score, np.random.default_rng(5), map_over=map_over, store=store)
        with patch.multiple(scores_by_shard, **TINY):
            partition, rows = cut_by_score(method("recalibrated"), pool)
        found.add((str(partition.to_json()), rows.starts, rows.pieces))
    assert len(found) == 1


def test_a_pool_of_one_shard_has_the_bits_of_the_array():
    table, pool = a_pool(np.random.default_rng(4).normal(size=200), np.random.default_rng(5), shard_parts=25)
    expected, _ = build_partition(method("recalibrated"), *arrays(table))
    assert whole(cut_by_score(method("recalibrated"), pool)[0]) == whole(expected)


@pytest.mark.parametrize("how", ["recalibrated", "oasis:partition=kd-tree"])
def test_items_whose_outcome_is_known_are_in_no_cell(how):
    rng = np.random.default_rng(6)
    known = {f"i{i}": int(i % 3 == 0) for i in [*range(16), *range(40, 47)]}   # all of the first shard
    table, pool = a_pool(rng.integers(-9, 9, 90) / 8, rng, outcomes=known)
    score, probability, prediction = arrays(table)
    within = np.array([f"i{i}" not in known for i in range(90)])
    by_features = method(how).feature_tree is not None
    features = score[within][:, None] if by_features else None
    partition, cell = build_partition(
        method(how), score[within], probability[within], prediction[within], features
    )
    with patch.multiple(scores_by_shard, **TINY):
        if by_features:
            found, rows = cut_by_features(method(how), pool, [FEATURE + "f"])
        else:
            found, rows = cut_by_score(method(how), pool)
    assert whole(replace(found, known=None)) == whole(partition)
    labels = np.array([known[f"i{i}"] for i in np.flatnonzero(~within)])
    assert found.known.tolist() == [
        [int(((prediction[~within] == p) & (labels == y)).sum()) for y in (0, 1)] for p in (0, 1)
    ]
    places = np.flatnonzero(within)
    by_cell = [places[cell == c].tolist() for c in range(partition.cells.n_cells)]
    assert rows_of(pool, rows, partition.cells.n_cells) == by_cell


def test_items_of_one_pattern_of_systems_make_a_stratum():
    rng = np.random.default_rng(7)
    table, pool = a_pool(rng.integers(-9, 9, 70) / 8, rng)
    names = [SYSTEM + "s", SYSTEM + "t"]
    systems = np.stack([np.asarray(table.column(name)) for name in names], axis=1)
    partition, cell = build_partition(method("recalibrated"), *arrays(table), systems=systems)
    found, rows = cut_by_systems(pool, names)
    assert whole(found) == whole(partition)
    n_cells = partition.cells.n_cells
    assert rows_of(pool, rows, n_cells) == [np.flatnonzero(cell == c).tolist() for c in range(n_cells)]


@pytest.mark.parametrize("how", ["oasis:partition=kd-tree", "dirichlet-tree:partition=clusters:depth=3"])
def test_a_cut_by_features_is_the_cut_of_the_whole_on_any_workers(how, tmp_path):
    features, found = [FEATURE + "f", FEATURE + "g"], set()
    for map_over in (last_first, by_pickles):
        rng = np.random.default_rng(8)
        store = LocalStore(tmp_path / map_over.__name__)
        table, pool = a_pool(rng.integers(-900, 900, 700) / 8, rng, map_over=map_over, store=store)
        partition, rows = cut_by_features(method(how), pool, features)
        found.add((str(partition.to_json()), rows.starts, rows.pieces))
    assert len(found) == 1
    columns = np.stack([np.asarray(table.column(name)) for name in features], axis=1)
    expected, cell = build_partition(method(how), *arrays(table), columns)
    assert whole(partition) == whole(expected)
    n_cells = expected.cells.n_cells
    assert rows_of(pool, rows, n_cells) == [np.flatnonzero(cell == c).tolist() for c in range(n_cells)]


def test_a_cut_by_features_of_a_large_pool_is_grown_from_a_sample(monkeypatch):
    monkeypatch.setattr(cells_by_shard, "SAMPLE", 50)
    rng = np.random.default_rng(9)
    table, pool = a_pool(rng.normal(size=310), rng, outcomes={f"i{i}": 1 for i in range(16)})
    cutter = method("oasis:partition=kd-tree")
    partition, _ = cut_by_features(cutter, pool, [FEATURE + "f"])
    assert partition.cells.n_items == 294
    scores = np.asarray(table.column("score"))[16:].reshape(-1, 1)
    shards = [scores[i : i + 16] for i in range(0, 294, 16)]     # the first shard is known
    sample = np.concatenate([shard[::7] for shard in shards])
    leaves = cutter.feature_tree.grown(sample).leaves(scores)
    assert np.bincount(partition.cells.stratum, partition.cells.size).tolist() == np.bincount(leaves).tolist()
