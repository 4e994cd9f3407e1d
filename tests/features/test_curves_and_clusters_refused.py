"""What curves and clusters cannot do is refused with the reason: segments, `assay estimate`."""

import csv

import pytest
import yaml

from assay.evalcore.errors import BadInput
from assay.flows.cli.main import run_command_line
from assay.tasks.spec.evaluation import Spec

CURVE = {"name": "pr_curve", "class": "cat", "at": [0.5]}


def spec_of(folder, /, **changes):
    with (folder / "pool.csv").open("w", newline="", encoding="utf-8") as opened:
        rows = csv.writer(opened)
        rows.writerow(["item_id", "said", "p_cat", "p_dog", "region", "text", "label"])
        for i in range(40):
            p = i / 40
            rows.writerow([f"i{i}", "cat" if p >= 0.5 else "dog", p, 1 - p, "ns"[i % 2], f"t {i}",
                           "cat" if i % 3 else "dog"])
    pool = {"source": str(folder / "pool.csv"), "id": "item_id", "prediction": "said",
            "probability": {"prefix": "p_"}, "display": ["text"]}
    pool |= {key.removeprefix("pool_"): value for key, value in changes.items() if key.startswith("pool_")}
    return {
        "name": "trial", "pool": pool, "labels": {"classes": ["cat", "dog"]}, "measure": ["accuracy"],
        "budget": {"labels": 40}, "batch_size": 40,
        "desk": {"kind": "simulated", "labels": str(folder / "pool.csv")},
        **{key: value for key, value in changes.items() if not key.startswith("pool_")},
    }


@pytest.mark.parametrize(("changes", "said"), [
    ({"measure": [CURVE], "pool_segments": ["region"]}, "'pr_curve' has no estimates by segment so far"),
    ({"measure": [{"name": "roc_auc", "class": "cat"}], "pool_segments": ["region"]},
     "'roc_auc' has no estimates by segment so far"),
    ({"measure": [CURVE], "pool_prediction": None, "pool_probability": None,
      "pool_systems": {n: {"prediction": "said"} for n in "ab"}}, "$.measure[0] 'pr_curve'"),
])
def test_in_segments_and_between_systems(tmp_path, changes, said):
    data = spec_of(tmp_path, **changes)
    data["pool"] = {key: value for key, value in data["pool"].items() if value is not None}
    with pytest.raises(BadInput) as caught:
        Spec.from_json(data)
    assert said in str(caught.value)


def test_of_old_labels(tmp_path, capsys):
    for name, changes, asked, said in (
        ("plain", {}, "roc_auc", "is made of all scores of the pool"),
        ("plain", {}, "pr_curve(cat;0.5)", "is made of all scores of the pool"),
        ("clustered", {"pool_cluster": "region"}, "accuracy", "no intervals over clusters so far"),
    ):
        (tmp_path / "spec.yaml").write_text(yaml.safe_dump(spec_of(tmp_path, name=name, **changes)))
        at = ["--store", str(tmp_path / "ledger")]
        assert run_command_line(["run", str(tmp_path / "spec.yaml"), *at]) == 0
        capsys.readouterr()
        assert run_command_line(["estimate", name, "--measure", asked, *at]) == 2
        assert said in capsys.readouterr().err
