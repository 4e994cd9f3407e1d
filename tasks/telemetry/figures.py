"""What other systems are told of a monitor, as a flat list of named numbers.

The value, its ends, limits and labels are those of the newest window that was judged. A number that is not
known is left out. The age of that window grows while nothing is judged, whatever the reason.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, get_args

from assay.evalcore.evaluation.stopping import Verdict
from assay.evalcore.monitoring.verdicts import PlaceVerdict
from assay.tasks.report.history.record import HistoryRow, MonitorHistory


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricFamily:
    """One kind of number. `name` is OpenTelemetry's; Prometheus writes its dots as underscores."""

    name: str
    unit: Literal["", "s"]     # s: seconds
    help: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One number of a metric family, with its labels."""

    family: MetricFamily
    labels: dict[str, str]
    value: float


def _gauge(name: str, help: str, unit: Literal["", "s"] = "") -> MetricFamily:
    return MetricFamily(name=f"assay.monitor.{name}", unit=unit, help=help)


VALUE = _gauge("value", "Measure in the newest judged window.")
LOWER = _gauge("lower", "Lower end of its interval.")
UPPER = _gauge("upper", "Upper end of its interval.")
LIMIT = _gauge("limit", "What the measure must not be below (or above).")
LABELS = _gauge("labels", "Labels that the value rests on.")
VERDICT = _gauge("verdict", "1 for the verdict on the newest judged window, 0 for the others.")
AGE = _gauge("window.age", "Time since the end of the newest judged window.", "s")
END = _gauge("window.end.timestamp", "End of the newest judged window, in Unix time.", "s")
WINDOWS = _gauge("windows", "Windows in each state.")
BOUGHT = _gauge("labels.bought", "Labels bought in all windows.")


def samples(history: MonitorHistory, newest_end: datetime | None, now: datetime) -> list[Sample]:
    """All numbers of a monitor.

    newest_end   when the newest judged window ended; None if none was judged
    """
    of = {"monitor": history.monitor, "measure": history.measure}
    monitor = {"monitor": history.monitor}
    found = [Sample(family=BOUGHT, labels=monitor, value=history.bought)]
    states = [row.state for row in history.rows]
    found += [
        Sample(family=WINDOWS, labels={**monitor, "state": state}, value=states.count(state))
        for state in sorted({*states, *get_args(Verdict)})
    ]
    newest = newest_judged(history)
    if newest is None or newest_end is None:
        return found
    for place in (newest.overall, *newest.segments):
        if place is not None:
            found += _of_place({**of, "segment": place.segment or ""}, place, _verdict(newest, place))
    found.append(Sample(family=END, labels=monitor, value=newest_end.timestamp()))
    found.append(Sample(family=AGE, labels=monitor, value=(now - newest_end).total_seconds()))
    return found


def newest_judged(history: MonitorHistory) -> HistoryRow | None:
    """The newest window with a verdict."""
    return next((row for row in reversed(history.rows) if row.verdict is not None), None)


def by_family(found: Sequence[Sample]) -> dict[MetricFamily, list[Sample]]:
    """The same, by kind of number."""
    families: dict[MetricFamily, list[Sample]] = {}
    for sample in found:
        families.setdefault(sample.family, []).append(sample)
    return families


def _verdict(row: HistoryRow, place: PlaceVerdict) -> str:
    """Of a segment its own; of the whole the window's, which is a breach if a segment is in one."""
    return row.state if place.segment is None else place.verdict


def _of_place(labels: dict[str, str], place: PlaceVerdict, verdict: str) -> Iterator[Sample]:
    m = place.measured
    for family, number in ((VALUE, m.value), (LOWER, m.lower), (UPPER, m.upper), (LABELS, m.labels)):
        if number is not None:
            yield Sample(family=family, labels=labels, value=number)
    for limit in place.limits:
        named = {**labels, "limit": limit.name, "side": limit.side}
        yield Sample(family=LIMIT, labels=named, value=limit.value)
    for one in get_args(Verdict):
        yield Sample(family=VERDICT, labels={**labels, "verdict": one}, value=float(one == verdict))
