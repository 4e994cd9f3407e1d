"""Spans of OpenTelemetry and of Arize Phoenix, by the GenAI or the OpenInference conventions.

    {"resourceSpans": [...]}            OTLP as JSON: a file of the collector, one export a line
    {"name": ..., "context": {...}}     spans as the SDK's console exporter prints them, one after the other
    context.span_id, attributes.llm...  a frame of Phoenix's `get_spans_dataframe`, as JSON or Parquet
    {"data": [{"span_kind": ...}]}      spans as Phoenix's own server lists them

A span is a model's where it names a model's messages, a tool's where its kind says so.  The results of
evaluations that stand in it (`gen_ai.evaluation.result`) are judges' verdicts.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from assay.tasks.connectors.records import Notes, Remark
from assay.tasks.connectors.traces.trajectory import SpanKind, TracedSpan, TraceImporter
from assay.tasks.connectors.turns import Turn, parsed_or_text, turns_of


class OpenTelemetrySpans(TraceImporter):
    """Spans as OpenTelemetry writes them."""

    name = "otel"
    reads = "spans of OpenTelemetry, GenAI or OpenInference (OTLP as JSON, or of the console exporter)"
    marks = ("resourceSpans", "resource_spans", "context:trace_id kind")

    def spans(self, value: Mapping[str, Any], notes: Notes) -> Iterator[TracedSpan]:
        """Every span of an export, or the span."""
        resources = value.get("resourceSpans", value.get("resource_spans"))
        if resources is None:
            yield _span(value, notes)
        for resource in resources or ():
            scopes = next((resource[key] for key in _SCOPES if key in resource), ())
            yield from (_span(span, notes) for scope in scopes for span in scope.get("spans") or ())


class PhoenixSpans(TraceImporter):
    """Spans as Arize Phoenix exports them."""

    name = "phoenix"
    reads = ("spans of Arize Phoenix (get_spans_dataframe as .json, .jsonl, .csv or .parquet; spans of its "
             "server)")
    marks = ("context.span_id", "context:span_id span_kind")

    def spans(self, value: Mapping[str, Any], notes: Notes) -> Iterator[TracedSpan]:
        """The span of a row."""
        yield _span(value, notes)


_SCOPES = ("scopeSpans", "scope_spans", "instrumentationLibrarySpans")     # the last is of older collectors


def _span(raw: Mapping[str, Any], notes: Notes) -> TracedSpan:
    context = raw.get("context") or {}
    attributes = nested(_attributes(raw))
    kind, inputs, outputs, model = _content(attributes, str(raw.get("span_kind") or ""), notes)
    status = raw.get("status") or {}
    failed = str(status.get("status_code", status.get("code", "")) if isinstance(status, Mapping) else status)
    name = _at(attributes, "gen_ai.tool.name") or _at(attributes, "tool.name") or raw.get("name")
    return TracedSpan(
        trace=_hex(raw.get("traceId", raw.get("context.trace_id", context.get("trace_id")))),
        id=_hex(raw.get("spanId", raw.get("context.span_id", context.get("span_id")))),
        parent=_hex(raw.get("parentSpanId", raw.get("parent_id"))), kind=kind, name=str(name or ""),
        start=_time(raw.get("startTimeUnixNano", raw.get("start_time"))), model=model,
        inputs=inputs, outputs=outputs,
        failed=failed in ("ERROR", "2", "STATUS_CODE_ERROR") or str(raw.get("status_code")) == "ERROR",
        remarks=[*_evaluations(raw.get("events"), notes)], about=_session(attributes),
    )


def _hex(value: Any) -> str:
    return "" if value is None else str(value).removeprefix("0x")


def _time(value: Any) -> str:
    """Numbers of nanoseconds of one length, or text that sorts as it is."""
    number = isinstance(value, int | float) or str(value).isdecimal()
    return f"{int(value):020d}" if number else str(value or "")


def _attributes(raw: Mapping[str, Any]) -> dict[str, Any]:
    """By name, of a list of keys and values, a mapping, or columns `attributes.NAME`."""
    held = raw.get("attributes")
    if isinstance(held, list):
        return _of_pairs(held)
    attributes = dict(held or {})
    return attributes | {
        name.removeprefix("attributes."): value for name, value in raw.items()
        if name.startswith("attributes.") and value is not None
    }


def _of_pairs(pairs: list[Any]) -> dict[str, Any]:
    return {str(pair["key"]): _otlp_value(pair.get("value") or {}) for pair in pairs}


def _otlp_value(value: Mapping[str, Any]) -> Any:
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


def nested(value: Any) -> Any:
    """Names with dots as mappings within mappings, and numbered ones as lists: `a.0.b` -> a: [{b: ...}]."""
    if isinstance(value, list | tuple):
        return [nested(member) for member in value]
    if not isinstance(value, Mapping):
        return value
    tree: dict[str, Any] = {}
    for name, held in value.items():
        *path, last = str(name).split(".")
        node = tree
        for part in path:
            inner = node.get(part)
            if not isinstance(inner, dict):
                node[part] = inner = {} if inner is None else {"": inner}
            node = inner
        inside, there = nested(held), node.get(last)
        node[last] = inside | there if isinstance(inside, dict) and isinstance(there, dict) else inside
    return _numbered(tree)


def _numbered(tree: dict[str, Any]) -> Any:
    held = {name: _numbered(value) if isinstance(value, dict) else value for name, value in tree.items()}
    if held and all(name.isdigit() for name in held):
        return [held[name] for name in sorted(held, key=int)]
    return held


def _at(tree: Any, path: str) -> Any:
    for part in path.split("."):
        tree = tree.get(part) if isinstance(tree, Mapping) else None
    return tree


def _first_at(tree: Any, *paths: str) -> Any:
    return next((held for path in paths if (held := _at(tree, path)) not in (None, "", [], {})), None)


_TOOL = ("execute_tool", "TOOL", "RETRIEVER")
_LANGFUSE_IN = ("langfuse.observation.input", "langfuse.trace.input")       # of its own SDK
_LANGFUSE_OUT = ("langfuse.observation.output", "langfuse.trace.output")


def _content(attributes: Any, column: str, notes: Notes) -> tuple[SpanKind, list[Turn], list[Turn], str]:
    """Kind, what went in and came out, and the model."""
    operation = str(_first_at(attributes, "openinference.span.kind", "gen_ai.operation.name") or column)
    models = ("gen_ai.request.model", "gen_ai.response.model", "llm.model_name")
    model = str(_first_at(attributes, *models) or "")
    if operation in _TOOL:
        inputs = _first_at(
            attributes, "gen_ai.tool.call.arguments", "tool.parameters", "input.value", "input")
        outputs = _first_at(
            attributes, "gen_ai.tool.call.result", "output.value", "retrieval.documents", "output")
        return "tool", [_exact_turn(inputs)], [_exact_turn(outputs)], ""
    inputs = _first_at(attributes, "gen_ai.input.messages", "llm.input_messages", "gen_ai.prompt")
    outputs = _first_at(attributes, "gen_ai.output.messages", "llm.output_messages", "gen_ai.completion")
    is_model = inputs is not None or outputs is not None
    system = turns_of(_at(attributes, "gen_ai.system_instructions"), "system", notes) if is_model else []
    inputs = _first_at(attributes, "input.value", *_LANGFUSE_IN, "input") if inputs is None else inputs
    outputs = _first_at(attributes, "output.value", *_LANGFUSE_OUT, "output") if outputs is None else outputs
    turns = [*system, *_messages(inputs, "user", notes)], _messages(outputs, "assistant", notes)
    outermost = operation in ("AGENT", "CHAIN", "invoke_agent", "invoke_workflow", "create_agent")
    return "model" if is_model and not outermost else "other", *turns, model


def _messages(value: Any, role: str, notes: Notes) -> list[Turn]:
    """OpenInference puts each message under `message`."""
    held = parsed_or_text(value)
    if isinstance(held, Mapping) and set(held) <= {"value", "mime_type"}:
        held = held.get("value")
    if isinstance(held, list):
        inner = [member.get("message") if isinstance(member, Mapping) else None for member in held]
        held = [m if isinstance(m, Mapping) else member for m, member in zip(inner, held, strict=True)]
    return turns_of(held, role, notes)


def _exact_turn(value: Any) -> Turn:
    held = parsed_or_text(value)
    text = held if isinstance(held, str) else "" if held is None else json.dumps(
        held, ensure_ascii=False, indent=2, default=str)
    return Turn(role="tool", text=text)


def _session(attributes: Any) -> dict[str, Any]:
    named = _first_at(attributes, "gen_ai.conversation.id", "session.id")
    return {"session": str(named)} if named is not None else {}


_RESULT = "gen_ai.evaluation.result"


def _evaluations(events: Any, notes: Notes) -> Iterator[Remark]:
    """What evaluations said, of the events of a span."""
    for event in parsed_or_text(events) or ():
        if not isinstance(event, Mapping) or event.get("name") != _RESULT:
            continue
        result = nested(_attributes(event)).get("gen_ai", {}).get("evaluation", {})
        name, score = str(result["name"]), result.get("score") or {}
        value = score.get("value", score.get("label"))
        if score.get("value") is not None and score.get("label") is not None:
            notes.leave_out(f"labels beside a number, of {name}")
        if value is None:
            notes.leave_out(f"evaluations without a value, of {name}")
        else:
            yield Remark(name=name, value=value, reason=result.get("explanation"),
                         time=_time(event.get("timeUnixNano", event.get("timestamp"))))
