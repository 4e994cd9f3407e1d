"""An interval for a proportion-like measure from its effective number of labels.

Korn & Graubard (1998, "Confidence intervals for proportions with small expected number of positive counts
estimated from survey data"): an estimate p with variance V is as good as n* = p (1 - p) / V labels of a
simple random sample would be, times (z / t)² for the degrees of freedom that V has.  The interval is the
exact one of Clopper & Pearson at n* labels, of which n* p are successes; n* need not be whole.
Unlike p ± z √V it does not close where all labels agree, and it is as skewed as it should be near 0 and 1.

    R   estimates
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv, ndtri, stdtrit

from assay.evalcore.estimators.intervals import Interval
from assay.evalcore.rounding import is_nothing
from assay.evalcore.types import Bools, Floats, Ints

TOO_FEW = "too few labels"   # the kind of an interval that is the whole range for want of labels
KIND = "effective-number"    # the kind of the others
FEWEST = 10             # labels that matter; with fewer no interval is given
FEWEST_EFFECTIVE = 4.0  # labels of a simple random sample that they are worth


def effective_number(value: Floats, variance: Floats, labels: Floats, confidence: float) -> Floats:
    """n* (R,): what the labels are worth in a simple random sample.

    value (R,) between 0 and 1, kept off both by half a label; variance (R,) of it, above 0; labels (R,) that
    V rests on.
    """
    half = 0.5 / np.maximum(labels, 1.0)
    p = np.clip(value, half, 1 - half)
    tail = 0.5 + confidence / 2
    student = np.asarray(stdtrit(np.maximum(labels - 1, 1.0), tail), dtype=np.float64)
    return np.asarray(p * (1 - p) / np.maximum(variance, 1e-30) * (float(ndtri(tail)) / student) ** 2)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rated:
    """Intervals of R estimates, and where there were too few labels for one."""

    interval: Interval
    number: Floats    # (R,) n*
    too_few: Bools    # (R,) the interval is the whole range


def interval_of(
    value: Floats, variance: Floats, labels: Ints, most: Floats, confidence: float,
    bounds: tuple[float, float],
) -> Rated:
    """The interval of a measure (R,) with these bounds, by its effective number of labels.

    variance (R,), 0 or infinite where it is not known; labels (R,) that can change the measure; most (R,):
    the largest effective number to believe.  With fewer than FEWEST labels, an effective number below
    FEWEST_EFFECTIVE, or no variance, it is the whole range.
    """
    lowest, highest = bounds
    span = highest - lowest
    safe = np.clip(np.nan_to_num((value - lowest) / span), 0.0, 1.0)
    spread = np.nan_to_num(variance, posinf=1e30) / span**2
    number = np.minimum(effective_number(safe, spread, labels.astype(np.float64), confidence), most)
    unknown = ~np.isfinite(value) | is_nothing(np.sqrt(np.maximum(variance, 0.0)), span)
    too_few = np.asarray((labels < FEWEST) | (number < FEWEST_EFFECTIVE) | unknown)
    ends = clopper_pearson(safe, np.where(too_few, 1.0, number), confidence)
    return Rated(
        interval=Interval(
            lower=np.where(too_few, lowest, lowest + span * ends.lower),
            upper=np.where(too_few, highest, lowest + span * ends.upper),
        ),
        number=number, too_few=too_few,
    )


def clopper_pearson(value: Floats, number: Floats, confidence: float) -> Interval:
    """The exact interval of a proportion (R,) among so many labels (R,), which need not be whole numbers."""
    tail = (1 - confidence) / 2
    yes, no = np.maximum(value * number, 0.0), np.maximum((1 - value) * number, 0.0)
    low = betaincinv(np.maximum(yes, 1e-9), no + 1, tail)
    high = betaincinv(yes + 1, np.maximum(no, 1e-9), 1 - tail)
    return Interval(
        lower=np.where(yes > 1e-9, np.nan_to_num(low, nan=0.0), 0.0),
        upper=np.where(no > 1e-9, np.nan_to_num(high, nan=1.0), 1.0),
    )
