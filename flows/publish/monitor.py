"""A monitor as a run of MLflow: a step for every window that was judged, at its end.

Windows are numbered from the first one of the monitor, those without predictions too. A window that is judged
again has its new figures at the same step, and MLflow shows the last.
"""

from collections.abc import Iterator
from hashlib import sha256

from assay.evalcore.monitoring.verdicts import PlaceVerdict
from assay.flows.monitor.history import read_monitor_history
from assay.flows.monitor.registry import open_monitor
from assay.flows.publish.place import address_of_store
from assay.tasks.ledger.monitors import WindowVerdict
from assay.tasks.ledger.stores.protocol import Store
from assay.tasks.mlflow.names import PREFIX, allowed_name
from assay.tasks.mlflow.publication import MetricPoint, Publication, points_of, prefixed
from assay.tasks.report.history.files import history_files
from assay.tasks.report.history.record import MonitorHistory
from assay.tasks.spec.monitor import MonitorSpec

_FILES = ("history.html", "history.json")


def monitor_publication(store: Store, name: str) -> Publication:
    """What MLflow is told. Raises UnknownMonitor."""
    history, spec = read_monitor_history(store, name), open_monitor(store, name).newest
    place = address_of_store(store)
    files = history_files(history)
    newest = next((row for row in reversed(history.rows) if row.verdict is not None), None)
    told = {
        "state": history.rows[-1].state if history.rows else None, "ledger": place,
        "verdict": newest.state if newest else None, "window": newest.window if newest else None,
    }
    return Publication(
        identity=sha256(f"{place or store.url} {name}".encode()).hexdigest()[:32],
        name=f"monitors/{name}",
        tags={f"assay.{key}": value for key, value in told.items() if value is not None},
        parameters=prefixed({"monitor": name, "measure": history.measure}),
        points=list(_points(history, spec)),
        files={f"{PREFIX}{name}": files[name] for name in _FILES},
        began=spec.first.start,
        finished=None,
    )


def _points(history: MonitorHistory, spec: MonitorSpec) -> Iterator[MetricPoint]:
    steps = {spec.first.name: 1}
    newest = spec.first
    for verdict in history.verdicts:
        window = spec.window(verdict.window)
        while newest < window:
            newest = newest.next()
            steps[newest.name] = len(steps) + 1
        for place in (verdict.overall, *verdict.segments):
            yield from points_of(
                _name(verdict, place), _numbers(place), steps[verdict.window], window.end, verdict.reissue
            )


def _name(verdict: WindowVerdict, place: PlaceVerdict) -> str:
    segment = "" if place.segment is None else f".segment.{allowed_name(place.segment)}"
    return f"{PREFIX}{allowed_name(verdict.measure)}{segment}"


def _numbers(place: PlaceVerdict) -> dict[str, float | int | None]:
    m = place.measured
    limits: dict[str, float | int | None] = {f"limit.{one.name}": one.value for one in place.limits}
    return {"": m.value, "lower": m.lower, "upper": m.upper, "labels": m.labels, **limits}
