"""What an alert says: what moved, from what to what, with intervals, on how many labels, and where to look.

The alerts of evaluations and of monitors share their words and numbers with reports: intervals are rounded
outwards, so a message never looks surer than its evidence and never contradicts the verdict it tells of.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from assay.tasks.alerts.alert import Alert
from assay.tasks.report import EstimateRow, wording
from assay.tasks.report.history import words
from assay.tasks.report.history.words import PlaceNews
from assay.tasks.spec.alerts import Kind, Severity

_TO_DO: dict[Kind, str] = {
    "breach": (
        "What to do: look at the labelled items that were predicted wrongly. If labels are wrong, correct "
        "them on the desk: the window is then judged again. If the model is worse, go back to the last good "
        "version. A recovery is told by itself."
    ),
    "recovery": "What to do: nothing. The breach is over.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureReading:
    """A measure at one moment."""

    when: str           # "round 4", "the window of 2026-11-20"
    row: EstimateRow


def verdict_alert(
    *,
    key: str,
    kind: Kind,
    severity: Severity,
    about: str,
    now: MeasureReading,
    before: MeasureReading | None,
    minimum: float | None,
    maximum: float | None,
    notes: Sequence[str] = (),
    links: Sequence[str] = (),
    group: str = "",
) -> Alert:
    """The alert of a verdict that changed.

    about              the evaluation or monitor, as people know it
    before             the reading it is compared with; None for a first one
    minimum, maximum   the limits that the measure must meet
    notes              further lines: the pool, why it stopped, what would decide
    """
    allowed = wording.allowed(minimum, maximum) or "not limited"
    name = _name(now.row)
    what = {
        "breach": f"{name} in breach: {_short(now.row)}, must be {allowed}",
        "recovery": f"{name} recovered: {_short(now.row)}, must be {allowed}",
        "inconclusive": f"{name} inconclusive: {_short(now.row)}, must be {allowed}",
        "failure": f"{name} could not be judged",
    }[kind]
    meaning = {
        "breach": "The whole interval is outside this range.",
        "recovery": "The whole interval is within this range again.",
        "inconclusive": "The interval is partly outside this range.",
        "failure": "",
    }[kind]
    lines = _moved(now, before, f" It must be {allowed}. {meaning}".rstrip())
    return Alert(
        key=key, kind=kind, severity=severity, subject=f"{about}: {what}",
        body="\n".join([*lines, *notes]), links=tuple(links), group=group,
    )


def window_alert(
    *,
    key: str,
    kind: Kind,
    severity: Severity,
    monitor: str,
    news: PlaceNews,
    links: Sequence[str] = (),
    group: str = "",
) -> Alert:
    """The alert of a breach in a window, or of the recovery from one."""
    lines = [words.what_moved(news), words.how_sure(news)]
    limits = words.limits_in_words(news.place)
    if limits:
        lines.append(f"It must be {limits}.")
    if len(news.breached) > 1:
        others = wording.plural(len(news.breached), "window")
        lines.append(f"The breach {'was' if news.recovers else 'is'} in {others}, from {news.breached[0]}.")
    lines += ["", _TO_DO[kind]]
    evaluations = [part.evaluation for part in news.verdict.parts]
    lines.append(f"Labels and answers: assay report {evaluations[-1]}. All windows: assay history {monitor}")
    return Alert(
        key=key, kind=kind, severity=severity, subject=f"{monitor}: {words.alert_headline(news)}",
        body="\n".join(lines), links=tuple(links), group=group,
    )


def _moved(now: MeasureReading, before: MeasureReading | None, then: str = "") -> list[str]:
    """What it is, what it was, and on how many labels that rests."""
    lines = [f"{_name(now.row)} is {_reading(now)}.{then}"]
    if before is not None:
        lines.append(f"Before, it was {_reading(before)}.")
    return [*lines, f"It rests on {wording.plural(now.row.labels, 'label', 'labels')}."]


def _name(row: EstimateRow) -> str:
    of = f" of {row.of}" if row.of else ""
    return wording.measure_name(row.measure) + of + (f" in {row.segment}" if row.segment else "")


def _short(row: EstimateRow) -> str:
    if row.value is None:
        return "undefined"
    if row.interval == "exact":
        return f"{wording.value_or_reason(row)} exactly"
    return wording.value_or_reason(row) + (f" ({wording.interval(row)})" if wording.has_interval(row) else "")


def _reading(reading: MeasureReading) -> str:
    row = reading.row
    said = wording.value_or_reason(row)
    if row.interval == "exact":
        return f"{said} exactly ({reading.when})"
    if row.lower is None or row.upper is None:
        return f"{said}, with no interval ({reading.when})"
    interval = f"{wording.percent(row.confidence)} interval {wording.interval(row)}"
    return f"{said}, {interval} ({row.interval}; {reading.when})"
