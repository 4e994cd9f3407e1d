"""One freeze in processes of its own: how long it takes, and the memory of each process."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil
import pyarrow.parquet as pq

from assay.tasks.ledger import open_store
from assay.tasks.ledger.manifest import load_manifest
from assay.tasks.ledger.record import Ledger
from assay.tasks.sources.reader import list_files

NAME = "large"
LABELS = 50               # of a round
_LOOK_EVERY = 0.2        # seconds between two looks at the processes' memory


@dataclass(frozen=True, kw_only=True)
class Freeze:
    """What one freeze took."""

    rows: int
    shown: bool
    runner: str
    where: str           # disk or S3
    seconds: float       # to begin it; the start of workers included, of the first process not
    scan: float          # seconds of a bare scan of the same columns
    memory: float        # GB of the largest process, at its peak
    digests: str         # of the pool and its partition


def freeze(
    source: str, store: str, folder: Path, columns: Sequence[str], runner: str, environment: Mapping[str, str]
) -> tuple[float, float, str]:
    """Begin an evaluation with a runner: seconds, the GB of the largest process, the pool's digests."""
    spec = folder / "spec.yaml"
    folder.mkdir(parents=True, exist_ok=True)
    spec.write_text(json.dumps({            # JSON is YAML
        "name": NAME,
        "pool": {"source": source, "id": "item_id", "score": "score", "threshold": 0.0,
                 "display": list(columns[2:])},
        "labels": {"positive": "yes", "negative": "no"}, "measure": ["f1"], "method": "dirichlet-tree",
        "target": {"half_width": 1e-6}, "budget": {"labels": 1000}, "batch_size": LABELS,
        "desk": {"kind": "simulated", "labels": "none.csv"}, "store": store, "seed": 7,
    }), encoding="utf-8")
    command = [sys.executable, "-m", "benchmarks.large_pools.begin", str(spec)]
    seconds, memory = watched(command, {"ASSAY_FREEZE_RUNNER": runner, **environment})
    manifest = load_manifest(Ledger(open_store(store), NAME))
    return seconds, memory, f"{manifest.digest} {manifest.partition.digest}"


def watched(command: Sequence[str], environment: Mapping[str, str]) -> tuple[float, float]:
    """The seconds that a command prints, and the GB of the largest of its processes.

    Raises RuntimeError if it fails.
    """
    most = 0
    process = subprocess.Popen(
        command, env={**os.environ, **environment}, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )
    while process.poll() is None:
        most = max(most, *_memory_of(process.pid))
        time.sleep(_LOOK_EVERY)
    told, wrong = process.communicate()
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}: {wrong.decode()[-2000:]}")
    return float(told.split()[-1]), most / 1e9


def scan(source: str, columns: Sequence[str]) -> float:
    """Seconds that Arrow takes to read these columns and do nothing with them, in one process."""
    start = time.perf_counter()
    for file in list_files(source):
        with file.open(1 << 20) as stream:
            batches = pq.ParquetFile(stream).iter_batches(1 << 16, columns=list(columns), use_threads=False)
            sum(batch.num_rows for batch in batches)
    return time.perf_counter() - start


def _memory_of(pid: int) -> list[int]:
    """Bytes that each process of a tree holds by itself; what another program started is none of it."""
    found = [0]
    try:
        parent = psutil.Process(pid)
        for process in [parent, *parent.children(recursive=True)]:
            about = process.memory_info()
            found.append(about.rss - about.shared)
    except psutil.NoSuchProcess:
        pass
    return found
