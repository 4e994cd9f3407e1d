"""Spans of OpenTelemetry and of Arize Phoenix, by the GenAI or the OpenInference conventions.

    {"resourceSpans": [...]}            OTLP as JSON: a file of the collector, one export a line
    {"name": ..., "context": {...}}     spans as the SDK's console exporter prints them, one after the other
    context.span_id, attributes.llm...  a frame of Phoenix's `get_spans_dataframe`, as JSON or Parquet
    {"data": [{"span_kind": ...}]}      spans as Phoenix's own server lists them

A span is a model's where it names a model's messages, a tool's where its kind says so.  The results of
evaluations that stand in it (`gen_ai.evaluation.result`) are judges' verdicts.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from assay.tasks.connectors.records import LogEntry, Notes, Remark
from assay.tasks.connectors.shapes import Scores, Shape, members, nested, text_at, value_at
from assay.tasks.connectors.traces.trajectory import SpanKind, TracedSpan, TraceImporter, exact_turn, span_of
from assay.tasks.connectors.turns import Turn, parsed_or_text, turns_of

_SPAN = Shape(
    trace="traceId|context.trace_id", id="spanId|context.span_id", parent="parentSpanId|parent_id",
    name="attributes.gen_ai.tool.name|attributes.tool.name|name", start="startTimeUnixNano|start_time",
    kind="attributes.openinference.span.kind|attributes.gen_ai.operation.name|span_kind",
    status="status.status_code|status.code|status_code|status", session=(
        "attributes.gen_ai.conversation.id|attributes.session.id"),
    system=("attributes.gen_ai.request.model|attributes.gen_ai.response.model|attributes.llm.model_name"),
)
# what went in and came out of a tool, of a model, and of any other span (the last two are of Langfuse's SDK)
_TOOL_IN, _TOOL_OUT = (
    "gen_ai.tool.call.arguments|tool.parameters|input.value|input",
    "gen_ai.tool.call.result|output.value|retrieval.documents|output",
)
_MODEL_IN, _MODEL_OUT = (
    "gen_ai.input.messages|llm.input_messages|gen_ai.prompt",
    "gen_ai.output.messages|llm.output_messages|gen_ai.completion",
)
_ANY_IN, _ANY_OUT = (
    "input.value|langfuse.observation.input|langfuse.trace.input|input",
    "output.value|langfuse.observation.output|langfuse.trace.output|output",
)
_TOOLS = ("execute_tool", "TOOL", "RETRIEVER")
_OUTERMOST = ("AGENT", "CHAIN", "invoke_agent", "invoke_workflow", "create_agent")
_RESULT = "gen_ai.evaluation.result"
_EVALUATION = Scores(at="results", name="gen_ai.evaluation.name", value=(
    "gen_ai.evaluation.score.value|gen_ai.evaluation.score.label"), reason="gen_ai.evaluation.explanation")
_EVAL_COLUMNS = Scores(at="eval", value="label|score", reason="explanation")     # eval.NAME.label, of a frame


class OpenTelemetrySpans(TraceImporter):
    """The importer of spans as OpenTelemetry writes them, by the GenAI or the OpenInference conventions:
    OTLP as JSON, or the console exporter's output."""

    name = "otel"
    reads = "spans of OpenTelemetry, GenAI or OpenInference (OTLP as JSON, or of the console exporter)"
    marks = ("resourceSpans", "resource_spans", "context:trace_id kind")

    def spans(self, value: LogEntry, notes: Notes) -> Iterator[TracedSpan]:
        """Every span of an OTLP export, or the one span that the object is."""
        resources = value.get("resourceSpans", value.get("resource_spans"))
        if resources is None:
            yield _span(value, notes)
        for resource in resources or ():
            scopes = next((resource[key] for key in _SCOPES if key in resource), ())
            yield from (_span(span, notes) for scope in scopes for span in scope.get("spans") or ())


class PhoenixSpans(TraceImporter):
    """The importer of spans as Arize Phoenix exports them: the frame of its client, or the list of its
    server."""

    name = "phoenix"
    reads = ("spans of Arize Phoenix (get_spans_dataframe as .json, .jsonl, .csv or .parquet; spans of its "
             "server)")
    marks = ("context.span_id", "context:span_id span_kind")

    def spans(self, value: LogEntry, notes: Notes) -> Iterator[TracedSpan]:
        """The one span that a row of an export of Phoenix is."""
        yield _span(value, notes)


_SCOPES = ("scopeSpans", "scope_spans", "instrumentationLibrarySpans")     # the last is of older collectors


def _span(raw: LogEntry, notes: Notes) -> TracedSpan:
    attributes = _attributes(raw)
    span = {**raw, "attributes": attributes}
    kind, inputs, outputs = _content(attributes, text_at(span, _SPAN.kind), notes)
    return span_of(
        span, _SPAN, notes, trace=_hex(value_at(span, _SPAN.trace)), id=_hex(value_at(span, _SPAN.id)),
        parent=_hex(value_at(span, _SPAN.parent)), start=_time(value_at(span, _SPAN.start)), kind=kind,
        inputs=inputs, outputs=outputs,
        remarks=[*_evaluations(raw.get("events"), notes), *_EVAL_COLUMNS.remarks(raw)],
        model="" if kind == "tool" else text_at(span, _SPAN.system),
    )


def _hex(value: object) -> str:
    return "" if value is None else str(value).removeprefix("0x")


def _time(value: object) -> str:
    """Numbers of nanoseconds of one length, or text that sorts as it is."""
    text = f"{value:.0f}" if isinstance(value, float) else "" if value is None else str(value)
    return text.zfill(20) if text.isdecimal() else text


def _attributes(raw: LogEntry) -> Any:
    """By name, of a list of keys and values, a mapping, or columns `attributes.NAME`."""
    held = parsed_or_text(raw.get("attributes"))
    return _of_pairs(held) if isinstance(held, list) else value_at(raw, "attributes") or {}


def _of_pairs(pairs: list[Any]) -> dict[str, Any]:
    return {str(pair["key"]): _otlp_value(pair.get("value") or {}) for pair in pairs}


def _otlp_value(value: LogEntry) -> Any:
    """A value of OTLP, which names its type."""
    for kind, held in value.items():
        if kind in ("arrayValue", "array_value"):
            return [_otlp_value(member) for member in held.get("values") or ()]
        if kind in ("kvlistValue", "kvlist_value"):
            return _of_pairs(held.get("values") or [])
        if kind in ("intValue", "int_value"):
            return int(held)
        return held
    return None


def _content(attributes: object, operation: str, notes: Notes) -> tuple[SpanKind, list[Turn], list[Turn]]:
    """Kind, and what went in and came out."""
    if operation in _TOOLS:
        inputs, outputs = value_at(attributes, _TOOL_IN), value_at(attributes, _TOOL_OUT)
        return "tool", [exact_turn(inputs)], [exact_turn(outputs)]
    inputs, outputs = value_at(attributes, _MODEL_IN), value_at(attributes, _MODEL_OUT)
    is_model = inputs is not None or outputs is not None
    system = turns_of(value_at(attributes, "gen_ai.system_instructions"), "system", notes) if is_model else []
    inputs = value_at(attributes, _ANY_IN) if inputs is None else inputs
    outputs = value_at(attributes, _ANY_OUT) if outputs is None else outputs
    turns = [*system, *_messages(inputs, "user", notes)], _messages(outputs, "assistant", notes)
    return "model" if is_model and operation not in _OUTERMOST else "other", *turns


def _messages(value: object, role: str, notes: Notes) -> list[Turn]:
    """OpenInference puts each message under `message`."""
    held = nested(parsed_or_text(value))
    if isinstance(held, Mapping) and set(held) <= {"value", "mime_type"}:
        held = held.get("value")
    if isinstance(held, list):
        held = [value_at(member, "message") or member for member in held]
    return turns_of(held, role, notes)


def _evaluations(events: object, notes: Notes) -> Iterator[Remark]:
    """What evaluations said, of the events of a span."""
    for event in members(events):
        if not isinstance(event, Mapping) or event.get("name") != _RESULT:
            continue
        result = _attributes(event)
        [remark] = _EVALUATION.remarks({"results": [result]})
        if value_at(result, "gen_ai.evaluation.score.label") not in (None, remark.value):
            notes.leave_out(f"labels beside a number, of {remark.name}")
        if remark.value is None:
            notes.leave_out(f"evaluations without a value, of {remark.name}")
        else:
            yield replace(remark, time=_time(value_at(event, "timeUnixNano|timestamp")))
