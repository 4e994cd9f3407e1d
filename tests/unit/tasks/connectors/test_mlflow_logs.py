"""Traces and tables of MLflow in files, as responses. The real package writes some in tests/features."""

import json

import pytest

from assay.errors import BadInput
from assay.tasks.connectors.mlflow_logs import MlflowLogs
from assay.tasks.connectors.place import Place
from assay.tasks.connectors.records import Notes, Remark
from assay.tasks.connectors.responses.gathering import Spool, gathered


def trace(number=1, *, inputs=None, outputs="two", assessments=(), about=None, tags=None, state="OK"):
    """As `trace.to_json()` writes them, of MLflow 3."""
    held = {"mlflow.spanInputs": json.dumps(inputs or {"question": f"{number} + 1?"})}
    held |= {} if outputs is None else {"mlflow.spanOutputs": json.dumps(outputs)}
    return {
        "info": {
            "trace_id": f"tr-{number}", "state": state, "trace_metadata": about or {},
            "tags": {"mlflow.traceName": "answer"} | (tags or {}), "assessments": list(assessments),
        },
        "data": {"spans": [{"name": "answer", "parent_span_id": None, "attributes": held}]},
    }


def feedback(name, value, source="LLM_JUDGE", **more):
    return {
        "assessment_name": name, "source": {"source_type": source, "source_id": "x"},
        "feedback": {"value": value}, "valid": True, "create_time": "2026-11-01T00:00:00Z",
    } | more


def read(tmp_path, text, name="traces.json"):
    file = tmp_path / name
    file.write_text(text if isinstance(text, str) else json.dumps(text))
    place, notes = Place(str(file)), Notes()
    assert MlflowLogs().fits(place)
    return list(MlflowLogs().responses(place, notes)), notes.lines


def test_one_trace_a_list_lines_and_a_frame_of_traces_are_read_alike(tmp_path):
    both = [trace(1), trace(2)]
    lines = "\n".join(map(json.dumps, both))
    rows = [{"trace_id": one["info"]["trace_id"], "trace": json.dumps(one)} for one in both]
    expected, _ = read(tmp_path, both)
    assert [one.question_id for one in expected] == ["tr-1", "tr-2"]
    for text in (lines, json.dumps(both, indent=1), rows, "\n".join(map(json.dumps, rows))):
        assert read(tmp_path, text)[0] == expected
    assert read(tmp_path, json.dumps(trace(1), indent=1))[0] == expected[:1]


@pytest.mark.parametrize(("inputs", "outputs", "question", "response"), [
    ({"question": "Why?"}, "So.", "Why?", "So."),
    ({"messages": [{"role": "user", "content": "Why?"}]},
     {"choices": [{"message": {"role": "assistant", "content": "So."}}]}, "Why?", "So."),
    ({"messages": [{"role": "system", "content": "Be brief"}, {"role": "user", "content": "Why?"}]},
     {"role": "assistant", "content": "So."}, "[system]\nBe brief\n\n[user]\nWhy?", "So."),
    ({"a": 1, "b": 2}, {"answer": {"text": "So."}}, '{\n  "a": 1,\n  "b": 2\n}', "So."),
])
def test_inputs_and_outputs_are_text_that_people_can_read(inputs, outputs, question, response, tmp_path):
    [found], _ = read(tmp_path, trace(inputs=inputs, outputs=outputs))
    assert (found.question, found.response) == (question, response)


def test_judges_people_and_expectations_are_told_apart(tmp_path):
    said = [
        feedback("correct", "yes", rationale="It is."), feedback("length", 0.5, "CODE"),
        feedback("helpful", False, "HUMAN"),
        feedback("correct", "no", create_time="2026-11-02T00:00:00Z"),
        feedback("old", True, valid=False), feedback("facts", ["a"]),
        {"assessment_name": "broken", "feedback": {"error": {"error_code": "E"}}, "valid": True},
        {"assessment_name": "expected_response", "expectation": {"value": "two"}, "valid": True},
        {"assessment_name": "expected_facts", "valid": True,
         "expectation": {"value": ["a", "b"]}},
    ]
    [found], notes = read(tmp_path, trace(assessments=said, tags={"topic": "sums"}))
    judged, later = {"source": "x"}, "2026-11-01T00:00:00Z"
    assert found.remarks == [
        Remark(name="correct", value="yes", reason="It is.", time=later, **judged),
        Remark(name="length", value=0.5, time=later, **judged),
        Remark(name="helpful", value=False, by_person=True, time=later, **judged),
        Remark(name="correct", value="no", time="2026-11-02T00:00:00Z", **judged),
        Remark(name="facts", value=["a"], time=later, **judged),
        Remark(name="broken", value="error"),
    ]
    assert found.reference == "two"
    assert found.about == {"topic": "sums"}
    assert notes == ["not imported: assessments that were overridden, of old (1 times)"]


def test_runs_of_an_evaluation_meet_at_their_questions(tmp_path):
    runs = [trace(n, inputs={"q": f"{n % 2}?"}, about={"mlflow.sourceRun": f"run{n // 2}"}) for n in range(4)]
    found, _ = read(tmp_path, [*runs, trace(9, inputs={"q": "0?"}, about={"mlflow.sourceRun": "run0"})])
    assert [one.system for one in found] == ["run0", "run0", "run1", "run1", "run0"]
    assert found[0].question_id == found[2].question_id == found[4].question_id != found[1].question_id
    with Spool() as spool:
        together = gathered([("traces.json", iter(found))], spool, Notes())
    assert [item.repeat for item in together.items] == [1, 1, 1, 1, 2]


def test_traces_without_a_response_are_counted_and_what_is_no_trace_is_named(tmp_path):
    found, notes = read(tmp_path, [trace(1, state="ERROR"), trace(2, outputs=None), trace(3)])
    assert [one.question_id for one in found] == ["tr-3"]
    assert notes == ["not imported: traces that ended in an error, or without a response (2 times)"]
    with pytest.raises(BadInput, match=r"entry 1 is not as MLflow writes traces \(the key 'name' is missing"):
        read(tmp_path, trace(assessments=[{"feedback": {"value": 1}}]))
    with pytest.raises(BadInput, match=r"traces\.json: what begins in line 2 is not sound JSON"):
        read(tmp_path, json.dumps(trace(1)) + "\n{half")


def test_a_table_of_an_evaluation_has_scores_and_reasons(tmp_path):
    columns = ["inputs", "ground_truth", "outputs", "answer_similarity/v1/score",
               "answer_similarity/v1/justification", "latency"]
    data = [["Why?", "So.", "So!", 5, "close", 0.5], ["How?", "Thus.", None, None, None, 0.1]]
    found, notes = read(tmp_path, {"columns": columns, "data": data}, "eval_results_table.json")
    [one] = found
    assert (one.question, one.reference, one.response) == ("Why?", "So.", "So!")
    assert one.remarks == [Remark(name="answer_similarity/v1", value=5, reason="close")]
    assert one.about == {"latency": 0.5}
    assert notes == ["columns that are kept, and are no judges: latency",
                     "not imported: rows without a response (1 times)"]
    with pytest.raises(BadInput, match="no column holds responses: there are x, y"):
        read(tmp_path, {"columns": ["x", "y"], "data": [[1, 2]]})


def test_scores_in_columns_beside_traces_are_read_and_other_numbers_are_told(tmp_path):
    why = "response/llm_judged/correctness/"
    rows = [{"request_id": f"r{n}", "request": f"{n}?", "response": "two", "expected_response": "2",
             "execution_time_ms": 7, f"{why}rating": "yes", f"{why}rationale": "so", "chunk_relevance": 0.5}
            for n in range(2)]
    responses, notes = read(tmp_path, rows)
    assert [remark.value for response in responses for remark in response.remarks] == ["yes", "yes"]
    assert {(r.reference, r.remarks[0].reason, r.remarks[0].name) for r in responses} == {
        ("2", "so", "response/llm_judged/correctness")}
    assert notes == ["not imported: columns beside traces: chunk_relevance (2 times)"]
