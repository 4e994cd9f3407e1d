"""Systems that predict numbers, tags or probabilities, compared on one pool: from the spec to the report."""

import csv
import json

import numpy as np
import pytest
import yaml
from sklearn.metrics import (
    brier_score_loss,
    f1_score,
    jaccard_score,
    log_loss,
    mean_absolute_error,
    r2_score,
    root_mean_squared_error,
)

from assay.evalcore.errors import BadInput
from assay.flows.cli.main import run_command_line
from assay.flows.evaluation.advance import Patience, drive
from assay.flows.evaluation.begin import begin_evaluation
from assay.flows.record.opened import open_evaluation
from assay.flows.verify.ledger import verify
from assay.tasks.ledger.asked_round import read_plan
from assay.tasks.ledger.record import Ledger
from assay.tasks.spec.evaluation import Spec
from assay.tasks.testing import MemoryStore

AT_ONCE = Patience(first=0.0, longest=0.0, in_all=0.0)
TAGS = ("war", "art", "sport")
N = 80


def write(folder, columns, labels):
    """`pool.csv` and `labels.csv`."""
    for name, table in (("pool", columns), ("labels", {"label": labels})):
        with (folder / f"{name}.csv").open("w", newline="", encoding="utf-8") as opened:
            writer = csv.writer(opened)
            writer.writerow(["item_id", "text", *table])
            for i in range(N):
                writer.writerow([f"i{i}", f"text {i}", *(values[i] for values in table.values())])


def spec_of(folder, labels, systems, measure, budget=N, **changes):
    return {
        "name": "systems", "labels": labels, "measure": measure,
        "pool": {"source": str(folder / "pool.csv"), "id": "item_id", "display": ["text"],
                 "systems": systems, **changes},
        "budget": {"labels": budget}, "batch_size": 40, "seed": 5,
        "desk": {"kind": "simulated", "labels": str(folder / "labels.csv")},
    }


def run(folder, *args, **kwargs):
    spec, store = Spec.from_json(spec_of(folder, *args, **kwargs)), MemoryStore()
    begin_evaluation(store, spec)
    return store, drive(store, spec.name, patience=AT_ONCE)


def numbers(folder):
    rng = np.random.default_rng(2)
    truth = np.round(rng.normal(50, 10, N), 2)
    columns = {
        name: np.round(np.clip(truth + rng.normal(0, sd, N), 0, 100), 2)
        for name, sd in (("p1", 3.0), ("p2", 2.0))
    }
    write(folder, columns, truth)
    return truth, columns


def masks(folder):
    """Tags of the truth and of two systems, (N, 3) each."""
    rng = np.random.default_rng(3)
    truth = rng.random((N, 3)) < 0.4
    said = {name: truth ^ (rng.random((N, 3)) < share) for name, share in (("p1", 0.25), ("p2", 0.1))}
    text = {
        name: ["|".join(t for t, on in zip(TAGS, row, strict=True) if on) for row in table]
        for name, table in said.items()
    }
    given = {f"q_{t}": np.round(np.where(said["p2"][:, k], 0.8, 0.1), 2) for k, t in enumerate(TAGS)}
    labels = ["|".join(t for t, on in zip(TAGS, row, strict=True) if on) for row in truth]
    write(folder, text | given, labels)
    return truth, said


def test_numbers_labelled_out_have_the_differences_of_scikit_learn(tmp_path):
    truth, columns = numbers(tmp_path)
    systems = {"old": {"prediction": "p1"}, "new": {"prediction": "p2"}}
    measures = ["mae", "mse", "rmse", "bias", {"name": "within", "tolerance": 2}, "r2"]
    store, standing = run(tmp_path, {"number": {"min": 0, "max": 100}}, systems, measures)
    assert standing.stopped_by == "pool"
    found = {(row.measure, row.system, row.versus): row for row in standing.estimates}
    for name, function in (
        ("mae", mean_absolute_error), ("rmse", root_mean_squared_error), ("r2", r2_score),
        ("bias", lambda y, f: np.mean(f - y)), ("within(2)", lambda y, f: np.mean(np.abs(f - y) <= 2)),
        ("mse", lambda y, f: np.mean((f - y) ** 2)),
    ):
        old, new = function(truth, columns["p1"]), function(truth, columns["p2"])
        assert found[name, "old", None].value == pytest.approx(old)
        assert found[name, "new", None].value == pytest.approx(new)
        assert found[name, "new", "old"].value == pytest.approx(new - old)
    assert found["mae", "new", "old"].comparison.verdict == "better"
    assert verify(store, "systems").differences == ()


def test_the_difference_in_bias_is_known_before_labels_tell_it(tmp_path):
    _, columns = numbers(tmp_path)
    systems = {"old": {"prediction": "p1"}, "new": {"prediction": "p2"}}
    store, standing = run(tmp_path, {"number": {}}, systems, ["mae", "bias"], budget=40)
    row = next(r for r in standing.estimates if r.measure == "bias" and r.versus)
    assert row.value == pytest.approx(columns["p2"].mean() - columns["p1"].mean())
    assert row.upper - row.lower < 1e-9
    opened = open_evaluation(store, "systems")
    assert opened.manifest.differing == {"new": int((columns["p1"] != columns["p2"]).sum())}
    assert verify(store, "systems").differences == ()
    with pytest.raises(BadInput, match="known without a label; put another measure first"):
        run(tmp_path, {"number": {}}, systems, ["bias", "mae"])


def test_labels_go_where_numbers_are_far_apart(tmp_path):
    rng = np.random.default_rng(4)
    truth = rng.normal(50, 10, N)
    first = truth + rng.normal(0, 3, N)
    write(tmp_path, {"p1": first, "p2": np.where(np.arange(N) < 20, first + 6, first)}, truth)
    store, _ = run(tmp_path, {"number": {}}, {"a": {"prediction": "p1"}, "b": {"prediction": "p2"}}, "mae",
                   budget=20)
    asked = [int(item[1:]) for item in read_plan(Ledger(store, "systems"), 1).item_id]
    assert np.mean(np.array(asked) < 20) > 0.6


def test_tags_labelled_out_have_the_differences_of_scikit_learn(tmp_path):
    truth, said = masks(tmp_path)
    systems = {"old": {"prediction": "p1"}, "new": {"prediction": "p2", "probability": {"prefix": "q_"}}}
    store, standing = run(tmp_path, {"tags": list(TAGS)}, systems, [
        "micro_f1", "macro_f1", "jaccard", "hamming", {"name": "recall", "class": "war"},
    ])
    found = {(row.measure, row.system, row.versus): row for row in standing.estimates}
    one = {"zero_division": 1.0}
    for name, function in (
        ("micro_f1", lambda y, f: f1_score(y, f, average="micro")),
        ("macro_f1", lambda y, f: f1_score(y, f, average="macro")),
        ("jaccard", lambda y, f: jaccard_score(y, f, average="samples", **one)),
        ("hamming", lambda y, f: np.mean(y != f)),
    ):
        old, new = function(truth, said["p1"]), function(truth, said["p2"])
        assert found[name, "new", "old"].value == pytest.approx(new - old)
    assert found["hamming", "new", "old"].comparison.verdict == "better"
    assert verify(store, "systems").differences == ()
    row = open_evaluation(store, "systems").manifest
    assert row.differing == {"new": int((said["p1"] != said["p2"]).any(axis=1).sum())}


def test_the_command_line_compares_tags_and_estimates_them_anew(tmp_path, capsys):
    masks(tmp_path)
    systems = {"old": {"prediction": "p1"}, "new": {"prediction": "p2"}}
    data = spec_of(tmp_path, {"tags": list(TAGS)}, systems, ["micro_f1", "recall"])
    (tmp_path / "spec.yaml").write_text(yaml.safe_dump(data, sort_keys=False), encoding="utf-8")
    where = ["--store", str(tmp_path / "ledger")]
    assert run_command_line(["doctor", str(tmp_path / "spec.yaml"), *where]) == 0
    assert "differs from 'old' on" in capsys.readouterr().out
    assert run_command_line(["run", str(tmp_path / "spec.yaml"), *where]) == 0
    capsys.readouterr()
    assert run_command_line(["compare", "systems", "--json", *where]) == 0
    told = json.loads(capsys.readouterr().out)
    [first] = [row for row in told["differences"] if row["measure"] == "micro_f1"]
    assert (first["system"], first["versus"], first["comparison"]["verdict"]) == ("new", "old", "better")
    assert run_command_line(["report", "systems", "--out", str(tmp_path / "report"), *where]) == 0
    page = (tmp_path / "report" / "report.html").read_text(encoding="utf-8")
    assert "Differences of Micro F1" in page
    capsys.readouterr()
    assert run_command_line(
        ["estimate", "systems", "--measure", "jaccard", "--system", "new", "--json", *where]
    ) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["estimates"][0]["value"] > 0.5, told["notes"]) == (True, [])
    assert run_command_line(["estimate", "systems", "--measure", "jaccard", "--json", *where]) == 0
    [note] = json.loads(capsys.readouterr().out)["notes"]
    assert note == "of old, the first of the systems that are compared; --system names another"


def probabilities(folder):
    rng = np.random.default_rng(6)
    truth = rng.random(N) < 0.4
    columns = {
        f"s{j}": np.round(np.clip(0.5 + (truth - 0.5) * width + rng.normal(0, 0.2, N), 0.01, 0.99), 3)
        for j, width in ((1, 0.4), (2, 0.7))
    }
    write(folder, columns, np.where(truth, "yes", "no"))
    return truth, columns


def test_probabilities_of_each_system_labelled_out(tmp_path, capsys):
    truth, columns = probabilities(tmp_path)
    systems = {n: {"probability": c, "threshold": 0.5} for n, c in (("old", "s1"), ("new", "s2"))}
    measures = ["brier", "log_loss", "accuracy"]
    store, standing = run(tmp_path, {"positive": "yes", "negative": "no"}, systems, measures)
    found = {(row.measure, row.system, row.versus): row for row in standing.estimates}
    for name, function in (("brier", lambda p: brier_score_loss(truth, p)),
                           ("log_loss", lambda p: log_loss(truth, p))):
        old, new = function(columns["s1"]), function(columns["s2"])
        assert found[name, "old", None].value == pytest.approx(old, abs=1e-5)
        assert found[name, "new", "old"].value == pytest.approx(new - old, abs=1e-5)
        assert found[name, "new", "old"].comparison.verdict == "better"
    assert verify(store, "systems").differences == ()
    planned = read_plan(Ledger(store, "systems"), 1)
    item = int(planned.item_id[0][1:])
    assert planned.by_system[0, [1, 3]] == pytest.approx([columns["s1"][item], columns["s2"][item]], abs=1e-6)


def test_old_labels_answer_for_the_probabilities_of_one_system(tmp_path, capsys):
    truth, columns = probabilities(tmp_path)
    systems = {n: {"probability": c, "threshold": 0.5} for n, c in (("old", "s1"), ("new", "s2"))}
    data = spec_of(tmp_path, {"positive": "yes", "negative": "no"}, systems, ["brier"])
    (tmp_path / "spec.yaml").write_text(yaml.safe_dump(data, sort_keys=False), encoding="utf-8")
    where = ["--store", str(tmp_path / "ledger")]
    assert run_command_line(["run", str(tmp_path / "spec.yaml"), *where]) == 0
    for system, column in (("old", "s1"), ("new", "s2")):
        capsys.readouterr()
        assert run_command_line(
            ["estimate", "systems", "--measure", "brier", "--system", system, "--json", *where]
        ) == 0
        [row] = json.loads(capsys.readouterr().out)["estimates"]
        assert row["value"] == pytest.approx(brier_score_loss(truth, columns[column]), abs=1e-5)
    out = str(tmp_path / "l.csv")
    assert run_command_line(["export", "systems", "--format", "csv", "--out", out, *where]) == 0
    with (tmp_path / "l.csv").open(encoding="utf-8") as opened:
        row = next(csv.DictReader(opened))
    item = int(row["item_id"][1:])
    assert float(row["probability:new:yes"]) == pytest.approx(columns["s2"][item], abs=1e-6)


def test_every_pair_is_compared_and_counted(tmp_path, capsys):
    truth, columns = numbers(tmp_path)
    columns["p3"] = np.round(np.clip(columns["p1"] + 0.5, 0, 100), 2)
    write(tmp_path, columns, truth)
    systems = {n: {"prediction": p} for n, p in (("a", "p1"), ("b", "p2"), ("c", "p3"))}
    data = spec_of(tmp_path, {"number": {}}, systems, ["mae"], budget=40, pairs="all")
    (tmp_path / "spec.yaml").write_text(yaml.safe_dump(data, sort_keys=False), encoding="utf-8")
    where = ["--store", str(tmp_path / "ledger")]
    assert run_command_line(["run", str(tmp_path / "spec.yaml"), *where]) == 0
    capsys.readouterr()
    assert run_command_line(["compare", "systems", "--json", *where]) in (0, 4)
    told = json.loads(capsys.readouterr().out)
    assert told["pairs"] == "all"
    pairs = {(row["system"], row["versus"]): row for row in told["differences"]}
    assert set(pairs) == {("b", "a"), ("c", "a"), ("c", "b")}
    assert {row["comparison"]["together"] for row in pairs.values()} == {3}
    assert all(0 <= row["comparison"]["chance_better"] <= 1 for row in pairs.values())
    assert pairs["c", "b"]["value"] == pytest.approx(pairs["c", "a"]["value"] - pairs["b", "a"]["value"])
    assert run_command_line(["compare", "systems", *where]) in (0, 4)
    assert "c minus b" in capsys.readouterr().out
    assert run_command_line(["report", "systems", "--out", str(tmp_path / "report"), *where]) == 0
    page = (tmp_path / "report" / "report.html").read_text(encoding="utf-8")
    assert "together with those of all other pairs (Bonferroni, 3 intervals)" in page
    assert "of the row's system minus that of the column's" in page
    capsys.readouterr()
    assert run_command_line(["check", "systems", "--baseline", "a", "--system", "b", *where]) in (0, 3, 4)
    assert "mae of b minus a" in (said := capsys.readouterr().out)
    assert "at most 0" in said   # the smaller the better
    assert run_command_line(["verify", "systems", *where]) == 0
