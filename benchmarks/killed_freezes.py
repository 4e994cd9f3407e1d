"""A whole freeze is killed and begun again: does it go on, is the ledger the same, is a worker left behind?

    python -m benchmarks.killed_freezes --runner processes:2 --kills 5

Prints a table for docs/measured/killed-freezes.md. The process that freezes gets SIGKILL when some shards are
done, a random number. Half a minute later no process that it started may be there. Then the freeze is begun
again.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from assay.flows.workers.chosen import chosen_workers
from assay.tasks.ledger import layout, open_store
from assay.tasks.ledger.stores.store import Store
from assay.tasks.pool.freeze import freeze_pool
from assay.tasks.spec.evaluation import Spec
from benchmarks.killed_workers import frozen_bytes, in_small_shards, pool_to_freeze

MARK = "ASSAY_KILLED_FREEZE"
LEFT_BEHIND = 30.0    # seconds after which a worker counts as left behind


def freeze(source: Path, ledger: str, runner: str) -> None:
    """Freeze the pool."""
    in_small_shards()
    with chosen_workers(runner) as workers:
        freeze_pool(pool_to_freeze(source), open_store(ledger), map_over=workers)


def processes_of(mark: str) -> list[int]:
    """The processes that a freeze started, and theirs: all inherit its environment."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if f"{MARK}={mark}".encode() in (folder / "environ").read_bytes():
                found.append(int(folder.name))
        except OSError:
            continue
    return found


def waited_for(seconds: float, done: Callable[[], bool]) -> bool:
    """Whether it was done in time."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if done():
            return True
        time.sleep(0.05)
    return done()


def killed_once(source: Path, ledger: Path, runner: str, after: int) -> tuple[int, int]:
    """Kill a freeze when so many shards are done: (shards that are done then, processes left behind)."""
    store, mark = open_store(str(ledger)), ledger.parent.name
    this = [sys.executable, "-m", "benchmarks.killed_freezes", "--freeze"]
    child = subprocess.Popen([*this, str(source), str(ledger), runner], env={**os.environ, MARK: mark})

    def kept() -> int:
        return sum(key.endswith(".json") for key in store.keys(layout.index_of_freezing("killed")))

    waited_for(300, lambda: kept() >= after or child.poll() is not None)
    child.send_signal(signal.SIGKILL)
    child.wait()
    waited_for(LEFT_BEHIND, lambda: not processes_of(mark))
    return kept(), len(processes_of(mark))


def parts_frozen_again(spec: Spec, store: Store) -> int:
    """Freeze the pool, and count the parts that are written."""
    written: list[str] = []
    put = store.put

    def noted(key: str, data: bytes) -> bytes:
        written.append(key)
        return put(key, data)

    store.put = noted  # type: ignore[method-assign]
    freeze_pool(spec, store)
    return sum("/pool/part-" in key for key in written)


def main() -> None:
    """See the top of this module."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runner", default="processes:2")
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--freeze", nargs=3, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.freeze:
        freeze(Path(asked.freeze[0]), *asked.freeze[1:])
        return
    in_small_shards()
    rng = np.random.default_rng(2)
    gone_on = same = left = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "source").mkdir()
        spec = pool_to_freeze(folder / "source")
        freeze_pool(spec, open_store(str(folder / "alone")))
        expected = frozen_bytes(open_store(str(folder / "alone")))
        for kill in range(asked.kills):
            here = folder / f"{os.getpid()}-{kill}"
            here.mkdir()
            after = int(rng.integers(1, 6))
            kept, behind = killed_once(folder / "source", here / "ledger", asked.runner, after)
            store = open_store(str(here / "ledger"))
            parts = parts_frozen_again(spec, store)
            gone_on += 0 < kept < 6 and parts == 6 - kept
            left += behind
            same += frozen_bytes(store) == expected
            print(f"killed after {kept} of 6 shards, {behind} left behind, {parts} frozen again", flush=True)
    print("| Runner | Freezes killed | Went on from its shards | Ledger the same to the byte | Left behind |")
    print("|---|---:|---:|---:|---:|")
    print(f"| `{asked.runner}` | {asked.kills} | {gone_on} | {same} | {left} |")


if __name__ == "__main__":
    main()
