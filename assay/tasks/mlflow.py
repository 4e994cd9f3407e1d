"""What MLflow is told of one evaluation or monitor, on which server, and how it is told once: a run with
tags, parameters, metrics and files.

Names are made fit for MLflow, and stay apart.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from types import ModuleType
from typing import TYPE_CHECKING

from assay.evalcore.errors import AssayError, BadInput, needs
from assay.evalcore.evaluation.estimate import MeasureEstimate
from assay.tasks.secrets import refuse_secrets

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Run

FROM_ENVIRONMENT = "env"
_ANSWER_SECONDS = 10.0   # until a server must have answered, with anything


class MlflowRefused(AssayError):
    """MLflow could not be reached, or did not take what it was told; the message says which."""


def library() -> ModuleType:
    """The package `mlflow`, imported when it is first needed, its telemetry off unless the environment says
    otherwise. Raises MissingExtra, a BadInput, where it is not installed.

    A tracking server of MLflow, or its database, through MLflow's own client.

    The package is imported when it is used. mlflow-skinny suffices: the client, with databases through the
    SQLAlchemy that Prefect brings. MLflow's own telemetry is switched off unless the environment says
    otherwise.
    """
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    with needs("mlflow", "runs and traces of MLflow"):
        import httpx  # noqa: F401
        import mlflow
    return mlflow


def tracking_address(setting: str) -> str:
    """Where MLflow is: as given, or by MLFLOW_TRACKING_URI for `env`. Raises BadInput."""
    if setting != FROM_ENVIRONMENT:
        refuse_secrets(setting, "the address of MLflow")
        return setting
    address = os.environ.get("MLFLOW_TRACKING_URI", "")
    if not address:
        raise BadInput(
            "MLFLOW_TRACKING_URI is not set; set it, or give an address, such as http://127.0.0.1:5000 or "
            "sqlite:///mlflow.db"
        )
    return address


def connected(uri: str) -> "MlflowClient":
    """MLflow's client for the server or database at an address. Raises MissingExtra where a package is not
    installed, and MlflowRefused where no server answers or MLflow refuses."""
    mlflow = library()
    if uri.startswith(("http://", "https://")):
        _reach(uri)
    with refusals(), needs("service", "databases of MLflow"):   # its SQLAlchemy and Alembic
        client: MlflowClient = mlflow.MlflowClient(tracking_uri=uri)
        return client


def _reach(uri: str) -> None:
    """Any answer will do: MLflow's client tries for minutes where there is none."""
    import httpx

    try:
        httpx.get(uri, timeout=_ANSWER_SECONDS)
    except httpx.HTTPError as error:
        raise MlflowRefused(
            f"no MLflow answers at {httpx.URL(uri).copy_with(userinfo=b'')} ({type(error).__name__}); see "
            "that the server is up and the address is right"
        ) from None


@contextmanager
def refusals() -> Iterator[None]:
    """A context in which an error of MLflow is raised as MlflowRefused, with the first line of what MLflow
    said (at most 500 characters)."""
    from mlflow.exceptions import MlflowException

    try:
        yield
    except MlflowException as error:
        message = str(error).split("\n")[0]
        raise MlflowRefused(f"MLflow refused: {message[:500]}") from error


def experiment_of(client: "MlflowClient", name: str | None) -> str:
    """The ID of an experiment, made if there is none of this name.

    name   None: by MLFLOW_EXPERIMENT_NAME, or `assay`

    Raises BadInput for one that was deleted, and MlflowRefused.
    """
    name = name or os.environ.get("MLFLOW_EXPERIMENT_NAME") or "assay"
    with refusals():
        experiment = client.get_experiment_by_name(name)
        if experiment is None:
            return str(client.create_experiment(name))
    if experiment.lifecycle_stage != "active":
        raise BadInput(
            f"the experiment {name!r} of MLflow was deleted; restore it (mlflow experiments restore), or "
            "choose another one"
        )
    return str(experiment.experiment_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricPoint:
    """One value of a metric, as MLflow takes it: the metric's name, the value, the step that it belongs to,
    and the time in milliseconds since 1970."""

    name: str
    value: float
    step: int
    milliseconds: int        # Unix time


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """All of it. The same ledger gives the same points in the same order, and later ones come after them."""

    identity: str                     # tells the runs of different evaluations apart
    name: str                         # of the run
    tags: Mapping[str, str]
    parameters: Mapping[str, str]
    points: Sequence[MetricPoint]
    files: Mapping[str, bytes]        # path in the run -> text
    began: datetime | None
    finished: datetime | None         # None while it goes on


def points_of(
    name: str, numbers: Mapping[str, float | int | None], step: int, moment: datetime, order: int = 0
) -> Iterator[MetricPoint]:
    """`name`, `name.lower` ... at one step; what is undefined is left out.

    numbers   what follows the name -> its value; "" for the value itself
    order     of what was told at the same moment: MLflow shows the last
    """
    milliseconds = round(moment.timestamp() * 1000) + order
    for part, value in numbers.items():
        if value is not None:
            full = f"{name}.{part}" if part else name
            yield MetricPoint(name=full, value=float(value), step=step, milliseconds=milliseconds)


def prefixed(values: Mapping[str, object]) -> dict[str, str]:
    """Parameters as MLflow gets them: names with `assay/` in front -> values as text. What is None is left
    out."""
    return {PREFIX + name: str(value) for name, value in values.items() if value is not None}


def listed_names(names: Iterable[str]) -> str:
    """The names, joined by commas, as the value of one parameter; cut off after the 6,000 characters that
    MLflow takes."""
    return ", ".join(names)[:6000]


PREFIX = "assay/"            # of metrics and parameters: a run may hold those of a training too
_NOT_ALLOWED = re.compile(r"[^A-Za-z0-9_ -]")
_LONGEST_METRIC_PART, _DIGEST = 40, 8   # of one part


def metric_name(row: MeasureEstimate) -> str:
    """What MLflow calls the metric of an estimate: `assay/`, then the measure and what it is of, joined by
    dots, as in `assay/recall.class.cat` and `assay/f1.system.new.minus.old`. Each part is made of letters
    that MLflow takes.

    Names that MLflow accepts.

    MLflow's names hold letters, digits, and `_`, `-`, `.`, ` ` and `/`, at most 250 characters. Names of
    classes, systems and segments may hold anything: what is not allowed becomes `_`, and a digest of the
    whole name keeps such names apart. A dot is ours: it separates the parts.
    """
    parts = [allowed_name(row.measure)]
    if row.curve is not None and row.curve != row.measure:
        parts += ["of", allowed_name(row.curve)]
    if row.system is not None:
        parts += ["system", allowed_name(row.system)]
    if row.versus is not None:
        parts += ["minus", allowed_name(row.versus)]
    if row.question is not None:
        parts += ["question", allowed_name(row.question)]
    if row.class_name is not None:
        parts += ["class", allowed_name(row.class_name)]
    if row.at is not None:
        parts += ["at", f"{row.at:g}"]
    if row.segment is not None:
        parts += ["segment", allowed_name(row.segment)]
    return PREFIX + ".".join(parts)


def allowed_name(text: str) -> str:
    """The text as a part of a name; another text never gives the same."""
    short = _NOT_ALLOWED.sub("_", text)[:_LONGEST_METRIC_PART]
    return short if short == text else f"{short}-{sha256(text.encode()).hexdigest()[:_DIGEST]}"


IDENTITY, POINTS = "assay.identity", "assay.points"
_METRICS_OF_CALL = 500   # metrics in one call; MLflow takes 1,000 in all


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """The run of MLflow that holds an evaluation or monitor: its id and that of its experiment, whether this
    call made it, and how many points of metrics this call added.

    Write a publication into a run, so that doing it again changes nothing and adds only what is new.

    A run is known by the tag `assay.identity`. The tag `assay.points` counts the metrics it has; later calls
    add those after them. A crash in between repeats points with the same step and time, which MLflow takes
    once.
    """

    run_id: str
    experiment_id: str
    new: bool            # the run was made by this call
    metrics: int         # points that this call added


def publish_to(
    client: "MlflowClient", publication: Publication, *, experiment: str, run: str | None
) -> Published:
    """Write it into `run`, or into the run of the experiment that is its own, made if there is none.

    Raises BadInput for a run that holds another evaluation, and MlflowRefused.
    """
    with refusals():
        old_run = client.get_run(run) if run else _own_run(client, publication, experiment)
        new = old_run is None
        target = old_run or client.create_run(
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


def _own_run(client: "MlflowClient", publication: Publication, experiment: str) -> "Run | None":
    """The oldest run of this identity, whoever made it; None if there is none."""
    runs = client.search_runs(
        [experiment], filter_string=f"tags.`{IDENTITY}` = '{publication.identity}'",
        order_by=["attributes.start_time ASC"], max_results=1,
    )
    return runs[0] if runs else None


def _check(run: "Run", publication: Publication) -> None:
    held = run.data.tags.get(IDENTITY, publication.identity)
    if held != publication.identity:
        name = run.data.tags.get("assay.name", "another one")
        raise BadInput(f"the run {run.info.run_id} of MLflow holds {name}, not {publication.name}; choose "
                       "another run")


def _write(client: "MlflowClient", run: "Run", publication: Publication) -> int:
    """Points that were added."""
    from mlflow.entities import Metric, Param, RunTag

    run_id = run.info.run_id
    points = publication.points[int(run.data.tags.get(POINTS, "0")):]
    metrics = [Metric(point.name, point.value, point.milliseconds, point.step) for point in points]
    missing = [
        Param(key, value) for key, value in publication.parameters.items()
        if run.data.params.get(key) != value     # one that differs is refused: they never change
    ]
    tags = {IDENTITY: publication.identity, "assay.name": publication.name, **publication.tags}
    client.log_batch(run_id, params=missing, tags=[RunTag(*tag) for tag in tags.items()])
    for start in range(0, len(metrics), _METRICS_OF_CALL):
        client.log_batch(run_id, metrics=metrics[start:start + _METRICS_OF_CALL])
    for path, blob in publication.files.items():
        client.log_text(run_id, blob.decode(), path)
    client.set_tag(run_id, POINTS, str(len(publication.points)))
    return len(points)


def _end(client: "MlflowClient", run_id: str, publication: Publication) -> None:
    if publication.finished is not None:
        ended = round(publication.finished.timestamp() * 1000)
        client.set_terminated(run_id, "FINISHED", end_time=ended)


def _milliseconds(publication: Publication) -> int | None:
    return None if publication.began is None else round(publication.began.timestamp() * 1000)
