"""A trace as a response: inputs of its first span are the question, outputs the response."""

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from assay.tasks.connectors.mlflow.assessments import said_of
from assay.tasks.connectors.mlflow.texts import text_of
from assay.tasks.connectors.notes import Notes
from assay.tasks.connectors.response import Plain, Response

_OF_EVALUATION, _MODEL, _SESSION = "mlflow.sourceRun", "mlflow.modelId", "mlflow.trace.session"


def response_of(trace: Mapping[str, Any], asked: dict[tuple[str, str], int], notes: Notes) -> Response | None:
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
    return Response(
        question_id=question_id, system=system, task=name, run=run, repeat=repeat, question=question,
        response=response, reference=said.reference, judged=said.judged, reasons=said.reasons,
        people=said.people, about=_about(tags, about),
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


def _about(tags: Mapping[str, Any], about: Mapping[str, Any]) -> dict[str, Plain]:
    """Tags that people gave, and the session."""
    told: dict[str, Plain] = {name: str(value) for name, value in tags.items() if "mlflow." not in name}
    return told | ({"session": str(about[_SESSION])} if about.get(_SESSION) else {})
