"""Numbers, measures, verdicts and reasons in words: for reports, alerts, histories and the terminal.

Ends of an interval are rounded outwards, so that a printed interval never looks surer than it is, and a
printed comparison with a threshold never contradicts the verdict.
"""

from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from math import ceil, log10

from assay.evalcore.measures.registry import named
from assay.tasks.report.data import EstimateRow, Moved, ReportData, Undecided

_INTERVALS = {
    "ais-normal": "normal approximation, importance-weighted draws",
    "delta-normal": "normal approximation, simple random sample",
    "exact": "exact: every label that matters is known",
}


def measure_name(name: str) -> str:
    """`f1` → `F1`, `fbeta(2)` → `F-beta (β = 2)`."""
    return named(name).title


def measure_meaning(name: str, data: ReportData) -> str:
    """The measure in half a sentence, with the classes' own names."""
    return named(name).meaning.replace("{positive}", data.positive).replace("{negative}", data.negative)


def decimals(value: float | None, lower: float | None, upper: float | None) -> int:
    """Decimals that show two figures of the half-width, and do not print 0.9998 as 1."""
    if lower is not None and upper is not None and upper > lower:
        return min(max(ceil(-log10((upper - lower) / 2)) + 1, 3), 6)
    distance = min(abs((value or 0.0) - end) for end in (0.0, 1.0))
    return 4 if distance == 0 else min(max(ceil(-log10(distance)) + 1, 4), 6)


def digits_for(row: EstimateRow) -> int:
    """The decimals of an estimate and its interval."""
    return decimals(row.value, row.lower, row.upper)


def number(x: float, digits: int = 3, rounding: str = ROUND_HALF_EVEN) -> str:
    """A decimal with a true minus sign."""
    rounded = Decimal(repr(float(x))).quantize(Decimal(1).scaleb(-digits), rounding=rounding)
    return str(rounded + 0).replace("-", "−")     # + 0: no negative zero


def shown(value: float | None, lower: float | None, upper: float | None) -> str:
    """An estimate, to the decimals that its interval calls for; `undefined` without a value."""
    return "undefined" if value is None else number(value, decimals(value, lower, upper))


def ends(
    value: float | None, lower: float | None, upper: float | None, *, between: str = " to ",
    places: int | None = None,
) -> str:
    """The interval of an estimate, `0.842 to 0.932`, rounded outwards; `none` without one.

    places   decimals; unless said, those that `decimals` gives
    """
    if lower is None or upper is None:
        return "none"
    places = decimals(value, lower, upper) if places is None else places
    return f"{number(lower, places, ROUND_FLOOR)}{between}{number(upper, places, ROUND_CEILING)}"


def in_short(value: float | None, lower: float | None, upper: float | None) -> str:
    """`0.891 [0.842, 0.932]`; `0.891` without an interval."""
    unknown = lower is None or upper is None
    return shown(value, lower, upper) + ("" if unknown else f" [{ends(value, lower, upper, between=', ')}]")


def interval(row: EstimateRow) -> str:
    """`0.842 to 0.932`, `exact` or `none`."""
    if row.lower is not None and row.upper is not None and row.interval == "exact":
        return "exact"
    return ends(row.value, row.lower, row.upper)


def has_interval(row: EstimateRow) -> bool:
    """Whether there is an interval to print."""
    return row.lower is not None and row.upper is not None and row.interval != "exact"


def value(row: EstimateRow) -> str:
    """The estimate, or `undefined: reason`."""
    return f"undefined: {row.undefined_reason}" if row.value is None else number(row.value, digits_for(row))


def half_width(row: EstimateRow) -> str:
    """Half the width of the interval, rounded up."""
    if row.lower is None or row.upper is None:
        return "–"
    return number((row.upper - row.lower) / 2, digits_for(row), ROUND_CEILING)


def interval_kind(kind: str) -> str:
    """The kind of interval in words, with its name in the ledger."""
    return f"{_INTERVALS[kind]} ({kind})" if kind in _INTERVALS else kind


def percent(share: float) -> str:
    """`95%`, `99.9%`."""
    return f"{100 * share:.4g}%"


def count(n: int) -> str:
    """`251,003`."""
    return f"{n:,}"


def plural(n: int, one: str, many: str) -> str:
    """`1 label`, `1,200 labels`."""
    return f"{n:,} {one if n == 1 else many}"


def plain(x: float) -> str:
    """A number a person wrote, as they wrote it: 0.8, not 0.800."""
    return f"{x:.10g}".replace("-", "−")


def limit(x: float) -> str:
    """What a measure is held against: as it was written, or to four decimals where it was computed."""
    return plain(round(x, 4))


def threshold(data: ReportData) -> str | None:
    """`at least 0.8`, or None when no threshold was set."""
    return allowed(data.threshold_min, data.threshold_max)


def allowed(low: float | None, high: float | None) -> str | None:
    """`between 0.8 and 0.9`, `at least 0.8`, `at most 0.9`; None without either."""
    if low is not None and high is not None:
        return f"between {plain(low)} and {plain(high)}"
    if low is not None:
        return f"at least {plain(low)}"
    return None if high is None else f"at most {plain(high)}"


def target(data: ReportData) -> str | None:
    """The precision that was asked for."""
    if data.target_half_width is not None:
        return f"half-width of at most {plain(data.target_half_width)}"
    return None if data.target_variance is None else f"variance of at most {plain(data.target_variance)}"


def stopped(data: ReportData) -> str:
    """Why it stopped, or that it has not."""
    match data.stopped_by:
        case "half_width" | "variance":
            return f"The target was met at two looks in a row: {target(data) or data.stopped_by}."
        case "budget":
            spent = f"The budget of {plural(data.budget, 'label', 'labels')} was spent"
            unmet = target(data)
            return spent + (f" before the target was met at two looks in a row ({unmet})." if unmet else ".")
        case "pool":
            return "Nothing was left whose label could change the measure."
        case None:
            return "It has not stopped: these are interim figures, and they will change."
    return str(data.stopped_by)


def verdict(data: ReportData) -> tuple[str, str] | None:
    """The verdict in a word, and what it rests on; None when no threshold was set."""
    allowed, first = threshold(data), data.estimates[0]
    if allowed is None:
        return None
    name = measure_name(first.measure)
    match data.verdict:
        case "ok":
            return "OK", f"The whole interval for {name} meets the threshold: {allowed}."
        case "breach":
            return "Breach", f"The whole interval for {name} lies outside the threshold: {allowed}."
        case "inconclusive":
            if first.value is None:
                why = f"{name} is undefined, so nothing can be said about the threshold: {allowed}."
            else:
                why = f"The interval for {name} reaches across the threshold ({allowed})."
            if data.labels_to_decide:
                why += f" About {plural(data.labels_to_decide, 'more label', 'more labels')} would decide."
            return "Inconclusive", why
    return "Not yet decided", f"The threshold is judged when the evaluation finishes: {allowed}."


def sampling(data: ReportData) -> str:
    """How the labelled items were chosen."""
    return data.sampling_note or f"Items were chosen by the method “{data.method}”."


def headline(data: ReportData) -> str:
    """The finding in one sentence."""
    row = data.estimates[0]
    name, of = measure_name(row.measure), f"{count(data.pool.n)} predictions"
    based = f"from {plural(row.labels, 'label', 'labels')} on a pool of {of}"
    if row.value is None:
        return f"{name} is undefined ({row.undefined_reason}), {based}."
    if row.interval == "exact":
        return f"{name} is {value(row)} exactly, {based}."
    if row.lower is None or row.upper is None:
        return f"{name} is estimated at {value(row)}, with no interval, {based}."
    return (
        f"{name} is estimated at {value(row)}, with a nominal {percent(row.confidence)} interval of "
        f"{interval(row)}, {based}."
    )


def people(
    rows: Sequence[EstimateRow], revision: int, items: int, moved: Sequence[Moved]
) -> list[str]:
    """How changed, undecided and missing answers changed the estimates."""
    lines = []
    if revision:
        changes = "; ".join(_moved(one) for one in moved)
        one, many = "label differs from when its round was", "labels differ from when their rounds were"
        differ = plural(items, one, many)
        lines.append(f"Revision {revision}: {differ} closed{': ' if changes else ''}{changes}.")
    whole = [row for row in rows if row.segment is None]
    bounds = [(row, row.undecided) for row in whole if row.undecided]
    if bounds:
        cannot = plural(bounds[0][1].items, "item", "items")
        lines.append(
            f"People could not decide {cannot}, which the estimates leave out. If all of them were negative, "
            f"or all positive: {'; '.join(_if_decided(row, given) for row, given in bounds)}."
        )
    gaps = next((row.nonresponse for row in whole if row.nonresponse), None)
    if gaps:
        lines.append(
            f"{plural(gaps.rounds, 'round was', 'rounds were')} closed early: "
            f"{plural(gaps.unanswered, 'item', 'items')} unanswered, a response rate of "
            f"{percent(round(gaps.response_rate, 3))}. Answered items stand for the unanswered ones "
            f"of their cell, assuming {gaps.assumption} "
            f"({plural(gaps.cells, 'cell', 'cells')} weighted, "
            f"{gaps.collapsed} collapsed with neighbours)."
        )
    return lines


def _moved(one: Moved) -> str:
    before, now = (in_short(*ends) for ends in (
        (one.value_before, one.lower_before, one.upper_before), (one.value, one.lower, one.upper)
    ))
    return f"{measure_name(one.measure)} from {before} to {now}"


def _if_decided(row: EstimateRow, given: Undecided) -> str:
    negative, positive = (
        in_short(one.value, one.lower, one.upper) for one in (given.all_negative, given.all_positive)
    )
    return f"{measure_name(row.measure)} {negative}, or {positive}"
