"""`isotonic` and `platt`: calibrate the score on a few labels, and use the curve for the unlabelled items.

Baselines of Poms et al. (2021).  Isotonic regression (Zadrozny & Elkan 2002) assumes that higher scores are
no less likely positive; Platt's method (1999) fits p = expit(a s + b) by maximum likelihood to targets drawn
in from 0 and 1,

    t₊ = (n₊ + 1) / (n₊ + 2),   t₋ = 1 / (n₋ + 2),

so that a perfectly separated sample has a finite slope.  Neither samples more where it is unsure.
"""

import warnings
from dataclasses import dataclass

import numpy as np

from assay.evalcore.label_models.isotonic import isotonic_rates
from assay.evalcore.methods.low_shot.plug_in import PlugIn, PlugInState
from assay.evalcore.types import Floats, Ints


@dataclass(frozen=True, slots=True)
class Isotonic(PlugIn):
    """The step curve, with the supplied probabilities worth one label as its start."""

    name: str = "isotonic"
    prior_labels: float = 1.0

    def rates(self, state: PlugInState) -> Floats:
        """The calibrated rate of each cell."""
        cells, domain = state.cells, state.domain
        spread = cells.size[domain] / cells.size[domain].sum()
        rates = np.zeros(state.left.shape)
        rates[:, domain] = isotonic_rates(
            state.labelled[:, domain],
            cells.mean_probability[domain],
            np.broadcast_to(self.prior_labels * spread, (len(rates), int(domain.sum()))),
        )
        return rates


@dataclass(frozen=True, slots=True)
class Platt(PlugIn):
    """The logistic curve.  Before both labels were seen it is the rate (n₊ + 1) / (n + 2) everywhere."""

    name: str = "platt"

    def rates(self, state: PlugInState) -> Floats:
        """The calibrated rate of each cell."""
        return np.stack([platt_rates(state.cells.mean_score, labels) for labels in state.labelled])


def platt_rates(score: Floats, labelled: Ints) -> Floats:
    """Platt's curve (C,) at score (C,), fitted to labelled (C, 2): items by label."""
    negatives, positives = labelled.sum(axis=0)
    if not (negatives and positives):
        return np.full(len(score), (positives + 1) / (negatives + positives + 2))
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

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
