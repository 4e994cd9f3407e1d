"""Items that count for more than others: `pool.weight`, `weight=`, `--weight`."""

import csv
import json

import numpy as np
import pyarrow as pa
import pytest
from doubles.small_pool import spec_json, write_small_pool
from sklearn.metrics import accuracy_score, f1_score

import assay
from assay.evalcore.errors import BadInput
from assay.flows.cli.main import run_command_line
from assay.tasks.spec.evaluation import Spec

N = 60


def weighted(folder, weights):
    predictions, labels = write_small_pool(folder, n=N)
    rows = list(csv.reader(predictions.open()))
    with predictions.open("w", newline="") as opened:
        written = csv.writer(opened)
        written.writerow([*rows[0], "calls"])
        written.writerows([*row, w] for row, w in zip(rows[1:], weights, strict=True))
    data = spec_json(predictions, labels, measure=["f1", "accuracy"], method="auto", budget={"labels": N},
                     target={}, store=str(folder / "ledger"))
    data["pool"]["weight"] = "calls"
    path = folder / "spec.yaml"
    path.write_text(json.dumps(data))
    return path, data


def told(capsys, *arguments):
    code = run_command_line([*arguments, "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_a_census_is_of_the_weighted_pool_and_is_verified(tmp_path, capsys):
    weights = np.random.default_rng(3).lognormal(size=N).round(3)
    path, data = weighted(tmp_path, weights)
    code, run = told(capsys, "run", str(path))
    assert code == 0
    rows = {row[0]: row for row in csv.reader((tmp_path / "predictions.csv").open())}
    truth = {row[0]: row[1] for row in csv.reader((tmp_path / "labels.csv").open())}
    ids = [one for one in rows if one != "item_id"]
    said, true = [rows[one][2] for one in ids], [truth[one] for one in ids]
    by = {(e["measure"], e["segment"]): e for e in run["estimates"]}
    assert by["f1", None]["value"] == pytest.approx(
        f1_score(true, said, pos_label="match", sample_weight=weights), abs=1e-9
    )
    north = [rows[one][4] == "north" for one in ids]
    assert by["accuracy", "region=north"]["value"] == pytest.approx(accuracy_score(
        np.array(true)[north], np.array(said)[north], sample_weight=weights[north]
    ), abs=1e-9)
    code, _ = told(capsys, "verify", data["name"], "--store", data["store"])
    assert code == 0
    code, _ = told(capsys, "doctor", str(path))
    assert code == 0


def test_what_is_said_of_intervals_is_said_of_those_that_weights_have(tmp_path, capsys):
    path, data = weighted(tmp_path, np.append(np.ones(N - 1), 2.0))     # equal ones would say nothing
    path.write_text(json.dumps(data | {"budget": {"labels": 40}}))
    assert run_command_line(["run", str(path)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "About the interval: Student's interval of the difference estimator" in said
    assert "what the model says" not in said


def test_other_weights_are_another_pool(tmp_path, capsys):
    digests = []
    for name, weights in (("one", np.ones(N)), ("two", np.append(np.ones(N - 1), 2.0))):
        (tmp_path / name).mkdir()
        path, _ = weighted(tmp_path / name, weights)
        assert run_command_line(["begin", str(path)]) == 0
        digests.append(capsys.readouterr().out.partition("digest ")[2].partition(";")[0])
    assert len({"", *digests}) == 3


@pytest.mark.parametrize(("bad", "said"), [
    ("-1", "row 4: '-1'"), ("", "row 4: "), ("nan", "row 4: 'nan'"), ("much", "row 4: 'much'"),
    ("inf", "row 4: 'inf'"),
])
def test_a_bad_weight_is_named_by_file_column_and_row(tmp_path, capsys, bad, said):
    path, _ = weighted(tmp_path, [1, 1, 1, bad, *[1] * (N - 4)])
    assert run_command_line(["begin", str(path)]) == 2
    message = capsys.readouterr().err
    assert all(one in message for one in ("predictions.csv", "'calls'", said))


def test_nothing_that_counts_is_refused(tmp_path, capsys):
    path, _ = weighted(tmp_path, [0] * N)
    assert run_command_line(["begin", str(path)]) == 2
    message = capsys.readouterr().err
    assert all(one in message for one in ("predictions.csv", "'calls'", "all weights are 0"))


@pytest.mark.parametrize(("changes", "said"), [
    ({"method": "oasis"}, "method"),
    ({"method": "dirichlet-tree"}, "methods that take weights"),
    ({"measure": ["average_precision"]}, "whatever they weigh"),
    ({"warm_start": {"evaluation": "earlier"}}, "what they weigh"),
])
def test_what_cannot_be_weighted_says_why(tmp_path, changes, said):
    _, data = weighted(tmp_path, [1] * N)
    with pytest.raises(BadInput, match=said):
        Spec.from_json({**data, **changes})


def test_replays_and_labelled_frames_take_weights(tmp_path, capsys):
    rng = np.random.default_rng(1)
    label, weight = rng.integers(0, 2, N), rng.lognormal(size=N)
    said = np.where(rng.random(N) < 0.8, label, 1 - label)
    table = pa.table({"item_id": [f"i{i}" for i in range(N)], "prediction": said, "label": label,
                      "score": said + rng.random(N), "calls": weight, "p_probability": np.ones(N)})
    value = accuracy_score(label, said, sample_weight=weight)
    pool = tmp_path / "pool.parquet"
    import pyarrow.parquet as pq

    pq.write_table(table, pool)
    code, found = told(capsys, "replay", str(pool), "--measure", "accuracy", "--method", "auto,passive",
                       "--budgets", "30,60", "--repeats", "4", "--weight", "calls")
    assert code == 0
    assert found["truth"]["accuracy"] == pytest.approx(value)
    asked = ["replay", str(pool), "--measure", "f1", "--method", "oasis", "--weight", "calls"]
    assert run_command_line(asked) == 2
    assert "methods that take weights" in capsys.readouterr().err
    replayed = assay.replay(table, measures="accuracy", weight="calls", budgets=[30], repeats=2)
    assert replayed.to_dict()["truth"]["accuracy"] == pytest.approx(value)
    estimated = assay.estimate(table, measures=["accuracy"], weight="p_probability", item_weight="calls",
                               pool_size=N)
    assert estimated.value == pytest.approx(value)
    with pytest.raises(BadInput, match=r"'calls'.*row 3"):
        assay.estimate(table.set_column(4, "calls", pa.array([1.0, 1.0, -1.0] + [1.0] * (N - 3))),
                       measures=["accuracy"], weight="p_probability", item_weight="calls", pool_size=N)


def test_with_undecided_items_a_weighted_census_has_the_value_of_the_others():
    rng = np.random.default_rng(4)
    weight = rng.choice([0.2, 2.2, 3.4], 80, p=[0.4, 0.3, 0.3])      # the last two are of one octave
    label = np.where(rng.random(80) < 0.5, "spam", "ham").astype(object)
    predicted = np.where(rng.random(80) < 0.5, "spam", "ham")
    pool = pa.table({"item_id": np.arange(80), "prediction": predicted, "weight": weight})
    label[(weight == 2.2) & (rng.random(80) < 0.5)] = None
    result = assay.evaluate(
        pool, outcome={"classes": ["ham", "spam", "other"]}, prediction="prediction", weight="weight",
        measures="accuracy", id="item_id", budget=80, batch_size=80, skipped="set-aside",
        oracle=dict(enumerate(label)),
    )
    decided = np.array([one is not None for one in label])
    right = (label == predicted)[decided]
    assert result["accuracy"].value == pytest.approx(np.average(right, weights=weight[decided]), abs=1e-9)
