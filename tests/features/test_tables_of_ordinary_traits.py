"""Small tables with the traits of export files: what is right for each was known beforehand."""

import json
from pathlib import Path

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
    assert "predicted positive above 0.5 of Yes (--threshold)" in said


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
     "the column 'label' is there twice; rename or drop one"),
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


# In Python.

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
    ("sensitivity", "did you mean 'recall'"), ("speed", "roc_auc"),
])
def test_names_of_measures_that_people_try_say_what_to_write(frame, name, said):
    with pytest.raises(BadInput, match=said):
        assay.evaluate(frame, oracle="label", **{**ASKED, "measures": name})
