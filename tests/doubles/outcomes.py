"""Small pools of numbers, tags, preferences and grades with known labels, and specs for them."""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from doubles.specs import within_reach

TAGS = ("war", "sport", "a $tag", "arts")
GRADES = (1, 2, 3, 4, 5)
N = 160


def _write(path: Path, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as opened:
        writer = csv.writer(opened)
        writer.writerow(columns)
        writer.writerows(rows)


def write_labels(folder: Path, labels: Mapping[str, Any]) -> None:
    _write(folder / "labels.csv", ["item_id", "label"], list(labels.items()))


def write_numbers(folder: Path, seed: int = 4) -> dict[str, float]:
    """`pool.csv` and `labels.csv`: numbers from 0 to 100; item -> its number."""
    rng = np.random.default_rng(seed)
    truth = np.round(rng.uniform(5, 95, N), 1)
    predicted, judge = truth + rng.normal(0, 4, N), truth / 10 + rng.normal(0, 1, N)
    ids = [f"item-{i:03d}" for i in range(N)]
    _write(folder / "pool.csv", ["item_id", "text", "predicted", "judge"], [
        [item, f"shown of {item}", round(float(np.clip(f, 0, 100)), 2), round(float(j), 2)]
        for item, f, j in zip(ids, predicted, judge, strict=True)
    ])
    labels = dict(zip(ids, truth.tolist(), strict=True))
    write_labels(folder, labels)
    return labels


def write_tags(folder: Path, seed: int = 4) -> dict[str, str]:
    """The same of tags; item -> its tags joined by bars, none for no tag."""
    rng = np.random.default_rng(seed)
    truth = rng.random((N, len(TAGS))) < [0.4, 0.3, 0.15, 0.1]
    chance = np.clip(np.where(truth, 0.75, 0.2) + rng.normal(0, 0.15, truth.shape), 0.02, 0.98)
    ids = [f"item-{i:03d}" for i in range(N)]
    _write(folder / "pool.csv", ["item_id", "text", "predicted", *(f"p_{name}" for name in TAGS)], [
        [item, f"shown of {item}", joined(p > 0.5), *np.round(p, 3).tolist()]
        for item, p in zip(ids, chance, strict=True)
    ])
    labels = {item: joined(row) for item, row in zip(ids, truth, strict=True)}
    write_labels(folder, labels)
    return {item: tags or "none" for item, tags in labels.items()}


def joined(there: Any) -> str:
    return "|".join(name for name, one in zip(TAGS, there, strict=True) if one)


def write_pairs(folder: Path, seed: int = 4) -> dict[str, str]:
    """The same of preferences between the columns old and new; item -> old, new or tie."""
    rng = np.random.default_rng(seed)
    truth = rng.choice(["old", "new", "tie"], size=N, p=[0.3, 0.55, 0.15])
    judge = np.where(rng.random(N) < 0.8, truth, "tie")
    ids = [f"item-{i:03d}" for i in range(N)]
    _write(folder / "pool.csv", ["item_id", "prompt", "old", "new", "judge"], [
        [item, f"prompt of {item}", f"old of {item}", f"new of {item}", j]
        for item, j in zip(ids, judge, strict=True)
    ])
    labels = dict(zip(ids, truth.tolist(), strict=True))
    write_labels(folder, labels)
    return labels


def write_grades(folder: Path, seed: int = 4) -> dict[str, str]:
    """The same of grades from 1 to 5; item -> its grade."""
    rng = np.random.default_rng(seed)
    truth = rng.choice(GRADES, size=N, p=[0.05, 0.15, 0.2, 0.35, 0.25])
    logit = -np.abs(np.array(GRADES) - truth[:, None]) + rng.normal(0, 0.8, (N, len(GRADES)))
    chance = np.exp(logit) / np.exp(logit).sum(axis=1, keepdims=True)
    judge = np.clip(np.round(truth + rng.normal(0, 0.8, N)), 1, 5).astype(int)
    ids = [f"item-{i:03d}" for i in range(N)]
    columns = ["item_id", "text", "predicted", "judge", *(f"p_{grade}" for grade in GRADES)]
    _write(folder / "pool.csv", columns, [
        [item, f"shown of {item}", GRADES[p.argmax()], j, *p.tolist()]
        for item, p, j in zip(ids, chance, judge.tolist(), strict=True)
    ])
    labels = {item: str(grade) for item, grade in zip(ids, truth.tolist(), strict=True)}
    write_labels(folder, labels)
    return labels


_PARTS: Mapping[str, dict[str, Any]] = {
    "number": {
        "pool": {"prediction": "predicted", "display": ["text"]},
        "labels": {"number": {"min": 0, "max": 100}},
        "measure": [
            "mae", "rmse", "bias", "mean", {"name": "within", "tolerance": 5.0}, "r2", "pearson", "mse",
        ],
    },
    "tags": {
        "pool": {"prediction": "predicted", "probability": {"prefix": "p_"}, "display": ["text"]},
        "labels": {"tags": list(TAGS)},
        "measure": ["micro_f1", "jaccard", {"name": "recall", "class": "war"}, "f1"],
    },
    "grades": {
        "pool": {"prediction": "predicted", "probability": {"prefix": "p_"}, "display": ["text"]},
        "labels": {"grades": list(GRADES)},
        "measure": ["mean", "mae", "accuracy", {"name": "cohen_kappa", "weights": "quadratic"}],
    },
    "preference": {
        "pool": {"judge": "judge", "display": ["prompt", "old", "new"]},
        "labels": {"prefer": ["new", "old"], "tie": True},
        "measure": ["win_rate", "rate"],
    },
}
WRITERS = {"number": write_numbers, "tags": write_tags, "preference": write_pairs}


def pool_and_spec(kind: str, folder: Path, /, **changes: Any) -> dict[str, Any]:
    """The pool of a kind, written, and a spec for it."""
    WRITERS[kind](folder)
    return spec_of(kind, folder, **changes)


def spec_of(kind: str, folder: Path, /, **changes: Any) -> dict[str, Any]:
    """A spec for the pool of a kind; changes of keys, and of keys of `pool` as pool_…, None to leave out."""
    parts = _PARTS[kind]
    pool = {"source": str(folder / "pool.csv"), "id": "item_id", **parts["pool"]}
    pool |= {key.removeprefix("pool_"): value for key, value in changes.items() if key.startswith("pool_")}
    return within_reach({
        "name": kind,
        "target": {"half_width": 0.001},
        "budget": {"labels": 40},
        "batch_size": 20,
        "desk": {"kind": "simulated", "labels": str(folder / "labels.csv")},
        "seed": 5,
        **parts,
        "pool": {key: value for key, value in pool.items() if value is not None},
        **{key: value for key, value in changes.items() if not key.startswith("pool_")},
    })
