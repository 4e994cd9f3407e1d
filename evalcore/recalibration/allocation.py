"""How many labels each cell gets, in expectation.

With weighted draws M_s of the measure and p_sc of the rates, p̄ and s² = p̄ (1 − p̄), g = ∂M/∂(a positive):

    Cov(M, y_c) = Σ_s w_s (M_s − M̄) p_sc + g_c (p̄_c − Σ_s w_s p_sc²)
    red_c = Cov(M, y_c)² / s²_c          the expected drop of Var(M) from one label in cell c

Search gives labels in proportion to red⁴, Neyman allocation in proportion to |g| s; both stop at an inclusion
probability of 1.
"""

import numpy as np

from assay.evalcore.recalibration.posterior import Posterior
from assay.evalcore.types import Floats, Ints


def waterfill(weight: Floats, items: Floats, labels: Floats) -> Floats:
    """π (R, C) = min(1, λ weight) with Σ_c items_c π_c = labels, or 1 everywhere if labels reach the items.

    weight, items (R, C) not negative; labels (R,).  A cell with items and without weight gets none, unless
    the others are full.
    """
    labels = np.minimum(labels, items.sum(axis=1))
    # weights span hundreds of orders of magnitude: scale, and let the tiniest stay positive
    scale = np.where(items > 0, weight, 0.0).max(axis=1, keepdims=True)
    scaled = np.where(items > 0, np.maximum(weight / np.where(scale > 0, scale, 1.0), 1e-250), 0.0)
    full = np.zeros(weight.shape, np.bool_)
    pi = np.zeros_like(scaled)
    for _ in range(weight.shape[1] + 1):
        missing = np.maximum(labels - (items * full).sum(axis=1), 0.0)
        mass = (items * scaled * ~full).sum(axis=1)
        level = np.divide(missing, mass, out=np.zeros_like(mass), where=mass > 0)
        pi = np.where(full, 1.0, scaled * level[:, None])
        over = (pi > 1) & ~full
        if not over.any():
            break
        full |= over
    return np.where(items > 0, np.minimum(pi, 1.0), 0.0)


def reductions(post: Posterior, values: Floats, slopes: Floats) -> Floats:
    """red (R, q, C) of each of q numbers.

    values (R, S, q): the numbers at each draw, finite; slopes (R, q, C): ∂M/∂(a positive).
    """
    mean = post.mean
    values, weight = np.ascontiguousarray(np.moveaxis(values, 2, 1)), post.weight[:, None]
    centred = weight * (values - (weight * values).sum(axis=2, keepdims=True))
    covariance = np.matmul(centred, post.rate)
    second = np.matmul(post.weight[:, None, :], post.rate**2)[:, 0]
    own = slopes * np.maximum(mean - second, 0.0)[:, None]
    return np.asarray((covariance + own) ** 2 / np.maximum(mean * (1 - mean), 1e-12)[:, None])


def pivotal(expected: Floats, rng: np.random.Generator) -> Floats:
    """Integer counts (R, C) with these expectations (R, C), each rounded up or down, totals kept.

    The pivotal method of Deville & Tillé (1998): cell by cell, two fractions are settled against each other
    until one of them is 0 or 1.  The counts are negatively associated (those of a systematic draw are not:
    there, every other cell may be missed together), and a simple random sample inside each cell gives every
    item exactly its inclusion probability.  Totals must be whole, up to rounding.
    """
    whole = np.floor(expected + 1e-9)
    fraction = np.maximum(expected - whole, 0.0)
    fraction[fraction < 1e-9] = 0.0
    counts = whole
    n_repeats, n_cells = expected.shape
    rows = np.arange(n_repeats)
    holder: Ints = np.zeros(n_repeats, np.int64)
    carried: Floats = np.zeros(n_repeats)
    luck = rng.random((n_repeats, n_cells))
    for c in range(n_cells):
        b = fraction[:, c]
        both_in = (b > 0) & (carried > 0)
        total = carried + b
        short = total < 1
        # below 1 together one of them is out; from 1 up one of them is in and the other carries on
        chance = np.where(
            short,
            carried / np.where(total > 0, total, 1.0),
            (1 - b) / np.maximum(2 - total, 1e-12),
        )
        wins = luck[:, c] < chance
        got = both_in & ~short
        counts[rows[got & wins], holder[got & wins]] += 1
        counts[got & ~wins, c] += 1
        moves = (b > 0) & ((carried <= 0) | np.where(short, ~wins, wins))
        holder = np.where(moves, c, holder)
        carried = np.where(got, total - 1, total)
        carried[carried < 1e-9] = 0.0
    last = carried > 0.5
    counts[rows[last], holder[last]] += 1
    return counts
