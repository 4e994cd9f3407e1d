"""What is said of a window: ok, breach or inconclusive.

    breach          the evidence since the last breach is enough (`evalcore.monitoring.lifetime`).  In any
                    `horizon` windows, the chance of one or more false breaches is at most error_rate.
                    After a breach, a window whose own interval lies beyond the limit confirms it
    ok              this window's interval lies within the limits.  This speaks of one window, at the
                    confidence of its interval; it is not controlled over the life of a monitor
    inconclusive    neither

An exact value decides by itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Literal

from assay.evalcore.evaluation.stopping import Verdict
from assay.evalcore.monitoring.betting import Side

Source = Literal["draws", "exact", "none"]   # what the evidence of a window is made of


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedLimit:
    """What the measure must not be below (or above)."""

    side: Side
    value: float
    name: str      # floor, ceiling, reference or previous


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What the labels of a window say about one measure."""

    value: float | None
    lower: float | None
    upper: float | None
    confidence: float
    labels: int
    exact: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceVerdict:
    """The verdict on one place of a window (the pool, or a segment), with all it rests on."""

    segment: str | None                      # "column=value"; None: the whole pool
    measured: Measured
    limits: tuple[WatchedLimit, ...]
    factors: tuple[tuple[float, ...], ...]   # for each limit, the log factors (G,) of this window
    evidence: tuple[float, ...]              # for each limit, log, over the life since the last breach
    needed: float                            # log evidence that makes a breach
    verdict: Verdict
    source: Source = "none"                  # what the evidence of this window is made of
    # with a drop: what the measure is at least (or at most), by its draws; later windows are held against it
    sure: float | None = None


def pooled(parts: Sequence[Measured]) -> Measured:
    """One estimate from independent samples of the same window, each weighted by its number of labels.

    The distances to the ends of the intervals are added as standard errors are: as squares, weighted.  Where
    a sample is exact, that one is returned.  At least one sample.
    """
    exact = [p for p in parts if p.exact]
    if exact:
        return exact[-1]
    told = [p for p in parts if p.value is not None and p.lower is not None and p.upper is not None]
    labels = sum(p.labels for p in parts)
    if not told:
        return Measured(value=None, lower=None, upper=None, confidence=parts[0].confidence, labels=labels)
    total = sum(p.labels for p in told)
    value = down = up = 0.0
    for p in told:
        if p.value is None or p.lower is None or p.upper is None:
            continue
        share = p.labels / total
        value += share * p.value
        down += (share * (p.value - p.lower)) ** 2
        up += (share * (p.upper - p.value)) ** 2
    return Measured(
        value=value, lower=value - sqrt(down), upper=value + sqrt(up),
        confidence=told[0].confidence, labels=labels,
    )


def verdict_of(
    measured: Measured, limits: Sequence[WatchedLimit], alarm: bool, standing: bool = False
) -> Verdict:
    """The verdict on a place of a window.

    alarm      the evidence of the windows so far is enough for a breach
    standing   a breach was called before, and nothing has been ok since
    """
    if alarm:
        return "breach"
    if measured.lower is None or measured.upper is None:
        return "inconclusive"
    outside = any(
        measured.upper < limit.value if limit.side == "below" else measured.lower > limit.value
        for limit in limits
    )
    if standing and outside:
        return "breach"
    inside = all(
        measured.lower >= limit.value if limit.side == "below" else measured.upper <= limit.value
        for limit in limits
    )
    return "ok" if inside else "inconclusive"
