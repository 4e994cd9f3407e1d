"""Importance sampling for any measure: items by how much they are expected to add to the error.

Marchant & Rubinstein (2021), Proposition 2, in its stochastic form and for several numbers at once: of all
proposals, the one with the smallest trace of the estimates' covariance (each in units of its target) is

    q(x) ∝ √ Σ_q E_y (J_q·(ℓ(x, y) - R))² / target_q²

the expectation under the supplied probabilities, which are believed as they are: the proposal is static.  R
is subtracted because the weights are normalised (Sawade et al. 2010).  Beside the variance of J·ℓ given x,
which is all that `bernoulli` looks at, q counts how far the expected pull of an item is from the mean.

As in every method here an item is asked at most once: π is q raised until it adds up, cut at 1.  A label
weighs 1/π, normalised (Hájek 1971).
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from assay.evalcore.outcome_measures.stack import Stack
from assay.evalcore.outcome_methods.baselines import FINE, Bernoulli
from assay.evalcore.outcome_methods.cut import FLOOR, Cut, Profile, cut, profile
from assay.evalcore.outcome_methods.table import guessed
from assay.evalcore.outcomes.items import Items
from assay.evalcore.types import Floats


@dataclass(frozen=True, slots=True)
class StaticIS(Bernoulli):
    """The static optimal proposal."""

    name: ClassVar[str] = "static-is"
    says: ClassVar[str] = "Importance sampling by what each item is expected to add to the error."

    def cut(self, stack: Stack, items: Items) -> Cut:
        """Fine cells of items with alike expected squares of the centred pull; five passes over the pool."""
        found = profile(stack, items)
        centre, squares = _centre(stack, items, found), np.empty(len(items))
        for where, piece in items.chunks():
            squares[where] = expected_squares(stack, piece, found, centre) @ stack.weight
        # the guesses may be sure of an item and wrong
        score = np.sqrt(np.maximum(squares, FLOOR * squares.mean()))
        made = cut(stack, items, replace(found, pull=score), np.zeros(len(items), np.int64), score, FINE)
        sums = np.zeros((made.cells.n_cells, len(found.slopes)))
        for where, piece in items.chunks():
            np.add.at(sums, made.cell[where], expected_squares(stack, piece, found, centre))
        mean = np.maximum(sums / made.cells.size[:, None], FLOOR * sums.sum(axis=0) / len(items))
        return replace(made, cells=replace(made.cells, spread=np.maximum(mean, 1e-30)))


def expected_squares(stack: Stack, items: Items, found: Profile, centre: Floats) -> Floats:
    """(n, Q) E_y (J_q·(ℓ(x, y) - R))² under the first weights of the guesses; centre (Q,): J·R."""
    phi, loss = guessed(stack, items)
    spread = stack.spread(items, np.einsum("b,nbp->np", found.first, phi), found.slopes, found.likely)
    return np.asarray(spread + (np.einsum("b,nbd->nd", found.first, loss) @ found.slopes.T - centre) ** 2)


def _centre(stack: Stack, items: Items, found: Profile) -> Floats:
    """J·R (Q,), R the mean of the expected losses."""
    total = np.zeros(stack.size)
    for _, piece in items.chunks():
        total += np.einsum("b,nbd->d", found.first, guessed(stack, piece)[1])
    return np.asarray(found.slopes @ (total / len(items)))
