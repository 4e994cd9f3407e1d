"""Cutting a pool into cells."""

import numpy as np
import pytest

from assay.evalcore.outcome_measures.registry import outcome_measure
from assay.evalcore.outcome_measures.stack import Stack
from assay.evalcore.outcome_methods import cut
from assay.evalcore.outcome_methods.cutting import spreads
from assay.evalcore.outcome_methods.registry import outcome_method
from assay.evalcore.outcome_replay.families import pool


@pytest.mark.parametrize("family", ["rare", "tags", "judged", "two-systems"])
def test_cells_do_not_depend_on_how_many_items_are_worked_on_at_once(family, monkeypatch):
    drawn = pool(family)
    name = {"rare": "macro_f1", "tags": "micro_f1", "judged": "mean", "two-systems": "accuracy"}[family]
    stack = Stack(kind=drawn.kind, measures=(outcome_measure(name, drawn.kind, len(drawn.items)),))
    found = []
    for numbers in (1 << 18, 20_000):
        monkeypatch.setattr(spreads, "AT_ONCE", numbers)
        made = outcome_method("recalibrated").cut(stack, drawn.items)
        found.append({"cell": made.cell, **made.cells.to_arrays()})
    for one, values in found[0].items():
        assert np.array_equal(values, found[1][one]), one


def test_no_cell_joins_two_groups():
    rng = np.random.default_rng(3)
    for _ in range(300):
        n, groups = int(rng.integers(5, 60)), int(rng.integers(2, 6))
        group = rng.integers(0, groups, n)
        found = cut.Profile(
            pull=rng.exponential(size=n), relevant=np.ones(n, bool), group=group, score=rng.random(n),
        )
        cell = cut.numbered(found, int(rng.integers(2, 12)))
        assert all(len(set(group[cell == one])) == 1 for one in range(cell.max() + 1))
