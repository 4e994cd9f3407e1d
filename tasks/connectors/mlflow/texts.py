"""Inputs and outputs of a trace, which may be anything, as text that people can read."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from assay.tasks.connectors.messages import as_text
from assay.tasks.connectors.notes import Notes


def text_of(value: Any, notes: Notes) -> str | None:
    """A text as it is, messages as messages, the only value of a mapping; anything else as JSON."""
    if value is None or isinstance(value, str):
        return value or None
    if isinstance(value, Mapping):
        return _of_mapping(value, notes)
    if _are_messages(value):
        return as_text(value, notes)
    return json.dumps(value, ensure_ascii=False, indent=2)


def _of_mapping(value: Mapping[str, Any], notes: Notes) -> str | None:
    choices = value.get("choices")
    if isinstance(choices, Sequence) and choices and isinstance(choices[0], Mapping):
        return as_text(choices[0].get("message"), notes)
    if _are_messages(value.get("messages")):
        return as_text(value["messages"], notes)
    if _are_messages([value]):
        return as_text(value, notes)
    if len(value) == 1:
        return text_of(next(iter(value.values())), notes)
    return json.dumps(value, ensure_ascii=False, indent=2)


def _are_messages(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(
        isinstance(one, Mapping) and "role" in one and "content" in one for one in value
    )
