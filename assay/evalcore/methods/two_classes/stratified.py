"""`stratified`, `stratified-neyman`, `stratified-online`: stratified random sampling, without replacement.

Cells (stratum × prediction) are sampled separately, so what the system predicts is known and only the
positive rate of each cell is estimated (Cochran 1977, chapters 5 and 5A):

    n_c ∝ N_c              proportional
    n_c ∝ N_c |g_c| s_c    Neyman; s_c² = p_c (1 - p_c), g_c the pull of a positive label on the first measure

with p_c the supplied probability (`stratified-neyman`) or, renewed every round, the cell's own labels and the
supplied probability for SUPPLIED_LABELS more labels (`stratified-online`).  Probabilities near 0 and 1 leave
cells without labels, and what nobody looked at may be anything.  So a part of the labels is spread by |g_c|
alone: every round that part of EVEN_PARTS under which the interval is expected to be the narrowest, its
spread and what no label has shown taken together.  Shares beyond a cell's size are redistributed
(`evalcore.design.draws`).  A round spends its labels on the cells furthest behind their share, rounded at
random to whole items, so rounds add up to the allocation for all labels so far, and the size is always exact.

Estimate and interval: `evalcore.methods.two_classes.stratified_estimate`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, Self, TypeAlias, cast

import numpy as np

from assay.evalcore.design.draws import Draws, systematic, waterfill, without_replacement
from assay.evalcore.design.proposal import expected_risk, pull
from assay.evalcore.design.round import CountedDesign, EstimateArrays, RoundLabels
from assay.evalcore.estimators.guaranteed import (
    FEW_STRATA,
    GUARANTEE_NOTE,
    GUARANTEED,
    refuse_without_mean,
    with_guarantee,
)
from assay.evalcore.estimators.linearised import mean_of_items
from assay.evalcore.measures.two_classes import Measure
from assay.evalcore.methods.method import Capabilities, covered, with_settings_of
from assay.evalcore.methods.two_classes.base import (
    CountingMethod,
    MethodState,
    fixed_size_design,
    no_labels_yet,
)
from assay.evalcore.methods.two_classes.stratified_estimate import StrataOfLabels, expected_width
from assay.evalcore.pool.partition import FeatureTree, PartitionKind, binary_tree, cut_scores
from assay.evalcore.pool.strata import Cells, OrderedScores, relevant_cells
from assay.evalcore.reproducible import OFF_TIES
from assay.evalcore.types import Floats, Ints

Allocation: TypeAlias = Literal["proportional", "neyman", "online"]

EVEN_PARTS = (0.0, 0.1, 0.2, 0.35, 0.5, 0.7, 0.9)   # of the labels
# labels that the supplied probability counts for beside those of a cell: draws that follow a few labels of
# their own leave cells alone whose first labels agree, and lean (Bowden & Trippa 2017)
SUPPLIED_LABELS = 16.0   # labels that the supplied probability counts for in each cell
PLANNED_AHEAD = 25   # labels, of the interval that is expected: before the first there is none


@dataclass(frozen=True, slots=True, kw_only=True)
class Stratified(CountingMethod[MethodState]):
    """The methods `stratified`, `stratified-neyman` and `stratified-online` of two classes: cells of stratum
    and prediction are sampled separately, with a proportional, a Neyman, or a Neyman allocation that is
    renewed from the labels (Cochran 1977, chapters 5 and 5A)."""

    sources: ClassVar[tuple[str, ...]] = ("cochran1977",)
    name: str = "stratified"
    _note: ClassVar[str] = (
        "Student's interval of the proportional allocation, as wide as what no label has shown may reach. "
        + covered((3, 9, 56, 95), (2, 7, 45, 99))
        + " Its misses are mostly runs that met no item that counts; where it covers it is nearly as wide as "
        "the measure's whole range."
    )
    capabilities: ClassVar[Capabilities] = Capabilities(
        reuses_labels=True, cuts_by_features=True, spreads_evenly=True, whole_pool_only=True,
        single_draws=True, weighting="cells", extends_a_sample=True,
    )
    allocation: Allocation = "proportional"
    strata: int = 32
    one_at_a_time: bool = False        # draw the items of a batch one after the other
    partition: PartitionKind = "csf"   # how the pool is cut
    guaranteed: bool = False           # intervals that hold for any pool, at every look

    def with_settings(self, written: str) -> Self:
        """With the settings of a written name; an allocation is said of as the method of its own name is."""
        form = _FORMS[with_settings_of(self, written).allocation]
        return cast("Self", replace(with_settings_of(form(), written), name=written))

    @property
    def interval(self) -> str:
        """The kind of interval: guaranteed where that is asked for, else that of the stratified estimate.
        JSON and reports name it so."""
        return GUARANTEED if self.guaranteed else "stratified"

    @property
    def interval_note(self) -> str:
        """What intervals of this kind were measured to cover, in sentences for people who must rely on one.
        They cite the measured tables."""
        return GUARANTEE_NOTE if self.guaranteed else self._note

    @property
    def holds_at_every_look(self) -> bool:
        """Whether the intervals hold all together, however often people look: only where they are guaranteed.
        Extensions then widen nothing."""
        return self.guaranteed

    def edges(self, scores: OrderedScores, positives: int) -> tuple[Floats, int]:
        """The edges between strata, and the number of strata: by default strata of equal cumulative
        √frequency of the score."""
        return cut_scores(self.partition, scores, self._strata), self._strata

    @property
    def feature_tree(self) -> FeatureTree | None:
        """The tree by which the pool is cut along its features, where `partition` names such a cut; None
        where it is cut by score."""
        return binary_tree(self.partition, self._strata)

    @property
    def _strata(self) -> int:
        """Few where intervals are guaranteed."""
        return min(self.strata, FEW_STRATA) if self.guaranteed else self.strata

    def start(self, cells: Cells, measures: Sequence[Measure], repeats: int) -> MethodState:
        """Nothing is known. Raises BadInput for a guarantee on a measure that has none. R repeats are begun
        alike."""
        if self.guaranteed:
            refuse_without_mean(measures)
        return MethodState(**no_labels_yet(cells, measures, repeats))

    def _share(self, state: MethodState) -> tuple[Floats, Floats, Floats]:
        """Relative share of one item, model rate and pull of a positive label, each (R, C)."""
        cells = state.cells
        relevant = np.broadcast_to(relevant_cells(state.measures, cells), state.left.shape)
        supplied = np.clip(np.broadcast_to(cells.mean_probability, state.left.shape), 1e-9, 1 - 1e-9)
        n_labels = state.labelled.sum(axis=2)
        rate = supplied
        if self.allocation == "online":
            rate = (state.labelled[..., 1] + SUPPLIED_LABELS * supplied) / (n_labels + SUPPLIED_LABELS)
        everything = np.broadcast_to(cells.size, state.left.shape)
        measure = state.measures[0]
        risk = expected_risk(measure, cells, np.zeros_like(state.labelled), everything, rate)
        phi = pull(measure, risk)[:, cells.prediction]
        slope = phi[..., 1] - phi[..., 0]
        if self.allocation == "proportional":
            return relevant.astype(np.float64), rate, slope
        value = np.nan_to_num(measure.value(risk), nan=0.5)
        share = self._with_even_part(state, rate, slope, value)
        # other measures may care about cells the first one does not: keep them possible
        floor = 1e-3 if len(state.measures) > 1 else 1e-9
        share = np.maximum(share, floor * share.max(axis=1, keepdims=True))
        return np.where(relevant, share, 0.0), rate, slope

    def _with_even_part(self, state: MethodState, rate: Floats, slope: Floats, value: Floats) -> Floats:
        """The Neyman share (R, C), with the part spread evenly that promises the narrowest interval."""
        neyman, even = np.abs(slope) * np.sqrt(rate * (1 - rate)), np.abs(slope)
        items = state.cells.size - state.excluded
        even = even * mean_of_items(neyman, items) / np.maximum(mean_of_items(even, items), 1e-300)
        labels = state.labelled.sum(axis=(1, 2)) + PLANNED_AHEAD
        best, narrowest = neyman, np.full(len(neyman), np.inf)
        for part in EVEN_PARTS:
            share = (1 - part) * neyman + part * even
            width = expected_width(state, rate, slope, value, self._target(state, share, labels))
            best = np.where((width < narrowest * (1 - OFF_TIES))[:, None], share, best)
            narrowest = np.minimum(width, narrowest)
        return np.asarray(best)

    def _target(self, state: MethodState, share: Floats, labels: Ints) -> Floats:
        """(R, C) how many of so many labels (R,) are meant for each cell."""
        open_items = state.cells.size - state.excluded
        return np.asarray(open_items * waterfill(share, open_items, labels))

    def propose(self, state: MethodState, size: Ints) -> CountedDesign:
        """Spend the round where the allocation of all labels so far is furthest behind. The design holds an
        inclusion probability for each item of a cell."""
        open_items, n_labels = state.left, state.labelled.sum(axis=2)
        share, rate, slope = self._share(state)
        target = self._target(state, share, n_labels.sum(axis=1) + size)
        behind = np.maximum(target - n_labels, 0.0)
        per_item = np.divide(behind, open_items, out=np.zeros_like(behind), where=open_items > 0)
        inclusion = waterfill(per_item + 1e-9 * share, open_items, size)
        return fixed_size_design(state, inclusion, model=rate, gradient=slope, size=size)

    def draw(self, state: MethodState, design: CountedDesign, size: Ints, rng: np.random.Generator) -> Draws:
        """The draws of a round: exactly `size` (R,) items, as counts for each cell, systematic along the
        inclusion probabilities. R counts the repeats."""
        return without_replacement(systematic(design.left, design.unlabelled, rng))

    def observe(
        self, state: MethodState, design: CountedDesign, labels: RoundLabels, excluded: Ints
    ) -> MethodState:
        """The state after a round: its labels are counted by cell."""
        return state.with_labels(labels, excluded)

    def estimate(
        self, state: MethodState, confidence: float, rng: np.random.Generator
    ) -> list[EstimateArrays]:
        """The measures of the stratified confusion table, as arrays over the repeats, with Student's
        interval or, where that is asked for, guaranteed ends."""
        allocated = self._target(state, self._share(state)[0], state.labelled.sum(axis=(1, 2)))
        strata = StrataOfLabels.from_state(state, allocated)
        estimates = [strata.estimate(measure, confidence) for measure in state.measures]
        if self.guaranteed:
            return with_guarantee(
                state.measures, state.cells, state.labelled, state.excluded, estimates, confidence,
                even=False,
            )
        return estimates


@dataclass(frozen=True, slots=True, kw_only=True)
class StratifiedNeyman(Stratified):
    """The method `stratified-neyman`: labels are allocated in proportion to N_c √(p_c (1 − p_c)) times the
    size of g_c, with p_c the supplied probability and g_c the pull of a positive label on the first
    measure, mixed with a part spread by the size of g_c alone."""

    name: str = "stratified-neyman"
    allocation: Allocation = "neyman"
    _note: ClassVar[str] = (
        "Student's interval of the Neyman allocation by the supplied probabilities, as wide as what no label "
        "has shown may reach. "
        + covered((100, 99, 100, 100), (100, 100, 100, 100))
        + " It is nearly as wide as the measure's whole range there."
    )
    capabilities: ClassVar[Capabilities] = replace(
        Stratified.capabilities, trusts_probabilities=True, extends_a_sample=False
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class StratifiedOnline(Stratified):
    """The method `stratified-online`: a Neyman allocation that is renewed in every round from the cell's own
    labels and the supplied probability."""

    name: str = "stratified-online"
    allocation: Allocation = "online"
    _note: ClassVar[str] = (
        "Student's interval of an allocation that follows the labels, as wide as what no label has shown "
        "may reach. "
        + covered((99, 100, 100, 100), (100, 100, 100, 100))
        + " It is nearly as wide as the measure's whole range there."
    )
    capabilities: ClassVar[Capabilities] = replace(Stratified.capabilities, extends_a_sample=False)


_FORMS: Mapping[Allocation, type[Stratified]] = {
    "proportional": Stratified, "neyman": StratifiedNeyman, "online": StratifiedOnline,
}
