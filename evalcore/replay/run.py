"""Replay: the estimates that a method would have given in many evaluations of a pool with known labels.

A pool becomes cells with their items counted by label, and R evaluations run side by side as arrays (R, C).
A method sees the labels of drawn items only.  Repeats come in blocks with a random stream each, so the result
depends on the seed and not on the number of processes.

    R   repeats;  C   cells;  M   measures
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from assay.evalcore.design.draws import Draws, simulate_anew, simulate_answers, simulate_labels
from assay.evalcore.design.round import EstimateArrays, RoundLabels
from assay.evalcore.errors import BadArgument
from assay.evalcore.measures.base import Measure
from assay.evalcore.methods.base import Method, draw_round
from assay.evalcore.methods.exact import with_exact_values
from assay.evalcore.methods.state import MethodState
from assay.evalcore.pool.cells import Cells
from assay.evalcore.randomness import stream
from assay.evalcore.replay.divergence import best_proposal, divergence
from assay.evalcore.replay.pool import Annotators, LabelledPool, annotators_of, prepare
from assay.evalcore.replay.trace import Trace, join
from assay.evalcore.types import Floats, Ints

BLOCK = 50  # repeats that share a random stream
_WIDE = ("wide_lower", "wide_upper")  # diagnostics that are intervals too


def blocks(repeats: int) -> list[tuple[int, int]]:
    """(index, size) of the blocks that make up so many repeats."""
    return [(i, min(BLOCK, repeats - start)) for i, start in enumerate(range(0, repeats, BLOCK))]


def replay(
    method: Method,
    pool: LabelledPool,
    measures: Sequence[Measure],
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

    people: how many annotators answer about each item, where the pool has a `label_probability`.
    The other arguments, the traces and the errors are those of `run_block`.
    """
    cells, by_label = prepare(method, pool)
    annotators = annotators_of(method, pool, people)
    parts: list[list[Trace]] = []
    done = 0
    for block, size in blocks(repeats):
        parts.append(
            run_block(
                method, cells, by_label, measures, budgets,
                repeats=size, batch_size=batch_size, confidence=confidence, seed=seed, block=block,
                annotators=annotators, divergences=divergences,
            )
        )
        done += size
        if progress:
            progress(done)
    return [join(traces) for traces in zip(*parts, strict=True)]


def run_block(
    method: Method,
    cells: Cells,
    by_label: Ints,
    measures: Sequence[Measure],
    budgets: Sequence[int],
    *,
    repeats: int,
    batch_size: int,
    confidence: float,
    seed: int,
    block: int = 0,
    annotators: Annotators | None = None,
    divergences: bool = False,
) -> list[Trace]:
    """Run `repeats` evaluations side by side up to the largest budget.

    by_label (C, 2): items of each cell by true label.  budgets: rising numbers of distinct labelled items, or
    of answers where every draw asks anew; a batch is cut short to meet a budget exactly.  With `annotators`
    the labels are theirs, new ones in every repeat.  divergences: tell how far the next round's proposal is
    from the best one at each budget (`evalcore.replay.divergence`), where labels do not vary.

    Returns a trace for each measure; then, from a method that judges several systems, for each measure of
    each further one.  Raises BadArgument for budgets that do not rise or exceed N, and for empty batches.
    """
    check_budgets(budgets, batch_size, cells.n_items)
    purpose = f"replay/{method.name}"
    rng = stream(seed, purpose, block, "draws")
    oracle: _Oracle = _Truth(by_label)
    if method.asks_anew:
        oracle = _Anew(_rate(by_label, cells, annotators))
    elif annotators is not None:
        answers = annotators.answer(cells.n_cells, repeats, stream(seed, purpose, block, "answers"))
        oracle = _Answers(answers, annotators)
    state = method.start(cells, measures, repeats)
    counts: list[Ints] = []
    looks: list[list[EstimateArrays]] = []
    distances: list[Floats] = []
    for budget in budgets:
        missing = budget - (counts[-1] if counts else np.zeros(repeats, np.int64))
        state = _label(method, state, missing, batch_size, oracle, rng)
        counts.append(state.bought)
        raw = method.estimate(state, confidence, stream(seed, purpose, block, f"at {budget}"))
        further = method.further_systems(state, confidence)
        if divergences and annotators is None:
            distances.append(_distance(method, state, by_label, batch_size))
        looks.append([*with_exact_values(state, raw), *(e for found in further for e in found)])
    distance = np.stack(distances, axis=1) if distances else None
    return _traces(measures, looks, np.stack(counts, axis=1), distance)


def _distance(method: Method, state: MethodState, by_label: Ints, batch_size: int) -> Floats:
    """The divergence (R,) of the method's next proposal, for the measures that it serves."""
    measures = state.measures if method.capabilities.serves_all else state.measures[:1]
    best = best_proposal(measures, state.cells, by_label)
    design = method.propose(state, np.full(len(state.labelled), batch_size))
    return divergence(best, design, by_label, state.labelled)


@dataclass(slots=True)
class _Truth:
    """Labels that are the same whenever an item is drawn."""

    by_label: Ints   # (C, 2) items of each cell

    def label(self, draws: Draws, labelled: Ints, rng: np.random.Generator) -> RoundLabels:
        """The labels of a round; labelled (R, C, 2): items labelled before it."""
        return simulate_labels(draws, self.by_label - labelled, rng)


@dataclass(slots=True)
class _Answers:
    """Answers of several annotators, given beforehand; the items that were asked are taken out."""

    unasked: Ints    # (R, C, K) items by the share of positive answers about them
    annotators: Annotators

    def label(self, draws: Draws, labelled: Ints, rng: np.random.Generator) -> RoundLabels:
        """The labels of a round."""
        labels, answered = simulate_answers(draws, self.unasked, self.annotators.share, rng)
        self.unasked = self.unasked - answered
        return labels


@dataclass(slots=True)
class _Anew:
    """A new answer to every draw, by one annotator, whoever was asked about the item before."""

    rate: Floats     # (C,) the chance that it is positive

    def label(self, draws: Draws, labelled: Ints, rng: np.random.Generator) -> RoundLabels:
        """The answers of a round."""
        return simulate_anew(draws, self.rate, rng)


def _rate(by_label: Ints, cells: Cells, annotators: Annotators | None) -> Floats:
    """The chance (C,) of a positive answer about an item drawn from each cell."""
    if annotators is None:
        return np.asarray(by_label[:, 1] / cells.size)
    if annotators.people > 1:
        raise BadArgument("people", "is 1 where every draw asks anew: each answer is a draw of its own")
    return annotators.mean_rate(cells.size)


_Oracle = _Truth | _Answers | _Anew


def _label(
    method: Method, state: Any, missing: Ints, batch_size: int, oracle: _Oracle, rng: np.random.Generator
) -> Any:
    """The state after `missing` (R,) more labels, or after all there are to ask."""
    while (missing > 0).any():
        # a draw of random size may have gone beyond the budget
        size = method.round_size(state, np.clip(missing, 0, batch_size))
        if not (state.wanted.any(axis=1) & (size > 0)).any():
            break
        design, draws = draw_round(method, state, size, rng)
        labels = oracle.label(draws, state.labelled, rng)
        state = method.observe(state, design, labels, np.zeros_like(state.excluded))
        missing = missing - size
    return state


def _traces(
    measures: Sequence[Measure], looks: Sequence[Sequence[EstimateArrays]], labels: Ints,
    distance: Floats | None,
) -> list[Trace]:
    """The estimates of all looks, by system and measure; labels, distance (R, budgets)."""
    return [
        Trace(
            measure=measures[i % len(measures)],
            value=np.stack([e.value for e in at], axis=1),
            lower=np.stack([e.lower for e in at], axis=1),
            upper=np.stack([e.upper for e in at], axis=1),
            labels=labels,
            system=i // len(measures),
            divergence=distance,
            **{
                end: np.stack([e.diagnostics[end] for e in at], axis=1)
                for end in _WIDE if end in at[0].diagnostics
            },
        )
        for i, at in enumerate(zip(*looks, strict=True))
    ]


def check_budgets(budgets: Sequence[int], batch_size: int, n_items: int) -> None:
    """Raise BadArgument for budgets that do not rise or exceed the pool's items, and for empty batches."""
    if not budgets or budgets[0] < 1 or any(b <= a for a, b in pairwise(budgets)):
        raise BadArgument("budgets", f"must be rising positive numbers, got {list(budgets)}")
    if budgets[-1] > n_items:
        raise BadArgument("budgets", f"{budgets[-1]} labels are more than the pool's {n_items} items")
    if batch_size < 1:
        raise BadArgument("batch_size", f"must be at least 1, got {batch_size}")
