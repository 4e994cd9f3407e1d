"""Messages of a chat, as logs keep them, to one text that people can read.

One message of a user is its own text. Several stand one below the other, each under its role in square
brackets. What is no text (pictures, sound, files) is named in square brackets, and noted.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from assay.tasks.connectors.notes import Notes


def as_text(messages: Any, notes: Notes) -> str | None:
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
