"""A stream of daily predictions of two systems with known labels; the newer one gets worse from a day on."""

import csv
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
from doubles.stream import FIRST
from doubles.stream_of_classes import NAMES, classes_data

from assay.tasks.spec.monitor import MonitorSpec


def write_systems(folder: Path, days: int, *, worse_from: int | None = None, items: int = 300) -> None:
    """predictions-<date>.csv and labels-<date>.csv; of both 85% are right, of v2 then 60%."""
    for d in range(days):
        rng = np.random.default_rng([11, d])
        truth = rng.choice(3, items, p=[0.5, 0.3, 0.2])
        v1 = np.where(rng.random(items) < 0.85, truth, (truth + 1) % 3)
        # v2 differs from v1 on few items: as often to the good as to the bad
        v2 = np.where(rng.random(items) < 0.06, (truth + 2) % 3, np.where(rng.random(items) < 0.3, truth, v1))
        if worse_from is not None and d >= worse_from:
            v2 = np.where(rng.random(items) < 0.3, (truth + 2) % 3, v2)
        day, ids = FIRST + timedelta(days=d), [f"{d:02d}-{i:04d}" for i in range(items)]
        with (folder / f"predictions-{day}.csv").open("w", newline="") as opened:
            rows = csv.writer(opened)
            rows.writerow(["item_id", "v1", "v2", "text"])
            rows.writerows([i, NAMES[a], NAMES[b], f"item {i}"] for i, a, b in zip(ids, v1, v2, strict=True))
        with (folder / f"labels-{day}.csv").open("w", newline="") as opened:
            rows = csv.writer(opened)
            rows.writerow(["item_id", "label"])
            rows.writerows((i, NAMES[y]) for i, y in zip(ids, truth, strict=True))


def a_monitor_of_systems(folder: Path, /, **changes: Any) -> MonitorSpec:
    """v2 against v1, the difference of accuracy at least -0.05; changes as in `classes_data`."""
    usual = {"name": "models", "measure": "accuracy", "threshold": {"min": -0.05}}
    data = classes_data(folder, **usual | changes)
    data["pool"] = {
        "source": f"{folder}/predictions-{{date}}.csv", "id": "item_id", "display": ["text"],
        "systems": {"v1": {"prediction": "v1"}, "v2": {"prediction": "v2"}}, "baseline": "v1",
        **changes.get("pool", {}),
    }
    return MonitorSpec.from_data(data, origin="monitor.yaml")
