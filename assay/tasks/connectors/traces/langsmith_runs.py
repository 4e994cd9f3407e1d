"""Runs of LangSmith: `client.list_runs` as JSON, one a line or in a list, or its bulk export as Parquet.

Feedback is a judge's verdict. Of several answers to one key LangSmith gives the mean and how often each was
given: the answers are kept where they are there, else the mean is a judge of its own.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from assay.tasks.connectors.records import Notes, Remark
from assay.tasks.connectors.traces.trajectory import SpanKind, TracedSpan, TraceImporter
from assay.tasks.connectors.turns import Turn, parsed_or_text, text_or_json, turns_of

_KINDS: Mapping[str, SpanKind] = {"llm": "model", "tool": "tool", "retriever": "tool"}
_INTERNAL = ("ls_", "LANGSMITH", "langgraph_", "revision_id", "session_id", "thread_id")


class LangsmithRuns(TraceImporter):
    """Runs of LangSmith."""

    name = "langsmith"
    reads = "runs of LangSmith (.json, .jsonl or .csv of list_runs, .parquet of a bulk export)"
    marks = ("run_type inputs",)

    def spans(self, value: Mapping[str, Any], notes: Notes) -> Iterator[TracedSpan]:
        """A run, and those inside it."""
        yield _run(value, notes)
        for inner in parsed_or_text(value.get("child_runs")) or ():
            trace = value.get("trace_id") or value["id"]
            yield from self.spans({"trace_id": trace, "parent_run_id": value["id"], **inner}, notes)


def _run(run: Mapping[str, Any], notes: Notes) -> TracedSpan:
    kind = _KINDS.get(str(run["run_type"]), "other")
    inputs, outputs = parsed_or_text(run.get("inputs")), parsed_or_text(run.get("outputs"))
    extra = parsed_or_text(run.get("extra"))
    data = parsed_or_text(extra.get("metadata")) if isinstance(extra, Mapping) else None
    data = data if isinstance(data, Mapping) else {}
    exact = kind == "tool"
    question = str(run.get("reference_example_id") or "")
    reference = parsed_or_text(run.get("reference_outputs", run.get("reference_output")))
    session = data.get("session_id") or data.get("thread_id")
    return TracedSpan(
        trace=str(run.get("trace_id") or run["id"]), id=str(run["id"]),
        parent=str(run.get("parent_run_id") or ""), kind=kind, name=str(run.get("name") or ""),
        start=str(run.get("dotted_order") or run.get("start_time") or ""),
        model=str(data.get("ls_model_name") or "") if kind == "model" else "",
        inputs=[_value(inputs)] if exact else turns_of(inputs, "user", notes),
        outputs=[_value(outputs)] if exact else turns_of(outputs, "assistant", notes),
        failed=bool(run.get("error")), question_id=question, reference=_value(reference).text or None,
        run=str(run.get("session_id") or "") if question else "",
        remarks=[*_feedback(parsed_or_text(run.get("feedback_stats")) or {}, notes)],
        about={**{name: inner for name, inner in data.items() if not name.startswith(_INTERNAL)},
               **({"session": str(session)} if session else {})},
    )


def _value(value: Any) -> Turn:
    """The lone value of a mapping without its name."""
    if isinstance(value, Mapping) and len(value) == 1:
        value = next(iter(value.values()))
    return Turn(role="tool", text=text_or_json(parsed_or_text(value)))


def _feedback(stats: Mapping[str, Any], notes: Notes) -> Iterator[Remark]:
    """Of the summary that a run has of each key: how many answers, their mean, and answers that are words."""
    for key, summary in stats.items():
        mean, values, answers = summary.get("avg"), summary.get("values") or {}, summary.get("n") or 1
        if values:
            (commonest, most), *rarer = sorted(values.items(), key=lambda pair: -pair[1])
            tied = bool(rarer) and rarer[0][1] == most
            yield Remark(name=key, value=None if tied else commonest)
            notes.leave_out(f"answers that differ from the commonest, to {key}",
                            sum(times for _, times in rarer) + tied * most)
        elif mean is not None and answers > 1 and mean not in (0, 1):
            yield Remark(name=f"{key} mean", value=mean)
        elif mean is not None:
            yield Remark(name=key, value=mean)
        else:
            notes.leave_out(f"feedback without a value, of {key}")
