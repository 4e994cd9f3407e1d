"""Forecasts in words and as JSON."""

from dataclasses import asdict
from decimal import ROUND_CEILING, ROUND_FLOOR
from typing import Any

from typing_extensions import TypedDict

from assay.evalcore.errors import plural
from assay.evalcore.evaluation.stopping import MIN_LABELS, RULE, least_budget
from assay.evalcore.forecast.audit import AuditPrice
from assay.evalcore.forecast.labels_needed import Outlook
from assay.evalcore.forecast.play import Forecast, Goal
from assay.tasks.report import wording
from assay.tasks.report.price import two_figures


class ThresholdJson(TypedDict):
    """What the measure has to be, at least and at most."""

    min: float | None
    max: float | None


class SimulationErrorJson(TypedDict):
    """How far the median and the share may be off, since only so many worlds were simulated."""

    least: int | None                # the median is at least this
    most: int | None                 # and at most this; null: beyond the horizon
    share_of_worlds: float           # the share is within so much


class ForecastJson(TypedDict):
    """Labels until a goal is met, over plausible worlds."""

    half_width: float | None         # the goal is one of the first three
    variance: float | None
    threshold: ThresholdJson | None
    labels: int | None               # in all, the median; null: more than the horizon
    low: int | None                  # the middle 80% of the worlds
    high: int | None                 # null: beyond the horizon
    more: int | None                 # labels beyond those there are
    horizon: int                     # labels up to which was simulated
    share_of_worlds: float           # that met the goal within the horizon
    worlds: int
    simulation_error: SimulationErrorJson | None  # null where it was not reckoned


class OutlookJson(TypedDict):
    """What is ahead of an evaluation that has not finished."""

    target: ForecastJson | None      # until the target
    verdict: ForecastJson | None     # until the verdict
    audit: AuditPrice | None         # what would bring a wide interval down


_DIGITS = 2          # of the ends of an interval


def outlook_json(ahead: Outlook) -> OutlookJson:
    """{"target": ..., "verdict": ...}, each null or a forecast; "audit": null or a price."""
    return {
        "target": None if ahead.target is None else forecast_json(ahead.target),
        "verdict": None if ahead.verdict is None else forecast_json(ahead.verdict),
        "audit": None if ahead.audit is None else audit_json(ahead.audit),
    }


def outlook_lines(ahead: Outlook) -> list[str]:
    """For a terminal."""
    told = [found for found in (ahead.target, ahead.verdict) if found is not None]
    lines = [f"forecast: {forecast_in_words(found, ahead.budget)}" for found in told]
    return lines + ([f"audit: {audit_in_words(ahead.audit)}"] if ahead.audit else [])


def forecast_json(found: Forecast) -> ForecastJson:
    """Plain values; "labels", "low" and "high" are null where they lie beyond the horizon."""
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
        "simulation_error": None if found.share_error is None else {
            "least": found.least, "most": found.most, "share_of_worlds": found.share_error,
        },
    }


def forecast_in_words(found: Forecast, budget: int | None = None) -> str:
    """`± 0.05 takes about 420 labels, with 80% chance 300 to 610`; or that it takes more than the budget, and
    the chance of less; or that no target can be met within it."""
    what, targets = _goal(found.goal), found.goal.threshold is None
    labels = plural(found.horizon, "label")
    most = f"the budget of {labels}" if found.horizon == budget else f"the {labels} that were simulated"
    if found.labels is None and targets and found.horizon < least_budget(1):
        return (
            f"{what} cannot be met within {most}: {RULE}; give a budget of at least {MIN_LABELS} and one "
            "round more"
        )
    if found.labels is None:
        return f"{what} probably takes more than {most}; the chance to get there is {found.share:.0%}"
    again = f", {found.more:,} more than now" if found.labels_now else ""
    sure = words_of_range(found.low, found.high, found.horizon)
    early = targets and found.labels_now < MIN_LABELS
    floor = f"; no target is met with fewer than {MIN_LABELS}" if early else ""
    return f"{what} takes about {plural(found.labels, 'label')}{again}, with 80% chance {sure}{floor}"


def audit_json(price: AuditPrice) -> Any:
    """Plain values; "settled_by" is null where only all the items bring the wide interval down."""
    return asdict(price)


def audit_in_words(price: AuditPrice) -> str:
    """`50 more labels, spread evenly, would bring the wide interval ... to 0.61 to 0.83 ...`."""
    first = price.steps[0]
    chance = "under 1%" if first.chance_found < 0.01 else f"{min(first.chance_found, 0.99):.0%}"
    if price.settled_by is None:
        settled = f"only labels of all {price.items:,} items there would bring it down to the interval itself"
    elif price.settled_by == first.labels:
        settled = "that is the interval itself"
    else:
        settled = f"about {two_figures(price.settled_by):,} would bring it down to the interval itself"
    return (
        f"{first.labels:,} more labels, spread evenly, would bring the wide interval of {price.measure} from "
        f"[{_interval(price.lower, price.upper)}] to [{_interval(first.lower, first.upper)}], if no hidden "
        f"positive turns up among them (chance of one: {chance}); {settled}"
    )


def words_of_range(low: int | None, high: int | None, horizon: int) -> str:
    """`300 to 610`; None: more than the horizon."""
    ends = [f"more than {horizon:,}" if end is None else f"{end:,}" for end in (low, high)]
    return " to ".join(dict.fromkeys(ends))


def _interval(lower: float, upper: float) -> str:
    ends = wording.number(lower, _DIGITS, ROUND_FLOOR), wording.number(upper, _DIGITS, ROUND_CEILING)
    return ", ".join(ends)


def _goal(goal: Goal) -> str:
    if goal.half_width is not None:
        return f"± {goal.half_width:g}"
    if goal.variance is not None:
        return f"a variance of {goal.variance:g}"
    return "a verdict on the limit"
