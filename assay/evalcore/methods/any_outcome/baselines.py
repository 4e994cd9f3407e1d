"""Stratified samples without replacement (`Sampled`), and the methods without a label model that others are
measured against."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from assay.evalcore.design.draws import draw_one_at_a_time, waterfill
from assay.evalcore.design.draws import weights as draw_weights
from assay.evalcore.design.round import Design
from assay.evalcore.errors import BadInput
from assay.evalcore.estimators.guaranteed import FEW_STRATA
from assay.evalcore.estimators.linearised import WIDER, mean_of_items
from assay.evalcore.measures.stack import Stack
from assay.evalcore.methods.any_outcome import interval
from assay.evalcore.methods.any_outcome.base import OutcomeMethod
from assay.evalcore.methods.any_outcome.cut import BetweenEdges, Stratum, by_features, cut
from assay.evalcore.methods.any_outcome.guaranteed import Guarantee
from assay.evalcore.methods.any_outcome.interval import bounds_of, errors, nothing_yet, reported
from assay.evalcore.methods.any_outcome.measured_pool import (
    By,
    ItemProfile,
    MeasuredPool,
    profile,
)
from assay.evalcore.methods.any_outcome.reading import (
    LEAST_GROUP_LABELS,
    Reading,
    fit_difference_estimator,
    off_centre,
    shrunken,
)
from assay.evalcore.methods.any_outcome.state import ItemWeights, OutcomeCells, OutcomeEstimates, SampleState
from assay.evalcore.methods.any_outcome.unseen_errors import unseen_errors
from assay.evalcore.methods.method import Capabilities
from assay.evalcore.outcomes.items import Items
from assay.evalcore.pool.partition import FeatureTree, PartitionKind, binary_tree, cut_scores
from assay.evalcore.types import Floats, Ints


@dataclass(frozen=True, slots=True)
class Sampled(OutcomeMethod):
    """A method that is told apart by its cells, its share and its use of a label model.

    Stratified sampling without replacement, for a share of labels that each method decides on.

    A round spends its labels on the cells furthest behind their share of all labels so far, so rounds add up
    to the allocation.  Items are drawn systematically along the order of the cells, from a random start, and
    at random inside a cell: neighbours in order are alike, so every stretch of the pool gets its part.

    Drawn one at a time, items come up in proportion to weights that half follow what is behind and half the
    share itself, so no item that can matter is nearly out of reach.
    """

    capabilities: ClassVar[Capabilities] = replace(OutcomeMethod.capabilities, extends_a_sample=True)
    modelled: ClassVar[bool] = False   # residuals are taken from a label model
    group_labels: ClassVar[float] = LEAST_GROUP_LABELS     # labels of a group
    post_stratified: ClassVar[bool] = False   # hits and labels of a class are taken by its predictions

    def propose(self, state: SampleState, size: Ints) -> Design:
        """Where the allocation of all labels so far is furthest behind."""
        open_items, eligible, labels = state.left, state.wanted, state.n + int(size.max())
        cell_share = self.share(state)
        share = np.where(eligible > 0, np.maximum(cell_share, 1e-12), 0.0)
        # what a race comes to, of systems or of segments, is asked once
        once = state.stack.race is not None or state.cells.segment is not None
        allocated = _allocated(state, cell_share, labels) if once else self.allocation(state, labels)
        behind = np.maximum(allocated - state.by_cell, 0.0)
        per_item = np.divide(behind, open_items, out=np.zeros_like(behind), where=eligible > 0)
        inclusion = waterfill(per_item + 1e-6 * share / share.max(axis=1, keepdims=True) *
                              per_item.max(axis=1, keepdims=True), eligible, size)
        if self.one_at_a_time:
            inclusion = (inclusion + waterfill(share, eligible, size)) / 2
        return Design(left=open_items, unlabelled=inclusion, census=np.zeros(len(open_items), np.bool_))

    def allocation(self, state: SampleState, labels: int) -> Floats:
        """(R, C) how many of so many labels are meant for each cell."""
        return _allocated(state, self.share(state), labels)

    def planned(self, state: SampleState) -> Floats:
        """(R, C) labels so far as they were meant for each cell; in a race, as they are: what is meant
        changes as systems fall out."""
        if state.stack.race:
            return state.by_cell.astype(np.float64)
        if state.given is None:
            return self.allocation(state, state.n)
        return np.asarray(state.given * state.n / np.maximum(state.given.sum(axis=1, keepdims=True), 1e-12))

    def numbers_drawn(self, design: Design, rng: np.random.Generator) -> Ints:
        """How many items of each cell are asked, (R, C): a systematic sample along the cells, whose counts
        differ from their expectation by less than 1, or draws one at a time where the method asks for it.
        The total is the size of the round."""
        if self.one_at_a_time:
            size = np.round((design.left * design.unlabelled).sum(axis=1)).astype(np.int64)
            cells = draw_one_at_a_time(design.left, draw_weights(design.unlabelled), size, rng).cell
            return np.stack([np.bincount(row[row >= 0], minlength=design.left.shape[1]) for row in cells])
        reach = np.cumsum(design.left * design.unlabelled, axis=1)
        reach[:, -1] = np.round(reach[:, -1])
        reach = np.minimum(reach, reach[:, -1:])
        steps = np.floor(reach + rng.random(len(reach))[:, None] * (1 - 1e-9) + 1e-9)
        return np.minimum(np.diff(steps, axis=1, prepend=0.0).astype(np.int64), design.left)

    def added(self, state: SampleState, stands: Floats, items: Floats, risk: Floats) -> Floats | float:
        """What is added to the variances (R, Q); stands (R, n): the items that each label stands for, of all
        (R,); risk (R, D + D_k): R̂."""
        return 0.0

    def pull_spread(self, state: SampleState) -> Floats:
        """(C, Q) the guessed variances of pulls; (R, C, Q) where labels tell of them. C counts cells, Q
        numbers and R repeats. Here they are the cells' own guesses, whatever the labels."""
        return state.cells.spread

    def weights(self, state: SampleState) -> ItemWeights:
        """Itself, and its part of the unlabelled items of its group; spread as in a stratified mean. (R, n)
        for n labelled items; they sum to the items of the pool."""
        reading = fit_difference_estimator(state, self.planned(state), False, self.group_labels)
        group = reading.group[0]
        n = np.bincount(group, minlength=reading.open.shape[1])
        opened = reading.open[0]
        spread = opened * (opened / reading.effective[0] + 1) / np.maximum(n - 1, 1)
        alone = n[group] < 2
        return ItemWeights(
            weight=reading.stands[0], factor=spread[group], group=np.where(alone, -1, group)
        )

    def in_order(self, design: Design, size: int, rng: np.random.Generator) -> Ints:
        if not self.one_at_a_time:
            return OutcomeMethod.in_order(self, design, size, rng)
        drawn = draw_one_at_a_time(design.left, draw_weights(design.unlabelled), np.array([size]), rng)
        return np.asarray(drawn.cell[0])

    def expects(self, state: SampleState) -> Floats:
        """By the guesses as the labels weigh them, whether the estimate uses them or not. (C, D) for C cells,
        of one repeat."""
        weights = state.cells.first[:, None]
        if state.n:
            allocation = self.planned(state)
            weights = fit_difference_estimator(state, allocation, True, self.group_labels).weights[0]
        return np.asarray((weights * state.cells.guess).sum(axis=1) / state.cells.size[:, None])

    def risk(self, state: SampleState, reading: Reading) -> Floats:
        """The estimated mean loss R̂, (R, D + D_k) for R repeats: the mean of the label model (if there is
        one) plus the correction by the residuals, then the known means of the pool without undecided
        items."""
        correction = reading.correction
        if self.modelled:
            correction = shrunken(state, reading, correction)
        known_means = (state.cells.known[None] - state.excluded_known) / reading.items[:, None]
        return np.concatenate([reading.modelled / reading.items[:, None] + correction, known_means], axis=1)

    def estimate(self, state: SampleState, confidence: float) -> OutcomeEstimates:
        """The difference estimate, with Student's interval by linearisation, and what no label has shown. One
        entry a number, as arrays over the repeats."""
        exact = np.asarray(~state.wanted.any(axis=1))
        if not state.n:
            return nothing_yet(state.stack, exact)
        reading = fit_difference_estimator(
            state, self.planned(state), self.modelled, self.group_labels, self.post_stratified
        )
        risk, known_sizes = self.risk(state, reading), state.cells.known_sizes.tolist()
        slopes = state.stack.slopes(risk, known_sizes)
        reading = replace(reading, spread=self.pull_spread(state))
        error = errors(state, reading, risk, slopes, exact)
        added = self.added(state, reading.stands, reading.items, risk)
        if reading.by_prediction is not None:
            added = added + reading.by_prediction.off(slopes) ** 2
        added = np.where(exact[:, None], 0.0, added)
        error = replace(error, variance=error.variance + added)
        hidden = unseen_errors(state, reading, risk, slopes, error.variance)
        if self.modelled or self.post_stratified:
            hidden = replace(hidden, wider=WIDER)
        alike = (hidden.unknown & ~exact)[:, None]
        unbounded = np.asarray(np.isinf(bounds_of(state.stack)).any(axis=0))
        pull = off_centre(reading, slopes) if unbounded.any() else None
        error = replace(
            error, unknown=error.unknown | alike & unbounded,
            out=None if pull is None else interval.further(pull, unbounded),
        )
        estimates = with_known_differences(
            state, reported(state.stack, risk, known_sizes, error, exact, confidence, hidden)
        )
        if pull is None:
            return estimates
        return replace(
            estimates, largest=np.where(unbounded, interval.largest_share(reading, pull), np.nan),
            unseen=hidden.largest_share(confidence),
        )


AHEAD = 25     # labels of the round whose plan stands for later ones


@dataclass(frozen=True, slots=True)
class PlannedAhead(Sampled):
    """A method whose `propose` plans a round from the labels so far: what it would ask next is its share."""

    def share(self, state: SampleState) -> Floats:
        """How much one item of each cell should be asked for, (R, C): its chance to be in the next AHEAD
        labels, as `propose` would have it now; where no label is wanted any more, the cells that matter
        alike."""
        size = min(AHEAD, int(state.wanted.sum(axis=1).min()))
        if not size:
            return np.asarray(state.cells.relevant + np.zeros(state.left.shape))
        return self.propose(state, np.full(len(state.left), size)).unlabelled

    def allocation(self, state: SampleState, labels: int) -> Floats:
        """The labels that there are, and others as the next round would have them. (R, C) for R repeats and C
        cells."""
        if labels <= state.n:
            return np.asarray(state.by_cell * (labels / max(state.n, 1)))
        extra = self.share(state) * state.wanted
        total = np.maximum(extra.sum(axis=1, keepdims=True), 1e-12)
        return np.asarray(np.minimum(state.by_cell + extra * (labels - state.n) / total, state.cells.size))


def _allocated(state: SampleState, share: Floats, labels: int) -> Floats:
    """(R, C) so many labels by a share of each item."""
    items = (state.cells.size - state.excluded) * state.cells.relevant
    share = np.where(items > 0, np.maximum(share, 1e-12), 0.0)
    return items * waterfill(share, items, np.full(len(items), labels))


def with_known_differences(state: SampleState, estimates: OutcomeEstimates) -> OutcomeEstimates:
    """The estimates, differences that are known being exact; as they are where items come in clusters.

    The difference of two systems once every item on which they can differ is labelled.

    Of an item that both systems call the same no outcome changes the difference of two means of one loss.  So
    the difference is known then, and exact, whatever is not known of either system.
    """
    stack, cells = state.stack, state.cells
    if state.clustered or state.table is None or not any(m.versus is not None for m in stack.measures):
        return estimates
    settled = (
        np.zeros(estimates.value.shape, np.bool_) if estimates.settled is None else estimates.settled.copy()
    )
    value, sizes = estimates.value.copy(), cells.known_sizes.tolist()
    decided = cells.size - state.excluded                                     # (R, C)
    for q, (m, _) in enumerate(stack.parts):
        measure = stack.measures[m]
        if measure.versus is None or measure.margin is None:
            continue
        columns = stack.columns(measure, sizes)
        slope = np.zeros(stack.size + len(cells.known))
        margin = measure.margin(0.0, np.zeros(int((columns >= stack.size).sum())), True)
        slope[columns] = np.concatenate([margin.slope, margin.known_slope])
        if slope[stack.size :].any():
            continue
        upper = stack.largest_pull(cells.said, slope, sizes, together=True)
        lower = -stack.largest_pull(cells.said, -slope, sizes, together=True)
        open_ = upper - lower > _NO_DIFFERENCE                                             # (C,)
        if stack.weights is not None:      # what a closed cell adds is its weight's, unless it is nothing
            open_ |= np.abs(upper) > _NO_DIFFERENCE
        decided_all = (state.left * open_).sum(axis=1) == 0
        pull = (state.table.loss[state.item] @ slope[: stack.size]) * open_[state.cell]
        total = pull.sum(axis=1) + (decided * np.where(open_, 0.0, upper)).sum(axis=1)
        counted = np.maximum(decided.sum(axis=1), 1) if stack.weights is None else \
            cells.known[-1] - state.excluded_known[:, -1]
        value[:, q] = np.where(decided_all, total / counted, value[:, q])
        settled[:, q] |= decided_all
    if not settled.any():
        return estimates
    return replace(
        estimates, value=value, settled=settled, lower=np.where(settled, value, estimates.lower),
        upper=np.where(settled, value, estimates.upper), variance=np.where(settled, 0.0, estimates.variance),
    )


_NO_DIFFERENCE = 1e-12   # what an item may add to a difference, and is nothing


USUAL_STRATA = 16   # of `stratified`, where no setting says how many
FINE_CELLS = 256   # cells along the influence that is expected of an item


@dataclass(frozen=True, slots=True)
class PassiveSample(Sampled):
    """The method `passive` for any outcome: a simple random sample without replacement, with the exact
    interval for shares and Student's for other measures. With `guaranteed` its intervals hold for any
    pool and at every look."""

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
    group_labels: ClassVar[float] = np.inf
    post_stratified: ClassVar[bool] = True

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
        """The pool cut into as few cells as can be: all items whose labels can matter are together, and
        items that no label can matter to are apart."""
        return cells_together(pool)

    def share(self, state: SampleState) -> Floats:
        """The same chance for every item: ones, (R, C)."""
        return np.ones(state.by_cell.shape)


@dataclass(frozen=True, slots=True)
class StratifiedSample(PassiveSample):
    """The method `stratified` for any outcome: a sample in proportion to strata of the system's confidence,
    of the judges' mean for numbers, or of features. Estimates are those of the difference estimator
    without a label model."""

    name: ClassVar[str] = "stratified"
    says: ClassVar[str] = "A stratified sample by confidence, in proportion to the strata."
    interval: ClassVar[str] = "stratified"
    capabilities: ClassVar[Capabilities] = replace(
        PassiveSample.capabilities, ok_by_interval="none", cuts_by_features=True
    )
    group_labels: ClassVar[float] = 2.0

    without: ClassVar[Mapping[str, str]] = {
        "allocation": "is the name of the method beyond two classes: stratified, or stratified-neyman",
    }

    strata: int = USUAL_STRATA
    partition: PartitionKind = "csf"   # how the pool is cut

    def as_set(self) -> OutcomeMethod:
        """The method itself, or its guaranteed form where intervals are to be guaranteed. Raises BadInput
        where strata or a partition are chosen for a guaranteed interval, which has few strata of its own,
        and for fewer than two strata."""
        if self.guaranteed and (self.strata, self.partition) != (USUAL_STRATA, "csf"):
            raise BadInput(f"method {self.written!r}: a guaranteed interval has few strata of its own; leave "
                           "strata and partition out")
        if self.strata < 2:
            raise BadInput(f"method {self.written!r}: give at least 2 strata, or use passive")
        return PassiveSample.as_set(self)

    def cells(self, pool: MeasuredPool) -> OutcomeCells:
        """Strata of the confidence, of the judges' mean for numbers, or of features; the rows of each system,
        if they are of one each."""
        pool_profile = profile(pool)
        if pool.stack.contenders:
            if (self.strata, self.partition) != (USUAL_STRATA, "csf"):
                raise BadInput(f"method {self.written!r}: the strata of a race are the rows of each system; "
                               "leave strata and partition out")
            return cut(pool, pool_profile, _Rows(pool_profile), 1).cells
        stratum = by_features(pool, self)
        if stratum is None:
            confidence = _Confidence(pool_profile)
            edges = cut_scores(self.partition, pool.ordered(confidence), self.strata)
            stratum = BetweenEdges(edges, confidence)
        return cut(pool, pool_profile, _Strata(pool_profile, stratum), 1).cells

    @property
    def feature_tree(self) -> FeatureTree | None:
        """The tree by which the pool is cut along its features, where `partition` names such a cut; None
        where it is cut by score. `strata` is the number of leaves that it is asked for."""
        return binary_tree(self.partition, self.strata)


@dataclass(frozen=True, slots=True)
class ByPull(PassiveSample):
    """Items by their guessed pull.  To be named before the method whose cells are taken."""

    capabilities: ClassVar[Capabilities] = replace(
        Sampled.capabilities, no_weights="", extends_a_sample=False
    )
    post_stratified: ClassVar[bool] = False

    def share(self, state: SampleState) -> Floats:
        """The root of the guessed variances, and a part that is spread evenly."""
        drive, even = state.cells.spread @ state.stack.weight, self.even_part(state)
        share = np.broadcast_to(np.sqrt(drive), state.by_cell.shape)
        if not even:
            return share
        items = (state.cells.size - state.excluded) * state.cells.relevant
        return np.asarray((1 - even) * share + even * mean_of_items(share, items))

    def even_part(self, state: SampleState) -> float:
        """The part of the labels that is spread evenly over the items whose labels can matter. Between 0 and
        1."""
        return 0.0


@dataclass(frozen=True, slots=True)
class NeymanSample(ByPull, StratifiedSample):
    """The method `stratified-neyman` for any outcome: strata of confidence, with labels allocated by the
    guessed standard deviation of an item's pull (Neyman) instead of in proportion."""

    name: ClassVar[str] = "stratified-neyman"
    says: ClassVar[str] = "A stratified sample by confidence, allocated by the supplied probabilities."
    capabilities: ClassVar[Capabilities] = replace(ByPull.capabilities, extends_a_sample=True)
    post_stratified: ClassVar[bool] = True


_BY_NUMBER = "guarantees ends by how many items can differ, and their number does not say what they weigh"


@dataclass(frozen=True, slots=True)
class GuaranteedEven(Guarantee, PassiveSample):
    """The method `passive` with guaranteed intervals: the same simple random sample, with ends that hold for
    any pool, at every look. It takes no weights of items."""

    capabilities: ClassVar[Capabilities] = replace(PassiveSample.capabilities, no_weights=_BY_NUMBER)


@dataclass(frozen=True, slots=True)
class GuaranteedStrata(Guarantee, StratifiedSample):
    """The method `stratified` with guaranteed intervals: proportional draws from FEW_STRATA strata, because
    every further stratum gives a value more ways to hide. It takes no weights of items."""

    capabilities: ClassVar[Capabilities] = replace(StratifiedSample.capabilities, no_weights=_BY_NUMBER)

    strata: int = FEW_STRATA


@dataclass(frozen=True, slots=True)
class GuaranteedNeyman(Guarantee, NeymanSample):
    """The method `stratified-neyman` with guaranteed intervals: FEW_STRATA strata, allocated by the supplied
    probabilities. It takes no weights of items."""

    capabilities: ClassVar[Capabilities] = replace(NeymanSample.capabilities, no_weights=_BY_NUMBER)

    strata: int = FEW_STRATA


def cells_together(pool: MeasuredPool) -> OutcomeCells:
    """As few cells as can be: all items whose labels can matter are together, and items that no label can
    matter to are apart. Raises BadInput for an empty pool, or one that lacks what a measure needs."""
    pool_profile = profile(pool)
    return cut(pool, pool_profile, _Together(pool_profile), 1).cells


@dataclass(frozen=True, slots=True)
class _Together:
    """The profile of a shard's items with a single group for all of them. Called with the measures and the
    items of a shard, it can be pickled."""

    profile_of: By

    def __call__(self, stack: Stack, items: Items) -> ItemProfile:
        """Of the items of a shard."""
        item_profile = self.profile_of(stack, items)
        return replace(item_profile, group=np.zeros(len(items), np.int64), score=np.zeros(len(items)))


@dataclass(frozen=True, slots=True)
class _Rows:
    """A group for the rows of each system, or of each two that are compared."""

    profile_of: By

    def __call__(self, stack: Stack, items: Items) -> ItemProfile:
        return replace(self.profile_of(stack, items), score=np.zeros(len(items)))


@dataclass(frozen=True, slots=True)
class OfPull:
    """The profile of a shard's items with one group, and their guessed pull as the score: cells then hold
    items of alike pull, whatever is predicted of them."""

    profile_of: By

    def __call__(self, stack: Stack, items: Items) -> ItemProfile:
        """Of the items of a shard."""
        item_profile = self.profile_of(stack, items)
        return replace(item_profile, group=np.zeros(len(items), np.int64), score=item_profile.pull)


@dataclass(frozen=True, slots=True)
class _Confidence:
    profile_of: By

    def __call__(self, stack: Stack, items: Items) -> Floats:
        probability = stack.as_asked(items).probability
        if probability is None:
            return self.profile_of(stack, items).score
        return np.asarray(probability.max(axis=1))


@dataclass(frozen=True, slots=True, eq=False)
class _Strata:
    profile_of: By
    stratum: Stratum

    def __call__(self, stack: Stack, items: Items) -> ItemProfile:
        return replace(
            self.profile_of(stack, items), group=self.stratum(stack, items), score=np.zeros(len(items))
        )
