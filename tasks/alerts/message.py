"""What an alert says: what moved, from what to what, with intervals, on how many labels, and where to look.

The alerts of evaluations and of monitors share their words and numbers with reports: intervals are rounded
outwards, so a message never looks surer than its evidence and never contradicts the verdict it tells of.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from assay.evalcore.monitoring.verdicts import Limit
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
    minimum, maximum   the limits that the measure must meet
    notes              further lines: the pool, why it stopped, what would decide
    """
    allowed = wording.allowed(minimum, maximum) or "not limited"
    name = _name(now.row)
    what = {
        "breach": f"{name} {_short(now.row)} breached its threshold ({allowed})",
        "recovery": f"{name} has recovered: {_short(now.row)} ({allowed})",
        "inconclusive": f"{name} {_short(now.row)} is inconclusive against its threshold ({allowed})",
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
    window: str,
    now: Reading,
    before: Reading | None,
    limits: Sequence[tuple[Limit, float]],
    needed: float,
    evaluations: Sequence[str],
    links: Sequence[str] = (),
    group: str = "",
) -> Alert:
    """The alert of a breach in a window, or of the recovery from one.

    limits   what the measure is held against, each with the log evidence against it
    needed   the log evidence at which a breach is called
    """
    what = {"breach": "is in breach", "recovery": "has recovered"}[kind]
    lines = _moved(now, before)
    for limit, evidence in limits:
        side = {"below": "at least", "above": "at most"}[limit.side]
        lines.append(
            f"It should be {side} {wording.limit(limit.value)} ({limit.name}). Log evidence against this: "
            f"{evidence:.2f}; a breach is called at {needed:.2f}."
        )
    if kind == "breach":
        lines.append(
            "The evidence is from all windows since the last breach, so this window's own interval may still "
            "reach the limit."
        )
    lines.append(f"Evaluations: {', '.join(evaluations)}. More: assay report {evaluations[-1]}")
    return Alert(
        key=key, kind=kind, severity=severity, subject=f"{monitor}: {_name(now.row)} {what}, window {window}",
        body="\n".join(lines), links=tuple(links), group=group,
    )


def _moved(now: Reading, before: Reading | None, then: str = "") -> list[str]:
    """What it is, what it was, and on how many labels that rests."""
    lines = [f"{_name(now.row)} is {_reading(now)}.{then}"]
    if before is not None:
        lines.append(f"Before, it was {_reading(before)}.")
    return [*lines, f"It rests on {wording.plural(now.row.labels, 'label', 'labels')}."]


def _name(row: EstimateRow) -> str:
    return wording.measure_name(row.measure) + (f" in {row.segment}" if row.segment else "")


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
