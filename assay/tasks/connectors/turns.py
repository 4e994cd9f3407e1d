"""Messages of a chat, in the forms in which tools write them, as turns of a conversation; and
as a page to read.

    OpenAI              role, content, tool_calls; tool_call_id of a tool's answer
    Anthropic           content in parts: text, tool_use, tool_result
    GenAI conventions   parts: text, tool_call, tool_call_response (OpenTelemetry)
    OpenInference       message.role, message.content, message.tool_calls, message.contents
    LangChain           type: human, ai, system, tool; also wrapped as {lc, id, kwargs}

What is none of these becomes text: a lone value as it is, anything else as JSON.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any

from assay.tasks.connectors.records import LogEntry, Notes

_DEEPEST = 30     # wrappings within each other


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """What a model asked of a tool, and what came back."""

    name: str
    arguments: str = ""            # JSON, or text
    result: str | None = None
    id: str = ""                   # by which its result names it


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One message of a conversation: who speaks, the text, and the calls of tools it makes; a message of a
    tool is the result of the call it names."""

    role: str
    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    answers: str = ""              # of a tool: the id of the call


def turns_of(value: object, role: str, notes: Notes) -> list[Turn]:
    """The turns in any value; `role` is of those that name none."""
    return list(_turns(value, role, notes, 0))


def text_of(value: object, notes: Notes, role: str = "user") -> str | None:
    """What people read of a text, a message, a list of messages or anything that holds some: a text as it is,
    one message without its role, several below each other, each under its role in square brackets."""
    if value is None or isinstance(value, str):
        return value or None
    turns = [turn for turn in turns_of(value, role, notes) if turn.text]
    if len(turns) > 1:
        return "\n\n".join(f"[{turn.role}]\n{turn.text}" for turn in turns)
    return only_text(turns)


def last_answer(turns: Sequence[Turn]) -> str | None:
    """The last text of an assistant; None where there is none."""
    return next((turn.text for turn in reversed(turns) if turn.role == "assistant" and turn.text), None)


def last_question(turns: Sequence[Turn]) -> str | None:
    """The last text of a user; None where there is none."""
    return only_text([turn for turn in turns if turn.role == "user"][-1:])


def text_or_json(value: object) -> str:
    """A text as it is, and anything else as JSON; nothing for None."""
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, ensure_ascii=False, indent=2, default=str)


def parsed_or_text(value: object) -> Any:
    """A JSON object or array that stands in a text, parsed; anything else as it is."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def only_text(turns: Sequence[Turn]) -> str | None:
    """What was said in them, one below the other; None where nothing was."""
    return "\n\n".join(turn.text for turn in turns if turn.text) or None


def _turns(value: object, role: str, notes: Notes, depth: int) -> Iterator[Turn]:
    original, value = value, parsed_or_text(value)
    if value is None or value == "":
        return
    if depth > _DEEPEST:
        raise ValueError("messages lie too deep within each other")
    if isinstance(value, Mapping):
        yield from _of_mapping(value, role, notes, depth, original)
    elif isinstance(value, Sequence) and not isinstance(value, str) and any(
        isinstance(member, Mapping | list | tuple) for member in value
    ):
        for member in value:
            yield from _turns(member, role, notes, depth + 1)
    else:
        yield Turn(role=role, text=text_or_json(original))


# what holds messages; the first that is there is looked into
_HOLDERS = ("messages", "choices", "generations", "message")
_OF_MESSAGES = frozenset(("content", "contents", "parts", "tool_calls", "additional_kwargs", "refusal"))
_VALUES = ("content", "output", "input", "question", "query", "answer", "response", "text", "value")
_LANGCHAIN = {"human": "user", "ai": "assistant", "system": "system", "tool": "tool", "function": "tool"}


def _of_mapping(
    value: LogEntry, role: str, notes: Notes, depth: int, original: object
) -> Iterator[Turn]:
    """original: the mapping, or the text that it stands in, which is a text of its own if it is no message"""
    if "kwargs" in value and "lc" in value:                          # LangChain, serialised
        yield from _of_mapping(dict(value["kwargs"]), role, notes, depth + 1, value["kwargs"])
        return
    if ("role" in value or value.get("type") in _LANGCHAIN) and not _OF_MESSAGES.isdisjoint(value):
        speaker = value.get("role") or _LANGCHAIN[str(value.get("type"))]
        yield from _message(value, str(speaker), notes)
        return
    for key in _HOLDERS:
        held = value.get(key)
        if isinstance(held, Mapping | list | tuple) and held:
            choice = held[:1] if key in ("choices", "generations") and isinstance(held, list) else held
            yield from _turns(choice, role, notes, depth + 1)
            return
    if "parts" in value:
        yield from _message(value, role, notes)
        return
    text_keys = [key for key in _VALUES if value.get(key) not in (None, "")]
    texts = [held for key, held in value.items() if isinstance(held, str | list | Mapping) and held]
    alone = len(texts) < 2 or role != "user"      # an answer may have sources beside it; a question is whole
    if text_keys and (len(value) == 1 or (alone and isinstance(value[text_keys[0]], str))):
        yield from _turns(value[text_keys[0]], role, notes, depth + 1)
    elif len(value) == 1:
        yield from _turns(next(iter(value.values())), role, notes, depth + 1)
    elif value:
        yield Turn(role=role, text=text_or_json(original))


def _message(message: LogEntry, role: str, notes: Notes) -> Iterator[Turn]:
    """One message: its text with its calls, and a turn for each result of a tool that stands in its parts."""
    texts: list[str] = []
    calls: list[ToolCall] = []
    results: list[Turn] = []
    parts = next((message[k] for k in ("parts", "contents", "content") if message.get(k)), None)
    for part in parts if isinstance(parts, list | tuple) else [parts]:
        _take_part(part, texts, calls, results, notes)
    calls += [_call(member) for member in message.get("tool_calls") or ()]
    extra = message.get("additional_kwargs")
    if not calls and isinstance(extra, Mapping):
        calls += [_call(member) for member in extra.get("tool_calls") or ()]
    role = {"human": "user", "ai": "assistant", "model": "assistant"}.get(role, role)
    if texts or calls or not results:
        answers = str(message.get("tool_call_id") or "") if role == "tool" else ""
        yield Turn(role=role, text="\n".join(texts), calls=tuple(calls), answers=answers)
    yield from results


def _take_part(
    part: object, texts: list[str], calls: list[ToolCall], results: list[Turn], notes: Notes
) -> None:
    if isinstance(part, Mapping) and isinstance(part.get("message_content"), Mapping):
        part = part["message_content"]
    if part is None:
        return
    if not isinstance(part, Mapping):
        texts.append(text_or_json(part))
        return
    kind = str(part.get("type", "text"))
    if kind in ("tool_call", "tool_use"):
        calls.append(_call(part))
    elif kind in ("tool_call_response", "tool_result"):
        content = next((part[k] for k in ("response", "result", "content") if part.get(k) is not None), "")
        results.append(Turn(
            role="tool", text=only_text(turns_of(content, "tool", notes)) or "",
            answers=str(part.get("id") or part.get("tool_use_id") or ""),
        ))
    elif kind in ("reasoning", "thinking"):
        notes.leave_out("a model's reasoning")
    else:
        content = part.get("text", part.get("content"))
        if isinstance(content, str):
            texts.append(content)
        else:
            name = kind.removesuffix("_url").removeprefix("input_")
            notes.leave_out(f"parts of messages that are no text: {name}")
            texts.append(f"[{name}]")


def _call(call: LogEntry) -> ToolCall:
    """Raises AttributeError for what is no mapping."""
    wrapped = call.get("tool_call")
    call = wrapped if isinstance(wrapped, Mapping) else call
    held = call.get("function")
    inner = held if isinstance(held, Mapping) else call
    arguments = next((inner[k] for k in ("arguments", "args", "input") if inner.get(k) is not None), "")
    name = held if isinstance(held, str) else inner.get("name")
    return ToolCall(
        name=str(name or "tool"), arguments=text_or_json(parsed_or_text(arguments)),
        id=str(call.get("id") or ""),
    )


def tells_more(story: Sequence[Turn]) -> bool:
    """Whether a conversation is more than a question and its answer."""
    outputs = [turn for turn in story if turn.role == "assistant"]
    questions = [turn for turn in story if turn.role == "user"]
    return len(outputs) > 1 or len(questions) > 1 or any(turn.calls or turn.role == "tool" for turn in story)


def with_results(turns: Iterable[Turn]) -> list[Turn]:
    """The turns of one conversation, results of tools in their calls."""
    story = Story()
    story.add_all(turns)
    return story.turns


class Story:
    """A conversation that is filled span by span."""

    def __init__(self) -> None:
        self.turns: list[Turn] = []
        self._times: Counter[tuple[str, ...]] = Counter()

    def add_all(self, turns: Iterable[Turn]) -> None:
        """Messages of one span."""
        here: Counter[tuple[str, ...]] = Counter()
        for turn in turns:
            calls = [f"{call.name} {call.arguments}" for call in turn.calls]
            key = (turn.role, turn.text.strip(), turn.answers, *calls)
            here[key] += 1
            if here[key] > self._times[key]:
                self._times[key] = here[key]
                if turn.role != "tool" or not self._answered(turn):
                    self.turns.append(turn)

    def add_call(self, call: ToolCall) -> None:
        """A tool that ran: the result of an open call of its name, else a step of its own."""
        result = call.result or ""
        if not self._filled(lambda listed: listed.name == call.name and listed.result is None, result):
            self.turns.append(Turn(role="tool", calls=(call,)))

    def _answered(self, turn: Turn) -> bool:
        by_id = turn.answers and self._filled(lambda call: call.id == turn.answers, turn.text)
        return bool(by_id) or self._filled(lambda call: call.result is None, turn.text)

    def _filled(self, fits: Callable[[ToolCall], bool], result: str) -> bool:
        for place, turn in enumerate(self.turns):
            for number, call in enumerate(turn.calls):
                if fits(call):
                    calls = [*turn.calls]
                    calls[number] = replace(call, result=result)
                    self.turns[place] = replace(turn, calls=tuple(calls))
                    return True
        return False


MOST_SHOWN = 20_000      # characters of one text; what is longer is cut, and says so


def trajectory_page(answer: str, turns: Sequence[Turn]) -> str:
    """The HTML in which people see one item: the final answer, and below it the turns that led to it, where
    there are any.

    A conversation as HTML that is safe to show: the final answer first, then every step.

    Calls of tools, and what the system was told, are folded.  Every text is escaped, no attribute is written,
    and the tags are those that the desks let through.
    """
    steps = "".join(piece for turn in turns for piece in _turn(turn))
    story = f"<h4>How it came about</h4>{steps}" if steps else ""
    return f"<h4>Final answer</h4>{_paragraph(answer)}{story}"


def _turn(turn: Turn) -> Iterator[str]:
    if turn.text and turn.role in ("system", "developer", "tool"):
        yield _folded(turn.role, _paragraph(turn.text))
    elif turn.text:
        yield f"<p><b>{escape(turn.role)}</b></p>{_paragraph(turn.text)}"
    for call in turn.calls:
        yield _folded(f"tool: {call.name}", _folded_call(call))


def _folded_call(call: ToolCall) -> str:
    result = "no result is recorded" if call.result is None else call.result
    arguments = f"<p>arguments</p>{_exact(call.arguments)}" if call.arguments else ""
    return f"{arguments}<p>result</p>{_exact(result)}"


def _folded(title: str, inside: str) -> str:
    return f"<details><summary>{escape(title)}</summary>{inside}</details>"


def _paragraph(text: str) -> str:
    return f"<p>{_cut(text).replace(chr(10), '<br>')}</p>"


def _exact(text: str) -> str:
    return f"<pre>{_cut(text)}</pre>"


def _cut(text: str) -> str:
    excess = len(text) - MOST_SHOWN
    return escape(text[:MOST_SHOWN]) + (f" [{excess:,} more characters]" if excess > 0 else "")
