"""Traces and evaluation tables of MLflow: files that it writes, and addresses of its server.

    trace.to_json()                       one trace, a JSON list of them, or one in each line
    search_traces().to_json(...)          the frame of traces, as records, in a list or in lines
    eval_results_table.json               the table of `mlflow.evaluate`
    mlflow:experiment/NAME                the traces of an experiment
    mlflow:run/ID                         the traces of a run, such as an evaluation's; else its
                                          eval_results_table.json

The server is the one of MLFLOW_TRACKING_URI. Feedback of judges and code is judges' verdicts, people's
feedback labels that are there already, and expectations the reference. Files need no package.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from assay.evalcore.errors import BadInput
from assay.tasks.connectors.importer import LogImporter, Place, read_as
from assay.tasks.connectors.log_text import text_of_messages
from assay.tasks.connectors.records import Notes, Plain, SystemResponse, Verdict
from assay.tasks.mlflow import FROM_ENVIRONMENT, connected, refusals, tracking_address

_ID = rb'"(?:trace_id|request_id)"\s*:'
_TRACE_START = re.compile(rb'\s*\[?\s*\{\s*(?:"info"\s*:\s*\{\s*)?' + _ID)
_TABLE_START = re.compile(rb'\s*\{\s*"columns"\s*:\s*\[[^\]]*\]\s*,\s*"data"\s*:\s*\[')


class MlflowLogs(LogImporter):
    """Traces and evaluation tables of MLflow."""

    name = "mlflow"
    reads = "traces and evaluation tables of MLflow (.json, .jsonl, mlflow:experiment/NAME, mlflow:run/ID)"

    def fits(self, place: Place) -> bool:
        """An address of MLflow, or JSON that begins as a trace or a table of it does."""
        if place.is_address:
            return place.given.startswith(SCHEME)
        return bool(_TRACE_START.match(place.start) or _TABLE_START.match(place.start))

    def responses(self, place: Place, notes: Notes) -> Iterator[SystemResponse]:
        """Of every trace, or row, that has a response."""
        asked: dict[tuple[str, str], int] = {}
        entries = entries_at(place.given) if place.is_address else _of_file(place)
        for number, entry in enumerate(entries, 1):
            if is_table(entry):
                yield from responses_of_table(entry, place.given, notes)
                continue
            with read_as(place, f"entry {number}", "MLflow writes traces"):
                response = response_of(_trace(entry), asked, notes)
            if response is not None:
                yield response


def _of_file(place: Place) -> Iterator[Any]:
    """Every entry: of a JSON list, of lines of JSON, or one value."""
    with place.path.open("rb") as opened:
        first = opened.readline()
        if _is_entry(first):
            yield json.loads(first)
            for number, line in enumerate(opened, 2):
                if line.strip():
                    yield _parsed(place, line, number)
            return
    whole = _parsed(place, place.path.read_bytes(), None)
    yield from whole if isinstance(whole, list) else [whole]


def _is_entry(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False


def _parsed(place: Place, text: bytes, line: int | None) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        where = place.given if line is None else f"{place.given}, line {line}"
        raise BadInput(f"{where}: is no JSON ({error})") from None


def _trace(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    """A trace, or the one that a row of a frame of traces holds."""
    held = entry.get("trace", entry)
    found: Mapping[str, Any] = json.loads(held) if isinstance(held, str) else held
    return found


# A tracking server, or its database.

SCHEME = "mlflow:"
_TABLE_FILE = "eval_results_table.json"
_PAGE = 100


def entries_at(given: str) -> Iterator[dict[str, Any]]:
    """Traces as mappings, or one table. Raises BadInput and MlflowRefused."""
    kind, _, name = given.removeprefix(SCHEME).partition("/")
    if kind not in ("experiment", "run") or not name:
        raise BadInput(f"{given}: write mlflow:experiment/NAME or mlflow:run/ID")
    client = connected(tracking_address(FROM_ENVIRONMENT))
    with refusals():
        if kind == "experiment":
            found = client.get_experiment_by_name(name)
            if found is None:
                raise BadInput(f"{given}: MLflow has no experiment {name!r}")
            yield from _traces(client, found.experiment_id, None)
        else:
            yield from _of_run(client, name)


def _of_run(client: Any, run_id: str) -> Iterator[dict[str, Any]]:
    run = client.get_run(run_id)
    traces = _traces(client, run.info.experiment_id, run_id)
    first = next(traces, None)
    if first is not None:
        yield first
        yield from traces
        return
    if _TABLE_FILE not in {one.path for one in client.list_artifacts(run_id)}:
        raise BadInput(f"{SCHEME}run/{run_id}: the run has neither traces nor {_TABLE_FILE}")
    with TemporaryDirectory() as folder:
        yield json.loads(Path(client.download_artifacts(run_id, _TABLE_FILE, folder)).read_bytes())


def _traces(client: Any, experiment: str, run_id: str | None) -> Iterator[dict[str, Any]]:
    """A page at a time, the oldest first."""
    page = None
    while True:
        found = client.search_traces(
            locations=[experiment], run_id=run_id, max_results=_PAGE, page_token=page,
            order_by=["timestamp_ms ASC"],
        )
        yield from (json.loads(trace.to_json()) for trace in found)
        page = found.token
        if not page:
            return


# A trace as a response: inputs of its first span are the question, outputs the response.

_OF_EVALUATION, _MODEL, _SESSION = "mlflow.sourceRun", "mlflow.modelId", "mlflow.trace.session"


def response_of(
    trace: Mapping[str, Any], asked: dict[tuple[str, str], int], notes: Notes
) -> SystemResponse | None:
    """None for a trace that has no response.

    asked   (system and run, question) -> how often it came so far; counted on

    Traces of an evaluation (`mlflow.genai.evaluate`) are told by their question, so that those of several
    runs meet; others by their own ID. The system is the logged model, else the run, else the trace's name.

    Raises KeyError, TypeError, AttributeError or ValueError for something that is no trace.
    """
    info = trace["info"]
    about, tags = info.get("trace_metadata") or {}, info.get("tags") or {}
    spans = (trace.get("data") or {}).get("spans") or []
    roots = (one for one in spans if not one.get("parent_span_id") and not one.get("parent_id"))
    first: Mapping[str, Any] = next(roots, {})
    response = text_of(_part(first, about, "Outputs"), notes)
    if response is None or str(info.get("state") or info.get("status")) not in ("OK", "STATE_UNSPECIFIED"):
        notes.leave_out("traces that ended in an error, or without a response")
        return None
    question = text_of(_part(first, about, "Inputs"), notes)
    name, run = str(tags.get("mlflow.traceName") or "traces"), str(about.get(_OF_EVALUATION) or "")
    system = str(about.get(_MODEL) or run or name)
    own = str(info.get("client_request_id") or info.get("trace_id") or info["request_id"])
    question_id = sha256((question or own).encode()).hexdigest()[:16] if run else own
    repeat = asked[system + run, question_id] = asked.get((system + run, question_id), 0) + 1
    said = said_of(info.get("assessments") or [], notes)
    if len(spans) > 1:
        notes.leave_out("the inner spans of traces")
    return SystemResponse(
        question_id=question_id, system=system, task=name, run=run, repeat=repeat, question=question,
        response=response, reference=said.reference, judged=said.judged, reasons=said.reasons,
        people=said.people, about=_tags_of_trace(tags, about),
    )


def _part(span: Mapping[str, Any], about: Mapping[str, Any], which: str) -> Any:
    """What a span holds, as JSON; of a trace without spans, what its metadata hold."""
    held = (span.get("attributes") or {}).get(f"mlflow.span{which}", about.get(f"mlflow.trace{which}"))
    if not isinstance(held, str):
        return held
    try:
        return json.loads(held)
    except ValueError:     # cut off by MLflow, or plain text
        return held


def _tags_of_trace(tags: Mapping[str, Any], about: Mapping[str, Any]) -> dict[str, Plain]:
    """Tags that people gave, and the session."""
    told: dict[str, Plain] = {name: str(value) for name, value in tags.items() if "mlflow." not in name}
    return told | ({"session": str(about[_SESSION])} if about.get(_SESSION) else {})


# `eval_results_table.json`, the table that `mlflow.evaluate` logs: a row for each question.
#
# A column `NAME/score` is a judge's verdict, `NAME/justification` its reason.

_RESPONSE = ("outputs", "output", "response", "predictions", "prediction", "answer")
_QUESTION = ("inputs", "input", "request", "question", "questions", "query", "prompt", "messages")
_REFERENCE = ("targets", "target", "ground_truth", "expected_response", "reference", "label")
_SCORE, _WHY = "/score", "/justification"


def is_table(content: Any) -> bool:
    """Whether parsed JSON is a table as MLflow logs them."""
    return isinstance(content, Mapping) and {"columns", "data"} == set(content)


def responses_of_table(table: Mapping[str, Any], place: str, notes: Notes) -> Iterator[SystemResponse]:
    """Of every row that has a response. Raises BadInput naming the place and the columns."""
    columns: Sequence[str] = table["columns"]
    answer, asked, expected = (_first(names, columns) for names in (_RESPONSE, _QUESTION, _REFERENCE))
    if answer is None:
        raise BadInput(
            f"{place}: no column holds responses: there are {', '.join(columns)}; responses are in one of "
            f"{', '.join(_RESPONSE)}. A table of a classifier needs no import: write it as CSV or Parquet"
        )
    taken = {answer, asked, expected}
    for number, values in enumerate(table["data"]):
        row = dict(zip(columns, values, strict=True))
        response = text_of(row[answer], notes)
        if response is None:
            notes.leave_out("rows without a response")
            continue
        judged, reasons = _judged(row, notes)
        yield SystemResponse(
            question_id=str(number), system="model", question=text_of(row.get(asked or ""), notes),
            response=response, reference=text_of(row.get(expected or ""), notes), judged=judged,
            reasons=reasons, about=_other_columns(row, taken, notes),
        )


def _first(names: Sequence[str], columns: Sequence[str]) -> str | None:
    return next((name for name in names if name in columns), None)


def _judged(row: Mapping[str, Any], notes: Notes) -> tuple[dict[str, Verdict | None], dict[str, str]]:
    judged: dict[str, Verdict | None] = {}
    reasons: dict[str, str] = {}
    for column, value in row.items():
        if column.endswith(_SCORE):
            try:
                judged[column.removesuffix(_SCORE)] = rating_as_boolean(value)
            except ValueError:
                notes.leave_out(f"scores that are lists or mappings, of {column}")
        elif column.endswith(_WHY) and isinstance(value, str):
            reasons[column.removesuffix(_WHY)] = value
    return judged, reasons


def _other_columns(row: Mapping[str, Any], taken: set[str | None], notes: Notes) -> dict[str, Plain]:
    told: dict[str, Plain] = {}
    for column, value in row.items():
        if column in taken or column.endswith((_SCORE, _WHY)):
            continue
        if value is None or isinstance(value, bool | int | float | str):
            told[column] = value
        else:
            notes.leave_out(f"lists and mappings of the column {column}")
    return told


# What was said of a trace: by judges and code, by people, and what was expected.

_RATINGS: Mapping[str, bool | None] = {"yes": True, "no": False, "unknown": None}   # MLflow's own
_EXPECTED_RESPONSE = "expected_response"


@dataclass(slots=True)
class Said:
    """By name of the assessment."""

    judged: dict[str, Verdict | None] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    people: dict[str, Verdict | None] = field(default_factory=dict)
    expected: dict[str, str] = field(default_factory=dict)

    @property
    def reference(self) -> str | None:
        """The expected response; without one, all that was expected."""
        if _EXPECTED_RESPONSE in self.expected or len(self.expected) == 1:
            return self.expected.get(_EXPECTED_RESPONSE) or next(iter(self.expected.values()))
        return "\n".join(f"{name}: {text}" for name, text in self.expected.items()) or None


def said_of(assessments: Sequence[Mapping[str, Any]], notes: Notes) -> Said:
    """The newest assessment of each name and source counts; those that were overridden do not."""
    said = Said()
    for one in sorted(assessments, key=lambda one: str(one.get("create_time", ""))):
        if one.get("valid") is False:
            continue
        name = str(one["assessment_name"])
        if "expectation" in one:
            said.expected[name] = text_of(_value(one["expectation"]), notes) or ""
        elif one.get("feedback", {}).get("error"):
            notes.leave_out("assessments that failed")
        else:
            _take(said, one, name, notes)
    return said


def rating_as_boolean(value: Any) -> Verdict | None:
    """MLflow's ratings `yes` and `no` are true and false. Raises ValueError for a list or a mapping."""
    if isinstance(value, str):
        return _RATINGS.get(value.strip().lower(), value)
    if value is None or isinstance(value, bool | int | float):
        return value
    raise ValueError("is no single value")


def _take(said: Said, one: Mapping[str, Any], name: str, notes: Notes) -> None:
    try:
        verdict = rating_as_boolean(one["feedback"].get("value"))
    except ValueError:
        notes.leave_out(f"assessments that are lists or mappings, of {name}")
        return
    person = (one.get("source") or {}).get("source_type") == "HUMAN"
    kept = said.people if person else said.judged
    if name in kept:
        notes.leave_out(f"earlier assessments of the same trace, of {name}")
    kept[name] = verdict
    if one.get("rationale") and not person:
        said.reasons[name] = str(one["rationale"])


def _value(expectation: Mapping[str, Any]) -> Any:
    """A list as one text: any of it is expected."""
    value = expectation.get("value")
    if value is None and "serialized_value" in expectation:
        value = expectation["serialized_value"].get("value")
    return " | ".join(map(str, value)) if isinstance(value, list) else value


# Inputs and outputs of a trace, which may be anything, as text that people can read.

def text_of(value: Any, notes: Notes) -> str | None:
    """A text as it is, messages as messages, the only value of a mapping; anything else as JSON."""
    if value is None or isinstance(value, str):
        return value or None
    if isinstance(value, Mapping):
        return _of_mapping(value, notes)
    if _are_messages(value):
        return text_of_messages(value, notes)
    return json.dumps(value, ensure_ascii=False, indent=2)


def _of_mapping(value: Mapping[str, Any], notes: Notes) -> str | None:
    choices = value.get("choices")
    if isinstance(choices, Sequence) and choices and isinstance(choices[0], Mapping):
        return text_of_messages(choices[0].get("message"), notes)
    if _are_messages(value.get("messages")):
        return text_of_messages(value["messages"], notes)
    if _are_messages([value]):
        return text_of_messages(value, notes)
    if len(value) == 1:
        return text_of(next(iter(value.values())), notes)
    return json.dumps(value, ensure_ascii=False, indent=2)


def _are_messages(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(
        isinstance(one, Mapping) and "role" in one and "content" in one for one in value
    )
