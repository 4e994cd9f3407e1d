"""How many labels will it take?  The evaluation played on, in a dozen or two plausible worlds.

In each world (`evalcore.forecast.worlds`) every label is known.  The method goes on from the labels there
are,
drawing, labelling and estimating as it would live, and the forecast is how many labels the worlds took:
their median, and the range that holds the middle 80% of them.  Looks are spaced geometrically and what lies
between two is interpolated, so a forecast costs seconds; the batch size moves it little.

A world where the goal is not met within the horizon counts as "more": a forecast may honestly be "more than
the budget".  The forecast is as good as the worlds are plausible.  docs/price.md has it beside what really
happened.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from assay.evalcore.design.draws import simulate_labels
from assay.evalcore.design.round import Design, RoundLabels
from assay.evalcore.errors import BadInput
from assay.evalcore.evaluation.state import Past, Question, State, method_state
from assay.evalcore.evaluation.stopping import MIN_LABELS
from assay.evalcore.forecast.worlds import plausible_worlds
from assay.evalcore.measures.base import Measure
from assay.evalcore.methods.base import draw_round
from assay.evalcore.methods.exact import with_exact_values
from assay.evalcore.randomness import stream
from assay.evalcore.types import Bools, Floats, Ints

MOST = 3_000            # labels beyond which no forecast goes
GROWTH = 0.4            # one look to the next
RANGE = 0.8             # share of the worlds that [low, high] holds


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """What is waited for: one of them.  Widths are of the interval of the first measure."""

    half_width: float | None = None
    variance: float | None = None
    threshold: tuple[float | None, float | None] | None = None   # (min, max): cleared or missed

    def __post_init__(self) -> None:
        given = [x for x in (self.half_width, self.variance, self.threshold) if x is not None]
        if len(given) != 1:
            raise BadInput(f"a goal is one of half_width, variance and threshold, got {len(given)} of them")


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """Labels in all, those there are included, until a goal is met; None: more than `horizon`."""

    goal: Goal
    labels: int | None       # median over the worlds
    low: int | None          # the middle 80% of the worlds
    high: int | None
    horizon: int             # labels up to which the worlds were played
    share: float             # of the worlds that met the goal within the horizon
    labels_now: int
    worlds: int

    @property
    def more(self) -> int | None:
        """Labels that are still missing, by the median."""
        return None if self.labels is None else max(self.labels - self.labels_now, 0)


def forecast(
    question: Question,
    state: State,
    goals: Sequence[Goal],
    horizon: int,
    *,
    batch_size: int = 25,
    worlds: int | None = None,
) -> list[Forecast]:
    """When each goal will be met, judged from where `state` stands.  Deterministic.

    horizon: labels in all, such as the budget; cut at the pool and at MOST.
    """
    n_items = question.cells.n_items
    if worlds is None:
        worlds = question.method.capabilities.forecast_worlds
    horizon = min(max(horizon, state.labels), n_items, MOST)
    rng = stream(question.seed, question.evaluation, state.round, "forecast")
    by_label = plausible_worlds(
        question.cells, state.inner.labelled[0], state.inner.left[0], worlds, rng, question.evidence
    )
    looks, met = _play(question, state, by_label, goals, horizon, batch_size, rng)
    most = int(question.cells.size.sum()) - state.undecided       # with all of them known any goal is met
    return [
        _summary(goal, looks, met[:, j], horizon, state.labels, batch_size, most)
        for j, goal in enumerate(goals)
    ]


def _play(
    question: Question,
    state: State,
    by_label: Ints,
    goals: Sequence[Goal],
    horizon: int,
    batch_size: int,
    rng: np.random.Generator,
) -> tuple[Floats, Floats]:
    """Labels (L, K) at every look, and how far off each goal was: (L, goals, K), met at 0 and below."""
    method = question.method.for_forecast()
    count = len(by_label)
    inner = method_state(replace(question, method=method), count)
    for past in state.past:
        inner = method.observe(inner, *_for_all(past, count))
    labels: list[Floats] = []
    off: list[Floats] = []
    n = state.labels
    while True:
        if n:
            estimate = with_exact_values(inner, method.estimate(inner, question.confidence, rng))[0]
            both = _both_outcomes(inner.labelled)
            done = ~inner.wanted.any(axis=1)
            measure = question.measures[0]
            ends = (estimate.lower, estimate.upper)
            off.append(np.stack([
                np.where(done, -1.0, np.where(
                    both & np.isfinite(estimate.value) & (estimate.variance > 0),
                    _off(goal, measure, ends, estimate.variance), np.inf))
                for goal in goals
            ]))
            labels.append(inner.labelled.sum(axis=(1, 2)).astype(np.float64))
            if n >= MIN_LABELS and len(off) > 1 and (off[-1] <= 0).all() and (off[-2] <= 0).all():
                break
        if n >= horizon or not inner.wanted.any():
            break
        size = min(max(batch_size, int(np.ceil(GROWTH * n))), horizon - n)
        design, draws = draw_round(method, inner, np.full(count, size), rng)
        round_labels = simulate_labels(draws, by_label - inner.labelled, rng)
        inner = method.observe(inner, design, round_labels, np.zeros_like(inner.excluded))
        n += size
    return np.stack(labels), np.stack(off)


def _off(goal: Goal, measure: Measure, ends: tuple[Floats, Floats], variance: Floats) -> Floats:
    """How far (K,) from the goal: the log of width or variance over the target, or 1 and -1 for a verdict."""
    lower, upper = (np.where(np.isfinite(e), e, b) for e, b in zip(ends, measure.bounds, strict=True))
    with np.errstate(divide="ignore"):
        if goal.half_width is not None:
            return np.asarray(np.log((upper - lower) / 2 / goal.half_width))
        if goal.variance is not None:
            return np.asarray(np.log(variance / goal.variance) / 2)
    low, high = goal.threshold or (None, None)
    low, high = -np.inf if low is None else low, np.inf if high is None else high
    inside = (lower >= low) & (upper <= high)
    return np.where(inside | (upper < low) | (lower > high), -1.0, 1.0)


def _summary(
    goal: Goal, looks: Floats, off: Floats, horizon: int, now: int, batch_size: int, most: int
) -> Forecast:
    """looks, off (L, K)."""
    each = [_first(looks[:, k], off[:, k], goal, batch_size) for k in range(looks.shape[1])]
    needed = np.array([min(n, most) if np.isfinite(n) else n for n in each])
    ordered = np.sort(np.where(needed > horizon, np.inf, needed))

    def at(share: float) -> int | None:
        found = ordered[max(int(np.ceil(share * len(ordered) - 1e-9)) - 1, 0)]
        return round(found) if np.isfinite(found) else None

    tail = (1 - RANGE) / 2
    return Forecast(
        goal=goal,
        labels=at(0.5),
        low=at(tail),
        high=at(1 - tail),
        horizon=horizon,
        share=float(np.isfinite(ordered).mean()),
        labels_now=now,
        worlds=looks.shape[1],
    )


def _first(labels: Floats, off: Floats, goal: Goal, batch_size: int) -> float:
    """Labels when the goal was met for good, and once more a batch later; infinite where it was not."""
    met = off <= 0
    if not met[-1]:
        return np.inf
    last_not = np.flatnonzero(~met)
    j = int(last_not[-1]) + 1 if len(last_not) else 0
    at = labels[j]
    if j and np.isfinite(off[j - 1]) and goal.threshold is None and off[j - 1] > off[j]:
        share = off[j - 1] / (off[j - 1] - max(off[j], -10.0))
        at = np.exp(np.log(labels[j - 1]) + share * (np.log(labels[j]) - np.log(labels[j - 1])))
    return float(max(at + (batch_size if goal.threshold is None else 0), MIN_LABELS))


def _both_outcomes(labelled: Ints) -> Bools:
    positive, labels = labelled[..., 1].sum(axis=1), labelled.sum(axis=(1, 2))
    return np.asarray((positive > 0) & (positive < labels))


def _for_all(past: Past, count: int) -> tuple[Design, RoundLabels, Ints]:
    """A round that happened, in every world alike."""
    def same(record: Any) -> Any:
        arrays = {f.name: getattr(record, f.name) for f in fields(record)}
        return replace(record, **{
            name: np.repeat(x, count, axis=0) for name, x in arrays.items() if isinstance(x, np.ndarray)
        })

    return same(past.design), same(past.labels), np.repeat(past.excluded, count, axis=0)
