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
from dataclasses import replace
from hashlib import sha256
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from assay.evalcore.errors import BadInput
from assay.tasks.connectors.importer import LogImporter
from assay.tasks.connectors.place import Place
from assay.tasks.connectors.records import LogEntry, Notes, SystemResponse
from assay.tasks.connectors.responses.verdicts import reading_of
from assay.tasks.connectors.shapes import Scores, Shape, members, text_at, value_at
from assay.tasks.connectors.turns import parsed_or_text, text_of
from assay.tasks.mlflow import FROM_ENVIRONMENT, connected, refusals, tracking_address

SCHEME = "mlflow:"
_RESPONSE = "outputs|output|response|predictions|prediction|answer"
_QUESTION = "inputs|input|request|question|questions|query|prompt|messages"
_REFERENCE = "targets|target|ground_truth|expected_response|reference|label"
_SCORE, _WHY = ("/score", "/value", "/rating"), ("/justification", "/rationale")
_OF_TRACE = frozenset((
    *f"{_RESPONSE}|{_QUESTION}|{_REFERENCE}".split("|"), "timestamp_ms", "execution_time_ms", "request_time",
    "execution_duration"))
_ABOUT = "info.trace_metadata|info.request_metadata"
_EXPECTED_RESPONSE = "expected_response"


class MlflowLogs(LogImporter):
    """Traces and evaluation tables of MLflow.

    In a trace the inputs of the first span are the question, its outputs the response; without spans, what
    the metadata hold, or the preview of it.  In a table a column NAME/score (or /value) is a judge's verdict,
    NAME/justification its reason.
    """

    name = "mlflow"
    reads = ("traces and evaluation tables of MLflow (.json, .jsonl, .csv, mlflow:experiment/NAME, "
             "mlflow:run/ID)")
    marks = (
        "info:trace_id", "info:request_id", "trace_id trace", "request_id trace", "trace_id trace_metadata",
        "request_id request_metadata", "trace_id request response", "request_id request response",
    )
    written = "MLflow writes traces"
    lost = "traces that ended in an error, or without a response"
    shape = Shape(
        id="info.trace_id|info.request_id", status="info.state|info.status",
        session="about.mlflow.trace.session", scores=(Scores(
            at="feedback", name="assessment_name|name", value="feedback.value", error="feedback.error",
            reason="rationale", source="source.source_id", time="create_time|create_time_ms",
            person="source.source_type", people=("HUMAN",)),),
    )
    table = Shape(question_id="number", question=_QUESTION, response=_RESPONSE, reference=_REFERENCE,
                  about=("about",), scores=(Scores(at="scores"),))

    def fits(self, place: Place) -> bool:
        """An address of MLflow, a file with the keys of a trace, or a table with its columns."""
        if place.is_address:
            return place.address.startswith(SCHEME)
        return super().fits(place) or (self._is_table(place) and "user_input" not in place.keys)

    def _is_table(self, place: Place) -> bool:
        """Whether it is a table of an evaluation, and no frame of traces."""
        table = place.keys >= {"columns", "data"} or any(name.endswith(_SCORE) for name in place.keys)
        return table and not super().fits(place)

    def records(self, place: Place, notes: Notes) -> Iterator[LogEntry]:
        """Traces, or rows of a table."""
        numbers: dict[str, None] = {}
        records = _at_address(place) if place.is_address else (
            _rows(place) if self._is_table(place) else place.values())
        for record in records:
            if "number" in record:
                numbers |= {name: None for name, value in record["about"].items()
                            if isinstance(value, bool | float)}
            yield record
        notes.keep([*numbers])

    def lost_name(self, record: LogEntry) -> str:
        """Rows, or traces."""
        return "rows without a response" if "number" in record else self.lost

    def response(self, record: LogEntry, notes: Notes) -> SystemResponse | None:
        """Of a row, or of a trace.

        Traces of an evaluation (`mlflow.genai.evaluate`) are told by their question, so that those of several
        runs meet; others by their own ID. The system is the logged model, else the run, else the trace's
        name.
        """
        if "number" in record:
            return self.table.response_of(record, notes)
        trace = _trace(record)
        about, tags = (_by_key(value_at(trace, paths)) for paths in (_ABOUT, "info.tags"))
        name, run = str(tags.get("mlflow.traceName") or "traces"), str(about.get("mlflow.sourceRun") or "")
        spans = [span for span in value_at(trace, "data.spans") or () if isinstance(span, Mapping)]
        root = next((s for s in spans if not value_at(s, "parentSpanId|parent_id")), {})
        part = {"root": root, "about": about, **trace}
        question = text_of(_decoded(value_at(part, _held("Inputs", "request"))), notes)
        answer = text_of(_decoded(value_at(part, _held("Outputs", "response"))), notes, "assistant")
        own = text_at(trace, "info.client_request_id") or text_at(trace, self.shape.id)
        feedback, reference = _assessed(value_at(trace, "info.assessments|data.assessments"), notes)
        judges = {value_at(assessment, "assessment_name|name") for assessment in feedback}
        feedback += [{"name": judge, "feedback": score, "rationale": score["reason"]}
                     for judge, score in _scores_in_columns(record).items() if judge not in judges]
        for column, value in record.items():
            idle = column not in _OF_TRACE and not column.endswith((*_SCORE, *_WHY, "id"))
            if idle and reading_of(value).kind in ("number", "truth"):
                notes.leave_out(f"columns beside traces: {column}")
        if len(spans) > 1 and answer is not None:
            notes.leave_out("the inner spans of traces")
        response = self.shape.response_of(
            {**trace, "about": about, "feedback": feedback}, notes, question=question, response=answer,
            reference=reference or text_at(record, _EXPECTED_RESPONSE) or None, task=name, run=run,
            system=str(about.get("mlflow.modelId") or run or name),
            question_id=sha256((question or own).encode()).hexdigest()[:16] if run else own,
        )
        if response is not None:
            own_tags = {key: value for key, value in tags.items() if "mlflow." not in key}
            return replace(response, about={**own_tags, **response.about})
        return None


def _held(which: str, name: str) -> str:
    """Where the inputs or the outputs of a trace stand."""
    return (f"root.attributes.mlflow.span{which}|root.{which.lower()}|data.{name}|about.mlflow.trace{which}|"
            f"info.{name}_preview")


def _decoded(value: object) -> Any:
    """JSON that stands in a text; text that is none, or was cut off by MLflow, as it is."""
    try:
        return json.loads(value) if isinstance(value, str) else value
    except ValueError:
        return value


def _trace(entry: LogEntry) -> LogEntry:
    """A trace; of a row of a frame of traces the one that it holds, or what its columns say."""
    trace = parsed_or_text(entry.get("trace", entry))
    if isinstance(trace, Mapping) and "info" in trace:
        return trace
    return {"info": entry, "data": entry}


def _by_key(values: object) -> LogEntry:
    """A mapping, or a list of keys and values, as MLflow 2 writes it."""
    values = parsed_or_text(values) or {}
    return values if isinstance(values, Mapping) else {pair["key"]: pair.get("value") for pair in values}


def _assessed(assessments: object, notes: Notes) -> tuple[list[LogEntry], str | None]:
    """Feedback, but what was overridden; and the expected response, or without one all that was expected."""
    feedback: list[LogEntry] = []
    expected: dict[str, str] = {}
    for assessment in members(assessments):
        name = value_at(assessment, "assessment_name") or assessment["name"]
        if assessment.get("valid") is False:
            notes.leave_out(f"assessments that were overridden, of {name}")
        elif assessment.get("expectation") is not None:
            value = value_at(assessment, "expectation.value|expectation.serialized_value.value|expectation")
            expected[name] = " | ".join(map(str, value)) if isinstance(value, list) else (
                text_of(value, notes) or "")
        else:
            held = assessment.get("feedback")
            held = held if isinstance(held, Mapping) else {"value": held}
            feedback.append({**assessment, "feedback": held})
    if _EXPECTED_RESPONSE in expected or len(expected) == 1:
        return feedback, expected.get(_EXPECTED_RESPONSE) or next(iter(expected.values()))
    return feedback, "\n".join(f"{name}: {text}" for name, text in expected.items()) or None


def _rows(place: Place) -> Iterator[LogEntry]:
    """The rows of `eval_results_table.json`, with their scores and other values apart. Raises BadInput naming
    the place and the columns where none holds responses."""
    for number, row in enumerate(place.values()):
        used = [next((name for name in paths.split("|") if name in row), "")
                for paths in (_RESPONSE, _QUESTION, _REFERENCE)]
        if not used[0] and number == 0:
            raise BadInput(
                f"{place.address}: no column holds responses: there are {', '.join(row)}; responses are in "
                f"one of {_RESPONSE.replace('|', ', ')}. A table of a classifier needs no import: write it "
                "as CSV or Parquet")
        yield {
            **row, "number": str(number),
            "scores": _scores_in_columns(row),
            "about": {name: value for name, value in row.items()
                      if name not in used and not name.endswith((*_SCORE, *_WHY))},
        }


def _scores_in_columns(row: LogEntry) -> dict[str, dict[str, Any]]:
    """What the columns NAME/score and the like say, and why, by the name."""
    judges = {name: name.rpartition("/")[0] for name in row if name.endswith(_SCORE)}
    return {judge: {"value": row[name], "reason": next(
        (row[judge + why] for why in _WHY if judge + why in row), None)} for name, judge in judges.items()}


_TABLE_FILE = "eval_results_table.json"
_PAGE = 100


def _at_address(place: Place) -> Iterator[LogEntry]:
    """The traces of an experiment or a run; of a run without any the rows of its table. Raises BadInput and
    MlflowRefused."""
    kind, _, name = place.address.removeprefix(SCHEME).partition("/")
    if kind not in ("experiment", "run") or not name:
        raise BadInput(f"{place.address}: write mlflow:experiment/NAME or mlflow:run/ID")
    client = connected(tracking_address(FROM_ENVIRONMENT))
    with refusals():
        if kind == "experiment":
            experiment = client.get_experiment_by_name(name)
            if experiment is None:
                raise BadInput(f"{place.address}: MLflow has no experiment {name!r}")
            yield from _traces(client, experiment.experiment_id, None)
            return
        run = client.get_run(name)
        traces = _traces(client, run.info.experiment_id, name)
        if (earliest := next(traces, None)) is not None:
            yield from chain([earliest], traces)
            return
        if _TABLE_FILE not in {file.path for file in client.list_artifacts(name)}:
            raise BadInput(f"{place.address}: the run has neither traces nor {_TABLE_FILE}")
        with TemporaryDirectory() as folder:
            table = Place(str(Path(client.download_artifacts(name, _TABLE_FILE, folder))))
            yield from _rows(table)


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
