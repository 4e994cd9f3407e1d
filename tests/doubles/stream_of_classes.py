"""A stream of daily predictions of several classes with known labels, whose quality drops from a day on."""

import csv
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
from doubles.stream import FIRST

from assay.tasks.spec.monitor import MonitorSpec

NAMES = ("cat", "dog", "owl")


def write_classes(folder: Path, days: int, *, drop_from: int | None = None, items: int = 300) -> None:
    """predictions-<date>.csv and labels-<date>.csv; from day `drop_from` on half the labels are anything."""
    for d in range(days):
        rng = np.random.default_rng([9, d])
        truth = rng.choice(3, items, p=[0.5, 0.3, 0.2])
        logit = rng.normal(size=(items, 3)) + 3.0 * np.eye(3)[truth]
        if drop_from is not None and d >= drop_from:
            truth = np.where(rng.random(items) < 0.5, rng.integers(0, 3, items), truth)
        probability = np.exp(logit) / np.exp(logit).sum(axis=1, keepdims=True)
        day, ids = FIRST + timedelta(days=d), [f"{d:02d}-{i:04d}" for i in range(items)]
        with (folder / f"predictions-{day}.csv").open("w", newline="") as opened:
            rows = csv.writer(opened)
            rows.writerow(["item_id", "predicted", *(f"p_{name}" for name in NAMES), "text", "region"])
            for i, p in zip(ids, probability, strict=True):
                rows.writerow([i, NAMES[p.argmax()], *p.tolist(), f"item {i}", "ns"[int(i[-1]) % 2]])
        with (folder / f"labels-{day}.csv").open("w", newline="") as opened:
            rows = csv.writer(opened)
            rows.writerow(["item_id", "label"])
            rows.writerows((i, NAMES[y]) for i, y in zip(ids, truth, strict=True))


def classes_data(folder: Path, /, **changes: Any) -> dict[str, Any]:
    """A monitor of such a stream as plain data; changes of keys, and of keys of `monitor` as monitor_…."""
    monitor = {key.removeprefix("monitor_"): v for key, v in changes.items() if key.startswith("monitor_")}
    return {
        "name": "animals",
        "pool": {
            "source": f"{folder}/predictions-{{date}}.csv", "id": "item_id", "prediction": "predicted",
            "probability": {"prefix": "p_"}, "display": ["text"],
        },
        "labels": {"classes": list(NAMES)},
        "measure": ["accuracy", {"name": "recall", "class": "cat"}],
        "target": {"half_width": 0.01},
        "budget": {"labels": 100},
        "batch_size": 50,
        "desk": {"kind": "simulated", "labels": f"{folder}/labels-{{date}}.csv"},
        "threshold": {"min": 0.82},
        "monitor": {
            "first": str(FIRST), "schedule": {"cron": "0 6 * * *"}, "monthly_labels": 10_000, "follow_ups": 0,
            "sizing": "fixed", "quiet_labels": 100, **monitor,
        },
        **{key: value for key, value in changes.items() if not key.startswith("monitor_")},
    }


def a_monitor_of_classes(folder: Path, /, **changes: Any) -> MonitorSpec:
    """`classes_data` as a spec."""
    return MonitorSpec.from_data(classes_data(folder, **changes), origin="monitor.yaml")
