"""`recalibrated` where a few classes are named: a score model for each of them against all others.

All models share one sample.  Each plans a round for itself (`evalcore.recalibration.planning`), a round has
the mean of what they plan, and every label is read by each: it is of its class, or it is not.  So F1 of a
rare class among common ones has the interval of one class against the rest, with a part of the labels.

Cells have to lie along several scores at once.  An item belongs to the class for which it ranks highest, by
its rank over the number that is predicted or expected, and is cut along the score of that class.  Items that
are predicted differently are apart, and so are those that rank in the tail of another class (LEVELS): without
that a class of which one item was predicted was taken to have no more.  On the score of another class a cell
lies where the mean probability of its items is.  The order in which classes are listed does not matter.

For averages over many classes this is the wrong way: every model begins with the belief that the system is
roughly right, so they err alike, and a mean keeps what they have in common (docs/measured/ideas.md).
Averages, and more than MOST_MODELLED_CLASSES classes, stay with `guesses`.

    M   classes that are named
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, cast

import numpy as np
import scipy

from assay.evalcore.design.round import Design, RoundLabels
from assay.evalcore.errors import BadInput
from assay.evalcore.measures.measure import OutcomeMeasure
from assay.evalcore.measures.registry import names
from assay.evalcore.measures.stack import Stack
from assay.evalcore.methods.any_outcome.baselines import Sampled
from assay.evalcore.methods.any_outcome.interval import nothing_yet
from assay.evalcore.methods.any_outcome.measured_pool import By, MeasuredPool, profile, summed
from assay.evalcore.methods.any_outcome.score_cells import place_on_score
from assay.evalcore.methods.any_outcome.score_model import ScoreModel, ScoreState, as_drawn
from assay.evalcore.methods.any_outcome.state import (
    Axis,
    OutcomeCells,
    OutcomeEstimates,
    RoundOutcomes,
    SampleState,
    no_rows_yet,
)
from assay.evalcore.methods.method import Capabilities
from assay.evalcore.methods.two_classes.recalibrated import refitted
from assay.evalcore.outcomes.base import OutcomeKind
from assay.evalcore.outcomes.items import Items
from assay.evalcore.pool.partition import decision_boundary, label_model_edges
from assay.evalcore.pool.strata import assign, log_density, log_odds
from assay.evalcore.recalibration.planning import spread_labels
from assay.evalcore.reproducible import steady
from assay.evalcore.types import Bools, Floats, Ints

MOST_MODELLED_CLASSES = 8   # classes; of more, every one has too few labels of its own
STRATA_OF_CLASSES = 64   # along the score of one class, and as many fewer as there are classes
LEAST_STRATA = 16   # the same, however many classes there are
LEVELS = np.log([1.0, 4.0, 16.0])   # of the rank on the scores of the other classes
ROWS = 7         # of an `Axis` as an array


def named_classes(kind: OutcomeKind, measures: Sequence[OutcomeMeasure]) -> tuple[int, ...]:
    """The codes of the classes that measures ask for by name; empty where they are of one, of all alike, or
    of more than MOST_MODELLED_CLASSES.

    Every measure is of the confusion table of one named class, of one system.
    """
    parts = {part for measure in measures for part in measure.parts}
    fits = (
        kind.one_of_parts
        and kind.name == "classes"
        and kind.grades is None
        and 1 < len(parts) <= MOST_MODELLED_CLASSES
        and None not in parts
        and all(measure.versus is None and _of_two(measure) for measure in measures)
    )
    return tuple(kind.parts.index(part) for part in sorted(map(str, parts))) if fits else ()


def classes_named(stack: Stack, none: Items) -> tuple[int, ...]:
    """`named_classes` of a pool that can be cut along their scores; empty where it cannot.

    none: no item, with the columns that the items have: a prediction of one system and probabilities, and
    neither clusters, judges nor covariates.
    """
    can = (
        none.systems == 1 and none.probability is not None and none.cluster is None and none.judge is None
        and none.covariate is None
    )
    return named_classes(stack.kind, stack.measures) if can else ()


def _of_two(measure: OutcomeMeasure) -> bool:
    """Whether there is the same measure of a positive class."""
    return measure.name.partition("(")[0] in names()


def cells_along_several(pool: MeasuredPool) -> OutcomeCells:
    """The cells of a pool, in some passes over it.  Raises BadInput as `profile`."""
    pool_profile = profile(pool)
    parts = classes_named(pool.stack, pool.none)
    strata = max(STRATA_OF_CLASSES // len(parts), LEAST_STRATA)
    predicted, likely = np.sum(list(pool.measured(_Predicted(parts))), axis=0)
    scales, orders = [], []
    for part, positives, expected in zip(parts, predicted.astype(int).tolist(), likely.tolist(), strict=True):
        ordered = pool.ordered(_Along(part))
        edges = label_model_edges(ordered, positives, strata)
        items_below = np.concatenate([[0], ordered.below(edges)])        # (S,) items below each stratum
        rank = steady(np.log((len(pool) - items_below) / max(positives, expected, 1.0)))
        scales.append(_Scale(part, edges, rank))
        orders.append((ordered, positives))
    by = _Codes(tuple(scales))
    codes = np.unique(np.concatenate(list(pool.measured(by))))
    made = summed(pool, pool_profile, _Placed(by, pool_profile, codes), len(codes), _Probabilities(parts))
    mean = made.further / made.cells.size[:, None]
    axes = []
    for at, (part, (ordered, positives)) in enumerate(zip(parts, orders, strict=True)):
        score = log_odds(mean[:, at])
        axes.append(Axis(
            part=part, stratum=np.arange(len(codes)),
            prediction=(codes % (len(parts) + 1) == at + 1).astype(np.int64),
            score=score - decision_boundary(ordered, positives), probability=mean[:, at],
            density=log_density(ordered, np.minimum(ordered.below(score), len(ordered) - 1)),
            votes=np.zeros(len(codes)),
        ).to_array())
    return replace(made.cells, axis=np.concatenate(axes))


@dataclass(frozen=True, slots=True)
class _Along:
    """(n,) the log-odds of the probability of a class."""

    part: int

    def __call__(self, stack: Stack, items: Items) -> Floats:
        return place_on_score(stack.kind, items, self.part)[0]


@dataclass(frozen=True, slots=True)
class _Predicted:
    parts: tuple[int, ...]

    def __call__(self, stack: Stack, items: Items) -> Floats:
        """(2, M) of how many items each class is predicted, and how many the probabilities expect."""
        probability = np.asarray(items.probability)
        share = probability / probability.sum(axis=1, keepdims=True)
        return np.array([
            [float((items.prediction[:, 0] == part).sum()) for part in self.parts],
            [float(share[:, part].sum()) for part in self.parts],
        ])


@dataclass(frozen=True, slots=True)
class _Probabilities:
    parts: tuple[int, ...]

    def __call__(self, stack: Stack, items: Items, cell: Ints, n_cells: int) -> Floats:
        """(C, M) sums of the probability of each class."""
        total = np.zeros((n_cells, len(self.parts)))
        for rows, piece in items.chunks():
            p = [scipy.special.expit(place_on_score(stack.kind, piece, part)[0]) for part in self.parts]
            np.add.at(total, cell[rows], np.stack(p, axis=1))
        return total


@dataclass(frozen=True, slots=True, eq=False)
class _Scale:
    """The strata of one class."""

    part: int
    edges: Floats
    rank: Floats     # (S,) log of the rank of the lowest item of each, over the number of the class


@dataclass(frozen=True, slots=True, eq=False)
class _Codes:
    """A number (n,) for every class that items belong to, stratum of it, and what is predicted."""

    scales: tuple[_Scale, ...]

    def __call__(self, stack: Stack, items: Items) -> Ints:
        predicted, levels, nearest_stratum = (np.zeros(len(items), np.int64) for _ in range(3))
        best: Floats = np.full(len(items), np.inf)
        max_strata = max(len(scale.rank) for scale in self.scales)
        for at, scale in enumerate(self.scales):
            stratum = assign(scale.edges, _Along(scale.part)(stack, items)).astype(np.int64)
            nearer = scale.rank[stratum] < best
            best = np.where(nearer, scale.rank[stratum], best)
            nearest_stratum[nearer] = at * max_strata + stratum[nearer]
            predicted[items.prediction[:, 0] == scale.part] = at + 1
            levels = np.asarray(levels * (len(LEVELS) + 1) + np.searchsorted(LEVELS, scale.rank)[stratum])
        nearest_stratum = nearest_stratum * (len(LEVELS) + 1) ** len(self.scales) + levels
        return np.asarray(nearest_stratum * (len(self.scales) + 1) + predicted)


@dataclass(frozen=True, slots=True, eq=False)
class _Placed:
    """The cell of each item, and whether it is relevant."""

    by: _Codes
    profile_of: By
    codes: Ints      # (C,) codes, rising

    def __call__(self, stack: Stack, items: Items) -> tuple[Ints, Bools]:
        return np.searchsorted(self.codes, self.by(stack, items)), self.profile_of(stack, items).relevant


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SeveralState(SampleState):
    """The common sample, and what each of the M named classes makes of it: a state of the score model for
    each, with the order of the cells along its score and the numbers that are its own.

    The models side by side: each is the state of a question about its class, of the cells in the order of its
    score.
    """

    classes: tuple[ScoreState, ...]
    order: tuple[Ints, ...]        # (C,) the cells as each class has them
    numbers: tuple[Ints, ...]      # which of the Q numbers are of each
    plans: tuple[bool, ...]        # whether a measure of it drives the sampling

    def outcome_of(self, codes: Floats) -> Ints:
        """The outcomes as the models count them, of the shape of the codes: 1 to M for the named classes, 0
        for any other. Codes are those of the pool's classes, counted from 0."""
        outcomes = np.zeros(codes.shape, np.int64)
        for at, state_of_class in enumerate(self.classes):
            outcomes[codes == state_of_class.axis.part] = at + 1
        return outcomes


@dataclass(frozen=True, slots=True)
class SeveralClasses(ScoreModel):
    """The method `recalibrated` for a few named classes: a score model for each of them against all others,
    on one common sample."""

    capabilities: ClassVar[Capabilities] = Sampled.capabilities     # each class drives

    def cells(self, pool: MeasuredPool) -> OutcomeCells:
        """The pool cut along the scores of all named classes at once: an item lies on the score of the class
        for which it ranks highest."""
        return cells_along_several(pool)

    def start_from(
        self, cells: OutcomeCells, measures: Stack, repeats: int, evidence: Floats | None
    ) -> SeveralState:
        """After pseudo-labels (C, 2M) of items of another class and of this one, class by class."""
        classes, orders, numbers, plans = [], [], [], []
        for at, (order, own_cells) in enumerate(cells_by_class(cells)):
            part = measures.kind.parts[int(own_cells.axis[0, 0])]  # type: ignore[index]
            of = [
                (m, j)
                for m, measure in enumerate(measures.measures)
                for j, name in enumerate(measure.parts)
                if name == part
            ]
            class_evidence = None if evidence is None else evidence[order, 2 * at : 2 * at + 2]
            drive = tuple(measures.drive[m] for m, _ in of) if measures.drive else ()
            alone = Stack(
                kind=measures.kind, drive=drive if any(drive) else (),
                measures=tuple(replace(measures.measures[m], parts=(part,)) for m, _ in of),
            )
            classes.append(
                cast(ScoreState, ScoreModel.start_from(self, own_cells, alone, repeats, class_evidence))
            )
            orders.append(order)
            numbers.append(np.array([measures.parts.index(number) for number in of], np.int64))
            plans.append(not drive or any(drive))
        return SeveralState(
            **no_rows_yet(measures, cells, repeats, len(classes) + 1), classes=tuple(classes),
            order=tuple(orders), numbers=tuple(numbers), plans=tuple(plans),
        )

    def propose(self, state: SampleState, size: Ints) -> Design:
        """The design of the next round: the mean of what each class whose measures drive the sampling plans
        for itself, adjusted so that it has exactly the size of the round."""
        several_state, open_items, eligible = cast(SeveralState, state), state.left, state.wanted
        expected, first_model = np.zeros(open_items.shape), np.zeros(open_items.shape)
        for state_of_class, order, plans in zip(
            several_state.classes, several_state.order, several_state.plans, strict=True
        ):
            if plans:
                plan = ScoreModel.propose(
                    self, state_of_class, np.minimum(size, state_of_class.wanted.sum(axis=1))
                )
                expected[:, order] += plan.unlabelled * state_of_class.left
                if plan.model is not None and not first_model.any():
                    first_model[:, order] = plan.model
        weight = np.divide(expected, eligible, out=np.zeros_like(expected), where=eligible > 0)
        return Design(
            left=open_items,
            unlabelled=spread_labels(weight, eligible.astype(np.float64), size.astype(np.float64)),
            census=np.zeros(len(open_items), np.bool_), model=first_model,
        )

    def observe(
        self, state: SampleState, design: Design, answers: RoundOutcomes, excluded: Ints
    ) -> SeveralState:
        """The state after a round: every class reads the same labels, as its own or as another's, and fits
        its model. Items that nobody could decide are set aside, and the old state is not changed."""
        before = cast(SeveralState, state)
        after = before.plus(answers)
        new = after.labelled - before.labelled
        drawn = as_drawn(design, new.sum(axis=2), answers.asked)
        after = after.without(answers, excluded)
        return replace(after, classes=tuple(
            _after(state_of_class, order, after, new[..., at + 1], drawn)
            for at, (state_of_class, order) in enumerate(zip(before.classes, before.order, strict=True))
        ))

    def expects(self, state: SampleState) -> Floats:
        """The loss that the labels so far make one expect of an item of each cell, (C, D) for one repeat: by
        the guesses as the labels weigh them, not by the score models."""
        return Sampled.expects(self, state)

    def estimate(
        self, state: SampleState, confidence: float, rng: np.random.Generator | None = None
    ) -> OutcomeEstimates:
        """The estimates of all numbers, each from the score model of its class, put back into the order of
        the question."""
        several_state, exact = cast(SeveralState, state), np.asarray(~state.wanted.any(axis=1))
        if not state.n:
            return nothing_yet(state.stack, exact)
        by_class = [
            ScoreModel.estimate(self, state_of_class, confidence, rng)
            for state_of_class in several_state.classes
        ]
        back = np.argsort(np.concatenate(several_state.numbers))

        def joined(arrays: Sequence[Floats]) -> Floats:
            """The arrays of the classes side by side, (R, Q), with the Q numbers in the order of the
            question."""
            return np.concatenate(arrays, axis=1)[:, back]

        def ends(level: Floats) -> tuple[Floats, Floats]:
            """The lower and upper ends at these confidences (R, Q), each (R, Q): every class's own ends, in
            the order of the question. Classes without ends of their own are left out."""
            ends_by_class = [
                of_class.ends(level[:, several_state.numbers[at]])
                for at, of_class in enumerate(by_class)
                if of_class.ends
            ]
            return joined([low for low, _ in ends_by_class]), joined([high for _, high in ends_by_class])

        settled = [of_class.settled for of_class in by_class if of_class.settled is not None]
        notes = [note for of_class in by_class for note in of_class.notes or ()]
        return OutcomeEstimates(
            value=joined([of_class.value for of_class in by_class]),
            lower=joined([of_class.lower for of_class in by_class]),
            upper=joined([of_class.upper for of_class in by_class]),
            variance=joined([of_class.variance for of_class in by_class]),
            exact=exact, settled=np.concatenate(settled, axis=1)[:, back],
            ends=ends, interval=by_class[0].interval, notes=[notes[q] for q in back],
        )


def cells_by_class(cells: OutcomeCells) -> list[tuple[Ints, OutcomeCells]]:
    """The cells in the order of the score of each class, and that order (C,).

    Raises BadInput for cells of another method.
    """
    if cells.axis is None:
        raise BadInput("the pool was not cut along scores; freeze it anew")
    by_class = []
    for axis in np.split(cells.axis, len(cells.axis) // ROWS):
        order = np.argsort(steady(Axis.from_array(axis).score), kind="stable")
        rows = {name: getattr(cells, name)[order] for name in _BY_CELL}
        by_class.append((order, replace(cells, axis=axis[:, order], by_class=np.zeros((3, 0)), **rows)))
    return by_class


_BY_CELL = ("size", "guess", "spread", "relevant", "told", "said")


def _after(
    state_of_class: ScoreState, order: Ints, after: SeveralState, positive: Ints, drawn: Design
) -> ScoreState:
    """A class after a round; positive (R, C): its new labels; drawn: the design, of the cells in common."""
    labels_of_cell = after.labelled.sum(axis=2)[:, order]
    new = np.stack(
        [labels_of_cell - state_of_class.by_cell - positive[:, order], positive[:, order]], axis=-1
    )
    design = replace(
        drawn, left=drawn.left[:, order], unlabelled=drawn.unlabelled[:, order], model=None,
        stands_for=None if drawn.stands_for is None else drawn.stands_for[:, order],
    )
    sums = state_of_class.sums.add(
        state_of_class.labelled, design, RoundLabels(new=new, drawn_new=new, drawn_known=np.zeros_like(new)),
        np.zeros_like(state_of_class.excluded),
    )
    read = replace(
        state_of_class,
        sums=sums,
        rounds=state_of_class.rounds + 1,
        labelled=state_of_class.labelled + new,
        item=after.item,
    )
    return replace(
        read, fit=refitted(read), excluded=after.excluded[:, order], excluded_known=after.excluded_known
    )
