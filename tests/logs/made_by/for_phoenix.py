"""Spans that OpenInference records of an agent, from a server of Arize Phoenix on this machine.

    python tests/logs/made_by/for_phoenix.py FOLDER
"""

import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import openai
from openinference.instrumentation.openai import OpenAIInstrumentor
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from phoenix.client import Client
from traced_agent import NUMBERS, address_of_model, ask, question

PORT = "16006"
SERVER = f"http://127.0.0.1:{PORT}"


def fetched(path):
    """What the server says."""
    with urllib.request.urlopen(SERVER + path, timeout=10) as reply:
        return reply.read()


def started(folder):
    """The server, once it answers."""
    settings = {"PHOENIX_WORKING_DIR": folder, "PHOENIX_HOST": "127.0.0.1", "PHOENIX_PORT": PORT,
                "PHOENIX_GRPC_PORT": "14317", "PHOENIX_TELEMETRY_ENABLED": "false"}
    process = subprocess.Popen(
        [sys.executable, "-m", "phoenix.server.main", "serve"], env=os.environ | settings,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )
    for _ in range(180):
        try:
            fetched("/healthz")
            return process
        except OSError:
            time.sleep(1)
    process.terminate()
    raise SystemExit("Phoenix did not start")


def record():
    """A trace for each number."""
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter(f"{SERVER}/v1/traces")))
    OpenAIInstrumentor().instrument(tracer_provider=provider)
    client = openai.OpenAI(base_url=address_of_model(), api_key="none")
    tracer = provider.get_tracer("made")

    def double(n):
        with tracer.start_as_current_span("double", attributes={
            "openinference.span.kind": "TOOL", "tool.name": "double", "input.value": f'{{"n": {n}}}',
            "output.value": str(2 * n),
        }):
            return str(2 * n)

    for i in NUMBERS:
        with tracer.start_as_current_span("agent", attributes={
            "openinference.span.kind": "AGENT", "input.value": question(i),
        }) as span:
            span.set_attribute("output.value", ask(client, "made-small", i, double))
    provider.shutdown()


def main(to):
    """A frame of spans as JSON and as Parquet, and the spans as the server lists them."""
    to.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        process = started(folder)
        try:
            record()
            time.sleep(5)
            spans = Client(base_url=SERVER).spans
            frame = spans.get_spans_dataframe(project_identifier="default", limit=1000)
            frame.to_json(to / "frame.json", orient="records", date_format="iso")
            frame.to_parquet(to / "frame.parquet")
            (to / "listed.json").write_bytes(fetched("/v1/projects/default/spans?limit=1000"))
        finally:
            process.terminate()
            process.wait()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
