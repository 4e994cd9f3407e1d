"""Specs for tests: a small one that is right, and ways to change it."""

from pathlib import Path
from typing import Any

from assay.evalcore.evaluation.stopping import least_budget
from assay.tasks.spec.evaluation import Spec


def spec_data(source: str | Path = "predictions.csv", /, name: str = "trial", **pool: Any) -> dict[str, Any]:
    """A valid spec as plain data, for a simulated desk and a budget of one label; `pool` changes its pool."""
    usual = {"source": str(source), "id": "item_id", "score": "score", "prediction": "prediction"}
    return {
        "name": name,
        "pool": {key: value for key, value in (usual | pool).items() if value is not None},
        "labels": {"positive": "match", "negative": "no match"},
        "measure": "f1",
        "target": {"half_width": 0.05},
        "budget": {"labels": 1},
        "desk": {"kind": "simulated", "labels": "labels.csv"},
    }


def within_reach(data: dict[str, Any]) -> dict[str, Any]:
    """The spec without a target that its budget cannot meet: a file with one is refused."""
    reachable = data["budget"]["labels"] >= least_budget(data.get("batch_size", 25))
    return data if reachable else {key: value for key, value in data.items() if key != "target"}


def a_spec(source: str | Path = "predictions.csv", /, name: str = "trial", **pool: Any) -> Spec:
    """`spec_data` as a spec."""
    return Spec.from_json(spec_data(source, name=name, **pool))
