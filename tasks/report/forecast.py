"""Forecasts in words and as JSON."""


from assay.evalcore.forecast.goals import Forecast, Goal
from assay.evalcore.forecast.outlook import Outlook
from assay.evalcore.plurals import plural
from assay.evalcore.types import JsonObject


def outlook_json(ahead: Outlook) -> JsonObject:
    """{"target": ..., "verdict": ...}, each null or a forecast."""
    return {
        "target": None if ahead.target is None else forecast_json(ahead.target),
        "verdict": None if ahead.verdict is None else forecast_json(ahead.verdict),
    }


def outlook_lines(ahead: Outlook) -> list[str]:
    """For a terminal."""
    told = [found for found in (ahead.target, ahead.verdict) if found is not None]
    return [f"forecast: {forecast_in_words(found, ahead.budget)}" for found in told]


def forecast_json(found: Forecast) -> JsonObject:
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
    }


def forecast_in_words(found: Forecast, budget: int | None = None) -> str:
    """`± 0.05 takes about 420 labels (300 to 610 in ...)`, or that it takes more than the horizon."""
    what = _goal(found.goal)
    most = "the budget" if budget is not None and found.horizon == budget else "what was simulated"
    if found.labels is None:
        reached = f"met in {found.share:.0%} of plausible worlds"
        return f"{what} is likely to take more than {most}, {plural(found.horizon, 'label')} ({reached})"
    high = f"more than {found.horizon:,}" if found.high is None else f"{found.high:,}"
    again = f", {found.more:,} more than now" if found.labels_now else ""
    return (
        f"{what} takes about {plural(found.labels, 'label')}{again} ({found.low:,} to {high} in the middle "
        "80% of plausible worlds)"
    )


def _goal(goal: Goal) -> str:
    if goal.half_width is not None:
        return f"± {goal.half_width:g}"
    if goal.variance is not None:
        return f"a variance of {goal.variance:g}"
    return "a verdict against the threshold"
