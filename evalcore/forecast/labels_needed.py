"""How many labels will it take?  The evaluation played on, in a dozen or two plausible worlds.

In each world (`evalcore.forecast.worlds`) every label is known.  The method goes on from the labels there
are, drawing, labelling and estimating as it would live, and the forecast is how many labels the worlds took:
their median, and the range that holds the middle 80% of them.  Looks are spaced geometrically and what lies
between two is interpolated, so a forecast costs seconds; the batch size moves it little.

A world where the goal is not met within the horizon counts as "more": a forecast may honestly be "more than
the budget".  The forecast is as good as the worlds are plausible.  docs/price.md has it beside what really
happened.
"""

from collections.abc import Sequence

import numpy as np

from assay.evalcore.evaluation.state import Question, State
from assay.evalcore.evaluation.stopping import MIN_LABELS
from assay.evalcore.forecast.goals import Forecast, Goal
from assay.evalcore.forecast.play import Looks, play
from assay.evalcore.forecast.worlds import plausible_worlds
from assay.evalcore.randomness import stream
from assay.evalcore.types import Floats

MOST = 3_000            # labels beyond which no forecast goes
RANGE = 0.8             # share of the worlds that [low, high] holds


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

    horizon: labels in all, such as the budget; cut at the pool and at MOST.  worlds: as many as the method
    asks for, unless said.
    """
    if worlds is None:
        worlds = question.method.capabilities.forecast_worlds
    horizon = min(max(horizon, state.labels), question.cells.n_items, MOST)
    rng = stream(question.seed, question.evaluation, state.round, "forecast")
    by_label = plausible_worlds(
        question.cells, state.inner.labelled[0], state.inner.left[0], worlds, rng, question.evidence
    )
    looks = play(question, state, by_label, goals, horizon, batch_size, rng)
    most = question.cells.n_items - state.undecided       # with all of them known any goal is met
    return [_summary(goal, looks, j, horizon, state.labels, batch_size, most) for j, goal in enumerate(goals)]


def _summary(
    goal: Goal, looks: Looks, j: int, horizon: int, now: int, batch_size: int, most: int
) -> Forecast:
    """The forecast of the j-th goal; most: labels there are to have."""
    worlds = looks.labels.shape[1]
    each = [_first(looks.labels[:, k], looks.off[:, j, k], goal, batch_size) for k in range(worlds)]
    needed = np.array([min(n, most) if np.isfinite(n) else n for n in each])
    ordered = np.sort(np.where(needed > horizon, np.inf, needed))
    tail = (1 - RANGE) / 2
    return Forecast(
        goal=goal,
        labels=_quantile(ordered, 0.5),
        low=_quantile(ordered, tail),
        high=_quantile(ordered, 1 - tail),
        horizon=horizon,
        share=float(np.isfinite(ordered).mean()),
        labels_now=now,
        worlds=worlds,
    )


def _quantile(ordered: Floats, share: float) -> int | None:
    """The least of the ordered numbers that so many of them do not exceed; None where it is infinite."""
    found = ordered[max(int(np.ceil(share * len(ordered) - 1e-9)) - 1, 0)]
    return round(found) if np.isfinite(found) else None


def _first(labels: Floats, off: Floats, goal: Goal, batch_size: int) -> float:
    """Labels when the goal was met for good, and once more a batch later; infinite where it was not.

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
    return float(max(at + (batch_size if goal.threshold is None else 0), MIN_LABELS))
