"""Traits of ordinary logs: what is a copy, a vote, a judge, a gap; every suggested spec can be used."""

import gzip
import json
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import yaml
from services.log_writers import Case, deepeval_run, inspect_json, langfuse_traces, promptfoo_json

import assay
from assay.evalcore.errors import BadInput
from assay.flows.connectors import bring_in

CASES = Path(__file__).parents[3] / "cases"


def brought(tmp_path, given, **more):
    """The rows, the spec, and the notes; an evaluation begins with it and asks."""
    found = bring_in([given], tmp_path / "pool.parquet", **more)
    spec = yaml.safe_load(found.spec)
    begun = assay.begin({**spec, "desk": {"kind": "caller"}, "store": str(tmp_path / "ledger")})
    assert len(begun.ask())
    return pq.read_table(tmp_path / "pool.parquet").to_pylist(), spec, found


def written(tmp_path, log, name="log.json"):
    (tmp_path / name).write_text(json.dumps(log))
    return tmp_path / name


def test_a_refusal_among_grades_is_a_gap_that_is_counted(tmp_path):
    _, spec, found = brought(tmp_path, CASES / "refusal_among_grades.json")
    assert spec["labels"] == {"grades": [1, 2, 3, 4, 5]}
    assert "judge: 1 ('N/A') of 3 values are no verdict, and count as gaps" in found.notes


def test_a_verdict_that_is_not_finite_is_a_gap(tmp_path):
    _, spec, found = brought(tmp_path, CASES / "nan_verdict.json")
    assert spec["labels"] == {"classes": ["correct", "incorrect"]}
    assert "judge: 1 ('nan') of 3 values are no verdict, and count as gaps" in found.notes


def test_the_gaps_of_a_judge_stay_empty_and_those_of_the_prediction_are_told(tmp_path):
    verdicts = [{"a": a, "b": b} for a, b in ((1, 1), (0, None), (1, 0), (None, 1), (1, 1))]
    rows, spec, found = brought(tmp_path, written(tmp_path, json.loads(
        inspect_json(six(verdicts))["log.json"])))
    assert (spec["pool"]["prediction"], spec["pool"]["judge"]) == ("judge_grader_a", ["judge_grader_b"])
    assert [row["judge_grader_b"] for row in rows].count(None) == 1
    assert [row["judge_grader_a"] for row in rows].count("correct") == 4
    assert any("in the column 'judge_grader_a' its commonest verdict stands there (correct)" in note
               for note in found.notes)


def test_where_a_grader_said_one_word_people_can_disagree(tmp_path):
    _, spec, _ = brought(tmp_path, CASES / "one_word.json")
    assert spec["labels"] == {"classes": ["good", "not good"]}
    assert spec["measure"][0] == {"name": "rate", "class": "good"}


def test_one_provider_in_two_columns_is_two_systems(tmp_path):
    rows, spec, found = brought(tmp_path, CASES / "same_provider_twice.json")
    assert found.written.systems == ("openai:gpt-4o (1)", "openai:gpt-4o (2)")
    [row] = rows
    assert [row[name] for name in spec["labels"]["prefer"]] == ["cold", "hot"]


def test_rows_of_the_same_number_in_two_files_are_different_questions(tmp_path):
    rows, _, found = brought(tmp_path, CASES / "ragas_two_parts")
    assert {row["item_id"]: row["question"] for row in rows} == {"1": "question a", "1 (2)": "question b"}
    assert not any("several runs" in note for note in found.notes)


def test_two_people_who_are_divided_give_no_label_and_both_votes_are_kept(tmp_path):
    [row], spec, found = brought(tmp_path, CASES / "langfuse_two_people.json")
    votes = [row["label"], row["label_by_person_1"], row["label_by_person_2"]]
    assert votes == [None, "correct", "incorrect"]
    assert any("it is empty for 1, where they are divided" in note for note in found.notes)
    assert "ann" not in json.dumps(row) + found.spec
    assert spec["desk"]["kind"] == "folder"


def langfuse(scores, n=6):
    """Traces with these scores: (name, value, source, author, observation)."""
    [log] = langfuse_traces([Case(i, f"q{i}?", f"a{i}", 1) for i in range(n)]).values()
    traces = json.loads(log)
    for trace in traces:
        trace["observations"] = [
            {"id": "o" + trace["id"], "traceId": trace["id"], "type": "SPAN", "name": "step"}]
        trace["scores"] = [
            {"name": name, "value": value, "dataType": "NUMERIC", "source": source, "authorUserId": author,
             "observationId": "o" + trace["id"] if step else None}
            for name, value, source, author, step in scores]
    return traces


def test_what_most_people_said_is_the_label(tmp_path):
    votes = [("ok", 1, "ANNOTATION", "ann", 0), ("ok", 0, "ANNOTATION", "bob", 0),
             ("ok", 1, "ANNOTATION", "cid", 0)]
    rows, spec, _ = brought(tmp_path, written(tmp_path, langfuse(votes)))
    # nothing predicts the label, so people answer 1 or 0, and a trial asks nobody
    assert {row["label"] for row in rows} == {1.0}
    assert spec["labels"] == {"grades": [0, 1]}
    assert spec["desk"]["kind"] == "simulated"


def test_a_score_of_a_step_and_other_sources_are_judges_of_their_own(tmp_path):
    scores = [("h", 5, "API", None, 0), ("h", 2, "API", None, 1), ("h", 3, "EVAL", None, 0)]
    rows, spec, found = brought(tmp_path, written(tmp_path, langfuse(scores)))
    assert [rows[0][f"judge_h_{name}"] for name in ("api", "api_step", "eval")] == [5, 2, 3]
    assert spec["pool"]["prediction"] == "judge_h_api"
    assert any("h comes from 3 sources" in note for note in found.notes)


def test_a_scorer_that_spoke_twice_has_its_newest_verdict_and_keeps_the_other(tmp_path):
    rows, _, found = brought(tmp_path, written(tmp_path, langfuse(
        [("h", 1, "API", None, 0), ("h", 4, "API", None, 0)])))
    assert (rows[0]["judge_h"], rows[0]["judge_h_2"]) == (4, 1)
    assert any("h said different things of one response, 6 times" in note for note in found.notes)


def test_an_export_of_later_adds_scores_to_the_traces_that_were_there(tmp_path):
    (tmp_path / "logs").mkdir()
    written(tmp_path / "logs", langfuse([("h", 1, "API", None, 0)]), "1.json")
    written(tmp_path / "logs", langfuse([("h", 1, "API", None, 0), ("g", 3, "API", None, 0)], 8), "2.json")
    rows, _, _ = brought(tmp_path, tmp_path / "logs")
    assert Counter((row["judge_h"], row["judge_g"]) for row in rows) == {("correct", 3.0): 8}


def six(verdicts):
    return [Case(i, f"q{i}?", f"a{i}", verdict) for i, verdict in enumerate(verdicts)]


def test_epochs_are_clusters(tmp_path):
    [log] = inspect_json(six([1, 0, 1, 1, 0, 1])).values()
    log = json.loads(log)
    log["samples"] = [{**sample, "epoch": epoch} for sample in log["samples"] for epoch in (1, 2)]
    rows, spec, _ = brought(tmp_path, written(tmp_path, log))
    assert spec["pool"]["cluster"] == "question"
    assert len({row["item_id"] for row in rows}) == len(rows) == 12


def test_a_question_in_two_wordings_is_one_cluster(tmp_path):
    [log] = promptfoo_json(six([1, 0, 1, 1, 0, 1])).values()
    log = json.loads(log)
    results = log["results"]["results"]
    results += [{**result, "promptIdx": 1, "prompt": {"raw": f"Pray, {number}?", "label": "b"}}
                for number, result in enumerate(results)]
    rows, spec, _ = brought(tmp_path, written(tmp_path, log), layout="responses")
    assert spec["pool"]["cluster"] == "question_id"
    assert Counter(row["question_id"] for row in rows) == {str(i): 2 for i in range(6)}


def test_tests_of_one_name_are_different_items(tmp_path):
    [log] = deepeval_run(six([1, 0, 1, 1, 0, 1])).values()
    log = json.loads(log)
    log["testCases"] = [{**case, "name": "test_case"} for case in log["testCases"]]
    rows, _, _ = brought(tmp_path, written(tmp_path, log))
    assert [row["question"] for row in rows] == [f"q{i}?" for i in range(6)]


def test_scores_that_are_not_used_are_listed(tmp_path):
    [log] = inspect_json(six([[1, 2], {"a": 1, "b": [3, 4]}, [1], 1, 1, 0])).values()
    found = brought(tmp_path, written(tmp_path, json.loads(log)))[2]
    assert "not imported: scores that are lists, of grader (1 times)" in found.notes
    assert "not imported: scores that are lists, of grader b (1 times)" in found.notes


@pytest.mark.parametrize("place", ["name", "metric", "identifier", "model"])
def test_a_list_where_a_name_should_be_is_no_traceback(tmp_path, place):
    [log] = deepeval_run(six([1, 0, 1, 1, 0, 1])).values()
    log = json.loads(log)
    if place == "identifier":
        log["identifier"] = ["a", 1]
    elif place == "model":
        log["hyperparameters"] = {"model": ["a"]}
    for case in log["testCases"]:
        if place == "metric":
            case["metricsData"][0]["name"] = ["g", 1]
        elif place == "name":
            case["name"] = ["t", case["order"]]
    rows, _, _ = brought(tmp_path, written(tmp_path, log))
    assert len(rows) == 6


def test_text_that_looks_like_a_number_stays_text(tmp_path):
    (tmp_path / "r.csv").write_text("user_input,response,code,faithfulness\n" + "".join(
        f"q{i},a{i},00{i},0.{i}\n" for i in range(6)))
    rows, _, _ = brought(tmp_path, tmp_path / "r.csv")
    assert [row["code"] for row in rows] == [f"00{i}" for i in range(6)]
    assert [row["judge"] for row in rows] == pytest.approx([i / 10 for i in range(6)])


def test_classes_that_look_like_numbers_are_quoted_in_the_spec(tmp_path):
    [log] = deepeval_run(six(["007", "008", "1e5x", "008", "007", "008"])).values()
    _, spec, found = brought(tmp_path, written(tmp_path, json.loads(log)))
    assert spec["labels"] == {"classes": ["007", "008", "1e5x"]}
    assert not any("does with less" in note for note in found.notes)


def test_a_verdict_that_is_an_object_in_a_text_is_read(tmp_path):
    [log] = deepeval_run(six([json.dumps({"score": s, "why": "so"}) for s in (1, 5, 3, 4, 2, 5)])).values()
    _, spec, _ = brought(tmp_path, written(tmp_path, json.loads(log)))
    assert spec["labels"] == {"grades": [1, 2, 3, 4, 5]}


def test_reasons_in_an_object_are_no_judge_of_their_own(tmp_path):
    said = [{"score": s, "reasoning": "it is so"} for s in (1, 5, 3, 4, 2, 5)]
    fenced = [f"```json\n{json.dumps(one)}\n```" for one in said]
    for number, verdicts in enumerate((said, fenced)):
        [log] = deepeval_run(six(verdicts)).values()
        (tmp_path / str(number)).mkdir()
        rows, spec, _ = brought(tmp_path / str(number), written(tmp_path, json.loads(log)))
        assert spec["labels"] == {"grades": [1, 2, 3, 4, 5]}
        assert [row["judge"] for row in rows] == [1, 5, 3, 4, 2, 5]
        assert {row["reason"] for row in rows} == {"it is so"}


def test_good_in_other_words_is_not_measured_as_a_share_of_correct_that_nobody_said(tmp_path):
    [log] = deepeval_run(six(["fully correct", "incorrect", "mostly correct"] * 2)).values()
    _, spec, _ = brought(tmp_path, written(tmp_path, json.loads(log)))
    assert spec["labels"] == {"classes": ["fully correct", "incorrect", "mostly correct"]}
    assert spec["measure"][:3] == [{"name": "rate", "class": name} for name in spec["labels"]["classes"]]


def test_a_score_that_is_null_is_a_gap_whatever_stands_beside_it(tmp_path):
    cases = [{"name": "case", "input": f"q{i}", "actual_output": f"a{i}",
              "metrics_data": [{"name": "grader", "score": score, "success": True}]}
             for i, score in enumerate((1, None, 0, 1, None, 0))]
    rows, _, _ = brought(tmp_path, written(tmp_path, {"test_results": cases}))
    assert Counter(row["judge"] for row in rows) == {"correct": 4, "incorrect": 2}      # 2 are gaps
    found = bring_in([tmp_path / "log.json"], tmp_path / "again.parquet")
    assert any("judge" in note and "2 of 6 responses" in note for note in found.notes)


def test_a_response_that_is_an_object_stays_as_it_was_written(tmp_path):
    said = [json.dumps({"answer": i, "role": "user"}) for i in range(6)]
    for writer in (langfuse_traces, promptfoo_json, deepeval_run):
        folder = tmp_path / writer.__name__
        folder.mkdir()
        [log] = writer([Case(i, f"q{i}?", text, 1) for i, text in enumerate(said)]).values()
        rows, _, _ = brought(folder, written(folder, json.loads(log)))
        assert [row["response"] for row in rows] == said


def test_a_row_of_ragas_without_a_question_is_read_and_a_column_that_is_no_judge_is_told(tmp_path):
    (tmp_path / "r.csv").write_text("user_input,response,kind,faithfulness\n" + "".join(
        f"{'' if i == 2 else f'q{i}'},a{i},{'AB'[i % 2]}+,0.{i}\n" for i in range(6)))
    found = bring_in([tmp_path / "r.csv"], tmp_path / "pool.parquet")
    rows = pq.read_table(tmp_path / "pool.parquet").to_pylist()
    assert [row["question"] for row in rows].count(None) == 1
    assert "columns that are kept, and are no judges: kind" in found.notes


def test_values_beside_a_trace_are_listed(tmp_path):
    [log] = langfuse_traces(six([1, 0, 1, 1, 0, 1])).values()
    traces = [{**trace, "accuracy_avg": 1} for trace in json.loads(log)]
    [note] = brought(tmp_path, written(tmp_path, traces))[2].notes
    assert note.endswith("values beside a trace that are no scores in its list: accuracy_avg (6 times)")


def test_ids_with_other_content_are_told_in_one_sentence(tmp_path):
    [log] = langfuse_traces(six([1, 0, 1, 1, 0, 1])).values()
    traces = json.loads(log)
    written(tmp_path, traces, "a.json")
    written(tmp_path, [{**trace, "output": "another"} for trace in traces], "b.json")
    found = bring_in([tmp_path / "a.json", tmp_path / "b.json"], tmp_path / "pool.parquet")
    assert [note for note in found.notes if "other content" in note] == [
        "the id 't0', and 5 others, came up again with other content; each is a row of its own"]


@pytest.mark.parametrize(("log", "message"), [
    ([{"doc_id": 0, "prompt_0": "x", "logit_0": -1, "acc": 1}], "before version 0.4"),
    ({"results": {"a": {}}, "configs": {}}, "totals alone; run lm_eval with --log_samples"),
    ([{"traceId": "t", "name": "h", "value": 1, "dataType": "NUMERIC"}], "import the traces together with"),
    ({"run_type": "llm", "outputs": {}}, r"columns are outputs, run_type, and runs of LangSmith .* inputs"),
])
def test_a_variant_that_cannot_be_read_is_named_with_what_is_missing(tmp_path, log, message):
    name = "results_x.json" if "configs" in log else "log.json"
    (tmp_path / f"{name}.gz").write_bytes(gzip.compress(json.dumps(log).encode()))
    with pytest.raises(BadInput, match=message):
        bring_in([tmp_path / f"{name}.gz"], tmp_path / "pool.parquet")
    assert not (tmp_path / "pool.parquet").exists()


def test_a_file_of_another_kind_that_a_tool_writes_is_named_by_its_ending(tmp_path):
    (tmp_path / "out.yaml").write_text("evalId: x\nresults: {}\n")
    with pytest.raises(BadInput, match=r"files that end in \.yaml are not read; export JSON or CSV"):
        bring_in([tmp_path / "out.yaml"], tmp_path / "pool.parquet")


def test_evaluations_in_the_columns_of_a_frame_of_spans_are_judges(tmp_path):
    rows, spec, _ = brought(tmp_path, written(tmp_path, [{
        "context.trace_id": f"t{n}", "context.span_id": f"s{n}", "name": "llm", "span_kind": "LLM",
        "parent_id": None, "attributes.input.value": f"q{n}", "attributes.output.value": f"a{n}",
        "eval.Hallucination.label": ("factual", "hallucinated")[n % 2], "eval.Hallucination.score": n % 2,
    } for n in range(6)]))
    assert [row["judge"] for row in rows] == ["factual", "hallucinated"] * 3
    assert spec["measure"][0] == {"name": "rate", "class": "factual"}
