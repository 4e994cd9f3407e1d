"""Preferences: which of two answers is better, or neither."""

from dataclasses import dataclass
from typing import ClassVar

from assay.evalcore.outcomes.classes import Classes

_WORTH = (1.0, 0.0, 0.5)   # a win of the first, of the second, a tie


@dataclass(frozen=True, slots=True)
class Preferences(Classes):
    """Two or three classes: the first wins, the second wins, a tie. Their values are 1, 0 and 1/2."""

    name: ClassVar[str] = "preference"


def preferences(first: str, second: str, tie: str | None) -> Preferences:
    """The outcomes of comparing two answers; tie: what that is called, None where there are none."""
    names = (first, second) if tie is None else (first, second, tie)
    return Preferences(names=names, values=_WORTH[: len(names)])
