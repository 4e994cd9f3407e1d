"""The best of several systems: how often a wrong one is named, and what racing saves, by simulation.

Two systems are exactly alike at the top, so that whoever is named is wrong; every look counts.  At an error
of 5% more than 11 of 60 runs are wrong once in 10,000 times; an error of 30% is found in 97 of 100.
"""

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

from assay.evalcore.measures.best_of import Race, look_rounds
from assay.evalcore.measures.contenders import code_of, of_contender
from assay.evalcore.measures.measure import leading, side_by_side
from assay.evalcore.measures.registry import outcome_measure
from assay.evalcore.measures.stack import Stack
from assay.evalcore.methods.registry import outcome_method
from assay.evalcore.outcomes.classes import Classes
from assay.evalcore.outcomes.items import Items
from assay.evalcore.replay.pool import OutcomePool
from assay.evalcore.replay.run import ReplayPlan, simulate

RUNS, MOST_WRONG, BATCH, BUDGET = 60, 11, 50, 500
LOOKS = tuple(BATCH * number for number in look_rounds(BATCH, BUDGET))
pytestmark = pytest.mark.statistical


def _rows() -> tuple[OutcomePool, Stack]:
    """Grades of four systems; the first two have the same number right."""
    rng = np.random.default_rng(5)
    right = rng.random((250, 4)) < (0.0, 0.0, 0.55, 0.4)
    for s in (0, 1):
        right[rng.permutation(250)[:170], s] = True
    kind = Classes(("0", "1"), values=(0.0, 1.0))
    pool = OutcomePool(kind=kind, codes=right.ravel().astype(float), items=Items(
        prediction=np.zeros((1_000, 0)), contender=code_of(np.tile(np.arange(4), 250))[:, None]
    ))
    measure = outcome_measure("mean", kind, 1_000)
    return pool, _stack(pool, [of_contender(measure, s) for s in range(4)], rows=True)


def _verdicts(right: tuple[float, float, float]) -> tuple[OutcomePool, Stack]:
    """Three judges of 1,000 pairs, each right on so large a share of them."""
    rng = np.random.default_rng(7)
    truth = rng.integers(0, 2, 1_000)
    said = np.stack([truth] * 3, axis=1)
    for s, share in enumerate(right):
        wrong = rng.permutation(1_000)[: round(1_000 * (1 - share))]
        said[wrong, s] = 1 - truth[wrong]
    kind = Classes(("first", "second"))
    pool = OutcomePool(kind=kind, codes=truth.astype(float), items=Items(prediction=said.astype(float)))
    return pool, _stack(pool, [outcome_measure("accuracy", kind, 1_000, system=s) for s in range(3)])


def _stack(pool: OutcomePool, systems: list, rows: bool = False) -> Stack:   # type: ignore[type-arg]
    measures = side_by_side([systems], all_pairs=True)
    return Stack(
        kind=pool.kind, measures=measures, drive=leading(measures), contenders=len(systems) if rows else 0,
        race=Race(margin=0.0, confidence=0.95, looks=len(LOOKS)),
    )


def _winners(pool: OutcomePool, stack: Stack, method: str, runs: int) -> np.ndarray:
    trace = simulate(
        outcome_method(method), pool, stack, ReplayPlan(budgets=LOOKS, batch_size=BATCH), repeats=runs
    )[0]
    assert trace.winner is not None
    return np.asarray(trace.winner)


@pytest.mark.parametrize("made", [
    pytest.param(_rows, marks=pytest.mark.study), partial(_verdicts, (0.75, 0.75, 0.6)),
], ids=["grades", "verdicts"])
def test_a_wrong_system_is_seldom_named_over_all_looks(made: Callable[[], tuple[OutcomePool, Stack]]) -> None:
    named = (_winners(*made(), "guesses", RUNS) >= 0).any(axis=1)
    assert named.sum() <= MOST_WRONG


@pytest.mark.study
def test_racing_names_the_best_with_half_the_labels() -> None:
    made, looks = _verdicts((0.9, 0.84, 0.78)), np.array(LOOKS)
    labels = {}
    for method in ("guesses", "passive"):
        winner = _winners(*made, method, 25)
        there = winner >= 0
        assert set(winner[there].tolist()) <= {0}
        labels[method] = np.where(there.any(axis=1), looks[there.argmax(axis=1)], looks[-1]).mean()
    assert labels["guesses"] <= 0.5 * labels["passive"]
