"""A small pool on disk with known labels, and specs for it: what tests of whole evaluations run on."""

import csv
from pathlib import Path
from typing import Any

import numpy as np
from doubles.specs import within_reach

from assay.evalcore.methods.registry import METHODS
from assay.tasks.spec.evaluation import Spec


def write_small_pool(folder: Path, n: int = 400, seed: int = 5) -> tuple[Path, Path]:
    """`predictions.csv` (item_id, score, prediction, text) and `labels.csv` (item_id, label)."""
    rng = np.random.default_rng(seed)
    score = np.round(rng.normal(size=n), 4)
    positive = score + 0.7 * rng.normal(size=n) > 0.8
    folder.mkdir(parents=True, exist_ok=True)
    predictions, labels = folder / "predictions.csv", folder / "labels.csv"
    with predictions.open("w", newline="") as opened:
        rows = csv.writer(opened)
        rows.writerow(["item_id", "score", "prediction", "text", "region"])
        for i, x in enumerate(score):
            name = "match" if x > 0.6 else "no match"
            rows.writerow([f"item-{i:04d}", x, name, f"what item {i} says", "north" if i % 3 else "south"])
    with labels.open("w", newline="") as opened:
        rows = csv.writer(opened)
        rows.writerow(["item_id", "label"])
        rows.writerows([f"item-{i:04d}", "match" if y else "no match"] for i, y in enumerate(positive))
    return predictions, labels


def spec_json(predictions: Path, labels: Path, **changes: Any) -> dict[str, Any]:
    """A spec for the small pool with a simulated desk; `changes` replace its keys.

    With segments, unless the method gives no estimates by segment.
    """
    data: dict[str, Any] = {
        "name": "small",
        "pool": {
            "source": str(predictions), "id": "item_id", "score": "score", "prediction": "prediction",
            "display": ["text"], "segments": ["region"],
        },
        "labels": {"positive": "match", "negative": "no match"},
        "measure": ["f1", "precision"],
        "target": {"half_width": 0.01},
        "budget": {"labels": 60},
        "batch_size": 20,
        "method": "dirichlet-tree",   # the quickest of those that auto may mean
        "desk": {"kind": "simulated", "labels": str(labels)},
        "seed": 3,
    } | changes
    if "target" not in changes:
        data = within_reach(data)
    named = METHODS.get(data["method"].partition(":")[0])
    if "pool" not in changes and named is not None and named.capabilities.whole_pool_only:
        del data["pool"]["segments"]
    return data


def small_spec(folder: Path, n: int = 400, **changes: Any) -> Spec:
    """Write a small pool and return a spec for it."""
    predictions, labels = write_small_pool(folder, n=n)
    return Spec.from_json(spec_json(predictions, labels, **changes), origin="the test's spec")
