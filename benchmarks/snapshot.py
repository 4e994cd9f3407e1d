"""Freezing a big pool: how long it takes, and the most memory it needs.

    python -m benchmarks.snapshot [ROWS]

Writes a synthetic Parquet file of predictions (ids as text, heavy-tailed scores, one segment; and once more
with two text columns for people, which are hashed), freezes it in a process of its own, partition included,
and prints that process's seconds and peak resident memory.
"""

import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

ROWS = 10_000_000
_CHUNK = 500_000


def table(rows: int = ROWS) -> str:
    """Seconds and peak memory of freezing a pool, without and with shown fields."""
    lines = [
        "## Freezing a pool stays below 1 GB of memory\n",
        "Read, check, write to a local ledger, look for duplicate ids, cut into cells.\n",
        "| N | shown fields | seconds | peak memory, MB |",
        "|---|---|---|---|",
    ]
    for shown in (False, True):
        measured = measure(rows, shown)
        lines.append(
            f"| {rows:,} | {2 if shown else 0} | {measured['seconds']:.0f} | {measured['peak_mb']:.0f} |"
        )
    return "\n".join(lines) + "\n"


def measure(rows: int, shown: bool) -> dict[str, float]:
    """Generate a pool and freeze it in a subprocess: seconds and peak_mb of that process."""
    with tempfile.TemporaryDirectory() as folder:
        _generate(Path(folder) / "predictions.parquet", rows, shown)
        command = [sys.executable, "-m", "benchmarks.snapshot", "--freeze", folder, *["--shown"] * shown]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    measured: dict[str, float] = json.loads(done.stdout)
    return measured


def _generate(path: Path, rows: int, shown: bool) -> None:
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(1)
    writer = None
    for first in range(0, rows, _CHUNK):
        n = min(_CHUNK, rows - first)
        score = rng.standard_t(3, n) - 3
        columns = {
            "item_id": pa.array([f"item-{i:09d}" for i in range(first, first + n)]),
            "score": pa.array(score),
            "prediction": pa.array((score > 0).astype(np.int8)),
            "region": pa.array(rng.choice(["north", "south", "east"], n)),
        }
        if shown:
            columns |= {side: pa.array([f"record {i} of {side}" for i in range(n)]) for side in ("a", "b")}
        table = pa.table(columns)
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    if writer:
        writer.close()


def _freeze(folder: str, shown: bool) -> None:
    import time

    from assay.tasks.ledger import open_store
    from assay.tasks.pool.freeze import freeze_pool
    from assay.tasks.spec.evaluation import Spec

    spec = Spec.from_json(
        {
            "name": "snapshot-memory",
            "pool": {
                "source": f"{folder}/predictions.parquet",
                "id": "item_id",
                "score": "score",
                "prediction": "prediction",
                "segments": ["region"],
                "display": ["a", "b"] if shown else [],
            },
            "labels": {"positive": "yes", "negative": "no"},
            "measure": "f1",
            "target": {"half_width": 0.05},
            "budget": {"labels": 500},
            "desk": {"kind": "simulated", "labels": "labels.csv"},
        }
    )
    start = time.perf_counter()
    freeze_pool(spec, open_store(f"{folder}/ledger"))
    seconds = time.perf_counter() - start
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"seconds": seconds, "peak_mb": peak_mb}))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--freeze"]:
        _freeze(sys.argv[2], "--shown" in sys.argv)
    else:
        print(table(*map(int, sys.argv[1:])))
