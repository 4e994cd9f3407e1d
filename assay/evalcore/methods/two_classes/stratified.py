"""`stratified`, `stratified-neyman`, `stratified-online`: stratified random sampling, without replacement.

Cells (stratum × prediction) are sampled separately, so what the system predicts is known and only the
positive rate of each cell is estimated (Cochran 1977, chapters 5 and 5A):

    n_c ∝ N_c              proportional
    n_c ∝ N_c |g_c| s_c    Neyman; s_c² = p_c (1 - p_c), g_c the pull of a positive label on the first measure

with p_c the supplied probability (`stratified-neyman`) or, renewed every round, the cell's own labels and the
supplied probability for one more label (`stratified-online`).  Shares beyond a cell's size are redistributed
(`evalcore.design.draws`).  A round spends its labels on the cells furthest behind their share, rounded at
random to whole items, so rounds add up to the allocation for all labels so far, and the size is always exact.

Estimate: T̂P = Σ_{f=1} N_c p̂_c, and likewise for the misses; cells without a label take the rate of the
labelled cells of the same prediction, by size ("collapsed").  Variance: Σ N_c² φ² (1 - n_c/N_c) s̃_c²/n_c,
s̃² smoothed towards that common rate, because two or three labels of a kind are no proof of a pure cell.
Normal interval, as wide as what no label has shown may reach (`evalcore.methods.two_classes.base`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, TypeAlias

import numpy as np

from assay.evalcore.design.draws import Draws, systematic, waterfill, without_replacement
from assay.evalcore.design.proposal import expected_risk, pull
from assay.evalcore.design.round import CountedDesign, EstimateArrays, RoundLabels
from assay.evalcore.estimators import intervals
from assay.evalcore.estimators.guaranteed import (
    FEW_STRATA,
    GUARANTEE_NOTE,
    GUARANTEED,
    refuse_without_mean,
    with_guarantee,
)
from assay.evalcore.estimators.intervals import widened_kind
from assay.evalcore.measures.two_classes import Measure
from assay.evalcore.methods.method import Capabilities, covered
from assay.evalcore.methods.two_classes.base import (
    CountingMethod,
    MethodState,
    fixed_size_design,
    no_labels_yet,
    with_hidden_labels,
)
from assay.evalcore.pool.partition import FeatureTree, PartitionKind, binary_tree, cut_scores
from assay.evalcore.pool.strata import Cells, OrderedScores, relevant_cells
from assay.evalcore.types import Floats, Ints

Allocation: TypeAlias = Literal["proportional", "neyman", "online"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stratified(CountingMethod):
    """Stratified sampling with one of three allocations."""

    sources: ClassVar[tuple[str, ...]] = ("cochran1977",)
    name: str = "stratified"
    _note: ClassVar[str] = (
        "Normal interval of the proportional allocation, as wide as what no label has shown may reach. "
        + covered((3, 9, 55, 96), (2, 7, 43, 96))
        + " Its misses are mostly runs that met no item that counts; where it covers it is nearly as wide as "
        "the measure's whole range."
    )
    capabilities: ClassVar[Capabilities] = Capabilities(
        reuses_labels=True, cuts_by_features=True, spreads_evenly=True, whole_pool_only=True,
        single_draws=True, weighting="cells",
    )
    allocation: Allocation = "proportional"
    strata: int = 32
    one_at_a_time: bool = False        # draw the items of a batch one after the other
    partition: PartitionKind = "csf"   # how the pool is cut
    guaranteed: bool = False           # intervals that hold for any pool, at every look

    @property
    def interval(self) -> str:
        """Guaranteed where it is asked for."""
        return GUARANTEED if self.guaranteed else widened_kind("stratified-normal")

    @property
    def interval_note(self) -> str:
        """Of this kind."""
        return GUARANTEE_NOTE if self.guaranteed else self._note

    @property
    def holds_at_every_look(self) -> bool:
        """Where the interval is guaranteed."""
        return self.guaranteed

    def edges(self, scores: OrderedScores, positives: int) -> tuple[Floats, int]:
        """By default strata of equal √frequency."""
        return cut_scores(self.partition, scores, self._strata), self._strata

    @property
    def feature_tree(self) -> FeatureTree | None:
        """The cut by features, where `partition` names one."""
        return binary_tree(self.partition, self._strata)

    @property
    def _strata(self) -> int:
        """Few where intervals are guaranteed."""
        return min(self.strata, FEW_STRATA) if self.guaranteed else self.strata

    def start(self, cells: Cells, measures: Sequence[Measure], repeats: int) -> MethodState:
        """Nothing is known.  Raises BadInput for a guarantee on a measure that has none."""
        if self.guaranteed:
            refuse_without_mean(measures)
        return MethodState(**no_labels_yet(cells, measures, repeats))

    def _share(self, state: MethodState) -> tuple[Floats, Floats, Floats]:
        """Relative share of one item, model rate and pull of a positive label, each (R, C)."""
        cells = state.cells
        relevant = np.broadcast_to(relevant_cells(state.measures, cells), state.left.shape)
        supplied = np.clip(np.broadcast_to(cells.mean_probability, state.left.shape), 1e-9, 1 - 1e-9)
        seen = state.labelled.sum(axis=2)
        rate = (state.labelled[..., 1] + supplied) / (seen + 1) if self.allocation == "online" else supplied
        everything = np.broadcast_to(cells.size, state.left.shape)
        measure = state.measures[0]
        risk = expected_risk(measure, cells, np.zeros_like(state.labelled), everything, rate)
        phi = pull(measure, risk)[:, cells.prediction]
        slope = phi[..., 1] - phi[..., 0]
        if self.allocation == "proportional":
            return relevant.astype(np.float64), rate, slope
        share = np.abs(slope) * np.sqrt(rate * (1 - rate))
        # other measures may care about cells the first one does not: keep them possible
        floor = 1e-3 if len(state.measures) > 1 else 1e-9
        share = np.maximum(share, floor * share.max(axis=1, keepdims=True))
        return np.where(relevant, share, 0.0), rate, slope

    def _target(self, state: MethodState, share: Floats, labels: Ints) -> Floats:
        """(R, C) how many of so many labels (R,) are meant for each cell."""
        open_items = state.cells.size - state.excluded
        return np.asarray(open_items * waterfill(share, open_items, labels))

    def propose(self, state: MethodState, size: Ints) -> CountedDesign:
        """Spend the round where the allocation of all labels so far is furthest behind."""
        left, seen = state.left, state.labelled.sum(axis=2)
        share, rate, slope = self._share(state)
        target = self._target(state, share, seen.sum(axis=1) + size)
        behind = np.maximum(target - seen, 0.0)
        per_item = np.divide(behind, left, out=np.zeros_like(behind), where=left > 0)
        inclusion = waterfill(per_item + 1e-9 * share, left, size)
        return fixed_size_design(state, inclusion, model=rate, gradient=slope, size=size)

    def draw(self, state: MethodState, design: CountedDesign, size: Ints, rng: np.random.Generator) -> Draws:
        """Exactly `size` items, as counts per cell."""
        return without_replacement(systematic(design.left, design.unlabelled, rng))

    def observe(
        self, state: MethodState, design: CountedDesign, labels: RoundLabels, excluded: Ints
    ) -> MethodState:
        """Count the labels."""
        return state.with_labels(labels, excluded)

    def estimate(
        self, state: MethodState, confidence: float, rng: np.random.Generator
    ) -> list[EstimateArrays]:
        """The measures of the stratified table."""
        rate, spread, known = _rates(state)
        found = [_estimate(m, state, rate, spread, known, confidence) for m in state.measures]
        if self.guaranteed:
            return with_guarantee(
                state.measures, state.cells, state.labelled, state.excluded, found, confidence,
                even=False,
            )
        n = state.labelled.sum(axis=2)
        # the labels that a cell was given: those it has, drawn towards those meant for it
        meant = self._target(state, self._share(state)[0], n.sum(axis=1))
        caught = np.log1p((2 * meant + n**2) / (2 + n) / np.maximum(state.left, 1e-12))
        return with_hidden_labels(state, found, _table(state, rate), caught, confidence)


@dataclass(frozen=True, slots=True, kw_only=True)
class StratifiedNeyman(Stratified):
    """With the Neyman allocation by the supplied probabilities."""

    name: str = "stratified-neyman"
    allocation: Allocation = "neyman"
    _note: ClassVar[str] = (
        "Normal interval of the Neyman allocation by the supplied probabilities, as wide as what no label "
        "has shown may reach. "
        + covered((100, 99, 94, 93), (100, 100, 95, 92))
        + " Up to 300 labels it is nearly as wide as the measure's whole range."
    )
    capabilities: ClassVar[Capabilities] = replace(Stratified.capabilities, trusts_probabilities=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class StratifiedOnline(Stratified):
    """With an allocation that is renewed from the labels."""

    name: str = "stratified-online"
    allocation: Allocation = "online"
    _note: ClassVar[str] = (
        "Normal interval of an allocation that follows the labels, as wide as what no label has shown may "
        "reach. "
        + covered((99, 98, 99, 100), (100, 100, 99, 100))
        + " Up to 300 labels it is nearly as wide as the measure's whole range."
    )


def _rates(state: MethodState) -> tuple[Floats, Floats, Floats]:
    """p̂ (R, C) of each cell's unlabelled items, the variance (R, C) of it, and cells with a rate (R, C)."""
    cells = state.cells
    n, k = state.labelled.sum(axis=2), state.labelled[..., 1]
    own = np.divide(k, n, out=np.zeros(n.shape), where=n > 0)
    rate, common, told = own.copy(), np.zeros(n.shape), n > 0
    for f in (0, 1):
        at = cells.prediction == f
        weight = np.where(n[:, at] > 0, cells.size[at], 0)
        total = weight.sum(axis=1, keepdims=True)
        pooled = np.divide((weight * own[:, at]).sum(axis=1, keepdims=True), np.maximum(total, 1))
        common[:, at] = pooled
        rate[:, at] = np.where(n[:, at] > 0, own[:, at], pooled)
        told[:, at] |= total > 0
    smoothed = (k + common) / (n + 1)
    left = np.maximum(cells.size - n, 0)
    # the unlabelled items' mean is known up to (1/n + 1/left) s²; a collapsed cell has no labels of its own
    spread = smoothed * (1 - smoothed) * (1 / np.maximum(n, 1) + 1 / np.maximum(left, 1))
    return rate, np.where(left > 0, spread, 0.0), told.astype(np.float64)


def _table(state: MethodState, rate: Floats) -> Floats:
    """The estimated items (R, 2, 2) by [prediction, label]; rate (R, C) of each cell's unlabelled items."""
    by_cell = state.labelled + state.left[..., None] * np.stack([1 - rate, rate], axis=-1)
    return np.stack([by_cell[:, state.cells.prediction == f].sum(axis=1) for f in (0, 1)], axis=1)


def _estimate(
    measure: Measure, state: MethodState, rate: Floats, spread: Floats, told: Floats, confidence: float
) -> EstimateArrays:
    cells, left, table = state.cells, state.left, _table(state, rate)
    # a prediction whose labels matter and of which none was seen leaves the measure unknown
    matters = measure.label_matters()[cells.prediction]
    blind = np.any(matters & (told == 0) & (left > 0), axis=1)
    value = np.where(blind, np.nan, measure.of_confusion(table))
    risk = np.einsum("rfy,fyd->rd", table, measure.loss) / np.maximum(table.sum(axis=(1, 2)), 1)[:, None]
    influence = measure.influence(risk)[:, cells.prediction]
    slope = (influence[..., 1] - influence[..., 0]) / cells.n_items
    with np.errstate(invalid="ignore"):
        variance = np.einsum("rc,rc->r", (left * slope) ** 2, spread)
    known = np.isfinite(value) & np.isfinite(variance) & (variance > 1e-14)
    ends = intervals.normal(
        np.nan_to_num(value), np.nan_to_num(variance), known, confidence, measure.bounds
    )
    return EstimateArrays(
        value=value,
        lower=ends.lower,
        upper=ends.upper,
        variance=np.where(known, variance, 0.0),
        diagnostics={"draws": state.labelled.sum(axis=(1, 2))},
    )
