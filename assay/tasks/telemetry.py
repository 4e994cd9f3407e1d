"""Figures told to other systems: Prometheus, in its text format, and OpenTelemetry, by OTLP over HTTP;
and estimates as its events."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, get_args

from assay.evalcore.errors import AssayError, needs
from assay.evalcore.evaluation.estimate import MeasureEstimate
from assay.evalcore.evaluation.stopping import Verdict
from assay.evalcore.monitoring.verdicts import PlaceVerdict
from assay.tasks.report.history.record import HistoryRow, MonitorHistory, row_by_question
from assay.tasks.report.service.entries import HomeEntry
from assay.tasks.weighted.tool_scores import estimate_name

if TYPE_CHECKING:
    from opentelemetry.sdk._logs.export import LogRecordExporter
    from opentelemetry.sdk.metrics.export import MetricsData
    from prometheus_client import CollectorRegistry
    from prometheus_client.core import Metric


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricFamily:
    """One kind of number. `name` is OpenTelemetry's; Prometheus writes its dots as underscores.

    What other systems are told of a monitor, as a flat list of named numbers.

    The value, its ends, limits and labels are those of the newest window that was judged. A number that is
    not known is left out. The age of that window grows while nothing is judged, whatever the reason.
    """

    name: str
    unit: Literal["", "s"]     # s: seconds
    help: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One number of a metric family, with the labels (in the sense of Prometheus: name -> value) that tell
    it from others of the family."""

    family: MetricFamily
    labels: dict[str, str]
    value: float


def _of_any(name: str, help: str, unit: Literal["", "s"] = "") -> MetricFamily:
    return MetricFamily(name=f"assay.{name}", unit=unit, help=help)


def _gauge(name: str, help: str, unit: Literal["", "s"] = "") -> MetricFamily:
    return _of_any(f"monitor.{name}", help, unit)


VALUE = _gauge("value", "Measure in the newest judged window.")
LOWER = _gauge("lower", "Lower end of its interval.")
UPPER = _gauge("upper", "Upper end of its interval.")
LIMIT = _gauge("limit", "What the measure must not be below (or above).")
LABELS = _gauge("labels", "Labels that the value rests on.")
VERDICT = _gauge("verdict", "1 for the verdict on the newest judged window, 0 for the others.")
AGE = _gauge("window.age", "Time since the end of the newest judged window.", "s")
END = _gauge("window.end.timestamp", "End of the newest judged window, in Unix time.", "s")
WINDOWS = _gauge("windows", "Windows in each state.")
BOUGHT = _gauge("labels.bought", "Labels bought in all windows.")


@dataclass(frozen=True, slots=True, kw_only=True)
class MonitorFigures:
    """What the numbers of one monitor are made of: labels bought in all windows, how many windows are in
    each state, and the newest window with a verdict and its end; both None where none has one."""

    monitor: str
    measure: str
    bought: int                      # labels, in all windows
    states: Mapping[str, int]        # state -> windows
    newest: HistoryRow | None        # the newest with a verdict
    newest_end: datetime | None      # when that window ended
    where: Mapping[str, str] = field(default_factory=dict)   # further labels, as of its store


def samples(history: MonitorHistory, newest_end: datetime | None, moment: datetime) -> list[Sample]:
    """All numbers of a monitor.

    newest_end   when the newest judged window ended; None if none was judged
    """
    return monitor_samples(MonitorFigures(
        monitor=history.monitor, measure=history.measure, bought=history.bought,
        states=Counter(row.state for row in history.rows), newest=newest_judged(history),
        newest_end=newest_end,
    ), moment)


def monitor_samples(figures: MonitorFigures, moment: datetime) -> list[Sample]:
    """All numbers of one monitor: labels bought, windows in each state and, once a window has a verdict, the
    values, limits and verdicts of the newest, when it ended, and its age in seconds at `moment`."""
    monitor = {**figures.where, "monitor": figures.monitor}
    of = {**monitor, "measure": figures.measure}
    samples = [Sample(family=BOUGHT, labels=monitor, value=figures.bought)]
    samples += [
        Sample(family=WINDOWS, labels={**monitor, "state": state}, value=figures.states.get(state, 0))
        for state in sorted({*figures.states, *get_args(Verdict)})
    ]
    newest, newest_end = figures.newest, figures.newest_end
    if newest is None or newest_end is None:
        return samples
    rows = row_by_question(newest)
    for row in rows:
        labels = of if row.verdict is None or not rows[1:] else {**of, "measure": row.verdict.measure}
        for place in (row.overall, *row.segments):
            if place is not None:
                samples += _of_place({**labels, "segment": place.segment or ""}, place, _verdict(row, place))
    samples.append(Sample(family=END, labels=monitor, value=newest_end.timestamp()))
    samples.append(Sample(family=AGE, labels=monitor, value=(moment - newest_end).total_seconds()))
    return samples


ANY_VALUE = _of_any("value", "First measure, of a monitor in its newest judged window.")
ANY_LOWER = _of_any("lower", "Lower end of its interval.")
ANY_UPPER = _of_any("upper", "Upper end of its interval.")
ANY_LIMIT = _of_any("limit", "What the measure must not be below (or above).")
ANY_LABELS = _of_any("labels", "Labels, of a monitor those of this month.")
ANY_BUDGET = _of_any("labels.budget", "Labels that may be bought, by a monitor in a month.")
ANY_BOUGHT = _of_any("labels.bought", "Labels bought, in all.")
ANY_PRICE = _of_any("price.per.label", "What a label costs, as the spec says.")
ANY_STATE = _of_any("state", "1 for the state, of a monitor that of its newest window.")
ANY_VERDICT = _of_any("verdict", "1 for the verdict, 0 for the others.")
ANY_AGE = _of_any("age", "Time since the last change.", "s")


def entry_samples(entry: HomeEntry, moment: datetime) -> Iterator[Sample]:
    """The numbers of one evaluation or monitor: the value and its interval, labels and budget, the price of
    a label, seconds since the last change, limits, state and verdict. What is not known is left out."""
    of = {
        "store": entry.store, "name": entry.name, "kind": entry.kind, "measure": entry.measure,
        "owner": entry.ownership.owner or "", "team": entry.ownership.team or "",
    }
    # of several questions each has a value; there is one number of labels for all
    values = [
        ({"measure": row.measure, "question": row.question}, row.known) for row in entry.by_question
    ] or [({}, entry.known)]
    for which, (value, lower, upper) in values:
        for family, number in ((ANY_VALUE, value), (ANY_LOWER, lower), (ANY_UPPER, upper)):
            if number is not None:
                yield Sample(family=family, labels={**of, **which}, value=float(number))
    for family, number in (
        (ANY_LABELS, entry.labels), (ANY_BUDGET, entry.budget), (ANY_BOUGHT, entry.bought),
        (ANY_PRICE, entry.ownership.price_per_label),
        (ANY_AGE, None if entry.changed is None else (moment - entry.changed).total_seconds()),
    ):
        if number is not None:
            yield Sample(family=family, labels=of, value=float(number))
    for side, limit in zip(("below", "above"), entry.limits, strict=True):
        if limit is not None:
            yield Sample(family=ANY_LIMIT, labels={**of, "side": side}, value=limit)
    yield Sample(family=ANY_STATE, labels={**of, "state": entry.state}, value=1.0)
    for word in get_args(Verdict) if entry.limits != (None, None) else ():
        yield Sample(family=ANY_VERDICT, labels={**of, "verdict": word}, value=float(word == entry.verdict))


def newest_judged(history: MonitorHistory) -> HistoryRow | None:
    """The newest window of a monitor's history that has a verdict; None where none has one."""
    return next((row for row in reversed(history.rows) if row.verdict is not None), None)


def by_family(samples: Sequence[Sample]) -> dict[MetricFamily, list[Sample]]:
    """Family -> its samples, both in the order in which they come."""
    families: dict[MetricFamily, list[Sample]] = {}
    for sample in samples:
        families.setdefault(sample.family, []).append(sample)
    return families


def _verdict(row: HistoryRow, place: PlaceVerdict) -> str:
    """Of a segment its own; of the whole the window's, which is a breach if a segment is in one."""
    return row.state if place.segment is None else place.verdict


def _of_place(labels: dict[str, str], place: PlaceVerdict, verdict: str) -> Iterator[Sample]:
    m = place.measured
    for family, number in ((VALUE, m.value), (LOWER, m.lower), (UPPER, m.upper), (LABELS, m.labels)):
        if number is not None:
            yield Sample(family=family, labels=labels, value=number)
    for limit in place.limits:
        limit_labels = {**labels, "limit": limit.name, "side": limit.side}
        yield Sample(family=LIMIT, labels=limit_labels, value=limit.value)
    for word in get_args(Verdict):
        yield Sample(family=VERDICT, labels={**labels, "verdict": word}, value=float(word == verdict))


class FiguresNotWritten(AssayError):
    """The file of figures cannot be written; the message names it and the reason."""


def exposition(samples: Sequence[Sample]) -> bytes:
    """The samples in Prometheus's text format, as bytes. Raises MissingExtra where its package is not
    installed."""
    return bytes(_library().generate_latest(_registry(samples)))


def content_type() -> str:
    """The media type of what `exposition` gives. Raises MissingExtra where the package of Prometheus is not
    installed."""
    return str(_library().CONTENT_TYPE_LATEST)


def write_textfile(samples: Sequence[Sample], file: Path) -> None:
    """Write the figures for the textfile collector: replaced whole, so no half-written file is ever read.

    Raises MissingExtra, and FiguresNotWritten.
    """
    library = _library()
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        library.write_to_textfile(str(file), _registry(samples))
    except OSError as error:
        raise FiguresNotWritten(
            f"cannot write {file}: {error.strerror}; choose another place or free this one"
        ) from error


def prometheus_name(family: MetricFamily) -> str:
    """What Prometheus calls a family: its name with underscores for dots, and `_seconds` behind it where
    that is the unit, as in `assay_monitor_window_age_seconds`."""
    return family.name.replace(".", "_") + {"": "", "s": "_seconds"}[family.unit]


def _registry(samples: Sequence[Sample]) -> "CollectorRegistry":
    registry: CollectorRegistry = _library().CollectorRegistry(auto_describe=False)
    registry.register(_Collector(samples))
    return registry


class _Collector:
    """What the library calls when it writes."""

    def __init__(self, samples: Sequence[Sample]) -> None:
        self._found = samples

    def collect(self) -> "Iterator[Metric]":
        from prometheus_client.core import GaugeMetricFamily

        for family, members in by_family(self._found).items():
            # an empty label is none
            names = list(dict.fromkeys(name for sample in members for name in sample.labels))
            metric = GaugeMetricFamily(prometheus_name(family), family.help, labels=names)
            for sample in members:
                metric.add_metric([sample.labels.get(name, "") for name in names], sample.value)
            yield metric


def _library() -> ModuleType:
    with needs("prometheus", "figures for Prometheus"):
        import prometheus_client
    return prometheus_client


EXPORT_TIMEOUT_SECONDS = 10.0   # seconds


class FiguresNotSent(AssayError):
    """The collector did not take the figures; the message says where to look."""


def send_by_otlp(samples: Sequence[Sample]) -> None:
    """Send the samples to an OpenTelemetry collector, by OTLP over HTTP; OTEL_EXPORTER_OTLP_ENDPOINT says
    where it is. Raises MissingExtra without the packages, and FiguresNotSent where it does not take them.

    OpenTelemetry: sent once. Where the figures go is said by its own variables, such as
    OTEL_EXPORTER_OTLP_ENDPOINT.
    """
    with needs("otel", "figures for OpenTelemetry"):
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
        from opentelemetry.sdk.metrics.export import MetricExportResult
    exporter = OTLPMetricExporter(timeout=EXPORT_TIMEOUT_SECONDS)
    try:
        result = exporter.export(otlp_metrics(samples), timeout_millis=EXPORT_TIMEOUT_SECONDS * 1000)
    finally:
        exporter.shutdown()
    if result is not MetricExportResult.SUCCESS:
        raise FiguresNotSent(
            "the OpenTelemetry collector did not take the figures; see that it is up, and what "
            "OTEL_EXPORTER_OTLP_ENDPOINT says"
        )


def otlp_metrics(samples: Sequence[Sample]) -> "MetricsData":
    """The samples as MetricsData of OpenTelemetry's SDK: a gauge for each family, with a point for each
    sample."""
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import InMemoryMetricReader
    from opentelemetry.sdk.resources import SERVICE_NAME, Resource

    reader = InMemoryMetricReader()
    resource = Resource.create({SERVICE_NAME: "assay"})
    provider = MeterProvider([reader], resource=resource, shutdown_on_exit=False)
    meter = provider.get_meter("assay")
    for family, members in by_family(samples).items():
        gauge = meter.create_gauge(family.name, unit=family.unit, description=family.help)
        for sample in members:
            gauge.set(sample.value, sample.labels)
    metrics = reader.get_metrics_data()
    provider.shutdown()
    return metrics or MetricsData(resource_metrics=[])


EVENT = "gen_ai.evaluation.result"
_NAME, _VALUE, _LABEL, _WHY = (f"gen_ai.evaluation.{key}" for key in (
    "name", "score.value", "score.label", "explanation"))
_OURS = "assay.evaluation."


class EventsNotSent(AssayError):
    """The collector did not take the events; the message says where to look."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationEvent:
    """One event that tells OpenTelemetry of an estimate: its attributes, name -> value, and the time that it
    is about.

    Estimates as events of OpenTelemetry, `gen_ai.evaluation.result` of the GenAI conventions.

    The conventions have a name, a value and a label of a score; they have no bounds so far.  Ours stand
    beside them: `assay.evaluation.lower`, `.upper`, `.confidence` and `.labels`.
    """

    attributes: Mapping[str, str | float | int]
    at: datetime


def events_of_evaluation(
    evaluation: str, estimates: Sequence[MeasureEstimate], verdict: str | None, at: datetime
) -> list[EvaluationEvent]:
    """One for each estimate that is defined; the verdict is of the first measure."""
    events = []
    for number, row in enumerate(estimates):
        if row.value is None:
            continue
        attributes: dict[str, str | float | None] = {
            _NAME: f"{evaluation}.{estimate_name(row)}", _VALUE: row.value, _OURS + "lower": row.lower,
            _OURS + "upper": row.upper, _OURS + "confidence": row.confidence, _OURS + "labels": row.labels,
            _LABEL: verdict if number == 0 else None, _WHY: row.interval,
        }
        events.append(EvaluationEvent(attributes=_known(attributes), at=at))
    return events


def events_of_monitor(history: MonitorHistory, at: datetime) -> list[EvaluationEvent]:
    """Of the newest window that was judged, of the whole and of every segment."""
    newest = newest_judged(history)
    events = []
    rows = [] if newest is None else row_by_question(newest)
    for row, place in ((entry, place) for entry in rows for place in (entry.overall, *entry.segments)):
        if row.verdict is None or place is None or place.measured.value is None:
            continue
        m, is_whole = place.measured, place.segment is None
        measure = row.verdict.measure if rows[1:] else history.measure
        name = ".".join(filter(None, (history.monitor, measure, place.segment)))
        attributes: dict[str, str | float | None] = {
            _NAME: name, _VALUE: m.value, _OURS + "lower": m.lower, _OURS + "upper": m.upper,
            _OURS + "confidence": m.confidence, _OURS + "labels": m.labels,
            _LABEL: row.state if is_whole else place.verdict, _OURS + "window": row.window,
        }
        events.append(EvaluationEvent(attributes=_known(attributes), at=at))
    return events


def _known(attributes: Mapping[str, str | float | None]) -> dict[str, str | float]:
    return {name: value for name, value in attributes.items() if value is not None}


def send_events(events: Sequence[EvaluationEvent]) -> None:
    """Send the events to an OpenTelemetry collector, by OTLP over HTTP; OTEL_EXPORTER_OTLP_ENDPOINT says
    where it is. Raises MissingExtra without the packages, and EventsNotSent where it does not take them."""
    with needs("otel", "events for OpenTelemetry"):
        from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
        from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, LogRecordExportResult
    recorder = InMemoryLogRecordExporter()  # type: ignore[no-untyped-call]
    _record(events, recorder)
    exporter: Any = OTLPLogExporter(timeout=EXPORT_TIMEOUT_SECONDS)
    try:
        result = exporter.export(recorder.get_finished_logs())
    finally:
        exporter.shutdown()
    if result is not LogRecordExportResult.SUCCESS:
        raise EventsNotSent(
            "the OpenTelemetry collector did not take the events; see that it is up, and what "
            "OTEL_EXPORTER_OTLP_ENDPOINT says"
        )


def _record(events: Sequence[EvaluationEvent], exporter: "LogRecordExporter") -> None:
    from opentelemetry._logs import LogRecord, SeverityNumber
    from opentelemetry.sdk._logs import LoggerProvider
    from opentelemetry.sdk._logs.export import SimpleLogRecordProcessor
    from opentelemetry.sdk.resources import SERVICE_NAME, Resource

    provider = LoggerProvider(Resource.create({SERVICE_NAME: "assay"}), shutdown_on_exit=False)
    provider.add_log_record_processor(SimpleLogRecordProcessor(exporter))
    logger = provider.get_logger("assay")
    for event in events:
        logger.emit(LogRecord(
            timestamp=int(event.at.timestamp() * 1e9), event_name=EVENT, severity_number=SeverityNumber.INFO,
            attributes=dict(event.attributes),
        ))
