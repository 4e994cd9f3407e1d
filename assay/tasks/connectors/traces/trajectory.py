"""Spans of a trace to one conversation, and the conversation as an item that people judge.

A model is given all that was said before, every time; so a message of a span is new only where the span has
more of its kind than the story so far.  A tool's result belongs to the call that names it, else to the first
open call of that tool.  Spans that are neither a model's nor a tool's only say what was asked and answered.
"""

from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from assay.evalcore.errors import BadInput
from assay.tasks.connectors.importer import LogImporter, Place
from assay.tasks.connectors.records import Notes, Plain, SystemResponse, Verdict
from assay.tasks.connectors.turns import ToolCall, Turn, only_text, trajectory_page

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
    given: Sequence[Turn] = ()             # what went in; of a tool, its arguments
    said: Sequence[Turn] = ()              # what came out; of a tool, its result
    failed: bool = False
    question_id: str = ""                  # where the trace is of a question of a data set
    run: str = ""                          # and of one run of it
    reference: str | None = None
    judged: Mapping[str, Verdict | None] = field(default_factory=dict)
    reasons: Mapping[str, str] = field(default_factory=dict)
    people: Mapping[str, Verdict | None] = field(default_factory=dict)
    about: Mapping[str, Plain] = field(default_factory=dict)


class TraceImporter(LogImporter):
    """A format that holds spans of traces."""

    @abstractmethod
    def spans(self, place: Place, notes: Notes) -> Iterator[TracedSpan]:
        """Every span of a place, in any order. Raises BadInput as `responses` does."""

    def responses(self, place: Place, notes: Notes) -> Iterator[SystemResponse]:
        """Of every trace that has a response. The spans of a place are held in memory."""
        traces: dict[str, list[TracedSpan]] = {}
        for span in self.spans(place, notes):
            if not span.trace:
                raise BadInput(f"{place.given}: a span names no trace; is the file sound?")
            traces.setdefault(span.trace, []).append(span)
        for spans in traces.values():
            found = response_of_trace(spans, notes)
            if found is None:
                notes.leave_out("traces that ended in an error, or without a response")
            else:
                yield found


def response_of_trace(spans: Sequence[TracedSpan], notes: Notes) -> SystemResponse | None:
    """None for a trace without a response."""
    spans = [span for _, span in sorted(enumerate(spans), key=lambda one: (one[1].start, one[0]))]
    known = {span.id for span in spans}
    root = next((span for span in spans if not span.parent), None) or next(
        (span for span in spans if span.parent not in known), spans[0])
    story = conversation(spans, root)
    answer = only_text([turn for turn in root.said if turn.role != "tool"][-1:]) or next(
        (turn.text for turn in reversed(story) if turn.role == "assistant" and turn.text), None)
    if answer is None or (root.failed and not root.said):
        return None
    asked = [turn for turn in root.given if turn.role == "user"] or list(root.given)
    asked = asked or [turn for turn in story if turn.role == "user"]
    models = list(dict.fromkeys(span.model for span in spans if span.model))
    judged: dict[str, Verdict | None] = {}
    people: dict[str, Verdict | None] = {}
    reasons: dict[str, str] = {}
    for span in (*reversed(spans), root):         # what is said of the whole counts before what is of a step
        judged |= span.judged
        people |= span.people
        reasons |= span.reasons
    return SystemResponse(
        question_id=root.question_id or root.trace, system=" + ".join(models) or root.name or "traces",
        task="", run=root.run, question=only_text(asked[-1:]), response=answer, reference=root.reference,
        judged=judged, reasons=reasons, people=people,
        trajectory=trajectory_page(answer, story) if tells_more(story) else None,
        about={"trace_id": root.trace, "span_id": root.id, **root.about},
    )


def tells_more(story: Sequence[Turn]) -> bool:
    """Whether a conversation is more than a question and its answer."""
    said = [turn for turn in story if turn.role == "assistant"]
    asked = [turn for turn in story if turn.role == "user"]
    return len(said) > 1 or len(asked) > 1 or any(turn.calls or turn.role == "tool" for turn in story)


def conversation(spans: Sequence[TracedSpan], root: TracedSpan) -> list[Turn]:
    """Every message once, calls of tools with their results; without a model, between what the root was asked
    and what it answered."""
    story, modelled = _Story(), any(span.kind == "model" for span in spans)
    steps = [span for span in spans if span.kind != "other"]
    if not modelled:
        steps = [replace(root, said=()), *steps, replace(root, given=())]
    for span in steps:
        if span.kind == "tool":
            arguments, result = only_text(span.given) or "", only_text(span.said) or ""
            story.add_call(ToolCall(name=span.name or "tool", arguments=arguments, result=result))
        else:
            story.add_all([*span.given, *span.said])
    return story.turns


def with_results(turns: Iterable[Turn]) -> list[Turn]:
    """The turns of one conversation, results of tools in their calls."""
    story = _Story()
    story.add_all(turns)
    return story.turns


class _Story:
    """Filled span by span."""

    def __init__(self) -> None:
        self.turns: list[Turn] = []
        self._told: Counter[tuple[str, ...]] = Counter()

    def add_all(self, turns: Iterable[Turn]) -> None:
        """Messages of one span."""
        here: Counter[tuple[str, ...]] = Counter()
        for turn in turns:
            calls = [f"{one.name} {one.arguments}" for one in turn.calls]
            key = (turn.role, turn.text.strip(), turn.answers, *calls)
            here[key] += 1
            if here[key] > self._told[key]:
                self._told[key] = here[key]
                if turn.role != "tool" or not self._answered(turn):
                    self.turns.append(turn)

    def add_call(self, call: ToolCall) -> None:
        """A tool that ran: the result of an open call of its name, else a step of its own."""
        if not self._filled(lambda one: one.name == call.name and one.result is None, call.result or ""):
            self.turns.append(Turn(role="tool", calls=(call,)))

    def _answered(self, turn: Turn) -> bool:
        by_id = turn.answers and self._filled(lambda one: one.id == turn.answers, turn.text)
        return bool(by_id) or self._filled(lambda one: one.result is None, turn.text)

    def _filled(self, fits: Callable[[ToolCall], bool], result: str) -> bool:
        for place, turn in enumerate(self.turns):
            for number, call in enumerate(turn.calls):
                if fits(call):
                    calls = [*turn.calls]
                    calls[number] = replace(call, result=result)
                    self.turns[place] = replace(turn, calls=tuple(calls))
                    return True
        return False
