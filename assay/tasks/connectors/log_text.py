"""Text in logs of other tools: lines of JSON, each of bounded length, and messages of a chat as one text.

One message of a user is its own text. Several stand one below the other, each under its role in square
brackets. What is no text (pictures, sound, files) is named in square brackets, and noted.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.evalcore.errors import BadInput
from assay.tasks.connectors.records import Notes

_LONGEST = 64 << 20       # bytes
_MOST_DIGITS = 300        # of a whole number that is a float, too


def json_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """(where a line begins, its object), blank lines left out. Raises BadInput naming the line."""
    with path.open("rb") as opened:
        place, number = 0, 0
        while line := opened.readline(_LONGEST + 1):
            number += 1
            if len(line) > _LONGEST:
                raise BadInput(f"{path}: line {number:,} is longer than {_LONGEST >> 20} MB")
            if not line.isspace():
                yield place, parsed_object(path, line, f"line {number:,}")
            place += len(line)


def json_line(path: Path, place: int) -> dict[str, Any]:
    """The object of the line that begins there."""
    with path.open("rb") as opened:
        opened.seek(place)
        return parsed_object(path, opened.readline(_LONGEST + 1), "a line")


def parsed_object(path: Path, text: bytes, what: str) -> dict[str, Any]:
    """A JSON object. Raises BadInput naming the file, and `what` of it, that is none."""
    try:
        found = sound_json(text)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{path}: {what} is not sound JSON ({error}); copy the file again") from None
    if not isinstance(found, dict):
        raise BadInput(f"{path}: {what} is no JSON object; is the file what it should be?")
    return found


def sound_json(text: bytes) -> Any:
    """A JSON text. Raises ValueError for one that is none, and for what no table can hold: half a sign of
    Unicode, and whole numbers of hundreds of digits."""
    found = json.loads(text, parse_int=_whole)
    if b"\\ud" in text or b"\\uD" in text:
        json.dumps(found, ensure_ascii=False).encode()
    return found


def _whole(digits: str) -> int:
    if len(digits) > _MOST_DIGITS:
        raise ValueError("a number is too large")
    return int(digits)


def short_values(given: dict[str, Any], without: tuple[str, ...] = ()) -> dict[str, Any]:
    """What can be a column: single values, texts of at most 40 characters, of other names than `without`."""
    return {
        name: value for name, value in given.items()
        if name not in without and isinstance(value, str | bool | int | float) and len(str(value)) <= SHORT
    }


SHORT = 40


# Messages.

def text_of_messages(messages: Any, notes: Notes) -> str | None:
    """A text, a message, or a list of messages with `role` and `content`."""
    if messages is None or isinstance(messages, str):
        return messages
    if isinstance(messages, Mapping):
        return content_text(messages.get("content"), notes)
    told = [m for m in messages if isinstance(m, Mapping)]
    if len(told) == 1:
        return content_text(told[0].get("content"), notes)
    blocks = [f"[{m.get('role', 'message')}]\n{content_text(m.get('content'), notes) or ''}" for m in told]
    return "\n\n".join(blocks)


def content_text(content: Any, notes: Notes) -> str | None:
    """The content of a message: text, or parts of which some are text."""
    if content is None or isinstance(content, str):
        return content
    parts = content if isinstance(content, Sequence) else [content]
    return "\n".join(filter(None, (_part(part, notes) for part in parts)))


def _part(part: Any, notes: Notes) -> str:
    if isinstance(part, str):
        return part
    if not isinstance(part, Mapping):
        return str(part)
    kind = str(part.get("type", "text"))
    if isinstance(part.get("text"), str):
        return str(part["text"])
    if kind == "reasoning":
        notes.leave_out("a model's reasoning")
        return ""
    name = kind.removesuffix("_url").removeprefix("input_")
    notes.leave_out(f"parts of messages that are no text: {name}")
    return f"[{name}]"
