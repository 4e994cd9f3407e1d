"""The confidence at which the intervals of a curve's points hold all together.

Max-t (Hothorn, Bretz & Westfall 2008): with the points' errors jointly normal, of the correlations that the
labels show, c is the quantile of the largest error in units of its standard error.  Every point is given the
method's own interval at the confidence that puts its ends c standard errors out, so its degrees of freedom,
its skew and its bounds are kept.  Never wider than Bonferroni's, 1 - α/q.

The correlations are drawn towards 0, by NONE labels' worth, because few labels overstate them.
"""

import numpy as np
from scipy.special import ndtr

from assay.evalcore.randomness import stream
from assay.evalcore.rounding import is_nothing
from assay.evalcore.types import Floats

DRAWS = 4_096
NONE = 10.0


def together(parts: Floats, confidence: float) -> Floats:
    """(R,) the confidence of each of q intervals for all of them to hold with `confidence`.

    parts (R, n, q): what each label adds to the error of each number.
    """
    n, q = parts.shape[1:]
    product = np.einsum("rni,rnj->rij", parts, parts)
    spread = np.sqrt(np.diagonal(product, axis1=1, axis2=2))
    nothing = is_nothing(spread, spread.max(axis=1, keepdims=True))    # a point without an error
    scale = np.where(nothing, 1.0, spread)
    product = np.where(nothing[:, :, None] | nothing[:, None, :], 0.0, product)
    found = product / (scale[:, :, None] * scale[:, None, :])
    correlation = (n * found + NONE * np.eye(q)) / (n + NONE)
    own = np.sqrt(np.diagonal(correlation, axis1=1, axis2=2))
    root = np.linalg.cholesky(correlation / (own[:, :, None] * own[:, None, :]))
    normal = stream(0, "simultaneous", q, "draws").standard_normal((DRAWS, q))
    largest = np.stack([np.abs(normal @ one.T).max(axis=1) for one in root])
    most = np.quantile(largest, confidence, axis=1)
    return np.asarray(np.clip(2 * ndtr(most) - 1, confidence, 1 - (1 - confidence) / q))
