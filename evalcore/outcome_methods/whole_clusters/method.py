"""Whole clusters: all items that come together are asked together, such as the answers to one prompt.

    cells      the clusters
    allocation clusters are drawn one after the other (`order`), with chances half alike, half by the root of
               the mean guessed spread of their items.  One cluster is finished before the next begins
    estimate   Hájek's ratio (1971) of clusters: each of the m clusters drawn stands for 1/π_j of its kind,

                   N R̂ = Σ_pool m + N Σ_j e_j/π_j / Σ_j N_j/π_j,     e_j = N_j ē_j

               with the residuals e of the label model (`reading`), ē_j the mean over the labelled items of
               cluster j, which are all of them unless the budget cut the last one short
    interval   Student's over clusters: with u_j what cluster j adds to the error of J·R̂,

                   V = m/(m - 1) Σ (1 - π_j) u_j²

               and, as with clusters in every method (`clusters`), B on top: it is for the population
               that the clusters were drawn from.  Here B is Σ_j S_j²/π_j/N², as they are drawn whole
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from assay.evalcore.errors import BadInput
from assay.evalcore.outcome_measures.stack import Stack
from assay.evalcore.outcome_methods.base import OutcomeMethod
from assay.evalcore.outcome_methods.cells import OutcomeCells
from assay.evalcore.outcome_methods.cutting.pool import MeasuredPool
from assay.evalcore.outcome_methods.cutting.profile import By, profile
from assay.evalcore.outcome_methods.cutting.sums import summed
from assay.evalcore.outcome_methods.reading import fitted, residuals
from assay.evalcore.outcome_methods.reported import bounds_of, nothing_yet, reported
from assay.evalcore.outcome_methods.state import ItemWeights, OutcomeDesign, OutcomeEstimates, SampleState
from assay.evalcore.outcome_methods.whole_clusters.order import chances, in_turn
from assay.evalcore.outcome_methods.whole_clusters.ratio import drawn_of, errors_of, items_of
from assay.evalcore.outcomes.items import Items
from assay.evalcore.plurals import plural
from assay.evalcore.types import Bools, Floats, Ints

MOST_CLUSTERS = 5_000   # each is a cell of the record
EVEN = 0.5              # of the chances


def too_many(number: str) -> BadInput:
    """The error for a pool of so many clusters."""
    return BadInput(
        f"method {WholeClusters.name!r} takes up to {plural(MOST_CLUSTERS, 'cluster')}, and the pool has "
        f"{number}; leave `method` out: intervals are over clusters then too"
    )


def _numbers(items: Items) -> Floats:
    """The numbers of the clusters of some items, each once."""
    return np.unique(np.zeros(0) if items.cluster is None else np.asarray(items.cluster)[:, 0])


@dataclass(frozen=True, slots=True, eq=False)
class _ByCluster:
    found: By
    numbers: Floats    # (C,) of the clusters, rising

    def __call__(self, stack: Stack, items: Items) -> tuple[Ints, Bools]:
        cluster = np.zeros(len(items)) if items.cluster is None else np.asarray(items.cluster)[:, 0]
        return np.searchsorted(self.numbers, cluster), self.found(stack, items).relevant


@dataclass(frozen=True, slots=True)
class WholeClusters(OutcomeMethod):
    """Clusters as the unit that is drawn."""

    name: ClassVar[str] = "whole-clusters"
    says: ClassVar[str] = "Whole clusters of items that come together, one after the other."
    interval: ClassVar[str] = "ratio"
    interval_note: ClassVar[str] = (
        "Student's interval over the clusters that were drawn."
    )
    single_draws: ClassVar[bool] = False
    needs_clusters: ClassVar[bool] = True

    def cells(self, pool: MeasuredPool) -> OutcomeCells:
        """A cell for each cluster. Raises BadInput without clusters, or with too many."""
        if pool.none.cluster is None:
            raise BadInput(f"method {self.name!r} needs clusters: name their column under pool.cluster")
        numbers = np.unique(np.concatenate(list(pool.over(_numbers))))
        if len(numbers) > MOST_CLUSTERS:
            raise too_many(f"{len(numbers):,}")
        found = profile(pool)
        return summed(pool, found, _ByCluster(found, numbers), len(numbers)).cells

    def share(self, state: SampleState) -> Floats:
        """Half even, half by the root of the mean spread."""
        root = np.sqrt(state.cells.spread @ state.stack.weight)
        mean = max(float(root[state.cells.relevant].mean()) if state.cells.relevant.any() else 1.0, 1e-12)
        return np.broadcast_to((1 - EVEN) * root / mean + EVEN, state.labelled.shape)

    def meant(self, state: SampleState, labels: int) -> Floats:
        """All items of a cluster, times its chance."""
        items = items_of(state)
        x = self.share(state) * (items > 0)
        return items * chances(x, items, np.full(len(items), float(labels)))

    def propose(self, state: SampleState, size: int) -> OutcomeDesign:
        """The rest of the clusters that are open, then others."""
        left, wanted = state.left, state.wanted.astype(np.float64)
        going_on = ((state.labelled + state.excluded) > 0) & (wanted > 0)
        begun = (going_on * wanted).sum(axis=1)
        x = np.where(going_on | (wanted <= 0), 0.0, self.share(state))
        fresh = chances(x, wanted, np.maximum(size - begun, 0.0))
        return OutcomeDesign(
            left=left, inclusion=np.where(going_on, 1.0, fresh), census=np.zeros(len(left), np.bool_)
        )

    def draw(self, design: OutcomeDesign, rng: np.random.Generator) -> Ints:
        """As many items as the design means: the last cluster goes on in the next round."""
        turn = in_turn(design.inclusion, rng)
        left = np.take_along_axis(design.left * (design.inclusion > 0), turn, axis=1)
        size = np.round((design.left * design.inclusion).sum(axis=1)).astype(np.int64)
        before = np.cumsum(left, axis=1) - left
        counts = np.zeros_like(design.left)
        np.put_along_axis(counts, turn, np.clip(size[:, None] - before, 0, left), axis=1)
        return counts

    def in_order(self, design: OutcomeDesign, size: int, rng: np.random.Generator) -> Ints:
        """Whole clusters while they fit; of one that is larger than the round, as many as fit."""
        taken: list[Ints] = []
        room = size
        for c in in_turn(design.inclusion, rng)[0].tolist():
            here = int(design.left[0, c]) if design.inclusion[0, c] > 0 else 0
            if here > room and taken:
                break
            taken.append(np.full(min(here, room), c))
            room -= min(here, room)
            if not room:
                break
        return np.concatenate(taken).astype(np.int64)

    def weights(self, state: SampleState) -> ItemWeights:
        """See OutcomeMethod; items of one cluster are not centred."""
        drawn = drawn_of(state, self.share(state))
        chance = np.take_along_axis(drawn.chance, state.cell, axis=1)[0]
        return ItemWeights(
            weight=drawn.stands[0], factor=drawn.stands[0] ** 2 * (1 - chance),
            group=np.full(state.n, -1, np.int64),
        )

    def expects(self, state: SampleState) -> Floats:
        """By the guesses as the labels weigh them."""
        weights = state.cells.first[:, None]
        if state.n:
            weights = fitted(state, drawn_of(state, self.share(state)).stands)[0]
        return np.asarray((weights * state.cells.guess).sum(axis=1) / state.cells.size[:, None])

    def estimate(self, state: SampleState, confidence: float) -> OutcomeEstimates:
        """The ratio estimate, with Student's interval over clusters."""
        exact = np.asarray(~state.wanted.any(axis=1))
        if not state.n or state.table is None:
            return nothing_yet(state.stack, exact)
        drawn, relevant = drawn_of(state, self.share(state)), state.cells.relevant
        weights = fitted(state, drawn.stands)
        residual = residuals(state, weights, True)
        whole = (state.cells.n_items - state.excluded.sum(axis=1)).astype(np.float64)[:, None]
        guessed = state.cells.guess[relevant].sum(axis=0)[None] - state.excluded_guess
        idle = np.einsum("b,bd->d", state.cells.first, state.cells.guess[~relevant].sum(axis=0))
        off = np.einsum("rn,rnd->rd", drawn.stands, residual)
        known = state.cells.known[None] - state.excluded_known
        risk = np.concatenate([(weights * guessed).sum(axis=1) + idle + off, known], axis=1) / whole
        sizes = state.cells.known_sizes.tolist()
        slopes = state.stack.slopes(risk, sizes)
        centred = residual - off[:, None] / drawn.items.sum(axis=1)[:, None, None]
        pull = np.einsum("rnd,rqd->rnq", centred, slopes)
        error = errors_of(state, drawn, pull, risk, slopes, whole, exact)
        unbounded = bool(np.isinf(bounds_of(state.stack)).any())
        return reported(
            state.stack, risk, sizes, error, exact, confidence, pull if unbounded else None
        )
