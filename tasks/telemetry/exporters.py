"""Figures told to other systems: Prometheus, in its text format, and OpenTelemetry, by OTLP over HTTP;
and estimates as its events."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from assay.evalcore.errors import AssayError, needs
from assay.evalcore.evaluation.estimate import MeasureEstimate
from assay.tasks.report.history.record import MonitorHistory
from assay.tasks.telemetry.figures import MetricFamily, Sample, by_family, newest_judged
from assay.tasks.weighted.tool_scores import estimate_name


class FiguresNotWritten(AssayError):
    """The file of figures cannot be written; the message names it and the reason."""


def exposition(found: Sequence[Sample]) -> bytes:
    """Prometheus's text format. Raises MissingExtra."""
    return bytes(_library().generate_latest(_registry(found)))


def content_type() -> str:
    """Of `exposition`. Raises MissingExtra."""
    return str(_library().CONTENT_TYPE_LATEST)


def write_textfile(found: Sequence[Sample], file: Path) -> None:
    """Write the figures for the textfile collector: replaced whole, so no half-written file is ever read.

    Raises MissingExtra, and FiguresNotWritten.
    """
    library = _library()
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        library.write_to_textfile(str(file), _registry(found))
    except OSError as error:
        raise FiguresNotWritten(
            f"cannot write {file}: {error.strerror}; choose another place or free this one"
        ) from error


def prometheus_name(family: MetricFamily) -> str:
    """`assay.monitor.window.age` in seconds → `assay_monitor_window_age_seconds`."""
    return family.name.replace(".", "_") + {"": "", "s": "_seconds"}[family.unit]


def _registry(found: Sequence[Sample]) -> Any:
    registry = _library().CollectorRegistry(auto_describe=False)
    registry.register(_Collector(found))
    return registry


class _Collector:
    """What the library calls when it writes."""

    def __init__(self, found: Sequence[Sample]) -> None:
        self._found = found

    def collect(self) -> Iterator[Any]:
        from prometheus_client.core import GaugeMetricFamily

        for family, several in by_family(self._found).items():
            names = list(several[0].labels)
            told = GaugeMetricFamily(prometheus_name(family), family.help, labels=names)
            for sample in several:
                told.add_metric([sample.labels[name] for name in names], sample.value)
            yield told


def _library() -> Any:
    with needs("prometheus", "figures for Prometheus"):
        import prometheus_client
    return prometheus_client


# OpenTelemetry: sent once. Where the figures go is said by its own variables, such as
# OTEL_EXPORTER_OTLP_ENDPOINT.

TIMEOUT = 10.0   # seconds


class FiguresNotSent(AssayError):
    """The collector did not take the figures; the message says where to look."""


def send_by_otlp(found: Sequence[Sample]) -> None:
    """Send the figures. Raises MissingExtra, and FiguresNotSent."""
    with needs("otel", "figures for OpenTelemetry"):
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
        from opentelemetry.sdk.metrics.export import MetricExportResult
    exporter = OTLPMetricExporter(timeout=TIMEOUT)
    try:
        result = exporter.export(otlp_metrics(found), timeout_millis=TIMEOUT * 1000)
    finally:
        exporter.shutdown()
    if result is not MetricExportResult.SUCCESS:
        raise FiguresNotSent(
            "the OpenTelemetry collector did not take the figures; see that it is up, and what "
            "OTEL_EXPORTER_OTLP_ENDPOINT says"
        )


def otlp_metrics(found: Sequence[Sample]) -> Any:
    """The figures as the SDK's MetricsData."""
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import InMemoryMetricReader
    from opentelemetry.sdk.resources import SERVICE_NAME, Resource

    reader = InMemoryMetricReader()
    resource = Resource.create({SERVICE_NAME: "assay"})
    provider = MeterProvider([reader], resource=resource, shutdown_on_exit=False)
    meter = provider.get_meter("assay")
    for family, several in by_family(found).items():
        gauge = meter.create_gauge(family.name, unit=family.unit, description=family.help)
        for sample in several:
            gauge.set(sample.value, sample.labels)
    metrics = reader.get_metrics_data()
    provider.shutdown()
    return metrics


# Estimates as events of OpenTelemetry, `gen_ai.evaluation.result` of the GenAI conventions.
#
# The conventions have a name, a value and a label of a score; they have no bounds so far.  Ours stand beside
# them: `assay.evaluation.lower`, `.upper`, `.confidence` and `.labels`.

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
