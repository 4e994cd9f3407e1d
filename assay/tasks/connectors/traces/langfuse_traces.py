"""Traces of Langfuse, as its API, its exports and its blob storage write them.

    a trace        with `observations` and `scores` inside, as the API gets one; or a list of them
    observations   one a line, or a list: `traceId` (`trace_id`), `type`, `input`, `output`
    scores         the same, apart: of a trace (`traceId`), or of one of its observations (`observationId`)

Scores that people gave (source ANNOTATION) are votes of their authors, all others judges' verdicts.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from assay.tasks.connectors.records import Notes, Remark
from assay.tasks.connectors.traces.trajectory import SpanKind, TracedSpan, TraceImporter
from assay.tasks.connectors.turns import Turn, parsed_or_text, text_or_json, turns_of, value_named

_KINDS: Mapping[str, SpanKind] = {
    "GENERATION": "model", "EMBEDDING": "model", "TOOL": "tool", "RETRIEVER": "tool",
}
_OF_TRACE = ("observations", "scores", "htmlPath", "externalId", "bookmarked", "projectId")

_ABOUT_TRACES = frozenset((
    "id", "name", "input", "output", "metadata", "tags", "timestamp", "created_at", "updated_at", "release",
    "version", "public", "bookmarked", "environment", "latency", "total_cost", "user_id", "session_id",
    "project_id", "html_path", "external_id", "observations", "scores", "level", "usage", "trace_id",
    "input_tokens", "output_tokens", "total_tokens", "input_cost", "output_cost", "observation_count",
))


class LangfuseTraces(TraceImporter):
    """Traces of Langfuse."""

    name = "langfuse"
    reads = "traces, observations or scores of Langfuse (.json, .jsonl or .csv)"
    marks = (
        "traceId type", "trace_id type", "traceId dataType", "trace_id data_type",
        *(f"id output {key}" for key in _OF_TRACE),
        "id input output session_id", "id input output user_id", "id input output sessionId",
    )

    def spans(self, value: Mapping[str, Any], notes: Notes) -> Iterator[TracedSpan]:
        """Of a trace one for the whole, and one for each observation."""
        trace = value_named(value, "traceId")
        if trace is None:
            yield from _trace(value, notes)
        elif value_named(value, "dataType") is not None:
            place = str(value_named(value, "observationId") or trace)
            yield TracedSpan(trace=str(trace), id=place, remarks=[_remark(value)],
                             parent="" if place == str(trace) else str(trace))
        else:
            yield _observation(value, notes, str(trace))


def _trace(value: Mapping[str, Any], notes: Notes) -> Iterator[TracedSpan]:
    trace, data = str(value["id"]), parsed_or_text(value.get("metadata"))
    data = data if isinstance(data, Mapping) else {}
    reference = value_named(data, "expectedOutput")
    of_steps: dict[str, list[Remark]] = {}
    for score in _scores(value.get("scores"), notes):
        of_steps.setdefault(str(value_named(score, "observationId") or trace), []).append(_remark(score))
    for key in value:
        if re.sub(r"(?<=[a-z])(?=[A-Z])", "_", key).lower() not in _ABOUT_TRACES:
            notes.leave_out(f"values beside a trace that are no scores in its list: {key}")
    session = value_named(value, "sessionId")
    yield TracedSpan(
        trace=trace, id=trace, name=str(value.get("name") or ""), remarks=of_steps.pop(trace, ()),
        inputs=turns_of(value.get("input"), "user", notes),
        outputs=turns_of(value.get("output"), "assistant", notes),
        question_id=str(value_named(data, "datasetItemId") or ""),
        run=str(value_named(data, "datasetRunId") or ""),
        reference=None if reference is None else text_or_json(reference),
        about={**{key: inner for key, inner in data.items() if "dataset" not in key.lower()
                  and key not in ("expectedOutput", "expected_output")},
               **({"session": str(session)} if session else {})},
    )
    for inner in value.get("observations") or ():
        if isinstance(inner, str):
            notes.leave_out("observations of which only the id is there: export traces with their details")
        else:
            yield _observation(inner, notes, trace)
    for step, remarks in of_steps.items():
        yield TracedSpan(trace=trace, id=step, parent=trace, remarks=remarks)


def _observation(value: Mapping[str, Any], notes: Notes, trace: str) -> TracedSpan:
    kind = _KINDS.get(str(value.get("type")), "other")
    inputs, outputs = value.get("input"), value.get("output")
    exact = kind == "tool"
    model = next((m for key in ("model", "providedModelName") if (m := value_named(value, key))), "")
    return TracedSpan(
        trace=trace, id=str(value["id"]), kind=kind, name=str(value.get("name") or ""),
        parent=str(value_named(value, "parentObservationId") or trace),
        start=str(value_named(value, "startTime") or ""), model=str(model),
        inputs=[_whole(inputs)] if exact else turns_of(inputs, "user", notes),
        outputs=[_whole(outputs)] if exact else turns_of(outputs, "assistant", notes),
        failed=value.get("level") == "ERROR",
    )


def _whole(value: Any) -> Turn:
    return Turn(role="tool", text=text_or_json(parsed_or_text(value)))


def _scores(scores: Any, notes: Notes) -> Iterator[Mapping[str, Any]]:
    """A list of scores; of an export of the browser a value, or several, by name."""
    if isinstance(scores, Mapping):
        yield from ({"name": name, "value": value} for name, values in scores.items()
                    for value in (values if isinstance(values, list) else [values]))
        return
    for score in scores or ():
        if isinstance(score, str):
            notes.leave_out("scores of which only the id is there: export traces with their details")
        else:
            yield score


def _remark(score: Mapping[str, Any]) -> Remark:
    kind, text = value_named(score, "dataType"), value_named(score, "stringValue")
    value = text if kind in ("CATEGORICAL", "BOOLEAN") and text is not None else score.get("value")
    if kind == "BOOLEAN" and text is None and value in (0, 1):
        value = bool(value)
    by_person = str(score.get("source")) == "ANNOTATION"
    author = value_named(score, "authorUserId") if by_person else score.get("source")
    time = value_named(score, "timestamp") or value_named(score, "createdAt")
    return Remark(name=score["name"], value=value, by_person=by_person, source=str(author or ""),
                  reason=score.get("comment"), time=str(time or ""))
