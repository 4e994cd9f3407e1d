"""The proposal of the smallest asymptotic variance, for K classes and several numbers at once.

Marchant & Rubinstein (2021), Propositions 1 and 2.  With J the gradient of the numbers that drive, each in
units of its target, φ(x, y) = ‖J(R̂) ℓ(x, y)‖₂ is how far an item pulls, and the q of the smallest trace of
the estimates' covariance is

    deterministic oracle    q(x) ∝ Σ_y π(y|x) max(φ(x, y), ε_t 1[ℓ ≠ 0])
    stochastic oracle       q(x) ∝ √ Σ_y p(y|x) max(φ(x, y)², ε_t 1[ℓ ≠ 0])

J at R̂_t = Σ_x Σ_y π(y|x) ℓ(x, y)/N, what the label model expects (Proposition 5).  ℓ includes what the pool
tells, as in the paper's Table 1: both parts of a ratio are estimated with the same weights.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from assay.evalcore.outcome_methods.dirichlet.state import TreeState
from assay.evalcore.outcome_methods.slopes import slopes_of_known
from assay.evalcore.types import Floats, Ints

_AT_ONCE = 2 * 10**7   # numbers worked on together


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Proposal:
    """q, up to a factor."""

    open: Floats       # (R, C) of an unlabelled item of each leaf; 0 where its label cannot matter
    labelled: Floats   # (R, n) of each labelled item

    def open_share(self, wanted: Ints) -> Floats:
        """(R,) the share of the unlabelled items (R, C) that may be asked; 1 where nothing pulls."""
        free, taken = (self.open * wanted).sum(axis=1), self.labelled.sum(axis=1)
        return np.asarray(np.divide(free, free + taken, out=np.ones_like(free), where=free + taken > 0))


def risk_of(state: TreeState, mean: Floats) -> Floats:
    """R (R, D') of the pool, from the mean loss (R, D') of its relevant items, counted from a right one's."""
    cells, items = state.cells, state.relevant_items
    idle = ~cells.relevant
    guess = np.einsum("b,bd->d", cells.first, cells.guess[idle].sum(axis=0))   # any guess serves
    rest = np.concatenate([guess, cells.told[idle].sum(axis=0)])
    right = np.concatenate([state.stack.perfect, np.zeros(cells.told.shape[1])])
    whole = np.maximum(items + state.idle_items, 1.0)
    return np.asarray(((mean + right) * items[:, None] + rest) / whole[:, None])


def expected_risk(state: TreeState, chances: Floats) -> Floats:
    """R̂ (R, D') by the label model; chances (R, C, K): p(y|x) of the unlabelled items."""
    expected = (state.wanted[..., None] * chances).reshape(len(chances), -1) @ state.by_class
    items = np.maximum(state.relevant_items, 1.0)[:, None]
    return risk_of(state, (expected + state.losses.sum(axis=1)) / items)


def gradient(state: TreeState, risk: Floats) -> Floats:
    """J (R, Q, D') at risk (R, D'); 0 where a measure is undefined."""
    sizes = state.cells.known_sizes.tolist()
    return np.concatenate(
        [state.stack.slopes(risk, sizes), slopes_of_known(state.stack, sizes, risk)], axis=2
    )


def pulls(state: TreeState, slopes: Floats) -> Iterator[tuple[slice, Floats]]:
    """J·ℓ (R, C, K, q) of an item of each leaf by class, some of the numbers at a time; slopes (R, Q, D')."""
    repeats, numbers, width = slopes.shape
    n_cells = state.cells.n_cells
    block = max(1, _AT_ONCE // (state.by_class.shape[0] * repeats))
    for start in range(0, numbers, block):
        some = slopes[:, start : start + block]
        found = np.asarray(state.by_class @ some.reshape(-1, width).T)
        each = found.reshape(n_cells, -1, repeats, some.shape[1])
        yield slice(start, start + block), np.moveaxis(each, 2, 0)


def proposal(state: TreeState, chances: Floats, epsilon: Floats, *, deterministic: bool) -> Proposal:
    """Proposition 2; chances (R, C, K), epsilon (R,)."""
    weight = np.sqrt(state.stack.weight)
    driving = weight > 0
    slopes = gradient(state, expected_risk(state, chances))[:, driving] * weight[driving, None]
    squared = np.zeros_like(chances)
    for _, pull in pulls(state, slopes):
        squared += (pull**2).sum(axis=3)
    if deterministic:
        opened = (chances * np.maximum(np.sqrt(squared), epsilon[:, None, None])).sum(axis=2)
        own = np.sqrt((np.einsum("rnd,rqd->rnq", state.losses, slopes) ** 2).sum(axis=2))
        labelled = np.maximum(own, epsilon[:, None])
    else:   # a label tells of its leaf, and another one may come
        opened = np.sqrt((chances * np.maximum(squared, epsilon[:, None, None])).sum(axis=2))
        labelled = np.take_along_axis(opened, state.cell, axis=1)
    return Proposal(open=opened * state.cells.relevant, labelled=labelled)
