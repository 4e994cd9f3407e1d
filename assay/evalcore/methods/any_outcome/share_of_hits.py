"""`recalibrated` where a share of items is asked for: strata by the chance of a hit, and a score test.

The accuracy of any number of classes, or of sets of tags, is the share of items whose prediction is right: of
each item it is a hit or a miss.  So it is the accuracy of two classes, and the estimator of `score-test`
serves it (`evalcore.estimators.score_interval`).  The two sides of the decision are the items for which the
class is predicted that is predicted most often, and all others; an item of the first side is positive where
it is a hit, one of the second where it is a miss.  On each side nested strata lie along the chance of a hit
as the guesses say it before any label; labels go where they move the ends of the interval; the interval is
every share that a stratified score test does not refuse.  Of two classes this is `score-test` itself.  Where
no class is predicted there is one side; where nothing tells items apart each side is one stratum, and labels
are a simple random sample of it.

    R   repeats;  C   cells, from the surest hits of the second side to the surest of the first
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, cast

import numpy as np

from assay.evalcore.design.placing import placing_features
from assay.evalcore.design.round import Design
from assay.evalcore.estimators.score_interval import ScoreInterval, score_interval
from assay.evalcore.estimators.score_test import normal_quantile
from assay.evalcore.measures.by_group import OfConfusion, of_predictions
from assay.evalcore.measures.forms import component_means
from assay.evalcore.measures.registry import named
from assay.evalcore.measures.stack import Stack
from assay.evalcore.methods.any_outcome.baselines import PlannedAhead, Sampled
from assay.evalcore.methods.any_outcome.interval import nothing_yet
from assay.evalcore.methods.any_outcome.measured_pool import MeasuredPool, profile, summed
from assay.evalcore.methods.any_outcome.state import (
    Axis,
    LossTable,
    OutcomeCells,
    OutcomeEstimates,
    RoundOutcomes,
    SampleState,
    no_rows_yet,
)
from assay.evalcore.methods.method import Capabilities
from assay.evalcore.methods.two_classes.score_test import (
    StratifiedScoreTest,
    planned_inclusion,
    sample_of,
    single_draw_inclusion,
)
from assay.evalcore.outcomes.items import Items
from assay.evalcore.pool.nested_strata import (
    NestedStrata,
    log_rank_odds,
    nested_strata,
    two_sided_edges,
)
from assay.evalcore.pool.strata import assign, log_odds
from assay.evalcore.reproducible import steady
from assay.evalcore.types import Bools, Floats, Ints

BEYOND = 30.0   # more than any log odds of a probability that is told from 0 (`pool.strata.log_odds`)
HITS = -1     # what the cells' axis is of, in place of a class: whether an item is a hit


def asks_for_hits(stack: Stack, none: Items) -> bool:
    """Whether all that is asked is one share of hits among items that all count alike.

    none: no item, with the columns that the items have.  Covariates are left to the difference estimator,
    which learns what they are worth.
    """
    alike = stack.weights is None and stack.race is None and not stack.contenders
    plain = not stack.clustered and none.cluster is None and none.covariate is None
    return alike and plain and hit_component(stack, stack.known_sizes(none)) is not None


def hit_component(stack: Stack, known_sizes: Sequence[int]) -> int | None:
    """The component of the losses whose mean is all that is asked; None where there is none, or where it is
    not 0 or 1 of every item.  known_sizes: of the losses' known parts."""
    if len(stack.parts) != 1 or not all(loss.zero_or_one for loss in stack.losses):
        return None
    component = int(component_means(stack, known_sizes)[0])
    return component if component >= 0 else None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HitState(SampleState):
    """Labels by cell, negative and positive; the strata of cells; what the placing model looks at.

    component: of the losses, 1 of a hit; side (C,): 1 where the leading class is predicted; features (C, 3):
    see `evalcore.design.placing`; taught (C, 2): pseudo-labels, of which there are none.
    """

    fits_guesses: ClassVar[bool] = False

    component: int
    side: Ints
    strata: NestedStrata
    features: Floats
    taught: Floats

    def outcomes_of(self, table: LossTable, answers: RoundOutcomes) -> Ints:
        """1 of a positive: of a hit on the leading side, of a miss on the other."""
        hit = table.loss[answers.item, self.component] > 0.5
        return np.asarray(hit == (self.side[answers.cell] == 1), np.int64)

    @property
    def share_of_hits(self) -> OfConfusion:
        """The measure, as a function of the positives: the accuracy of predicting the leading side."""
        (quantity,) = of_predictions([named("accuracy")], self.side.astype(np.float64))
        return quantity


@dataclass(frozen=True, slots=True)
class ShareOfHits(PlannedAhead):
    """The method `recalibrated` for one share of hits, such as accuracy: nested strata along the chance of a
    hit on both sides of the most frequent prediction, and the interval of a stratified score test."""

    published: ClassVar[bool] = False
    name: ClassVar[str] = "recalibrated"
    says: ClassVar[str] = "Labels in strata by the chance of a hit, where they move the ends most."
    kinds: ClassVar[tuple[str, ...]] = ("classes", "tags")
    capabilities: ClassVar[Capabilities] = replace(Sampled.capabilities, ok_by_interval="all")
    interval: ClassVar[str] = StratifiedScoreTest.interval
    interval_note: ClassVar[str] = StratifiedScoreTest.interval_note

    def cells(self, pool: MeasuredPool) -> OutcomeCells:
        """Strata by the chance of a hit.  Raises BadInput as `profile`."""
        pool_profile = profile(pool)
        component = hit_component(pool.stack, pool.stack.known_sizes(pool.none))
        place = _Place(
            component or 0, pool.stack.kind.first_weights(pool.none), leading_class(pool)
        )
        ordered = pool.ordered(place)
        edges = two_sided_edges(ordered, len(pool) - int(ordered.below(np.zeros(1))[0]))
        made = summed(pool, pool_profile, _Placed(edges, place), len(edges) + 1, place.sums)
        score = made.further[:, 0] / made.cells.size
        nothing, number = np.zeros(len(score)), np.arange(len(score))
        axis = Axis(
            part=HITS, stratum=number, prediction=np.asarray(score > 0, np.int64), score=score,
            probability=nothing, density=nothing, votes=nothing,
        )
        return replace(made.cells, axis=axis.to_array())

    def start(self, cells: OutcomeCells, measures: Stack, repeats: int) -> HitState:
        """The state before any label: the nested strata on both sides, which component of the losses is the
        hit, and the features that the placing model looks at."""
        axis = Axis.from_array(cast(Floats, cells.axis))
        odds = log_rank_odds(cells.size, axis.score, float(cells.size[axis.prediction == 1].sum()))
        return HitState(
            **no_rows_yet(measures, cells, repeats, 2),
            component=hit_component(measures, cells.known_sizes.tolist()) or 0,
            side=axis.prediction, strata=nested_strata(axis.prediction, axis.score),
            features=placing_features(odds, axis.prediction), taught=np.zeros((cells.n_cells, 2)),
        )

    def propose(self, state: SampleState, size: Ints) -> Design:
        """The design of the next round: inclusion probabilities that put labels where they move both ends of
        the interval most; of single draws, half where they do and half evenly."""
        hit_state = cast(HitState, state)
        if self.one_at_a_time:
            rate = sample_of(hit_state, 0).rate
            inclusion = single_draw_inclusion(hit_state, np.ones(rate.shape), rate, size)
        else:
            inclusion, _ = planned_inclusion(hit_state, [hit_state.share_of_hits], size)
        return Design(
            left=state.left, unlabelled=inclusion, census=np.zeros(len(state.left), np.bool_)
        )

    def estimate(self, state: SampleState, confidence: float) -> OutcomeEstimates:
        """The share of hits at the observed rates of the strata, (R, 1), with the interval of every share
        that a stratified score test does not refuse. NaN before the first label."""
        exact = np.asarray(~state.wanted.any(axis=1))
        if not state.n:
            return nothing_yet(state.stack, exact)
        hit_state = cast(HitState, state)
        sample = sample_of(hit_state, hit_state.strata.level(state.n))
        (number,) = hit_state.share_of_hits.numbers

        def interval(level: float) -> ScoreInterval:
            return score_interval(sample, number, level)

        def ends(level: Floats) -> tuple[Floats, Floats]:
            """The lower and upper ends of the score interval at these confidences (R, 1), each (R, 1);
            computed once for each different confidence."""
            lower, upper = np.empty(level.shape), np.empty(level.shape)
            for confidence_level in np.unique(level).tolist():
                at_level, rows = interval(confidence_level), level[:, 0] == confidence_level
                lower[rows, 0], upper[rows, 0] = at_level.lower[rows], at_level.upper[rows]
            return lower, upper

        reported = interval(confidence)
        deviation = (reported.upper - reported.lower) / (2 * normal_quantile(confidence))
        return OutcomeEstimates(
            value=reported.value[:, None], lower=reported.lower[:, None], upper=reported.upper[:, None],
            variance=np.where(exact, 0.0, deviation**2)[:, None], exact=exact, ends=ends,
            interval=self.interval,
        )


def leading_class(pool: MeasuredPool) -> int | None:
    """The class that is predicted most often, the first of equals; None where no class is predicted."""
    (measure,) = pool.stack.measures
    if pool.stack.kind.name != "classes" or measure.system is None:
        return None
    times = sum(pool.measured(_TimesPredicted(pool.stack.kind.width, measure.system)))
    return int(np.argmax(times))


@dataclass(frozen=True, slots=True)
class _TimesPredicted:
    """How often each of K classes is predicted."""

    n_classes: int
    system: int

    def __call__(self, stack: Stack, items: Items) -> Ints:
        return np.bincount(items.prediction[:, self.system].astype(np.int64), minlength=self.n_classes)


@dataclass(frozen=True, slots=True, eq=False)
class _Place:
    """Where an item lies: the log odds of a hit above BEYOND; mirrored where another class is predicted.

    So the least certain items lie together, around 0, as around the threshold of two classes.
    """

    component: int
    weights: Floats
    leading: int | None

    def __call__(self, stack: Stack, items: Items) -> Floats:
        """(n,) log odds of a hit, as the guesses expect it under their first weights (B,)."""
        odds: Floats = np.zeros(len(items))
        for rows, piece in items.chunks():
            guesses = stack.guesses(piece)
            outcome = np.einsum("b,nbp->np", self.weights[: guesses.shape[1]], guesses)
            odds[rows] = log_odds(stack.of(piece, outcome)[:, self.component])
        if self.leading is None:
            return steady(odds + BEYOND)
        (measure,) = stack.measures
        is_leading = items.prediction[:, measure.system or 0] == self.leading
        return steady(np.where(is_leading, odds + BEYOND, -(odds + BEYOND)))

    def sums(self, stack: Stack, items: Items, cell: Ints, n_cells: int) -> Floats:
        """(C, 1) sums over cells of the places."""
        return np.asarray(np.bincount(cell, self(stack, items), n_cells)[:, None], np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class _Placed:
    """The stratum of each item; the label of every item matters."""

    edges: Floats
    place: _Place

    def __call__(self, stack: Stack, items: Items) -> tuple[Ints, Bools]:
        return assign(self.edges, self.place(stack, items)), np.ones(len(items), np.bool_)
