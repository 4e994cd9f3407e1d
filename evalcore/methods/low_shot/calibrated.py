"""`isotonic` and `platt`: calibrate the score on a few labels, and use the curve for the unlabelled items.

Baselines of Poms et al. (2021).  Isotonic regression (Zadrozny & Elkan 2002) assumes that higher scores are
no less likely positive; Platt's method (1999) fits p = expit(a s + b) by maximum likelihood to targets drawn
in from 0 and 1,

    t₊ = (n₊ + 1) / (n₊ + 2),   t₋ = 1 / (n₋ + 2),

so that a perfectly separated sample has a finite slope.  Neither samples more where it is unsure.
"""

from dataclasses import dataclass

import numpy as np

from assay.evalcore.label_models.isotonic import isotonic_rates
from assay.evalcore.methods.low_shot.platt import platt_rates
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
