"""`isotonic` and `platt`: calibrate the score on a random sample, and use the curve for the unlabelled items.

ISO and PLATT of Poms et al. (2021), section 4.2.2: items are a uniform random sample of the pool, and
isotonic regression (Zadrozny & Elkan 2002) or Platt's method (1999) infers the labels of the others.
Isotonic regression assumes that higher scores are no less likely positive.  Neither samples more where it is
unsure.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from assay.evalcore.label_models.isotonic import isotonic_rates
from assay.evalcore.methods.capabilities import Capabilities
from assay.evalcore.methods.low_shot.calibration import Strata
from assay.evalcore.methods.low_shot.platt import platt_rates
from assay.evalcore.methods.low_shot.plug_in import PlugIn, PlugInState
from assay.evalcore.types import Floats


@dataclass(frozen=True, slots=True)
class Isotonic(PlugIn):
    """The isotonic curve; with `prior_labels` the supplied probabilities enter as labels."""

    name: str = "isotonic"
    capabilities: ClassVar[Capabilities] = Capabilities(whole_pool_only=True, spreads_evenly=True)

    prior_labels: float = 0.0   # that the supplied probabilities are worth; the paper has none

    def rates(self, state: PlugInState) -> Floats:
        """The calibrated rate of each cell."""
        cells, domain = state.cells, state.domain
        if self.prior_labels == 0:
            return Strata.of(cells).rates("isotonic", state.labelled)
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
    capabilities: ClassVar[Capabilities] = Capabilities(whole_pool_only=True, spreads_evenly=True)

    def rates(self, state: PlugInState) -> Floats:
        """The calibrated rate of each cell."""
        return np.stack([platt_rates(state.cells.mean_score, labels) for labels in state.labelled])
