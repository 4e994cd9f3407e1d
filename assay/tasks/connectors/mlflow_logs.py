"""Traces and evaluation tables of MLflow: files that it writes, and addresses of its server.

    trace.to_json()                       one trace, a JSON list of them, or one in each line
    search_traces().to_json(...)          the frame of traces, as records, in a list or in lines, or as CSV
    eval_results_table.json               the table of `mlflow.evaluate`
    mlflow:experiment/NAME                the traces of an experiment
    mlflow:run/ID                         the traces of a run, such as an evaluation's; else its
                                          eval_results_table.json

Traces may be of MLflow 2 or 3, with their spans or without. The server is the one of MLFLOW_TRACKING_URI.
Feedback of judges and code is judges' verdicts, people's feedback votes, and expectations the reference.
Files need no package.
"""

import json
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from assay.evalcore.errors import BadInput
from assay.tasks.connectors.importer import LogImporter
from assay.tasks.connectors.place import Place, read_as
from assay.tasks.connectors.records import Notes, Remark, SystemResponse
from assay.tasks.connectors.turns import parsed_or_text, text_of
from assay.tasks.mlflow import FROM_ENVIRONMENT, connected, refusals, tracking_address

SCHEME = "mlflow:"


class MlflowLogs(LogImporter):
    """Traces and evaluation tables of MLflow."""

    name = "mlflow"
    reads = ("traces and evaluation tables of MLflow (.json, .jsonl, .csv, mlflow:experiment/NAME, "
             "mlflow:run/ID)")
    marks = (
        "info:trace_id", "info:request_id", "trace_id trace", "request_id trace", "trace_id trace_metadata",
        "request_id request_metadata", "trace_id request response", "request_id request response",
    )

    def fits(self, place: Place) -> bool:
        """An address of MLflow, a file with the keys of a trace, or a table with its columns."""
        if place.is_address:
            return place.address.startswith(SCHEME)
        return super().fits(place) or (self._is_table(place) and "user_input" not in place.keys)

    def responses(self, place: Place, notes: Notes) -> Iterator[SystemResponse]:
        """Of every trace, or row, that has a response."""
        if place.is_address:
            yield from _of_address(place, notes)
        elif self._is_table(place):
            yield from _of_table(place, notes)
        else:
            yield from _of_traces(place, place.values(), notes)

    def _is_table(self, place: Place) -> bool:
        """Whether it is a table of an evaluation, and no frame of traces."""
        table = place.keys >= {"columns", "data"} or any(name.endswith(_SCORE) for name in place.keys)
        return table and not super().fits(place)


def _of_traces(place: Place, entries: Iterator[Mapping[str, Any]], notes: Notes) -> Iterator[SystemResponse]:
    for number, entry in enumerate(entries, 1):
        with read_as(place, f"entry {number}", "MLflow writes traces"):
            response = response_of(_trace(entry), notes)
        if response is not None:
            yield response


def _trace(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    """A trace; of a row of a frame of traces the one that it holds, or what its columns say."""
    trace = parsed_or_text(entry.get("trace", entry))
    if isinstance(trace, Mapping) and "info" in trace:
        return trace
    spans = parsed_or_text(entry.get("spans")) or ()
    return {"info": entry, "data": {**{k: entry.get(k) for k in ("request", "response")}, "spans": spans}}


# A tracking server, or its database.

_TABLE_FILE = "eval_results_table.json"
_PAGE = 100


def _of_address(place: Place, notes: Notes) -> Iterator[SystemResponse]:
    """Raises BadInput and MlflowRefused."""
    kind, _, name = place.address.removeprefix(SCHEME).partition("/")
    if kind not in ("experiment", "run") or not name:
        raise BadInput(f"{place.address}: write mlflow:experiment/NAME or mlflow:run/ID")
    client = connected(tracking_address(FROM_ENVIRONMENT))
    with refusals():
        if kind == "experiment":
            experiment = client.get_experiment_by_name(name)
            if experiment is None:
                raise BadInput(f"{place.address}: MLflow has no experiment {name!r}")
            yield from _of_traces(place, _traces(client, experiment.experiment_id, None), notes)
            return
        run = client.get_run(name)
        traces = [*_of_traces(place, _traces(client, run.info.experiment_id, name), notes)]
        if traces:
            yield from traces
            return
        if _TABLE_FILE not in {file.path for file in client.list_artifacts(name)}:
            raise BadInput(f"{place.address}: the run has neither traces nor {_TABLE_FILE}")
        with TemporaryDirectory() as folder:
            table = Place(str(Path(client.download_artifacts(name, _TABLE_FILE, folder))))
            yield from _of_table(table, notes)


def _traces(client: Any, experiment: str, run_id: str | None) -> Iterator[dict[str, Any]]:
    """A page at a time, the oldest first."""
    page = None
    while True:
        traces = client.search_traces(
            locations=[experiment], run_id=run_id, max_results=_PAGE, page_token=page,
            order_by=["timestamp_ms ASC"],
        )
        yield from (json.loads(trace.to_json()) for trace in traces)
        page = traces.token
        if not page:
            return


# A trace as a response: inputs of its first span are the question, outputs the response.

_OF_EVALUATION, _MODEL, _SESSION = "mlflow.sourceRun", "mlflow.modelId", "mlflow.trace.session"


def response_of(trace: Mapping[str, Any], notes: Notes) -> SystemResponse | None:
    """None for a trace that has no response.

    Traces of an evaluation (`mlflow.genai.evaluate`) are told by their question, so that those of several
    runs meet; others by their own ID. The system is the logged model, else the run, else the trace's name.
    """
    info, data = trace["info"], trace.get("data") or {}
    about = _named_values(info.get("trace_metadata", info.get("request_metadata")))
    tags = _named_values(info.get("tags"))
    spans = [span for span in data.get("spans") or () if isinstance(span, Mapping)]
    parents = ("parent_span_id", "parent_id", "parentSpanId")
    root: Mapping[str, Any] = next((s for s in spans if not any(s.get(key) for key in parents)), {})
    response = text_of(_part(root, about, data, info, "Outputs", "response"), notes, "assistant")
    state = str(info.get("state") or info.get("status") or "OK").rpartition(".")[2]
    if response is None or state in ("ERROR", "IN_PROGRESS"):
        notes.leave_out("traces that ended in an error, or without a response")
        return None
    question = text_of(_part(root, about, data, info, "Inputs", "request"), notes)
    name, run = str(tags.get("mlflow.traceName") or "traces"), str(about.get(_OF_EVALUATION) or "")
    trace_id = str(info["trace_id"] if "trace_id" in info else info["request_id"])
    question_id = sha256((question or trace_id).encode()).hexdigest()[:16] if run else str(
        info.get("client_request_id") or trace_id)
    remarks, reference = _assessed(info.get("assessments") or data.get("assessments"), notes)
    if len(spans) > 1:
        notes.leave_out("the inner spans of traces")
    session = about.get(_SESSION)
    return SystemResponse(
        id=trace_id, question_id=question_id, task=name, run=run,
        system=str(about.get(_MODEL) or run or name), question=question, response=response,
        reference=reference, remarks=remarks,
        about={**{key: value for key, value in tags.items() if "mlflow." not in key},
               **({"session": str(session)} if session else {})},
    )


def _part(
    span: Mapping[str, Any], about: Mapping[str, Any], data: Mapping[str, Any], info: Mapping[str, Any],
    which: str, name: str,
) -> Any:
    """What a span holds, as JSON; of a trace without spans what its metadata hold, or the preview of it."""
    attributes = parsed_or_text(span.get("attributes")) or {}
    held = next((value for value in (
        attributes.get(f"mlflow.span{which}"), span.get(which.lower()), data.get(name),
        about.get(f"mlflow.trace{which}"), info.get(f"{name}_preview"),
    ) if value is not None), None)
    try:
        return json.loads(held) if isinstance(held, str) else held
    except ValueError:     # cut off by MLflow, or plain text
        return held


def _named_values(values: Any) -> Mapping[str, Any]:
    """A mapping, or a list of keys and values, as MLflow 2 writes it."""
    values = parsed_or_text(values) or {}
    return values if isinstance(values, Mapping) else {pair["key"]: pair.get("value") for pair in values}


# Assessments: verdicts of judges and code, of people, and what was expected.

_EXPECTED_RESPONSE = "expected_response"


def _assessed(assessments: Any, notes: Notes) -> tuple[list[Remark], str | None]:
    """All remarks but those that were overridden; and the expected response, or without one all that was
    expected."""
    remarks: list[Remark] = []
    expected: dict[str, str] = {}
    for assessment in parsed_or_text(assessments) or ():
        name = str(assessment.get("assessment_name") or assessment["name"])
        if assessment.get("valid") is False:
            notes.leave_out(f"assessments that were overridden, of {name}")
        elif assessment.get("expectation") is not None:
            expected[name] = text_of(_expectation(assessment["expectation"]), notes) or ""
        else:
            feedback, source = assessment.get("feedback"), assessment.get("source") or {}
            feedback = feedback if isinstance(feedback, Mapping) else {"value": feedback}
            by_person = source.get("source_type") == "HUMAN"
            remarks.append(Remark(
                name=name, value="error" if feedback.get("error") else feedback.get("value"),
                reason=assessment.get("rationale"), by_person=by_person,
                source=str(source.get("source_id") or ""),
                time=str(assessment.get("create_time") or assessment.get("create_time_ms") or ""),
            ))
    if _EXPECTED_RESPONSE in expected or len(expected) == 1:
        return remarks, expected.get(_EXPECTED_RESPONSE) or next(iter(expected.values()))
    return remarks, "\n".join(f"{name}: {text}" for name, text in expected.items()) or None


def _expectation(expectation: Any) -> Any:
    """A list as one text: any of it is expected."""
    value = expectation
    if isinstance(expectation, Mapping):
        value = expectation.get("value")
        if value is None and "serialized_value" in expectation:
            value = expectation["serialized_value"].get("value")
    return " | ".join(map(str, value)) if isinstance(value, list) else value


# `eval_results_table.json`, the table that `mlflow.evaluate` logs: a row for each question.
#
# A column `NAME/score` (or /value) is a judge's verdict, `NAME/justification` its reason.

_RESPONSE = ("outputs", "output", "response", "predictions", "prediction", "answer")
_QUESTION = ("inputs", "input", "request", "question", "questions", "query", "prompt", "messages")
_REFERENCE = ("targets", "target", "ground_truth", "expected_response", "reference", "label")
_SCORE, _WHY = ("/score", "/value"), ("/justification", "/rationale")


def _of_table(place: Place, notes: Notes) -> Iterator[SystemResponse]:
    """Of every row that has a response. Raises BadInput naming the place and the columns."""
    numbers: dict[str, None] = {}
    for number, row in enumerate(place.values()):
        answer, asked, expected = (next((name for name in names if name in row), "")
                                   for names in (_RESPONSE, _QUESTION, _REFERENCE))
        if not answer and number == 0:
            raise BadInput(
                f"{place.address}: no column holds responses: there are {', '.join(row)}; responses are in "
                f"one of {', '.join(_RESPONSE)}. A table of a classifier needs no import: write it as CSV or "
                "Parquet"
            )
        with read_as(place, f"row {number + 1}", "MLflow writes tables"):
            response = text_of(row.get(answer), notes, "assistant")
            question, reference = (text_of(row.get(name), notes) for name in (asked, expected))
        if response is None:
            notes.leave_out("rows without a response")
            continue
        about = {name: value for name, value in row.items()
                 if name not in (answer, asked, expected) and not name.endswith((*_SCORE, *_WHY))}
        numbers |= {name: None for name, value in about.items() if isinstance(value, bool | float)}
        yield SystemResponse(
            question_id=str(number), system="model", run=None, question=question, response=response,
            reference=reference, remarks=[*_scores(row)], about=about,
        )
    if numbers:
        notes.tell(f"columns of numbers that are kept, and are no judges: {', '.join(numbers)}")


def _scores(row: Mapping[str, Any]) -> Iterator[Remark]:
    for column, value in row.items():
        if column.endswith(_SCORE):
            name = column.rpartition("/")[0]
            reason = next((row[name + why] for why in _WHY if isinstance(row.get(name + why), str)), None)
            yield Remark(name=name, value=value, reason=reason)
