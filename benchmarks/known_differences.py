"""How many labels a window of two systems takes until their difference is exact: `python -m
benchmarks.known_differences`.

Real monitors, run by the flow: ten windows of 300 items, of which the two systems call about 30 differently;
at most 200 labels a window, 20 a round.
"""

import csv
import tempfile
from pathlib import Path

from doubles.stream import after
from doubles.stream_of_systems import a_monitor_of_systems, write_systems

from assay.flows.monitor.history import read_monitor_history
from assay.flows.monitor.tick import tick
from assay.flows.monitor.versions import register
from assay.tasks.ledger.stores.store import MemoryStore

WINDOWS = 10


def rows_of(path: Path) -> list[dict[str, str]]:
    """Of a CSV file."""
    with path.open(newline="") as opened:
        return list(csv.DictReader(opened))


def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as made:
        folder, store = Path(made), MemoryStore()
        write_systems(folder, WINDOWS)
        register(store, a_monitor_of_systems(folder, budget={"labels": 200}, batch_size=20))
        tick(store, "models", moment=after(WINDOWS))
        print("| window | differ | labels | reported | truth |\n| --- | --- | --- | --- | --- |")
        for row in read_monitor_history(store, "models").rows:
            truth = {one["item_id"]: one["label"] for one in rows_of(folder / f"labels-{row.window}.csv")}
            said = rows_of(folder / f"predictions-{row.window}.csv")
            right = {v: sum(one[v] == truth[one["item_id"]] for one in said) for v in ("v1", "v2")}
            differ, m = sum(one["v1"] != one["v2"] for one in said), row.overall and row.overall.measured
            told = "-" if m is None or m.value is None else f"{m.value:.4f}{', exact' if m.exact else ''}"
            print(f"| {row.window} | {differ} | {row.bought} | {told} | "
                  f"{(right['v2'] - right['v1']) / len(said):.4f} |")


if __name__ == "__main__":
    main()
