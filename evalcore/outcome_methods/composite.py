"""Corrections of many alike components, drawn towards a common one: small-area estimation by class.

A loss with one component a class has K corrections δ_k of what the label model expects, m_k, and few labels
of most classes behind them.  Let δ_k = β m_k + u_k + noise: β an error that all classes share, u_k ~ (0, τ² m_k²)
one of their own, the noise of variance v_k as the design makes it.  τ² is estimated from all classes together,
and the best linear estimate is (Fay & Herriot 1979; Rao & Molina 2015, ch. 6)

    δ̃_k = β m_k + λ_k (δ_k - β m_k),      λ_k = τ² m_k² / (τ² m_k² + v_k)

What that takes from the sum over classes is given back, to the classes that were shrunken most: the sum, of
which many labels tell, stays the design's (benchmarking).  As labels come v_k falls to 0 and δ̃ goes to δ.

    v_k   the labels' own variance, drawn towards what shares of m_k would have: a class that no label showed
          has no spread among the labels, and is not known to be absent
"""

import numpy as np

from assay.evalcore.outcome_methods.reading import Reading
from assay.evalcore.outcome_methods.state import SampleState
from assay.evalcore.types import Floats

PRIOR_TAU = 0.4     # relative error of a class before any label
PRIOR_WORTH = 4.0   # classes that the prior counts for
STEPS = 4
OWN = 4.0           # labels of a class that its own variance must rest on to count for half


def shrunken(state: SampleState, reading: Reading, correction: Floats) -> Floats:
    """The corrections (R, D), those of alike components drawn together."""
    blocks = [block for block in state.stack.blocks if block.stop - block.start > 2]
    if not blocks:
        return correction
    after = correction.copy()
    modelled = np.maximum(reading.modelled / reading.items[:, None], 1e-9)
    for block in blocks:
        v = _noise(state, reading, block)
        after[:, block] = _drawn(correction[:, block], modelled[:, block], v)
    return after


def _drawn(delta: Floats, m: Floats, v: Floats) -> Floats:
    """δ̃ (R, K)."""
    scale, tau2 = m**2, np.full((len(m), 1), PRIOR_TAU**2)
    v = np.maximum(v, 1e-18)
    beta = np.zeros((len(m), 1))
    for _ in range(STEPS):
        w = 1 / (tau2 * scale + v)
        beta = (w * m * delta).sum(axis=1, keepdims=True) / (w * m**2).sum(axis=1, keepdims=True)
        over = (delta - beta * m) ** 2 - v
        h = (w * scale) ** 2
        prior = PRIOR_WORTH * h.sum(axis=1, keepdims=True) / m.shape[1]
        top = (h * over / scale).sum(axis=1, keepdims=True) + prior * PRIOR_TAU**2
        tau2 = np.maximum(top / (h.sum(axis=1, keepdims=True) + prior), 1e-4)
    keep = tau2 * scale / (tau2 * scale + v)
    after = beta * m + keep * (delta - beta * m)
    missing = (delta - after).sum(axis=1, keepdims=True)
    part = (1 - keep) * m
    return np.asarray(after + missing * part / np.maximum(part.sum(axis=1, keepdims=True), 1e-300))


def _noise(state: SampleState, reading: Reading, block: slice) -> Floats:
    """v (R, K) of the corrections of a block."""
    factor = reading.open * (reading.open / reading.effective + 1) / reading.items[:, None] ** 2
    per_item = factor / np.maximum(reading.open, 1e-9)             # (R, G)
    n_g = np.maximum(reading.by_group(np.ones((*reading.group.shape, 1)))[..., 0], 1.0)
    own = np.take_along_axis(factor / n_g, reading.group, axis=1)
    e = reading.residual[..., block]
    measured = np.einsum("rn,rnk->rk", own, e**2)
    weights = reading.weights if reading.weights.shape[2] == 1 else reading.weights[..., block]
    cell = np.einsum("rbk,cbk->rck", np.broadcast_to(weights, (*weights.shape[:2], e.shape[2])),
                     state.cells.guess[..., block]) / state.cells.size[None, :, None]
    left = state.left * np.take_along_axis(per_item, reading.group_of, axis=1)
    expected = np.einsum("rc,rck->rk", left, np.clip(cell * (1 - cell), 0, None))
    seen = (state.table.loss[..., block] > 0)[state.item].sum(axis=1) if state.table is not None else 0.0
    return np.asarray((seen * measured + OWN * expected) / (seen + OWN))
