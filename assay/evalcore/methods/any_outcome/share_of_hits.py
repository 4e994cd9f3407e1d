"""`score-test` where a share of items is asked for: strata by the chance of a hit.

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

from dataclasses import dataclass, field, replace

import numpy as np

from assay.evalcore.measures.stack import Stack
from assay.evalcore.methods.any_outcome.cut import OCTAVES, weight_octave
from assay.evalcore.methods.any_outcome.measured_pool import MeasuredPool, profile, summed
from assay.evalcore.methods.any_outcome.score_cells import hit_component
from assay.evalcore.methods.any_outcome.state import HITS, Axis, OutcomeCells
from assay.evalcore.outcomes.items import Items
from assay.evalcore.pool.nested_strata import two_sided_edges
from assay.evalcore.pool.strata import assign, log_odds
from assay.evalcore.reproducible import steady
from assay.evalcore.types import Bools, Floats, Ints

BEYOND = 30.0   # more than any log odds of a probability that is told from 0 (`pool.strata.log_odds`)


def asks_for_hits(stack: Stack, none: Items) -> bool:
    """Whether all that is asked is one share of hits.

    none: no item, with the columns that the items have.  Covariates are left to the difference estimator,
    which learns what they are worth.
    """
    plain = stack.race is None and not stack.contenders and none.segment is None
    plain = plain and none.covariate is None and none.deviation is None
    return plain and hit_component(stack, stack.known_sizes(none)) is not None


def hit_cells(pool: MeasuredPool) -> OutcomeCells:
    """Strata by the chance of a hit, on both sides of the most frequent prediction; items that weigh
    differently are apart.  Raises BadInput as `profile`."""
    pool_profile = profile(pool)
    component = hit_component(pool.stack, pool.stack.known_sizes(pool.none))
    place = _Place(
        component or 0, pool.stack.kind.first_weights(pool.none), leading_class(pool)
    )
    ordered = pool.ordered(place)
    edges = two_sided_edges(ordered, len(pool) - int(ordered.below(np.zeros(1))[0]))
    placed = _Placed(edges, place)
    codes = np.unique(np.concatenate(list(pool.measured(placed.codes))))
    made = summed(pool, pool_profile, replace(placed, cell_codes=codes), len(codes), place.sums)
    score = made.further[:, 0] / made.cells.size
    nothing = np.zeros(len(score))
    axis = Axis(
        part=HITS, stratum=placed.stratum(pool.stack, codes), score=score,
        prediction=np.asarray(score > 0, np.int64), probability=nothing, density=nothing, votes=nothing,
    )
    return replace(made.cells, axis=axis.to_array())


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
            hit = stack.item_losses(piece, outcome)[:, self.component]
            if stack.weights is not None:
                weight = stack.weights.relative_weights(piece)
                hit = np.where(weight > 0, hit / np.where(weight > 0, weight, 1.0), 0.0)
            odds[rows] = log_odds(hit)
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
    """The cell of each item, by stratum and weight; the label of every item matters.

    cell_codes: a number for each cell that there is, rising.
    """

    edges: Floats
    place: _Place
    cell_codes: Ints = field(default_factory=lambda: np.zeros(0, np.int64))

    def codes(self, stack: Stack, items: Items) -> Ints:
        """(n,) the stratum; of items with weights, the stratum and the octave of the weight."""
        stratum = assign(self.edges, self.place(stack, items)).astype(np.int64)
        return stratum if stack.weights is None else stratum * 2 * OCTAVES + weight_octave(stack, items)

    @staticmethod
    def stratum(stack: Stack, codes: Ints) -> Ints:
        """The stratum of each code."""
        return codes if stack.weights is None else codes // (2 * OCTAVES)

    def __call__(self, stack: Stack, items: Items) -> tuple[Ints, Bools]:
        cell = np.searchsorted(self.cell_codes, self.codes(stack, items))
        return cell, np.ones(len(items), np.bool_)
