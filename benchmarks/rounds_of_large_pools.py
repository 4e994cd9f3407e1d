"""What rounds cost after a freeze, by the number of items: plan, post, collect and estimate.

    PYTHONPATH=tests python -m benchmarks.rounds_of_large_pools [ROWS ...]    by default 10,000 and 10,000,000

The pools differ in nothing but their number of rows, and nothing is shown of their items: what is shown is
read from the source, and costs what the source's row groups cost. They are frozen into folders, and twelve
rounds of 50 labels are run on each, by an `advance` that begins with nothing in memory. Calls and bytes are
those of the ledger.
"""

import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from assay.flows.evaluation.advance import advance
from assay.flows.evaluation.begin import begin
from assay.tasks.ledger import open_store
from assay.tasks.spec.evaluation import Spec
from assay.tasks.testing import FakeDesk
from benchmarks.ledger_cost.watched import Watched

ROUNDS, LABELS = 12, 50
_AT_ONCE = 1 << 20


class Known(dict[str, str | None]):
    """The answers: nine items in ten of those predicted positive are, and one in a hundred of the others."""

    def __contains__(self, item_id: object) -> bool:
        return True

    def __missing__(self, item_id: str) -> str:
        number, predicted = item_id.split("-")
        return "yes" if int(number) % 100 < (90 if predicted == "p" else 1) else "no"


def write_pool(path: Path, rows: int) -> None:
    """Normal scores; an id says what is predicted of its item."""
    rng, writer = np.random.default_rng(0), None
    for start in range(0, rows, _AT_ONCE):
        score = rng.normal(-3, 2, min(_AT_ONCE, rows - start))
        says = np.where(score > 0.5, "-p", "-n")
        table = pa.table({
            "item_id": np.char.add(np.arange(start, start + len(score)).astype(str), says), "score": score,
            "region": np.where(np.arange(len(score)) % 3, "north", "south"),
        })
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    if writer is not None:
        writer.close()


def measured(folder: Path, rows: int) -> Iterator[str]:
    """The row of the table of one pool."""
    folder.mkdir()
    write_pool(folder / "pool.parquet", rows)
    spec = Spec.from_json({
        "name": "large", "measure": ["f1", "precision", "recall"], "target": {"half_width": 1e-6},
        "pool": {"source": str(folder / "pool.parquet"), "id": "item_id", "score": "score",
                 "threshold": 0.5, "segments": ["region"]},
        "labels": {"positive": "yes", "negative": "no"}, "budget": {"labels": ROUNDS * LABELS},
        "batch_size": LABELS, "desk": {"kind": "simulated", "labels": "labels.csv"},
    }, origin="the benchmark")
    store, desk = open_store(str(folder / "ledger")), FakeDesk()
    start = time.perf_counter()
    begin(store, spec, desk)
    yield f"{rows:,}"
    yield f"{time.perf_counter() - start:.1f}"
    yield f"{getrusage(RUSAGE_SELF).ru_maxrss / 1024:.0f}"
    advance(store, spec.name, desk)          # the first round is planned
    desk.answers = Known()
    watched: Any = Watched(store)
    start, used = time.perf_counter(), time.process_time()
    standing = advance(watched, spec.name, desk)
    rounds = standing.rounds
    yield f"{1000 * (time.perf_counter() - start) / rounds:.0f}"
    yield f"{1000 * (time.process_time() - used) / rounds:.0f}"
    yield f"{watched.calls.total() / rounds:.1f}"
    yield f"{watched.bytes_read / rounds / 1024:,.0f}"


def main(wanted: list[str]) -> None:
    """Print the table."""
    print("| rows | begin, s | peak MB | ms a round | CPU ms a round | calls a round | KiB read a round |")
    print("|---:|---:|---:|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        for number, rows in enumerate(wanted or ["1e4", "1e7"]):
            print("|", " | ".join(measured(Path(folder) / str(number), int(float(rows)))), "|", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
