"""Which of a monitor's verdicts people are told.

A breach, and the return to ok after one. Signals never page anyone, and neither does a window that stays
inconclusive: the history says so. `states` tells of windows without a verdict. The outbox decides which
channel is told, and how often.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from assay.evalcore.json_values import JsonObject
from assay.evalcore.monitoring.signals import Signal
from assay.evalcore.monitoring.verdicts import Promise
from assay.tasks.alerts.alert import Alert, owned_alert, window_alert
from assay.tasks.alerts.outbox import raise_alert
from assay.tasks.ledger.life import read_last_closed
from assay.tasks.ledger.monitors import WindowVerdict, verdict_by_question
from assay.tasks.ledger.record import Ledger
from assay.tasks.report.history.words import (
    PlaceNews,
    news_of_place,
    promise_in_words,
    value_in_words,
)
from assay.tasks.spec.alerts import Alerts, Kind, window_links
from assay.tasks.spec.monitor import MonitorSpec


def tell(
    ledger: Ledger, spec: MonitorSpec, verdict: WindowVerdict, verdicts: Sequence[WindowVerdict],
    moment: datetime | None = None, signals: Sequence[Signal] = (), reasons: Mapping[int, str] | None = None,
) -> None:
    """Raise the alerts of a verdict, once.

    verdicts   all of the monitor, this one included
    moment        when they are raised
    signals    of the window's predictions
    reasons    why the spec was changed, by version
    """
    labelled: datetime | None = None
    for place in (verdict.overall, *verdict.segments):
        news = replace(
            news_of_place(verdict, place, verdicts, signals, reasons), model=spec.model_version,
            promise=promise_in_words(Promise(
                error_rate=spec.monitor.error_rate, test=spec.monitor.test, horizon=spec.monitor.horizon
            )),
        )
        kind = _kind(news)
        if kind is not None and kind in _choices(spec).tell:
            labelled = labelled or read_last_closed(Ledger(ledger.store, verdict.rests_on.evaluation))
            news = replace(news, labelled=labelled)
            raise_alert(ledger, owned_alert(alert_of(spec, news, kind), spec.ownership), moment)


def news_of(verdict: WindowVerdict) -> JsonObject:
    """The payload of the event that tells of a verdict: window, verdict, estimate with interval, labels and
    measure. Where the monitor asks several questions, `questions` holds the same for each."""
    measured = verdict.overall.measured
    verdicts = verdict_by_question(verdict)
    return {
        "number": verdict.number, "window": verdict.window, "verdict": verdict.verdict,
        "reissue": verdict.reissue, "estimate": measured.value, "lower": measured.lower,
        "upper": measured.upper, "labels": measured.labels, "measure": verdict.measure,
        "said": value_in_words(measured),
        **({} if not verdicts[1:] else {"questions": [
            {"question": part.overall.question, "measure": part.measure, "verdict": part.verdict,
             "estimate": part.overall.measured.value, "lower": part.overall.measured.lower,
             "upper": part.overall.measured.upper}
            for part in verdicts
        ]}),
    }


def _kind(news: PlaceNews) -> Kind | None:
    if news.place.verdict == "breach":
        return "breach"
    return "recovery" if news.recovers else None


def _choices(spec: MonitorSpec) -> Alerts:
    return spec.alerts or Alerts()


def alert_of(spec: MonitorSpec, news: PlaceNews, kind: Kind) -> Alert:
    """The alert of what is to be said of a place."""
    alerts, verdict, segment = _choices(spec), news.verdict, news.place.segment
    return window_alert(
        # the number is the verdict's: a window that is reissued is told again
        key=f"verdict-{verdict.number:06d}" + ("" if segment is None else f"-{_slug(verdict, segment)}"),
        kind=kind,
        severity=alerts.severity.of_kind(kind),
        monitor=spec.name,
        news=news,
        links=window_links(alerts, spec.name, verdict.window),
        group=segment or "",
    )


def _slug(verdict: WindowVerdict, segment: str) -> str:
    return f"segment-{[s.segment for s in verdict.segments].index(segment) + 1:03d}"
