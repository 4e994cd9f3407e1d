"""Replay: the estimates that a method would have given in many evaluations of a pool with known labels.

R evaluations run side by side.  A method sees the labels of drawn items only.  Repeats come in blocks with a
random stream each, so the result depends on the seed and not on the number of processes.

    R   repeats
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from assay.evalcore.design.round import EstimateArrays
from assay.evalcore.errors import BadArgument
from assay.evalcore.methods.any_method import AnyMethod
from assay.evalcore.randomness import stream
from assay.evalcore.replay.pool import LabelledPool, OutcomePool
from assay.evalcore.replay.prepared import Prepared, Respondents, prepared
from assay.evalcore.replay.trace import Trace, join, traces_of
from assay.evalcore.types import Floats, Ints

BLOCK = 50  # repeats that share a random stream


def blocks(repeats: int) -> list[tuple[int, int]]:
    """(index, size) of the blocks that make up so many repeats."""
    return [(i, min(BLOCK, repeats - start)) for i, start in enumerate(range(0, repeats, BLOCK))]


def replay(
    method: AnyMethod,
    pool: LabelledPool | OutcomePool,
    measures: Any,
    budgets: Sequence[int],
    *,
    repeats: int,
    batch_size: int = 25,
    confidence: float = 0.95,
    seed: int = 1,
    progress: Callable[[int], None] | None = None,
    people: int = 1,
    divergences: bool = False,
) -> list[Trace]:
    """Run a method `repeats` times on a labelled pool; `progress` is told how many repeats are done.

    measures: of two classes, or the `Stack` of a pool of any outcome.
    people: how many annotators answer about each item, where the pool has a `label_probability`.
    The other arguments, the traces and the errors are those of `run_block`.
    """
    ready = prepared(method, pool, measures, people)
    parts: list[list[Trace]] = []
    done = 0
    for block, size in blocks(repeats):
        parts.append(run_block(
            method, ready, budgets, repeats=size, batch_size=batch_size, confidence=confidence, seed=seed,
            block=block, divergences=divergences,
        ))
        done += size
        if progress:
            progress(done)
    return [join(traces) for traces in zip(*parts, strict=True)]


def run_block(
    method: AnyMethod,
    ready: Prepared,
    budgets: Sequence[int],
    *,
    repeats: int,
    batch_size: int,
    confidence: float,
    seed: int,
    block: int = 0,
    divergences: bool = False,
) -> list[Trace]:
    """Run `repeats` evaluations side by side up to the largest budget.

    budgets: rising numbers of distinct labelled items, or of answers where every draw asks anew; a batch is
    cut short to meet a budget exactly.  divergences: tell how far the next round's proposal is from the best
    one at each budget (`evalcore.replay.divergence`), where labels do not vary.

    Returns a trace for each number that is asked for; then, from a method of two classes that judges several
    systems, for each measure of each further one.  Raises BadArgument for budgets that do not rise or exceed
    N, and for empty batches.
    """
    check_budgets(budgets, batch_size, ready.n_items)
    purpose = f"replay/{method.name}"
    rng = stream(seed, purpose, block, "draws")
    people = ready.respondents(method, repeats, rng, stream(seed, purpose, block, "answers"))
    state = ready.begin(method, repeats)
    looks: list[list[EstimateArrays]] = []
    counts: list[Ints] = []
    distances: list[Floats] = []
    for budget in budgets:
        missing = budget - (counts[-1] if counts else np.zeros(repeats, np.int64))
        state = _label(method, state, missing, batch_size, people, rng)
        counts.append(state.bought)
        found = method.numbers(state, confidence, stream(seed, purpose, block, f"at {budget}"))
        looks.append([*found, *ready.further(method, state, confidence)])
        distance = ready.distance(method, state, batch_size) if divergences else None
        distances += [] if distance is None else [distance]
    return traces_of(looks, np.stack(counts, axis=1), np.stack(distances, axis=1) if distances else None)


def _label(
    method: AnyMethod, state: Any, missing: Ints, batch_size: int, people: Respondents,
    rng: np.random.Generator,
) -> Any:
    """The state after `missing` (R,) more labels, or after all there are to ask."""
    while (missing > 0).any():
        # a draw of random size may have gone beyond the budget
        size = method.round_size(state, np.clip(missing, 0, batch_size))
        if not (state.wanted.any(axis=1) & (size > 0)).any():
            break
        design, draws = method.next_round(state, size, rng)
        before = state
        state = method.learn(
            before, design, people.answer(draws, before, rng), np.zeros_like(before.excluded)
        )
        missing = missing - method.spent(before, state, size)
    return state


def check_budgets(budgets: Sequence[int], batch_size: int, n_items: int) -> None:
    """Raise BadArgument for budgets that do not rise or exceed the pool's items, and for empty batches."""
    if not budgets or budgets[0] < 1 or any(b <= a for a, b in pairwise(budgets)):
        raise BadArgument("budgets", f"must be rising positive numbers, got {list(budgets)}")
    if budgets[-1] > n_items:
        raise BadArgument("budgets", f"{budgets[-1]} labels are more than the pool's {n_items} items")
    if batch_size < 1:
        raise BadArgument("batch_size", f"must be at least 1, got {batch_size}")
