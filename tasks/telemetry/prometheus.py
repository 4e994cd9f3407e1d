"""Figures for Prometheus: its text format, for the textfile collector of node_exporter or for a scrape."""

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


def name_of(family: MetricFamily) -> str:
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
            told = GaugeMetricFamily(name_of(family), family.help, labels=names)
            for sample in several:
                told.add_metric([sample.labels[name] for name in names], sample.value)
            yield told


def _library() -> Any:
    with needs("prometheus", "figures for Prometheus"):
        import prometheus_client
    return prometheus_client
