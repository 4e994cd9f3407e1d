"""Equation 4 of Poms et al. (2021): what the next draw of `acis` is made from.

    R   repeats;  C   cells
"""

import numpy as np

from assay.evalcore.design.draws import LEAST_NEW_MASS, MAX_DRAWS_PER_ITEM
from assay.evalcore.design.proposal import relevant_cells
from assay.evalcore.design.supplied import centred_pull
from assay.evalcore.measures.base import Measure
from assay.evalcore.methods.low_shot.acis_state import AcisState
from assay.evalcore.types import Bools, Floats, Ints

_MIXES = (0.0, 0.01, 0.1, 0.5, 1.0)


def pull_of(measure: Measure, value: Floats, risk: Floats, epsilon: float) -> Floats:
    """φ = v (ℓ - Ĝ) (R, 2, 2) by [prediction, label], Ĝ the value (R,) kept within [ε, 1 - ε].

    Of a measure that is no ratio of means, its influence at risk (R, d).
    """
    at_0, at_1 = measure.margin(0.0), measure.margin(1.0)
    if at_0 is None or at_1 is None:
        return centred_pull(measure, risk)
    g = np.clip(value, epsilon, 1 - epsilon)[:, None, None]
    low, high = at_0[0] + at_0[1], at_1[0] + at_1[1]      # v ℓ, and v (ℓ - 1)
    return np.asarray(low + g * (high - low))


def proposal(state: AcisState, size: Ints, *, even: float) -> tuple[Floats, Floats]:
    """q (R, C) of an unlabelled item, and (R, C, 2) of a labelled one, so that this iteration's share it.

    Evened out only as far as it takes to find `size` (R,) new items; even: the share spread evenly anyhow.
    """
    cells, left = state.cells, state.left
    here = state.domain & relevant_cells(state.measures, cells)
    mine = np.maximum(state.labelled - state.known, 0)                        # drawn in this iteration
    items = (left + mine.sum(axis=2)) * here
    p = np.stack([1 - state.rate, state.rate], axis=-1)
    best = np.sqrt((p * state.pull[:, cells.prediction] ** 2).sum(axis=-1)) * here
    each = here / np.maximum(items.sum(axis=1, keepdims=True), 1)
    total = (best * items).sum(axis=1, keepdims=True)
    best = np.where(total > 0, best / np.where(total > 0, total, 1.0), each)
    best = (1 - even) * best + even * each
    q: Floats = best
    enough: Bools = np.zeros(len(best), np.bool_)
    for mix in _MIXES:
        mixed = (1 - mix) * best + mix * each
        q = np.where(enough[:, None], q, mixed)
        enough = enough | _finds(mixed, left * here, size)
    counted = np.maximum(state.labelled, 1)
    return q * here, q[..., None] * here[..., None] * mine / counted


def _finds(q: Floats, left: Ints, size: Ints) -> Bools:
    """Whether (R,) draws from q (R, C) are likely to find `size` (R,) of the items left (R, C)."""
    mass = (q * left).sum(axis=1)
    share = q / np.where(mass > 0, mass, 1.0)[:, None]
    missed = np.log1p(-np.minimum(share, 1 - 1e-12))
    found = (left * -np.expm1((MAX_DRAWS_PER_ITEM // 2) * size[:, None] * missed)).sum(axis=1)
    return np.asarray((found >= 0.999 * np.minimum(size, left.sum(axis=1))) & (mass >= LEAST_NEW_MASS))
