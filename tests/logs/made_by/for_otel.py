"""Spans of the OpenTelemetry SDK with the attributes of the GenAI conventions.

    python tests/logs/made_by/for_otel.py FOLDER

The console exporter of the SDK writes one file.  The other is what the file exporter of a collector writes
of the same spans: the SDK's own OTLP message as JSON, with ids as hexadecimal numbers.
"""

import base64
import json
import sys
from pathlib import Path

from google.protobuf.json_format import MessageToDict
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from traced_agent import NUMBERS, answer, conversation, question

IDS = ("traceId", "spanId", "parentSpanId")


def as_parts(message):
    """A message as the conventions have it."""
    if message["role"] == "tool":
        parts = [{"type": "tool_call_response", "id": message["tool_call_id"],
                  "response": message["content"]}]
    elif message.get("tool_calls"):
        parts = [{"type": "tool_call", "id": call["id"], "name": call["function"]["name"],
                  "arguments": json.loads(call["function"]["arguments"])} for call in message["tool_calls"]]
    else:
        parts = [{"type": "text", "content": message["content"]}]
    return {"role": message["role"], "parts": parts}


def chat(tracer, given, said, finish):
    """The span of a call of the model."""
    attributes = {
        "gen_ai.operation.name": "chat", "gen_ai.provider.name": "made", "gen_ai.request.model": "made-small",
        "gen_ai.system_instructions": json.dumps(as_parts(given[0])["parts"]),
        "gen_ai.input.messages": json.dumps([as_parts(one) for one in given[1:]]),
        "gen_ai.output.messages": json.dumps([as_parts(said) | {"finish_reason": finish}]),
    }
    with tracer.start_as_current_span("chat made-small", attributes=attributes):
        pass


def trace(tracer, i):
    """One agent: the model, its tool, the model; then what an evaluator said."""
    given = conversation(i)
    with tracer.start_as_current_span("invoke_agent doubler", attributes={
        "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "doubler",
        "gen_ai.conversation.id": f"talk-{i % 2}",
        "gen_ai.input.messages": json.dumps([as_parts({"role": "user", "content": question(i)})]),
        "gen_ai.output.messages": json.dumps([as_parts({"role": "assistant", "content": answer(i)})]),
    }) as span:
        chat(tracer, given[:2], given[2], "tool_call")
        with tracer.start_as_current_span("execute_tool double", attributes={
            "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "double",
            "gen_ai.tool.call.id": f"call_{i}", "gen_ai.tool.call.arguments": f'{{"n": {i}}}',
            "gen_ai.tool.call.result": str(2 * i),
        }):
            pass
        chat(tracer, given, {"role": "assistant", "content": answer(i)}, "stop")
        right = float(str(2 * i) in answer(i))
        span.add_event("gen_ai.evaluation.result", {
            "gen_ai.evaluation.name": "right", "gen_ai.evaluation.score.value": right,
            "gen_ai.evaluation.score.label": "pass" if right else "fail",
            "gen_ai.evaluation.explanation": "looked for the number",
        })


def with_hexadecimal_ids(value):
    """Of a message as JSON, whose ids are in base 64."""
    if isinstance(value, list):
        return [with_hexadecimal_ids(one) for one in value]
    if not isinstance(value, dict):
        return value
    return {
        name: base64.b64decode(held).hex() if name in IDS else with_hexadecimal_ids(held)
        for name, held in value.items()
    }


def main(to):
    """Both files."""
    to.mkdir(parents=True, exist_ok=True)
    provider, kept = TracerProvider(), InMemorySpanExporter()
    with (to / "console.json").open("w") as out:
        provider.add_span_processor(SimpleSpanProcessor(ConsoleSpanExporter(out=out)))
        provider.add_span_processor(SimpleSpanProcessor(kept))
        for i in NUMBERS:
            trace(provider.get_tracer("made"), i)
        provider.shutdown()
    spans = kept.get_finished_spans()
    half = len(spans) // 2
    lines = [with_hexadecimal_ids(MessageToDict(encode_spans(some))) for some in (spans[:half], spans[half:])]
    (to / "collector.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
