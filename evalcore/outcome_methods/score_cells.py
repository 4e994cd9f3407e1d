"""Cells along a score: how a pool is cut where one class against the rest is all that is asked.

The axis is the supplied score, the log odds of the supplied probability, or, where there are predictions and
judges alone, the share of them that say the class: a single prediction is a score of two values.  The pool is
cut where two classes are cut (`partition.label_model_edges`), and further where a loss changes: by what each
system predicts, and by the bands that curves are made of.  So the items of a cell are alike in everything
that is known of their loss, and the cells hold them in the order of the axis.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array
from scipy.special import expit, logit

from assay.evalcore.outcome_measures.base import OutcomeMeasure
from assay.evalcore.outcome_measures.curves.bands import Bands
from assay.evalcore.outcome_measures.stack import Stack
from assay.evalcore.outcome_methods.cells import Axis, OutcomeCells
from assay.evalcore.outcome_methods.cutting.pool import MeasuredPool
from assay.evalcore.outcome_methods.cutting.profile import By, profile
from assay.evalcore.outcome_methods.cutting.sums import summed
from assay.evalcore.outcomes.base import OutcomeKind
from assay.evalcore.outcomes.items import Items
from assay.evalcore.pool.partition import decision_boundary, label_model_edges
from assay.evalcore.pool.strata import assign, log_density
from assay.evalcore.rounding import first_largest
from assay.evalcore.types import Bools, Floats, Ints

STRATA = 64
EACH = 4         # systems whose predictions cut cells one by one; of more, how many of them say the class
LEVELS = 8
_SURE = 1e-12    # log odds are cut off here


def class_asked_of(kind: OutcomeKind, measures: Sequence[OutcomeMeasure]) -> int | None:
    """The class that all measures are of; None where they are of several, or of all alike."""
    if not kind.one_of_parts or kind.grades is not None:
        return None
    if kind.counted is not None:
        return kind.parts.index(kind.counted)
    named = {part for measure in measures for part in measure.parts}
    if len(named) == 1 and None not in named:
        return kind.parts.index(str(named.pop()))
    return 1 if kind.width == 2 and kind.name == "classes" else None


def along_a_score(stack: Stack, none: Items) -> bool:
    """Whether a pool can be cut so; none: no item, with the columns that the items have."""
    said = none.systems > 0 or none.score is not None or none.probability is not None
    # an interval on the scale of a measure's range needs one; that of a mean follows from its losses
    ranged = all(
        np.isfinite(one.bounds).all() or sum(loss.size for loss in one.losses) == 1 for one in stack.measures
    )
    return said and ranged and class_asked_of(stack.kind, stack.measures) is not None


def score_cells(pool: MeasuredPool) -> OutcomeCells:
    """The cells of a pool, in some passes over it.  Raises BadInput as `profile`."""
    found = profile(pool)
    part = int(class_asked_of(pool.stack.kind, pool.stack.measures) or 0)
    said = np.sum(list(pool.measured(_Predicted(part))), axis=0)
    if pool.stack.kind.width == 2 and _stands_equal(pool.stack) and said[1] > said[0]:
        part, said = 1 - part, said[::-1]      # of two classes that stand equal, the rarer one
    axis = _AlongAxis(part=part, edges=np.zeros(0))
    ordered, positives = pool.ordered(axis.score), int(said[1])
    axis = replace(axis, edges=label_model_edges(ordered, positives, STRATA))
    codes = np.unique(np.concatenate(list(pool.measured(axis.codes))))
    placed = _Placed(axis=axis, found=found, known=codes)
    made = summed(pool, found, placed, len(codes), axis.sums)
    cells, sums = made.cells, made.further / made.cells.size[:, None]
    n_loss = pool.stack.size
    losses = sums[:, 3:].reshape(len(codes), 2, n_loss)
    row, label, column = np.nonzero(losses)
    mean_score = sums[:, 0]
    stratum, predicted = axis.read(pool.stack, codes)
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


def _says(stack: Stack, items: Items, part: int) -> Bools:
    """(n,) whether the class is predicted; of items without a prediction, whether it is likeliest."""
    if items.systems:
        return np.asarray(items.prediction[:, 0] == part)
    first = stack.kind.first_weights(items)
    says = np.zeros(len(items), np.bool_)
    for where, piece in items.chunks():
        says[where] = first_largest(np.einsum("b,nbp->np", first, stack.kind.guesses(piece))) == part
    return says


def _others(items: Items) -> Floats:
    """(n, V) what further systems predict, and judges say."""
    judges = np.zeros((len(items), 0)) if items.judge is None else items.judge
    return np.concatenate([items.prediction[:, 1:], judges], axis=1)


@dataclass(frozen=True, slots=True)
class _Predicted:
    part: int

    def __call__(self, stack: Stack, items: Items) -> Ints:
        """(2,) items of which another class, and this one, is predicted."""
        positive = int(_says(stack, items, self.part).sum())
        return np.array([len(items) - positive, positive])


@dataclass(frozen=True, slots=True, eq=False)
class _AlongAxis:
    """Where the items of a shard lie."""

    part: int
    edges: Floats    # of the strata

    def score(self, stack: Stack, items: Items) -> Floats:
        """(n,) higher where the class is likelier."""
        if items.score is not None:     # it is of the last class
            score = items.score[:, 0]
            return np.asarray(score if self.part == stack.kind.width - 1 else -score, np.float64)
        if items.probability is not None:
            return np.asarray(logit(np.clip(self.probability(stack, items), _SURE, 1 - _SURE)))
        others = _others(items) == self.part
        mine = _says(stack, items, self.part)
        return np.asarray((2.0 * mine + others.sum(axis=1)) / (2 + others.shape[1]) - 0.5)

    def probability(self, stack: Stack, items: Items) -> Floats:
        """(n,) as supplied; by the score where it is not."""
        if items.probability is None:
            return np.asarray(expit(self.score(stack, items)))
        found = items.probability[:, self.part] / items.probability.sum(axis=1)
        return np.asarray(found, np.float64)

    def codes(self, stack: Stack, items: Items) -> Ints:
        """(n,) a number for every stratum, band and pattern of predictions, rising along the axis."""
        pieces: list[Ints] = [np.zeros(0, np.int64)]
        for _, piece in items.chunks():
            code = assign(self.edges, self.score(stack, piece)).astype(np.int64)
            for bands in self._bands(stack):
                band = bands.band(piece)
                code = code * bands.size + (band if bands.part == self.part else bands.size - 1 - band)
            pieces.append(code * 2 * LEVELS * 2 + self._pattern(stack, piece))
        return np.concatenate(pieces)

    def read(self, stack: Stack, codes: Ints) -> tuple[Ints, Ints]:
        """The stratum, and whether the class is predicted, of `codes`."""
        many = int(np.prod([bands.size for bands in self._bands(stack)], initial=1))
        return codes // (4 * LEVELS) // many, codes // (2 * LEVELS) % 2

    def sums(self, stack: Stack, items: Items, cell: Ints, n_cells: int) -> Floats:
        """(C, 3 + 2D) sums over cells: score, probability, votes, and the losses if the items were of another
        class and of this one."""
        total = np.zeros((n_cells, 3 + 2 * stack.size))
        for where, piece in items.chunks(1024):
            n, others = len(piece), _others(piece) == self.part
            votes = others.mean(axis=1) if others.shape[1] else np.zeros(n)
            columns = [self.score(stack, piece), self.probability(stack, piece), votes]
            losses = [stack.of(piece, phi) for phi in self._outcomes(stack, n)]
            member = csr_array((np.ones(n), (cell[where], np.arange(n))), shape=(n_cells, n))
            total += np.asarray(member @ np.column_stack([*columns, *losses]))
        return total

    def _outcomes(self, stack: Stack, n: int) -> Iterator[Floats]:
        """φ (n, K) of items of another class, and of this one."""
        for code in (1.0 if self.part == 0 else 0.0, float(self.part)):
            yield stack.kind.phi(np.full(n, code))

    def _pattern(self, stack: Stack, items: Items) -> Ints:
        """(n,) below 4 · LEVELS: whether the class is predicted, and what others say."""
        others = (items.prediction[:, 1:] == self.part).astype(np.int64)
        if others.shape[1] < EACH:
            level = others @ (1 << np.arange(others.shape[1]))
        else:
            level = others.sum(axis=1) * (LEVELS - 1) // others.shape[1]
        return np.asarray(_says(stack, items, self.part) * 2 * LEVELS + level, np.int64)

    @staticmethod
    def _bands(stack: Stack) -> list[Bands]:
        return [loss for loss in stack.losses if isinstance(loss, Bands)]


@dataclass(frozen=True, slots=True, eq=False)
class _Placed:
    """The cell of each item, and whether it is relevant."""

    axis: _AlongAxis
    found: By
    known: Ints      # (C,) codes, rising

    def __call__(self, stack: Stack, items: Items) -> tuple[Ints, Bools]:
        cell = np.searchsorted(self.known, self.axis.codes(stack, items))
        return cell, self.found(stack, items).relevant
