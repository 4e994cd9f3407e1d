"""The little drawings of intervals beside the numbers of a table, all of a table on one scale."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil, floor

from assay.tasks.report import wording
from assay.tasks.report.data import EstimateRow

_WIDTH, _HEIGHT = 150, 14     # CSS pixels


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """An interval drawn on a scale from `scale_from` to `scale_to`: CSS pixels from the left."""

    width: int
    height: int
    value: float | None
    lower: float | None
    upper: float | None
    limits: tuple[float, ...]
    truth: float | None
    reference: float | None
    scale_from: str
    scale_to: str


def interval_bar(
    row: EstimateRow, lowest: float, highest: float, *, limits: Sequence[float | None] = (),
    truth: float | None = None, reference: float | None = None,
) -> Bar:
    """An estimate on a scale from `lowest` to `highest`, with what else is marked on it."""
    def at(x: float | None) -> float | None:
        return None if x is None else round(2 + (x - lowest) / (highest - lowest) * (_WIDTH - 4), 2)

    return Bar(
        width=_WIDTH,
        height=_HEIGHT,
        value=at(row.value),
        lower=at(row.lower),
        upper=at(row.upper),
        limits=tuple(x for x in map(at, limits) if x is not None),
        truth=at(truth),
        reference=at(reference),
        scale_from=wording.plain(lowest),
        scale_to=wording.plain(highest),
    )


def lowest_of(rows: Iterable[EstimateRow]) -> float:
    """Where a drawn scale begins: at 0, or at −1 or the next whole number below anything negative on it."""
    lowest = min([0.0, *(x for row in rows for x in (row.value, row.lower) if x is not None)])
    return 0.0 if lowest == 0 else float(min(floor(lowest), -1))


def highest_of(rows: Iterable[EstimateRow]) -> float:
    """Where a drawn scale ends: at 1, or at the next whole number above everything on it."""
    return float(ceil(max([1.0, *(x for row in rows for x in (row.value, row.upper) if x is not None)])))
