"""Estimates as events of OpenTelemetry, `gen_ai.evaluation.result` of the GenAI conventions.

The conventions have a name, a value and a label of a score; they have no bounds so far.  Ours stand beside
them: `assay.evaluation.lower`, `.upper`, `.confidence` and `.labels`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from assay.evalcore.errors import AssayError, needs
from assay.evalcore.evaluation.estimate import MeasureEstimate
from assay.tasks.report.history.record import MonitorHistory
from assay.tasks.telemetry.exporters import TIMEOUT
from assay.tasks.telemetry.figures import newest_judged
from assay.tasks.weighted.tool_scores import estimate_name

EVENT = "gen_ai.evaluation.result"
_NAME, _VALUE, _LABEL, _WHY = (f"gen_ai.evaluation.{key}" for key in (
    "name", "score.value", "score.label", "explanation"))
_OURS = "assay.evaluation."


class EventsNotSent(AssayError):
    """The collector did not take the events; the message says where to look."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationEvent:
    """One event."""

    attributes: Mapping[str, str | float | int]
    at: datetime


def events_of_evaluation(
    evaluation: str, estimates: Sequence[MeasureEstimate], verdict: str | None, at: datetime
) -> list[EvaluationEvent]:
    """One for each estimate that is defined; the verdict is of the first measure."""
    found = []
    for number, row in enumerate(estimates):
        if row.value is None:
            continue
        told = {
            _NAME: f"{evaluation}.{estimate_name(row)}", _VALUE: row.value, _OURS + "lower": row.lower,
            _OURS + "upper": row.upper, _OURS + "confidence": row.confidence, _OURS + "labels": row.labels,
            _LABEL: verdict if number == 0 else None, _WHY: row.interval,
        }
        found.append(EvaluationEvent(attributes=_known(told), at=at))
    return found


def events_of_monitor(history: MonitorHistory, at: datetime) -> list[EvaluationEvent]:
    """Of the newest window that was judged, of the whole and of every segment."""
    newest = newest_judged(history)
    found = []
    for place in () if newest is None else (newest.overall, *newest.segments):
        if newest is None or place is None or place.measured.value is None:
            continue
        m, whole = place.measured, place.segment is None
        name = ".".join(filter(None, (history.monitor, history.measure, place.segment)))
        told = {
            _NAME: name, _VALUE: m.value, _OURS + "lower": m.lower, _OURS + "upper": m.upper,
            _OURS + "confidence": m.confidence, _OURS + "labels": m.labels,
            _LABEL: newest.state if whole else place.verdict, _OURS + "window": newest.window,
        }
        found.append(EvaluationEvent(attributes=_known(told), at=at))
    return found


def _known(told: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in told.items() if value is not None}


def send_events(found: Sequence[EvaluationEvent]) -> None:
    """Send them by OTLP over HTTP. Raises MissingExtra, and EventsNotSent."""
    with needs("otel", "events for OpenTelemetry"):
        from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
        from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, LogRecordExportResult
    kept: Any = InMemoryLogRecordExporter()  # type: ignore[no-untyped-call]
    _record(found, kept)
    exporter: Any = OTLPLogExporter(timeout=TIMEOUT)
    try:
        result = exporter.export(kept.get_finished_logs())
    finally:
        exporter.shutdown()
    if result is not LogRecordExportResult.SUCCESS:
        raise EventsNotSent(
            "the OpenTelemetry collector did not take the events; see that it is up, and what "
            "OTEL_EXPORTER_OTLP_ENDPOINT says"
        )


def _record(found: Sequence[EvaluationEvent], exporter: Any) -> None:
    from opentelemetry._logs import LogRecord, SeverityNumber
    from opentelemetry.sdk._logs import LoggerProvider
    from opentelemetry.sdk._logs.export import SimpleLogRecordProcessor
    from opentelemetry.sdk.resources import SERVICE_NAME, Resource

    provider = LoggerProvider(Resource.create({SERVICE_NAME: "assay"}), shutdown_on_exit=False)
    provider.add_log_record_processor(SimpleLogRecordProcessor(exporter))
    logger = provider.get_logger("assay")
    for event in found:
        logger.emit(LogRecord(
            timestamp=int(event.at.timestamp() * 1e9), event_name=EVENT, severity_number=SeverityNumber.INFO,
            attributes=dict(event.attributes),
        ))
