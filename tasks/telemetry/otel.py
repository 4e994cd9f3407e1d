"""Figures for OpenTelemetry: sent once, by OTLP over HTTP.

Where they go is said by OpenTelemetry's own variables, such as OTEL_EXPORTER_OTLP_ENDPOINT.
"""

from collections.abc import Sequence
from typing import Any

from assay.evalcore.errors import AssayError, needs
from assay.tasks.telemetry.figures import Sample, by_family

TIMEOUT = 10.0   # seconds


class FiguresNotSent(AssayError):
    """The collector did not take the figures; the message says where to look."""


def send(found: Sequence[Sample]) -> None:
    """Send the figures. Raises MissingExtra, and FiguresNotSent."""
    with needs("otel", "figures for OpenTelemetry"):
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
        from opentelemetry.sdk.metrics.export import MetricExportResult
    exporter = OTLPMetricExporter(timeout=TIMEOUT)
    try:
        result = exporter.export(metrics_of(found), timeout_millis=TIMEOUT * 1000)
    finally:
        exporter.shutdown()
    if result is not MetricExportResult.SUCCESS:
        raise FiguresNotSent(
            "the OpenTelemetry collector did not take the figures; see that it is up, and what "
            "OTEL_EXPORTER_OTLP_ENDPOINT says"
        )


def metrics_of(found: Sequence[Sample]) -> Any:
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
