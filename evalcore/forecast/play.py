"""An evaluation played on in several worlds at once, each with all labels known.

    K   worlds, the repeats of the method;  G   goals;  L   looks;  C   cells
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from assay.evalcore.design.draws import simulate_labels
from assay.evalcore.evaluation.state import Past, Question, State
from assay.evalcore.evaluation.stopping import MIN_LABELS
from assay.evalcore.forecast.goals import NEVER, Goal
from assay.evalcore.methods.base import Method, draw_round
from assay.evalcore.methods.exact import with_exact_values
from assay.evalcore.methods.state import MethodState
from assay.evalcore.types import Bools, Floats, Ints

GROWTH = 0.4            # labels between two looks, as a share of those there are


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WorldLooks:
    """What the worlds looked like at growing numbers of labels."""

    labels: Floats   # (L, K)
    off: Floats      # (L, G, K) how far off each goal was, met at 0 and below: `Goal.distance`


def play(
    question: Question,
    state: State,
    by_label: Ints,
    goals: Sequence[Goal],
    horizon: int,
    batch_size: int,
    rng: np.random.Generator,
) -> WorldLooks:
    """The looks from where the evaluation stands until all worlds met all goals, or the horizon.

    by_label (K, C, 2): items of each cell by label; horizon, batch_size: labels in all and in a round.
    """
    method, count = question.method.for_forecast(), len(by_label)
    inner = _restarted(replace(question, method=method), state, count)
    labels: list[Floats] = []
    off: list[Floats] = []
    n = state.labels
    while True:
        if n:
            labels.append(inner.labelled.sum(axis=(1, 2)).astype(np.float64))
            off.append(_distances(method, inner, question.confidence, goals, rng))
            if n >= MIN_LABELS and len(off) > 1 and (off[-1] <= 0).all() and (off[-2] <= 0).all():
                break
        if n >= horizon or not inner.wanted.any():
            break
        wanted = min(max(batch_size, int(np.ceil(GROWTH * n))), horizon - n)
        size = method.round_size(inner, np.full(count, wanted))
        design, draws = draw_round(method, inner, size, rng)
        found = simulate_labels(draws, by_label - inner.labelled, rng)
        inner = method.observe(inner, design, found, np.zeros_like(inner.excluded))
        n += int(size.max())
    return WorldLooks(labels=np.stack(labels), off=np.stack(off))


def _restarted(question: Question, state: State, count: int) -> Any:
    """What the method knows after the closed rounds, in every world alike."""
    inner = question.method.first_state(question.cells, question.measures, count, question.evidence)
    for past in state.past:
        same = _for_all(past, count)
        inner = question.method.observe(inner, same.design, same.labels, same.excluded)
    return inner


def _distances(
    method: Method, inner: MethodState, confidence: float, goals: Sequence[Goal], rng: np.random.Generator
) -> Floats:
    """How far off (G, K) each goal is by the first measure; -1 where every label that matters is known."""
    estimate = with_exact_values(inner, method.estimate(inner, confidence, rng))[0]
    done = ~inner.wanted.any(axis=1)
    usable = _both_labels(inner.labelled) & np.isfinite(estimate.value) & (estimate.variance > 0)
    measure = inner.measures[0]
    return np.stack([
        np.where(done, -1.0, np.where(
            usable, goal.distance(measure, estimate.lower, estimate.upper, estimate.variance), NEVER
        ))
        for goal in goals
    ])


def _both_labels(labelled: Ints) -> Bools:
    """Whether (K,) a positive and a negative item were labelled; labelled (K, C, 2)."""
    positive, labels = labelled[..., 1].sum(axis=1), labelled.sum(axis=(1, 2))
    return np.asarray((positive > 0) & (positive < labels))


def _for_all(past: Past, count: int) -> Past:
    """A round that happened, once for every world."""
    return Past(
        design=_repeated(past.design, count),
        labels=_repeated(past.labels, count),
        excluded=np.repeat(past.excluded, count, axis=0),
    )


def _repeated(record: Any, count: int) -> Any:
    """The record with each of its arrays (1, ...) repeated along the first axis."""
    arrays = {f.name: getattr(record, f.name) for f in fields(record)}
    return replace(record, **{
        name: np.repeat(x, count, axis=0) for name, x in arrays.items() if isinstance(x, np.ndarray)
    })
