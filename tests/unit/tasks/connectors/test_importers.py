"""Logs made by the real packages, and what becomes of them."""

import json
import zipfile

import pyarrow.parquet as pq
import pytest
import yaml
from services.logs import LOGS

from assay.evalcore.errors import BadInput
from assay.flows.connectors import bring_in
from assay.tasks.spec.evaluation import load_spec


def brought(tmp_path, *names, layout=None):
    """The rows by id, the spec, and what was brought in."""
    found = bring_in([LOGS / name for name in names], tmp_path / "pool.parquet", layout=layout)
    (tmp_path / "spec.yaml").write_text(found.spec, encoding="utf-8")
    load_spec(tmp_path / "spec.yaml")
    rows = pq.read_table(tmp_path / "pool.parquet").to_pylist()
    assert len({row["item_id"] for row in rows}) == len(rows) == found.written.rows
    return {row["item_id"]: row for row in rows}, yaml.safe_load(found.spec), found


def test_inspect_scorers_are_judges_and_epochs_are_repeats(tmp_path):
    rows, spec, found = brought(tmp_path, "inspect/sums.eval")
    # sum-3: 3 is a multiple of 3, so the small model says 7, and the grader says I
    assert rows["sum-3/2"] == {
        "item_id": "sum-3/2", "question": "What is 3 + 3?", "response": "The answer is 7.", "reference": "6",
        "judge_includes": "incorrect", "judge_model_graded_qa": "incorrect",
        "reason": "Compared with the reference. GRADE: I", "task": "sums", "model": "made/small", "repeat": 2,
        "topic": "odd",
    }
    assert rows["sum-5/1"]["judge_model_graded_qa"] == "partial"
    assert spec["labels"] == {"classes": ["correct", "incorrect"]}
    assert spec["measure"] == [{"name": "rate", "class": "correct"}, "accuracy"]
    assert spec["pool"]["prediction"] == "judge_includes"
    assert spec["pool"]["display"] == ["question", "response", "reference"]
    assert spec["pool"]["segments"] == ["topic"]
    assert any("metadata that is no single value: steps (40 times)" in note for note in found.notes)
    assert "Not used" in found.spec
    assert "judge_model_graded_qa" in found.spec


def test_inspect_json_says_the_same_as_an_archive(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    archive, _, _ = brought(tmp_path / "a", "inspect/sums.eval")
    plain, _, _ = brought(tmp_path / "b", "inspect/sums.json")
    assert len(plain) == 8
    for row in plain.values():
        same = archive[f"{row['item_id']}/1"]
        assert row["judge"] == same["judge_includes"]
        assert {row[name] == same[name] for name in ("question", "response", "reference", "topic")} == {True}


def test_models_that_choose_are_systems(tmp_path):
    rows, spec, _ = brought(tmp_path, "inspect/colours-large.eval", "inspect/colours-small.eval")
    assert len(rows) == 60
    # 9 is a multiple of 3 and not of 7: the small model is wrong, the large one is not; 9 mod 4 is 1, B
    said = [rows["9"][name] for name in ("choice_made_large", "choice_made_small", "reference")]
    assert said == ["B", "C", "B"]
    assert rows["9"]["question"].endswith("A) red\nB) green\nC) blue\nD) white")
    assert spec["pool"]["systems"] == {
        "made/large": {"prediction": "choice_made_large"}, "made/small": {"prediction": "choice_made_small"},
    }
    assert spec["labels"] == {"classes": ["A", "B", "C", "D"]}
    assert spec["pool"]["display"] == ["question"]


def test_a_row_for_each_response_when_asked(tmp_path):
    rows, spec, _ = brought(
        tmp_path, "inspect/colours-large.eval", "inspect/colours-small.eval", layout="responses"
    )
    assert len(rows) == 120
    assert rows["9/made/small"]["judge"] == "incorrect"
    assert spec["pool"]["segments"] == ["model"]


def test_inspect_runs_that_came_twice_count_once(tmp_path):
    copy = tmp_path / "copy.eval"
    copy.write_bytes((LOGS / "inspect/sums.eval").read_bytes())
    rows, _, found = brought(tmp_path, "inspect/sums.eval", copy)
    assert len(rows) == 40
    assert any("the same content (40 times)" in note for note in found.notes)


def test_two_runs_of_one_task_keep_all_rows_apart(tmp_path):
    rows, _, found = brought(tmp_path, "inspect/sums.eval", "inspect/sums.json")
    assert len(rows) == 48
    assert any("in several runs" in note for note in found.notes)
    # the second run has no grader: 8 of 48 verdicts are missing
    assert any("says nothing of 8 of 48 responses" in note for note in found.notes)
    assert [row["judge_model_graded_qa"] for row in rows.values()].count(None) == 8


def lm_eval(pattern):
    """Paths below the logs of lm-evaluation-harness, as parts of LOGS."""
    return [str(path.relative_to(LOGS)) for path in sorted((LOGS / "lm-eval").glob(pattern))]


def test_lm_eval_likeliest_choices_are_compared(tmp_path):
    rows, spec, found = brought(tmp_path, *lm_eval("*/samples_colours_*"))
    assert len(rows) == 40
    assert rows["9"]["question"] == "Which colour has number 9?\nAnswer:"
    assert (rows["9"]["choice_made_large"], rows["9"]["choice_made_small"], rows["9"]["reference"]) == (
        "green", "blue", "green")
    assert spec["pool"]["systems"]["made/small"] == {"prediction": "choice_made_small"}
    assert spec["labels"] == {"classes": ["blue", "green", "red", "white"]}
    assert "segments" not in spec["pool"]      # refused where systems are compared
    assert set(found.written.systems) == {"made/large", "made/small"}


def test_lm_eval_metrics_are_judges_of_generated_text(tmp_path):
    [name] = lm_eval("made__small/samples_sums_*")
    rows, spec, _ = brought(tmp_path, name)
    assert rows["9"]["response"] == "19"
    assert (rows["9"]["reference"], rows["9"]["judge"], rows["10"]["judge"]) == ("18", "incorrect", "correct")
    assert spec["pool"]["prediction"] == "judge"


def test_two_models_that_write_are_compared_by_preference(tmp_path):
    rows, spec, _ = brought(tmp_path, *lm_eval("*/samples_sums_*"))
    assert spec["labels"] == {"prefer": ["response_made_large", "response_made_small"], "tie": True}
    assert spec["pool"]["judge"] == ["preferred"]
    # 9: only the small one is wrong; 10: both are right; 7: only the large one is wrong
    said = [rows[number]["preferred"] for number in ("9", "10", "7")]
    assert said == ["response_made_large", "tie", "response_made_small"]


def test_tasks_without_a_common_metric_have_no_judge(tmp_path):
    rows, spec, found = brought(tmp_path, "lm-eval/made__small")
    assert len(rows) == 64
    assert "prediction" not in spec["pool"]
    assert (spec["labels"], spec["measure"]) == ({"grades": [0, 1]}, ["mean"])
    assert any("no scorer in common" in note for note in found.notes)


def test_filters_of_a_task_are_judges_of_one_response(tmp_path):
    [name] = lm_eval("made__small/samples_sums_*")
    lines = [json.loads(line) for line in (LOGS / name).read_text().splitlines()]
    both = [line | {"filter": kind} for kind in ("strict", "flexible") for line in lines]
    made = tmp_path / "samples_sums_2026-01-01T00-00-00.000000.jsonl"
    made.write_text("".join(json.dumps(line) + "\n" for line in both))
    rows, _, _ = brought(tmp_path, made)
    assert len(rows) == 24
    assert {"judge_exact_match_strict", "judge_exact_match_flexible"} <= set(rows["9"])


def test_lm_eval_totals_alone_are_refused(tmp_path):
    [name] = lm_eval("made__small/results_*")
    (tmp_path / "results_x.json").write_bytes((LOGS / name).read_bytes())
    with pytest.raises(BadInput, match="totals alone; run lm_eval with --log_samples"):
        bring_in([tmp_path / "results_x.json"], tmp_path / "pool.parquet")


def test_promptfoo_assertions_are_judges(tmp_path):
    rows, spec, _ = brought(tmp_path, "promptfoo/one.json")
    assert rows["3"] == {
        "item_id": "3", "question": "What is 3 + 3?", "response": "The answer is 7.", "reference": "6",
        "judge_passed": "incorrect", "judge_score": "incorrect", "reason": rows["3"]["reason"],
        "model": "small", "number": "3", "total": "6", "topic": "odd",
    }
    assert "6" in rows["3"]["reason"]
    assert spec["pool"]["prediction"] == "judge_passed"


def test_promptfoo_prompts_and_providers_are_models(tmp_path):
    rows, spec, found = brought(tmp_path, "promptfoo/several.jsonl")
    models = {"small, prompt 1", "small, prompt 2", "echo, prompt 1", "echo, prompt 2"}
    assert set(found.written.systems) == models
    assert len(rows) == 48
    assert rows["3/small, prompt 2"]["question"] == "Add 3 and 3."
    assert rows["3/small, prompt 2"]["judge_brevity"] == pytest.approx(10 / len("The answer is 7."))
    assert spec["pool"]["segments"] == ["model", "topic"]


def test_a_damaged_log_is_named(tmp_path):
    whole = (LOGS / "inspect/sums.json").read_bytes()
    (tmp_path / "cut.json").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(BadInput, match=r"cut\.json.*is not sound JSON"):
        bring_in([tmp_path / "cut.json"], tmp_path / "pool.parquet")
    with zipfile.ZipFile(LOGS / "inspect/sums.eval") as archive:
        first = archive.infolist()[1]
    data = bytearray((LOGS / "inspect/sums.eval").read_bytes())
    data[first.header_offset + 80: first.header_offset + 200] = bytes(120)
    (tmp_path / "bad.eval").write_bytes(data)
    with pytest.raises(BadInput, match=r"bad\.eval"):
        bring_in([tmp_path / "bad.eval"], tmp_path / "pool.parquet")
    assert not (tmp_path / "pool.parquet").exists()
    assert not list(tmp_path.glob(".*part"))


def test_a_sample_of_another_shape_is_an_error_that_names_it(tmp_path):
    log = json.loads((LOGS / "inspect/sums.json").read_text())
    log["samples"][2]["output"]["choices"] = [{}]
    (tmp_path / "odd.json").write_text(json.dumps(log))
    with pytest.raises(BadInput, match="the sample 'sum-2' is not as Inspect writes samples"):
        bring_in([tmp_path / "odd.json"], tmp_path / "pool.parquet")


def test_what_a_person_cannot_read_is_named_in_brackets_and_noted(tmp_path):
    log = json.loads((LOGS / "inspect/sums.json").read_text())
    asked = [{"type": "text", "text": "What is this?"}, {"type": "image", "image": "data:"}]
    log["samples"][0]["input"] = [
        {"role": "system", "content": "Be brief."}, {"role": "user", "content": asked},
    ]
    log["samples"][1]["error"] = {"message": "out of memory"}
    (tmp_path / "pictures.json").write_text(json.dumps(log))
    rows, _, found = brought(tmp_path, tmp_path / "pictures.json")
    assert rows["sum-0"]["question"] == "[system]\nBe brief.\n\n[user]\nWhat is this?\n[image]"
    assert len(rows) == 7
    assert "not imported: parts of messages that are no text: image (1 times)" in found.notes
    assert any("ended in an error" in note for note in found.notes)


@pytest.mark.parametrize(("name", "message"), [
    ("pool.csv", "ends in .parquet"), ("there.parquet", "exists"), ("no/pool.parquet", "there is no folder"),
])
def test_a_place_that_cannot_be_written_is_refused_before_anything_is_read(tmp_path, name, message):
    (tmp_path / "there.parquet").write_bytes(b"")
    with pytest.raises(BadInput, match=message):
        bring_in([LOGS / "inspect/sums.eval"], tmp_path / name)


def test_questions_side_by_side_need_models_that_can_be_compared(tmp_path):
    with pytest.raises(BadInput, match="--layout questions: there are 1 models"):
        bring_in([LOGS / "inspect/sums.eval"], tmp_path / "pool.parquet", layout="questions")
