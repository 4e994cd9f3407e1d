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
from assay.evalcore.outcome_methods.cells import OutcomeCells
from assay.evalcore.outcome_methods.cut import cut
from assay.evalcore.outcome_methods.cutting.pool import MeasuredPool
from assay.evalcore.outcome_methods.cutting.profile import By, Profile, profile
from assay.evalcore.outcome_methods.cutting.spreads import FLOOR, Expecting
from assay.evalcore.outcome_methods.table import guessed
from assay.evalcore.outcomes.items import Items
from assay.evalcore.types import Floats, Ints


@dataclass(frozen=True, slots=True)
class StaticIS(Bernoulli):
    """The static optimal proposal."""

    name: ClassVar[str] = "static-is"
    says: ClassVar[str] = "Importance sampling by what each item is expected to add to the error."

    def cells(self, pool: MeasuredPool) -> OutcomeCells:
        """Fine cells of items with alike expected squares of the centred pull; a few passes over the pool."""
        found = profile(pool)
        total = sum(pool.measured(_Expected(found)))
        squares = _Squares(found, np.asarray(found.slopes @ (total / len(pool))))
        mean = sum(pool.measured(squares.total)) / len(pool)
        made = cut(pool, found, _Expectation(found, squares, FLOOR * mean), FINE, squares.by_cell)
        sums, cells = made.further, made.cells
        spread = np.maximum(sums / cells.size[:, None], FLOOR * sums.sum(axis=0) / len(pool))
        return replace(cells, spread=np.maximum(spread, 1e-30))


@dataclass(frozen=True, slots=True)
class _Expected:
    found: Expecting

    def __call__(self, stack: Stack, items: Items) -> Floats:
        """(D,) the sum of the expected losses."""
        total = np.zeros(stack.size)
        for _, piece in items.chunks():
            total += np.einsum("b,nbd->d", self.found.first, guessed(stack, piece)[1])
        return total


@dataclass(frozen=True, slots=True, eq=False)
class _Squares:
    """E_y (J_q·(ℓ(x, y) - R))² under the first weights of the guesses."""

    found: Expecting
    centre: Floats     # (Q,) J·R

    def of(self, stack: Stack, items: Items) -> Floats:
        """(n, Q)."""
        found, (phi, loss) = self.found, guessed(stack, items)
        spread = stack.spread(items, np.einsum("b,nbp->np", found.first, phi), found.slopes, found.likely)
        expected = np.einsum("b,nbd->nd", found.first, loss) @ found.slopes.T
        return np.asarray(spread + (expected - self.centre) ** 2)

    def driving(self, stack: Stack, items: Items) -> Floats:
        """(n,) of the items of a shard, added up as they drive the sampling."""
        squares = np.empty(len(items))
        for where, piece in items.chunks():
            squares[where] = self.of(stack, piece) @ stack.weight
        return squares

    def total(self, stack: Stack, items: Items) -> float:
        """Their sum over a shard."""
        return float(self.driving(stack, items).sum())

    def by_cell(self, stack: Stack, items: Items, cell: Ints, n_cells: int) -> Floats:
        """(C, Q) sums over the cells."""
        sums = np.zeros((n_cells, len(self.centre)))
        for where, piece in items.chunks():
            np.add.at(sums, cell[where], self.of(stack, piece))
        return sums


@dataclass(frozen=True, slots=True)
class _Expectation:
    found: By
    squares: _Squares
    least: float     # the guesses may be sure of an item and wrong

    def __call__(self, stack: Stack, items: Items) -> Profile:
        score = np.sqrt(np.maximum(self.squares.driving(stack, items), self.least))
        return replace(
            self.found(stack, items), pull=score, group=np.zeros(len(items), np.int64), score=score
        )
