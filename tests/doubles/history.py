"""A monitor's history for tests: windows with a value and a state, held against a floor of 0.8."""

from datetime import UTC, datetime

from assay.evalcore.monitoring.signals import Signal
from assay.evalcore.monitoring.verdicts import Measured, PlaceVerdict, WatchedLimit
from assay.tasks.ledger.monitors import Opening, SupportingEvaluation, WindowVerdict
from assay.tasks.report.history.record import HistoryRow, MonitorHistory

FLOOR = WatchedLimit(side="below", value=0.8, name="floor")


def place(value, verdict, segment=None, evidence=1.5):
    """Half-width 0.05; without a value, without an interval."""
    lower, upper = (None, None) if value is None else (value - 0.05, value + 0.05)
    return PlaceVerdict(
        segment=segment,
        measured=Measured(value=value, lower=lower, upper=upper, confidence=0.95, labels=100),
        limits=(FLOOR,), factors=((0.0,),), evidence=(evidence,), needed=3.0, verdict=verdict,
    )


def opening(window, evaluation, **changed):
    """Of 100 labels."""
    return Opening(**{
        "window": window, "number": 1, "replaced": 0, "evaluation": evaluation, "labels": 100,
        "inherits": None, "carry": 0.0, "content": "", "files": "", "month": window[:7], "why": "first",
        "opened": datetime(2026, 11, 20, tzinfo=UTC),
        **changed,
    })


def row(window, value, state, segments=(), recent=(), **changed):
    """One window; waiting and unlabelled windows have no verdict."""
    judged = state in ("ok", "breach", "inconclusive")
    verdict = WindowVerdict(
        number=1, window=window, reissue=0, measure="f1", interval="ais-normal", pool=1000,
        rests_on=SupportingEvaluation(
            evaluation=f"s-{window}", revision=0, follow_ups=0, labels=100, bought=90
        ),
        overall=place(value, state), segments=tuple(segments),
        labels_to_decide=40 if state == "inconclusive" else None,
        dependent=False, recent=recent,
    )
    raised = Signal(name="psi", value=0.25, by_chance=0.01, raised=True)
    quiet = Signal(name="ks", value=0.01, by_chance=0.02, raised=False)
    evaluation = None if state == "unlabelled" else f"s-{window}"
    return HistoryRow(**{
        "window": window, "verdict": verdict if judged else None,
        "openings": (opening(window, evaluation, signals=(raised, quiet)),), **changed,
    })


def history(*rows, monitor="stream"):
    """Of F1."""
    return MonitorHistory(
        monitor=monitor, measure="f1", error_rate=0.05, horizon=200, test="e-detector", rows=rows,
    )
