"""One thing a check found."""

from dataclasses import dataclass
from typing import Literal

from assay.evalcore.types import JsonObject

Level = Literal["ok", "warning", "problem"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """`ok`: as it should be. `warning`: usable, with a loss. `problem`: to be remedied before anything."""

    level: Level
    about: str               # a column, a key of the spec, or one word such as "rows"
    says: str
    remedy: str | None = None

    def to_json(self) -> JsonObject:
        """Plain values."""
        return {"level": self.level, "about": self.about, "says": self.says, "remedy": self.remedy}


def ok(about: str, says: str) -> Finding:
    """As it should be."""
    return Finding(level="ok", about=about, says=says)


def warning(about: str, says: str, remedy: str) -> Finding:
    """Usable, with a loss."""
    return Finding(level="warning", about=about, says=says, remedy=remedy)


def problem(about: str, says: str, remedy: str) -> Finding:
    """It has to be remedied first."""
    return Finding(level="problem", about=about, says=says, remedy=remedy)
