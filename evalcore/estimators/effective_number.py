"""An interval for a proportion-like measure from its effective number of labels.

Korn & Graubard (1998, "Confidence intervals for proportions with small expected number of positive counts
estimated from survey data"): an estimate p with variance V is as good as n* = p (1 - p) / V labels of a
simple random sample would be, times (z / t)² for the degrees of freedom that V has.  The interval is the
exact one of Clopper & Pearson at n* labels, of which n* p are successes; n* need not be whole.
Unlike p ± z √V it does not close where all labels agree, and it is as skewed as it should be near 0 and 1.

    R   estimates
"""

import numpy as np
from scipy.special import betaincinv, ndtri, stdtrit

from assay.evalcore.estimators.intervals import Interval
from assay.evalcore.types import Floats


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
