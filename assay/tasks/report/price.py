"""What labels buy, in words: the price beside every estimate, what the labels do not exclude, and forecasts
of how many it takes.
"""

from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR

from typing_extensions import TypedDict

from assay.evalcore.errors import plural
from assay.evalcore.evaluation.estimate import MeasureEstimate
from assay.evalcore.evaluation.stopping import least_budget, rule_in_words
from assay.evalcore.forecast.audit import AuditPrice
from assay.evalcore.forecast.labels_needed import Outlook
from assay.evalcore.forecast.play import Forecast, Goal
from assay.evalcore.printed import printed
from assay.evalcore.recalibration.reporting import (
    AGREE,
    BROKEN_SCORE,
    DISAGREE,
    EARLY,
    MODEL_ONLY,
    NO_POSITIVE,
)
from assay.tasks.report import wording

_REGIMES = {
    AGREE: "it agrees with an estimate that uses no model",
    DISAGREE: "it disagrees with an estimate that uses no model; go by the interval, not by the value",
    EARLY: "labels are too few for one; what was assumed before the first label still matters",
    MODEL_ONLY: "not possible yet; labels are too few for an estimate without the model",
    NO_POSITIVE: "not possible yet; no positive was found, so the value rests on what was assumed before",
    BROKEN_SCORE: "the score looks broken: by the labels it says nothing, or the opposite",
}


def random_labels_in_words(row: MeasureEstimate) -> str:
    """How many labels random sampling would have needed for this interval, such as `about 11,000` or `all
    5,000`, or the reason why that cannot be said."""
    tag = row.price_tag
    if tag is None:
        return "not recorded"
    needed = tag.random_labels
    if needed is None:
        return f"cannot be said: {tag.random_labels_reason}"
    return f"all {needed:,}" if row.interval == "exact" else f"about {two_figures(needed):,}"


def unseen(row: MeasureEstimate) -> str:
    """How many positives may not have been found, or why that cannot be said."""
    if row.price_tag is None:
        return "not recorded"
    tag = row.not_excluded
    if tag is None:
        return "–"   # no class is the positive one
    bound, items = tag.unseen_bound, tag.unseen_items
    kind = "" if tag.no_positive_found else " predicted negative"
    if bound is None:
        return f"cannot be said by the draws alone: {tag.unseen_bound_reason}"
    if not items:
        # that may be few labels: no item is predicted negative, or none of those can change the measure
        return f"none: no unlabelled item{kind} can change {wording.measure_name(row.measure)}"
    return (
        f"with {wording.percent(row.confidence)} confidence at most {bound:,} of the "
        f"{wording.plural(items, 'unlabelled item')}{kind}, by the draws alone"
    )


def share_unlabelled(row: MeasureEstimate) -> str:
    """The share of the pool, in percent, in cells where nobody labelled anything; `–` where that does not
    apply, and `not recorded` where no price was."""
    if row.price_tag is None:
        return "not recorded"
    tag = row.not_excluded
    return "–" if tag is None else wording.percent(round(tag.unlabelled_share, 3))


def wide(row: MeasureEstimate) -> str | None:
    """The interval under the wide contamination prior, or None where there is none."""
    tag = row.not_excluded
    if tag is None or tag.wide_lower is None or tag.wide_upper is None:
        return None
    digits = wording.digits_for(row)
    lower, upper = (
        wording.number(end, digits, rounding)
        for end, rounding in ((tag.wide_lower, ROUND_FLOOR), (tag.wide_upper, ROUND_CEILING))
    )
    return f"{lower} to {upper}"


def wide_in_words(row: MeasureEstimate, positive: str) -> str | None:
    """`wide interval 0.332 to 0.979: ...`, or None where it says no more than the interval does. The wide
    interval trusts nothing but the design of the draws."""
    ends = wide(row)
    if ends is None or ends == wording.interval(row):
        return None
    if not positive:
        return f"wide interval {ends}"
    return f"wide interval {ends}: it holds too if some “{positive}” items have scores like all others"


def model_check(row: MeasureEstimate) -> str | None:
    """Which regime the method's model of the labels is in, or None where it has no such model. One sentence
    that says what it means for the interval."""
    check = row.price.model_check
    if check is None:
        return None
    text = _REGIMES[check.regime]
    if check.regime != BROKEN_SCORE:
        return text
    chance = check.broken_chance or 0.0
    return f"{text} (chance {wording.percent(min(round(chance, 2), 0.99))})"


def two_figures(n: int) -> int:
    """`about n`: more figures would claim to know more than the formula does."""
    return n if n < 100 else int(float(f"{n:.1e}"))


def price_lines(rows: Sequence[MeasureEstimate], positive: str, rests_on: str) -> list[str]:
    """For a terminal: what random sampling would have needed, then what the first estimate leaves open; the
    arguments are those of `open_lines`. Each line is a whole sentence; none before the price is known."""
    priced_rows = [row for row in rows if row.segment is None and row.price_tag]
    if not priced_rows:
        return []
    answers: dict[str, list[str]] = {}          # an answer: of what; each reason stands once
    for row in priced_rows:
        of = f"{row.measure}{f' of {row.of}' if row.class_name or row.question else ''}"
        names = answers.setdefault(random_labels_in_words(row), [])
        if of not in names:
            names.append(of)
    needed = "; ".join(f"{', '.join(names)} {answer}" for answer, names in answers.items())
    return [f"random sampling would have needed, in labels: {needed}", *open_lines(rows, positive, rests_on)]


def open_lines(rows: Sequence[MeasureEstimate], positive: str, rests_on: str) -> list[str]:
    """What the first estimate leaves open: where nobody looked, and what the labels cannot tell.

    positive: the name of the positive class; rests_on: what the interval takes without being shown.  One
    that takes nothing rests on no model where nobody looked, and the sentence says on what it rests.
    """
    lead = next((row for row in rows if row.segment is None and row.price_tag), None)
    if lead is None or lead.not_excluded is None or lead.interval == "exact":
        return []
    tag, notes = lead.not_excluded, []
    if round(tag.unlabelled_share, 3):
        ground = ("labels of other scores in its stratum stand for them, and the interval trusts no score"
                  if rests_on == "nothing" else f"there {lead.measure} rests on the model alone")
        notes.append(f"{share_unlabelled(lead)} of the items have scores near which nobody labelled any: "
                     f"{ground}")
    if tag.unseen_bound is not None:
        notes.append(f"“{positive}” items not found yet: {unseen(lead)}")
    lines = ["; ".join(notes)] if notes else []
    if tag.wide_announced:
        lines.append(
            f"if some “{positive}” items have scores like all others, {lead.measure} may lie anywhere "
            f"from {wide(lead)}: the labels cannot tell"
        )
    if check := model_check(lead):
        lines.append(f"check of the model behind {lead.measure}: {check}")
    return lines


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
    """How many labels it takes to reach a goal, over worlds simulated from what is known: the median, the
    range of the middle 80% of worlds, and the share of worlds that reached the goal within the horizon."""

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
    """What is ahead of an evaluation that has not finished: the labels until its target and until its
    verdict, and the audit that would narrow a wide interval. Each is null where it does not apply."""

    target: ForecastJson | None      # until the target
    verdict: ForecastJson | None     # until the verdict
    audit: AuditPrice | None         # what would bring a wide interval down


_PRICE_DIGITS = 2   # of the ends of an interval


def outlook_json(ahead: Outlook) -> OutlookJson:
    """{"target": ..., "verdict": ...}, each null or a forecast; "audit": null or a price."""
    return {
        "target": None if ahead.target is None else forecast_json(ahead.target),
        "verdict": None if ahead.verdict is None else forecast_json(ahead.verdict),
        "audit": None if ahead.audit is None else printed(ahead.audit),
    }


def outlook_lines(ahead: Outlook) -> list[str]:
    """The forecast in lines for a terminal: one for the target, one for the verdict and one for an audit, as
    far as each is known."""
    forecasts = [forecast for forecast in (ahead.target, ahead.verdict) if forecast is not None]
    lines = [f"forecast: {forecast_in_words(forecast, ahead.budget, ahead.before)}" for forecast in forecasts]
    return lines + ([f"audit: {audit_in_words(ahead.audit)}"] if ahead.audit else [])


def forecast_json(forecast: Forecast) -> ForecastJson:
    """Plain values; "labels", "low" and "high" are null where they lie beyond the horizon."""
    goal = forecast.goal
    return {
        "half_width": goal.half_width,
        "variance": goal.variance,
        "threshold": None if goal.threshold is None else {"min": goal.threshold[0], "max": goal.threshold[1]},
        "labels": forecast.labels,
        "low": forecast.low,
        "high": forecast.high,
        "more": forecast.more,
        "horizon": forecast.horizon,
        "share_of_worlds": forecast.share,
        "worlds": forecast.worlds,
        "simulation_error": None if forecast.share_error is None else {
            "least": forecast.least, "most": forecast.most, "share_of_worlds": forecast.share_error,
        },
    }


def forecast_in_words(forecast: Forecast, budget: int | None = None, before: int = 0) -> str:
    """`± 0.05 takes about 420 labels, with 80% chance 300 to 610`; or that it takes more than the budget, and
    the chance of less; or that no target can be met within it.  before: labels that no budget counts."""
    what, targets = _goal(forecast.goal), forecast.goal.threshold is None
    labels = plural(forecast.horizon, "label")
    limit = f"the {labels} that were simulated"
    if budget is not None and forecast.horizon == budget + before:
        limit = f"the budget of {plural(budget, 'label')}"
        limit += f" and the {before:,} that were there before" if before else ""
    fewest, looks = forecast.goal.least_labels, forecast.goal.looks
    if forecast.labels is None and targets and forecast.horizon < least_budget(1, fewest, looks):
        extra_round = " and one round more" if looks > 1 else ""
        return (
            f"{what} cannot be met within {limit}: {rule_in_words(fewest, looks)}; give a budget of at least "
            f"{max(fewest - before, 1)}{extra_round}"
        )
    if forecast.labels is None:
        return f"{what} probably takes more than {limit}; the chance to get there is {forecast.share:.0%}"
    increase = f", {forecast.more:,} more than now" if forecast.labels_now else ""
    sure = words_of_range(forecast.low, forecast.high, forecast.horizon)
    early = targets and forecast.labels_now < fewest
    floor = f"; no target is met with fewer than {fewest}" if early else ""
    return f"{what} takes about {plural(forecast.labels, 'label')}{increase}, with 80% chance {sure}{floor}"


def audit_in_words(price: AuditPrice) -> str:
    """`50 more labels, spread evenly, would bring the wide interval ... to 0.61 to 0.83 ...`. One sentence
    that says what more labels would buy, and with which chance."""
    step = price.steps[0]
    chance = "under 1%" if step.chance_found < 0.01 else f"{min(step.chance_found, 0.99):.0%}"
    if price.settled_by is None:
        settled = f"only labels of all {price.items:,} items there would bring it down to the interval itself"
    elif price.settled_by == step.labels:
        settled = "that is the interval itself"
    else:
        settled = f"about {two_figures(price.settled_by):,} would bring it down to the interval itself"
    return (
        f"{step.labels:,} more labels, spread evenly, would bring the wide interval of {price.measure} from "
        f"[{_interval(price.lower, price.upper)}] to [{_interval(step.lower, step.upper)}], if no hidden "
        f"positive turns up among them (chance of one: {chance}); {settled}"
    )


def words_of_range(low: int | None, high: int | None, horizon: int) -> str:
    """A range of labels in words, `300 to 610`. An end that is None lies beyond the horizon and reads `more
    than` it; two equal texts are said once."""
    ends = [f"more than {horizon:,}" if end is None else f"{end:,}" for end in (low, high)]
    return " to ".join(dict.fromkeys(ends))


def _interval(lower: float, upper: float) -> str:
    ends = (
        wording.number(lower, _PRICE_DIGITS, ROUND_FLOOR),
        wording.number(upper, _PRICE_DIGITS, ROUND_CEILING),
    )
    return ", ".join(ends)


def _goal(goal: Goal) -> str:
    if goal.half_width is not None:
        return f"± {goal.half_width:g}"
    if goal.variance is not None:
        return f"a variance of {goal.variance:g}"
    return "a verdict on the limit"
