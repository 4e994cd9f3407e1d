"""Where the parts of a response stand in what another tool writes: a table a tool, and one reader for all.

A path names keys from the outside in, parted by dots; several paths are parted by bars, and the first at
which something stands counts.  `traceId` means `trace_id` too, a key may itself have dots, columns
`outputs.a` and `outputs.b` are the object `outputs`, and JSON that stands in a text is opened.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from assay.tasks.connectors.records import Notes, Remark, SystemResponse
from assay.tasks.connectors.turns import (
    Turn,
    last_answer,
    last_question,
    parsed_or_text,
    tells_more,
    text_of,
    text_or_json,
    trajectory_page,
)


def value_at(record: object, paths: str) -> Any:
    """What stands at the first of these paths at which something does; None for nothing."""
    for path in paths.split("|") if paths else ():
        value = _at(record, path)
        if not _is_nothing(value):
            return value
    return None


def text_at(record: object, paths: str) -> str:
    """The same as a name: the value as text, and no letter for nothing."""
    value = value_at(record, paths)
    return "" if value is None else value if isinstance(value, str) else text_or_json(value)


def members(value: object) -> Iterator[Any]:
    """The members of a list, of one in a text too; of a mapping, objects with its keys as `name`, its values
    as `given`, and what these hold, or themselves as `value`."""
    parsed = parsed_or_text(value)
    if isinstance(parsed, Mapping):
        for name, inner in parsed.items():
            held = inner if isinstance(inner, Mapping) else {}
            yield {"value": inner, **held, "name": name, "given": inner}
    else:
        yield from parsed or ()


def _is_nothing(value: object) -> bool:
    return value is None or (isinstance(value, str | list | Mapping) and not value)


@lru_cache(1024)
def _ways(path: str) -> tuple[tuple[str, str], ...]:
    """Every key with which a path may begin, in both spellings, and the path behind it."""
    parts = path.split(".")
    ways = [(".".join(parts[:end]), ".".join(parts[end:])) for end in range(len(parts), 0, -1)]
    spelled = [(re.sub(r"[A-Z]", lambda capital: "_" + capital[0].lower(), key), rest) for key, rest in ways]
    return tuple(dict.fromkeys((*ways, *spelled)))


def _at(record: object, path: str) -> Any:
    record = parsed_or_text(record)
    if not isinstance(record, Mapping):
        return None
    for key, rest in _ways(path):
        if key in record:
            value = _at(record[key], rest) if rest else record[key]
            if not _is_nothing(value):
                return value
    start = f"{path}."
    names = [name for name in record if isinstance(name, str) and name.startswith(start)]
    columns = {name[len(start) :]: record[name] for name in names if record[name] is not None}
    return nested(columns) if columns else None


def nested(value: object) -> Any:
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


def _numbered(tree: dict[str, object]) -> Any:
    held = {name: _numbered(value) if isinstance(value, dict) else value for name, value in tree.items()}
    if held and all(name.isdecimal() and len(name) < 9 for name in held):
        return [held[name] for name in sorted(held, key=int)]
    return held


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """Where verdicts stand: those of a list, or of a mapping by name, and the parts of each."""

    at: str
    name: str = "name"
    value: str = "value"
    decisive: str = ""                  # a key that says it where it is there, whatever stands there
    reason: str = "reason"
    source: str = ""
    time: str = ""
    error: str = ""                     # of a grader that failed
    person: str = ""                    # where it stands who speaks
    people: tuple[str, ...] = ()        # what stands there of a person

    def remarks(self, record: object) -> Iterator[Remark]:
        """What was said. Raises KeyError for a verdict without a name."""
        for member in members(value_at(record, self.at)):
            name, reason = value_at(member, self.name), value_at(member, self.reason)
            if name is None:
                raise KeyError(self.name.rpartition("|")[2])
            yield Remark(
                name=name, value="error" if value_at(member, self.error) else value_at(
                    member, self.decisive if self.decisive in member else self.value),
                reason=reason if isinstance(reason, str) else None, source=text_at(member, self.source),
                time=text_at(member, self.time), by_person=text_at(member, self.person) in self.people,
            )


_FAILED = frozenset(("ERROR", "2", "STATUS_CODE_ERROR", "FAILED", "IN_PROGRESS", "PENDING"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """Where a tool writes the parts of a response, or of a span of a trace: paths for `value_at`."""

    question: str = ""
    response: str = ""
    reference: str = ""
    question_id: str = ""
    id: str = ""
    system: str = ""
    task: str = ""
    run: str = ""
    repeat: str = ""
    error: str = ""                     # a failure, if anything stands there
    status: str = ""                    # a failure, if one of _FAILED does
    about: tuple[str, ...] = ()         # objects with further values
    session: str = ""
    scores: tuple[Scores, ...] = ()
    # of spans
    trace: str = ""
    parent: str = ""
    name: str = ""
    kind: str = ""
    start: str = ""

    def has_failed(self, record: object) -> bool:
        """Whether it ended in an error."""
        status = text_at(record, self.status).upper().rpartition(".")[2]
        return status in _FAILED or value_at(record, self.error) not in (None, False)

    def remarks(self, record: object) -> list[Remark]:
        """All that was said."""
        return [remark for scores in self.scores for remark in scores.remarks(record)]

    def further(self, record: object) -> dict[str, Any]:
        """Further values, and the session."""
        held = {path: value_at(record, path) for path in self.about}
        about = {name: value for path, inner in held.items() if inner is not None
                 for name, value in (inner if isinstance(inner, Mapping) else {path: inner}).items()}
        return about | ({"session": session} if (session := text_at(record, self.session)) else {})

    def referred(self, record: object) -> str | None:
        """The reference: the value of an object that has one, and any of a list is right."""
        value = parsed_or_text(value_at(record, self.reference))
        value = next(iter(value.values())) if isinstance(value, Mapping) and len(value) == 1 else value
        values = value if isinstance(value, list) else [value]
        return " | ".join(map(text_or_json, values)) or None

    def response_of(
        self, record: object, notes: Notes, turns: Sequence[Turn] | None = None, **fields: Any
    ) -> SystemResponse | None:
        """The response in a record; None where it failed, and where there is none.

        turns    the conversation, where steps lie between question and response: people see them
        fields   those that do not stand at a path
        """
        if turns is not None:
            texts = texts_of_conversation(turns)
        else:
            answer = text_of(value_at(record, self.response), notes, "assistant")
            texts = {"question": text_of(value_at(record, self.question), notes), "response": answer}
        texts |= fields
        if texts["response"] is None or self.has_failed(record):
            return None
        remarks = [replace(remark, reason=None) if remark.reason == texts["response"] else remark
                   for remark in self.remarks(record)]
        return SystemResponse(**{
            **{name: text_at(record, getattr(self, name)) for name in ("id", "question_id", "task")},
            "system": text_at(record, self.system) or "model", "run": value_at(record, self.run),
            "repeat": int(value_at(record, self.repeat) or 0), "reference": self.referred(record),
            "remarks": remarks, "about": self.further(record), **texts,
        })


def texts_of_conversation(turns: Sequence[Turn]) -> dict[str, Any]:
    """Question, response and trajectory of a conversation."""
    answer = last_answer(turns)
    return {"question": last_question(turns), "response": answer,
            "trajectory": trajectory_page(answer or "", turns) if tells_more(turns) else None}
