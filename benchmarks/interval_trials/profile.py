"""The profile interval of a measure: how far it can be moved before the labels speak against it.

Under one configuration h the log joint ℓ_h(β) = log p(k | β) − |β|²/2 is largest at β̂.  From there a path is
followed on which the measure changes most for what ℓ_h loses, dβ ∝ ± H⁻¹∇M, H the Hessian of −ℓ_h.  The ends
are the values of M at which the loss reaches z²/2.  Configurations enter by their evidence: one that is log e
behind the best may lose z²/2 − log e, and those further behind do not count.  What chance does to the
unlabelled items is added, squared.

    C   cells;  m   basis functions
"""

import numpy as np
from scipy.special import expit

from assay.evalcore.measures import totals
from assay.evalcore.measures.base import Measure
from assay.evalcore.recalibration.evidence import Evidence
from assay.evalcore.recalibration.interval.usual import Ends
from assay.evalcore.recalibration.label_model import log_likelihood
from assay.evalcore.types import Floats

STEPS, STEP = 16, 0.3       # of the path: at most 4.8 standard errors


def profile_ends(measure: Measure, e: Evidence, z: float) -> Ends:
    """The interval (R,) of each repeat."""
    ends = np.empty((2, len(e.n)))
    for r in range(len(e.n)):
        behind = e.fit.log_evidence[r].max() - e.fit.log_evidence[r]
        each = [
            _of_configuration(measure, e, r, h, z**2 / 2 - behind[h])
            for h in np.flatnonzero(behind < z**2 / 2)
        ]
        lower, upper, middle, spread = np.array(each).T
        top = int(np.argmin(behind[behind < z**2 / 2]))
        chance = z * spread[top]
        ends[0, r] = middle[top] - np.hypot(middle[top] - lower.min(), chance)
        ends[1, r] = middle[top] + np.hypot(upper.max() - middle[top], chance)
    return ends[0], ends[1]


def _of_configuration(
    measure: Measure, e: Evidence, r: int, h: int, allowed: float
) -> tuple[float, float, float, float]:
    """Lower end, upper end, the measure at the mode, and the standard deviation chance adds to it."""
    path = [_follow(measure, e, r, h, sign, allowed) for sign in (-1.0, 1.0)]
    (lower, at, spread), (upper, _, _) = path
    return min(lower, at), max(upper, at), at, spread


def _follow(
    measure: Measure, e: Evidence, r: int, h: int, sign: float, allowed: float
) -> tuple[float, float, float]:
    """The measure where the loss reaches `allowed`; at the mode; and the standard deviation by chance."""
    mean, basis = e.model.mean[h], e.model.basis[h]
    n, k, beta = e.n[r], e.k[r], e.fit.coefficients[r, h].copy()
    best = float(e.fit.log_joint[r, h])
    last = start = spread = np.nan
    lost = 0.0
    for step in range(STEPS + 1):
        f = mean + basis @ beta
        value, slope, chance = _measure(measure, e, r, expit(f))
        if step == 0:
            start, spread, last = value, chance, value
        loss = best - float(log_likelihood(f, n, k) - 0.5 * (beta**2).sum())
        if loss >= allowed:
            share = (allowed - lost) / max(loss - lost, 1e-12)
            return last + share * (value - last), start, spread
        last, lost = value, max(loss, 0.0)
        p = expit(f)
        hessian = (basis * (n * p * (1 - p))[:, None]).T @ basis + np.eye(basis.shape[1])
        direction = np.linalg.solve(hessian, basis.T @ (slope * p * (1 - p)))
        length = float(direction @ hessian @ direction) ** 0.5
        if not length > 0:
            break
        beta += sign * STEP * direction / length
    return last, start, spread


def _measure(measure: Measure, e: Evidence, r: int, rate: Floats) -> tuple[float, Floats, float]:
    """The measure at these rates (C,), its slope by rate (C,), and its standard deviation by chance."""
    predicted = e.model.shape.predicted
    left = e.left[r]
    items = totals.by_prediction((e.n[r] + left)[None], predicted)
    expected = totals.by_prediction((e.k[r] + left * rate)[None], predicted)
    at = expected[:, 1], expected[:, 0], items
    pull = totals.gradient(measure, *at)[0][predicted.astype(np.int64)]
    chance = float((pull**2 * left * rate * (1 - rate)).sum()) ** 0.5
    return float(totals.value(measure, *at)[0]), pull * left, chance
