"""A stream of daily predictions with known labels, whose quality drops from a given day on."""

import csv
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from assay.tasks.spec.monitor import MonitorSpec

FIRST = date(2026, 11, 1)


def write_stream(
    folder: Path, days: int, *, drop_from: int | None = None, worse: float = 0.25, items: int = 400,
    shift_from: int | None = None, seed: int = 5,
) -> None:
    """predictions-<date>.csv and labels-<date>.csv for every day.

    About 92% of predictions are right; from day `drop_from` (0 is the first) the label of a share `worse` of
    the items is turned round; from `shift_from` on scores are higher, as are the chances they stand for.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for d in range(days):
        rng = np.random.default_rng([seed, d])
        higher = 2.0 if shift_from is not None and d >= shift_from else 0.0
        logit = 4.0 * rng.standard_normal(items) + higher
        label = rng.random(items) < 1 / (1 + np.exp(-logit))
        if drop_from is not None and d >= drop_from:
            label ^= rng.random(items) < worse
        write_day(folder, FIRST + timedelta(days=d), logit, label)


def write_day(folder: Path, day: date, logit: Any, label: Any, ids: Any = None) -> None:
    """The two files of one day."""
    ids = [f"{day:%m%d}-{i:04d}" for i in range(len(logit))] if ids is None else ids
    probability = 1 / (1 + np.exp(-np.asarray(logit)))
    with (folder / f"predictions-{day}.csv").open("w", newline="") as opened:
        rows = csv.writer(opened)
        rows.writerow(["item_id", "probability", "prediction", "text", "half"])
        for i, p in enumerate(probability):
            rows.writerow([ids[i], f"{p:.6f}", int(p > 0.5), f"item {ids[i]}", "ab"[i % 2]])
    with (folder / f"labels-{day}.csv").open("w", newline="") as opened:
        rows = csv.writer(opened)
        rows.writerow(["item_id", "label"])
        rows.writerows([ids[i], int(y)] for i, y in enumerate(label))


def monitor_data(folder: Path, /, **monitor: Any) -> dict[str, Any]:
    """A monitor of such a stream as plain data; `monitor` changes its section."""
    return {
        "name": "stream",
        "pool": {
            "source": f"{folder}/predictions-{{date}}.csv", "id": "item_id", "probability": "probability",
            "prediction": "prediction", "display": ["text"],
        },
        "labels": {"positive": "yes", "negative": "no"},
        "measure": "accuracy",
        "target": {"half_width": 0.02},
        "budget": {"labels": 100},
        "batch_size": 50,
        "method": "passive",
        "desk": {"kind": "simulated", "labels": f"{folder}/labels-{{date}}.csv"},
        "threshold": {"min": 0.85},
        "monitor": {
            "first": str(FIRST), "schedule": {"cron": "0 6 * * *"}, "monthly_labels": 10_000, "follow_ups": 0,
            "sizing": "fixed",
            **monitor,
        },
    }


def a_monitor(folder: Path, /, **monitor: Any) -> MonitorSpec:
    """`monitor_data` as a spec."""
    return MonitorSpec.from_data(monitor_data(folder, **monitor), origin="monitor.yaml")


def after(days: int) -> datetime:
    """Noon on the day after so many days of the stream."""
    return datetime(FIRST.year, FIRST.month, FIRST.day, 12, tzinfo=UTC) + timedelta(days=days)
