"""A warm start: the label model after earlier labels, beside one that ignores them.

Labels of an earlier window, discounted, update each configuration as labels of this pool would: a power prior
(Ibrahim & Chen 2000).  The Laplace fit β ~ N(β̂, (L Lᵀ)⁻¹) becomes the new prior by a change of variables,
β = β̂ + L⁻ᵀβ', β' ~ N(0, I):

    f = (μ + Φ β̂) + Φ L⁻ᵀ β'

so a warm model has the form of a cold one.  Since a monitored system may break between two windows, a share
of the prior stays with configurations that ignore the earlier labels (robust mixture, Schmidli et al. 2014).
A dozen labels that contradict the past shift the weight to those.

The design's estimate uses the model for its variance only: it is unbiased whatever was inherited.

    H  configurations   C  cells   m  basis functions
"""

from dataclasses import replace

import numpy as np

from assay.evalcore.recalibration.label_model import LabelModel, fit
from assay.evalcore.types import Floats

COLD_SHARE = 0.2         # prior weight of what ignores the past
COLD = ("prediction", "loose", "probability", "flat", "inverted")


def warmed(model: LabelModel, evidence: Floats) -> LabelModel:
    """The model after pseudo-labels, evidence (C, 2) by cell and label; unchanged if there are none."""
    if not evidence.any():
        return model
    fitted = fit(model, evidence.sum(axis=1)[None], evidence[None, :, 1])
    root, beta = fitted.root[0], fitted.coefficients[0]                    # (H, m, m), (H, m)
    mean = model.mean + np.matmul(model.basis, beta[:, :, None])[..., 0]
    basis = np.linalg.solve(root, model.basis.transpose(0, 2, 1)).transpose(0, 2, 1)   # Φ L⁻ᵀ = (L⁻¹ Φᵀ)ᵀ
    cold = [h for h, name in enumerate(model.names) if name in COLD]
    log_weight = np.log1p(-COLD_SHARE) + _log_shares(fitted.log_evidence[0])
    if not cold:
        return replace(model, mean=mean, basis=basis, log_weight=log_weight)
    return replace(
        model,
        names=(*(f"{name}, warm" for name in model.names), *(model.names[h] for h in cold)),
        broken=np.concatenate([model.broken, model.broken[cold]]),
        log_weight=np.concatenate([log_weight, np.log(COLD_SHARE) + _log_shares(model.log_weight[cold])]),
        mean=np.concatenate([mean, model.mean[cold]]),
        basis=np.concatenate([basis, model.basis[cold]]),
    )


def _log_shares(log_weight: Floats) -> Floats:
    """Log weights (H,) that add up to 1."""
    return np.asarray(log_weight - np.logaddexp.reduce(log_weight))
