"""Labels that `recalibrated` asked for on a pool, kept with the rounds they came in."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from assay.evalcore.design.draws import simulate_labels
from assay.evalcore.design.round import Design, RoundLabels
from assay.evalcore.measures.base import Measure
from assay.evalcore.methods.base import draw_round
from assay.evalcore.methods.recalibrated import Recalibrated, RecalibratedState
from assay.evalcore.pool.cells import Cells
from assay.evalcore.randomness import stream
from assay.evalcore.types import Floats, Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Round:
    """One round of every repeat: what was planned before it, and what came back."""

    design: Design
    labels: RoundLabels


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Look:
    """What is known at a look: the state, and the rounds that led to it."""

    budget: int
    state: RecalibratedState
    rounds: Sequence[Round]


def looks(
    how: Recalibrated, cells: Cells, by_label: Ints, measures: Sequence[Measure], budgets: Sequence[int],
    *, repeats: int, batch: int, seed: int,
) -> Iterator[Look]:
    """Run `repeats` evaluations side by side and stop at each budget, a multiple of the batch.

    by_label (C, 2): items of each cell by true label.
    """
    rng = stream(seed, "interval trials")
    state, rounds = how.start(cells, measures, repeats), list[Round]()
    for budget in budgets:
        while len(rounds) * batch < budget:
            design, draws = draw_round(how, state, np.full(repeats, batch), rng)
            labels = simulate_labels(draws, by_label - state.labelled, rng)
            state = how.observe(state, design, labels, np.zeros_like(state.excluded))
            rounds.append(Round(design=design, labels=labels))
        yield Look(budget=budget, state=state, rounds=tuple(rounds))


def effective_terms(look: Look, slope: Floats) -> Floats:
    """How many labels (R,) the design's empirical variance rests on: (Σ a)² / Σ a², a the labels' terms.

    slope (R, C): ∂M/∂(a positive).  1 where there is none.
    """
    first = second = np.zeros(len(slope))
    for one in look.rounds:
        pi, m = one.design.unlabelled, one.design.model
        inverse = np.divide(1.0, pi, out=np.zeros_like(pi), where=pi > 0)
        each = slope**2 * inverse * np.maximum(inverse - 1, 0.0) * _weight(one, slope) ** 2
        for y, count in ((0, one.labels.new[..., 0]), (1, one.labels.new[..., 1])):
            term = each * (y - m) ** 2
            first = first + (count * term).sum(axis=1)
            second = second + (count * term**2).sum(axis=1)
    return np.maximum(np.divide(first**2, second, out=np.ones_like(first), where=second > 0), 1.0)


def _weight(one: Round, slope: Floats) -> Floats:
    """The round's weight (R, 1) in the design's estimate, up to a constant."""
    pi, m = one.design.unlabelled, one.design.model
    inverse = np.divide(1.0, pi, out=np.ones_like(pi), where=pi > 0)
    spread = (slope**2 * one.design.left * (inverse - 1) * np.maximum(m * (1 - m), 1e-12)).sum(axis=1)
    return np.asarray(np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 0)[:, None])
