"""Spans of a trace to one conversation, and the conversation as an item that people judge.

A model is given all that was said before, every time; so a message of a span is new only where the span has
more of its kind than the story so far.  A tool's result belongs to the call that names it, else to the first
open call of that tool.  Spans that are neither a model's nor a tool's only say what was asked and answered.
"""

from abc import abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from assay.evalcore.errors import BadInput
from assay.tasks.connectors.importer import LogImporter
from assay.tasks.connectors.place import Place, read_as
from assay.tasks.connectors.records import LogEntry, Notes, Remark, SystemResponse
from assay.tasks.connectors.shapes import Shape, text_at, value_at
from assay.tasks.connectors.turns import (
    Story,
    ToolCall,
    Turn,
    last_answer,
    last_question,
    only_text,
    parsed_or_text,
    tells_more,
    text_or_json,
    trajectory_page,
    turns_of,
)

SpanKind = Literal["model", "tool", "other"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedSpan:
    """One step of a trace, in the words of no tool."""

    trace: str
    id: str
    parent: str = ""
    kind: SpanKind = "other"
    name: str = ""
    start: str = ""                        # sorts as time does within one trace
    model: str = ""
    inputs: Sequence[Turn] = ()            # what went in; of a tool, its arguments
    outputs: Sequence[Turn] = ()           # what came out; of a tool, its result
    failed: bool = False
    question_id: str = ""                  # where the trace is of a question of a data set
    run: str = ""                          # and of one run of it
    reference: str | None = None
    remarks: Sequence[Remark] = ()
    about: LogEntry = field(default_factory=dict)


class TraceImporter(LogImporter):
    """A format that holds spans of traces. Spans of one trace may stand in several files."""

    @abstractmethod
    def spans(self, value: LogEntry, notes: Notes) -> Iterator[TracedSpan]:
        """The spans that an object, or a row, of a file holds."""

    def responses(self, place: Place, notes: Notes) -> Iterator[SystemResponse]:
        """The response of every trace of one place that has one; traces without, or that ended in an error,
        are counted in the notes. The spans are held in memory."""
        yield from self._of_places([place], notes)

    def files(self, places: Sequence[Place], notes: Notes) -> Iterator[tuple[str, Iterator[SystemResponse]]]:
        """All places as one, since a trace may go on in the next file. The spans are held in memory."""
        yield places[0].address, self._of_places(places, notes)

    def _of_places(self, places: Sequence[Place], notes: Notes) -> Iterator[SystemResponse]:
        traces: dict[str, list[dict[str, TracedSpan]]] = {}
        for place in places:
            for number, value in enumerate(place.values(), 1):
                with read_as(place, f"entry {number}", f"it is in {self.reads}"):
                    for span in self.spans(value, notes):
                        if not span.trace:
                            raise BadInput(f"{place.address}: a span names no trace; is the file sound?")
                        _add_span(traces.setdefault(span.trace, []), span, notes)
        for spans in (spans for versions in traces.values() for spans in versions):
            with read_as(places[0], "a trace", f"it is in {self.reads}"):
                response = response_of_trace([*spans.values()], notes)
            if not any(span.inputs or span.outputs or span.failed for span in spans.values()):
                notes.leave_out("what was said of traces that are not here: import the traces together with "
                                "it")
            elif response is None:
                notes.leave_out("traces that ended in an error, or without a response")
            else:
                yield response


def span_of(record: LogEntry, shape: Shape, notes: Notes, **fields: Any) -> TracedSpan:
    """The span in a record; of a tool, arguments and result are exactly what stands there.

    fields   those that do not stand at a path; `kind` is known to the importer alone
    """
    inputs, outputs = value_at(record, shape.question), value_at(record, shape.response)
    exact = fields.get("kind") == "tool"
    return TracedSpan(**{
        **{name: text_at(record, getattr(shape, name))
           for name in ("id", "trace", "parent", "name", "start", "question_id", "run")},
        "model": text_at(record, shape.system), "failed": shape.has_failed(record),
        "inputs": [exact_turn(inputs)] if exact else turns_of(inputs, "user", notes),
        "outputs": [exact_turn(outputs)] if exact else turns_of(outputs, "assistant", notes),
        "reference": shape.referred(record), "remarks": shape.remarks(record),
        "about": shape.further(record), **fields,
    })


def exact_turn(value: object) -> Turn:
    """Arguments or a result of a tool; of an object with nothing but `input` or `output`, that."""
    value = parsed_or_text(value)
    if isinstance(value, Mapping) and len(value) == 1:
        value = parsed_or_text(value.get("output", value.get("input", value)))
    return Turn(role="tool", text=text_or_json(value))


def _add_span(versions: list[dict[str, TracedSpan]], span: TracedSpan, notes: Notes) -> None:
    """Add a span to one of the versions of its trace, each by the ids of its spans.

    A span that came before (in an earlier export, or as a trace of its own) gets what is newly said of it;
    one with the same id and other content begins another version.
    """
    for spans in versions:
        earlier = spans.get(span.id)
        if earlier is not None and _may_be_same(earlier, span):
            fuller, lesser = (earlier, span) if earlier.inputs or earlier.outputs else (span, earlier)
            spans[span.id] = replace(
                fuller, inputs=fuller.inputs or lesser.inputs, outputs=fuller.outputs or lesser.outputs,
                model=fuller.model or lesser.model, question_id=fuller.question_id or lesser.question_id,
                run=fuller.run or lesser.run, about={**lesser.about, **fuller.about},
                reference=lesser.reference if fuller.reference is None else fuller.reference,
                remarks=[*earlier.remarks, *(r for r in span.remarks if r not in earlier.remarks)],
            )
            if span.outputs and spans[span.id] == replace(earlier, remarks=[*earlier.remarks]):
                notes.leave_out("steps of traces that came up again, with the same id and the same content")
            return
    if not versions or span.id in versions[-1]:
        versions.append({})
    versions[-1][span.id or f"span {len(versions[-1])}"] = span


def _may_be_same(earlier: TracedSpan, span: TracedSpan) -> bool:
    """Whether nothing that both have differs."""
    pairs = ((earlier.inputs, span.inputs), (earlier.outputs, span.outputs))
    return all(not old or not new or old == new for old, new in pairs)


def response_of_trace(spans: Sequence[TracedSpan], notes: Notes) -> SystemResponse | None:
    """What a trace comes to, with all that was said of it and of its steps; None without a response."""
    spans = [span for _, span in sorted(enumerate(spans), key=lambda pair: (pair[1].start, pair[0]))]
    ids = {span.id for span in spans}
    root = next((span for span in spans if not span.parent), None) or next(
        (span for span in spans if span.parent not in ids), spans[0])
    story = conversation(spans, root)
    answer = only_text([turn for turn in root.outputs if turn.role != "tool"][-1:]) or last_answer(story)
    if answer is None or (root.failed and not root.outputs):
        return None
    question = last_question(root.inputs) or only_text(root.inputs[-1:]) or last_question(story)
    models = list(dict.fromkeys(span.model for span in spans if span.model))
    return SystemResponse(
        id=root.trace, question_id=root.question_id or root.trace, run=root.run,
        system=" + ".join(models) or root.name or "traces", question=question, response=answer,
        reference=root.reference, remarks=[*root.remarks, *_of_steps(spans, root)],
        trajectory=trajectory_page(answer, story) if tells_more(story) else None,
        about={"trace_id": root.trace, "span_id": root.id, **root.about},
    )


def _of_steps(spans: Sequence[TracedSpan], root: TracedSpan) -> Iterator[Remark]:
    """What was said of steps, each with the name of its step as its source."""
    names: Counter[str] = Counter()
    for span in spans:
        if span is not root and span.remarks:
            name = span.name or "step"
            names[name] += 1
            step = f"{name} {names[name]}" if names[name] > 1 else name
            yield from (
                replace(remark, source=" ".join(filter(None, (remark.source, step)))) if not remark.by_person
                else remark for remark in span.remarks
            )


def conversation(spans: Sequence[TracedSpan], root: TracedSpan) -> list[Turn]:
    """Every message once, calls of tools with their results; without a model, between what the root was asked
    and what it answered."""
    story, modelled = Story(), any(span.kind == "model" for span in spans)
    steps = [span for span in spans if span.kind != "other"]
    if not modelled:
        steps = [replace(root, outputs=()), *steps, replace(root, inputs=())]
    for span in steps:
        if span.kind == "tool":
            arguments, result = only_text(span.inputs) or "", only_text(span.outputs) or ""
            story.add_call(ToolCall(name=span.name or "tool", arguments=arguments, result=result))
        else:
            story.add_all([*span.inputs, *span.outputs])
    return story.turns
