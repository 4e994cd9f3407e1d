"""A small pool with two models and a score, its known labels, and specs that compare them."""

import csv
from pathlib import Path
from typing import Any

import numpy as np
from doubles.specs import within_reach

from assay.evalcore.types import Bools, Floats


def write_models(folder: Path, n: int = 400, seed: int = 3) -> tuple[Bools, dict[str, Any]]:
    """`pool.csv` and `labels.csv`; the truth (n,), and column -> its values as arrays."""
    rng = np.random.default_rng(seed)
    truth = rng.random(n) < 0.3
    z = truth * 2 + rng.normal(size=n)
    score: Floats = np.round(1 / (1 + np.exp(-(2 * z - 2.5))), 4)
    columns = {
        "p1": z + rng.normal(size=n) * 0.3 > 1.2, "p2": z + rng.normal(size=n) * 0.9 > 1.2, "s": score,
    }
    with (folder / "pool.csv").open("w", newline="", encoding="utf-8") as opened:
        writer = csv.writer(opened)
        writer.writerow(["item_id", "text", "p1", "p2", "s"])
        for i in range(n):
            writer.writerow([f"i{i}", f"text {i}", "match" if columns["p1"][i] else "no match",
                             "TRUE" if columns["p2"][i] else "0", score[i]])
    with (folder / "labels.csv").open("w", newline="", encoding="utf-8") as opened:
        writer = csv.writer(opened)
        writer.writerow(["item_id", "label"])
        writer.writerows([f"i{i}", "match" if y else "no match"] for i, y in enumerate(truth))
    return truth, columns


def spec_of_systems(folder: Path, /, **changes: Any) -> dict[str, Any]:
    """A spec that compares the two models; changes of keys, and of keys of `pool` as pool_…."""
    pool = {
        "source": str(folder / "pool.csv"), "id": "item_id", "display": ["text"],
        "systems": {"old": {"prediction": "p1"}, "new": {"prediction": "p2", "probability": "s"}},
    }
    pool |= {key.removeprefix("pool_"): value for key, value in changes.items() if key.startswith("pool_")}
    return within_reach({
        "name": "systems",
        "pool": {key: value for key, value in pool.items() if value is not None},
        "labels": {"positive": "match", "negative": "no match"},
        "measure": ["f1", "precision", "recall", "accuracy", "balanced_accuracy", "mcc", "cohen_kappa"],
        "target": {"half_width": 0.01},
        "budget": {"labels": 60},
        "batch_size": 30,
        "desk": {"kind": "simulated", "labels": str(folder / "labels.csv")},
        "seed": 5,
        **{key: value for key, value in changes.items() if not key.startswith("pool_")},
    })
