"""Curves and clusters where labels were bought for something else: `assay estimate` answers, comparisons
do not."""

import csv
import json

import pytest
import yaml
from doubles.small_pool import spec_json, write_small_pool
from sklearn.metrics import roc_auc_score

from assay.evalcore.errors import BadInput
from assay.flows.cli.main import run_command_line
from assay.tasks.spec.evaluation import Spec

CURVE = {"name": "pr_curve", "class": "cat", "at": [0.5]}
N = 200


def spec_of(folder, /, **changes):
    with (folder / "pool.csv").open("w", newline="", encoding="utf-8") as opened:
        rows = csv.writer(opened)
        rows.writerow(["item_id", "said", "p_cat", "p_dog", "region", "text", "label"])
        for i in range(N):
            p = (i * 37 % N) / N
            rows.writerow([f"i{i}", "cat" if p >= 0.5 else "dog", p, 1 - p, f"r{i % 20}", f"t {i}",
                           "cat" if p > 0.3 + (i % 5) / 10 else "dog"])
    pool = {"source": str(folder / "pool.csv"), "id": "item_id", "prediction": "said",
            "probability": {"prefix": "p_"}, "display": ["text"]}
    pool |= {key.removeprefix("pool_"): value for key, value in changes.items() if key.startswith("pool_")}
    return {
        "name": "trial", "pool": pool, "labels": {"classes": ["cat", "dog"]}, "measure": ["accuracy"],
        "budget": {"labels": 100}, "batch_size": 50,
        "desk": {"kind": "simulated", "labels": str(folder / "pool.csv")},
        **{key: value for key, value in changes.items() if not key.startswith("pool_")},
    }


@pytest.mark.parametrize(("changes", "said"), [
    ({"measure": [CURVE], "pool_prediction": None, "pool_probability": None,
      "pool_systems": {n: {"prediction": "said"} for n in "ab"}}, "$.measure[0] 'pr_curve'"),
])
def test_between_systems(tmp_path, changes, said):
    data = spec_of(tmp_path, **changes)
    data["pool"] = {key: value for key, value in data["pool"].items() if value is not None}
    with pytest.raises(BadInput) as caught:
        Spec.from_json(data)
    assert said in str(caught.value)


def asked(folder, capsys, data, *options):
    """What `assay estimate` prints of an evaluation, and its exit code."""
    (folder / "spec.yaml").write_text(yaml.safe_dump(data))
    at = ["--store", str(folder / "ledger")]
    assert run_command_line(["run", str(folder / "spec.yaml"), *at]) == 0
    capsys.readouterr()
    code = run_command_line(["estimate", data["name"], *options, "--json", *at])
    return code, capsys.readouterr()


def truth(folder):
    with (folder / "pool.csv").open(encoding="utf-8") as opened:
        rows = list(csv.DictReader(opened))
    return [row["label"] == "cat" for row in rows], [float(row["p_cat"]) for row in rows]


def test_a_curve_of_labels_bought_for_accuracy(tmp_path, capsys):
    code, told = asked(tmp_path, capsys, spec_of(tmp_path), "--measure", "pr_curve(cat;0.5),roc_auc(cat)")
    assert code == 0, told.err
    precision, recall, area = json.loads(told.out)["estimates"]
    cat, p = truth(tmp_path)
    above = [one >= 0.5 for one in p]
    hits = sum(a and b for a, b in zip(cat, above, strict=True))
    for row, measure, of in ((precision, "precision", above), (recall, "recall", cat)):
        assert (row["measure"], row["at"], row["curve"]) == (measure, 0.5, "pr_curve")
        assert row["lower"] <= hits / sum(of) <= row["upper"]
    assert area["lower"] <= roc_auc_score(cat, p) <= area["upper"]
    assert area["upper"] - area["lower"] < 0.5


def test_where_every_item_is_labelled_the_area_is_that_of_the_pool(tmp_path, capsys):
    data = spec_of(tmp_path, budget={"labels": N})
    code, told = asked(tmp_path, capsys, data, "--measure", "roc_auc(cat),average_precision(cat)")
    assert code == 0, told.err
    area, _ = json.loads(told.out)["estimates"]
    assert area["value"] == pytest.approx(roc_auc_score(*truth(tmp_path)), abs=1e-6)


def test_of_two_classes_by_the_pools_score(tmp_path, capsys):
    data = spec_json(*write_small_pool(tmp_path), measure=["accuracy"])
    code, told = asked(tmp_path, capsys, data, "--measure", "roc_auc,pr_curve(0)")
    assert code == 0, told.err
    area, precision, recall = json.loads(told.out)["estimates"]
    assert 0 <= area["lower"] <= area["value"] <= area["upper"] <= 1
    assert (precision["measure"], recall["measure"], recall["at"]) == ("precision", "recall", 0)


def test_over_clusters(tmp_path, capsys):
    clustered = spec_of(tmp_path, name="clustered", pool_cluster="region")
    code, told = asked(tmp_path, capsys, clustered, "--measure", "recall(cat),roc_auc(cat)")
    assert code == 0, told.err
    rows = json.loads(told.out)["estimates"]
    assert [row["interval"] for row in rows] == ["weighted, over clusters"] * 2
    _, plain = asked(tmp_path, capsys, spec_of(tmp_path, name="plain"), "--measure", "recall(cat)")
    alone = json.loads(plain.out)["estimates"][0]
    assert rows[0]["upper"] - rows[0]["lower"] >= 0.9 * (alone["upper"] - alone["lower"])


@pytest.mark.parametrize("other", [["--system", "said"], ["--threshold", "0.5"]])
def test_a_curve_is_of_no_other_predictions(tmp_path, capsys, other):
    code, told = asked(tmp_path, capsys, spec_of(tmp_path), "--measure", "roc_auc(cat)", *other)
    assert code == 2
    assert "is made of the scores of the pool" in told.err
