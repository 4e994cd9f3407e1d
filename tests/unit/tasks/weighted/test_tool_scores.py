"""Labels and estimates in the forms of other tools."""

import json
from dataclasses import replace

import pytest

from assay.evalcore.errors import BadInput
from assay.evalcore.evaluation.estimate import MeasureEstimate
from assay.tasks.weighted.tool_scores import SCORE_FORMATS, ScoresOut, estimate_name, score_format

RATE = MeasureEstimate(measure="rate", class_name="correct", value=0.7, lower=0.6, upper=0.8, confidence=0.95,
                       interval="design", labels=40)
NONE = MeasureEstimate(measure="f1", value=None, undefined_reason="no positive", lower=None, upper=None,
                       confidence=0.95, interval="none", labels=40)
OUT = ScoresOut(evaluation="agent", item_ids=["a", "b", "c"], labels=["correct", "incorrect", "partial"],
                targets=["t1", "t2", "t3"], estimates=[RATE, NONE], run="run-1")


def lines(tool, out=OUT):
    """The scores of a tool that takes lines."""
    return [json.loads(line) for line in SCORE_FORMATS[tool].write(out).decode().splitlines()]


def test_langfuse_has_scores_of_traces_and_of_the_run():
    *labels, value, lower, upper = lines("langfuse")
    assert [(one["traceId"], one["value"], one["dataType"]) for one in labels] == [
        ("t1", 1.0, "NUMERIC"), ("t2", 0.0, "NUMERIC"), ("t3", "partial", "CATEGORICAL")]
    # what is undefined has no number
    told = {"rate.correct": {"value": 0.7, "lower": 0.6, "upper": 0.8, "confidence": 0.95, "labels": 40},
            "f1": {"confidence": 0.95, "labels": 40}}
    assert labels[0]["metadata"] == {"evaluation": "agent", "item_id": "a", "estimates": told}
    assert [(one["name"], one["value"], one["datasetRunId"]) for one in (value, lower, upper)] == [
        ("agent.rate.correct", 0.7, "run-1"), ("agent.rate.correct.lower", 0.6, "run-1"),
        ("agent.rate.correct.upper", 0.8, "run-1")]


def test_langsmith_has_feedback():
    rows = lines("langsmith")
    assert [(one["run_id"], one["score"], one["value"]) for one in rows[:3]] == [
        ("t1", 1.0, "correct"), ("t2", 0.0, "incorrect"), ("t3", None, "partial")]
    assert (rows[3]["session_id"], rows[3]["score"], rows[3]["run_id"]) == ("run-1", 0.7, None)


def test_phoenix_has_annotations_of_spans():
    [told] = lines("phoenix", OUT)
    assert told["data"][0]["result"] == {"label": "correct", "score": 1.0}
    assert told["data"][2]["result"] == {"label": "partial"}
    assert told["data"][1]["span_id"] == "t2"


def test_ids_stay_and_differ():
    first, again = lines("langfuse"), lines("langfuse")
    assert [one["id"] for one in first] == [one["id"] for one in again]
    assert len({one["id"] for one in first}) == len(first)


def test_numbers_are_scores_as_they_are():
    out = ScoresOut(evaluation="e", item_ids=["a"], labels=[4.0], targets=["t"], estimates=[])
    assert lines("langfuse", out)[0]["value"] == 4.0


def test_names_of_estimates():
    assert estimate_name(RATE) == "rate.correct"
    versus = MeasureEstimate(measure="f1", system="new", versus="old", value=0.1, lower=0.0, upper=0.2,
                             confidence=0.9, interval="design", labels=9)
    assert estimate_name(versus) == "f1.new-old"
    # of several questions, and of a point of a curve, or one would stand for the other
    assert estimate_name(replace(RATE, question="tone")) == "tone.rate.correct"
    assert estimate_name(replace(NONE, measure="precision", curve="pr_curve", at=0.5)) == (
        "precision.of pr_curve.at 0.5")


def test_a_run_where_the_tool_keeps_none_is_refused():
    with pytest.raises(BadInput, match="--run: phoenix keeps annotations of spans"):
        score_format("phoenix", "x")
