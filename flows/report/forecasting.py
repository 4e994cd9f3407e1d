"""What is still to come: the forecast of an evaluation, from its ledger, in words and as JSON."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.evalcore.evaluation.state import Question, State
from assay.evalcore.evaluation.stopping import StoppingRule
from assay.evalcore.forecast.goals import Forecast, Goal
from assay.evalcore.forecast.labels_needed import forecast
from assay.flows.record.fold import fold
from assay.flows.record.opened import Opened
from assay.tasks.effects.calls import retried


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """Labels to the target, and to a verdict where there is a threshold."""

    budget: int
    target: Forecast | None
    verdict: Forecast | None = None

    def to_json(self) -> dict[str, Any]:
        """{"target": ..., "verdict": ...}, each null or a forecast."""
        return {"target": forecast_json(self.target), "verdict": forecast_json(self.verdict)}

    def lines(self) -> list[str]:
        """For a terminal."""
        told = [f for f in (self.target, self.verdict) if f is not None]
        return [f"forecast: {in_words(f, self.budget)}" for f in told]


def outlook(opened: Opened) -> Outlook | None:
    """The forecast from where the ledger stands; None where there is nothing to wait for."""
    folded = retried(fold)(opened.ledger, opened.question)
    threshold = opened.spec.threshold
    limits = None if threshold is None else (threshold.min, threshold.max)
    return outlook_of(opened.question, folded.state, opened.rule, opened.spec.batch_size, limits)


def outlook_of(
    question: Question,
    state: State,
    rule: StoppingRule,
    batch_size: int,
    threshold: tuple[float | None, float | None] | None = None,
) -> Outlook | None:
    """The same from a state. None where it has no labels left to ask, or the numbers do not allow one."""
    if state.exhausted:
        return None
    goals: list[Goal] = []
    if rule.half_width is not None or rule.variance is not None:
        goals.append(Goal(half_width=rule.half_width, variance=rule.variance))
    if threshold is not None:
        goals.append(Goal(threshold=threshold))
    if not goals:
        return None
    try:
        found = forecast(question, state, goals, rule.budget, batch_size=batch_size)
    except np.linalg.LinAlgError:      # a forecast is a courtesy: nothing may fail for want of one
        return None
    by_goal = dict(zip(goals, found, strict=True))
    return Outlook(
        budget=rule.budget,
        target=next((f for goal, f in by_goal.items() if goal.threshold is None), None),
        verdict=next((f for goal, f in by_goal.items() if goal.threshold is not None), None),
    )


def forecast_json(found: Forecast | None) -> dict[str, Any] | None:
    """Plain values; "labels", "low" and "high" are null where they lie beyond the horizon."""
    if found is None:
        return None
    goal = found.goal
    return {
        "half_width": goal.half_width,
        "variance": goal.variance,
        "threshold": None if goal.threshold is None else {"min": goal.threshold[0], "max": goal.threshold[1]},
        "labels": found.labels,
        "low": found.low,
        "high": found.high,
        "more": found.more,
        "horizon": found.horizon,
        "share_of_worlds": found.share,
        "worlds": found.worlds,
    }


def in_words(found: Forecast, limit: int | None = None) -> str:
    """`± 0.05 takes about 420 labels (300 to 610 in ...)`, or that it takes more than the horizon."""
    what = _goal(found.goal)
    most = "the budget" if limit is not None and found.horizon == limit else "what was simulated"
    if found.labels is None:
        reached = f"met in {found.share:.0%} of plausible worlds"
        return f"{what} is likely to take more than {most}, {found.horizon:,} labels ({reached})"
    high = f"more than {found.horizon:,}" if found.high is None else f"{found.high:,}"
    again = f", {found.more:,} more than now" if found.labels_now else ""
    return (
        f"{what} takes about {found.labels:,} labels{again} ({found.low:,} to {high} in the middle 80% of "
        "plausible worlds)"
    )


def _goal(goal: Goal) -> str:
    if goal.half_width is not None:
        return f"± {goal.half_width:g}"
    if goal.variance is not None:
        return f"a variance of {goal.variance:g}"
    return "a verdict against the threshold"
