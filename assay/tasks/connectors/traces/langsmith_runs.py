"""Runs of LangSmith: `client.list_runs` as JSON, one a line or in a list, or its bulk export as Parquet.

Feedback that was given once is a judge's verdict; several answers to one key are their mean.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from assay.tasks.connectors.importer import Place, read_as
from assay.tasks.connectors.log_text import short_values
from assay.tasks.connectors.records import Notes, Plain, Verdict
from assay.tasks.connectors.traces.otel_spans import json_values, parquet_names, parquet_rows
from assay.tasks.connectors.traces.trajectory import SpanKind, TracedSpan, TraceImporter
from assay.tasks.connectors.turns import Turn, parsed_or_text, text_or_json, turns_of

_RUN = re.compile(rb'\s*\[?\s*\{.*"run_type"\s*:\s*"', re.S)
_KINDS: Mapping[str, SpanKind] = {"llm": "model", "tool": "tool", "retriever": "tool"}


class LangsmithRuns(TraceImporter):
    """Runs of LangSmith."""

    name = "langsmith"
    reads = "runs of LangSmith (.json or .jsonl of list_runs, .parquet of a bulk export)"

    def fits(self, place: Place) -> bool:
        """JSON or Parquet with the fields of runs."""
        if place.start.startswith(b"PAR1"):
            return {"run_type", "inputs", "outputs"} <= set(parquet_names(place))
        return _RUN.match(place.start) is not None and b'"inputs"' in place.start

    def spans(self, place: Place, notes: Notes) -> Iterator[TracedSpan]:
        """A run each."""
        rows = parquet_rows(place) if place.start.startswith(b"PAR1") else json_values(place)
        for number, run in enumerate(rows, 1):
            with read_as(place, f"entry {number}", "LangSmith writes runs"):
                yield from _runs(run, notes)


def _runs(run: Mapping[str, Any], notes: Notes) -> Iterator[TracedSpan]:
    yield _run(run, notes)
    for inner in run.get("child_runs") or ():
        yield from _runs({"trace_id": run.get("trace_id") or run["id"], **inner}, notes)


def _run(run: Mapping[str, Any], notes: Notes) -> TracedSpan:
    kind = _KINDS.get(str(run["run_type"]), "other")
    given, said = parsed_or_text(run.get("inputs")), parsed_or_text(run.get("outputs"))
    data = (parsed_or_text(run.get("extra")) or {}).get("metadata") or {}
    exact = kind == "tool"
    return TracedSpan(
        trace=str(run.get("trace_id") or run["id"]), id=str(run["id"]),
        parent=str(run.get("parent_run_id") or ""), kind=kind, name=str(run.get("name") or ""),
        start=str(run.get("dotted_order") or run.get("start_time") or ""),
        model=str(data.get("ls_model_name") or "") if kind == "model" else "",
        given=[_value(given)] if exact else turns_of(given, "user", notes),
        said=[_value(said)] if exact else turns_of(said, "assistant", notes),
        failed=bool(run.get("error")), question_id=str(run.get("reference_example_id") or ""),
        run=str(run.get("session_id") or "") if run.get("reference_example_id") else "",
        judged=_feedback(parsed_or_text(run.get("feedback_stats")) or {}), about=_about(data),
    )


def _value(held: Any) -> Turn:
    """The lone value of a mapping without its name."""
    if isinstance(held, Mapping) and len(held) == 1:
        held = next(iter(held.values()))
    return Turn(role="tool", text=text_or_json(parsed_or_text(held)))


def _feedback(stats: Mapping[str, Any]) -> dict[str, Verdict | None]:
    found: dict[str, Verdict | None] = {}
    for key, told in stats.items():
        mean, values = told.get("avg"), told.get("values") or {}
        if isinstance(mean, int | float):
            found[key] = mean
        elif len(values) == 1:
            found[key] = str(next(iter(values)))
    return found


def _about(data: Mapping[str, Any]) -> dict[str, Plain]:
    told: dict[str, Plain] = {
        name: value for name, value in short_values(dict(data)).items()
        if not name.startswith(("ls_", "LANGSMITH", "langgraph_", "revision_id"))
    }
    session = data.get("session_id") or data.get("thread_id")
    return {n: v for n, v in told.items() if n not in ("session_id", "thread_id")} | (
        {"session": str(session)} if session else {})
