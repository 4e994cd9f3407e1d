"""Two models, or thresholds of one score, compared on one pool: from the spec to the report."""

import csv
import json
from pathlib import Path

import pandas as pd
import pytest
import yaml
from doubles import outcomes
from doubles.systems import spec_of_systems, write_models
from sklearn.metrics import (
    accuracy_score,
    balanced_accuracy_score,
    cohen_kappa_score,
    f1_score,
    matthews_corrcoef,
    precision_score,
    recall_score,
)

from assay.flows.cli.main import run_command_line
from assay.flows.evaluation.advance import Patience, advance, drive
from assay.flows.evaluation.begin import begin_evaluation
from assay.flows.record.opened import open_evaluation
from assay.flows.verify.ledger import verify
from assay.tasks.ledger.asked_round import read_plan
from assay.tasks.ledger.record import Ledger
from assay.tasks.spec.evaluation import Spec
from assay.tasks.testing import MemoryStore

AT_ONCE = Patience(first=0.0, longest=0.0, in_all=0.0)
BY_SCIKIT = {
    "f1": f1_score, "precision": precision_score, "recall": recall_score, "accuracy": accuracy_score,
    "balanced_accuracy": balanced_accuracy_score, "mcc": matthews_corrcoef, "cohen_kappa": cohen_kappa_score,
}


def run(folder: Path, /, **changes):
    spec, store = Spec.from_json(spec_of_systems(folder, **changes)), MemoryStore()
    begin_evaluation(store, spec)
    return store, drive(store, spec.name, patience=AT_ONCE)


def test_labels_go_where_the_models_differ_and_the_ledger_recomputes(tmp_path):
    _, columns = write_models(tmp_path)
    store, standing = run(tmp_path)
    first = standing.estimates[0]
    assert (first.measure, first.system, first.versus) == ("f1", "new", "old")
    assert (first.comparison.together, standing.known.leading) == (1, 1)
    assert verify(store, "systems").differences == ()
    opened = open_evaluation(store, "systems")
    apart = columns["p1"] != columns["p2"]
    assert opened.manifest.differing == {"new": apart.sum()}
    asked = [read_plan(Ledger(store, "systems"), n) for n in (1, 2)]
    chosen = [int(item[1:]) for planned in asked for item in planned.item_id]
    assert apart[chosen].mean() > 2 * apart.mean()
    for planned in asked:
        assert [bool(code) for code in planned.predictions[:, 1]] == [
            bool(columns["p2"][int(item[1:])]) for item in planned.item_id
        ]


def test_a_judge_beside_compared_models_is_planned_with_and_costs_nothing(tmp_path):
    truth, _ = write_models(tmp_path)
    rows = (tmp_path / "pool.csv").read_text(encoding="utf-8").splitlines()
    told = ["judge", *("match" if y else "no match" for y in truth)]     # it never errs
    (tmp_path / "pool.csv").write_text(
        "\n".join(f"{row},{said}" for row, said in zip(rows, told, strict=True)) + "\n", encoding="utf-8"
    )
    store, judged = run(tmp_path, measure="accuracy", pool_judge="judge")
    _, alone = run(tmp_path, measure="accuracy")
    assert verify(store, "systems").differences == ()
    planned = read_plan(Ledger(store, "systems"), 1)
    assert planned.judges[:, 0].tolist() == [float(truth[int(item[1:])]) for item in planned.item_id]
    of_judged, of_none = (one.estimates[0] for one in (judged, alone))
    assert of_judged.versus == "old"
    assert of_judged.upper - of_judged.lower <= of_none.upper - of_none.lower


@pytest.mark.parametrize(("kind", "judge", "measure"), [
    ("number", "judge", "mae"), ("tags", "other", "jaccard"),
])
def test_other_labels_have_judges_beside_compared_systems_too(tmp_path, kind, judge, measure):
    data = outcomes.pool_and_spec(
        kind, tmp_path, measure=[measure], pool_prediction=None, pool_probability=None, pool_judge=judge,
        pool_systems={"old": {"prediction": "predicted"}, "new": {"prediction": "other"}},
    )
    frame = pd.read_csv(tmp_path / "pool.csv", dtype=str, keep_default_na=False)
    frame.assign(other=frame["predicted"].to_numpy()[::-1]).to_csv(tmp_path / "pool.csv", index=False)
    store, spec = MemoryStore(), Spec.from_json(data)
    begin_evaluation(store, spec)
    standing = drive(store, spec.name, patience=AT_ONCE)
    assert (standing.state, standing.labels) == ("finished", 40)
    assert {row.versus for row in standing.estimates} == {None, "old"}
    assert verify(store, spec.name).differences == ()


def test_a_pool_that_is_labelled_out_has_exact_differences_those_of_scikit_learn(tmp_path):
    truth, columns = write_models(tmp_path, n=90)
    _, standing = run(tmp_path, budget={"labels": 90}, batch_size=45)
    assert standing.stopped_by == "pool"
    found = {(row.measure, row.system, row.versus): row for row in standing.estimates}
    for name, function in BY_SCIKIT.items():
        old, new = function(truth, columns["p1"]), function(truth, columns["p2"])
        assert found[name, "old", None].value == pytest.approx(old)
        assert found[name, "new", None].value == pytest.approx(new)
        difference = found[name, "new", "old"]
        assert difference.value == pytest.approx(new - old)
        assert difference.comparison.verdict == ("better" if new > old else "worse")
        assert difference.comparison.chance_better == float(new > old)
        assert (found[name, "old", None].class_name, found[name, "old", None].interval) == (None, "exact")


def test_thresholds_are_systems_and_the_command_line_compares_them(tmp_path, capsys):
    truth, columns = write_models(tmp_path, n=120)
    spec = spec_of_systems(
        tmp_path, pool_systems=None, pool_probability="s", pool_thresholds=[0.3, 0.5, 0.8],
        pool_baseline=0.5, measure=["f1", "precision"], budget={"labels": 120}, batch_size=60,
    )
    (tmp_path / "spec.yaml").write_text(yaml.safe_dump(spec, sort_keys=False), encoding="utf-8")
    where = ["--store", str(tmp_path / "ledger")]
    assert run_command_line(["doctor", str(tmp_path / "spec.yaml"), *where]) == 0
    assert "'threshold 0.5' on" in capsys.readouterr().out
    assert run_command_line(["run", str(tmp_path / "spec.yaml"), *where]) == 0
    assert "f1 of threshold 0.3 minus threshold 0.5" in capsys.readouterr().out
    assert run_command_line(["compare", "systems", "--json", *where]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["systems"] == ["threshold 0.5", "threshold 0.3", "threshold 0.8"]
    assert told["decided"]
    for row in told["estimates"]:
        at = float(row["system"].split()[1])
        assert row["value"] == pytest.approx(BY_SCIKIT[row["measure"]](truth, columns["s"] >= at))
    assert {row["versus"] for row in told["differences"]} == {"threshold 0.5"}
    assert {row["comparison"]["together"] for row in told["differences"]} == {2}
    assert run_command_line(["compare", "systems", *where]) == 0
    assert "predict the same for" in capsys.readouterr().out
    assert run_command_line(["report", "systems", "--out", str(tmp_path / "report"), *where]) == 0
    page = (tmp_path / "report" / "report.html").read_text(encoding="utf-8")
    assert "Systems compared" in page
    assert "Differences of F1" in page


def test_an_open_comparison_says_so_and_exits_with_4(tmp_path, capsys):
    write_models(tmp_path)
    data = spec_of_systems(tmp_path, measure="accuracy", budget={"labels": 10}, batch_size=10)
    (tmp_path / "spec.yaml").write_text(yaml.safe_dump(data, sort_keys=False), encoding="utf-8")
    where = ["--store", str(tmp_path / "ledger")]
    assert run_command_line(["run", str(tmp_path / "spec.yaml"), *where]) == 0
    assert run_command_line(["compare", "systems", *where]) == 4
    assert "It is open whether new or old is better" in capsys.readouterr().out


def test_one_system_cannot_be_compared(tmp_path, capsys):
    write_models(tmp_path)
    data = spec_of_systems(tmp_path, pool_systems=None, pool_score="s", pool_prediction="p1", measure="f1",
                           budget={"labels": 20})
    (tmp_path / "spec.yaml").write_text(yaml.safe_dump(data, sort_keys=False), encoding="utf-8")
    where = ["--store", str(tmp_path / "ledger")]
    assert run_command_line(["run", str(tmp_path / "spec.yaml"), *where]) == 0
    assert run_command_line(["compare", "systems", *where]) == 2
    assert "has one system" in capsys.readouterr().err


def test_classes_are_compared_and_people_see_no_prediction(tmp_path):
    write_models(tmp_path)
    store, spec = MemoryStore(), Spec.from_json(spec_of_systems(
        tmp_path, labels={"classes": ["match", "no match"]}, measure=["macro_f1", "f1"],
        pool_systems={"a": {"prediction": "p1"}, "b": {"prediction": "p1"}},
        desk={"kind": "folder", "path": str(tmp_path / "desk")},
    ))
    begin_evaluation(store, spec)
    advance(store, "systems")
    with (tmp_path / "desk" / "systems" / "round-0001.csv").open(encoding="utf-8-sig") as opened:
        [header, *_] = csv.reader(opened)
    assert not {"p1", "p2", "s", "prediction", "a", "b"} & set(header)


def test_changed_predictions_of_a_plan_are_found(tmp_path):
    write_models(tmp_path, n=90)
    store, _ = run(tmp_path, budget={"labels": 30}, measure="f1")
    damaged = MemoryStore()
    for key in store.keys(""):
        blob = store.get(key)
        if key.endswith("pool/manifest.json"):
            blob = blob.replace(b'"differing":{"new":', b'"differing":{"new":1')
        damaged.put(key, blob)
    assert "systems/pool/manifest.json" in {d.key for d in verify(damaged, "systems").differences}
