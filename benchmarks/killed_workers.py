"""Workers are killed while they freeze a pool, one at a random moment of each freeze: is the ledger the same?

    python -m benchmarks.killed_workers --runner processes:2 --kills 20

Prints a table for docs/measured/killed-freezes.md. The process gets SIGKILL a random time after a random
shard has begun: from a thread of its own, whatever the work is doing then. The shard may be done before that;
the process dies all the same, in the middle of another.
"""

import argparse
import os
import signal
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from assay.flows.workers.chosen import chosen_workers
from assay.tasks.ledger import layout, open_store
from assay.tasks.ledger.stores.store import Store
from assay.tasks.pool import shards
from assay.tasks.pool.freeze import freeze_pool
from assay.tasks.pool.freeze_shards import FreezeShard
from assay.tasks.pool.frozen import PART_ROWS
from assay.tasks.pool.shards import MapOver
from assay.tasks.spec.evaluation import Spec

ROWS = 6 * PART_ROWS


@dataclass(frozen=True)
class KilledOnce:
    """The work; the first time that it comes to one shard, its process is killed a little later."""

    work: Callable[[Any], Any]
    shard: int
    after: float      # seconds
    folder: str       # where it is noted

    def __call__(self, one: Any) -> Any:
        """Do one shard, perhaps not to its end."""
        if one.number == self.shard:
            try:
                Path(self.folder, "chosen").touch(exist_ok=False)
            except FileExistsError:
                pass
            else:
                Thread(target=self._kill, daemon=True).start()
        return self.work(one)

    def _kill(self) -> None:
        time.sleep(self.after)
        Path(self.folder, "killed").touch()
        os.kill(os.getpid(), signal.SIGKILL)


@dataclass(frozen=True)
class _Killing:
    """A `MapOver` whose workers freeze one shard as `KilledOnce` says."""

    workers: MapOver
    shard: int
    after: float
    folder: str

    def __call__(self, work: Any, over: Any) -> Any:
        if isinstance(work, FreezeShard):
            return self.workers(KilledOnce(work, self.shard, self.after, self.folder), over)
        return self.workers(work, over)


def in_small_shards() -> None:
    """From here on a shard is one part, also of a small pool."""
    shards.SHARD_ROWS, shards.SMALL_BYTES = PART_ROWS, 0


def pool_to_freeze(folder: Path) -> Spec:
    """A pool of six shards in this folder, written unless it is there."""
    if not (folder / "predictions.parquet").exists():
        score = np.random.default_rng(0).normal(size=ROWS)
        table = pa.table({
            "item_id": [f"item-{i:08d}" for i in range(ROWS)], "score": score, "prediction": score > 0,
            "text": [f"what people see of item {i}" for i in range(ROWS)],
        })
        pq.write_table(table, folder / "predictions.parquet", row_group_size=50_000)
    return Spec.from_json({
        "name": "killed", "labels": {"positive": "yes", "negative": "no"}, "measure": "f1",
        "pool": {"source": str(folder), "id": "item_id", "score": "score", "prediction": "prediction",
                 "display": ["text"]},
        "target": {"half_width": 0.05}, "budget": {"labels": 100},
        "desk": {"kind": "simulated", "labels": "labels.csv"},
    })


def frozen_bytes(store: Store) -> dict[str, bytes]:
    """All of a ledger but the times of its source files."""
    return {key: store.get(key) for key in store.keys("") if key != layout.pool_sources("killed")}


def main() -> None:
    """See the top of this module."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runner", default="processes:2")
    parser.add_argument("--kills", type=int, default=20)
    asked = parser.parse_args()
    in_small_shards()
    rng = np.random.default_rng(1)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "source").mkdir()
        spec = pool_to_freeze(folder / "source")
        alone = open_store(str(folder / "alone"))
        began = time.perf_counter()
        freeze_pool(spec, alone)
        seconds, expected = time.perf_counter() - began, frozen_bytes(alone)
        killed = same = 0
        with chosen_workers(asked.runner) as workers:
            for freeze in range(asked.kills):
                here = folder / f"freeze-{freeze}"
                here.mkdir()
                store = open_store(str(here / "ledger"))
                shard, after = int(rng.integers(6)), float(rng.uniform(0, seconds / 6))
                freeze_pool(spec, store, map_over=_Killing(workers, shard, after, str(here)))
                killed += (here / "killed").exists()
                same += frozen_bytes(store) == expected
                print(f"{freeze + 1} freezes, {killed} kills, {same} ledgers the same", flush=True)
    print("| Runner | Freezes | A worker was killed in | Ledger the same to the byte |")
    print("|---|---:|---:|---:|")
    print(f"| `{asked.runner}` | {asked.kills} | {killed} | {same} |")


if __name__ == "__main__":
    main()
