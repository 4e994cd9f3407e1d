"""What other systems are told of a monitor, as a flat list of named numbers.

The value, its ends, limits and labels are those of the newest window that was judged. A number that is not
known is left out. The age of that window grows while nothing is judged, whatever the reason.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, get_args

from assay.evalcore.evaluation.stopping import Verdict
from assay.evalcore.monitoring.verdicts import PlaceVerdict
from assay.tasks.report.history.record import HistoryRow, MonitorHistory
from assay.tasks.report.service.entries import HomeEntry


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


def _of_any(name: str, help: str, unit: Literal["", "s"] = "") -> MetricFamily:
    return MetricFamily(name=f"assay.{name}", unit=unit, help=help)


def _gauge(name: str, help: str, unit: Literal["", "s"] = "") -> MetricFamily:
    return _of_any(f"monitor.{name}", help, unit)


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


@dataclass(frozen=True, slots=True, kw_only=True)
class MonitorFigures:
    """What the numbers of a monitor are made of."""

    monitor: str
    measure: str
    bought: int                      # labels, in all windows
    states: Mapping[str, int]        # state -> windows
    newest: HistoryRow | None        # the newest with a verdict
    newest_end: datetime | None      # when that window ended
    where: Mapping[str, str] = field(default_factory=dict)   # further labels, as of its store


def samples(history: MonitorHistory, newest_end: datetime | None, now: datetime) -> list[Sample]:
    """All numbers of a monitor.

    newest_end   when the newest judged window ended; None if none was judged
    """
    return monitor_samples(MonitorFigures(
        monitor=history.monitor, measure=history.measure, bought=history.bought,
        states=Counter(row.state for row in history.rows), newest=newest_judged(history),
        newest_end=newest_end,
    ), now)


def monitor_samples(told: MonitorFigures, now: datetime) -> list[Sample]:
    """All numbers of a monitor, of these figures."""
    monitor = {**told.where, "monitor": told.monitor}
    of = {**monitor, "measure": told.measure}
    found = [Sample(family=BOUGHT, labels=monitor, value=told.bought)]
    found += [
        Sample(family=WINDOWS, labels={**monitor, "state": state}, value=told.states.get(state, 0))
        for state in sorted({*told.states, *get_args(Verdict)})
    ]
    newest, newest_end = told.newest, told.newest_end
    if newest is None or newest_end is None:
        return found
    for place in (newest.overall, *newest.segments):
        if place is not None:
            found += _of_place({**of, "segment": place.segment or ""}, place, _verdict(newest, place))
    found.append(Sample(family=END, labels=monitor, value=newest_end.timestamp()))
    found.append(Sample(family=AGE, labels=monitor, value=(now - newest_end).total_seconds()))
    return found


# Of evaluations and monitors alike, with the same labels: what a service of pages tells.

ANY_VALUE = _of_any("value", "First measure, of a monitor in its newest judged window.")
ANY_LOWER = _of_any("lower", "Lower end of its interval.")
ANY_UPPER = _of_any("upper", "Upper end of its interval.")
ANY_LIMIT = _of_any("limit", "What the measure must not be below (or above).")
ANY_LABELS = _of_any("labels", "Labels, of a monitor those of this month.")
ANY_BUDGET = _of_any("labels.budget", "Labels that may be bought, by a monitor in a month.")
ANY_BOUGHT = _of_any("labels.bought", "Labels bought, in all.")
ANY_PRICE = _of_any("price.per.label", "What a label costs, as the spec says.")
ANY_STATE = _of_any("state", "1 for the state, of a monitor that of its newest window.")
ANY_VERDICT = _of_any("verdict", "1 for the verdict, 0 for the others.")
ANY_AGE = _of_any("age", "Time since the last change.", "s")


def entry_samples(entry: HomeEntry, now: datetime) -> Iterator[Sample]:
    """The numbers of one evaluation or monitor."""
    of = {
        "store": entry.store, "name": entry.name, "kind": entry.kind, "measure": entry.measure,
        "owner": entry.ownership.owner or "", "team": entry.ownership.team or "",
    }
    value, lower, upper = entry.known
    for family, number in (
        (ANY_VALUE, value), (ANY_LOWER, lower), (ANY_UPPER, upper), (ANY_LABELS, entry.labels),
        (ANY_BUDGET, entry.budget), (ANY_BOUGHT, entry.bought), (ANY_PRICE, entry.ownership.price_per_label),
        (ANY_AGE, None if entry.changed is None else (now - entry.changed).total_seconds()),
    ):
        if number is not None:
            yield Sample(family=family, labels=of, value=float(number))
    for side, limit in zip(("below", "above"), entry.limits, strict=True):
        if limit is not None:
            yield Sample(family=ANY_LIMIT, labels={**of, "side": side}, value=limit)
    yield Sample(family=ANY_STATE, labels={**of, "state": entry.state}, value=1.0)
    for one in get_args(Verdict) if entry.limits != (None, None) else ():
        yield Sample(family=ANY_VERDICT, labels={**of, "verdict": one}, value=float(one == entry.verdict))


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
