"""Platt's curve: p = expit(a s + b), by maximum likelihood to targets drawn in from 0 and 1 (Platt 1999).

    t₊ = (n₊ + 1) / (n₊ + 2),   t₋ = 1 / (n₋ + 2),

so that a perfectly separated sample has a finite slope.
"""

import warnings

import numpy as np

from assay.evalcore.errors import needs
from assay.evalcore.types import Floats, Ints


def platt_rates(score: Floats, labelled: Ints) -> Floats:
    """Platt's curve (C,) at score (C,), fitted to labelled (C, 2): items by label."""
    with needs("scikit-learn", "Platt's curves"):   # also without labels: said before any is bought
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.linear_model import LogisticRegression

    negatives, positives = labelled.sum(axis=0)
    if not (negatives and positives):
        return np.full(len(score), (positives + 1) / (negatives + positives + 2))
    high, low = (positives + 1) / (positives + 2), 1 / (negatives + 2)
    # a label y with target t is t parts of a positive and 1 - t of a negative
    weight = np.concatenate([
        labelled[:, 1] * (1 - high) + labelled[:, 0] * (1 - low),
        labelled[:, 1] * high + labelled[:, 0] * low,
    ])
    used = weight > 0
    centre, scale = score.mean(), max(float(score.std()), 1e-12)
    x = ((np.tile(score, 2) - centre) / scale)[used, None]
    y = np.repeat([0, 1], len(score))[used]
    # a trace of a penalty: when all labelled items share a score, any slope is as good as any other
    curve = LogisticRegression(C=1e6, solver="newton-cholesky")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        curve.fit(x, y, sample_weight=weight[used])
    return np.asarray(curve.predict_proba(((score - centre) / scale)[:, None])[:, 1])
