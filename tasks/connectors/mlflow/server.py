"""Traces and tables of a tracking server, or of its database.

    mlflow:experiment/NAME    its traces
    mlflow:run/ID             the traces of a run, such as an evaluation's; else its eval_results_table.json

The server is the one of MLFLOW_TRACKING_URI.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from assay.evalcore.errors import BadInput
from assay.tasks.mlflow.tracking import FROM_ENVIRONMENT, connected, refusals, tracking_address

SCHEME = "mlflow:"
_TABLE = "eval_results_table.json"
_PAGE = 100


def entries(given: str) -> Iterator[dict[str, Any]]:
    """Traces as mappings, or one table. Raises BadInput and MlflowRefused."""
    kind, _, name = given.removeprefix(SCHEME).partition("/")
    if kind not in ("experiment", "run") or not name:
        raise BadInput(f"{given}: write mlflow:experiment/NAME or mlflow:run/ID")
    client = connected(tracking_address(FROM_ENVIRONMENT))
    with refusals():
        if kind == "experiment":
            found = client.get_experiment_by_name(name)
            if found is None:
                raise BadInput(f"{given}: MLflow has no experiment {name!r}")
            yield from _traces(client, found.experiment_id, None)
        else:
            yield from _of_run(client, name)


def _of_run(client: Any, run_id: str) -> Iterator[dict[str, Any]]:
    run = client.get_run(run_id)
    traces = _traces(client, run.info.experiment_id, run_id)
    first = next(traces, None)
    if first is not None:
        yield first
        yield from traces
        return
    if _TABLE not in {one.path for one in client.list_artifacts(run_id)}:
        raise BadInput(f"{SCHEME}run/{run_id}: the run has neither traces nor {_TABLE}")
    with TemporaryDirectory() as folder:
        yield json.loads(Path(client.download_artifacts(run_id, _TABLE, folder)).read_bytes())


def _traces(client: Any, experiment: str, run_id: str | None) -> Iterator[dict[str, Any]]:
    """A page at a time, the oldest first."""
    page = None
    while True:
        found = client.search_traces(
            locations=[experiment], run_id=run_id, max_results=_PAGE, page_token=page,
            order_by=["timestamp_ms ASC"],
        )
        yield from (json.loads(trace.to_json()) for trace in found)
        page = found.token
        if not page:
            return
