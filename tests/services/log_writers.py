"""One set of responses and verdicts, written as each tool writes its logs."""

import csv
import io
import json
import zipfile
from typing import NamedTuple


class Case(NamedTuple):
    """A question, its answer, and what a grader said of it."""

    number: int
    question: str
    response: str
    verdict: object


def _inspect(cases):
    return {
        "version": 2, "status": "success",
        "eval": {"eval_id": "run-1", "task": "t", "model": "m"}, "plan": {}, "results": {}, "stats": {},
        "samples": [{
            "id": case.number, "epoch": 1, "input": case.question, "target": "", "messages": [],
            "metadata": {},
            "output": {"choices": [{"message": {"role": "assistant", "content": case.response}}]},
            "scores": {"grader": {"value": case.verdict, "explanation": "why"}},
        } for case in cases],
    }


def inspect_json(cases):
    return _document("log.json", _inspect(cases))


def inspect_archive(cases):
    log, packed = _inspect(cases), io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for sample in log.pop("samples"):
            archive.writestr(f"samples/{sample['id']}_epoch_1.json", json.dumps(sample))
        archive.writestr("header.json", json.dumps(log))
    return {"log.eval": packed.getvalue()}


def lm_eval(cases):
    return _lines("samples_t_2026-01-01T00-00-00.jsonl", [{
        "doc_id": case.number, "doc": {}, "target": "", "arguments": [[case.question, {}]],
        "resps": [[case.response]], "filtered_resps": [case.response], "filter": "none",
        "metrics": ["grader"], "grader": case.verdict,
    } for case in cases])


def _promptfoo(cases):
    return [{
        "promptIdx": 0, "testIdx": case.number, "provider": {"id": "m", "label": ""}, "vars": {},
        "prompt": {"raw": case.question, "label": "p"}, "response": {"output": case.response},
        "namedScores": {"grader": case.verdict}, "gradingResult": {}, "failureReason": 0,
    } for case in cases]


def promptfoo_json(cases):
    return _document("out.json", {"evalId": "run-1", "results": {"version": 3, "results": _promptfoo(cases)}})


def promptfoo_lines(cases):
    return _lines("out.jsonl", _promptfoo(cases))


def promptfoo_older(cases):
    results = [{k: v for k, v in result.items() if k not in ("promptIdx", "testIdx")}
               for result in _promptfoo(cases)]
    return _document("out.json", {"results": [
        {**result, "provider": "m", "vars": {"n": number}} for number, result in enumerate(results)]})


def promptfoo_table(cases):
    return _document("table.json", {
        "head": {"prompts": [{"raw": "{{q}}", "label": "p", "provider": "m"}], "vars": ["q"]},
        "body": [{"vars": [case.question], "outputs": [{
            "text": case.response, "prompt": case.question, "namedScores": {"grader": case.verdict},
        }]} for case in cases],
    })


def _mlflow(case):
    return {
        "info": {"trace_id": f"tr-{case.number}", "state": "OK", "trace_metadata": {}, "tags": {},
                 "assessments": [{
                     "assessment_name": "grader", "source": {"source_type": "LLM_JUDGE", "source_id": "x"},
                     "feedback": {"value": case.verdict}, "create_time": "2026-01-01"}]},
        "data": {"spans": [{"parent_span_id": None, "attributes": {
            "mlflow.spanInputs": json.dumps({"q": case.question}),
            "mlflow.spanOutputs": json.dumps(case.response)}}]},
    }


def mlflow_traces(cases):
    return _lines("traces.jsonl", map(_mlflow, cases))


def mlflow_frame(cases):
    return _document("frame.json", [
        {"trace_id": t["info"]["trace_id"], "trace": json.dumps(t)} for t in map(_mlflow, cases)])


def mlflow_without_spans(cases):
    """As MLflow 2 writes a trace: its status, and tags as a list."""
    return _document("traces.json", [{
        "info": {
            "request_id": f"tr-{case.number}", "status": "OK",
            "tags": [{"key": "mlflow.traceName", "value": "t"}],
            "request_metadata": {"mlflow.traceInputs": json.dumps({"q": case.question}),
                                 "mlflow.traceOutputs": json.dumps(case.response)},
            "assessments": _mlflow(case)["info"]["assessments"]},
        "data": {"spans": []},
    } for case in cases])


def mlflow_columns(cases):
    """A frame of traces without the traces themselves."""
    return _document("frame.json", [{
        "trace_id": f"tr-{case.number}", "state": "OK", "request": json.dumps({"q": case.question}),
        "response": json.dumps(case.response), "trace_metadata": {}, "tags": {},
        "assessments": _mlflow(case)["info"]["assessments"],
    } for case in cases])


def mlflow_split(cases):
    [rows] = map(json.loads, mlflow_columns(cases).values())
    return _document("frame.json", {"columns": list(rows[0]), "index": list(range(len(rows))),
                                    "data": [list(row.values()) for row in rows]})


def mlflow_table(cases):
    return _document("eval_results_table.json", {
        "columns": ["inputs", "outputs", "grader/v1/score"],
        "data": [[case.question, case.response, case.verdict] for case in cases]})


def _attributes(case):
    return {"gen_ai.request.model": "m",
            "gen_ai.input.messages": json.dumps([{"role": "user", "content": case.question}]),
            "gen_ai.output.messages": json.dumps([{"role": "assistant", "content": case.response}])}


def _event(case):
    key = "label" if isinstance(case.verdict, str) else "value"
    return {"gen_ai.evaluation.name": "grader", f"gen_ai.evaluation.score.{key}": case.verdict}


def otel_export(cases):
    def typed(values):
        kinds = {bool: "boolValue", int: "intValue", float: "doubleValue", str: "stringValue"}
        return [{"key": k, "value": {} if v is None else {kinds[type(v)]: v}} for k, v in values.items()]

    return _lines("spans.jsonl", [{"resourceSpans": [{"scopeSpans": [{"spans": [{
        "traceId": f"{case.number}", "spanId": "1", "name": "chat", "startTimeUnixNano": "1",
        "attributes": typed(_attributes(case)),
        "events": [{"name": "gen_ai.evaluation.result", "attributes": typed(_event(case))}],
    }]}]}]} for case in cases])


def otel_console(cases):
    return {"spans.json": "".join(json.dumps({
        "name": "chat", "context": {"trace_id": f"0x{case.number}", "span_id": "0x1"},
        "kind": "SpanKind.CLIENT", "parent_id": None, "start_time": "2026", "status": {},
        "attributes": _attributes(case),
        "events": [{"name": "gen_ai.evaluation.result", "attributes": _event(case)}],
    }, indent=4) + "\n" for case in cases).encode()}


def _phoenix(case):
    span = {"name": "chat", "span_kind": "LLM", "parent_id": None, "start_time": "2026"}
    return span, {
        "llm.model_name": "m", "input.value": case.question, "output.value": case.response,
    }, [{"name": "gen_ai.evaluation.result", "attributes": _event(case)}]


def phoenix_frame(cases):
    rows = []
    for case in cases:
        span, attributes, events = _phoenix(case)
        rows.append({"context.trace_id": f"{case.number}", "context.span_id": "1", **span, "events": events,
                     **{f"attributes.{name}": value for name, value in attributes.items()}})
    return _document("frame.json", rows)


def phoenix_listed(cases):
    spans = []
    for case in cases:
        span, attributes, events = _phoenix(case)
        spans.append({"id": "s", "context": {"trace_id": f"{case.number}", "span_id": "1"}, **span,
                      "attributes": attributes, "events": events})
    return _document("listed.json", {"data": spans, "next_cursor": None})


def langfuse_traces(cases):
    return _document("traces.json", [{
        "id": f"t{case.number}", "timestamp": "2026", "name": "m", "input": case.question,
        "output": case.response, "projectId": "p", "metadata": {}, "observations": [],
        "scores": [_langfuse_score(case)],
    } for case in cases])


def _langfuse_score(case):
    words = isinstance(case.verdict, str)
    return {"id": "s", "name": "grader", "value": None if words else case.verdict, "source": "API",
            "dataType": "CATEGORICAL" if words else "NUMERIC", "stringValue": case.verdict if words else None}


def langfuse_blobs(cases):
    """Traces and scores apart, as blob storage gets them."""
    traces = [{"id": f"t{case.number}", "timestamp": "2026", "name": "m", "project_id": "p",
               "session_id": None, "input": case.question, "output": case.response} for case in cases]
    scores = [{"id": f"s{case.number}", "trace_id": f"t{case.number}", "name": "grader", "source": "API",
               "value": s["value"], "data_type": s["dataType"], "string_value": s["stringValue"]}
              for case in cases for s in [_langfuse_score(case)]]
    return {**_lines("traces.jsonl", traces), **_lines("scores.jsonl", scores)}


def langsmith_runs(cases):
    return _lines("runs.jsonl", [{
        "id": f"r{case.number}", "run_type": "chain", "name": "m", "inputs": {"question": case.question},
        "outputs": {"output": case.response}, "trace_id": f"r{case.number}", "dotted_order": "1",
        "feedback_stats": {"grader": {"n": 1, "avg": None, "values": {case.verdict: 1}} if isinstance(
            case.verdict, str) else {"n": 1, "avg": case.verdict, "values": {}}},
    } for case in cases])


def deepeval_run(cases):
    return _document("test_run_1.json", {"identifier": "run-1", "testCases": [{
        "name": f"case-{case.number}", "order": case.number, "input": case.question,
        "actualOutput": case.response, "metricsData": [{"name": "grader", "score": case.verdict}],
    } for case in cases]})


def deepeval_result(cases):
    """The result of `evaluate` in Python, as JSON."""
    return _document("result.json", {"test_results": [{
        "name": "test_case", "input": case.question, "actual_output": case.response,
        "metrics_data": [{"name": "grader", "score": case.verdict, "success": True}],
    } for case in cases]})


def _ragas(cases):
    return [{"user_input": c.question, "response": c.response, "grader": c.verdict} for c in cases]


def ragas_records(cases):
    return _document("result.json", _ragas(cases))


def ragas_lines(cases):
    return _lines("result.jsonl", _ragas(cases))


def ragas_by_column(cases):
    """As pandas' to_json() writes a frame unless told otherwise."""
    rows = _ragas(cases)
    return _document("result.json", {
        name: {str(i): row[name] for i, row in enumerate(rows)} for name in rows[0]})


def ragas_split(cases):
    rows = _ragas(cases)
    return _document("result.json", {"columns": list(rows[0]), "index": list(range(len(rows))),
                                     "data": [list(row.values()) for row in rows]})


def ragas_by_row(cases):
    return _document("result.json", {str(i): row for i, row in enumerate(_ragas(cases))})


def ragas_with_schema(cases):
    return _document("result.json", {"schema": {"fields": []}, "data": _ragas(cases)})


def ragas_older(cases):
    return _document("result.json", [{"question": c.question, "answer": c.response, "contexts": [],
                                      "grader": c.verdict} for c in cases])


def ragas_csv(cases):
    return _csv("result.csv", _ragas(cases))


def _csv(name, rows):
    written = io.StringIO(newline="")
    lines = csv.writer(written)
    lines.writerow(rows[0])
    lines.writerows([row.values() for row in rows])
    return {name: written.getvalue().encode()}


def promptfoo_csv(cases):
    """As its page exports a table; a column stands beside each response for each thing said of it."""
    return _csv("table.csv", [{
        "q": case.question, "[m] {{q}}": case.response, "Status": "", "Score": "",
        "Named Scores": json.dumps({"grader": case.verdict}), "Grader Reason": "", "Comment": "",
    } for case in cases])


def langsmith_experiment(cases):
    return _csv("experiment.csv", [{
        "": case.number, "inputs.question": case.question, "outputs.answer": case.response, "error": "",
        "feedback.grader": case.verdict, "execution_time": 0.5, "example_id": f"e{case.number}",
        "id": f"r{case.number}",
    } for case in cases])


def openai_evals(cases):
    lines = [{"spec": {"completion_fns": ["m"], "eval_name": "t.dev.v0", "run_id": "230417"}}]
    for case in cases:
        event = {"run_id": "230417", "sample_id": f"t.dev.{case.number}", "created_at": "2026"}
        lines += [
            {**event, "event_id": 0, "type": "sampling",
             "data": {"prompt": [{"role": "user", "content": case.question}], "sampled": [case.response]}},
            {**event, "event_id": 1, "type": "metrics", "data": {"grader": case.verdict}},
        ]
    return _lines("230417_m_t.jsonl", [*lines, {"final_report": {"accuracy": 0.5}}])


def helm(cases):
    """The folder of a run."""
    spec = {"name": "t:subject=x,model=made_m", "adapter_spec": {"model": "made/m"}, "metric_specs": []}
    instances = [{"id": f"id{case.number}", "input": {"text": case.question}, "references": [],
                  "split": "test"} for case in cases]
    return {
        **_document("run_spec.json", spec),
        **_document("scenario_state.json", {"adapter_spec": spec["adapter_spec"], "request_states": [{
            "instance": instance, "request_mode": None, "train_trial_index": 0, "output_mapping": None,
            "request": {"model": "made/m", "prompt": "Answer!\n" + case.question},
            "result": {"success": True, "completions": [{"text": case.response, "logprob": 0}]},
        } for instance, case in zip(instances, cases, strict=True)]}),
        **_document("per_instance_stats.json", [{
            "instance_id": f"id{case.number}", "train_trial_index": 0, "stats": [
                {"name": {"name": "grader", "split": "test"}, "count": 1, "mean": case.verdict},
                {"name": {"name": "num_output_tokens", "split": "test"}, "count": 1, "mean": 7.0}],
        } for case in cases]),
    }


def _weave(case):
    return {
        "id": f"c{case.number}", "trace_id": "t", "parent_id": "run-1",
        "op_name": "weave:///team/project/op/Evaluation.predict_and_score:v1",
        "inputs": {"model": "weave:///team/project/object/m:v1", "example": {"question": case.question}},
        "output": {"output": case.response, "scores": {"grader": case.verdict}, "model_latency": 0.1},
    }


def weave_calls(cases):
    return _lines("calls.jsonl", map(_weave, cases))


def weave_csv(cases):
    calls = map(_weave, cases)
    return _csv("calls.csv", [{
        "id": call["id"], "trace_id": "t", "parent_id": "run-1", "op_name": call["op_name"],
        "inputs.model": call["inputs"]["model"],
        "inputs.example.question": call["inputs"]["example"]["question"],
        "output.output": call["output"]["output"],
        "output.scores.grader": call["output"]["scores"]["grader"],
    } for call in calls])


def weave_results(cases):
    """As its API of evaluations answers."""
    return _document("results.json", {"rows": [{
        "row_digest": f"d{case.number}", "raw_data_row": {"question": case.question}, "evaluations": [{
            "evaluation_call_id": "run-1", "trials": [{
                "predict_and_score_call_id": f"c{case.number}", "model_output": case.response,
                "scores": {"grader": case.verdict}}]}],
    } for case in cases]})


def _document(name, value):
    return {name: json.dumps(value).encode()}


def _lines(name, values):
    return {name: "".join(json.dumps(value) + "\n" for value in values).encode()}


WRITERS = (
    inspect_json, inspect_archive, lm_eval, promptfoo_json, promptfoo_lines, promptfoo_older, promptfoo_table,
    mlflow_traces, mlflow_frame, mlflow_without_spans, mlflow_columns, mlflow_table, otel_export,
    otel_console, phoenix_frame, phoenix_listed, langfuse_traces, langfuse_blobs, langsmith_runs,
    deepeval_run, deepeval_result, ragas_records, ragas_lines, ragas_by_column, ragas_split, ragas_by_row,
    ragas_with_schema, ragas_older, ragas_csv, mlflow_split, promptfoo_csv, langsmith_experiment,
    openai_evals, helm, weave_calls, weave_csv, weave_results,
)
