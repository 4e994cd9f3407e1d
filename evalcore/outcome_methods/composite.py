"""Corrections of shares drawn towards what is probable beforehand: small-area estimation by class.

The design corrects what the label model expects of a component, m, by δ, with an error of variance v.  Two
things are known of corrections before any label.

*A total* (all hits together) is usually wrong by little, because supplied probabilities are often calibrated,
once they are weighed by the labels; but they may be anything.  So δ ~ N(0, τ²) with τ = NEAR s or, with the
chance DOUBTED, τ = FAR s, where s is about m (1 - m): in units of s a correction is one of the log odds.  The
total is the posterior mean; one that does not fit NEAR is left as it is.

*Of one class*, let δ_k = β m_k + u_k + noise: β shared by all classes, u_k ~ (0, τ² m_k²) its own.  τ² is
estimated from all classes together, and the best linear estimate is (Fay & Herriot 1979; Rao & Molina 2015)

    δ̃_k = β m_k + λ_k (δ_k - β m_k),      λ_k = τ² m_k² / (τ² m_k² + v_k)

What is missing to the total is given to the classes that were shrunken most (benchmarking).  As labels come,
v falls to 0 and the corrections are the design's.

No estimate is moved by more than MOST of its standard errors (limited translation: Efron & Morris 1972), so
what was thought impossible is believed once labels show it, and what is labelled in full is exact.

    v   the labels' own variance, drawn towards what shares of m would have: a class that no label showed
        has no spread among the labels, and is not known to be absent
"""

import numpy as np

from assay.evalcore.outcome_methods.reading import Reading
from assay.evalcore.outcome_methods.state import SampleState
from assay.evalcore.types import Floats

NEAR, FAR, DOUBTED = 0.2, 1.0, 0.4
PRIOR_TAU = 0.4     # relative error of a class before any label
PRIOR_WORTH = 4.0   # classes that the prior counts for
STEPS = 4
MOST = 3.0          # standard errors
OWN = 4.0           # labels of a class that its own variance must rest on to count for half


def shrunken(state: SampleState, reading: Reading, correction: Floats) -> Floats:
    """The corrections (R, D); those of blocks of shares are drawn towards what is probable."""
    if not state.stack.blocks or not state.n or state.table is None:
        return correction
    after = correction.copy()
    for block in state.stack.blocks:
        m = np.maximum(reading.modelled[:, block] / reading.items[:, None], 1e-9)
        delta, e = correction[:, block], reading.residual[..., block]
        cell = _by_cell(state, reading, block)
        seen = np.asarray((state.table.loss[..., block] > 0)[state.item], np.float64)
        whole, off = m.sum(axis=1), delta.sum(axis=1)
        likely = np.clip((whole + off) / whole, 0.25, 4.0)[:, None, None]
        noise = _noise(state, reading, e.sum(axis=2, keepdims=True), likely * cell.sum(axis=2, keepdims=True),
                       seen.max(axis=2, keepdims=True))[:, 0]
        total = _near(off, _total(off, whole, noise), noise)
        if m.shape[1] == 1:
            after[:, block] = total[:, None]
        else:
            noise = _noise(state, reading, e, cell, seen)
            drawn = _near(delta, _each(delta, m, noise, total), noise)
            # what no item can be (a hit of a class never predicted) is known to be none
            after[:, block] = np.where(reading.modelled[:, block] > 0, drawn, delta)
    return after


def _near(delta: Floats, drawn: Floats, v: Floats) -> Floats:
    """What is drawn, no further than MOST standard errors from δ."""
    most = MOST * np.sqrt(v)
    return np.asarray(np.clip(drawn, delta - most, delta + most))


def _total(delta: Floats, m: Floats, v: Floats) -> Floats:
    """The posterior mean (R,) of a total's correction."""
    scale = (m * np.maximum(1 - m, 0.3)) ** 2
    v = np.maximum(v, 1e-18)
    logs, means = [], []
    for tau, chance in ((NEAR, 1 - DOUBTED), (FAR, DOUBTED)):
        tau2 = tau**2 * scale
        logs.append(np.log(chance) - 0.5 * np.log(tau2 + v) - 0.5 * delta**2 / (tau2 + v))
        means.append(tau2 / (tau2 + v) * delta)
    near = 1 / (1 + np.exp(np.clip(logs[1] - logs[0], -700, 700)))
    return np.asarray(near * means[0] + (1 - near) * means[1])


def _each(delta: Floats, m: Floats, v: Floats, total: Floats) -> Floats:
    """δ̃ (R, K), whose sum is the total (R,)."""
    scale, tau2 = m**2, np.full((len(m), 1), PRIOR_TAU**2)
    v = np.maximum(v, 1e-18)
    beta = (total / m.sum(axis=1))[:, None]
    for _ in range(STEPS):
        w = 1 / (tau2 * scale + v)
        over = (delta - beta * m) ** 2 - v
        h = (w * scale) ** 2
        prior = PRIOR_WORTH * h.sum(axis=1, keepdims=True) / m.shape[1]
        top = (h * over / scale).sum(axis=1, keepdims=True) + prior * PRIOR_TAU**2
        tau2 = np.maximum(top / (h.sum(axis=1, keepdims=True) + prior), 1e-4)
    keep = tau2 * scale / (tau2 * scale + v)
    after = beta * m + keep * (delta - beta * m)
    missing = total[:, None] - after.sum(axis=1, keepdims=True)
    part = (1 - keep) * m
    return np.asarray(after + missing * part / np.maximum(part.sum(axis=1, keepdims=True), 1e-300))


def _by_cell(state: SampleState, reading: Reading, block: slice) -> Floats:
    """(R, C, K) what the label model expects of an item of each cell."""
    weights = reading.weights[..., 0]
    sums = np.einsum("rb,cbk->rck", weights, state.cells.guess[..., block])
    return np.asarray(sums / state.cells.size[None, :, None])


def _noise(state: SampleState, reading: Reading, e: Floats, cell: Floats, seen: Floats) -> Floats:
    """v (R, K) of corrections whose residuals are e (R, n, K); seen (R, n, K): labels that show the class."""
    factor = reading.open * (reading.open / reading.effective + 1) / reading.items[:, None] ** 2
    per_item = factor / np.maximum(reading.open, 1e-9)             # (R, G)
    n_g = np.maximum(reading.by_group(np.ones((*reading.group.shape, 1)))[..., 0], 1.0)
    own = np.take_along_axis(factor / n_g, reading.group, axis=1)
    measured = np.einsum("rn,rnk->rk", own, e**2)
    left = state.wanted * np.take_along_axis(per_item, reading.group_of, axis=1)
    expected = np.einsum("rc,rck->rk", left, np.clip(cell * (1 - cell), 0, None))
    shown = seen.sum(axis=1)
    return np.asarray((shown * measured + OWN * expected) / (shown + OWN))
