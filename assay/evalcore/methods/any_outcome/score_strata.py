"""`score-test` of rows of any outcome: nested strata along a score.

A label is positive or negative: it is of the class that is asked for, or a hit (`share_of_hits`).  On each
side of the decision nested strata lie along a score; labels go where they move the ends of the interval; the
interval is every value that a stratified score test does not refuse (`evalcore.estimators.score_interval`).
No score is trusted.  Of two classes this is `score-test` itself; what a pool has beside changes the strata or
the interval, and not the method:

    several systems   patterns of their predictions are apart, as the two sides are
    weights           inside a stratum items are drawn in proportion to them, and the test counts effective
                      labels (`SampleAlongScore`)
    areas             the positives of a stratum pull differently: their scatter is in the variance
    clusters          what differences between them add is joined to both distances from the value

    R   repeats;  C   cells;  H   strata;  Q   numbers asked for
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, cast

import numpy as np

from assay.evalcore.design.placing import placing_features
from assay.evalcore.design.round import Design
from assay.evalcore.errors import BadInput
from assay.evalcore.estimators.score_interval import (
    SampleAlongScore,
    ScoreInterval,
    WeightedItems,
    score_interval,
)
from assay.evalcore.measures.by_group import Estimand, OfConfusion, Quantity, of_predictions
from assay.evalcore.measures.registry import named
from assay.evalcore.measures.stack import Stack
from assay.evalcore.measures.two_classes import Measure
from assay.evalcore.methods.any_outcome.baselines import PlannedAhead, Sampled
from assay.evalcore.methods.any_outcome.interval import (
    between_of_rates,
    bounds_of,
    nothing_yet,
    wider_with_clusters,
)
from assay.evalcore.methods.any_outcome.measured_pool import MeasuredPool
from assay.evalcore.methods.any_outcome.reading import sums
from assay.evalcore.methods.any_outcome.score_cells import (
    all_with_own_losses,
    along_a_score,
    axis_of,
    class_asked_of,
    evidence_of_class,
    hit_component,
    quantities_asked,
    score_cells,
    table_measure,
)
from assay.evalcore.methods.any_outcome.share_of_hits import asks_for_hits, hit_cells
from assay.evalcore.methods.any_outcome.state import (
    HITS,
    Axis,
    LossTable,
    OutcomeCells,
    OutcomeEstimates,
    RoundOutcomes,
    SampleState,
    no_rows_yet,
)
from assay.evalcore.methods.method import Capabilities
from assay.evalcore.methods.two_classes.choice import Aim
from assay.evalcore.methods.two_classes.score_test import (
    StratifiedScoreTest,
    counted_sample,
    planned_inclusion,
    pull_of_a_positive,
    single_draw_inclusion,
)
from assay.evalcore.outcomes.base import OutcomeKind
from assay.evalcore.outcomes.items import Items
from assay.evalcore.pool.nested_strata import NestedStrata, log_rank_odds, nested_strata
from assay.evalcore.types import Bools, Floats, Ints

MOST_PATTERNS = 8    # of predictions, that have strata of their own


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StrataState(SampleState):
    """Labels by cell, negative and positive; the strata of cells; what the placing model looks at.

    axis: where cells lie; component: of the losses, 1 of a hit, where hits are asked for; quantities: each
    measure; features (C, 3): see `evalcore.design.placing`; taught (C, 2): pseudo-labels of earlier pools.
    """

    fits_guesses: ClassVar[bool] = False

    axis: Axis
    component: int
    cell_quantities: tuple[Quantity, ...]
    strata: NestedStrata
    features: Floats
    taught: Floats

    def outcomes_of(self, table: LossTable, answers: RoundOutcomes) -> Ints:
        """1 of a positive: an item of the class; of a hit on the leading side, and of a miss on the other.
        The shape is that of `answers.item`, and all others are 0."""
        if self.axis.part != HITS:
            return np.asarray(table.code[answers.item] == self.axis.part, np.int64)
        hit = table.loss[answers.item, self.component] > 0
        return np.asarray(hit == (self.axis.prediction[answers.cell] == 1), np.int64)

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        """The measures as functions of the positives, with what the pool alone tells."""
        items = (self.cells.n_items - self.excluded.sum(axis=1)).astype(np.float64)[:, None]
        known_means = (self.cells.known[None] - self.excluded_known) / items
        nothing = np.zeros((len(items), self.stack.size))
        return all_with_own_losses(self.cell_quantities, self.stack, self.cells, nothing, known_means)

    @property
    def item_weight(self) -> Floats:
        """(C,) the mean weight of the items of each cell, 1 where they have none."""
        return np.ones(self.cells.n_cells) if self.stack.weights is None else self.cells.mean_weight

    def sample(self, level: int) -> SampleAlongScore:
        """The labels at a level of the strata; of items with weights what they weigh."""
        counted = counted_sample(self, level)
        if self.stack.weights is None:
            return counted
        by_cell = np.zeros((*counted.items.shape, 3))
        if self.table is not None and self.n:
            item_weight = self.table.known[self.item, -1]
            positive = self.outcomes_of(self.table, RoundOutcomes(item=self.item, cell=self.cell))
            columns = [item_weight, item_weight * positive, item_weight**2]
            by_cell = sums(self.cell, np.stack(columns, axis=2), self.cells.n_cells)
        # undecided items are taken to weigh what those without a label do
        others = np.maximum(self.cells.told[:, -1] - by_cell[..., 0], 0.0)
        each = others / np.maximum(self.cells.size - counted.labelled, 1.0)
        return replace(
            counted, items=by_cell[..., 0] + (counted.items - counted.labelled) * each,
            labelled=by_cell[..., 0], positive=by_cell[..., 1],
            weighted=WeightedItems(
                number=counted.items, labelled=counted.labelled, squares=by_cell[..., 2], meant=self.given
            ),
        )


@dataclass(frozen=True, slots=True)
class RowScoreTest(PlannedAhead):
    """The method `score-test` of any outcome, where every label is positive or negative: nested strata along
    a score on both sides of the decision, and the interval of a stratified score test."""

    sources: ClassVar[tuple[str, ...]] = ("cochran1977",)
    published: ClassVar[bool] = False
    name: ClassVar[str] = "score-test"
    says: ClassVar[str] = "Labels in strata along the score, where they move the ends of the interval most."
    kinds: ClassVar[tuple[str, ...]] = ("classes", "tags")
    capabilities: ClassVar[Capabilities] = replace(
        Sampled.capabilities, ok_by_interval="all", no_weights="", serves_all=False
    )
    of_some_measures: ClassVar[bool] = True
    interval: ClassVar[str] = StratifiedScoreTest.interval
    interval_note: ClassVar[str] = StratifiedScoreTest.interval_note

    def cells(self, pool: MeasuredPool) -> OutcomeCells:
        """Strata by the chance of a hit, or along the score of the class that is asked for; items that weigh
        differently are apart.  Raises BadInput as `profile`, and for any other question."""
        if asks_for_hits(pool.stack, pool.none):
            return hit_cells(pool)
        if asks_for_one_class(pool.stack, pool.none):
            return score_cells(pool, nested=True)
        raise BadInput(
            "method 'score-test' answers a share of items such as accuracy, and measures of one class "
            "against the rest, as in {name: f1, class: ...}; this question is neither: use auto"
        )

    def serves_all(self, cells: OutcomeCells) -> bool:
        """Not along the score of one class, where the first measure drives."""
        return cells.axis is not None and bool(cells.axis[0, 0] == HITS)

    def pseudo_labels(
        self, kind: OutcomeKind, cells: OutcomeCells, items: Items, code: Floats, weight: Floats
    ) -> Floats:
        """(C, 2) by whether items are of the class that the score is of; they teach the placing model."""
        if cells.axis is None or cells.axis[0, 0] == HITS:
            raise BadInput("the pool was not cut along a score, and takes no earlier labels; freeze it anew")
        return evidence_of_class(kind, Axis.from_array(cells.axis), items, code, weight)

    def start(self, cells: OutcomeCells, measures: Stack, repeats: int) -> StrataState:
        """The state before any label, without pseudo-labels of earlier pools."""
        return self.start_from(cells, measures, repeats, np.zeros((cells.n_cells, 2)))

    def start_from(
        self, cells: OutcomeCells, measures: Stack, repeats: int, evidence: Floats
    ) -> StrataState:
        """The state before any label: the nested strata, and the features that the placing model looks at,
        which pseudo-labels (C, 2) of an earlier pool teach.  Raises BadInput for cells of another method."""
        axis, component = Axis.from_array(cast(Floats, cells.axis)), 0
        quantities: tuple[Quantity, ...]
        if axis.part == HITS:
            component = hit_component(measures, cells.known_sizes.tolist()) or 0
            quantities = of_predictions([named("accuracy")], axis.prediction.astype(np.float64))
        else:
            axis, loss = axis_of(cells, measures.size)
            quantities = tuple(quantities_asked(measures, cells, axis, loss))
        _, inverse = np.unique(2 * axis.stratum + axis.prediction, return_inverse=True)
        count = np.bincount(inverse.ravel(), cells.size)
        place = (np.bincount(inverse.ravel(), cells.size * axis.score) / count)[inverse.ravel()]
        odds = log_rank_odds(cells.size, axis.score, float(cells.size[axis.prediction == 1].sum()))
        return StrataState(
            **no_rows_yet(measures, cells, repeats, 2), axis=axis, component=component,
            cell_quantities=quantities,
            strata=nested_strata(axis.prediction, place, _patterns(quantities)),
            features=placing_features(odds, axis.prediction), taught=evidence,
        )

    def propose(self, state: SampleState, size: Ints) -> Design:
        """The design of the next round: inclusion probabilities that put labels where they move both ends of
        the interval most; of single draws, half where they do and half by pull alone."""
        strata_state = cast(StrataState, state)
        if self.one_at_a_time:
            rate = counted_sample(strata_state, 0).rate
            pull = pull_of_a_positive(strata_state, rate) * strata_state.item_weight
            inclusion = single_draw_inclusion(strata_state, pull, rate, size)
        else:
            inclusion, _ = planned_inclusion(
                strata_state, strata_state.quantities, size, strata_state.item_weight
            )
        return Design(
            left=state.left, unlabelled=inclusion, census=np.zeros(len(state.left), np.bool_)
        )

    def estimate(self, state: SampleState, confidence: float) -> OutcomeEstimates:
        """The measures at the observed rates of the strata, (R, Q), with the interval of every value that a
        stratified score test does not reject.  NaN before the first label."""
        exact = np.asarray(~state.wanted.any(axis=1))
        if not state.n:
            return nothing_yet(state.stack, exact)
        strata_state = cast(StrataState, state)
        sample = strata_state.sample(strata_state.strata.level(state.n))
        numbers = [number for quantity in strata_state.quantities for number in quantity.estimands]
        apart = between_of_rates(state, lambda reading: self.risk(state, reading))
        bounds = bounds_of(state.stack)
        settled_value, settled = _settled(strata_state, numbers)
        slack = np.stack([_slack(sample, number) for number in numbers], axis=1)

        at_levels: dict[tuple[int, float], ScoreInterval] = {}

        def at_level(q: int, level: float) -> ScoreInterval:
            """The interval of a number at a confidence, computed once: comparisons ask for one number after
            the other at many, and for all others as they are."""
            if (q, level) not in at_levels:
                at_levels[q, level] = score_interval(sample, numbers[q], level)
            return at_levels[q, level]

        def alone(level: Floats) -> tuple[Floats, Floats, Floats, Floats]:
            """The values, both ends at these confidences (R, Q) and the variances, without what clusters
            add."""
            value, lower, upper, variance = (np.empty(level.shape) for _ in range(4))
            for q in range(len(numbers)):
                for of_number in np.unique(level[:, q]).tolist():
                    interval, rows = at_level(q, of_number), level[:, q] == of_number
                    value[rows, q], variance[rows, q] = interval.value[rows], interval.variance[rows]
                    lower[rows, q], upper[rows, q] = interval.lower[rows], interval.upper[rows]
            lower = np.maximum(np.where(settled, settled_value, lower) - slack, bounds[0])
            upper = np.minimum(np.where(settled, settled_value, upper) + slack, bounds[1])
            return np.where(settled, settled_value, value), lower, upper, variance

        def ends(level: Floats) -> tuple[Floats, Floats]:
            """The lower and upper ends at these confidences (R, Q), each (R, Q)."""
            value, *both, _ = alone(level)
            inner = both[0], both[1]
            return inner if apart is None else wider_with_clusters(apart, value, inner, level, state.stack)

        level = np.full((len(exact), len(numbers)), confidence)
        value, _, _, variance = alone(level)
        reported = ends(level)
        return OutcomeEstimates(
            value=value, lower=reported[0], upper=reported[1], exact=exact,
            variance=np.where(settled, 0.0, variance) + (0.0 if apart is None else apart.variance),
            settled=settled & (slack == 0), ends=ends, interval=self.interval,
        )


def asks_for_one_class(stack: Stack, none: Items) -> bool:
    """Whether all that is asked is of one class against the rest, of what is predicted or of the areas under
    curves; none: no item, with the columns that the items have.

    Curves at many thresholds are left to the model of the score, whose bands hold together, and so are
    losses that differ between items of one prediction, which strata would not see; with weights a measure is
    served whose table of two classes can be weighed.
    """
    plain = none.covariate is None and none.deviation is None and none.segment is None and not stack.curves
    plain = plain and stack.race is None and not stack.contenders and along_a_score(stack, none)
    alike = all(loss.of_prediction for loss in stack.losses)
    weighted = none.weight is not None
    return plain and alike and not (weighted and None in tables_asked(stack))


def tables_asked(stack: Stack) -> list[Measure | None]:
    """Each measure as one of the first system's table of two classes; None where it is none."""
    part = int(class_asked_of(stack.kind, stack.measures) or 0)
    return [table_measure(stack, measure, part) for measure in stack.measures]


def aim_of_rows(
    stack: Stack, none: Items, predicted: Sequence[int], half_width: float | None, confidence: float,
    budget: int | None,
) -> Aim | None:
    """What a score test of rows is to reach; None where it does not answer what is asked.

    none: no item, with the columns that the items have; predicted: items by predicted class, empty where
    nobody has counted them.  Areas under curves are to be had where recall is: both miss the positives that
    nobody has seen.
    """
    one_class = asks_for_one_class(stack, none)
    if not one_class and not asks_for_hits(stack, none):
        return None
    counted = None
    items = int(sum(predicted))
    if one_class and len(predicted) == stack.kind.width and items:
        part = int(class_asked_of(stack.kind, stack.measures) or 0)
        counted = items - predicted[part], predicted[part]
    tables = tuple(table or named("recall") for table in tables_asked(stack)) if one_class else ()
    return Aim(
        measures=tables[:1], predicted=counted, half_width=half_width, confidence=confidence, budget=budget,
    )


def meaning_of_rows(name: str, stack: Stack, items: Items) -> str:
    """The method of rows that a name means where no budget is set: `auto` is a score test where one serves.
    Any other name comes back as it is."""
    aim = aim_of_rows(stack, items.at(slice(0, 0)), (), None, 0.95, None)
    served = name == "auto" and aim is not None
    return StratifiedScoreTest().name if served else name


def _patterns(quantities: tuple[Quantity, ...]) -> Ints | None:
    """The patterns of predictions (C,) that cells are of; None where one system predicts, or many do."""
    of_cells = [quantity.groups.of_cell for quantity in quantities if not isinstance(quantity, OfConfusion)]
    if not of_cells:
        return None
    _, pattern = np.unique(np.stack(of_cells, axis=1), axis=0, return_inverse=True)
    return None if int(pattern.max()) >= MOST_PATTERNS else pattern.ravel()


def _settled(state: StrataState, numbers: list[Estimand]) -> tuple[Floats, Bools]:
    """(R, Q) the numbers if no unlabelled item is positive, and whether no label is left that can change
    them: then they are exact."""
    counted = state.sample(0)
    low, high = bounds_of(state.stack)
    values = []
    for number in numbers:
        positives, _, items = counted.by_group(number)
        values.append(number.value(positives, items))
    open_ = np.stack([(state.left * number.quantity.matters).any(axis=1) for number in numbers], axis=1)
    return np.clip(np.stack(values, axis=1), low, high), ~open_


def _slack(sample: SampleAlongScore, number: Estimand) -> Floats:
    """(R,) how far the number may be from what it stands for: areas of very many scores."""
    quantity = number.quantity
    positives = quantity.groups.sums(sample.positive + (sample.items - sample.labelled) * sample.rate)
    return quantity.slack(positives, quantity.groups.sums(sample.items))[:, number.at]
