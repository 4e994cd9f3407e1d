"""Methods without a label model: the ones that others are measured against.

    passive             simple random sampling, the whole pool one cell
    stratified          strata of equal √frequency of the confidence, sampled in proportion to their size
    stratified-neyman   the same strata, sampled by size times the guessed spread of an item's pull
    bernoulli           each item by its own guessed root mean square pull (Yilmaz et al. 2021), in cells of
                        items alike; App. D of the paper for tags.  Its draws are systematic, not independent:
                        the size of a round is exact, which lowers its error
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from assay.evalcore.outcome_measures.stack import Stack
from assay.evalcore.outcome_methods.cells import OutcomeCells
from assay.evalcore.outcome_methods.cut import cut
from assay.evalcore.outcome_methods.cutting.pool import MeasuredPool
from assay.evalcore.outcome_methods.cutting.profile import By, Profile, profile
from assay.evalcore.outcome_methods.sampled import Sampled
from assay.evalcore.outcome_methods.state import SampleState
from assay.evalcore.outcomes.items import Items
from assay.evalcore.pool.strata import assign, csf_edges
from assay.evalcore.types import Floats

STRATA = 16
FINE = 256


@dataclass(frozen=True, slots=True)
class Passive(Sampled):
    """Simple random sampling."""

    name: ClassVar[str] = "passive"
    says: ClassVar[str] = "A simple random sample."
    interval: ClassVar[str] = "linearised"
    draws_by_measure: ClassVar[bool] = False
    interval_note: ClassVar[str] = "Student's interval of the linearised measure."
    least: ClassVar[float] = np.inf

    def cells(self, pool: MeasuredPool) -> OutcomeCells:
        """One cell of everything that matters."""
        found = profile(pool)
        return cut(pool, found, Together(found), 1).cells

    def share(self, state: SampleState) -> Floats:
        """Even."""
        return np.ones(state.labelled.shape)


@dataclass(frozen=True, slots=True)
class Stratified(Passive):
    """Proportional allocation over strata of confidence."""

    name: ClassVar[str] = "stratified"
    says: ClassVar[str] = "A stratified sample by confidence, in proportion to the strata."
    interval: ClassVar[str] = "stratified"
    least: ClassVar[float] = 2.0

    def cells(self, pool: MeasuredPool) -> OutcomeCells:
        """Strata of the confidence; of the judges' mean for numbers."""
        found = profile(pool)
        confidence = _Confidence(found)
        edges = csf_edges(pool.ordered(confidence), STRATA)
        return cut(pool, found, _Strata(found, confidence, edges), 1).cells


@dataclass(frozen=True, slots=True)
class StratifiedNeyman(Stratified):
    """Neyman allocation by the supplied probabilities."""

    name: ClassVar[str] = "stratified-neyman"
    says: ClassVar[str] = "A stratified sample by confidence, allocated by the supplied probabilities."
    draws_by_measure: ClassVar[bool] = True

    def share(self, state: SampleState) -> Floats:
        """The root of the guessed variances."""
        drive = state.cells.spread @ state.stack.weight
        return np.broadcast_to(np.sqrt(drive), state.labelled.shape)


@dataclass(frozen=True, slots=True)
class Bernoulli(StratifiedNeyman):
    """Each item by its own guessed pull."""

    name: ClassVar[str] = "bernoulli"
    says: ClassVar[str] = "Each item with a chance by its expected influence."
    interval: ClassVar[str] = "weighted"
    single_draws: ClassVar[bool] = False
    least: ClassVar[float] = np.inf

    def cells(self, pool: MeasuredPool) -> OutcomeCells:
        """Fine cells of items with alike pull."""
        found = profile(pool)
        return cut(pool, found, _Pull(found), FINE).cells


@dataclass(frozen=True, slots=True)
class Together:
    """All items are alike."""

    found: By

    def __call__(self, stack: Stack, items: Items) -> Profile:
        """Of the items of a shard."""
        found = self.found(stack, items)
        return replace(found, group=np.zeros(len(items), np.int64), score=np.zeros(len(items)))


@dataclass(frozen=True, slots=True)
class _Pull:
    found: By

    def __call__(self, stack: Stack, items: Items) -> Profile:
        found = self.found(stack, items)
        return replace(found, group=np.zeros(len(items), np.int64), score=found.pull)


@dataclass(frozen=True, slots=True)
class _Confidence:
    found: By

    def __call__(self, stack: Stack, items: Items) -> Floats:
        if items.probability is None:
            return self.found(stack, items).score
        return np.asarray(items.probability.max(axis=1))


@dataclass(frozen=True, slots=True, eq=False)
class _Strata:
    found: By
    confidence: _Confidence
    edges: Floats

    def __call__(self, stack: Stack, items: Items) -> Profile:
        group = assign(self.edges, self.confidence(stack, items))
        return replace(self.found(stack, items), group=group, score=np.zeros(len(items)))
