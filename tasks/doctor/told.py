"""What somebody said about the columns of a file."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """None where nothing was said."""

    id: str | None = None
    score: str | None = None
    probability: str | None = None
    prediction: str | None = None
    label: str | None = None
    positive: str | None = None          # a class, as predictions or labels write it
    display: tuple[str, ...] = ()
