"""Which of a monitor's verdicts people are told.

A breach, and the return to ok after one. Signals never page anyone, and neither does a window that stays
inconclusive: the history says so. `states` tells of windows without a verdict. The outbox decides which
channel is told, and how often.
"""

from collections.abc import Sequence
from datetime import datetime

from assay.evalcore.monitoring.verdicts import PlaceVerdict
from assay.evalcore.types import JsonObject
from assay.tasks.alerts.alert import Alert
from assay.tasks.alerts.message import Reading, window_alert
from assay.tasks.alerts.outbox import raise_alert
from assay.tasks.ledger.monitors import WindowVerdict, last_certain
from assay.tasks.ledger.owner import Ledger
from assay.tasks.report import EstimateRow
from assay.tasks.spec.alerts import Alerts, Kind, report_links
from assay.tasks.spec.monitor import MonitorSpec


def tell(
    ledger: Ledger, spec: MonitorSpec, verdict: WindowVerdict, verdicts: Sequence[WindowVerdict],
    now: datetime | None = None,
) -> None:
    """Raise the alerts of a verdict, once. `verdicts`: all of them, this one included."""
    earlier = [v for v in verdicts if v.number < verdict.number]
    for place in (verdict.overall, *verdict.segments):
        kind = _kind(place, last_certain(earlier, place.segment))
        if kind is not None and kind in _choices(spec).tell:
            raise_alert(ledger, alert_of(spec, verdict, place, kind, verdicts), now)


def alert_of(
    spec: MonitorSpec, verdict: WindowVerdict, place: PlaceVerdict, kind: Kind,
    verdicts: Sequence[WindowVerdict],
) -> Alert:
    """The alert of a verdict on a place. `verdicts`: all of them."""
    earlier = [v for v in verdicts if v.number < verdict.number]
    return _alert(spec, verdict, place, kind, _before(earlier, verdict.window, place.segment))


def news_of(verdict: WindowVerdict) -> JsonObject:
    """What the event of a verdict carries."""
    measured = verdict.overall.measured
    return {
        "number": verdict.number, "window": verdict.window, "verdict": verdict.verdict,
        "revision": verdict.revision, "estimate": measured.value, "lower": measured.lower,
        "upper": measured.upper, "labels": measured.labels, "measure": verdict.measure,
    }


def _kind(place: PlaceVerdict, before: PlaceVerdict | None) -> Kind | None:
    if place.verdict == "breach":
        return "breach"
    if before is not None and before.verdict == "breach" and place.verdict == "ok":
        return "recovery"
    return None


def _choices(spec: MonitorSpec) -> Alerts:
    return spec.alerts or Alerts()


def _before(
    earlier: Sequence[WindowVerdict], window: str, segment: str | None
) -> tuple[WindowVerdict, PlaceVerdict] | None:
    """The newest verdict on an earlier window, and what it says of the same place."""
    found = [
        (verdict, place)
        for verdict in earlier if verdict.window < window
        for place in (verdict.overall, *verdict.segments) if place.segment == segment
    ]
    return max(found, key=lambda one: (one[0].window, one[0].number), default=None)


def _alert(
    spec: MonitorSpec, verdict: WindowVerdict, place: PlaceVerdict, kind: Kind,
    before: tuple[WindowVerdict, PlaceVerdict] | None,
) -> Alert:
    alerts = _choices(spec)
    names = [part.evaluation for part in verdict.parts]
    return window_alert(
        # the number is the verdict's: a window that is reissued is told again
        key=f"verdict-{verdict.number:06d}" + ("" if place.segment is None else f"-{_slug(verdict, place)}"),
        kind=kind,
        severity=alerts.severity.of(kind),
        monitor=spec.name,
        window=verdict.window,
        now=_reading(verdict, place),
        before=None if before is None else _reading(*before),
        limits=list(zip(place.limits, place.evidence, strict=True)),
        needed=place.needed,
        evaluations=names,
        links=report_links(alerts, *names),
        group=place.segment or "",
    )


def _slug(verdict: WindowVerdict, place: PlaceVerdict) -> str:
    return f"segment-{[s.segment for s in verdict.segments].index(place.segment) + 1:03d}"


def _reading(verdict: WindowVerdict, place: PlaceVerdict) -> Reading:
    measured = place.measured
    return Reading(when=f"the window of {verdict.window}", row=EstimateRow(
        measure=verdict.measure,
        segment=place.segment,
        value=measured.value,
        undefined_reason="it has no value for these labels" if measured.value is None else None,
        lower=measured.lower,
        upper=measured.upper,
        confidence=measured.confidence,
        interval="exact" if measured.exact else verdict.interval,
        labels=measured.labels,
    ))
