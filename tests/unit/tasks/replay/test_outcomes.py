"""`assay replay --outcome`: reading a pool of any kind of outcome, and the table that comes of it."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn import metrics

from assay.evalcore.errors import BadInput
from assay.flows.cli.main import run_command_line
from assay.flows.cli.replay import replay_command
from assay.tasks.replay.outcome_pool import READERS, OutcomeColumns, read_outcome_pool

N = 80


@pytest.fixture
def path(tmp_path):
    rng = np.random.default_rng(1)
    p = rng.dirichlet(np.ones(3), N)
    names = np.array(["ant", "bee", "cat"])
    said = names[p.argmax(axis=1)]
    label = np.where(rng.random(N) < 0.7, said, "cat")
    grade = rng.normal(3, 1, N)
    table = pa.table({
        "item_id": np.arange(N),
        "prediction": said,
        "newer": np.where(rng.random(N) < 0.8, label, "ant"),
        "label": label,
        **{f"p_{name}": p[:, k] for k, name in enumerate(names)},
        "confidence": p.max(axis=1),
        "tags": np.where(rng.random(N) < 0.5, "red|blue", ""),
        "told": np.where(rng.random(N) < 0.5, "red", "blue|red"),
        "grade": grade,
        "judge": grade + rng.normal(0, 1, N),
    })
    pq.write_table(table, tmp_path / "pool.parquet")
    return str(tmp_path / "pool.parquet")


def test_classes_in_the_order_of_their_probabilities(path):
    pool = read_outcome_pool(path, OutcomeColumns(outcome="classes", probability="p_"))
    assert pool.kind.parts == ("ant", "bee", "cat")
    np.testing.assert_array_equal(pool.items.probability.argmax(axis=1), pool.items.prediction[:, 0])


def test_a_confidence_is_that_of_the_predicted_class(path):
    pool = read_outcome_pool(path, OutcomeColumns(outcome="classes", probability="confidence"))
    np.testing.assert_allclose(pool.items.probability.sum(axis=1), 1)
    given = pq.read_table(path)["confidence"].to_numpy()
    rows = np.arange(N)
    np.testing.assert_allclose(pool.items.probability[rows, pool.items.prediction[:, 0].astype(int)], given)


def test_tags_may_be_empty_and_numbers_need_no_prediction(path):
    tags = read_outcome_pool(path, OutcomeColumns(outcome="tags", label="tags", predictions=("told",)))
    assert {tags.kind.decode(c) for c in tags.codes} == {"", "blue|red"}
    graded = read_outcome_pool(
        path, OutcomeColumns(outcome="number", label="grade", predictions=(), judges=("judge",))
    )
    assert graded.items.systems == 0
    assert graded.items.judge.shape == (N, 1)


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"label": "truth"}, "no column 'truth'"),
        ({"probability": "q_"}, "no column is called 'q_' or starts with it"),
        ({"outcome": "number"}, "is not a finite number"),
        ({"outcome": "ranks"}, "is one of classes, grades, tags, number, preference"),
    ],
)
def test_columns_that_cannot_be_used(path, columns, said):
    with pytest.raises(BadInput, match=said):
        read_outcome_pool(path, OutcomeColumns(**{"outcome": "classes", **columns}))


def test_the_command_tells_every_class_system_and_difference(path, capsys):
    code = run_command_line([
        "replay", path, "--outcome", "classes", "--probability", "p_", "--system", "old=prediction",
        "--system", "new=newer", "--measure", "accuracy,f1(bee)", "--method", "auto,passive",
        "--budgets", "20,40", "--repeats", "3", "--json",
    ])
    assert code == 0
    told = json.loads(capsys.readouterr().out)
    assert len(told["methods"]) == 2 * 2 * 3
    assert told["truth"]["accuracy of new versus old"] == pytest.approx(
        told["truth"]["accuracy of new"] - told["truth"]["accuracy of old"]
    )
    entry = told["methods"][-1]
    assert (entry["measure"], entry["class"], entry["system"], entry["versus"]) == ("f1", "bee", "new", "old")
    assert [b["labels"] for b in entry["budgets"]] == [20, 40]
    assert {"mse", "bias", "coverage", "width", "undefined"} <= entry["budgets"][0].keys()
    assert len(entry["labels_to"]) == 2


def test_the_command_prints_a_table(path, capsys):
    code = run_command_line([
        "replay", path, "--outcome", "number", "--label", "grade", "--prediction", "", "--judge", "judge",
        "--measure", "mean", "--budgets", "20", "--repeats", "3",
    ])
    assert code == 0
    assert "recalibrated, mean (true value" in capsys.readouterr().out


def test_flags_that_cannot_be_used_are_named(path, capsys):
    flags = ["replay", path, "--outcome", "classes", "--measure", "accuracy", "--repeats", "2"]
    assert run_command_line([*flags, "--budgets", "20,10"]) == 2
    assert "--budgets: must be rising" in capsys.readouterr().err
    assert run_command_line([*flags, "--system", "new"]) == 2
    assert "--system: 'new' is not a name and a column" in capsys.readouterr().err
    assert run_command_line([*flags[:-4], "--measure", "makro_f1"]) == 2
    assert "did you mean 'macro_f1'" in capsys.readouterr().err


def test_several_processes_give_the_numbers_of_one_and_a_figure(path, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("assay.evalcore.replay.run.REPEATS_OF_STREAM", 2)
    flags = ["replay", path, "--outcome", "classes", "--probability", "p_", "--measure", "accuracy,f1(cat)",
             "--budgets", "20,40", "--repeats", "4", "--method", "passive", "--json"]
    assert run_command_line([*flags, "--plot", str(tmp_path / "figure.svg")]) == 0
    alone = json.loads(capsys.readouterr().out)
    assert run_command_line([*flags, "--processes", "2"]) == 0
    together = json.loads(capsys.readouterr().out)
    for told in (alone, together):
        for entry in told["methods"]:
            del entry["seconds_per_round"]
    assert alone == together
    assert "f1(cat)" in (tmp_path / "figure.svg").read_text(encoding="utf-8")


@pytest.fixture
def scored(tmp_path):
    rng = np.random.default_rng(2)
    score = rng.normal(size=N)
    label = (score + rng.normal(size=N) > 0.5).astype(int)
    pq.write_table(pa.table({
        "item_id": np.arange(N), "score": score, "prediction": (score > 0).astype(int), "label": label,
        "document": np.arange(N) // 4,
    }), tmp_path / "scored.parquet")
    return str(tmp_path / "scored.parquet"), score, label


def test_curves_of_two_classes_need_no_outcome(scored, capsys):
    path, score, label = scored
    assert run_command_line([
        "replay", path, "--measure", "pr_curve(0;0.5),average_precision,roc_auc,f1", "--repeats", "3",
        "--method", "auto,passive", "--budgets", "20,80", "--json",
    ]) == 0
    told = json.loads(capsys.readouterr().out)
    assert list(told["truth"]) == [
        "precision at 0", "precision at 0.5", "recall at 0", "recall at 0.5", "average_precision", "roc_auc",
        "f1",
    ]
    assert told["truth"]["roc_auc"] == pytest.approx(metrics.roc_auc_score(label, score))
    assert told["truth"]["recall at 0.5"] == pytest.approx((score > 0.5)[label == 1].mean())
    assert told["truth"]["f1"] == pytest.approx(metrics.f1_score(label, score > 0))
    assert [m["at"] for m in told["methods"] if "at" in m] == [0, 0.5, 0, 0.5] * 2
    # everything is labelled at the last budget
    assert all(m["budgets"][-1]["mse"] < 1e-12 for m in told["methods"])


def test_a_curve_of_one_class_of_several(path, capsys):
    flags = ["replay", path, "--outcome", "classes", "--probability", "p_", "--budgets", "30"]
    flags += ["--repeats", "2"]
    assert run_command_line([*flags, "--measure", "pr_curve(bee;0.4),roc_auc(bee)"]) == 0
    assert "recall(bee) at 0.4" in capsys.readouterr().out
    assert run_command_line([*flags, "--measure", "roc_auc"]) == 2
    assert "is of one class: name it" in capsys.readouterr().err
    assert run_command_line([*flags, "--measure", "pr_curve(bee;high)"]) == 2
    assert "thresholds are numbers" in capsys.readouterr().err


def test_intervals_over_clusters_are_wider(scored, capsys):
    path, _, _ = scored
    widths = []
    for flags in ([], ["--cluster", "document"]):
        assert run_command_line([
            "replay", path, "--measure", "accuracy,roc_auc", "--budgets", "40,80", "--repeats", "2", "--json",
            *flags,
        ]) == 0
        told = json.loads(capsys.readouterr().out)
        widths.append([b["width"] for b in told["methods"][0]["budgets"]])
    assert widths[1][0] > widths[0][0]
    assert widths[1][1] > 0.05
    assert widths[0][1] < 1e-12


@pytest.fixture
def judged(tmp_path):
    """Grades that a system predicts, with probabilities; and which of two answers is better, with a judge."""
    rng = np.random.default_rng(3)
    grade = rng.choice([1, 2, 2.5, 5], N)
    told = np.where(rng.random(N) < 0.7, grade, rng.choice([1, 2, 2.5, 5], N))
    better = rng.choice(["first", "second", "tie"], N, p=[0.5, 0.3, 0.2])
    chances = {f"p_{g:g}": np.where(told == g, 0.7, 0.1) for g in (5, 1, 2, 2.5)}
    pq.write_table(pa.table({
        "item_id": np.arange(N), "label": grade, "prediction": told, "text": [f"{g:g}" for g in grade],
        "better": better, "judge": np.where(rng.random(N) < 0.8, better, "tie"), **chances,
    }), tmp_path / "judged.parquet")
    return str(tmp_path / "judged.parquet"), grade, told, better


def replayed(capsys, path, outcome, *flags):
    code = run_command_line([
        "replay", path, "--outcome", outcome, "--budgets", f"20,{N}", "--repeats", "3", "--json", *flags,
    ])
    assert code == 0
    return json.loads(capsys.readouterr().out)


def test_grades_are_numbers_in_order_with_the_measures_of_classes_and_numbers(judged, capsys):
    path, grade, told, _ = judged
    pool = read_outcome_pool(path, OutcomeColumns(outcome="grades", probability="p_"))
    assert pool.kind.parts == ("1", "2", "2.5", "5")
    assert pool.kind.grades == (1, 2, 2.5, 5)
    np.testing.assert_array_equal(pool.items.probability.argmax(axis=1), pool.items.prediction[:, 0])
    np.testing.assert_array_equal(np.array(pool.kind.grades)[pool.codes.astype(int)], grade)
    found = replayed(
        capsys, path, "grades", "--measure", "mean,mae,cohen_kappa(quadratic),accuracy",
        "--probability", "p_", "--method", "auto,dirichlet-tree,passive",
    )
    assert found["truth"]["mean"] == pytest.approx(grade.mean())
    assert found["truth"]["mae"] == pytest.approx(np.abs(grade - told).mean())
    assert found["truth"]["accuracy"] == pytest.approx((grade == told).mean())
    # one squared-weights kappa over the values of the grades
    chance = ((grade[:, None] - told[None]) ** 2).mean()
    kappa = 1 - ((grade - told) ** 2).mean() / chance
    assert found["truth"]["cohen_kappa(quadratic)"] == pytest.approx(kappa)
    assert len(found["methods"]) == 12
    # everything is labelled at the last budget
    assert all(m["budgets"][-1]["mse"] < 1e-12 for m in found["methods"] if m["method"] != "dirichlet-tree")


def test_grades_written_as_text_are_the_same_grades(judged):
    path, *_ = judged
    numbers = read_outcome_pool(path, OutcomeColumns(outcome="grades"))
    text = read_outcome_pool(path, OutcomeColumns(outcome="grades", label="text"))
    np.testing.assert_array_equal(numbers.codes, text.codes)


def test_preferences_have_a_win_rate_and_need_no_prediction(judged, tmp_path, capsys):
    path, _, _, better = judged
    found = replayed(
        capsys, path, "preference", "--label", "better", "--prediction", "", "--judge", "judge",
        "--measure", "win_rate,rate(tie)", "--method", "auto,passive",
    )
    wins = (better == "first").mean() + (better == "tie").mean() / 2
    assert found["truth"]["win_rate"] == pytest.approx(wins)
    assert found["truth"]["rate(tie)"] == pytest.approx((better == "tie").mean())
    assert all(m["budgets"][-1]["mse"] < 1e-12 for m in found["methods"])
    # without a column called prediction none has to be named; without ties there are two outcomes
    pq.write_table(pa.table({"label": ["first", "second"] * 5}), tmp_path / "two.parquet")
    pool = read_outcome_pool(tmp_path / "two.parquet", OutcomeColumns(outcome="preference"))
    assert (pool.kind.parts, pool.items.systems) == (("first", "second"), 0)


@pytest.mark.parametrize(("outcome", "table", "said"), [
    ("preference", {"label": ["first", "new"]}, "column 'label': 'new' is none of first, second, tie"),
    ("preference", {"label": ["first", None]}, "column 'label': empty in row 2"),
    ("grades", {"label": ["1", "good"]}, "column 'label': row 2 holds 'good', which is not a finite number"),
    ("grades", {"label": [3.0, 3.0]}, "hold 1 different grades, and 2 to 1,000 make sense"),
    ("grades", {"label": np.arange(1001)}, "hold 1,001 different grades"),
    ("grades", {"label": [1.0, 1.0000001]}, "look the same with six digits"),
    ("grades", {"label": [1, 2], "p_1.0": [0.5, 0.5]}, "ends with '1.0', which is no grade in its shortest"),
])
def test_grades_and_preferences_that_cannot_be_used(tmp_path, outcome, table, said):
    pq.write_table(pa.table(table), tmp_path / "bad.parquet")
    given = "p_" if "p_1.0" in table else None
    with pytest.raises(BadInput, match=said):
        read_outcome_pool(tmp_path / "bad.parquet", OutcomeColumns(outcome=outcome, probability=given))


def test_the_flag_offers_every_kind_that_can_be_read():
    (flag,) = (p for p in replay_command.params if p.name == "outcome")
    assert list(flag.type.choices) == list(READERS)
