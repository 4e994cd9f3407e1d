"""Methods without a label model: the ones that others are measured against, and `static-is`."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from assay.evalcore.errors import BadInput
from assay.evalcore.estimators.guaranteed_counts import FEW_STRATA
from assay.evalcore.measures.stack import Stack
from assay.evalcore.methods.any_outcome.base import OutcomeMethod
from assay.evalcore.methods.any_outcome.cut import cut
from assay.evalcore.methods.any_outcome.guaranteed import Guarantee
from assay.evalcore.methods.any_outcome.measured_pool import (
    FLOOR,
    By,
    Expecting,
    ItemProfile,
    MeasuredPool,
    profile,
)
from assay.evalcore.methods.any_outcome.sampled import Sampled
from assay.evalcore.methods.any_outcome.state import OutcomeCells, SampleState, guessed
from assay.evalcore.methods.method import Capabilities
from assay.evalcore.outcomes.items import Items
from assay.evalcore.pool.strata import assign, csf_edges
from assay.evalcore.types import Floats, Ints

STRATA = 16
FINE = 256


@dataclass(frozen=True, slots=True)
class PassiveSample(Sampled):
    """Simple random sampling."""

    sources: ClassVar[tuple[str, ...]] = ("cochran1977",)
    guaranteed: bool = False   # intervals that hold for any pool, at every look

    name: ClassVar[str] = "passive"
    says: ClassVar[str] = "A simple random sample."
    interval: ClassVar[str] = "linearised"
    capabilities: ClassVar[Capabilities] = replace(
        Sampled.capabilities, serves_several=False, ok_by_interval="shares", no_weights=""
    )
    interval_note: ClassVar[str] = (
        "The interval of a count for a share, of a simple random sample the exact one; else Student's of the "
        "linearised measure, no nearer than what no label has shown. Of macro F1 with 10 classes and a "
        "quarter of the items wrong, simple and stratified samples covered 0.82 to 0.88 at 25 labels, 0.85 "
        "to 0.93 at 50 and 0.90 to 0.96 at 100 (nominal 0.95): some classes then have no label."
    )
    least: ClassVar[float] = np.inf

    def as_set(self) -> OutcomeMethod:
        """With guaranteed intervals where they are asked for.

        Raises BadInput where they are, and the method's draws are neither even nor stratified.
        """
        if not self.guaranteed:
            return self
        for of in (GuaranteedEven, GuaranteedStrata, GuaranteedNeyman):
            if of.name == self.name:
                return of(one_at_a_time=self.one_at_a_time, guaranteed=True)
        raise BadInput(f"method {self.written!r}: a guaranteed interval needs even or stratified draws; use "
                       "passive, stratified or stratified-neyman")

    def cells(self, pool: MeasuredPool) -> OutcomeCells:
        """One cell of everything that matters."""
        found = profile(pool)
        return cut(pool, found, Together(found), 1).cells

    def share(self, state: SampleState) -> Floats:
        """Even."""
        return np.ones(state.by_cell.shape)


@dataclass(frozen=True, slots=True)
class StratifiedSample(PassiveSample):
    """Proportional allocation over strata of confidence."""

    name: ClassVar[str] = "stratified"
    says: ClassVar[str] = "A stratified sample by confidence, in proportion to the strata."
    interval: ClassVar[str] = "stratified"
    capabilities: ClassVar[Capabilities] = replace(PassiveSample.capabilities, ok_by_interval="none")
    least: ClassVar[float] = 2.0
    strata: ClassVar[int] = STRATA

    def cells(self, pool: MeasuredPool) -> OutcomeCells:
        """Strata of the confidence; of the judges' mean for numbers."""
        found = profile(pool)
        confidence = _Confidence(found)
        edges = csf_edges(pool.ordered(confidence), self.strata)
        return cut(pool, found, _Strata(found, confidence, edges), 1).cells


@dataclass(frozen=True, slots=True)
class NeymanSample(StratifiedSample):
    """Neyman allocation by the supplied probabilities."""

    name: ClassVar[str] = "stratified-neyman"
    says: ClassVar[str] = "A stratified sample by confidence, allocated by the supplied probabilities."
    capabilities: ClassVar[Capabilities] = replace(Sampled.capabilities, no_weights="")

    def share(self, state: SampleState) -> Floats:
        """The root of the guessed variances."""
        drive = state.cells.spread @ state.stack.weight
        return np.broadcast_to(np.sqrt(drive), state.by_cell.shape)


_BY_NUMBER = "guarantees ends by how many items can differ, and their number does not say what they weigh"


@dataclass(frozen=True, slots=True)
class GuaranteedEven(Guarantee, PassiveSample):
    """A simple random sample."""

    capabilities: ClassVar[Capabilities] = replace(PassiveSample.capabilities, no_weights=_BY_NUMBER)


@dataclass(frozen=True, slots=True)
class GuaranteedStrata(Guarantee, StratifiedSample):
    """Few strata, in proportion."""

    capabilities: ClassVar[Capabilities] = replace(StratifiedSample.capabilities, no_weights=_BY_NUMBER)

    strata: ClassVar[int] = FEW_STRATA


@dataclass(frozen=True, slots=True)
class GuaranteedNeyman(Guarantee, NeymanSample):
    """Few strata, allocated by the supplied probabilities."""

    capabilities: ClassVar[Capabilities] = replace(NeymanSample.capabilities, no_weights=_BY_NUMBER)

    strata: ClassVar[int] = FEW_STRATA


@dataclass(frozen=True, slots=True)
class Together:
    """One group for all items."""

    found: By

    def __call__(self, stack: Stack, items: Items) -> ItemProfile:
        """Of the items of a shard."""
        found = self.found(stack, items)
        return replace(found, group=np.zeros(len(items), np.int64), score=np.zeros(len(items)))


@dataclass(frozen=True, slots=True)
class OfPull:
    """Items by their pull alone."""

    found: By

    def __call__(self, stack: Stack, items: Items) -> ItemProfile:
        """Of the items of a shard."""
        found = self.found(stack, items)
        return replace(found, group=np.zeros(len(items), np.int64), score=found.pull)


@dataclass(frozen=True, slots=True)
class _Confidence:
    found: By

    def __call__(self, stack: Stack, items: Items) -> Floats:
        probability = stack.as_asked(items).probability
        if probability is None:
            return self.found(stack, items).score
        return np.asarray(probability.max(axis=1))


@dataclass(frozen=True, slots=True, eq=False)
class _Strata:
    found: By
    confidence: _Confidence
    edges: Floats

    def __call__(self, stack: Stack, items: Items) -> ItemProfile:
        group = assign(self.edges, self.confidence(stack, items))
        return replace(self.found(stack, items), group=group, score=np.zeros(len(items)))


# Importance sampling for any measure: items by how much they are expected to add to the error.
#
# Marchant & Rubinstein (2021), Proposition 2, in its stochastic form and for several numbers at once: of all
# proposals, the one with the smallest trace of the estimates' covariance (each in units of its target) is
#
#     q(x) ∝ √ Σ_q E_y (J_q·(ℓ(x, y) - R))² / target_q²
#
# the expectation under the supplied probabilities, which are believed as they are: the proposal is static.  R
# is subtracted because the weights are normalised (Sawade et al. 2010).  Beside the variance of J·ℓ given x,
# which is all that `bernoulli` looks at, q counts how far the expected pull of an item is from the mean.
#
# As in every method here an item is asked at most once: π is q raised until it adds up, cut at 1.  A label
# weighs 1/π, normalised (Hájek 1971).

@dataclass(frozen=True, slots=True)
class StaticSample(NeymanSample):
    """The static optimal proposal."""

    sources: ClassVar[tuple[str, ...]] = ("marchant2021",)
    name: ClassVar[str] = "static-is"
    says: ClassVar[str] = "Importance sampling by what each item is expected to add to the error."
    interval: ClassVar[str] = "weighted"
    capabilities: ClassVar[Capabilities] = replace(
        NeymanSample.capabilities, single_draws=False,
        no_weights="draws by how far each pull is from one mean of all, and items of other weights have no "
                   "mean pull in common",
    )
    least: ClassVar[float] = np.inf

    def cells(self, pool: MeasuredPool) -> OutcomeCells:
        """Fine cells of items with alike expected squares of the centred pull; a few passes over the pool."""
        found = profile(pool)
        squares = _Squares(found=found, centre=np.asarray(found.slopes @ self.centre(pool, found)))
        mean = sum(pool.measured(squares.total)) / len(pool)
        made = cut(pool, found, ByRoot(found, squares, FLOOR * mean), FINE, squares.by_cell)
        sums, cells = made.further, made.cells
        spread = np.maximum(sums / cells.size[:, None], FLOOR * sums.sum(axis=0) / len(pool))
        return replace(cells, spread=np.maximum(spread, 1e-30))

    def centre(self, pool: MeasuredPool, found: Expecting) -> Floats:
        """(D,) from which losses are counted: their expected mean."""
        return np.asarray(sum(pool.measured(_Expected(found))) / len(pool))


@dataclass(frozen=True, slots=True)
class _Expected:
    found: Expecting

    def __call__(self, stack: Stack, items: Items) -> Floats:
        """(D,) the sum of the expected losses."""
        total = np.zeros(stack.size)
        for _, piece in items.chunks():
            total += np.einsum("b,nbd->d", self.found.first, guessed(stack, piece)[1])
        return total


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SquaredPulls(ABC):
    """Expected squares of items' pulls, and what a cut of the pool adds up of them."""

    centre: Floats     # (Q,) J·R, from which the pulls are counted

    @abstractmethod
    def of(self, stack: Stack, items: Items) -> Floats:
        """(n, Q)."""

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
class ByRoot:
    """What is found of items, in the order of the root of their squares, in one group."""

    found: By
    squares: SquaredPulls
    least: float     # of a square: the guesses may be sure of an item and wrong

    def __call__(self, stack: Stack, items: Items) -> ItemProfile:
        root = np.sqrt(np.maximum(self.squares.driving(stack, items), self.least))
        return replace(self.found(stack, items), pull=root, group=np.zeros(len(items), np.int64), score=root)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Squares(SquaredPulls):
    """E_y (J_q·(ℓ(x, y) - R))² under the first weights of the guesses."""

    found: Expecting

    def of(self, stack: Stack, items: Items) -> Floats:
        """(n, Q)."""
        found, (phi, loss) = self.found, guessed(stack, items)
        mean = np.einsum("b,nbp->np", found.first[: phi.shape[1]], phi)
        spread = stack.spread(items, mean, found.slopes, found.likely)
        expected = np.einsum("b,nbd->nd", found.first, loss) @ found.slopes.T
        return np.asarray(spread + (expected - self.centre) ** 2)
