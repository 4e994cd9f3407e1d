"""Figures told to other systems: Prometheus, in its text format, and OpenTelemetry, by OTLP over HTTP."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from assay.evalcore.errors import AssayError, needs
from assay.tasks.telemetry.figures import MetricFamily, Sample, by_family


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
