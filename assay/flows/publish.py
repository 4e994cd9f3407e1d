"""Evaluations and monitors for other tools: as runs of MLflow, as scores, and as events.

**Runs.**  An evaluation has a step for every moment at which it reported estimates; a monitor one for every
window that was judged.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from assay.evalcore.errors import BadInput
from assay.evalcore.evaluation.estimate import MeasureEstimate
from assay.evalcore.monitoring.verdicts import PlaceVerdict
from assay.flows.monitor.history import read_monitor_history
from assay.flows.monitor.versions import open_monitor
from assay.flows.record.opened import Opened, open_evaluation
from assay.flows.record.standing import Moment, current_standing, moments, read_history, read_reissues
from assay.flows.report.gather import report_data
from assay.flows.weighted import PoolSample
from assay.tasks.effects import retried
from assay.tasks.ledger import layout
from assay.tasks.ledger.life import read_begun, read_closed, read_identity
from assay.tasks.ledger.monitors import WindowVerdict, means_monitor
from assay.tasks.ledger.stores.store import Store
from assay.tasks.mlflow import (
    PREFIX,
    MetricPoint,
    Publication,
    Published,
    allowed_name,
    connected,
    experiment_of,
    library,
    listed_names,
    metric_name,
    points_of,
    prefixed,
    publish_to,
    tracking_address,
)
from assay.tasks.report.files import render_report, write_files
from assay.tasks.report.history.files import history_files
from assay.tasks.report.history.record import MonitorHistory
from assay.tasks.report.standing import Standing
from assay.tasks.secrets import secret_in
from assay.tasks.spec.monitor import MonitorSpec
from assay.tasks.telemetry import events_of_evaluation, events_of_monitor, send_events
from assay.tasks.weighted.columns import column_as_texts
from assay.tasks.weighted.tool_scores import ScoresOut, score_format

if TYPE_CHECKING:
    from mlflow.entities import Run


def publication_of(store: Store, name: str) -> Publication:
    """What is told of an evaluation, or of a monitor (NAME, or monitors/NAME)."""
    if means_monitor(store, name):
        return monitor_publication(store, name.removeprefix(layout.MONITORS_PREFIX))
    return evaluation_publication(open_evaluation(store, name))


def to_mlflow(
    store: Store, name: str, uri: str, *, experiment: str | None = None, run: str | None = None
) -> Published:
    """Tell MLflow; once more, it is told only what is new.

    experiment   made if there is none of this name; None: MLFLOW_EXPERIMENT_NAME, or `assay`
    run          the ID of a run to write into; None: the one of this evaluation, made if there is none

    Raises BadInput, NothingToReport, UnknownEvaluation, UnknownMonitor and MlflowRefused.
    """
    client = connected(uri)
    publication = publication_of(store, name)
    return publish_to(
        client, publication, experiment="" if run else experiment_of(client, experiment), run=run
    )


def told_from_python(
    store: Store, name: str, run: "Run | str | None", *, uri: str | None, experiment: str | None
) -> str:
    """The same from a program that may use `mlflow` itself; the ID of the run.

    run   a run of MLflow, its ID, or None: the active run, else the evaluation's own
    uri   None: where `mlflow` would write
    """
    mlflow = library()
    chosen: Run | str | None = mlflow.active_run() if run is None else run
    run_id = chosen if chosen is None or isinstance(chosen, str) else chosen.info.run_id
    address = mlflow.get_tracking_uri() if uri is None else tracking_address(uri)
    return to_mlflow(store, name, address, experiment=experiment, run=run_id).run_id


def address_of_store(store: Store) -> str | None:
    """The address of a store, a folder in full; None where it holds a secret, or there is only memory. An
    address that begins with a scheme stays as it is written."""
    if secret_in(store.url) or store.url.startswith("memory"):
        return None
    return store.url if "://" in store.url else str(Path(store.url).resolve())


_EVALUATION_FILES = ("report.html", "report.json")


@retried
def evaluation_publication(opened: Opened) -> Publication:
    """What MLflow is told. Raises NothingToReport before the first round has closed."""
    standing = current_standing(opened)
    files = render_report(report_data(opened, standing))
    finished = standing.state == "finished"
    return Publication(
        identity=read_identity(opened.ledger),
        name=opened.name,
        tags=_tags_of_evaluation(opened, standing),
        parameters=_parameters(opened),
        points=list(_points_of_moments(opened, finished)),
        files={f"{PREFIX}{name}": files[name] for name in _EVALUATION_FILES},
        began=read_begun(opened.ledger),
        finished=read_closed(opened.ledger, standing.rounds) if finished else None,
    )


def _tags_of_evaluation(opened: Opened, standing: Standing) -> dict[str, str]:
    tags = {
        "state": standing.state, "verdict": standing.verdict, "stopped_by": standing.stopped_by,
        "revision": standing.revision, "ledger": address_of_store(opened.ledger.store),
        "version": opened.versions.get("assay"),
    }
    return {f"assay.{name}": str(value) for name, value in tags.items() if value is not None}


def _parameters(opened: Opened) -> dict[str, str]:
    """What never changes while it goes on."""
    spec = opened.spec
    return prefixed({
        "evaluation": opened.name,
        "method": opened.method.name,
        "measure": listed_names(choice.name for choice in spec.measure),
        "confidence": spec.target.confidence,
        "seed": spec.seed,
        "pool_items": opened.manifest.rows,
        "pool_digest": opened.manifest.digest,
        "systems": listed_names(spec.pool.compared) or None,
    })


def _points_of_moments(opened: Opened, finished: bool) -> Iterator[MetricPoint]:
    ledger = opened.ledger
    timeline = moments(read_history(ledger), read_reissues(ledger), finished)
    for step, moment in enumerate(timeline, 1):
        yield from _at_moment(opened, moment, step)


def _at_moment(opened: Opened, moment: Moment, step: int) -> Iterator[MetricPoint]:
    look = moment.known
    when = read_closed(opened.ledger, look.round) or read_begun(opened.ledger)
    if when is None:      # a crash lost both
        return
    numbers = {"labels": look.labels, "rounds": look.round}
    yield from points_of(PREFIX + "evaluation", numbers, step, when, step)
    for row in look.rows:
        ends = {"": row.value, "lower": row.lower, "upper": row.upper}
        yield from points_of(metric_name(row), ends, step, when, step)


_MONITOR_FILES = ("history.html", "history.json")


def monitor_publication(store: Store, name: str) -> Publication:
    """Everything that MLflow is told of a monitor: tags, parameters, one point for each judged window, and
    the files of its history. Its identity is a hash of the store's address and the name. Raises
    UnknownMonitor.

    A monitor as a run: a step for every window that was judged, at its end.

    Windows are numbered from the first one of the monitor, those without predictions too. A window that is
    judged again has its new figures at the same step, and MLflow shows the last.
    """
    history, spec = read_monitor_history(store, name), open_monitor(store, name).newest
    place = address_of_store(store)
    files = history_files(history)
    newest = next((row for row in reversed(history.rows) if row.verdict is not None), None)
    tags = {
        "state": history.rows[-1].state if history.rows else None, "ledger": place,
        "verdict": newest.state if newest else None, "window": newest.window if newest else None,
    }
    return Publication(
        identity=sha256(f"{place or store.url} {name}".encode()).hexdigest()[:32],
        name=f"monitors/{name}",
        tags={f"assay.{key}": value for key, value in tags.items() if value is not None},
        parameters=prefixed({"monitor": name, "measure": history.measure}),
        points=list(_points_of_windows(history, spec)),
        files={f"{PREFIX}{name}": files[name] for name in _MONITOR_FILES},
        began=spec.first.start,
        finished=None,
    )


def _points_of_windows(history: MonitorHistory, spec: MonitorSpec) -> Iterator[MetricPoint]:
    steps = {spec.first.name: 1}
    newest = spec.first
    for verdict in history.verdicts:
        window = spec.window(verdict.window)
        while newest < window:
            newest = newest.next()
            steps[newest.name] = len(steps) + 1
        for place in (verdict.overall, *verdict.segments):
            yield from points_of(
                _metric(verdict, place), _numbers(place), steps[verdict.window], window.end, verdict.reissue
            )


def _metric(verdict: WindowVerdict, place: PlaceVerdict) -> str:
    segment = "" if place.segment is None else f".segment.{allowed_name(place.segment)}"
    return f"{PREFIX}{allowed_name(verdict.measure)}{segment}"


def _numbers(place: PlaceVerdict) -> dict[str, float | int | None]:
    m = place.measured
    limits: dict[str, float | int | None] = {f"limit.{limit.name}": limit.value for limit in place.limits}
    return {"": m.value, "lower": m.lower, "upper": m.upper, "labels": m.labels, **limits}


@retried
def scores_of_labels(
    opened: Opened, sample: PoolSample, tool: str, *, target: str | None, run: str | None
) -> bytes:
    """The file that the tool takes in.

    target   the column of the pool's source that names trace, span or run of an item; None: the one that
             `assay import` writes

    Raises BadInput where the source lacks the column, or an item has nothing in it.
    """
    format = score_format(tool, run)
    column = target or format.target
    try:
        targets = column_as_texts(opened.spec, opened.ledger, opened.manifest, sample.rows, column)
    except BadInput as error:
        if target is None:
            raise BadInput(f"--scores {tool}: what each score is of stands in column {column!r}, unless "
                           f"--target names another: {error}") from None
        raise BadInput(f"--target {column}: {error}") from None
    missing = [row.item_id for row, value in zip(sample.rows, targets, strict=True) if not value]
    if missing:
        raise BadInput(f"--target: item {missing[0]!r} has nothing in column {column!r}, so nobody knows "
                       f"what its score is of ({len(missing):,} of {len(targets):,} labelled items)")
    answers = opened.spec.labels.answers
    return format.write(ScoresOut(
        evaluation=opened.name, item_ids=[row.item_id for row in sample.rows],
        labels=[answers.value(code) for code in sample.sample.label.tolist()], targets=targets,
        estimates=_of_whole_pool(opened), run=run,
    ))


def write_scores(file: Path, content: bytes) -> None:
    """Write a file of scores so that it is there whole or not at all; its folder is made where it is
    missing. Raises ReportNotWritten."""
    write_files({file.name: content}, file.parent)


def _of_whole_pool(opened: Opened) -> list[MeasureEstimate]:
    look = current_standing(opened).known
    return [] if look is None else [row for row in look.estimates if row.segment is None]


@retried
def send_results(store: Store, name: str) -> int:
    """Tell OpenTelemetry of an evaluation, or of the newest judged window of a monitor; how many events.

    Raises BadInput where there is no estimate yet, MissingExtra and EventsNotSent.
    """
    moment = datetime.now(UTC)
    if means_monitor(store, name):
        monitor = name.removeprefix(layout.MONITORS_PREFIX)
        events = events_of_monitor(read_monitor_history(store, monitor), moment)
    else:
        standing = current_standing(open_evaluation(store, name))
        estimates = () if standing.known is None else standing.known.estimates
        events = events_of_evaluation(name, estimates, standing.verdict, moment)
    if not events:
        raise BadInput(f"{name!r} has no estimate yet, so there is nothing to send")
    send_events(events)
    return len(events)
