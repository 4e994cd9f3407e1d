"""A tracking server of MLflow, or its database, through MLflow's own client.

The package is imported when it is used. mlflow-skinny suffices: the client, with databases through the
SQLAlchemy that Prefect brings. MLflow's own telemetry is switched off unless the environment says otherwise.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from assay.evalcore.errors import AssayError, BadInput, needs
from assay.tasks.secrets import refuse_secrets

FROM_ENVIRONMENT = "env"
_SECONDS = 10.0      # until a server must have answered, with anything


class MlflowRefused(AssayError):
    """MLflow could not be reached, or did not take what it was told; the message says which."""


def library() -> Any:
    """The package `mlflow`. Raises BadInput where it is not installed."""
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    with needs("mlflow", "runs and traces of MLflow"):
        import httpx  # noqa: F401
        import mlflow
    return mlflow


def tracking_address(given: str) -> str:
    """Where MLflow is: as given, or by MLFLOW_TRACKING_URI for `env`. Raises BadInput."""
    if given != FROM_ENVIRONMENT:
        refuse_secrets(given, "the address of MLflow")
        return given
    found = os.environ.get("MLFLOW_TRACKING_URI", "")
    if not found:
        raise BadInput(
            "MLFLOW_TRACKING_URI is not set; set it, or give an address, such as http://127.0.0.1:5000 or "
            "sqlite:///mlflow.db"
        )
    return found


def connected(uri: str) -> Any:
    """MLflow's client. Raises BadInput without the package, and MlflowRefused."""
    mlflow = library()
    if uri.startswith(("http://", "https://")):
        _reach(uri)
    with refusals(), needs("service", "databases of MLflow"):   # its SQLAlchemy and Alembic
        return mlflow.MlflowClient(tracking_uri=uri)


def _reach(uri: str) -> None:
    """Any answer will do: MLflow's client tries for minutes where there is none."""
    import httpx

    try:
        httpx.get(uri, timeout=_SECONDS)
    except httpx.HTTPError as error:
        raise MlflowRefused(
            f"no MLflow answers at {httpx.URL(uri).copy_with(userinfo=b'')} ({type(error).__name__}); see "
            "that the server is up and the address is right"
        ) from None


@contextmanager
def refusals() -> Iterator[None]:
    """MLflow's errors as ours."""
    from mlflow.exceptions import MlflowException

    try:
        yield
    except MlflowException as error:
        said = str(error).split("\n")[0]
        raise MlflowRefused(f"MLflow refused: {said[:500]}") from error


def experiment_of(client: Any, name: str | None) -> str:
    """The ID of an experiment, made if there is none of this name.

    name   None: by MLFLOW_EXPERIMENT_NAME, or `assay`

    Raises BadInput for one that was deleted, and MlflowRefused.
    """
    name = name or os.environ.get("MLFLOW_EXPERIMENT_NAME") or "assay"
    with refusals():
        found = client.get_experiment_by_name(name)
        if found is None:
            return str(client.create_experiment(name))
    if found.lifecycle_stage != "active":
        raise BadInput(
            f"the experiment {name!r} of MLflow was deleted; restore it (mlflow experiments restore), or "
            "choose another one"
        )
    return str(found.experiment_id)
