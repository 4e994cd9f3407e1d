"""How many labels an evaluation of any kind of outcome is likely to take.

The variance of an estimate falls with the labels as that of a stratified mean does,

    V(n) ∝ Σ_c U_c (U_c/a_c + 1) s_c²

with a_c the labels that the method means for cell c when n are there, U_c the items of it then left, and s_c²
the guessed spread of a pull.  What it is today is known from the labels so far, and its shape says the rest:
the half-width after n labels is today's, times √(V(n)/V(today)).  Before any label the guesses alone say.

Nobody knows V exactly, so it is varied: in each of WORLDS worlds it is divided by χ²/df, with as many degrees
of freedom as the labels so far, and the guesses, are worth.  A world's value lies as far from the estimate as
its interval says.  docs/outcomes.md has forecasts beside what replays took.

    C   cells;  Q   numbers asked for;  W   worlds;  L   numbers of labels that are tried
"""

from collections.abc import Sequence

import numpy as np
from scipy.special import chdtri, ndtri, stdtrit

from assay.evalcore.evaluation.state import Question, State
from assay.evalcore.evaluation.stopping import MIN_LABELS
from assay.evalcore.forecast.goals import Forecast, Goal
from assay.evalcore.forecast.labels_needed import MOST, RANGE
from assay.evalcore.outcome_measures.comparing import leading
from assay.evalcore.outcome_methods.interval import DOUBT, WIDER
from assay.evalcore.types import Floats

WORLDS = 41
_LOOKS = 60
_OWN = 0.5    # degrees of freedom that a label brings: labels of one group are alike


def forecasts_by_shape(
    question: Question, state: State, goals: Sequence[Goal], budget: int, batch_size: int
) -> list[Forecast | None]:
    """When each goal will be met, judged from where `state` stands.  Deterministic.

    None before the first label for a verdict, and for any goal of numbers, whose spread nobody guesses.
    """
    known = state.labels or question.measures.kind.label_model.shared
    return [
        _forecast(question, state, goal, budget, batch_size)
        if known and (goal.threshold is None or state.labels) else None
        for goal in goals
    ]


def half_widths(question: Question, state: State, labels: Floats) -> tuple[Floats, Floats]:
    """Half-width and variance (L, Q') of the leading numbers after so many labels (L,)."""
    measures = question.measures.measures
    q = sum(len(one.parts) for one, first in zip(measures, leading(measures), strict=True) if first)
    ahead = np.stack([_shape(question, state, n)[:q] for n in labels.tolist()])
    t = stdtrit(np.maximum(labels - 1, 3.0), 0.5 + question.confidence / 2)[:, None]
    if not state.labels:
        return WIDER * t * np.sqrt(ahead), ahead
    now = _shape(question, state, float(state.labels))[:q]
    found = question.method.estimate(state.inner, question.confidence)
    half = (found.upper - found.lower)[0, :q] / 2
    ratio = ahead / np.maximum(now, 1e-300)
    t_now = float(stdtrit(max(state.labels - 1, 3.0), 0.5 + question.confidence / 2))
    return half * np.sqrt(ratio) * t / t_now, found.variance[0, :q] * ratio


def _shape(question: Question, state: State, labels: float) -> Floats:
    """(Q,) Σ U (U/a + 1) s² / N² once so many labels are there."""
    inner, cells = state.inner, question.cells
    items = np.maximum((cells.size - inner.excluded[0]) * cells.relevant, 0).astype(np.float64)
    meant = question.method.meant(inner, round(labels))[0]
    left = np.maximum(items - meant, 0.0)
    each = np.divide(left * (left + meant), meant, out=np.zeros_like(left), where=meant > 0)
    spent = question.measures.kind.label_model.spent(len(cells.first))
    return np.asarray(each @ cells.spread / items.sum() ** 2 * labels / max(labels - spent, labels / 2))


def _forecast(question: Question, state: State, goal: Goal, budget: int, batch_size: int) -> Forecast:
    pool = question.cells.n_items - state.undecided
    horizon = min(max(budget, state.labels), question.cells.n_items, MOST)
    least = float(min(max(state.labels, MIN_LABELS), horizon))
    labels = np.asarray(np.unique(np.round(np.geomspace(least, horizon, _LOOKS))), np.float64)
    half, variance = half_widths(question, state, labels)
    share = (np.arange(WORLDS) + 0.5) / WORLDS
    df = DOUBT + _OWN * state.labels
    scale = np.asarray(df / chdtri(df, share), np.float64)                                          # (W,)
    met = _met(question, state, goal, half, variance, scale)                # (L, W)
    first = np.where(met[-1], np.argmax(np.logical_and.accumulate(met[::-1], axis=0)[::-1], axis=0), -1)
    more = batch_size if goal.threshold is None else 0
    needed = np.where(first >= 0, np.minimum(labels[first] + more, pool), np.inf)
    ordered = np.sort(np.where(needed > horizon, np.inf, needed))
    low, middle, high = (
        ordered[int(np.ceil(at * WORLDS)) - 1] for at in ((1 - RANGE) / 2, 0.5, (1 + RANGE) / 2)
    )
    return Forecast(
        goal=goal, labels=_whole(middle), low=_whole(low), high=_whole(high), horizon=horizon,
        share=float(np.isfinite(ordered).mean()), labels_now=state.labels, worlds=WORLDS,
    )


def _met(
    question: Question, state: State, goal: Goal, half: Floats, variance: Floats, scale: Floats
) -> Floats:
    """(L, W) whether the goal is met, by the number that is known least."""
    widest, largest = half.max(axis=1)[:, None] * np.sqrt(scale), variance.max(axis=1)[:, None] * scale
    if goal.half_width is not None:
        return np.asarray(widest <= goal.half_width)
    if goal.variance is not None:
        return np.asarray(largest <= goal.variance)
    found = question.method.estimate(state.inner, question.confidence)
    # a world's value: worlds of large and of small variance alike see both sides
    at = ndtri(((np.arange(len(scale)) * 17) % len(scale) + 0.5) / len(scale))
    value = found.value[0, 0] + np.sqrt(found.variance[0, 0]) * at
    low, high = goal.threshold or (None, None)
    ends = [np.abs(value - end) for end in (low, high) if end is not None]
    return np.asarray(widest <= np.min(ends, axis=0))


def _whole(labels: float) -> int | None:
    return round(labels) if np.isfinite(labels) else None
