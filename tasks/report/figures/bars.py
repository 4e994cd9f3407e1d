"""The little drawings of intervals beside the numbers of a table, all of a table on one scale."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil, floor, inf, isfinite, log10

from assay.evalcore.outcomes.base import OutcomeKind
from assay.tasks.report import wording
from assay.tasks.report.data import EstimateRow

_WIDTH, _HEIGHT = 150, 14     # CSS pixels


@dataclass(frozen=True, slots=True, kw_only=True)
class IntervalBar:
    """An interval drawn on a scale from `scale_from` to `scale_to`: CSS pixels from the left."""

    width: int
    height: int
    value: float | None
    lower: float | None
    upper: float | None
    wide_lower: float | None     # of the wide interval, where there is one
    wide_upper: float | None
    limits: tuple[float, ...]
    truth: float | None
    reference: float | None
    scale_from: str
    scale_to: str


def interval_bar(
    row: EstimateRow, lowest: float, highest: float, *, limits: Sequence[float | None] = (),
    truth: float | None = None, reference: float | None = None,
) -> IntervalBar:
    """An estimate on a scale from `lowest` to `highest`, with what else is marked on it."""
    def at(x: float | None) -> float | None:
        return None if x is None else round(2 + (x - lowest) / (highest - lowest) * (_WIDTH - 4), 2)

    wide_lower, wide_upper = _wide(row)
    return IntervalBar(
        width=_WIDTH,
        height=_HEIGHT,
        value=at(row.value),
        lower=at(row.lower),
        upper=at(row.upper),
        wide_lower=at(wide_lower),
        wide_upper=at(wide_upper),
        limits=tuple(x for x in map(at, limits) if x is not None),
        truth=at(truth),
        reference=at(reference),
        scale_from=wording.plain_number(lowest),
        scale_to=wording.plain_number(highest),
    )


def scale_of_bars(rows: Iterable[EstimateRow], outcome: OutcomeKind | None) -> tuple[float, float]:
    """The ends of a scale that these estimates are drawn on: those of their measures, where they have ends.

    A grade from 1 to 5 is drawn from 1 to 5, a share from 0 to 1. A measure without an end ends at the next
    whole number beyond everything that is drawn. What may be negative and is not, such as kappa, begins at 0.
    Differences of systems have 0 in the middle.
    """
    drawn = list(rows)
    wide = [_wide(row) for row in drawn]
    seen = [x for row, ends in zip(drawn, wide, strict=True) for x in (row.value, row.lower, row.upper, *ends)
            if x is not None]
    if drawn and any(row.versus is not None for row in drawn):
        far = _round_number(max([abs(x) for x in seen], default=0.0))
        return -far, far
    low, high = _bounds(drawn, outcome)
    least, most = min(seen, default=0.0), max(seen, default=1.0)
    if not isfinite(low):
        low = 0.0 if least >= 0 else float(min(floor(least), -1))
    elif low == -1 and least >= 0:
        low = 0.0
    return low, high if isfinite(high) else float(max(ceil(most), 1))


def _round_number(most: float) -> float:
    """The next of 0.1, 0.2, 0.5, 1 ... beyond it; from 0.01 on."""
    power = 10.0 ** floor(log10(max(most * 1.1, 0.01)))
    return next(float(f"{step * power:.6g}") for step in (1, 2, 5, 10) if step * power >= most * 1.1)


def _bounds(rows: Sequence[EstimateRow], outcome: OutcomeKind | None) -> tuple[float, float]:
    """From the smallest to the largest value that any of the measures can have."""
    if not rows:
        return -inf, inf
    ends = [wording.measure_bounds(row.measure, outcome) for row in rows]
    return min(low for low, _ in ends), max(high for _, high in ends)


def _wide(row: EstimateRow) -> tuple[float | None, float | None]:
    tag = row.price_tag
    return (None, None) if tag is None else (tag.wide_lower, tag.wide_upper)
