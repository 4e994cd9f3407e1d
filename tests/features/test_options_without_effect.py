"""An option that does nothing for what is asked is refused: every option of `assay replay` on every kind of
pool, arguments of the Python face, and keys of a spec.

Given, an option either changes what comes out, or is refused with exit code 2 and a message that names it.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from doubles import outcomes, small_pool
from doubles.classes import pool_and_spec as of_classes
from doubles.stream_of_classes import classes_data, write_classes

import assay
from assay.evalcore.errors import BadInput
from assay.flows.cli.main import run_command_line
from assay.tasks.spec.evaluation import asked_spec
from assay.tasks.spec.monitor import MonitorSpec

N = 80
# kind -> arguments that ask for it; the pool is called as the first word says
KINDS = {
    "two classes": ["two", "--measure", "f1,recall"],
    "annotators": ["annotators", "--measure", "f1"],
    "curve": ["two", "--measure", "f1,roc_auc"],
    "clusters": ["two", "--measure", "f1", "--cluster", "group"],
    "classes": ["classes", "--measure", "accuracy,macro_f1", "--outcome", "classes"],
    "grades": ["grades", "--measure", "mean,accuracy", "--outcome", "grades"],
    "tags": ["tags", "--measure", "micro_f1", "--outcome", "tags"],
    "number": ["number", "--measure", "mae", "--outcome", "number"],
    "preference": ["preference", "--measure", "win_rate", "--outcome", "preference"],
}
OPTIONS = {
    "--batch-size": ["10"], "--confidence": ["0.8"], "--half-width": ["0.2"], "--positive": ["0"],
    "--features": ["number"], "--systems": ["other"], "--annotators": ["3"], "--audit": ["5"],
    "--divergence": [], "--id": ["nothing"], "--prediction": ["other"], "--label": ["truth"],
    "--score": ["number"], "--probability": ["sure"], "--judge": ["other"],
    "--system": ["a=prediction", "--system", "b=other"], "--cluster": ["four"], "--seed": ["2"],
    "--repeats": ["3"], "--budgets": ["15,40"], "--method": ["static-is"],
}


def frame(kind: str) -> pd.DataFrame:
    """Predictions, other predictions, labels and other labels of a kind, and columns of numbers."""
    rng = np.random.default_rng(3)
    names: Mapping[str, list[Any]] = {
        "classes": ["cat", "dog", "owl"], "grades": [1, 2, 3, 4], "preference": ["first", "second", "tie"],
        "tags": ["a", "b", "a|b", ""],
    }
    score = rng.normal(size=N)
    further = {
        "item_id": [f"i{i}" for i in range(N)], "number": score + 0.3 * rng.normal(size=N),
        "sure": rng.uniform(0.3, 0.9, N), "group": np.arange(N) // 4, "four": np.arange(N) // 5,
    }
    if kind == "number":
        spoken = {"label": 0.0, "truth": 2.0, "prediction": 1.0, "other": 3.0}
        made = {name: 10 * score + spread * rng.normal(size=N) for name, spread in spoken.items()}
    elif kind in names:
        truth, k = rng.integers(len(names[kind]), size=N), len(names[kind])
        wrong = {"label": 0.0, "truth": 0.1, "prediction": 0.2, "other": 0.3}
        made = {
            name: [names[kind][i] for i in np.where(rng.random(N) < share, rng.integers(k, size=N), truth)]
            for name, share in wrong.items()
        }
    else:
        chance = 1 / (1 + np.exp(-3 * score))
        # few different scores: an area is cut at each
        shown = np.round(2 * score) / 2 if kind == "two" else score
        made = {"score": shown, "prediction": (score > 0.2).astype(int),
                "other": (further["number"] > 0.2).astype(int)}
        made |= {"label_probability": chance} if kind == "annotators" else {
            "label": (rng.random(N) < chance).astype(int), "truth": (score > 0).astype(int)}
    return pd.DataFrame(further | made)


def told(capsys, *arguments: str) -> tuple[int, Any, str]:
    """Exit code, what was printed but for times, and what was said on standard error."""
    code = run_command_line(["replay", *arguments, "--json", "--processes", "1"])
    out, said = capsys.readouterr()
    return code, without_times(json.loads(out)) if code == 0 else None, said


def without_times(data: Any) -> Any:
    if isinstance(data, dict):
        return {key: without_times(x) for key, x in data.items() if "second" not in key and "ms" not in key}
    return [without_times(x) for x in data] if isinstance(data, list) else data


@pytest.mark.parametrize("kind", KINDS)
def test_an_option_of_replay_has_an_effect_or_is_refused(kind, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    name, *asked = KINDS[kind]
    frame(name).to_csv(f"{name}.csv", index=False)
    usual = [f"{name}.csv", *asked, "--repeats", "2", "--budgets", "15,30", "--method", "recalibrated"]
    code, before, said = told(capsys, *usual)
    assert code == 0, said
    for option, values in OPTIONS.items():
        code, found, said = told(capsys, *usual, option, *values)
        if code == 0:
            assert found != before, f"{option} does nothing for {kind}"
        else:
            assert code == 2, said
            column = values[-1].rpartition("=")[2] if values else option
            assert option in said or f"{column!r}" in said or "label_probability" in said, said


@pytest.mark.parametrize(("kind", "arguments", "says"), [
    ("two", {"divergence": True, "methods": "passive"}, "divergence: is told of methods that draw"),
    ("two", {"measures": ["roc_auc"], "divergence": True, "methods": "recalibrated"},
     "divergence: is told of methods that draw by a proposal"),
    ("two", {"judge": "other"}, "judge: guesses labels but of two classes"),
    ("two", {"systems": {"a": "prediction", "b": "other"}, "prediction": "other"}, "prediction: is of one"),
    ("two", {"systems": {"a": "prediction", "b": "other"}, "score": "number"}, "score: is of one system"),
    ("classes", {"outcome": "classes", "score": "number", "measures": "accuracy"}, "score: is of one system"),
    ("number", {"outcome": "number", "score": "number", "measures": "mae"}, "score: is of one system"),
    ("number", {"outcome": "number", "probability": "sure", "measures": "mae"}, "probability: is of classes"),
    ("classes", {"outcome": "classes", "threshold": 0.5, "measures": "accuracy"}, "threshold: needs two"),
])
def test_arguments_of_the_face_that_would_do_nothing(kind, arguments, says):
    with pytest.raises(BadInput, match=says):
        assay.replay(frame(kind), repeats=2, budgets=[20], **arguments)


def test_a_prediction_beside_systems_is_refused_of_labels_at_hand():
    rows = frame("classes").assign(inclusion_probability=0.5)
    with pytest.raises(BadInput, match="prediction: is of one system, and `systems` names several"):
        assay.estimate(rows, measures="accuracy", prediction="other", pool_size=2 * N,
                       systems={"a": "prediction", "b": "other"})


def of_two_classes(folder: Path, **changes: Any) -> dict[str, Any]:
    return small_pool.spec_json(*small_pool.write_small_pool(folder), **changes)


def of_numbers(folder: Path, **changes: Any) -> dict[str, Any]:
    return outcomes.pool_and_spec("number", folder, **changes)


@pytest.mark.parametrize(("made", "changes", "says"), [
    (of_two_classes, {"pool": {"features": ["score"]}}, "pool.features are looked at by methods that cut"),
    (of_classes, {"pool": {"features": ["p_cat"]}}, "pool.features are looked at by methods that cut"),
    (of_two_classes, {"desk": {"noise": 3.0}}, "desk.noise does not fit these labels; give error_rate"),
    (of_two_classes, {"desk": {"annotators": [{"confuses": {"cat": {"match": 0.5}}}]}}, "names 'cat'"),
    (of_classes, {"drive": ["accuracy"], "method": "passive"}, "drive cannot be used by method 'passive'"),
    (of_numbers, {"drive": ["mae"], "method": "stratified"}, "drive cannot be used by method 'stratified'"),
    (of_numbers, {"desk": {"error_rate": 0.1}}, "desk.error_rate does not fit these labels; give noise"),
    (of_classes, {"budget": {"audit": 5}}, "budget.audit looks for items of one class"),
    (of_numbers, {"pool": {"probability": "predicted"}}, "probability"),
])
def test_keys_of_a_spec_that_would_do_nothing(made, changes, says, tmp_path):
    spec = made(tmp_path)
    data = spec | {
        key: spec[key] | x if isinstance(x, dict) and isinstance(spec.get(key), dict) else x
        for key, x in changes.items()
    }
    with pytest.raises(BadInput, match=says):
        asked_spec(data, "spec.yaml")


@pytest.mark.parametrize(("watch", "says"), [
    ({"correction": "bonferroni"}, "monitor.correction is for segments"),
    ({"carry_over": 0.3}, "monitor.carry_over cannot be used by method"),
    ({"drop": {"by": 0.1, "windows": 3}}, "monitor.drop.windows is of a drop from the windows before"),
])
def test_keys_of_a_monitor_that_would_do_nothing(watch, says, tmp_path):
    write_classes(tmp_path, 1)
    data = classes_data(tmp_path)
    kept = MonitorSpec.from_data(data, origin="monitor.yaml")
    assert MonitorSpec.from_data(kept.to_json(), origin="its record") == kept   # with every default written
    with pytest.raises(BadInput, match=says):
        MonitorSpec.from_data(data | {"monitor": data["monitor"] | watch}, origin="monitor.yaml")


@pytest.mark.parametrize(("arguments", "says"), [
    (["--positive", "cat"], "--positive names one of two classes, and column 'label' holds"),
    (["--store", "elsewhere"], "--store is for a spec"),
    (["--threshold", "0.5"], "--threshold makes predictions of two classes"),
])
def test_options_of_the_doctor_that_would_do_nothing(arguments, says, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    frame("classes").to_csv("classes.csv", index=False)
    assert run_command_line(["doctor", "classes.csv", *arguments]) == 2
    assert says in capsys.readouterr().err
