"""`score-test`: labels where they move the ends of the interval most; an interval from the design alone."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from assay.evalcore.design.draws import Draws, systematic, waterfill, without_replacement
from assay.evalcore.design.placing import placing_features, placing_rates, target_labels
from assay.evalcore.design.round import CountedDesign, EstimateArrays, RoundLabels
from assay.evalcore.estimators.score_interval import SampleAlongScore, score_interval
from assay.evalcore.measures.by_group import Estimand, Quantity, of_predictions
from assay.evalcore.measures.two_classes import Measure
from assay.evalcore.methods.method import Capabilities, SizedCells
from assay.evalcore.methods.two_classes.base import (
    CountingMethod,
    MethodState,
    fixed_size_design,
    no_labels_yet,
)
from assay.evalcore.pool.nested_strata import (
    NestedStrata,
    log_rank_odds,
    nested_strata_of_cells,
    two_sided_edges,
)
from assay.evalcore.pool.strata import Cells, OrderedScores
from assay.evalcore.types import Floats, Ints

PLANNED_CONFIDENCE = 0.95   # of the interval whose ends a plan moves in
SPREADS_LABELS = 1e6        # ν of a stratum counts for so much at the most when labels are shared out
SPREADS_LEAST = 1e-3        # of the largest pull: of items that only further measures ask about


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ScoreTestState(MethodState):
    """Labels by cell; the strata that cells make up; what the placing model looks at.

    features (C, 3): see `evalcore.design.placing`; taught (C, 2): pseudo-labels of earlier pools, by label.
    """

    strata: NestedStrata
    features: Floats
    taught: Floats

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        """The measures of the question as functions of the positives by prediction, with which planning and
        the score test work. There is one for each measure, in order."""
        return of_predictions(self.measures, self.cells.prediction.astype(np.float64))

    def sample(self, level: int) -> SampleAlongScore:
        """The labels at a level of the strata."""
        return counted_sample(self, level)


class SampleInStrata(Protocol):
    """What is known in a method that plans and estimates by strata of cells: labels by cell, the strata, what
    the placing model looks at, and the measures as functions of the positives."""

    @property
    def cells(self) -> SizedCells: ...
    @property
    def labelled(self) -> Ints: ...
    @property
    def excluded(self) -> Ints: ...
    @property
    def by_cell(self) -> Ints: ...
    @property
    def left(self) -> Ints: ...
    @property
    def wanted(self) -> Ints: ...
    @property
    def bought(self) -> Ints: ...
    @property
    def strata(self) -> NestedStrata: ...
    @property
    def features(self) -> Floats: ...
    @property
    def taught(self) -> Floats: ...
    @property
    def quantities(self) -> tuple[Quantity, ...]: ...

    def sample(self, level: int) -> SampleAlongScore: ...


def counted_sample(state: SampleInStrata, level: int) -> SampleAlongScore:
    """The labels of a state with `strata`, `features` and `taught`, at a level of its strata. The score test
    takes it as it is; a coarser level has fewer strata."""
    labels = state.by_cell + state.taught.sum(axis=1)
    positives = state.labelled[..., 1] + state.taught[:, 1]
    return SampleAlongScore(
        strata=state.strata, level=level, items=(state.cells.size - state.excluded).astype(np.float64),
        labelled=state.by_cell.astype(np.float64), positive=state.labelled[..., 1].astype(np.float64),
        rate=placing_rates(state.features, labels, positives),
    )


def planned_inclusion(
    state: SampleInStrata, quantities: Sequence[Quantity], size: Ints, weight: Floats | float = 1.0
) -> tuple[Floats, Floats]:
    """The chance (R, C) of each unlabelled item to be in the next round of `size` (R,), and expected rates.

    Every stratum is to have labels in proportion to (ν gain)^½, gain the part of both ends that one more
    label of it takes away, summed over the numbers that drive; the round goes where strata are furthest
    behind.  weight (C,): the mean weight of a cell's items; inside a stratum chances are in proportion to it.
    """
    labels = int(state.bought.max()) + int(size.max())
    level = state.strata.level(labels)
    sample = state.sample(level)
    planned = sample.planned()
    counts = planned.counts
    share = np.zeros(counts.items.shape)
    for quantity in quantities:
        for number in quantity.estimands if quantity.drives else ():
            share = share + _share_of(planned, number)
    target = target_labels(share, counts.items, labels)
    behind = np.maximum(target - counts.labelled, 0.0)
    free = state.wanted
    room = state.strata.sums(np.asarray(free * weight, np.float64), level)
    density = np.divide(behind, room, out=np.zeros_like(behind), where=room > 0) + 1e-9 * (room > 0)
    matters = np.where(free > 0, density[:, state.strata.stratum[level]] * weight, 0.0)
    return waterfill(matters, free, size), sample.rate


def single_draw_inclusion(state: SampleInStrata, pull: Floats, rate: Floats, size: Ints) -> Floats:
    """The chance (R, C) of each unlabelled item to be in a round whose items are drawn one after the other.

    Half of the labels are spread in proportion to the pull of a label on what is asked, as if nothing were
    known of rates, and half by Neyman's allocation at the expected ones.  A plan of expected rates alone
    leaves out what a broken model is sure of; this one tells nearly as much as the best there is, before a
    fall and after one (docs/measured/single-windows.md).  Items of a stratum have the same chance.

    pull (R, C) of a label, of either sign; rate (R, C): of positives, as it is expected; size (R,).
    """
    level = state.strata.level(int(state.bought.max()) + int(size.max()))
    sums, stratum = state.strata.sums, state.strata.stratum[level]
    items = np.broadcast_to(state.cells.size, rate.shape)
    rate = (sums(items * rate, level) / sums(items, level))[:, stratum]
    free, pull = state.wanted, np.abs(pull)
    even = np.where(free > 0, np.maximum(pull, SPREADS_LEAST * pull.max(axis=1, keepdims=True)), 0.0)
    halves = (waterfill(share, free, size) for share in (even, even * np.sqrt(rate * (1 - rate))))
    return np.asarray(sum(halves) / 2)


def _share_of(planned: SampleAlongScore, number: Estimand) -> Floats:
    """(R, H) the share of labels that serves one number, of a sum of 1."""
    counts = planned.counts
    interval = score_interval(planned, number, PLANNED_CONFIDENCE, with_gain=True)
    gain = np.zeros_like(counts.items) if interval.gain is None else interval.gain
    share = np.sqrt(np.minimum(counts.effective_labels, SPREADS_LABELS) * gain)
    total = share.sum(axis=1, keepdims=True)
    rate = counts.guessed_rate
    even = counts.items * np.sqrt(rate * (1 - rate))       # Neyman's, where no end can be moved
    even = even / np.maximum(even.sum(axis=1, keepdims=True), 1e-300)
    return np.where(total > 0, share / np.where(total > 0, total, 1.0), even)


@dataclass(frozen=True, slots=True, kw_only=True)
class StratifiedScoreTest(CountingMethod[ScoreTestState]):
    """Nested strata along the score, labels by what they do to the ends, and a stratified score test."""

    sources: ClassVar[tuple[str, ...]] = ("cochran1977",)
    published: ClassVar[bool] = False
    name: str = "score-test"
    interval: ClassVar[str] = "score test"
    interval_note: ClassVar[str] = (
        "Every value that a stratified score test does not reject. It trusts no score: where nobody looked, "
        "rates may be anything that the labels do not contradict."
    )
    sampling_note: ClassVar[str] = (
        "Items were drawn at random within strata of the score on both sides of the threshold, more of them "
        "where a label moves the ends of the interval most. The chance of every item was stored before "
        "anyone was asked."
    )
    capabilities: ClassVar[Capabilities] = Capabilities(
        serves_several=True, negatively_associated=True, single_draws=True, weighting="rounds",
        ok_by_interval="all", starts_warm=True, draws_alone=True, forecast_worlds=36, extends_a_sample=True,
    )
    one_at_a_time: bool = False   # draw the items of a batch one after the other
    coverage_slack: ClassVar[float] = 0.01
    least_labels: ClassVar[int] = 50
    looks_in_a_row: ClassVar[int] = 1

    def edges(self, scores: OrderedScores, positives: int) -> tuple[Floats, int]:
        """The edges between strata, and the number of strata: up to sixteen of the score on either side of
        the decision."""
        edges = two_sided_edges(scores, positives)
        return edges, len(edges) + 1

    def start(self, cells: Cells, measures: Sequence[Measure], repeats: int) -> ScoreTestState:
        """The state before any label, without pseudo-labels of earlier pools."""
        return self.start_from(cells, measures, repeats, np.zeros((cells.n_cells, 2)))

    def start_from(
        self, cells: Cells, measures: Sequence[Measure], repeats: int, evidence: Floats
    ) -> ScoreTestState:
        """Pseudo-labels (C, 2) of an earlier pool teach the placing model, and are in no estimate. C counts
        the cells, and the last axis is the label."""
        odds = log_rank_odds(cells.size, cells.mean_score, cells.predicted_positives)
        return ScoreTestState(
            **no_labels_yet(cells, measures, repeats), strata=nested_strata_of_cells(cells),
            features=placing_features(odds, cells.prediction), taught=evidence,
        )

    def propose(self, state: ScoreTestState, size: Ints) -> CountedDesign:
        """The design of the next round: inclusion probabilities that put labels where they move both ends of
        the interval most; of single draws, half where they do and half by pull alone."""
        if self.one_at_a_time:
            rate = state.sample(0).rate
            pull = pull_of_a_positive(state, rate)
            inclusion = single_draw_inclusion(state, pull, rate, size)
        else:
            inclusion, rate = planned_inclusion(state, state.quantities, size)
            pull = pull_of_a_positive(state, rate)
        return fixed_size_design(state, inclusion, model=rate, gradient=pull, size=size)

    def drawn_singly_by(self, design: CountedDesign, prediction: Ints) -> Floats:
        """The inclusion probabilities as they were planned: half of a batch looks everywhere already. R
        counts repeats and C cells, so nothing is added."""
        return design.unlabelled

    def draw(self, state: MethodState, design: CountedDesign, size: Ints, rng: np.random.Generator) -> Draws:
        """Systematic over the cells in score order, at random inside each."""
        return without_replacement(systematic(design.left, design.unlabelled, rng))

    def observe(
        self, state: ScoreTestState, design: CountedDesign, labels: RoundLabels, excluded: Ints
    ) -> ScoreTestState:
        """The state after a round: its labels are counted by cell."""
        return state.with_labels(labels, excluded)

    def estimate(
        self, state: ScoreTestState, confidence: float, rng: np.random.Generator
    ) -> list[EstimateArrays]:
        """The measures at the observed rates of the strata, with the interval of every value that a
        stratified score test does not reject; as arrays over the repeats."""
        sample = state.sample(state.strata.level(int(state.bought.max())))
        return [
            _estimated(sample, number, confidence)
            for quantity in state.quantities for number in quantity.estimands
        ]


def pull_of_a_positive(state: SampleInStrata, rate: Floats) -> Floats:
    """(R, C) what a positive label does to the first measure that drives, times N, at the expected rates. R
    counts repeats and C cells; labels go where it is large."""
    quantity = next(candidate for candidate in state.quantities if candidate.drives)
    sums = quantity.groups.sums
    items = sums(np.asarray(state.cells.size - state.excluded, np.float64))
    positives = sums(np.asarray(state.labelled[..., 1] + state.left * rate, np.float64))
    slope = quantity.slopes(positives, items)[:, 0]
    return np.asarray(slope[:, quantity.groups.of_cell] * state.cells.n_items)


def _estimated(sample: SampleAlongScore, number: Estimand, confidence: float) -> EstimateArrays:
    """One number; its variance is that of the test of the value itself."""
    interval = score_interval(sample, number, confidence)
    return EstimateArrays(
        value=interval.value, lower=interval.lower, upper=interval.upper, variance=interval.variance,
        diagnostics={"draws": sample.labelled.sum(axis=1).astype(np.int64)},
    )
