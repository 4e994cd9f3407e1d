"""Which of a monitor's verdicts people are told.

A breach, the return to ok after one, and a window that cannot be worked on. Signals never page anyone, and
neither does a window that stays inconclusive: the history says so. The outbox decides which channel is told,
and how often.
"""

from collections.abc import Sequence

from assay.evalcore.monitoring.signals import Signal
from assay.evalcore.types import JsonObject
from assay.tasks.alerts.alert import Alert
from assay.tasks.alerts.message import window_alert
from assay.tasks.alerts.outbox import raise_alert
from assay.tasks.ledger import layout
from assay.tasks.ledger.monitors import WindowVerdict
from assay.tasks.ledger.owner import Ledger
from assay.tasks.report.history.words import PlaceNews, news_of_place, value_in_words
from assay.tasks.spec.alerts import Alerts, Kind, window_links
from assay.tasks.spec.monitor import MonitorSpec


def tell(
    ledger: Ledger, spec: MonitorSpec, verdict: WindowVerdict, verdicts: Sequence[WindowVerdict],
    signals: Sequence[Signal] = (),
) -> None:
    """Raise the alerts of a verdict, once.

    verdicts   all of the monitor, this one included
    signals    of the window's predictions
    """
    for place in (verdict.overall, *verdict.segments):
        news = news_of_place(verdict, place, verdicts, signals)
        kind = _kind(news)
        if kind is not None and kind in _choices(spec).tell:
            raise_alert(ledger, _alert(spec, news, kind))


def news_of(verdict: WindowVerdict) -> JsonObject:
    """What the event of a verdict carries."""
    measured = verdict.overall.measured
    return {
        "number": verdict.number, "window": verdict.window, "verdict": verdict.verdict,
        "revision": verdict.revision, "estimate": measured.value, "lower": measured.lower,
        "upper": measured.upper, "labels": measured.labels, "measure": verdict.measure,
        "said": value_in_words(measured),
    }


def tell_failure(ledger: Ledger, spec: MonitorSpec, window: str, message: str) -> None:
    """Raise that a window could not be worked on; the same message once."""
    if "failure" not in _choices(spec).tell:
        return
    raise_alert(ledger, Alert(
        key=f"failed-{layout.digest(f'{window} {message}'.encode())[:16]}",
        severity=_choices(spec).severity.of("failure"),
        kind="failure",
        subject=f"{spec.name}: window {window} cannot be worked on",
        body=f"{message}\n\nWhat to do: remove the cause. Every run tries the window again. Other windows "
        "are judged all the same.",
        group="failure",
    ))


def _kind(news: PlaceNews) -> Kind | None:
    if news.place.verdict == "breach":
        return "breach"
    return "recovery" if news.recovers else None


def _choices(spec: MonitorSpec) -> Alerts:
    return spec.alerts or Alerts()


def _alert(spec: MonitorSpec, news: PlaceNews, kind: Kind) -> Alert:
    alerts, verdict, segment = _choices(spec), news.verdict, news.place.segment
    return window_alert(
        # the number is the verdict's: a window that is reissued is told again
        key=f"verdict-{verdict.number:06d}" + ("" if segment is None else f"-{_slug(verdict, segment)}"),
        kind=kind,
        severity=alerts.severity.of(kind),
        monitor=spec.name,
        news=news,
        links=window_links(alerts, spec.name, verdict.window),
        group=segment or "",
    )


def _slug(verdict: WindowVerdict, segment: str) -> str:
    return f"segment-{[s.segment for s in verdict.segments].index(segment) + 1:03d}"
