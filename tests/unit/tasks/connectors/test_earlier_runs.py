"""Results of earlier systems beside a new log."""

import json

import pyarrow.parquet as pq
import pytest
import yaml
from services.logs import LOGS

import assay
from assay.evalcore.errors import BadInput
from assay.flows.connectors import bring_in
from assay.tasks.spec.evaluation import Spec, load_spec

NEW, OLD = LOGS / "inspect/colours-large.eval", LOGS / "inspect/colours-small.eval"


def brought(tmp_path, new, *earlier, layout=None):
    """The rows by id, and the spec, which loads."""
    found = bring_in([new], tmp_path / "pool.parquet", layout=layout, earlier=earlier)
    (tmp_path / "spec.yaml").write_text(found.spec, encoding="utf-8")
    load_spec(tmp_path / "spec.yaml")
    rows = pq.read_table(tmp_path / "pool.parquet").to_pylist()
    assert list(found.written.columns) == list(rows[0])
    return {row["item_id"]: row for row in rows}, yaml.safe_load(found.spec)


def test_last_week_s_model_is_a_judge_of_this_week_s(tmp_path):
    rows, spec = brought(tmp_path, NEW, OLD)
    # the small model is wrong on multiples of 3
    assert {i: row["earlier_colours_small"] for i, row in rows.items()} == {
        str(i): "incorrect" if i % 3 == 0 else "correct" for i in range(60)}
    assert spec["pool"]["earlier"] == ["earlier_colours_small"]
    assert spec["pool"]["probability"] == {"prefix": "p_"}
    assert spec["method"] == "guesses"
    assert rows["1"]["p_correct"] > 0.5 > rows["3"]["p_correct"]
    assert rows["1"]["p_correct"] + rows["1"]["p_incorrect"] == pytest.approx(1)


def test_questions_match_where_ids_are_new_and_gaps_are_allowed(tmp_path):
    traces = json.loads((LOGS / "langfuse/traces.json").read_text())
    for one in traces[:6]:
        one["id"] = "old-" + one["id"]
        for span in one["observations"]:
            span["traceId"] = one["id"]
        one["scores"] = [score for score in one["scores"] if score["source"] != "ANNOTATION"]
    (tmp_path / "last.json").write_text(json.dumps(traces[:6]))
    rows, _ = brought(tmp_path, LOGS / "langfuse/traces.json", tmp_path / "last.json")
    said = [rows[f"trace-{i}"]["earlier_last"] for i in range(12)]
    assert said == [*("incorrect", "correct", "correct") * 2, *[None] * 6]


def test_runs_of_other_questions_are_refused_and_nothing_is_left(tmp_path):
    with pytest.raises(BadInput, match="has no result on any item of the pool"):
        brought(tmp_path, NEW, LOGS / "deepeval/test_run.json")
    with pytest.raises(BadInput, match="no scorer and no person said anything"):
        brought(tmp_path, NEW, LOGS / "phoenix/frame.json")
    with pytest.raises(BadInput, match="two runs have the same name"):
        brought(tmp_path, NEW, OLD, OLD)
    assert not list(tmp_path.glob("*.parquet"))


def test_models_that_are_compared_take_no_earlier_runs(tmp_path):
    with pytest.raises(BadInput, match="the pool compares its own models"):
        bring_in([NEW, OLD], tmp_path / "pool.parquet", earlier=[OLD])


def test_of_many_earlier_systems_the_most_telling_stay(tmp_path):
    log = json.loads((LOGS / "deepeval/test_run.json").read_text())
    for run in range(23):
        for place, case in enumerate(log["testCases"]):
            right = float((place * 7 + run * 3) % 5 != 0)
            case["metricsData"][0] |= {"score": right, "success": bool(right)}
        (tmp_path / f"run-{run:02}.json").write_text(json.dumps(log))
    _, spec = brought(tmp_path, LOGS / "deepeval/test_run.json", *sorted(tmp_path.glob("run-*.json")))
    # five patterns are all that there are
    assert 1 <= len(spec["pool"]["earlier"]) <= 5


def spec_with(labels, **pool):
    """A spec that has `earlier`."""
    return {
        "name": "x", "pool": {"source": "p.csv", "id": "i", "earlier": ["before"], **pool}, "labels": labels,
        "measure": "accuracy", "target": {"half_width": 0.1}, "budget": {"labels": 100},
        "desk": {"kind": "caller"},
    }


def test_earlier_results_are_judges_in_a_spec_but_of_two_classes():
    known = Spec.from_json(spec_with({"classes": ["a", "b"]}, prediction="p", judge="j"))
    assert known.pool.judges == ("j", "before")
    with pytest.raises(BadInput, match="`earlier` holds results as judges"):
        Spec.from_json(spec_with({"positive": "a", "negative": "b"}, prediction="p", score="s"))


def test_earlier_results_in_python(tmp_path):
    logs = assay.import_logs(NEW, to=tmp_path / "pool.parquet", earlier=OLD)
    frame = logs.to_frame()
    frame["truth"] = ["incorrect" if i % 7 == 0 else "correct" for i in range(60)]
    result = assay.evaluate(
        frame, outcome={"classes": ["correct", "incorrect"]}, prediction="judge",
        earlier="earlier_colours_small", measures=[{"name": "rate", "class": "correct"}], oracle="truth",
        id="item_id", budget=60,
    )
    assert result.value == pytest.approx(51 / 60)
