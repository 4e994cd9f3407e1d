"""Replay: the estimates that a method would have given in many evaluations of a pool with known outcomes.

R evaluations run side by side.  The losses of all items are computed once; a method sees the rows of the
items that it drew.  Repeats come in blocks with a random stream each, so the result depends on the seed and
not on the number of processes.

    R   repeats;  C   cells;  Q   numbers asked for;  T   items of a round
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from assay.evalcore.outcome_measures.stack import Stack
from assay.evalcore.outcome_methods.base import OutcomeMethod, draw_round
from assay.evalcore.outcome_methods.cut import Cut
from assay.evalcore.outcome_methods.state import OutcomeEstimates, SampleState
from assay.evalcore.outcome_methods.table import LossTable, loss_table
from assay.evalcore.outcome_replay.pool import OutcomePool
from assay.evalcore.randomness import stream
from assay.evalcore.replay.run import blocks, check_budgets
from assay.evalcore.types import Floats, Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OutcomeTrace:
    """The estimates at each budget: arrays (R, budgets, Q), NaN where undefined."""

    value: Floats
    lower: Floats
    upper: Floats
    labels: Ints     # (R, budgets) labelled items


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Prepared:
    """A pool in a method's cells, with the losses of its items."""

    stack: Stack
    cut: Cut
    table: LossTable


def prepare(method: OutcomeMethod, stack: Stack, pool: OutcomePool) -> Prepared:
    """Cells and losses of a pool.  Raises BadInput where the pool lacks what a measure needs."""
    return Prepared(
        stack=stack,
        cut=method.cut(stack, pool.items),
        table=loss_table(stack, pool.items, pool.codes),
    )


def replay(
    method: OutcomeMethod,
    stack: Stack,
    pool: OutcomePool,
    budgets: Sequence[int],
    *,
    repeats: int,
    batch_size: int = 25,
    confidence: float = 0.95,
    seed: int = 1,
    progress: Callable[[int], None] | None = None,
) -> OutcomeTrace:
    """Run a method `repeats` times; `progress` is told how many repeats are done.

    Raises BadArgument for budgets that do not rise or exceed the pool, and for empty batches.
    """
    prepared = prepare(method, stack, pool)
    parts, done = [], 0
    for block, size in blocks(repeats):
        parts.append(run_block(
            method, prepared, budgets, repeats=size, batch_size=batch_size, confidence=confidence, seed=seed,
            block=block,
        ))
        done += size
        if progress:
            progress(done)
    return join(parts)


def run_block(
    method: OutcomeMethod,
    prepared: Prepared,
    budgets: Sequence[int],
    *,
    repeats: int,
    batch_size: int,
    confidence: float,
    seed: int,
    block: int = 0,
) -> OutcomeTrace:
    """Run `repeats` evaluations side by side up to the largest budget."""
    cells = prepared.cut.cells
    check_budgets(budgets, batch_size, cells.n_items)
    rng = stream(seed, f"replay/{method.name}", block, "draws")
    shuffled = _shuffled(prepared.cut.cell, repeats, rng)
    start = np.concatenate([[0], np.cumsum(cells.size)])
    state = method.start(prepared.stack, cells, repeats, prepared.table)
    looks, counts = [], []
    for budget in budgets:
        while state.n < budget and state.wanted.any():
            state = _round(method, state, min(batch_size, budget - state.n), shuffled, start, rng)
        looks.append(method.estimate(state, confidence))
        counts.append(np.full(repeats, state.n))
    return _trace(looks, np.stack(counts, axis=1))


def _round(
    method: OutcomeMethod, state: SampleState, size: int, shuffled: Ints, start: Ints,
    rng: np.random.Generator,
) -> SampleState:
    """One round: the items of each cell come in the repeat's own random order."""
    design, counts = draw_round(method, state, size, rng)
    cell = np.stack([np.repeat(np.arange(counts.shape[1]), row) for row in counts])
    first = np.cumsum(counts, axis=1) - counts
    within = np.arange(cell.shape[1])[None] - np.take_along_axis(first, cell, axis=1)
    at = start[cell] + np.take_along_axis(state.labelled, cell, axis=1) + within
    item = np.take_along_axis(shuffled, at, axis=1)
    return method.observe(state, design, item, cell)


def _shuffled(cell: Ints, repeats: int, rng: np.random.Generator) -> Ints:
    """(R, N) the items sorted by cell, in random order inside each."""
    return np.stack([np.argsort(cell + rng.random(len(cell))) for _ in range(repeats)])


def _trace(looks: Sequence[OutcomeEstimates], labels: Ints) -> OutcomeTrace:
    return OutcomeTrace(
        value=np.stack([e.value for e in looks], axis=1),
        lower=np.stack([e.lower for e in looks], axis=1),
        upper=np.stack([e.upper for e in looks], axis=1),
        labels=labels,
    )


def join(parts: Sequence[OutcomeTrace]) -> OutcomeTrace:
    """The traces of several blocks of repeats as one."""
    return OutcomeTrace(
        value=np.concatenate([p.value for p in parts]),
        lower=np.concatenate([p.lower for p in parts]),
        upper=np.concatenate([p.upper for p in parts]),
        labels=np.concatenate([p.labels for p in parts]),
    )
