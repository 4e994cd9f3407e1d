"""Small tables with the traits of export files: what is right for each was known beforehand."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from doubles.suggested import estimates_by_suggestion, value_by_suggestion

import assay
from assay.evalcore.errors import BadInput
from assay.flows.cli.main import run_command_line
from assay.flows.doctor import examine_file
from assay.tasks.doctor.roles import Told
from assay.tasks.replay.labelled_pool import read_labelled_pool
from assay.tasks.replay.outcome_pool import OutcomeColumns, read_outcome_pool

CASES = Path(__file__).parents[1] / "cases"
TRUTH = 10 / 45      # F1 of the positive class: 5 of the 10 that are predicted are among the 35 that are so


@pytest.mark.parametrize(("name", "label"), [
    ("two_probability_columns.csv", "actual"), ("mixed_1_and_1.0.csv", "label"),
    ("True_and_TRUE.csv", "label"), ("composed_and_decomposed.csv", "label"),
    ("binary_strings.parquet", "label"),
])
def test_f1_of_the_positive_class(name, label):
    assert value_by_suggestion(CASES / name, Told(label=label)) == pytest.approx(TRUTH, abs=1e-9)


@pytest.mark.parametrize("name", ["mixed_1_and_1.0.csv", "True_and_TRUE.csv", "composed_and_decomposed.csv"])
def test_replay_reads_the_same(name):
    pool = read_labelled_pool(CASES / name, called={"item_id": "id"})
    f1 = 2 * (pool.prediction & pool.label).sum() / (pool.prediction.sum() + pool.label.sum())
    assert f1 == pytest.approx(TRUTH)


def test_the_class_and_what_decides_are_printed(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    table = pd.read_csv(CASES / "two_probability_columns.csv").drop(columns="predict")[:40]
    table.to_csv("p.csv", index=False)
    assert run_command_line(["run", "p.csv", "--label", "actual"]) == 0
    said = capsys.readouterr().err
    assert "f1 of Yes, precision of Yes, recall of Yes (--positive)" in said
    assert "predicted positive above 0.5 of Yes or at it (--threshold)" in said


def test_with_nothing_to_go_by_the_rarer_class_is_positive(tmp_path):
    table = pd.read_csv(CASES / "composed_and_decomposed.csv").drop(columns="probability")
    table.to_csv(tmp_path / "p.csv", index=False)
    found = examine_file(str(tmp_path / "p.csv"), Told(), forecast=False)
    [question] = [one for one in found.roles.questions if one.option == "--positive"]
    assert question.asks == "which class is the positive one? ('Köder' is the rarer one)"
    assert value_by_suggestion(tmp_path / "p.csv", Told()) == pytest.approx(TRUTH)


def test_a_column_of_the_labels_values_is_a_question_and_decides_once_it_is_named():
    path = CASES / "decision_column_unused.csv"
    with pytest.raises(BadInput, match=r"which column holds the predictions.*'match'"):
        value_by_suggestion(path, Told(label="is_match"))
    told = Told(label="is_match", prediction="match")
    assert value_by_suggestion(path, told) == pytest.approx(26 / 70, abs=1e-9)     # 13 of 35 on either side
    assert value_by_suggestion(path, Told(label="is_match", threshold=0.5)) is not None


def test_rounded_probabilities_sum_to_one():
    assert estimates_by_suggestion(CASES / "rounded_probabilities.csv", Told())


def test_a_scale_that_is_no_number_is_named():
    with pytest.raises(BadInput, match=r"probability: '0\.6%' is no number, but a percentage"):
        value_by_suggestion(CASES / "percent_sign.csv", Told())


def numbered(**columns: list[object]) -> pd.DataFrame:
    return pd.DataFrame({"id": range(len(next(iter(columns.values())))), **columns})


@pytest.mark.parametrize(("column", "classes"), [
    ("prob_no", ("no", "yes")), ("p0", (0, 1)), ("negative", ("negative", "positive")),
])
def test_a_column_of_the_negative_class_does_not_decide_for_the_positive_one(column, classes, tmp_path):
    scores = [i / 50 for i in range(50)]
    table = numbered(**{column: scores, "label": [classes[i < 15] for i in range(50)]})
    table.to_csv(tmp_path / "p.csv", index=False)
    with pytest.raises(BadInput, match=f"{column}: by its name it is of '{classes[0]}'"):
        value_by_suggestion(tmp_path / "p.csv", Told())
    of_the_other = value_by_suggestion(tmp_path / "p.csv", Told(positive=str(classes[0])))
    assert of_the_other == pytest.approx(50 / 60)       # 25 of the 25 that are predicted, among 35


@pytest.mark.parametrize(("positive", "predicted", "labelled"), [
    ("0", (0, 1), (0, 1)), ("negative", (), ("negative", "positive")), ("No", (0, 1), ("No", "Yes")),
    ("False", (0, 1), ("False", "True")), ("No", ("No", "Yes"), (0, 1)), ("0", (), (0, 1)),
    ("ham", ("ham", "spam"), ("ham", "spam")), ("spam", (0, 1), ("ham", "spam")),
    ("ham", (0, 1), ("ham", "spam")), ("0", ("ham", "spam"), (0, 1)), ("ham", ("ham", "spam"), (0, 1)),
])
def test_the_class_that_is_asked_for_is_measured_in_whatever_words(positive, predicted, labelled, tmp_path):
    said, is_so = [i % 10 < 3 for i in range(60)], [i % 10 < 4 for i in range(60)]
    table = numbered(score=[(0.1, 0.9)[one] + i / 1e4 for i, one in enumerate(said)],
                     label=[labelled[one] for one in is_so])
    if predicted:
        table["prediction"] = [predicted[one] for one in said]
    if positive != "spam":          # the score is of whatever is asked for
        table["score"] = 1 - table.score
    table.to_csv(tmp_path / "p.csv", index=False)
    told = Told(positive=positive)
    if predicted and predicted != labelled and "ham" in (*predicted, *labelled) and positive != "spam":
        with pytest.raises(BadInput, match="'0' would be read as 'spam'"):
            value_by_suggestion(tmp_path / "p.csv", told)
        return
    truth = 2 * 18 / (18 + 24) if positive == "spam" else 2 * 36 / (42 + 36)
    assert value_by_suggestion(tmp_path / "p.csv", told) == pytest.approx(truth)


@pytest.mark.parametrize(("texts", "says"), [
    (["1,234", "987", "2,003"], "thousands or of decimals"), (["tensor(0.2)", "tensor(0.4)"], "around it"),
    (["np.float64(0.2)", "np.float64(0.4)"], "around it"), (["[0.2]", "[0.4]"], "around it"),
    (["p=0.2", "p=0.4"], "'p=0.2' is no number"), (["\u22120.2", "1.5"], "a dash"),
    (['{"a": 0.2}', '{"a": 0.4}'], "several"), (["[0.2 0.8]", "[0.4 0.6]"], "several"),
])
def test_a_score_that_cannot_be_read_is_named(texts, says, tmp_path):
    texts = (texts * 30)[:60]
    table = numbered(score=texts, prediction=["a", "b"] * 30, label=["a", "b", "b"] * 20)
    table.to_csv(tmp_path / "p.csv", index=False)
    with pytest.raises(BadInput, match=f"score: .*{says}"):
        value_by_suggestion(tmp_path / "p.csv", Told())


def test_numbers_to_predict_with_separators_are_named(tmp_path):
    prices = [f"{1000 + 37 * i:,}" for i in range(60)]
    numbered(predicted_price=prices, price=prices[::-1]).to_csv(tmp_path / "p.csv", index=False)
    with pytest.raises(BadInput, match=r"price: '1,.*thousands or of decimals"):
        value_by_suggestion(tmp_path / "p.csv", Told(label="price"))


def test_one_wrong_probability_of_several_classes_makes_no_confidence_of_another(tmp_path):
    table = numbered(p_a=[0.5] * 60, p_b=[0.3] * 60, p_c=[0.2] * 59 + [1.2], prediction=["a", "b", "c"] * 20,
                     label=["a", "a", "c"] * 20)
    table.to_csv(tmp_path / "p.csv", index=False)
    with pytest.raises(BadInput, match=r"column 'p_c': values are not within \[0, 1\]: row 60"):
        value_by_suggestion(tmp_path / "p.csv", Told())


def test_whole_words_make_a_time_of_times_alone(tmp_path):
    texts = [f"on day {i} we met" for i in range(60)]
    times = [f"2024-01-{i % 28 + 1:02d}T10:00:00Z" for i in range(60)]
    table = numbered(dates_mentioned=texts, created_at=times,
                     prediction=["a", "b"] * 30, label=["a", "b", "b"] * 20)
    table.to_csv(tmp_path / "p.csv", index=False)
    found = examine_file(str(tmp_path / "p.csv"), Told(), forecast=False)
    assert (found.roles.time, found.roles.display) == (("created_at",), ("dates_mentioned",))


def test_texts_that_come_up_in_two_or_three_rows_are_asked_about(tmp_path):
    table = numbered(text=[f"mail {i}" for i in range(40)], prediction=["a", "b"] * 20,
                     label=["a", "b", "b", "b"] * 10)
    pd.concat([table] * 3).drop(columns="id")[:100].to_csv(tmp_path / "p.csv", index=False)
    with pytest.raises(BadInput, match="what people see is the same in 2 to 3 rows each"):
        value_by_suggestion(tmp_path / "p.csv", Told())


@pytest.mark.parametrize("written", [repr, json.dumps, lambda tags: "|".join(tags)])
def test_lists_in_csv_are_tags_however_they_are_written(written, tmp_path):
    predicted, gold = [["war"], ["war", "arts"]] * 30, [["war"], ["arts", "war"], ["arts"]] * 20
    table = numbered(prediction=list(map(written, predicted)), label=list(map(written, gold)))
    table.to_csv(tmp_path / "p.csv", index=False)
    truth = sum(set(p) == set(g) for p, g in zip(predicted, gold, strict=True)) / 60
    for data in (table, str(tmp_path / "p.csv")):
        result = assay.evaluate(
            data, outcome={"tags": ["war", "arts"]}, measures="subset_accuracy", prediction="prediction",
            oracle="label", id="id", method="passive", target={}, budget=60,
        )
        assert result.value == pytest.approx(truth)
    replayed = read_outcome_pool(tmp_path / "p.csv", OutcomeColumns(outcome="tags"))
    assert (replayed.codes == replayed.items.prediction[:, 0]).mean() == pytest.approx(truth)
    if "|" not in table.prediction[1]:
        exact = value_by_suggestion(tmp_path / "p.csv", Told(), "subset_accuracy")
        assert exact == pytest.approx(truth)


def test_ones_and_zeros_in_a_list_name_no_tags(tmp_path):
    table = numbered(prediction=["[0, 1, 1]", "[1, 0, 0]"] * 30, label=["[0, 1, 1]", "[1, 1, 0]"] * 30)
    table.to_csv(tmp_path / "p.csv", index=False)
    with pytest.raises(BadInput, match=r"prediction: '\[0, 1, 1\]' is not one value, but several"):
        value_by_suggestion(tmp_path / "p.csv", Told())


def test_a_class_that_nothing_predicts_is_said_and_a_word_among_grades_is_refused(tmp_path):
    table = numbered(prediction=["a", "b", "c"] * 20, label=["a", "b", "unsure"] * 20)
    table.to_csv(tmp_path / "p.csv", index=False)
    found = examine_file(str(tmp_path / "p.csv"), Told(), forecast=False)
    assert found.measured_lines == ("label: never predicted, and taken for a class: 'unsure' (20 rows)",)
    assert any("never predicted" in one.says for one in found.findings if one.level == "warning")
    numbered(prediction=[1, 2, 3] * 20, label=[1, 2, "refused"] * 20).to_csv(tmp_path / "g.csv", index=False)
    with pytest.raises(BadInput, match="label: holds numbers, as predictions do, and 'refused'"):
        value_by_suggestion(tmp_path / "g.csv", Told())


def test_the_same_names_in_another_order_are_no_two_classes(tmp_path):
    table = numbered(prediction=["war;arts", "war", "arts"] * 20, label=["arts;war", "arts", "war"] * 20)
    table.to_csv(tmp_path / "p.csv", index=False)
    says = "'arts;war' and 'war;arts' differ only by the order of names"
    with pytest.raises(BadInput, match=says):
        value_by_suggestion(tmp_path / "p.csv", Told())
    with pytest.raises(BadInput, match=says):
        assay.replay(str(tmp_path / "p.csv"), outcome="classes", methods="passive", budgets=[20], repeats=1)


def test_labels_beside_predicted_numbers_are_named_if_they_are_none(tmp_path):
    table = numbered(predicted=[i + 0.5 for i in range(60)], label=[f"'{i}.25" for i in range(60)])
    table.to_csv(tmp_path / "p.csv", index=False)
    with pytest.raises(BadInput, match=r"label: \"'0\.25\" is no number"):
        value_by_suggestion(tmp_path / "p.csv", Told())


def test_a_distance_is_no_score_and_does_not_name_the_positive_class(tmp_path):
    distance = [0.9 - i / 100 for i in range(60)]
    table = numbered(distance=distance, prediction=["ham"] * 40 + ["spam"] * 20,
                     label=["ham"] * 35 + ["spam"] * 10 + ["ham"] * 5 + ["spam"] * 10)
    table.to_csv(tmp_path / "p.csv", index=False)
    assert value_by_suggestion(tmp_path / "p.csv", Told()) == pytest.approx(2 * 15 / 40)      # of spam
    table.drop(columns="prediction").to_csv(tmp_path / "q.csv", index=False)
    with pytest.raises(BadInput, match="none is called a prediction, a score or a label"):
        value_by_suggestion(tmp_path / "q.csv", Told())


def test_an_oracle_with_what_is_no_label_is_refused_before_anybody_is_asked():
    table = numbered(prediction=["a", "b"] * 30, label=["a", "b"] * 29 + ["a", "maybe"])
    for oracle in ("label", table.label, table.label.to_numpy()):
        with pytest.raises(BadInput, match=r"oracle: row 60: 'maybe' is none of the classes \(a, b\)"):
            assay.evaluate(table, outcome={"classes": ["a", "b"]}, measures="accuracy", id="id", budget=2,
                           prediction="prediction", oracle=oracle)


def test_whole_words_make_a_time():
    found = examine_file(str(CASES / "candidate.csv"), Told(), forecast=False)
    assert found.roles.time == ()
    assert {"candidate", "sentiment"} <= set(found.roles.display)


def test_lists_are_tags(tmp_path):
    found = examine_file(str(CASES / "tags_lists.jsonl"), Told(label="gold"), forecast=False)
    assert "tags:\n  - arts\n  - war\n" in found.spec
    rows = [json.loads(line) for line in (CASES / "tags_lists.jsonl").read_text().splitlines()]
    truth = sum(set(row["predicted"]) == set(row["gold"]) for row in rows) / len(rows)
    exact = value_by_suggestion(CASES / "tags_lists.jsonl", Told(label="gold"), "subset_accuracy")
    assert exact == pytest.approx(truth)


def test_an_empty_text_is_no_tag_in_python_too():
    frame = pa.table({
        "predicted": ["war", "", "arts|war", "", "war"], "gold": ["war", "", "arts", "war", "war"],
    })
    for oracle in ("gold", frame.column("gold").to_pylist(), lambda row: row["gold"]):
        result = assay.evaluate(
            frame, outcome={"tags": ["war", "arts"]}, measures="subset_accuracy", prediction="predicted",
            oracle=oracle, method="passive", target={},
        )
        assert result.value == pytest.approx(3 / 5)


def test_bytes_that_are_no_text_are_named(tmp_path):
    table = pa.table({
        "id": list(range(4)), "prediction": ["a", "b", "a", "b"],
        "label": pa.array([b"\xff\x00", b"\xfe", b"\xff", b"\xfe"], pa.binary()),
    })
    pq.write_table(table, tmp_path / "b.parquet")
    with pytest.raises(BadInput, match=r"b.parquet: column 'label' holds bytes, .*store text"):
        examine_file(str(tmp_path / "b.parquet"), Told(label="label"), forecast=False)
    found = examine_file(str(tmp_path / "b.parquet"), Told(), forecast=False)
    assert [one.about for one in found.findings if one.level == "problem"] == ["label"]


@pytest.mark.parametrize(("text", "message"), [
    ("id,prediction,label\n1,a,a\n2,b,a\nid,prediction,label\n3,a,b\n",
     "row 3 repeats the line of column names"),
    ("id,prediction,label,label\n1,a,a,b\n2,b,a,a\n",
     "the column 'label' is there twice → rename or drop one"),
])
def test_what_is_wrong_with_a_header_is_named(text, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text(text)
    assert run_command_line(["run", "t.csv", "--label", "label"]) == 2
    assert message in capsys.readouterr().err


def test_a_name_that_is_neither_a_specs_nor_a_tables_is_told(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("table.txt").write_text("id,prediction,label\n1,a,a\n")
    assert run_command_line(["run", "table.txt", "--label", "label"]) == 2
    assert "A table of text may be called .csv or .tsv" in capsys.readouterr().err


def test_a_closed_standard_input_asks_nobody(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", None)
    assert run_command_line(["doctor", str(CASES / "decision_column_unused.csv"), "--label", "is_match"]) == 2
    assert "which column holds the predictions?" in capsys.readouterr().out


def test_addresses_keep_their_slashes(monkeypatch, capsys):
    def examined(given, *_, **__):
        raise BadInput(f"asked for {given}")

    monkeypatch.setattr("assay.flows.doctor.examine_file", examined)
    assert run_command_line(["run", "s3://bucket/k.csv", "--label", "l"]) == 2
    assert "asked for s3://bucket/k.csv" in capsys.readouterr().err


@pytest.mark.parametrize(("text", "message"), [
    ("made on Monday\nid,prediction,label\n1,a,b\n", r"has 1 value \(made on Monday\), and a row has 3"),
    ("prediction,label\n1,a,a\n2,b,a\n", r"has 2 values \(prediction, label\), and a row has 3 \(1,a,a"),
])
def test_lines_above_a_table_and_names_that_are_left_out_are_told(text, message, tmp_path):
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(BadInput, match=message + ".*a table begins with a name for each column"):
        assay.replay(str(tmp_path / "t.csv"), measures="accuracy")


def test_columns_without_a_name_are_called_by_their_place(tmp_path):
    rows = "".join(f"{i},{'ab'[i % 2]},{'aab'[i % 3]},,\n" for i in range(30))
    (tmp_path / "t.csv").write_text("id,prediction,label,,\n" + rows)
    assert value_by_suggestion(tmp_path / "t.csv", Told(positive="a")) == pytest.approx(20 / 35)


@pytest.mark.parametrize("orient", ["columns", "index", "split", "table"])
def test_one_object_that_holds_all_rows_is_told(orient, frame, tmp_path):
    frame.to_json(tmp_path / "t.json", orient=orient)
    with pytest.raises(BadInput, match=r"is one object .* that holds all rows; .*orient=.records"):
        assay.replay(str(tmp_path / "t.json"))


@pytest.mark.parametrize("written", [
    "|".join, " | ".join, json.dumps, lambda tags: "[" + " ".join(map(repr, tags)) + "]",
    lambda tags: "|".join(tag.upper() for tag in tags),
])
def test_sets_of_tags_some_of_them_empty_are_tags_for_every_command(written, tmp_path):
    predicted = [["war"], ["war", "arts"], [], ["arts"]] * 15
    gold = [["war"], ["arts", "war"], [], ["war"], ["war"], []] * 10
    table = numbered(prediction=list(map(written, predicted)), label=list(map(written, gold)))
    table.to_csv(tmp_path / "p.csv", index=False)
    truth = sum(set(p) == set(g) for p, g in zip(predicted, gold, strict=True)) / 60
    assert value_by_suggestion(tmp_path / "p.csv", Told(), "subset_accuracy") == pytest.approx(truth)
    asked = {"outcome": {"tags": ["war", "arts"]}, "measures": "subset_accuracy", "prediction": "prediction"}
    replayed = assay.replay(str(tmp_path / "p.csv"), methods="passive", budgets=[20], repeats=1, **asked)
    assert replayed.to_dict()["truth"]["subset_accuracy"] == pytest.approx(truth)


@pytest.mark.parametrize(("predicted", "labelled", "classes"), [
    (["red", "blue"], ["red", "blue", "green"], 3), (["red"], ["red", "blue", "green"], 3),
    (["007", "010"], ["007", "010", "100"], 3),
])
def test_a_class_that_is_never_predicted_is_one(predicted, labelled, classes, tmp_path):
    table = numbered(prediction=(predicted * 60)[:60], label=(labelled * 60)[:60])
    table.to_csv(tmp_path / "p.csv", index=False)
    found = examine_file(str(tmp_path / "p.csv"), Told(), forecast=False)
    assert found.usable
    assert (found.spec.count("\n  - "), "grades" in found.spec) == (classes, False)
    exact = value_by_suggestion(tmp_path / "p.csv", Told(), "accuracy")
    assert exact == pytest.approx((table.prediction == table.label).mean())


def test_probabilities_of_several_classes_without_a_prediction_are_measured_themselves(tmp_path):
    from sklearn.metrics import log_loss

    names = ["a", "b", "c"]
    chances = np.random.default_rng(1).dirichlet([1, 1, 1], 60).round(4)
    columns = {f"p_{name}": chances[:, at].tolist() for at, name in enumerate(names)}
    table = numbered(**columns, label=names * 20)
    table.to_csv(tmp_path / "p.csv", index=False)
    exact = value_by_suggestion(tmp_path / "p.csv", Told(), "log_loss")
    sums = chances.sum(axis=1, keepdims=True)
    assert exact == pytest.approx(log_loss(table.label, chances / sums), abs=1e-3)


def test_classes_that_differ_by_an_underscore_are_told(tmp_path):
    numbered(prediction=["very_good", "bad", "so so"] * 20, label=["very good", "bad", "so so"] * 20).to_csv(
        tmp_path / "p.csv", index=False)
    with pytest.raises(BadInput, match="label: 'very good' and 'very_good' differ only by spaces, dashes"):
        value_by_suggestion(tmp_path / "p.csv", Told(), "accuracy")


def test_where_one_class_is_there_it_is_asked_whether_it_is_the_positive_one(tmp_path):
    numbered(prediction=["ham"] * 30, label=["ham"] * 30).to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(BadInput, match=r"which class is the positive one.*every label is 'ham'"):
        value_by_suggestion(tmp_path / "t.csv", Told())
    assert value_by_suggestion(tmp_path / "t.csv", Told(positive="ham")) == 1


# In Python.

def test_a_class_that_is_called_as_no_value_is_one(frame):
    words = {"Köder": "+", "ham": "-"}
    signs = frame.assign(**{name: frame[name].map(words) for name in ("prediction", "label")})
    half = frame.index % 3 == 0
    asked = {"measures": "f1", "prediction": "prediction"}
    known = assay.estimate(frame.assign(label=frame.label.where(half)), outcome=["Köder", "ham"], **asked)
    found = assay.estimate(signs.assign(label=signs.label.where(half)), outcome=["+", "-"], **asked)
    assert (found.value, found["f1"].lower) == (known.value, known["f1"].lower)
    land = {"Köder": "DE", "ham": "NA"}
    judged = frame.assign(label=frame.label.map(land), judge=frame.label.map(land))
    for rows in (judged, judged.replace("NA", "Namibia")):
        kinds = ["DE", rows.label[0]]
        result = assay.evaluate(rows, oracle="label", outcome={"classes": kinds}, measures="rate(DE)",
                                judge="judge", method="passive", target={}, budget=60)
        assert result.value == pytest.approx((rows.label == "DE").mean())


@pytest.mark.parametrize("mixed", [
    lambda values: [value if i % 2 else str(value) for i, value in enumerate(values)],
    lambda values: [value if i % 2 else int(value) for i, value in enumerate(values)],
    lambda values: [[np.bool_(value), "TRUE" if value else "False", float(value)][i % 3]
                    for i, value in enumerate(values)],
])
def test_one_column_of_several_types_is_read_as_in_a_file(mixed, frame):
    label = mixed((frame.label == "Köder").tolist())
    rows = frame.assign(label=pd.Series(label, dtype=object), prediction=frame.prediction == "Köder")
    truth = assay.evaluate(frame, oracle="label", **ASKED).value
    for data in (rows, rows.to_dict("records")):
        asked = {**ASKED, "outcome": [1, 0]}
        assert assay.evaluate(data, oracle="label", **asked).value == pytest.approx(truth)


def test_rows_of_a_replay_and_an_estimate_need_no_names(frame):
    twice = pd.concat([frame[:30], frame[30:].reset_index(drop=True)])
    asked = {"outcome": ["Köder", "ham"], "measures": "f1"}
    truth = [assay.replay(rows, methods="passive", budgets=[20], repeats=1, **asked).to_dict()["truth"]
             for rows in (frame, twice)]
    assert truth[0] == truth[1]


@pytest.mark.parametrize(("data", "message"), [
    (lambda f: f.assign(label=pd.arrays.SparseArray(range(60))), "Sparse pandas data"),
    (lambda f: f.to_dict("list"), "a dict is not a frame"),
    (lambda f: pa.Table.from_pandas(f).to_reader(), "a RecordBatchReader is not a frame"),
    (lambda f: f.assign(probability=[[1 - p, p] for p in f.probability]), "'probability' holds list<"),
    (lambda f: f.assign(label=[bytes([i % 2]) for i in f.index]), "column 'label' holds bytes"),
])
def test_what_is_no_column_of_labels_or_numbers_is_named(data, message, frame):
    for call in (assay.replay, assay.estimate):
        more = {"pool_size": 60, "weight": np.ones(60)} if call is assay.estimate else {}
        if "probability" in message and more:
            continue
        with pytest.raises(BadInput, match=message):
            call(data(frame), outcome=["Köder", "ham"], measures="f1", **more)


@pytest.fixture
def frame():
    read = pd.read_csv(CASES / "composed_and_decomposed.csv")[["prediction", "probability", "label"]]
    return read.assign(**{name: read[name].str.normalize("NFC") for name in ("prediction", "label")})[:60]


ASKED = {"outcome": ["Köder", "ham"], "measures": "f1", "prediction": "prediction",
         "probability": "probability", "method": "passive", "target": {}, "batch_size": 60}


def test_a_coroutine_function_is_awaited(frame):
    async def answer(row):
        return row["label"]

    by_column = assay.evaluate(frame, oracle="label", **ASKED)
    assert assay.evaluate(frame, oracle=answer, **ASKED).value == by_column.value


def test_a_coroutine_function_is_awaited_where_a_loop_runs_already(frame):
    import asyncio

    async def answer(row):
        return row["label"]

    async def notebook():
        return assay.evaluate(frame, oracle=answer, **ASKED)

    assert asyncio.run(notebook()).labels == 60


def test_labels_that_are_not_there_yet_are_no_answers(frame):
    half = frame.label.where(frame.index % 2 == 0)
    for oracle in (half, half.tolist(), half.to_dict()):
        with pytest.raises(BadInput, match=r"no label .*not there yet"):
            assay.evaluate(frame, oracle=oracle, **ASKED)
    known = assay.evaluate(frame, oracle=lambda row: None if row["item_id"] % 2 else row["label"], **ASKED)
    said = str(known)
    assert "30 items have no label: whoever was asked gave none" in said
    assert "exact" not in said


def test_gold_is_handed_out_with_the_frames_rows(frame, tmp_path):
    pool = frame.assign(text=[f"t{i}" for i in range(60)])
    gold = pool[["label", "text"]].assign(item_id=[f"g{i}" for i in range(60)])
    gold.to_csv(tmp_path / "gold.csv", index=False)
    desk = {"kind": "caller", "gold": {"labels": str(tmp_path / "gold.csv"), "id": "item_id", "rate": 0.2}}
    evaluation = assay.begin(pool, show="text", desk=desk, **ASKED)
    asked = evaluation.ask()
    assert any(type(one) is int for one in asked.item_id)
    assert any(str(one).startswith("g") for one in asked.item_id)
    evaluation.tell(dict.fromkeys(asked.item_id, "ham"))


def test_two_columns_of_one_name_are_refused_by_us(frame):
    twice = pd.concat([frame, frame[["probability"]]], axis=1)
    with pytest.raises(BadInput, match="two columns that are called 'probability'"):
        assay.evaluate(twice, oracle="label", **ASKED)


def test_a_frame_leaves_no_warning_behind(frame, recwarn):
    import gc

    gc.collect()
    recwarn.clear()     # what tests before left to the collector is not of this one
    assay.evaluate(frame, oracle="label", **ASKED)
    gc.collect()
    left = [str(one.message) for one in recwarn if one.category is ResourceWarning]
    assert not [message for message in left if "TemporaryDirectory" in message]


def test_a_file_without_ids_is_numbered_from_1(frame, tmp_path):
    frame.to_csv(tmp_path / "p.csv", index=False)
    path, asked = str(tmp_path / "p.csv"), {**ASKED, "budget": 60}
    by_column = assay.evaluate(path, oracle="label", **asked)
    assert assay.evaluate(path, oracle=frame.label, **asked).value == by_column.value
    from_1 = {n + 1: one for n, one in enumerate(frame.label)}
    assert assay.evaluate(path, oracle=from_1, **asked).value == by_column.value
    with pytest.raises(BadInput, match="numbered from 1, and this mapping has an item 0"):
        assay.evaluate(path, oracle=frame.label.to_dict(), **asked)


def test_brier_score_and_log_loss_of_two_classes_are_those_of_scikit_learn(frame):
    from sklearn.metrics import brier_score_loss, log_loss

    asked = {**ASKED, "measures": ["brier", "log_loss", "roc_auc"]}
    found = assay.evaluate(frame, oracle="label", **asked)
    truth = frame.label == "Köder"
    assert found["brier"].value == pytest.approx(brier_score_loss(truth, frame.probability), abs=1e-7)
    assert found["log_loss"].value == pytest.approx(log_loss(truth, frame.probability), abs=1e-6)


@pytest.mark.parametrize(("name", "said"), [
    ("f1_macro", "did you mean 'macro_f1'"), ("micro_f1", "write accuracy"),
    ("auc", "did you mean 'roc_auc'"), ("macro_f1", r"list both, outcome=\{classes"),
    ("sensitivity", "did you mean 'recall'"), ("matthews", "did you mean 'mcc'"),
    ("rmse", "how far probabilities of two classes are off is brier"), ("speed", "roc_auc"),
])
def test_names_of_measures_that_people_try_say_what_to_write(frame, name, said):
    with pytest.raises(BadInput, match=said):
        assay.evaluate(frame, oracle="label", **{**ASKED, "measures": name})


def test_judges_of_two_classes_work_or_say_what_to_write(frame):
    asked = {**ASKED, "measures": "rate"}
    one_of_two = "or list both under outcome={classes: [...]}, which take `judge`"
    with pytest.raises(BadInput, match=re.escape(one_of_two)):
        assay.evaluate(frame, oracle="label", **{**asked, "judge": "prediction"})
    with pytest.raises(BadInput, match=r"where nothing predicts, list both under .* and ask for rate"):
        assay.evaluate(frame, oracle="label", **{**asked, "prediction": None, "probability": None})
    listed = {"outcome": {"classes": ["Köder", "ham"]}, "probability": None, "measures": "rate(Köder)"}
    truth = (frame.label == "Köder").mean()
    alone = {"prediction": None}
    for more in ({}, {"judge": "prediction"}, alone, {**alone, "judge": "prediction"}):
        found = assay.evaluate(frame, oracle="label", **{**ASKED, **listed, **more})
        assert found.value == pytest.approx(truth)


@pytest.mark.parametrize("word", ["NA", "None", "-"])
def test_a_word_for_no_value_among_predictions_is_no_class_or_is_said_to_be_one(word, tmp_path):
    predicted, labelled = ["a", "b", "c"] * 20, ["a", "b", "c", "c"] * 15
    numbered(prediction=[word, *predicted[1:]], label=labelled).to_csv(tmp_path / "p.csv", index=False)
    with pytest.raises(BadInput, match=f"no prediction in 1 row: '{word}' in 1"):
        value_by_suggestion(tmp_path / "p.csv", Told(), "accuracy")
    numbered(prediction=[word, *predicted[1:]], label=[*labelled[:-1], word]).to_csv(
        tmp_path / "q.csv", index=False)
    found = examine_file(str(tmp_path / "q.csv"), Told(), forecast=False)
    assert found.measured_lines == (
        f"label: a word for no value, and taken for a class since predictions have it too: '{word}' (1 row)",)
