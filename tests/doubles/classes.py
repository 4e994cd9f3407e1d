"""A small pool of several classes with known labels, and a spec for it."""

import csv
from pathlib import Path
from typing import Any

import numpy as np
from doubles.specs import within_reach

# a name may hold what Python calls unprintable, such as a joiner of Persian script
NAMES = ("cat", "dog", "owl", "a \u200cname, with $ and <b>")


def write_pool(folder: Path, n: int = 240, seed: int = 3) -> dict[str, str]:
    """`pool.csv` and `labels.csv`; item -> its class."""
    rng = np.random.default_rng(seed)
    k = len(NAMES)
    truth = rng.choice(k, size=n, p=[0.5, 0.3, 0.15, 0.05])
    logit = rng.normal(size=(n, k)) + 2.0 * np.eye(k)[truth]
    probability = np.exp(logit)
    probability /= probability.sum(axis=1, keepdims=True)
    ids = [f"item-{i:04d}" for i in range(n)]
    with (folder / "pool.csv").open("w", newline="", encoding="utf-8") as opened:
        writer = csv.writer(opened)
        writer.writerow(["item_id", "text", "predicted", "sure", *(f"p_{name}" for name in NAMES)])
        for item, p in zip(ids, probability, strict=True):
            writer.writerow([item, f"shown of {item}", NAMES[p.argmax()], p.max(), *p.tolist()])
    labels = {item: NAMES[y] for item, y in zip(ids, truth, strict=True)}
    with (folder / "labels.csv").open("w", newline="", encoding="utf-8") as opened:
        writer = csv.writer(opened)
        writer.writerow(["item_id", "label"])
        writer.writerows(labels.items())
    return labels


def spec_of_classes(folder: Path, /, **changes: Any) -> dict[str, Any]:
    """A spec for the pool, by its own labels; changes of keys, and of keys of `pool` as pool_…."""
    pool = {
        "source": str(folder / "pool.csv"), "id": "item_id", "prediction": "predicted",
        "probability": {"prefix": "p_"}, "display": ["text"],
    }
    pool |= {key.removeprefix("pool_"): value for key, value in changes.items() if key.startswith("pool_")}
    return within_reach({
        "name": "classes",
        "pool": {key: value for key, value in pool.items() if value is not None},
        "labels": {"classes": list(NAMES)},
        "measure": ["macro_f1", "accuracy", {"name": "recall", "class": "cat"}, "precision"],
        "target": {"half_width": 0.01},
        "budget": {"labels": 40},
        "batch_size": 20,
        "desk": {"kind": "simulated", "labels": str(folder / "labels.csv")},
        "seed": 5,
        **{key: value for key, value in changes.items() if not key.startswith("pool_")},
    })


def pool_and_spec(folder: Path, /, n: int = 240, **changes: Any) -> dict[str, Any]:
    """The pool of n items, written, and a spec for it."""
    write_pool(folder, n)
    return spec_of_classes(folder, **changes)
