"""What an alert says: what moved, from what to what, with intervals, on how many labels, and where to look.

Numbers are worded as in reports: intervals are rounded outwards, so a message never looks surer than its
evidence and never contradicts the verdict it tells of.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from assay.tasks.alerts.alert import Alert
from assay.tasks.report import EstimateRow, wording
from assay.tasks.spec.alerts import Kind, Severity


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A measure at one moment."""

    when: str           # "round 4", "the window of 2026-11-20"
    row: EstimateRow


def verdict_alert(
    *,
    key: str,
    kind: Kind,
    severity: Severity,
    about: str,
    now: Reading,
    before: Reading | None,
    minimum: float | None,
    maximum: float | None,
    notes: Sequence[str] = (),
    links: Sequence[str] = (),
    group: str = "",
) -> Alert:
    """The alert of a verdict that changed.

    about              the evaluation or monitor, as people know it
    before             the reading it is compared with; None for a first one
    minimum, maximum   what the measure must keep to
    notes              further lines: the pool, why it stopped, what would decide
    """
    allowed = wording.allowed(minimum, maximum) or "not limited"
    name = wording.measure_name(now.row.measure)
    segment = f" in {now.row.segment}" if now.row.segment else ""
    what = {
        "breach": f"{name}{segment} {_short(now.row)} breached its threshold ({allowed})",
        "recovery": f"{name}{segment} has recovered: {_short(now.row)} ({allowed})",
        "inconclusive": f"{name}{segment} {_short(now.row)} may or may not keep to its threshold ({allowed})",
        "failure": f"{name}{segment} could not be judged",
    }[kind]
    meaning = {
        "breach": "The whole interval lies outside of that.",
        "recovery": "The whole interval keeps to that again.",
        "inconclusive": "The interval reaches across that.",
        "failure": "",
    }[kind]
    lines = [f"{name}{segment} is {_reading(now)}. It must be {allowed}. {meaning}".rstrip()]
    if before is not None:
        lines.append(f"Before, it was {_reading(before)}.")
    lines.append(f"It rests on {wording.plural(now.row.labels, 'label', 'labels')}.")
    return Alert(
        key=key, kind=kind, severity=severity, subject=f"{about}: {what}",
        body="\n".join([*lines, *notes]), links=tuple(links), group=group,
    )


def _short(row: EstimateRow) -> str:
    return "(undefined)" if row.value is None else wording.value(row)


def _reading(reading: Reading) -> str:
    row = reading.row
    said = wording.value(row)
    if row.interval == "exact":
        return f"{said} exactly ({reading.when})"
    if row.lower is None or row.upper is None:
        return f"{said}, with no interval ({reading.when})"
    interval = f"{wording.percent(row.confidence)} interval {wording.interval(row)}"
    return f"{said}, {interval} ({row.interval}; {reading.when})"
