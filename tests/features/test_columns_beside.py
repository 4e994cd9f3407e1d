"""Covariates, the spread of predicted numbers, and judges that say nothing of some items or lie between two
grades: from the spec to the report.
"""

import json

import numpy as np
import pandas as pd
import pytest
from doubles import outcomes
from doubles.stream import after
from doubles.stream_of_kinds import stream_of

import assay
from assay.evalcore.errors import BadInput
from assay.flows.cli.main import run_command_line
from assay.flows.evaluation.advance import Patience, drive
from assay.flows.evaluation.begin import begin_evaluation
from assay.flows.monitor.tick import tick
from assay.flows.monitor.versions import register
from assay.flows.record.opened import open_evaluation
from assay.flows.report.gather import report_data
from assay.flows.verify.ledger import verify
from assay.flows.verify.monitor import verify_monitor
from assay.tasks.ledger.asked_round import read_plan
from assay.tasks.ledger.record import Ledger
from assay.tasks.report.data import JUDGE_FIGURES
from assay.tasks.report.files import render_report
from assay.tasks.spec.evaluation import Spec
from assay.tasks.spec.monitor import MonitorSpec
from assay.tasks.testing import MemoryStore

AT_ONCE = Patience(first=0.0, longest=0.0, in_all=0.0)


def pool_of(kind, folder, /, add, **changes):
    """The spec of a kind, and its pool with the columns that `add` makes of a frame and some chance."""
    {**outcomes.WRITERS, "grades": outcomes.write_grades}[kind](folder)
    frame = pd.read_csv(folder / "pool.csv", dtype=str, keep_default_na=False)
    frame.assign(**add(frame, np.random.default_rng(2))).to_csv(folder / "pool.csv", index=False)
    return outcomes.spec_of(kind, folder, **changes)


def run(data):
    store, spec = MemoryStore(), Spec.from_json(data)
    begin_evaluation(store, spec)
    standing = drive(store, spec.name, patience=AT_ONCE)
    found = verify(store, spec.name)
    assert (found.differences, standing.labels) == ((), 40)
    return store, standing


def two_numbers(frame, rng):
    return {"length": np.round(rng.normal(size=len(frame)), 3), "turns": rng.integers(1, 9, len(frame))}


CASES = {
    "grades": {"measure": ["mean", "mae"]},
    "tags": {"measure": ["micro_f1", "jaccard"]},
    "preference": {"measure": ["win_rate"]},
    "number": {"measure": ["mae", "bias", "mean"]},
    "two systems": {"measure": ["mae"], "pool_prediction": None, "pool_systems": {
        "old": {"prediction": "predicted"}, "new": {"prediction": "judge"},
    }, "labels": {"number": {}}},
}


def test_labels_of_one_class_are_guessed_with_covariates_where_the_method_is_guesses(tmp_path):
    data = pool_of(
        "grades", tmp_path, two_numbers, pool_covariates=["length"], method="guesses",
        labels={"classes": ["1", "2", "3", "4", "5"]}, measure={"name": "f1", "class": "3"},
    )
    _, standing = run(data)
    assert standing.estimates[0].lower <= standing.estimates[0].value


@pytest.mark.parametrize("kind", CASES)
def test_covariates_are_frozen_recorded_and_verified(tmp_path, kind):
    data = pool_of(
        "number" if kind == "two systems" else kind, tmp_path, two_numbers,
        pool_covariates=["length", "turns"], **CASES[kind],
    )
    store, standing = run(data)
    assert all(row.lower <= row.value <= row.upper for row in standing.estimates if row.value is not None)
    frame = pd.read_csv(tmp_path / "pool.csv").set_index("item_id")
    planned = read_plan(Ledger(store, data["name"]), 1)
    assert planned.beside.tolist() == [[*frame.loc[i, ["length", "turns"]]] for i in planned.item_id]


def test_a_covariate_that_says_what_predictions_leave_out_makes_intervals_narrow(tmp_path):
    def left_out(frame, rng):
        truth = pd.read_csv(tmp_path / "labels.csv")["label"]
        off = truth - frame["predicted"].astype(float)
        return {"length": off + rng.normal(0, 1, len(frame)), "doubt": np.abs(off) + 0.5}

    data = pool_of("number", tmp_path, left_out, measure=["bias"])
    widths = {}
    columns = {"none": {}, "said": {"covariates": ["length"]}, "spread": {"spread": "doubt"}}
    for key, changes in columns.items():
        _, standing = run({**data, "pool": {**data["pool"], **changes}})
        [row] = standing.estimates
        widths[key] = row.upper - row.lower
    assert widths["said"] < 0.6 * widths["none"]
    assert widths["spread"] < widths["none"]


def test_a_judge_may_say_nothing_of_some_items_and_lie_between_two_grades(tmp_path):
    def gaps(frame, rng):
        judge = frame["judge"].astype(float) - 0.5 * (rng.random(len(frame)) < 0.3)
        return {
            "judge": np.where(rng.random(len(frame)) < 0.2, "n/a", np.clip(judge, 1, 5).astype(str)),
            "silent": "",
        }

    data = pool_of(
        "grades", tmp_path, gaps, measure=["mean"], pool_judge=["judge", "silent"], pool_probability=None
    )
    store, standing = run(data)
    frame = pd.read_csv(tmp_path / "pool.csv", keep_default_na=False).set_index("item_id")
    planned = read_plan(Ledger(store, data["name"]), 1)
    for item, (code, never) in zip(planned.item_id, planned.judges.tolist(), strict=True):
        said = frame.loc[item, "judge"]
        assert (code, never) == (-2e300 if said == "n/a" else float(said) - 1, -2e300)
    assert {code % 1 for code in planned.judges[:, 0].tolist() if code >= 0} == {0.0, 0.5}
    told = report_data(open_evaluation(store, data["name"]), standing)
    [first] = JUDGE_FIGURES.value_in(told).judges     # the other said nothing
    assert 0 < next(one.labels for one in first.figures if one.figure == "agreement") < 40
    assert "judge" in render_report(told)["report.html"].decode()


def test_other_judges_may_have_gaps_too(tmp_path):
    def gaps(frame, rng):
        return {"judge": np.where(rng.random(len(frame)) < 0.3, "", frame["judge"])}

    for kind, measure in (("number", "mae"), ("preference", "win_rate")):
        folder = tmp_path / kind
        folder.mkdir()
        run(pool_of(kind, folder, gaps, measure=[measure], pool_judge="judge"))


@pytest.mark.parametrize("kind", ["grades", "number"])
def test_items_that_nobody_can_decide_leave_with_their_covariates(tmp_path, kind):
    data = pool_of(kind, tmp_path, two_numbers, pool_covariates=["length"], measure=["mean"])
    labels = pd.read_csv(tmp_path / "labels.csv", dtype=str)
    labels["label"] = labels["label"].where(np.arange(len(labels)) % 5 > 0)
    labels.to_csv(tmp_path / "labels.csv", index=False)
    data |= {"budget": {"labels": outcomes.N}, "batch_size": 80}
    store, spec = MemoryStore(), Spec.from_json(data)
    begin_evaluation(store, spec)
    standing = drive(store, spec.name, patience=AT_ONCE)
    assert (standing.undecided, verify(store, spec.name).differences) == (outcomes.N // 5, ())
    assert standing.estimates[0].value == pytest.approx(labels["label"].astype(float).mean())


def test_a_monitor_has_them_in_every_window(tmp_path):
    data = stream_of("number", tmp_path, 2, threshold={"max": 9.0})
    data["pool"] |= {"covariates": ["judge"], "judge": "judge"}
    spec, store = MonitorSpec.from_data(data, origin="monitor.yaml"), MemoryStore()
    register(store, spec)
    assert not tick(store, spec.name, moment=after(2)).failed
    assert verify_monitor(store, spec.name).differences == ()


@pytest.mark.parametrize(("kind", "changes", "why"), [
    ("grades", {"pool_spread": "length"}, "the labels are no numbers"),
    ("number", {"pool_spread": "length"}, "column 'length': values are not above 0"),
    ("number", {"pool_spread": "turns", "method": "passive", "measure": "mae"}, "draws alike wherever"),
    ("number", {"pool_spread": "turns", "pool_prediction": None, "measure": "mean"}, "and there is none"),
    ("number", {"pool_covariates": ["text"]}, "column 'text': values are not finite numbers"),
    ("tags", {"pool_covariates": ["length"], "method": "stratified"}, "made of labels alone"),
    ("grades", {"pool_judge": "turns"}, "are not between the grades 1 and 5"),
])
def test_what_cannot_be_is_refused_with_what_can(tmp_path, kind, changes, why):
    with pytest.raises(BadInput, match=why):
        begin_evaluation(MemoryStore(), Spec.from_json(pool_of(kind, tmp_path, two_numbers, **changes)))


def frame_of(n=300):
    rng = np.random.default_rng(4)
    length = rng.normal(size=n)
    grade = np.clip(np.round(3 + rng.normal(size=n) - 0.8 * length), 1, 5).astype(int)
    judge = np.where(rng.random(n) < 0.2, np.nan, np.clip(np.round(2 * (grade + 0.8 * length)) / 2, 1, 5))
    return pd.DataFrame({
        "label": grade, "judge": judge, "length": length, "prediction": np.clip(grade + 0.5 * length, 1, 5),
        "doubt": np.abs(length) + 0.1,
    })


def test_a_replay_takes_them_all(tmp_path, capsys):
    frame_of().drop(columns="prediction").to_csv(tmp_path / "graded.csv", index=False)
    frame_of().drop(columns="judge").to_csv(tmp_path / "numbers.csv", index=False)

    def error(pool, *options):
        asked = ["replay", str(tmp_path / pool), "--budgets", "60", "--repeats", "40", "--json", *options]
        assert run_command_line(asked) == 0
        [found] = json.loads(capsys.readouterr().out)["methods"]
        return found["budgets"][0]["mse"]

    graded = ("graded.csv", "--outcome", "grades", "--measure", "mean", "--judge", "judge")
    assert error(*graded, "--covariates", "length") < error(*graded)
    numbers = ("numbers.csv", "--outcome", "number", "--measure", "bias")
    assert error(*numbers, "--covariates", "length") < 0.5 * error(*numbers)
    error(*numbers, "--spread", "doubt")
    assert run_command_line(["replay", str(tmp_path / "graded.csv"), "--spread", "doubt"]) == 2


def test_python_takes_them_too():
    frame = frame_of()
    beside = {"judge": "judge", "covariates": ["length"]}
    graded = frame.drop(columns="prediction")
    found = assay.replay(
        graded, outcome={"grades": [1, 2, 3, 4, 5]}, measures="mean", budgets=[60], repeats=4, **beside
    )
    assert found.to_dict()["n"] == len(frame)
    result = assay.evaluate(
        graded, outcome={"grades": [1, 2, 3, 4, 5]}, measures=["mean"], budget=40,
        oracle=lambda row: row["label"], show=["length"], **beside,
    )
    assert result.estimates


@pytest.mark.parametrize("labels", [{"positive": "a", "negative": "b"}, {"classes": ["a", "b", "c"]}])
def test_one_class_is_modelled_along_its_score(tmp_path, labels):
    data = {
        **outcomes.spec_of("grades", tmp_path, pool_covariates=["length"], pool_probability=None),
        "labels": labels,
        "measure": {"name": "f1", "class": "a"} if "classes" in labels else "f1",
    }
    with pytest.raises(BadInput, match=r"covariates`? correct what is guessed of items"):
        Spec.from_json(data)
