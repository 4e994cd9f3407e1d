"""What a forecast waits for, and how far from it an estimate is.

    K   worlds played side by side
"""

from dataclasses import dataclass

import numpy as np

from assay.evalcore.errors import BadInput
from assay.evalcore.measures.base import Measure
from assay.evalcore.types import Floats

NEVER = np.inf   # how far off an estimate is that cannot meet any goal yet


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """What is waited for: one of these.  Widths are of the interval of the first measure.

    Raises BadInput unless exactly one is given.
    """

    half_width: float | None = None
    variance: float | None = None
    threshold: tuple[float | None, float | None] | None = None   # (min, max): cleared or missed

    def __post_init__(self) -> None:
        given = [x for x in (self.half_width, self.variance, self.threshold) if x is not None]
        if len(given) != 1:
            raise BadInput(f"a goal is one of half_width, variance and threshold, got {len(given)} of them")

    def distance(self, measure: Measure, lower: Floats, upper: Floats, variance: Floats) -> Floats:
        """How far (K,) from the goal: the log of width or variance over the target; 1 or -1 for a verdict.

        lower, upper (K,): ends of the interval, the measure's own where they are not finite; variance (K,).
        A goal is met at 0 and below.
        """
        lower, upper = (
            np.where(np.isfinite(end), end, bound)
            for end, bound in zip((lower, upper), measure.bounds, strict=True)
        )
        with np.errstate(divide="ignore"):
            if self.half_width is not None:
                return np.asarray(np.log((upper - lower) / 2 / self.half_width))
            if self.variance is not None:
                return np.asarray(np.log(variance / self.variance) / 2)
        low, high = self.threshold or (None, None)
        low, high = -np.inf if low is None else low, np.inf if high is None else high
        inside = (lower >= low) & (upper <= high)
        return np.where(inside | (upper < low) | (lower > high), -1.0, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """Labels in all, those there are included, until a goal is met; None: more than `horizon`."""

    goal: Goal
    labels: int | None       # median over the worlds
    low: int | None          # the middle 80% of the worlds
    high: int | None
    horizon: int             # labels up to which the worlds were played
    share: float             # of the worlds that met the goal within the horizon
    labels_now: int
    worlds: int
    # with 95%, where the median over endlessly many worlds lies, and how far off `share` may be; None: the
    # worlds were not drawn at random
    least: int | None = None
    most: int | None = None          # None beside a number in `least`: more than `horizon`
    share_error: float | None = None

    @property
    def more(self) -> int | None:
        """Labels that are still missing, by the median."""
        return None if self.labels is None else max(self.labels - self.labels_now, 0)
