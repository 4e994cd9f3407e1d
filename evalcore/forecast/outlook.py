"""What an evaluation waits for, how many labels that is likely to take, and the price of an audit."""

from dataclasses import dataclass

import numpy as np

from assay.evalcore.evaluation.state import Question, State
from assay.evalcore.evaluation.stopping import StoppingRule
from assay.evalcore.forecast.audit import AuditPrice, audit_price
from assay.evalcore.forecast.by_shape import forecasts_by_shape
from assay.evalcore.forecast.goals import Forecast, Goal
from assay.evalcore.forecast.labels_needed import Played, forecast
from assay.evalcore.outcome_measures.stack import Stack


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """Labels to the target, and to a verdict where there is a threshold; what excludes hidden positives."""

    budget: int
    target: Forecast | None
    verdict: Forecast | None = None
    audit: AuditPrice | None = None   # where a wide interval is announced


def outlook(
    question: Question,
    state: State,
    rule: StoppingRule,
    batch_size: int,
    threshold: tuple[float | None, float | None] | None = None,
    played: Played | None = None,
    worlds: int | None = None,
) -> Outlook | None:
    """The forecast from where `state` stands; threshold: (min, max).  Deterministic.

    played: told of the worlds as they are played, where there are any; worlds: how many, as many as it takes
    unless given.

    None where there is no target and no threshold, no label left to ask, where the label model cannot be
    fitted, or nothing can be said: an evaluation goes on without a forecast.
    """
    if state.exhausted:
        return None
    target = verdict = None
    if rule.half_width is not None or rule.variance is not None:
        target = Goal(half_width=rule.half_width, variance=rule.variance)
    if threshold is not None:
        verdict = Goal(threshold=threshold)
    goals = [goal for goal in (target, verdict) if goal is not None]
    if not goals:
        return None
    found: list[Forecast | None]
    audit = None
    if isinstance(question.measures, Stack):
        found = forecasts_by_shape(question, state, goals, rule.budget, batch_size)
        if not any(found):
            return None
    else:
        try:
            found = [*forecast(
                question, state, goals, rule.budget, batch_size=batch_size, worlds=worlds, played=played
            )]
            audit = audit_price(question, state)
        except np.linalg.LinAlgError:
            return None
    by_goal = dict(zip(goals, found, strict=True))
    return Outlook(
        budget=rule.budget,
        target=None if target is None else by_goal[target],
        verdict=None if verdict is None else by_goal[verdict],
        audit=audit,
    )
