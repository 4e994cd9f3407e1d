"""One class against the rest: cells along a score, and measures as functions of the positives by group of
cells.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy

from assay.evalcore.errors import BadInput, UnknownName
from assay.evalcore.measures.by_group import CellGroups, OfConfusion, Quantity
from assay.evalcore.measures.curves import Bands
from assay.evalcore.measures.forms import component_means
from assay.evalcore.measures.measure import OutcomeMeasure, leading
from assay.evalcore.measures.registry import named
from assay.evalcore.measures.stack import Stack
from assay.evalcore.measures.two_classes import Measure
from assay.evalcore.methods.any_outcome.cut import OCTAVES, weight_octave
from assay.evalcore.methods.any_outcome.measured_pool import By, MeasuredPool, profile, summed
from assay.evalcore.methods.any_outcome.state import Axis, OutcomeCells
from assay.evalcore.outcomes.base import OutcomeKind
from assay.evalcore.outcomes.items import Items
from assay.evalcore.pool.nested_strata import two_sided_edges
from assay.evalcore.pool.partition import decision_boundary, label_model_edges
from assay.evalcore.pool.strata import assign, log_density, log_odds
from assay.evalcore.reproducible import first_largest, is_nothing, steady
from assay.evalcore.types import Bools, Floats, Ints

SCORE_STRATA = 64   # along the scores of one system
EACH = 4         # systems whose predictions cut cells one by one; of more, how many of them say the class
PATTERN_LEVELS = 8   # of what others say: 2³ patterns of three, or of more the share that say the class


def class_asked_of(kind: OutcomeKind, measures: Sequence[OutcomeMeasure]) -> int | None:
    """The class that all measures are of; None where they are of several, or of all alike."""
    if not kind.one_of_parts or kind.grades is not None:
        return None
    if kind.counted is not None:
        return kind.parts.index(kind.counted)
    asked_parts = {part for measure in measures for part in measure.parts}
    if len(asked_parts) == 1 and None not in asked_parts:
        return kind.parts.index(str(asked_parts.pop()))
    return 1 if kind.width == 2 and kind.name == "classes" else None


def along_a_score(stack: Stack, none: Items) -> bool:
    """Whether a pool can be cut so; none: no item, with the columns that the items have."""
    has_guess = none.systems > 0 or none.score is not None or none.probability is not None
    # an interval on the scale of a measure's range needs one; that of a mean follows from its losses
    ranged = all(
        np.isfinite(measure.bounds).all() or sum(loss.size for loss in measure.losses) == 1
        for measure in stack.measures
    )
    ranged = ranged and all(loss.along_score for loss in stack.losses)
    return has_guess and ranged and class_asked_of(stack.kind, stack.measures) is not None


def score_cells(pool: MeasuredPool, *, nested: bool = False) -> OutcomeCells:
    """The cells of a pool, in some passes over it; nested: strata are those that a score test splits, and
    items that weigh differently are apart.  Raises BadInput as `profile`."""
    pool_profile = profile(pool)
    part = int(class_asked_of(pool.stack.kind, pool.stack.measures) or 0)
    class_counts = np.sum(list(pool.measured(_Predicted(part))), axis=0)
    if pool.stack.kind.width == 2 and _stands_equal(pool.stack) and class_counts[1] > class_counts[0]:
        part, class_counts = 1 - part, class_counts[::-1]  # of two classes that stand equal, the rarer one
    axis = _AlongAxis(part=part, edges=np.zeros(0), by_weight=nested and pool.stack.weights is not None)
    ordered, positives = pool.ordered(axis.score), int(class_counts[1])
    edges = (
        two_sided_edges(ordered, positives) if nested else label_model_edges(ordered, positives, SCORE_STRATA)
    )
    axis = replace(axis, edges=edges)
    codes = np.unique(np.concatenate(list(pool.measured(axis.codes))))
    placed = _Placed(axis=axis, profile_of=pool_profile, codes=codes)
    made = summed(pool, pool_profile, placed, len(codes), axis.sums)
    cells, sums = made.cells, made.further / made.cells.size[:, None]
    n_loss = pool.stack.size
    losses = sums[:, 3:].reshape(len(codes), 2, n_loss)
    row, label, column = np.nonzero(losses)
    mean_score = sums[:, 0]
    stratum, predicted = axis.stratum_and_prediction(pool.stack, codes)
    return replace(
        cells,
        axis=Axis(
            part=part, stratum=stratum, prediction=predicted,
            score=mean_score - decision_boundary(ordered, positives), probability=sums[:, 1],
            density=log_density(ordered, np.minimum(ordered.below(mean_score), len(ordered) - 1)),
            votes=sums[:, 2],
        ).to_array(),
        by_class=np.stack([row * 2 + label, column, losses[row, label, column]]).astype(np.float64),
    )


def _stands_equal(stack: Stack) -> bool:
    """Whether no measure names a class."""
    return stack.kind.counted is None and all(part is None for m in stack.measures for part in m.parts)


def _says(kind: OutcomeKind, items: Items, part: int) -> Bools:
    """(n,) whether the class is predicted; of items without a prediction, whether it is likeliest."""
    if items.systems:
        return np.asarray(items.prediction[:, 0] == part)
    guess_weights = kind.first_weights(items)
    says = np.zeros(len(items), np.bool_)
    for rows, piece in items.chunks():
        says[rows] = first_largest(np.einsum("b,nbp->np", guess_weights, kind.guesses(piece))) == part
    return says


def _score(kind: OutcomeKind, items: Items, part: int) -> Floats:
    """(n,) higher where the class is likelier."""
    if items.score is not None:     # it is of the last class
        score = items.score[:, 0]
        return np.asarray(score if part == kind.width - 1 else -score, np.float64)
    if items.probability is not None:
        return log_odds(_probability(kind, items, part))
    other_votes = _others(items) == part
    own_vote = _says(kind, items, part)
    return np.asarray((2.0 * own_vote + other_votes.sum(axis=1)) / (2 + other_votes.shape[1]) - 0.5)


def _probability(kind: OutcomeKind, items: Items, part: int) -> Floats:
    """(n,) as supplied; by the score where it is not."""
    if items.probability is None:
        return np.asarray(scipy.special.expit(_score(kind, items, part)))
    return np.asarray(items.probability[:, part] / items.probability.sum(axis=1), np.float64)


def place_on_score(kind: OutcomeKind, items: Items, part: int) -> tuple[Floats, Ints]:
    """Where items of any pool lie along the score of a class: the log-odds (n,) of the probability that they
    are supplied with, or that follows from their score, and whether the class is predicted (n,)."""
    return log_odds(_probability(kind, items, part)), _says(kind, items, part).astype(np.int64)


def evidence_of_class(
    kind: OutcomeKind, axis: Axis, items: Items, code: Floats, weight: Floats
) -> Floats:
    """(C, 2) pseudo-labels of cells along the score of a class, of items of other pools; code, weight (n,):
    what each was labelled, and what that is worth."""
    label = (code == axis.part).astype(np.int64)
    return evidence_along(axis, *place_on_score(kind, items, axis.part), label, weight)


def evidence_along(axis: Axis, odds: Floats, predicted: Ints, label: Ints, weight: Floats) -> Floats:
    """(C, 2) pseudo-labels of cells by label, of M items of other pools.

    odds, predicted (M,): `place_on_score`; label (M,): 1 where they are of the class; weight (M,): what each
    is worth.  Each goes to the cell of its prediction whose mean probability is nearest in log-odds; where
    nothing is predicted so, to the nearest of all.
    """
    pseudo_labels = np.zeros((len(axis.score), 2))
    middle = log_odds(axis.probability)
    for f in (0, 1):
        items_of_side, cells = np.flatnonzero(predicted == f), np.flatnonzero(axis.prediction == f)
        cells = cells if len(cells) else np.arange(len(middle))
        order = cells[np.argsort(steady(middle[cells]), kind="stable")]
        between = steady((middle[order][1:] + middle[order][:-1]) / 2)
        cell = order[np.searchsorted(between, steady(odds[items_of_side]))]
        np.add.at(pseudo_labels, (cell, label[items_of_side]), weight[items_of_side])
    return pseudo_labels


def _others(items: Items) -> Floats:
    """(n, V) what further systems predict, and judges say."""
    judges = np.zeros((len(items), 0)) if items.judge is None else items.judge
    return np.concatenate([items.prediction[:, 1:], judges], axis=1)


def axis_of(cells: OutcomeCells, n_losses: int) -> tuple[Axis, Floats]:
    """Where cells lie, and their losses (C, 2, D).  Raises BadInput for cells of another method."""
    if cells.axis is None or cells.by_class is None:
        raise BadInput("the pool was not cut along a score; freeze it anew")
    row, column, value = cells.by_class
    loss = np.zeros((2 * cells.n_cells, n_losses))
    loss[row.astype(np.int64), column.astype(np.int64)] = value
    # labels count with their own losses, so that a cell's may be rounded: cells that are alike are equal then
    return Axis.from_array(cells.axis), steady(loss.reshape(cells.n_cells, 2, n_losses))


def hit_component(stack: Stack, known_sizes: Sequence[int]) -> int | None:
    """The component of the losses whose mean is all that is asked; None where there is none, or where it is
    not 0 or 1 of every item.  known_sizes: of the losses' known parts, and last of the weights if there are
    some, which say nothing of it."""
    if len(stack.parts) != 1 or not all(loss.zero_or_one for loss in stack.losses):
        return None
    alike = replace(stack, weights=None)
    component = int(component_means(alike, known_sizes[: len(alike.losses)])[0])
    return component if component >= 0 else None


@dataclass(frozen=True, slots=True)
class _Predicted:
    part: int

    def __call__(self, stack: Stack, items: Items) -> Ints:
        """(2,) items of which another class, and this one, is predicted."""
        positive = int(_says(stack.kind, items, self.part).sum())
        return np.array([len(items) - positive, positive])


@dataclass(frozen=True, slots=True, eq=False)
class _AlongAxis:
    """Where the items of a shard lie."""

    part: int
    edges: Floats    # of the strata
    by_weight: bool = False   # items whose weights differ by more than a factor of two are apart

    def score(self, stack: Stack, items: Items) -> Floats:
        """(n,) higher where the class is likelier."""
        return _score(stack.kind, items, self.part)

    def codes(self, stack: Stack, items: Items) -> Ints:
        """(n,) a number for every stratum, band and pattern of predictions, rising along the axis."""
        pieces: list[Ints] = [np.zeros(0, np.int64)]
        for _, piece in items.chunks():
            code = assign(self.edges, self.score(stack, piece)).astype(np.int64)
            for bands in self._bands(stack):
                band = bands.band(piece)
                code = code * bands.size + (band if bands.part == self.part else bands.size - 1 - band)
            if self.by_weight:
                code = code * 2 * OCTAVES + weight_octave(stack, piece)
            pieces.append(code * 2 * PATTERN_LEVELS * 2 + self._pattern(stack, piece))
        return np.concatenate(pieces)

    def stratum_and_prediction(self, stack: Stack, codes: Ints) -> tuple[Ints, Ints]:
        """The stratum, and whether the class is predicted, of `codes`."""
        many = int(np.prod([bands.size for bands in self._bands(stack)], initial=1))
        many *= 2 * OCTAVES if self.by_weight else 1
        return codes // (4 * PATTERN_LEVELS) // many, codes // (2 * PATTERN_LEVELS) % 2

    def sums(self, stack: Stack, items: Items, cell: Ints, n_cells: int) -> Floats:
        """(C, 3 + 2D) sums over cells: score, probability, votes, and the losses if the items were of another
        class and of this one. C counts the cells and D the components of the losses; items are read in
        pieces."""
        total = np.zeros((n_cells, 3 + 2 * stack.size))
        for rows, piece in items.chunks(1024):
            n, other_votes = len(piece), _others(piece) == self.part
            votes = other_votes.mean(axis=1) if other_votes.shape[1] else np.zeros(n)
            columns = [self.score(stack, piece), _probability(stack.kind, piece, self.part), votes]
            losses = [stack.if_all(piece, code) for code in (int(self.part == 0), self.part)]
            member = scipy.sparse.csr_array((np.ones(n), (cell[rows], np.arange(n))), shape=(n_cells, n))
            total += np.asarray(member @ np.column_stack([*columns, *losses]))
        return total

    def _pattern(self, stack: Stack, items: Items) -> Ints:
        """(n,) below 4 · PATTERN_LEVELS: whether the class is predicted, and what others say."""
        other_votes = (items.prediction[:, 1:] == self.part).astype(np.int64)
        if other_votes.shape[1] < EACH:
            level = other_votes @ (1 << np.arange(other_votes.shape[1]))
        else:
            level = other_votes.sum(axis=1) * (PATTERN_LEVELS - 1) // other_votes.shape[1]
        return np.asarray(_says(stack.kind, items, self.part) * 2 * PATTERN_LEVELS + level, np.int64)

    @staticmethod
    def _bands(stack: Stack) -> list[Bands]:
        return [loss for loss in stack.losses if isinstance(loss, Bands)]


@dataclass(frozen=True, slots=True, eq=False)
class _Placed:
    """The cell of each item, and whether it is relevant."""

    axis: _AlongAxis
    profile_of: By
    codes: Ints      # (C,) codes, rising

    def __call__(self, stack: Stack, items: Items) -> tuple[Ints, Bools]:
        cell = np.searchsorted(self.codes, self.axis.codes(stack, items))
        return cell, self.profile_of(stack, items).relevant


_OF_BOTH = ("accuracy", "cohen_kappa", "mcc", "matthews", "balanced_accuracy")   # the same for either class
_TRIED_SHARES = (0.07, 0.31, 0.83)   # of the class, at which it is tried what moves a measure


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class OfLosses(Quantity):
    """A measure as a function of the positives by group; R repeats may differ.

    Measures of one class against the rest as functions of the positives by group of cells.

    A measure that the two-class registry has too, of the predictions of the (first) system, is that one: its
    groups are what is predicted and the rest.  Any other has a group for all cells whose items have the same
    losses, if they are of the class and if they are not.  A labelled item counts with its own losses; those
    of a cell stand for its unlabelled items alone.
    """

    measure: OutcomeMeasure
    loss: Floats         # (G, 2, D) of an item of each group, if it is of another class and of this one
    own: Floats          # (R, D) what the labelled items' own losses add to the mean
    known: Floats        # (R, D_k) what the pool alone tells
    moves: Bools         # (G,) whether a label can change the measure

    @property
    def size(self) -> int:
        """How many numbers q the measure has, one for each of its parts."""
        return len(self.measure.parts)

    @property
    def label_matters(self) -> Bools:
        """Where its two losses differ in what the measure looks at."""
        return self.moves

    def values(self, positives: Floats, items: Floats) -> Floats:
        """By the mean losses; what divides nothing by nothing has no value."""
        with np.errstate(divide="ignore", invalid="ignore"):
            values = self.measure.value(self._risk(positives, items))
        return np.where(np.isfinite(values), values, np.nan)

    def slopes(self, positives: Floats, items: Floats) -> Floats:
        """The derivative of each number by a positive of each group, (R, q, G): the pull of a positive item
        less the pull of another one, divided by the number of items."""
        pull = self.pulls(positives, items)
        return np.asarray((pull[..., 1] - pull[..., 0]) / items.sum(axis=1)[:, None, None])

    def pulls(self, positives: Floats, items: Floats) -> Floats:
        """How an item of each group and label pulls at each number, J·ℓ, (R, q, G, 2); 0 where the measure is
        undefined. Positives and items are (R, G) by group; R counts repeats and q the numbers."""
        with np.errstate(divide="ignore", invalid="ignore"):
            slope = self.measure.gradient(self._risk(positives, items))
        slope = np.nan_to_num(slope, posinf=0.0, neginf=0.0)
        return np.asarray(np.einsum("rqd,gyd->rqgy", slope[..., : self.loss.shape[2]], self.loss))

    def attainable(self, known_means: Floats, free: Floats, items: Floats) -> tuple[Floats, Floats]:
        """The least and the largest value that the measure can have at all, (R, q) each: no closer bound is
        computed from the labels here."""
        shape = (len(known_means), self.size)
        return np.full(shape, self.bounds[0]), np.full(shape, self.bounds[1])

    def slack(self, positives: Floats, items: Floats) -> Floats:
        """As the measure says: areas under curves of very many scores are taken by bands."""
        if self.measure.slack is None:
            return np.zeros((len(items), self.size))
        return np.asarray(np.nan_to_num(self.measure.slack(self._risk(positives, items))))

    def _risk(self, positives: Floats, items: Floats) -> Floats:
        """(R, ..., D + D_k)."""
        between_ = (1,) * (positives.ndim - 2)
        total = items.sum(axis=1).reshape(-1, *between_, 1)
        base = (items @ self.loss[:, 0]).reshape(len(items), *between_, -1)
        own_means, known_means = (a.reshape(len(a), *between_, a.shape[1]) for a in (self.own, self.known))
        mean = (base + positives @ (self.loss[:, 1] - self.loss[:, 0])) / total + own_means
        return np.concatenate(
            [mean, np.broadcast_to(known_means, (*mean.shape[:-1], known_means.shape[-1]))], axis=-1
        )


def quantities_asked(stack: Stack, cells: OutcomeCells, axis: Axis, loss: Floats) -> Iterator[Quantity]:
    """Each measure as a function of positives, without what single items tell.

    loss (C, 2, D): the mean losses of each cell, if its items are of another class and of this one.
    """
    compared = any(losses.versus is not None for losses in stack.measures)
    driving = leading(stack.measures) if compared else tuple(m == 0 for m in range(len(stack.measures)))
    predicted = CellGroups.by_prediction(axis.prediction.astype(np.float64))
    alike: dict[bytes, CellGroups] = {}
    number = 0
    for measure, drives in zip(stack.measures, stack.drive or driving, strict=True):
        weight = max(float(stack.weight[number]), 0.0)
        number += len(measure.parts)
        confusion = table_measure(stack, measure, axis.part)
        if confusion is not None:
            yield OfConfusion(
                groups=predicted, bounds=confusion.bounds, drives=drives, weight=weight, measure=confusion
            )
            continue
        measure_loss = loss[:, :, _columns(stack, cells, measure)[0]]
        groups = _alike(measure_loss, alike)
        _, group_cell = np.unique(groups.of_cell, return_index=True)
        losses = OfLosses(
            groups=groups, bounds=measure.bounds, drives=drives, weight=weight, measure=measure,
            loss=measure_loss[group_cell], own=np.zeros((1, 0)), known=np.zeros((1, 0)),
            moves=np.ones(len(group_cell), np.bool_),
        )
        nothing, known_means = np.zeros((1, stack.size)), cells.known[None] / cells.n_items
        with_pool = with_own_losses(losses, stack, cells, nothing, known_means)
        yield replace(losses, bounds=_range(with_pool, cells), moves=_moves(with_pool, cells))


def table_measure(stack: Stack, measure: OutcomeMeasure, axis_part: int) -> Measure | None:
    """The measure of a confusion table that it is, if it is one of the (first) system's predictions."""
    if measure.versus is not None or measure.system != 0 or len(measure.parts) > 1:
        return None
    part, kind = measure.parts[0] or stack.kind.counted, stack.kind
    same_class = kind.parts.index(part) == axis_part if part is not None else measure.name in _OF_BOTH
    try:
        return named(measure.name) if same_class else None
    except UnknownName:
        return None


def _columns(stack: Stack, cells: OutcomeCells, measure: OutcomeMeasure) -> tuple[Ints, Ints]:
    """Where the losses of a measure stand among all, and what is known of them among what is known."""
    columns = np.asarray(stack.columns(measure, cells.known_sizes.tolist()), np.int64)
    return columns[columns < stack.size], columns[columns >= stack.size] - stack.size


def with_own_losses(
    losses: OfLosses, stack: Stack, cells: OutcomeCells, own_means: Floats, known_means: Floats
) -> OfLosses:
    """With what labelled items add, own_means (R, D), and what the pool alone tells, known_means (R, D_k)."""
    own_columns, known_columns = _columns(stack, cells, losses.measure)
    return replace(losses, own=own_means[:, own_columns], known=known_means[:, known_columns])


def all_with_own_losses(
    quantities: Sequence[Quantity], stack: Stack, cells: OutcomeCells, own_means: Floats, known_means: Floats
) -> tuple[Quantity, ...]:
    """The measures, those of losses as `with_own_losses` has them."""
    return tuple(
        with_own_losses(quantity, stack, cells, own_means, known_means)
        if isinstance(quantity, OfLosses) else quantity
        for quantity in quantities
    )


def _alike(loss: Floats, groups_by_key: dict[bytes, CellGroups]) -> CellGroups:
    """Groups of cells of the same loss (C, 2, D), in the order in which they first come."""
    rows = loss.reshape(len(loss), -1) + 0.0
    _, first_rows, of_cell = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    place = np.argsort(np.argsort(first_rows))
    groups = CellGroups.by_number(place[of_cell.ravel()])
    return groups_by_key.setdefault(groups.of_cell.tobytes(), groups)


def _range(losses: OfLosses, cells: OutcomeCells) -> tuple[float, float]:
    """The bounds of the measure; where it has none, beyond what it is if all items are of one class."""
    items = losses.groups.sums(cells.size[None].astype(np.float64))
    ends = np.stack([losses.values(share * items, items)[0] for share in (0.0, 0.5, 1.0)])
    lowest, highest = float(np.nanmin(ends, initial=0.0)), float(np.nanmax(ends, initial=0.0))
    low, high = losses.bounds
    return (
        low if np.isfinite(low) else 2 * lowest - highest,
        high if np.isfinite(high) else 2 * highest - lowest,
    )


def _moves(losses: OfLosses, cells: OutcomeCells) -> Bools:
    """(G,) whether a label of the group can change the measure, tried at some shares of the class."""
    items = losses.groups.sums(cells.size[None].astype(np.float64))
    moving = np.zeros(items.shape[1], np.bool_)
    for share in _TRIED_SHARES:
        pull = losses.pulls(share * items, items)[0]                              # (q, G, 2)
        moving |= ~is_nothing(pull[..., 1] - pull[..., 0], np.abs(pull).sum(axis=-1)).all(axis=0)
    # a measure without a value at any of them may be moved by whatever its losses show
    return np.asarray(moving if moving.any() else (losses.loss[:, 1] != losses.loss[:, 0]).any(axis=1))
