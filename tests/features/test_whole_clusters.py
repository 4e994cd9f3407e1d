"""Whole clusters drawn as units: from the spec to the report, and what is refused."""

import csv
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
import yaml

from assay.evalcore.errors import BadInput
from assay.flows.cli.main import run_command_line
from assay.flows.evaluation.advance import Patience, drive
from assay.flows.evaluation.begin import begin_evaluation
from assay.flows.verify.ledger import verify
from assay.tasks.ledger.asked_round import read_plan
from assay.tasks.ledger.record import Ledger
from assay.tasks.spec.evaluation import Spec
from assay.tasks.testing import MemoryStore

AT_ONCE = Patience(first=0.0, longest=0.0, in_all=0.0)
PROMPTS = 30


def write(folder):
    """Answers to prompts, 3 to 7 each; the size of each prompt, and the share of right answers."""
    rng = np.random.default_rng(8)
    size = rng.integers(3, 8, PROMPTS)
    prompt = np.repeat(np.arange(PROMPTS), size)
    order = rng.permutation(len(prompt))
    right = rng.random(len(prompt)) < np.repeat(rng.beta(2, 1, PROMPTS), size)
    with (folder / "pool.csv").open("w", newline="", encoding="utf-8") as pool, \
            (folder / "labels.csv").open("w", newline="", encoding="utf-8") as labels:
        rows, known = csv.writer(pool), csv.writer(labels)
        rows.writerow(["item_id", "prompt", "predicted", "text"])
        known.writerow(["item_id", "label"])
        for i in order.tolist():
            rows.writerow([f"i{i}", f"prompt {prompt[i]}", "good", f"answer {i}"])
            known.writerow([f"i{i}", "good" if right[i] else "bad"])
    return {f"prompt {j}": int(n) for j, n in enumerate(size)}, right.mean()


def spec_of(folder, **changes):
    data = {
        "name": "prompts", "method": "whole-clusters", "labels": {"classes": ["good", "bad", "odd"]},
        "pool": {"source": str(folder / "pool.csv"), "id": "item_id", "prediction": "predicted",
                 "cluster": "prompt", "display": ["text"]},
        "measure": ["accuracy"], "budget": {"labels": 60}, "batch_size": 20,
        "desk": {"kind": "simulated", "labels": str(folder / "labels.csv")}, "seed": 4,
    }
    for key, value in changes.items():
        if key.startswith("pool_"):
            data["pool"][key.removeprefix("pool_")] = value
        else:
            data[key] = value
    data["pool"] = {key: value for key, value in data["pool"].items() if value is not None}
    return data


def run(folder, **changes):
    store = MemoryStore()
    begin_evaluation(store, Spec.from_json(spec_of(folder, **changes)))
    return store, drive(store, "prompts", patience=AT_ONCE)


def test_rounds_ask_for_whole_clusters_one_after_the_other(tmp_path):
    size, _ = write(tmp_path)
    store, standing = run(tmp_path)
    rounds = [read_plan(Ledger(store, "prompts"), n).clusters for n in range(1, standing.rounds + 1)]
    for number, clusters in enumerate(rounds, start=1):
        count = Counter(clusters)
        whole = [name for name in count if count[name] == size[name]]
        # only the budget's end cuts a cluster short
        assert len(whole) == len(count) or number == len(rounds)
        runs = sum(a != b for a, b in pairwise(clusters)) + 1
        assert runs == len(count)
        assert len(clusters) <= 20
    first = standing.estimates[0]
    assert (first.labels, first.interval) == (60, "ratio, over clusters")
    assert first.price_tag is None
    assert verify(store, "prompts").differences == ()


def test_a_pool_labelled_out_has_the_exact_value_and_an_interval_over_clusters(tmp_path):
    size, share = write(tmp_path)
    _, standing = run(tmp_path, budget={"labels": sum(size.values())}, batch_size=40)
    row = standing.estimates[0]
    assert standing.stopped_by == "pool"
    assert row.value == pytest.approx(share)
    assert row.lower < share < row.upper


def test_two_classes_and_numbers_and_systems_draw_whole_clusters_too(tmp_path):
    write(tmp_path)
    for changes in (
        {"labels": {"positive": "good", "negative": "bad"}, "measure": "precision", "pool_probability": "p"},
        {"pool_prediction": None, "pool_systems": {n: {"prediction": "predicted"} for n in "ab"}},
    ):
        Spec.from_json(spec_of(tmp_path, **changes))
    store, standing = run(
        tmp_path, pool_prediction=None, pool_systems={n: {"prediction": "predicted"} for n in "ab"},
    )
    assert {row.versus for row in standing.estimates} == {None, "a"}
    assert verify(store, "prompts").differences == ()


def test_the_command_line_reports_and_exports_them(tmp_path, capsys):
    size, _ = write(tmp_path)
    (tmp_path / "spec.yaml").write_text(yaml.safe_dump(spec_of(tmp_path)), encoding="utf-8")
    where = ["--store", str(tmp_path / "ledger")]
    assert run_command_line(["run", str(tmp_path / "spec.yaml"), *where]) == 0
    capsys.readouterr()
    out = str(tmp_path / "labels.parquet")
    assert run_command_line(["export", "prompts", "--out", out, *where]) == 0
    import pyarrow.parquet as pq

    weight = pq.read_table(out)["sample_weight"].to_numpy()
    assert weight.sum() == pytest.approx(sum(size.values()))
    assert run_command_line(["report", "prompts", "--out", str(tmp_path / "report"), *where]) == 0
    page = (tmp_path / "report" / "report.html").read_text(encoding="utf-8")
    assert "Whole clusters of items that come together" in page


@pytest.mark.parametrize(("changes", "message"), [
    ({"pool_cluster": None}, "$.pool.cluster is needed by method 'whole-clusters'"),
    ({"pool_cluster": None, "labels": {"positive": "good", "negative": "bad"}, "measure": "f1",
      "pool_score": "s"}, "$.method is 'whole-clusters', which draws whole clusters; name their column"),
])
def test_what_is_refused(tmp_path, changes, message):
    with pytest.raises(BadInput) as caught:
        Spec.from_json(spec_of(tmp_path, **changes))
    assert message in str(caught.value)


def test_too_many_clusters_are_refused_when_the_pool_is_frozen(tmp_path, monkeypatch):
    write(tmp_path)
    monkeypatch.setattr("assay.evalcore.methods.any_outcome.whole_clusters.MOST_CLUSTERS", 10)
    with pytest.raises(BadInput, match="takes up to 10 clusters, and the pool has 30; leave `method` out"):
        run(tmp_path)
