"""How many labels will it take?  The evaluation played on, in dozens of plausible worlds.

In each world (`evalcore.forecast.worlds`) every label is known.  The method goes on from the labels there
are, drawing, labelling and estimating as it would live, and the forecast is how many labels the worlds took:
their median, and the range that holds the middle 80% of them.  Looks are spaced geometrically and what lies
between two is interpolated, so a forecast costs seconds; the batch size moves it little.

Worlds are played AT_ONCE at a time, until the forecast would hardly change with more of them
(`evalcore.forecast.luck`) or as many were played as the method allows.  What is left of that error is part of
the forecast.

A world where the goal is not met within the horizon counts as "more": a forecast may honestly be "more than
the budget".  The forecast is as good as the worlds are plausible.  docs/price.md has it beside what really
happened.
"""

from collections.abc import Callable, Sequence

import numpy as np

from assay.evalcore.evaluation.state import Question, State
from assay.evalcore.evaluation.stopping import MIN_LABELS
from assay.evalcore.forecast.goals import Forecast, Goal
from assay.evalcore.forecast.luck import luck
from assay.evalcore.forecast.play import play
from assay.evalcore.forecast.worlds import plausible_worlds
from assay.evalcore.randomness import stream
from assay.evalcore.types import Floats

MOST = 3_000            # labels beyond which no forecast goes
RANGE = 0.8             # share of the worlds that [low, high] holds
AT_ONCE = 24            # worlds played side by side

Played = Callable[[int, int], None]   # told how many worlds were played, and how many there will be at most


def forecast(
    question: Question,
    state: State,
    goals: Sequence[Goal],
    horizon: int,
    *,
    batch_size: int = 25,
    worlds: int | None = None,
    played: Played | None = None,
) -> list[Forecast]:
    """When each goal will be met, judged from where `state` stands.  Deterministic.

    horizon: labels in all, such as the budget; cut at the pool and at MOST.  worlds: exactly so many; unless
    given, as many as it takes, and at most what the method allows.
    """
    at_most = worlds or question.method.capabilities.forecast_worlds
    horizon = min(max(horizon, state.labels), question.cells.n_items, MOST)
    took = np.empty((len(goals), 0))
    while took.shape[1] < at_most:
        count = min(AT_ONCE, at_most - took.shape[1])
        more = _took(question, state, goals, horizon, batch_size, count, took.shape[1] // AT_ONCE)
        took = np.sort(np.concatenate([took, more], axis=1), axis=1)
        if played is not None:
            played(took.shape[1], at_most)
        if worlds is None and all(luck(one).small for one in took):
            break
    return [
        _summary(goal, one, horizon, state.labels) for goal, one in zip(goals, took, strict=True)
    ]


def _took(
    question: Question, state: State, goals: Sequence[Goal], horizon: int, batch_size: int, count: int,
    part: int,
) -> Floats:
    """Labels (G, count) that each goal took in so many worlds; infinite beyond the horizon.

    part: 0, 1, ... of the worlds: each has randomness of its own.
    """
    purpose = f"forecast {part}" if part else "forecast"
    rng = stream(question.seed, question.evaluation, state.round, purpose)
    by_label = plausible_worlds(
        question.cells, state.inner.labelled[0], state.inner.left[0], count, rng, question.evidence
    )
    looks = play(question, state, by_label, goals, horizon, batch_size, rng)
    most = question.cells.n_items - state.undecided       # with all of them known any goal is met
    needed = np.array([
        [_first(looks.labels[:, k], looks.off[:, j, k], goal, batch_size) for k in range(count)]
        for j, goal in enumerate(goals)
    ])
    needed = np.where(np.isfinite(needed), np.minimum(needed, most), needed)
    return np.where(needed > horizon, np.inf, needed)


def _summary(goal: Goal, ordered: Floats, horizon: int, now: int) -> Forecast:
    """The forecast of a goal from what each world took, in order (K,)."""
    tail, by_luck = (1 - RANGE) / 2, luck(ordered)
    return Forecast(
        goal=goal,
        labels=_quantile(ordered, 0.5),
        low=_quantile(ordered, tail),
        high=_quantile(ordered, 1 - tail),
        horizon=horizon,
        share=float(np.isfinite(ordered).mean()),
        labels_now=now,
        worlds=len(ordered),
        least=_whole(by_luck.lower),
        most=_whole(by_luck.upper),
        share_error=by_luck.share,
    )


def _quantile(ordered: Floats, share: float) -> int | None:
    """The least of the ordered numbers that so many of them do not exceed; None where it is infinite."""
    return _whole(ordered[max(int(np.ceil(share * len(ordered) - 1e-9)) - 1, 0)])


def _whole(labels: float) -> int | None:
    return round(labels) if np.isfinite(labels) else None


def _first(labels: Floats, off: Floats, goal: Goal, batch_size: int) -> float:
    """Labels when the goal was met for good, a target once more a batch later; infinite where it was not.

    labels, off (L,) of one world.  Between two looks the distance is taken for linear in log labels.
    """
    met = off <= 0
    if not met[-1]:
        return np.inf
    last_not = np.flatnonzero(~met)
    j = int(last_not[-1]) + 1 if len(last_not) else 0
    at = labels[j]
    if j and np.isfinite(off[j - 1]) and goal.threshold is None and off[j - 1] > off[j]:
        share = off[j - 1] / (off[j - 1] - max(off[j], -10.0))
        at = np.exp(np.log(labels[j - 1]) + share * (np.log(labels[j]) - np.log(labels[j - 1])))
    return float(max(at, MIN_LABELS) + (batch_size if goal.threshold is None else 0))
