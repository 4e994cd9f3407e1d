"""Cutting a pool into cells."""

from dataclasses import dataclass

import numpy as np
import pytest

from assay.evalcore.measures.registry import outcome_measure
from assay.evalcore.measures.stack import Stack
from assay.evalcore.methods.any_outcome import cut, measured_pool
from assay.evalcore.methods.any_outcome import cut as edges
from assay.evalcore.methods.registry import outcome_method
from assay.evalcore.replay.families import outcome_family_pool as pool


@pytest.mark.parametrize("family", ["rare", "tags", "judged", "two-systems"])
def test_cells_do_not_depend_on_how_many_items_are_worked_on_at_once(family, monkeypatch):
    drawn = pool(family)
    name = {"rare": "macro_f1", "tags": "micro_f1", "judged": "mean", "two-systems": "accuracy"}[family]
    stack = Stack(kind=drawn.kind, measures=(outcome_measure(name, drawn.kind, len(drawn.items)),))
    found = []
    for numbers in (1 << 18, 20_000):
        monkeypatch.setattr(measured_pool, "NUMBERS_IN_CACHE", numbers)
        made = outcome_method("recalibrated").cut(stack, drawn.items)
        found.append({"cell": made.cell, **made.cells.to_arrays()})
    for one, values in found[0].items():
        assert np.array_equal(values, found[1][one]), one


def test_no_cell_joins_two_groups():
    rng = np.random.default_rng(3)
    for _ in range(300):
        n, groups = int(rng.integers(5, 60)), int(rng.integers(2, 6))
        group = rng.integers(0, groups, n)
        found = cut.ItemProfile(
            pull=rng.exponential(size=n), relevant=np.ones(n, bool), group=group, score=rng.random(n),
        )
        cell = cut.cells_by_number(found, int(rng.integers(2, 12)))
        assert all(len(set(group[cell == one])) == 1 for one in range(cell.max() + 1))


def test_a_run_of_equal_scores_is_one_cell_and_the_next_run_another():
    score = np.repeat([1.0, 2.0, 3.0, 4.0, 5.0], [60, 80, 400, 300, 70])
    found = cut.ItemProfile(
        pull=np.ones(len(score)), relevant=np.ones(len(score), bool), score=score,
        group=np.zeros(len(score), np.int64),
    )
    cell = cut.cells_by_number(found, 60)
    assert cell.tolist() == (score - 1).tolist()


@dataclass(frozen=True)
class _Shard:
    group: np.ndarray
    score: np.ndarray
    weight: np.ndarray

    def __len__(self):
        return len(self.group)


@dataclass(frozen=True)
class _Shards:
    shards: list

    @property
    def n_shards(self):
        return len(self.shards)

    def __len__(self):
        return sum(map(len, self.shards))

    def measured(self, work):
        return (work(None, shard) for shard in self.shards)


@pytest.mark.parametrize("grid", [8, 40, 1 << 16])
def test_shards_are_cut_where_one_pool_is_whatever_the_runs_of_equal_scores(grid, monkeypatch):
    monkeypatch.setattr(edges, "GRID_PAIRS", grid)
    monkeypatch.setattr(edges, "TOLD_PAIRS", grid)
    monkeypatch.setattr(edges, "LEAST_OF_SHARD", grid)
    rng = np.random.default_rng(11)
    for _ in range(100):
        n, groups, distinct = (int(rng.integers(a, b)) for a, b in ((20, 300), (1, 4), (1, 60)))
        group = rng.integers(0, groups, n)
        score = np.round(rng.gamma(0.7, size=n) * distinct) / 7
        pull = rng.exponential(size=n) ** 2 if rng.random() < 0.5 else score + 0.1
        cells = int(rng.integers(2, 30))
        found = cut.ItemProfile(pull=pull, relevant=np.ones(n, bool), group=group, score=score)
        whole = cut.cells_by_number(found, cells)
        shard = rng.integers(0, 3, n)
        shards = [
            _Shard(*(x[shard == s] for x in (group, score, pull + cut._LEAST_WEIGHT))) for s in range(3)
        ]
        keys = edges.find_edges(
            _Shards([one for one in shards if len(one)]),
            lambda _, items: (items.group, items.score, items.weight), cells, cut.PASSIVE_SIZE,
        )
        # shards hold the items in another order, and a run's first item decides: compare runs all alike
        if np.array_equal(pull, score + 0.1):
            assert np.array_equal(keys.up_to(group, score) - 1, whole)
        assert len(np.unique(keys.up_to(group, score))) == len(keys)
