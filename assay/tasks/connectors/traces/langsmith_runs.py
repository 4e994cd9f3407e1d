"""Runs and experiments of LangSmith.

    runs           `client.list_runs` as JSON, one a line or in a list, or the bulk export as Parquet
    experiments    `evaluate(...).to_pandas()`, `get_test_results` or what its page downloads, as CSV or
                   JSON: `inputs.question`, `outputs.answer`, `reference.answer`, `feedback.KEY`

Feedback is a judge's verdict. Of several answers to one key LangSmith gives the mean and how often each was
given: the answers are kept where they are there, else the mean is a judge of its own.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from assay.tasks.connectors.records import LogEntry, Notes, Remark
from assay.tasks.connectors.responses.verdicts import is_score
from assay.tasks.connectors.shapes import Scores, Shape, members, text_at, value_at
from assay.tasks.connectors.traces.trajectory import SpanKind, TracedSpan, TraceImporter, span_of

_KINDS: Mapping[str, SpanKind] = {"llm": "model", "tool": "tool", "retriever": "tool"}
_USED = frozenset((
    "inputs", "input", "outputs", "output", "reference_outputs", "reference_output", "reference", "feedback",
    "id", "example_id", "error", "status", "trace_id", "session_id", "experiment", "extra", "metadata",
    "name", "start_time", "end_time", "execution_time", "latency", "",
))
_INTERNAL = ("ls_", "LANGSMITH", "langgraph_", "revision_id", "session_id", "thread_id")


class LangsmithRuns(TraceImporter):
    """Runs of LangSmith, and rows of its experiments."""

    name = "langsmith"
    reads = ("runs of LangSmith and its experiments (.json, .jsonl or .csv of list_runs and to_pandas, "
             ".parquet of a bulk export)")
    marks = ("run_type inputs", "outputs feedback", "outputs execution_time", "outputs example_id",
             "inputs outputs reference_outputs")
    shape = Shape(
        trace="trace_id|id|example_id", id="id|example_id", parent="parent_run_id", name="name",
        kind="run_type", start="dotted_order|start_time", question="inputs|input", response="outputs|output",
        reference="reference_outputs|reference_output|reference", error="error", status="status",
        question_id="reference_example_id|example_id", run="session_id|experiment",
        about=("extra.metadata", "metadata"), session="extra.metadata.session_id|extra.metadata.thread_id",
        scores=(Scores(at="feedback", name="name|key", value="value|score", reason="comment"),),
    )

    def spans(self, value: LogEntry, notes: Notes) -> Iterator[TracedSpan]:
        """The spans of a run and of all runs inside it, the outer ones first; those inside take trace and
        parent from it where they name none."""
        kind_name = text_at(value, self.shape.kind)
        kind = _KINDS.get(kind_name, "other")
        span = span_of(
            value, self.shape, notes, kind=kind,
            model=text_at(value, "extra.metadata.ls_model_name") if kind == "model" else "",
            **({"id": str(value["id"])} if kind_name else {}))
        beside = {} if kind_name else {
            name: held for name, held in value.items() if name.partition(".")[0] not in _USED}
        scores = {name: held for name, held in beside.items() if is_score(name, [held], words=False)}
        about = {**span.about, **{name: held for name, held in beside.items() if name not in scores}}
        yield replace(
            span, run=span.run if span.question_id else "", remarks=[
                *span.remarks, *_feedback(value_at(value, "feedback_stats"), notes),
                *(Remark(name=name, value=held) for name, held in scores.items())],
            about={name: inner for name, inner in about.items() if not name.startswith(_INTERNAL)},
        )
        for inner in members(value.get("child_runs")):
            yield from self.spans({"trace_id": span.trace, "parent_run_id": value["id"], **inner}, notes)


def _feedback(stats: object, notes: Notes) -> Iterator[Remark]:
    """Of the summary that a run has of each key: how many answers, their mean, and answers that are words."""
    for summary in members(stats):
        key, mean, values, answers = (summary.get(name) for name in ("name", "avg", "values", "n"))
        if values:
            (commonest, count), *rarer = sorted(values.items(), key=lambda pair: -pair[1])
            tied = bool(rarer) and rarer[0][1] == count
            yield Remark(name=str(key), value=None if tied else commonest)
            notes.leave_out(f"answers that differ from the commonest, to {key}",
                            sum(times for _, times in rarer) + tied * count)
        elif mean is not None:
            several = (answers or 1) > 1 and mean not in (0, 1)
            yield Remark(name=f"{key} mean" if several else str(key), value=mean)
        else:
            notes.leave_out(f"feedback without a value, of {key}")
