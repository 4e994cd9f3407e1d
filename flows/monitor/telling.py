"""What a monitor's verdicts are worth telling, and in which words.

A breach, the return to ok after one, and a window that cannot be worked on. Signals never page anyone, and
neither does a window that stays inconclusive: the history says so. Who hears of what, and how often, is the
outbox's business.
"""

from collections.abc import Sequence
from typing import Any

from assay.tasks.alerts.alert import Alert
from assay.tasks.alerts.outbox import raise_alert
from assay.tasks.ledger import layout
from assay.tasks.ledger.monitors import PlaceVerdict, WindowVerdict, last_certain
from assay.tasks.ledger.owner import Ledger
from assay.tasks.spec.alerts import Alerts, Kind, report_links
from assay.tasks.spec.monitor import MonitorSpec


def tell(
    ledger: Ledger, spec: MonitorSpec, verdict: WindowVerdict, verdicts: Sequence[WindowVerdict]
) -> None:
    """Raise the alerts of a verdict, once. `verdicts`: all of them, this one included."""
    earlier = [v for v in verdicts if v.number < verdict.number]
    for place in (verdict.overall, *verdict.segments):
        kind = _kind(place, last_certain(earlier, place.segment))
        if kind is not None and kind in _choices(spec).tell:
            alert = _alert(spec, verdict, place, kind, _before(earlier, verdict.window, place.segment))
            raise_alert(ledger, alert)


def news_of(verdict: WindowVerdict) -> dict[str, Any]:
    """What the event of a verdict carries."""
    measured = verdict.overall.measured
    return {
        "number": verdict.number, "window": verdict.window, "verdict": verdict.verdict,
        "revision": verdict.revision, "estimate": measured.value, "lower": measured.lower,
        "upper": measured.upper, "labels": measured.labels, "measure": verdict.measure,
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
        body=message,
        group="failure",
    ))


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
) -> tuple[str, PlaceVerdict] | None:
    """The newest earlier window, and what was said of the same place in it."""
    found = [
        (verdict.number, verdict.window, place)
        for verdict in earlier if verdict.window < window
        for place in (verdict.overall, *verdict.segments) if place.segment == segment
    ]
    if not found:
        return None
    _, name, place = max(found, key=lambda one: (one[1], one[0]))
    return name, place


def _alert(
    spec: MonitorSpec, verdict: WindowVerdict, place: PlaceVerdict, kind: Kind,
    before: tuple[str, PlaceVerdict] | None,
) -> Alert:
    where = "" if place.segment is None else f" in {place.segment}"
    alerts = _choices(spec)
    said = {"breach": "is in breach", "recovery": "has recovered"}[kind]
    return Alert(
        # the number is the verdict's: a window that is reissued is told again
        key=f"verdict-{verdict.number:06d}" + ("" if place.segment is None else f"-{_slug(verdict, place)}"),
        severity=alerts.severity.of(kind),
        kind=kind,
        subject=f"{spec.name}: {verdict.measure}{where} {said}, window {verdict.window}",
        body="\n".join(_body(verdict, place, kind, before)),
        links=report_links(alerts, *(part.evaluation for part in verdict.parts)),
        group=place.segment or "",
    )


def _slug(verdict: WindowVerdict, place: PlaceVerdict) -> str:
    return f"segment-{[s.segment for s in verdict.segments].index(place.segment) + 1:03d}"


def _body(
    verdict: WindowVerdict, place: PlaceVerdict, kind: Kind, before: tuple[str, PlaceVerdict] | None
) -> list[str]:
    where = "" if place.segment is None else f" in {place.segment}"
    lines = [f"{verdict.measure}{where} in window {verdict.window}: {_said(place)} ({verdict.interval})."]
    if before is not None:
        lines.append(f"In window {before[0]} it was {_said(before[1])}.")
    for limit, evidence in zip(place.limits, place.evidence, strict=True):
        word = {"below": "at least", "above": "at most"}[limit.side]
        lines.append(
            f"It should be {word} {limit.value:.4f} ({limit.name}). Log evidence against that: "
            f"{evidence:.2f}; a breach is called at {place.needed:.2f}."
        )
    if kind == "breach":
        lines.append(
            "The evidence is of all windows since the last breach: this window's own interval may still "
            "reach the limit."
        )
    names = [part.evaluation for part in verdict.parts]
    lines.append(f"Evaluations: {', '.join(names)}. More: assay report {names[-1]}")
    return lines


def _said(place: PlaceVerdict) -> str:
    m = place.measured
    value = "undefined" if m.value is None else f"{m.value:.4f}"
    interval = "" if m.lower is None or m.upper is None else (
        f", {m.confidence:.0%} interval {m.lower:.4f} to {m.upper:.4f}"
    )
    return f"{value}{interval}, on {m.labels} labels"
