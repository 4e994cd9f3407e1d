"""Write a publication into a run, so that doing it again changes nothing and adds only what is new.

A run is known by the tag `assay.identity`. The tag `assay.points` counts the metrics it has; later calls add
those after them. A crash in between repeats points with the same step and time, which MLflow takes once.
"""

from dataclasses import dataclass
from typing import Any

from assay.evalcore.errors import BadInput
from assay.tasks.mlflow.publication import Publication
from assay.tasks.mlflow.tracking import refusals

IDENTITY, POINTS = "assay.identity", "assay.points"
_BATCH = 500     # metrics in one call; MLflow takes 1,000 in all


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """The run that holds it."""

    run_id: str
    experiment_id: str
    new: bool            # the run was made by this call
    metrics: int         # points that this call added


def publish_to(client: Any, publication: Publication, *, experiment: str, run: str | None) -> Published:
    """Write it into `run`, or into the run of the experiment that is its own, made if there is none.

    Raises BadInput for a run that holds another evaluation, and MlflowRefused.
    """
    with refusals():
        found = client.get_run(run) if run else _own_run(client, publication, experiment)
        new = found is None
        target = found or client.create_run(
            experiment, run_name=publication.name, tags={IDENTITY: publication.identity},
            start_time=_milliseconds(publication),
        )
        _check(target, publication)
        added = _write(client, target, publication)
        if run is None:
            _end(client, target.info.run_id, publication)
    return Published(
        run_id=target.info.run_id, experiment_id=target.info.experiment_id, new=new, metrics=added
    )


def _own_run(client: Any, publication: Publication, experiment: str) -> Any:
    """The oldest run of this identity, whoever made it; None if there is none."""
    there = client.search_runs(
        [experiment], filter_string=f"tags.`{IDENTITY}` = '{publication.identity}'",
        order_by=["attributes.start_time ASC"], max_results=1,
    )
    return there[0] if there else None


def _check(run: Any, publication: Publication) -> None:
    held = run.data.tags.get(IDENTITY, publication.identity)
    if held != publication.identity:
        name = run.data.tags.get("assay.name", "another one")
        raise BadInput(f"the run {run.info.run_id} of MLflow holds {name}, not {publication.name}; choose "
                       "another run")


def _write(client: Any, run: Any, publication: Publication) -> int:
    """Points that were added."""
    from mlflow.entities import Metric, Param, RunTag

    run_id = run.info.run_id
    told = publication.points[int(run.data.tags.get(POINTS, "0")):]
    metrics = [Metric(one.name, one.value, one.milliseconds, one.step) for one in told]
    missing = [
        Param(key, value) for key, value in publication.parameters.items()
        if run.data.params.get(key) != value     # one that differs is refused: they never change
    ]
    tags = {IDENTITY: publication.identity, "assay.name": publication.name, **publication.tags}
    client.log_batch(run_id, params=missing, tags=[RunTag(*one) for one in tags.items()])
    for start in range(0, len(metrics), _BATCH):
        client.log_batch(run_id, metrics=metrics[start:start + _BATCH])
    for path, blob in publication.files.items():
        client.log_text(run_id, blob.decode(), path)
    client.set_tag(run_id, POINTS, str(len(publication.points)))
    return len(told)


def _end(client: Any, run_id: str, publication: Publication) -> None:
    if publication.finished is not None:
        ended = round(publication.finished.timestamp() * 1000)
        client.set_terminated(run_id, "FINISHED", end_time=ended)


def _milliseconds(publication: Publication) -> int | None:
    return None if publication.began is None else round(publication.began.timestamp() * 1000)
