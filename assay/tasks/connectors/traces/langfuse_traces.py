"""Traces of Langfuse, as its API, its exports and its blob storage write them.

    a trace        with `observations` and `scores` inside, as the API gets one; or a list of them
    observations   one a line, or a list: `traceId` (`trace_id`), `type`, `input`, `output`

Scores that people gave (source ANNOTATION) are labels, all others judges' verdicts.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from assay.tasks.connectors.importer import Place, read_as
from assay.tasks.connectors.log_text import short_values
from assay.tasks.connectors.records import Notes, Plain, Verdict
from assay.tasks.connectors.traces.otel_spans import json_values
from assay.tasks.connectors.traces.trajectory import SpanKind, TracedSpan, TraceImporter
from assay.tasks.connectors.turns import Turn, parsed_or_text, text_or_json, turns_of

_OBSERVATION = re.compile(rb'"(?:traceId|trace_id)"\s*:.*"type"\s*:\s*"(?:[A-Z_]+)"', re.S)
_TRACE = re.compile(rb'"(?:observations|scores|htmlPath|externalId|bookmarked|projectId)"\s*:', re.S)
_FIRST = re.compile(
    rb'\s*(?:\{\s*"data"\s*:\s*)?\[?\s*\{\s*"(?:id|timestamp|traceId|trace_id|projectId)"\s*:'
)
_MODELS, _TOOLS = ("GENERATION", "EMBEDDING"), ("TOOL", "RETRIEVER")


class LangfuseTraces(TraceImporter):
    """Traces of Langfuse."""

    name = "langfuse"
    reads = "traces or observations of Langfuse (.json or .jsonl)"

    def fits(self, place: Place) -> bool:
        """JSON with the fields of a trace or of an observation."""
        start = place.start
        if not _FIRST.match(start) or b'"run_type"' in start or b'"span_kind"' in start:
            return False
        return bool(_OBSERVATION.search(start) or (_TRACE.search(start) and b'"output"' in start))

    def spans(self, place: Place, notes: Notes) -> Iterator[TracedSpan]:
        """Of every trace one for the whole, and one for each observation."""
        for number, value in enumerate(json_values(place), 1):
            with read_as(place, f"entry {number}", "Langfuse writes traces"):
                held = value["data"] if isinstance(value.get("data"), list) else [value]
                for one in held:
                    yield from _spans(one, notes)


def _spans(one: Mapping[str, Any], notes: Notes) -> Iterator[TracedSpan]:
    if _named(one, "traceId") is not None:
        yield _observation(one, notes, "")
        return
    trace = str(one["id"])
    judged, reasons, people = _scores(one.get("scores") or (), notes)
    data = parsed_or_text(one.get("metadata"))
    data = data if isinstance(data, Mapping) else {}
    reference = data.get("expected_output", data.get("expectedOutput"))
    yield TracedSpan(
        trace=trace, id=trace, name=str(one.get("name") or ""),
        given=turns_of(one.get("input"), "user", notes),
        said=turns_of(one.get("output"), "assistant", notes), judged=judged, reasons=reasons, people=people,
        question_id=str(data.get("dataset_item_id") or data.get("datasetItemId") or ""),
        run=str(data.get("dataset_run_id") or data.get("datasetRunId") or ""),
        reference=None if reference is None else text_or_json(reference), about=_about(one, data),
    )
    for inner in one.get("observations") or ():
        if isinstance(inner, str):
            notes.leave_out("observations of which only the id is there: export traces with their details")
        else:
            yield _observation(inner, notes, trace)


def _observation(one: Mapping[str, Any], notes: Notes, trace: str) -> TracedSpan:
    kind: SpanKind = "other"
    written = str(one.get("type"))
    if written in _MODELS:
        kind = "model"
    elif written in _TOOLS:
        kind = "tool"
    exact = kind == "tool"
    given, said = one.get("input"), one.get("output")
    return TracedSpan(
        trace=trace or str(_named(one, "traceId")), id=str(one["id"]), kind=kind,
        name=str(one.get("name") or ""),
        parent=str(_named(one, "parentObservationId") or trace), start=str(_named(one, "startTime") or ""),
        model=str(next((m for k in ("model", "providedModelName") if (m := _named(one, k))), "")),
        given=[_whole(given)] if exact else turns_of(given, "user", notes),
        said=[_whole(said)] if exact else turns_of(said, "assistant", notes),
        failed=one.get("level") == "ERROR",
    )


def _whole(value: Any) -> Turn:
    return Turn(role="tool", text=text_or_json(parsed_or_text(value)))


def _named(one: Mapping[str, Any], name: str) -> Any:
    """By its name in the API, or as blob storage writes it."""
    return one.get(name, one.get(re.sub(r"[A-Z]", lambda big: "_" + big[0].lower(), name)))


def _scores(
    scores: Any, notes: Notes
) -> tuple[dict[str, Verdict | None], dict[str, str], dict[str, Verdict | None]]:
    judged: dict[str, Verdict | None] = {}
    reasons: dict[str, str] = {}
    people: dict[str, Verdict | None] = {}
    for score in scores:
        if isinstance(score, str):
            notes.leave_out("scores of which only the id is there: export traces with their details")
            continue
        name, kind = str(score["name"]), _named(score, "dataType")
        named = _named(score, "stringValue") if kind == "CATEGORICAL" else None
        value = score.get("value") if named is None else named
        if kind == "BOOLEAN" and value is not None:
            value = bool(value)
        by_people = score.get("source") == "ANNOTATION"
        (people if by_people else judged)[name] = value
        if isinstance(score.get("comment"), str) and not by_people:
            reasons[name] = score["comment"]
    return judged, reasons, people


def _about(one: Mapping[str, Any], data: Mapping[str, Any]) -> dict[str, Plain]:
    told: dict[str, Plain] = {
        name: value for name, value in short_values(dict(data)).items() if "dataset" not in name.lower()
    }
    session = _named(one, "sessionId")
    return told | ({"session": str(session)} if session else {})
