"""`static-is`. Importance sampling for any measure: items by how much they are expected to add to the error.

Marchant & Rubinstein (2021), Proposition 2, in its stochastic form and for several numbers at once: of all
proposals, the one with the smallest trace of the estimates' covariance (each in units of its target) is

    q(x) ∝ √ Σ_q E_y (J_q·(ℓ(x, y) - R))² / target_q²

the expectation under the supplied probabilities, softened to λ p + (1 - λ)/K (Yilmaz et al. 2021, section
2; λ is `trust`, 1 unless it is set) and never changed: the proposal is static.  R is subtracted as
weights are normalised (Sawade et al. 2010).  Beside the variance of J·ℓ given x, which is all that
`bernoulli` looks at, q counts how far the expected pull of an item is from the mean.

As in every method here an item is asked at most once: π is q raised until it adds up, cut at 1.  A label
weighs 1/π, normalised (Hájek 1971).
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from assay.evalcore.errors import BadInput
from assay.evalcore.measures.stack import Stack
from assay.evalcore.methods.any_outcome.baselines import FINE_CELLS, ByPull
from assay.evalcore.methods.any_outcome.cut import cut
from assay.evalcore.methods.any_outcome.measured_pool import (
    LEAST_RELEVANT_VARIANCE,
    By,
    Expecting,
    ItemProfile,
    MeasuredPool,
    profile,
)
from assay.evalcore.methods.any_outcome.state import OutcomeCells, SampleState, guessed
from assay.evalcore.methods.method import Capabilities, Share
from assay.evalcore.outcomes.items import Items
from assay.evalcore.types import Floats, Ints


@dataclass(frozen=True, slots=True)
class StaticSample(ByPull):
    """The method `static-is` for any outcome: items are drawn by how much they are expected to add to the
    error (Marchant & Rubinstein 2021, Proposition 2), with a proposal that never changes."""

    sources: ClassVar[tuple[str, ...]] = ("marchant2021",)
    name: ClassVar[str] = "static-is"
    says: ClassVar[str] = "Importance sampling by what each item is expected to add to the error."
    interval: ClassVar[str] = "weighted"
    capabilities: ClassVar[Capabilities] = replace(
        ByPull.capabilities, single_draws=False,
        no_weights="draws by how far each pull is from one mean of all, and items of other weights have no "
                   "mean pull in common",
    )
    group_labels: ClassVar[float] = np.inf

    trust: Share = 1.0   # λ
    secondary_mixing: Share = 0.0   # share drawn evenly where more than one number is asked for
    epsilon: Share = 0.0            # ε: share of the uniform distribution

    without: ClassVar[Mapping[str, str]] = {
        "self_normalised": "makes no difference beyond two classes: an item is asked at most once there, and "
                           "the weights add up to the pool, so Σ w ℓ / Σ w is Σ w ℓ / n; leave it out",
    }

    def even_part(self, state: SampleState) -> float:
        """The share of the labels that is drawn evenly: ε, and of the remainder `secondary_mixing` where more
        than one number is asked for. It lies between 0 and 1, and labels do not change it."""
        secondary = self.secondary_mixing if len(state.stack.parts) > 1 else 0.0
        return self.epsilon + (1 - self.epsilon) * secondary

    def cells(self, pool: MeasuredPool) -> OutcomeCells:
        """Fine cells of items with alike expected squares of the centred pull; a few passes over the pool.

        Raises BadInput as OutcomeMethod.cells, and for a trust in chances that outcomes do not have.
        """
        stack, pool_profile = pool.stack, profile(pool)
        slopes = pool_profile.slopes
        if self.trust < 1:
            if not stack.kind.parts:
                raise BadInput(f"method {self.written!r}: trust is how far chances of classes or tags are "
                               f"believed, and a {stack.kind.name} has none; leave it out")
            expected = np.concatenate([
                sum(pool.measured(_Expected(pool_profile, self.trust))), sum(pool.measured(_known)),
            ])
            slopes = stack.slopes(expected / len(pool), stack.known_sizes(pool.none))
        squares = _Squares(
            expectation=pool_profile, slopes=slopes,
            centre=np.asarray(slopes @ self.centre(pool, pool_profile)),
            trust=self.trust,
        )
        mean = sum(pool.measured(squares.total)) / len(pool)
        made = cut(
            pool,
            pool_profile,
            ByRoot(pool_profile, squares, LEAST_RELEVANT_VARIANCE * mean),
            FINE_CELLS,
            squares.by_cell,
        )
        sums, cells = made.further, made.cells
        spread = np.maximum(
            sums / cells.size[:, None], LEAST_RELEVANT_VARIANCE * sums.sum(axis=0) / len(pool)
        )
        return replace(cells, spread=np.maximum(spread, 1e-30))

    def centre(self, pool: MeasuredPool, expectation: Expecting) -> Floats:
        """The expected mean of the losses over the pool, (D,), under the softened probabilities: the R from
        which losses are counted. D counts the components of all losses, and the pool is read once for it."""
        return np.asarray(sum(pool.measured(_Expected(expectation, self.trust))) / len(pool))


def _known(stack: Stack, items: Items) -> Floats:
    return np.asarray(stack.known(items).sum(axis=0))


def _softened(stack: Stack, items: Items, expected: Floats, trust: float) -> Floats:
    """The expected losses (n, D) as far as they are believed: else outcomes are alike likely."""
    if trust == 1:
        return expected
    return trust * expected + (1 - trust) * stack.item_losses(items, stack.even(len(items)))


@dataclass(frozen=True, slots=True)
class _Expected:
    expectation: Expecting
    trust: float

    def __call__(self, stack: Stack, items: Items) -> Floats:
        """(D,) the sum of the expected losses."""
        total = np.zeros(stack.size)
        for _, piece in items.chunks():
            expected = guessed(stack, piece)[1]
            if self.trust == 1:
                total += np.einsum("b,nbd->d", self.expectation.guess_weights, expected)
            else:
                expected_loss = np.einsum("b,nbd->nd", self.expectation.guess_weights, expected)
                total += _softened(stack, piece, expected_loss, self.trust).sum(axis=0)
        return total


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SquaredPulls(ABC):
    """Expected squares of items' pulls, and what a cut of the pool adds up of them."""

    centre: Floats     # (Q,) J·R, from which the pulls are counted

    @abstractmethod
    def expected_squares(self, stack: Stack, items: Items) -> Floats:
        """The expected square of each item's pull at each number, (n, Q) for n items and Q numbers, counted
        from `centre`. Designs draw items by what a cut of the pool adds up of them."""

    def driving(self, stack: Stack, items: Items) -> Floats:
        """(n,) of the items of a shard, added up as they drive the sampling."""
        squares = np.empty(len(items))
        for rows, piece in items.chunks():
            squares[rows] = self.expected_squares(stack, piece) @ stack.weight
        return squares

    def total(self, stack: Stack, items: Items) -> float:
        """The sum over the items of a shard of their expected squared pulls, over the numbers that drive the
        sampling."""
        return float(self.driving(stack, items).sum())

    def by_cell(self, stack: Stack, items: Items, cell: Ints, n_cells: int) -> Floats:
        """Sums of the expected squared pulls over the items of each cell, (C, Q); the cell of each item is
        (n,). C counts cells, `n_cells` of them, and Q the numbers; 0 for a cell without items."""
        sums = np.zeros((n_cells, len(self.centre)))
        for rows, piece in items.chunks():
            np.add.at(sums, cell[rows], self.expected_squares(stack, piece))
        return sums


@dataclass(frozen=True, slots=True)
class ByRoot:
    """What is found of items, in the order of the root of their squares, in one group."""

    profile_of: By
    squares: SquaredPulls
    floor: float     # of a square: the guesses may be sure of an item and wrong

    def __call__(self, stack: Stack, items: Items) -> ItemProfile:
        root = np.sqrt(np.maximum(self.squares.driving(stack, items), self.floor))
        return replace(
            self.profile_of(stack, items), pull=root, group=np.zeros(len(items), np.int64), score=root
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Squares(SquaredPulls):
    """E_y (J_q·(ℓ(x, y) - R))² under the first weights of the guesses."""

    expectation: Expecting
    slopes: Floats     # (Q, D) J
    trust: float       # λ

    def expected_squares(self, stack: Stack, items: Items) -> Floats:
        """(n, Q)."""
        expectation, (phi, loss) = self.expectation, guessed(stack, items)
        mean = np.einsum("b,nbp->np", expectation.guess_weights[: phi.shape[1]], phi)
        if self.trust < 1:
            mean = self.trust * mean + (1 - self.trust) * stack.even(len(mean))
        spread = stack.spread(items, mean, self.slopes, expectation.likely)
        expected = np.einsum("b,nbd->nd", expectation.guess_weights, loss)
        pull = _softened(stack, items, expected, self.trust) @ self.slopes.T
        return np.asarray(spread + (pull - self.centre) ** 2)
