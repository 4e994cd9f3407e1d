"""What a section of the page about bins of a score or a probability needs."""

from collections.abc import Sequence
from dataclasses import dataclass

from assay.tasks.report import wording
from assay.tasks.report.figures.picture import Picture


@dataclass(frozen=True, slots=True, kw_only=True)
class BinSection:
    """A figure, and the table below it."""

    title: str
    caption: str
    figure: Picture
    heads: Sequence[str]                             # of all columns, that of the bin too
    rows: Sequence[tuple[str, Sequence[str]]]        # bin -> its numbers


def bin_label(lower: float, upper: float) -> str:
    """`0.1 to 0.2`, to three figures."""
    low, high = (wording.plain_number(float(f"{x:.3g}")) for x in (lower, upper))
    return f"{low} to {high}"
