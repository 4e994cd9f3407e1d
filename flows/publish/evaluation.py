"""An evaluation as a run of MLflow: a step for every moment at which it reported estimates."""

from collections.abc import Iterator

from assay.flows.publish.place import address_of_store
from assay.flows.record.moments import Moment, moments, read_reissues
from assay.flows.record.opened import Opened
from assay.flows.record.standing import Standing, current_standing, estimate_rows, read_history
from assay.flows.report.gather import report_data
from assay.tasks.effects.calls import retried
from assay.tasks.ledger.identity import read_identity
from assay.tasks.ledger.times import read_begun, read_closed
from assay.tasks.mlflow.names import PREFIX, metric_name
from assay.tasks.mlflow.publication import MetricPoint, Publication, listed_names, points_of, prefixed
from assay.tasks.report import render_report

_FILES = ("report.html", "report.json")


@retried
def evaluation_publication(opened: Opened) -> Publication:
    """What MLflow is told. Raises NothingToReport before the first round has closed."""
    standing = current_standing(opened)
    files = render_report(report_data(opened, standing))
    finished = standing.state == "finished"
    return Publication(
        identity=read_identity(opened.ledger),
        name=opened.name,
        tags=_tags(opened, standing),
        parameters=_parameters(opened),
        points=list(_points(opened, finished)),
        files={f"{PREFIX}{name}": files[name] for name in _FILES},
        began=read_begun(opened.ledger),
        finished=read_closed(opened.ledger, standing.rounds) if finished else None,
    )


def _tags(opened: Opened, standing: Standing) -> dict[str, str]:
    told = {
        "state": standing.state, "verdict": standing.verdict, "stopped_by": standing.stopped_by,
        "revision": standing.revision, "ledger": address_of_store(opened.ledger.store),
        "version": opened.versions.get("assay"),
    }
    return {f"assay.{name}": str(value) for name, value in told.items() if value is not None}


def _parameters(opened: Opened) -> dict[str, str]:
    """What never changes while it goes on."""
    spec = opened.spec
    return prefixed({
        "evaluation": opened.name,
        "method": opened.question.method.name,
        "measure": listed_names(choice.name for choice in spec.measure),
        "confidence": spec.target.confidence,
        "seed": spec.seed,
        "pool_items": opened.manifest.rows,
        "pool_digest": opened.manifest.digest,
        "systems": listed_names(spec.pool.compared) or None,
    })


def _points(opened: Opened, finished: bool) -> Iterator[MetricPoint]:
    ledger = opened.ledger
    told = moments(read_history(ledger), read_reissues(ledger), finished)
    for step, moment in enumerate(told, 1):
        yield from _at(opened, moment, step)


def _at(opened: Opened, moment: Moment, step: int) -> Iterator[MetricPoint]:
    known = moment.known
    when = read_closed(opened.ledger, known.round) or read_begun(opened.ledger)
    if when is None:      # a crash lost both
        return
    numbers = {"labels": known.labels, "rounds": known.round}
    yield from points_of(PREFIX + "evaluation", numbers, step, when, step)
    for row in estimate_rows(known, moment.revision):
        ends = {"": row.value, "lower": row.lower, "upper": row.upper}
        yield from points_of(metric_name(row), ends, step, when, step)
