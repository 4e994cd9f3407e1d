"""Pools of any kind of outcome are cut by shard as one shard is, whoever does which shard."""

import pickle
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from doubles.specs import spec_data

from assay.evalcore.methods.any_outcome import cut as edges
from assay.evalcore.outcomes import items
from assay.evalcore.outcomes.items import Items
from assay.flows.workers.chosen import Threads
from assay.flows.workers.mapped import OnWorkers
from assay.tasks.ledger import layout
from assay.tasks.ledger.stores.local import LocalStore
from assay.tasks.pool import frozen, scores
from assay.tasks.pool.cut import prediction_kind
from assay.tasks.pool.freeze import freeze_pool
from assay.tasks.pool.frozen import frozen_parts, part_bytes, shards_of
from assay.tasks.pool.kind import PoolToCut
from assay.tasks.pool.shards import one_after_the_other
from assay.tasks.settings import Runner
from assay.tasks.spec.evaluation import Spec

N = 330
PART = 110
TINY = {"TOLD_PAIRS": 1, "LEAST_OF_SHARD": 11, "GRID_PAIRS": 40}
TINY_SCORES = {"SCORES_TOGETHER": 0, "SUMMARY": 1, "LEAST_OF_RUN": 11, "GRID_SCORES": 20}
NAMES = ["a", "b", "c"]
TREE = "dirichlet-tree"

POOLS = {   # what is said of the pool -> of the spec
    "classes": ({"probability": {"prefix": "p_"}}, {"classes": NAMES}, ["accuracy", "macro_f1"]),
    "named classes": ({"probability": {"prefix": "p_"}}, {"classes": NAMES},
                      [{"name": "f1", "class": "c"}, {"name": "recall", "class": "a"}]),
    "predictions": ({}, {"classes": NAMES}, "balanced_accuracy"),
    "grades": ({"prediction": "grade", "probability": {"prefix": "g_"}, "judge": "judge"},
               {"grades": [0, 1, 2]}, "mean"),
    "preferences": ({"prediction": "won", "probability": {"prefix": "w_"}, "display": ["a", "b"]},
                    {"prefer": ["a", "b"], "tie": True}, "win_rate"),
    "numbers": ({"prediction": "number", "judge": ["guess", "other"]}, {"number": {}}, ["mae", "mean"]),
    "predicted numbers": ({"prediction": "number"}, {"number": {"min": -50, "max": 50}}, "rmse"),
    "tags": ({"prediction": "tags", "probability": {"prefix": "t_"}}, {"tags": NAMES}, "micro_f1"),
    "systems": ({"prediction": None, "systems": {
        "one": {"prediction": "prediction", "probability": {"prefix": "p_"}}, "two": {"prediction": "second"},
    }}, {"classes": NAMES}, ["accuracy", "macro_f1"]),
    "systems of numbers": ({"prediction": None, "systems": {
        "one": {"prediction": "number"}, "two": {"prediction": "guess"},
    }}, {"number": {}}, "mae"),
    "systems of tags": ({"prediction": None, "systems": {
        "one": {"prediction": "tags"}, "two": {"prediction": "prediction"},
    }}, {"tags": NAMES}, "micro_f1"),
    "curves": ({"prediction": "yes", "score": "number", "probability": "sure"},
               {"positive": "yes", "negative": "no"}, ["roc_auc", "average_precision"]),
    "rows of systems": ({"prediction": None, "judge": "judge", "contenders": {
        "columns": ["second"], "names": NAMES,
    }}, {"grades": [0, 1, 2]}, "mean"),
    "clusters": ({"probability": {"prefix": "p_"}, "cluster": "prompt"}, {"classes": NAMES}, "accuracy"),
}
CASES = [
    *(("classes", method) for method in
      ["recalibrated", "passive", "stratified", "bernoulli", "static-is", TREE, "dirichlet-tree-stochastic"]),
    *((kind, "recalibrated") for kind in POOLS if kind not in ("classes", "clusters")),
    *((kind, TREE) for kind in ["predictions", "preferences", "systems"]),
    ("numbers", "stratified"), ("predictions", "stratified"), ("tags", "static-is"),
    ("systems of numbers", "bernoulli"), ("clusters", "whole-clusters"),
]


def last_first(work, over):
    """The last shard is done first."""
    done = {i: work(over[i]) for i in reversed(range(len(over)))}
    return (done[i] for i in range(len(over)))


def by_pickles(work, over):
    """As other processes do it."""
    return (pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(work))(one))) for one in over)


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    rng = np.random.default_rng(5)
    p = rng.dirichlet([2.0, 1.0, 0.5], N)
    p[::7] = p[0]           # many items that are alike
    number = rng.normal(size=N).round(2)
    second = np.where(rng.random(N) < 0.8, p.argmax(axis=1), rng.integers(0, 3, N))
    tags = [["", "a", "a|b", "c"][i] for i in rng.integers(0, 4, N)]
    columns = {
        "item_id": [f"i{i}" for i in range(N)], "prediction": [NAMES[k] for k in p.argmax(axis=1)],
        "second": [NAMES[k] for k in second], "judge": rng.integers(0, 3, N),
        "number": number, "guess": number + rng.normal(size=N), "other": rng.random(N), "tags": tags,
        "yes": np.where(number > 0.5, "yes", "no"), "sure": 1 / (1 + np.exp(-number)),
        "prompt": [f"q{i // 40}" for i in range(N)], "region": [f"r{i % 3}" for i in range(N)],
        "a": ["left"] * N, "b": ["right"] * N, "grade": p.argmax(axis=1),
        **{f"g_{k}": p[:, k] for k in range(3)},
        "won": [["a", "b", "tie"][k] for k in p.argmax(axis=1)],
        **{f"w_{name}": p[:, k] for k, name in enumerate(["a", "b", "tie"])},
        **{f"p_{name}": p[:, k] for k, name in enumerate(NAMES)},
        **{f"t_{name}": rng.random(N) for name in NAMES},
    }
    path = tmp_path_factory.mktemp("source") / "p.parquet"
    pq.write_table(pa.table(columns), path)
    return path


def pool_of(source, folder, kind, method, monkeypatch):
    """A spec, its parts of PART rows in a store, and the shards of so many parts."""
    pool, labels, measure = POOLS[kind]
    data = spec_data(source, score=None) | {"labels": labels, "measure": measure, "method": method}
    segments = [] if "contenders" in pool else ["region"]
    data["pool"] = {
        k: v for k, v in (data["pool"] | pool | {"segments": segments}).items() if v is not None
    }
    spec, store = Spec.from_json(data), LocalStore(folder)
    manifest = freeze_pool(spec, store)
    [table] = frozen_parts(store, manifest.part_keys)
    keys, rows = [], []
    for start in range(0, N, PART):
        piece = table.slice(start, PART)
        blob = part_bytes(piece)
        keys.append(layout.pool_part("trial", 100 + len(keys), layout.digest(blob)))
        rows.append(piece.num_rows)
        store.put(keys[-1], blob)

    def cut(shard_parts, map_over=one_after_the_other):
        monkeypatch.setattr(frozen, "SHARD_PARTS", shard_parts)
        shards = PoolToCut(
            evaluation="trial", store=store, shards=shards_of(keys, rows), segments=segments, outcomes={},
            map_over=map_over, kept=True,
        )
        return shards, *prediction_kind(spec).cut(method, shards)

    return cut


def members(pool, cut, rows):
    """The rows of each cell."""
    starts = np.frombuffer(rows.starts, "<u4").reshape(cut.cells.n_cells + 1, -1).astype(int)
    found = [[] for _ in range(cut.cells.n_cells)]
    for s, (shard, piece) in enumerate(zip(pool.shards, rows.pieces, strict=True)):
        blob = pool.store.get(layout.partition_rows("trial", shard.number, piece.file))
        numbers = np.frombuffer(blob, "<u4").astype(int) + shard.first_row
        for cell in range(cut.cells.n_cells):
            found[cell] += numbers[starts[cell, s] : starts[cell + 1, s]].tolist()
    return found


@pytest.mark.parametrize(("kind", "method"), CASES)
def test_shards_are_cut_as_one_shard_is(kind, method, source, tmp_path, monkeypatch):
    cut = pool_of(source, tmp_path, kind, method, monkeypatch)
    whole = cut(100)
    with patch.multiple(edges, **TINY), patch.multiple(scores, **TINY_SCORES):
        found = cut(1, last_first)
    assert members(*found) == members(*whole)
    for name, values in whole[1].cells.to_arrays().items():
        np.testing.assert_allclose(found[1].cells.to_arrays()[name], values, rtol=1e-12, atol=1e-12)
    assert found[1].grids == whole[1].grids
    expected = getattr(whole[1], "expected_by_segment", {})
    assert set(expected) <= {"region"}
    for column, risk in expected.items():
        np.testing.assert_allclose(found[1].expected_by_segment[column], risk, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind", ["classes", "systems", "curves"])
def test_workers_make_the_same_bytes(kind, source, tmp_path, monkeypatch):
    cut, told = pool_of(source, tmp_path, kind, "recalibrated", monkeypatch), []
    threads = OnWorkers(Threads(Runner("threads", workers=2)))
    try:
        for map_over in (one_after_the_other, by_pickles, threads):
            _, found, rows = cut(1, map_over)
            told.append((found.to_json(), rows))
    finally:
        threads.close()
    assert told[0] == told[1] == told[2]


def test_the_most_frequent_joint_predictions_of_many_are_counted_in_ranges(monkeypatch):
    class Pieces:
        n_shards = 3

        def __init__(self, prediction):
            self.pieces = np.array_split(prediction, 3)

        def __len__(self):
            return sum(map(len, self.pieces))

        def over(self, work):
            return (work(Items(prediction=piece)) for piece in self.pieces)

    prediction = np.random.default_rng(2).geometric(0.2, (3000, 3)).astype(float)
    expected = items.joint_predictions(Pieces(prediction)).marks
    monkeypatch.setattr(items, "JOINT_TOLD", 5)
    monkeypatch.setattr(items, "COUNTED", 100)
    assert (items.joint_predictions(Pieces(prediction)).marks == expected).all()
