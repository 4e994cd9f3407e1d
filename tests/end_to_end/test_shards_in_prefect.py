"""A pool whose shards are tasks of Prefect: the same ledger, and the server knows each shard."""

import os
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from doubles.specs import a_spec

from assay.flows.workers.chosen import chosen_workers
from assay.tasks.effects import effect
from assay.tasks.ledger import open_store
from assay.tasks.pool import shards
from assay.tasks.pool.freeze import freeze_pool
from assay.tasks.pool.frozen import PART_ROWS

pytestmark = pytest.mark.services
SLOW = pytest.mark.skipif("ASSAY_SLOW" not in os.environ, reason="processes take long to start: ASSAY_SLOW=1")
ROWS = PART_ROWS + 5


def frozen(store) -> dict[str, bytes]:
    return {key: store.get(key) for key in store.keys("") if "/pool/" in key or "/partitions/" in key}


@pytest.mark.parametrize("asked", [
    "prefect:threads:2",
    *(pytest.param(f"prefect:{one}", marks=SLOW) for one in ("dask", "processes:2", "ray")),
])
def test_each_shard_is_a_task_of_the_flow_run(in_prefect, tmp_path, monkeypatch, asked):
    from prefect import flow
    from prefect.runtime import flow_run

    for library in ("dask", "ray"):
        if library in asked:
            pytest.importorskip(f"prefect_{library}")
    for name in ("PREFECT_API_URL", "PREFECT_HOME"):      # as the runs of a deployment have them
        monkeypatch.setenv(name, in_prefect.environment[name])
    monkeypatch.setattr(shards, "SHARD_ROWS", PART_ROWS)
    monkeypatch.setattr(shards, "SMALL_BYTES", 0)
    score = np.random.default_rng(0).normal(size=ROWS)
    (tmp_path / "source").mkdir()
    pq.write_table(
        pa.table({"item_id": [str(i) for i in range(ROWS)], "score": score, "prediction": score > 0}),
        tmp_path / "source" / "p.parquet", row_group_size=50_000,
    )
    spec = a_spec(tmp_path / "source")
    alone, store = (open_store(str(tmp_path / name)) for name in ("alone", "ledger"))
    freeze_pool(spec, alone)

    @effect("freeze-pool", retries=0, shown=lambda what_stays_here: "freeze trial")
    def freeze(what_stays_here):
        with chosen_workers(asked) as map_over:
            return freeze_pool(spec, store, map_over=map_over)

    @flow(persist_result=False)
    def freezes(what_stays_here):
        return freeze(what_stays_here).rows, flow_run.get_id()

    rows, run_id = freezes(one for one in ())      # generators cannot travel
    assert rows == ROWS
    assert frozen(store) == frozen(alone)
    runs = _task_runs(in_prefect, run_id, at_least=3)
    assert "freeze trial" in runs
    assert {"freeze-shard-0", "freeze-shard-1"} < set(runs)
    assert set(runs.values()) == {"COMPLETED"}


def _task_runs(server, run_id: str, at_least: int) -> dict[str, str]:
    """State by name; the server may record them a little later."""
    asked = {"flow_runs": {"id": {"any_": [run_id]}}}
    give_up = time.monotonic() + 20
    while True:
        found = {run["name"]: run["state_type"] for run in server.post("task_runs/filter", asked)}
        over = len(found) >= at_least and set(found.values()) == {"COMPLETED"}
        if over or time.monotonic() > give_up:
            return found
        time.sleep(0.2)
