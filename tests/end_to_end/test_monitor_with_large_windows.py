"""A monitor whose windows are large: workers read and freeze them, and are started once a run."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from doubles.stream import FIRST, after, monitor_data

from assay.flows.monitor.history import read_monitor_history
from assay.flows.monitor.tick import tick
from assay.flows.monitor.versions import register
from assay.flows.workers.chosen import Threads
from assay.tasks.ledger.stores.store import MemoryStore
from assay.tasks.pool import shards
from assay.tasks.pool.frozen import PART_ROWS
from assay.tasks.spec.monitor import MonitorSpec

ROWS = PART_ROWS + 5


def test_a_run_starts_its_workers_once_and_its_verdict_is_that_of_one_process(tmp_path, monkeypatch):
    monkeypatch.setattr(shards, "SHARD_ROWS", PART_ROWS)
    monkeypatch.setattr(shards, "SMALL_BYTES", 0)
    started: list[Threads] = []
    start = Threads.started
    monkeypatch.setattr(Threads, "started", lambda self: started.append(self) or start(self))
    data = a_large_window(tmp_path)
    alone = judged(data)
    assert not started
    assert judged(data | {"freeze_runner": "threads:2"}) == alone
    assert len(started) == 1
    assert (alone.window, alone.verdict.pool) == (str(FIRST), ROWS)


def judged(data):
    """The row of the only window in the history."""
    store = MemoryStore()
    register(store, MonitorSpec.from_data(data, "x"))
    assert not tick(store, "stream", moment=after(1)).failed
    [row] = read_monitor_history(store, "stream").rows
    return row


def a_large_window(folder):
    """A monitor of one window of two shards."""
    score = np.random.default_rng(0).normal(size=ROWS)
    ids = np.arange(ROWS).astype(str)
    pq.write_table(
        pa.table({"item_id": ids, "probability": 1 / (1 + np.exp(-score)), "prediction": score > 0}),
        folder / f"{FIRST}.parquet", row_group_size=40_000,
    )
    (folder / f"labels-{FIRST}.csv").write_text(
        "item_id,label\n" + "".join(f"{i},{int(s > 0)}\n" for i, s in zip(ids, score, strict=True))
    )
    data = monitor_data(folder)
    data["pool"] |= {"source": f"{folder}/{{date}}.parquet", "display": []}
    return data
