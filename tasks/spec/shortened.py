"""Values of a spec in messages: short, whatever somebody wrote there, and without writing all of it first."""

import reprlib
from typing import Any

_LONGEST = 60
_LONGEST_SENTENCE, _EITHER_SIDE = 1000, 300
_short = reprlib.Repr()
_short.maxlevel = 3
_short.maxdict = _short.maxlist = _short.maxtuple = _short.maxset = 12


def shortened(value: Any) -> str:
    """`repr` of a value, cut after 60 characters."""
    text = repr(value[:_LONGEST]) if isinstance(value, str) else _short.repr(value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def with_a_gap(text: str) -> str:
    """A sentence of a message, without its middle where it repeats something very long."""
    return text if len(text) <= _LONGEST_SENTENCE else f"{text[:_EITHER_SIDE]} ... {text[-_EITHER_SIDE:]}"
