"""Publish an evaluation or a monitor: to MLflow."""

from typing import Any

from assay.flows.publish.evaluation import evaluation_publication
from assay.flows.publish.monitor import monitor_publication
from assay.flows.record.opened import open_evaluation
from assay.tasks.ledger import layout
from assay.tasks.ledger.monitors import means_monitor
from assay.tasks.ledger.stores.protocol import Store
from assay.tasks.mlflow.publication import Publication
from assay.tasks.mlflow.runs import Published, publish_to
from assay.tasks.mlflow.tracking import connected, experiment_of, library, tracking_address


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


def told_from_python(store: Store, name: str, run: Any, *, uri: str | None, experiment: str | None) -> str:
    """The same from a program that may use `mlflow` itself; the ID of the run.

    run   a run of MLflow, its ID, or None: the active run, else the evaluation's own
    uri   None: where `mlflow` would write
    """
    mlflow = library()
    chosen = mlflow.active_run() if run is None else run
    given = getattr(getattr(chosen, "info", None), "run_id", chosen)
    where = mlflow.get_tracking_uri() if uri is None else tracking_address(uri)
    return to_mlflow(store, name, where, experiment=experiment, run=given).run_id
