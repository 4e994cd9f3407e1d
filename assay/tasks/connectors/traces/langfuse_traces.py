"""Traces of Langfuse, as its API, its exports and its blob storage write them.

    a trace        with `observations` and `scores` inside, as the API gets one; or a list of them
    observations   one a line, or a list: `traceId` (`trace_id`), `type`, `input`, `output`
    scores         the same, apart: of a trace (`traceId`), or of one of its observations (`observationId`)

Scores that people gave (source ANNOTATION) are votes of their authors, all others judges' verdicts.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from assay.tasks.connectors.records import LogEntry, Notes, Remark
from assay.tasks.connectors.shapes import Scores, Shape, members, text_at, value_at
from assay.tasks.connectors.traces.trajectory import SpanKind, TracedSpan, TraceImporter, span_of

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
    """The importer of traces, observations and scores of Langfuse. Scores that people gave are votes, all
    others verdicts of judges."""

    name = "langfuse"
    reads = "traces, observations or scores of Langfuse (.json, .jsonl or .csv)"
    marks = (
        "traceId type", "trace_id type", "traceId dataType", "trace_id data_type",
        *(f"id output {key}" for key in _OF_TRACE),
        "id input output session_id", "id input output user_id", "id input output sessionId",
    )
    shape = Shape(
        trace="id", id="id", name="name", question="input", response="output", session="sessionId",
        question_id="metadata.datasetItemId", run="metadata.datasetRunId",
        reference="metadata.expectedOutput", about=("metadata",),
    )
    step = Shape(
        trace="traceId|trace", id="id", name="name", parent="parentObservationId|traceId|trace",
        start="startTime", system="model|providedModelName", question="input", response="output",
        status="level", kind="type",
    )
    scores = Scores(
        at="scores", value="value|stringValue", reason="comment", source="source", time="timestamp|createdAt",
        person="source", people=("ANNOTATION",),
    )

    def spans(self, value: LogEntry, notes: Notes) -> Iterator[TracedSpan]:
        """Of a trace one for the whole, and one for each observation and each step with a score."""
        trace, is_step = text_at(value, "traceId"), {"traceId", "trace_id"} & set(value) and "type" in value
        if value_at(value, "dataType") is not None and not trace:
            notes.leave_out("scores of sessions or runs, and of no trace")
        elif value_at(value, "dataType") is not None:
            yield from self._scored(trace, [value])
        elif trace or is_step:
            yield self._step(value, notes)
        else:
            for key in value:
                if re.sub(r"(?<=[a-z])(?=[A-Z])", "_", key).lower() not in _ABOUT_TRACES:
                    notes.leave_out(f"values beside a trace that are no scores in its list: {key}")
            whole = span_of(value, self.shape, notes, trace=str(value["id"]))
            yield replace(whole, about={
                key: inner for key, inner in whole.about.items()
                if "dataset" not in key.lower() and key not in ("expectedOutput", "expected_output")})
            for inner in _with_details(value.get("observations") or (), "observations", notes):
                yield self._step({"trace": whole.trace, **inner}, notes)
            yield from self._scored(whole.trace, _scores(value.get("scores"), notes))

    def _step(self, value: LogEntry, notes: Notes) -> TracedSpan:
        return span_of(value, self.step, notes, id=str(value["id"]),
                       kind=_KINDS.get(text_at(value, self.step.kind), "other"))

    def _scored(self, trace: str, scores: Iterable[LogEntry]) -> Iterator[TracedSpan]:
        """What was said of a trace and of its observations, as spans with nothing else."""
        for score in scores:
            place = text_at(score, "observationId") or trace
            yield TracedSpan(trace=trace, id=place, parent="" if place == trace else trace,
                             remarks=[self._remark(score)])

    def _remark(self, score: LogEntry) -> Remark:
        [remark] = self.scores.remarks({"scores": [score]})
        kind, text = text_at(score, "dataType"), value_at(score, "stringValue")
        value = text if kind in ("CATEGORICAL", "BOOLEAN") and text is not None else remark.value
        if kind == "BOOLEAN" and text is None and value in (0, 1):
            value = bool(value)
        author = text_at(score, "authorUserId") if remark.by_person else remark.source
        return replace(remark, value=value, source=author)


def _scores(scores: object, notes: Notes) -> Iterator[LogEntry]:
    """A list of scores; of an export of the browser a value, or several, by name."""
    if isinstance(scores, Mapping):
        for score in members(scores):
            values = score["given"] if isinstance(score["given"], list) else [score["given"]]
            yield from ({"name": score["name"], "value": value} for value in values)
    else:
        yield from _with_details(scores or (), "scores", notes)


def _with_details(values: object, what: str, notes: Notes) -> Iterator[LogEntry]:
    for value in members(values):
        if isinstance(value, str):
            notes.leave_out(f"{what} of which only the id is there: export traces with their details")
        else:
            yield value
