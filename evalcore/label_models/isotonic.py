"""Isotonic calibration: the rate of positives as a rising function of the score (Zadrozny & Elkan 2002).

The fit minimises Σ_c w_c (p_c - y_c)² under p_1 ≤ p_2 ≤ ..., by scipy's pool-adjacent-violators.  A prior
rate enters as fractional labels, so that cells without labels have a rate as well, and one label does not set
a whole end of the scale to 0 or 1.
"""

import numpy as np

from assay.evalcore.types import Floats, Ints

_A_TRACE = 1e-9   # a cell with neither label nor prior takes the rate of its neighbours


def isotonic_rates(labelled: Ints, prior_rate: Floats, prior_labels: Floats) -> Floats:
    """Calibrated positive rates (R, C), rising with the cell.

    labelled (R, C, 2): counts by cell and label, cells in order of score; prior_rate (C,) or (R, C);
    prior_labels (R, C): how many fractional labels the prior is worth in each cell.
    """
    from scipy.optimize import isotonic_regression  # a second to import, and few methods need it

    prior = np.maximum(prior_labels, _A_TRACE)
    weight = labelled.sum(axis=2) + prior
    mean = (labelled[:, :, 1] + prior * prior_rate) / weight
    return np.stack([isotonic_regression(y, weights=w).x for y, w in zip(mean, weight, strict=True)])


def isotonic_curve(score: Floats, labelled: Ints) -> Floats:
    """Calibrated rates (C,) at score (C,), rising, from labels alone.

    labelled (C, 2): items by label.  Between two labelled scores the curve is a straight line, and beyond the
    outermost it is level.  Without any label the rate is ½ everywhere.
    """
    from scipy.optimize import isotonic_regression

    n = labelled.sum(axis=1)
    at = np.flatnonzero(n > 0)
    if not len(at):
        return np.full(len(score), 0.5)
    at = at[np.argsort(score[at], kind="stable")]
    fitted = isotonic_regression(labelled[at, 1] / n[at], weights=n[at].astype(np.float64)).x
    return np.asarray(np.interp(score, score[at], fitted))
