"""Whole clusters: all items that come together are asked together, such as the answers to one prompt."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from assay.evalcore.design.round import Design
from assay.evalcore.errors import BadInput, plural
from assay.evalcore.measures.stack import Stack
from assay.evalcore.methods.any_outcome.base import OutcomeMethod
from assay.evalcore.methods.any_outcome.interval import (
    Between,
    Errors,
    bounds_of,
    enough,
    further,
    nothing_yet,
    reported,
    slopes_of_known,
)
from assay.evalcore.methods.any_outcome.measured_pool import By, MeasuredPool, profile, summed
from assay.evalcore.methods.any_outcome.reading import fitted, residuals
from assay.evalcore.methods.any_outcome.reading import sums as sums_by
from assay.evalcore.methods.any_outcome.state import (
    ItemWeights,
    OutcomeCells,
    OutcomeEstimates,
    SampleState,
    spent_on_fit,
)
from assay.evalcore.methods.method import Capabilities
from assay.evalcore.outcomes.items import Items
from assay.evalcore.types import Bools, Floats, Ints

_CHANCE_HALVINGS = 60   # of an interval that holds the scale of the chances


def cluster_chances(x: Floats, counts_for: Floats, total: Floats) -> Floats:
    """π (R, C) so that Σ counts_for·π is `total` (R,), or all of it; x (R, C), 0 where nothing can be drawn.

    counts_for (R, C): how much a cluster counts, 1 or its items.
    """
    possible = (x > 0) * counts_for
    target = np.minimum(total, possible.sum(axis=1))
    scale = np.where(x > 0, x, np.nan)
    low: Floats = np.zeros(len(x))
    high: Floats = 50.0 / np.nan_to_num(np.nanmin(np.where(np.isnan(scale), np.inf, scale), axis=1), nan=1.0)
    for _ in range(_CHANCE_HALVINGS):
        middle = (low + high) / 2
        too_few = (possible * -np.expm1(-x * middle[:, None])).sum(axis=1) < target
        low, high = np.where(too_few, middle, low), np.where(too_few, high, middle)
    chances = -np.expm1(-x * high[:, None]) * (x > 0)
    everything = target >= possible.sum(axis=1) - 1e-9
    return np.where(everything[:, None], x > 0, chances)


def in_turn(chance: Floats, rng: np.random.Generator) -> Ints:
    """(R, C) the clusters in the order in which they are drawn: those that are certain first.

    chance (R, C): as `chances` gives it, of any total; 0 puts a cluster last.
    """
    certain, never = chance >= 1, chance <= 0
    rate = -np.log1p(-np.where(certain | never, 0.5, chance))
    time = rng.standard_exponential(chance.shape) / rate
    return np.argsort(np.where(certain, -1 / time, np.where(never, np.inf, time)), axis=1, kind="stable")


LEAST_DF_OF_CLUSTERS = 1.0   # degrees of freedom, clusters less one, however few clusters there are


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Drawn:
    """The clusters of a state: the open ones are those of which an item has an outcome.

    What whole clusters say: how many items each stands for, and the errors of their ratio estimate.

    The formulas are in `method`.
    """

    open: Bools          # (R, C)
    items: Floats        # (R, C) N_j of those that can matter, without undecided ones
    chance: Floats       # (R, C) π
    stands: Floats       # (R, n) the items that each labelled one stands for: they add up to Σ N_j
    within: Floats       # (R, n) the items of its own cluster that it stands for: N_j/n_j

    @property
    def clusters(self) -> Ints:
        """The number m of clusters that are open, (R, 1): those of which at least one item has an outcome. R
        counts the repeats. Clusters without any outcome are not counted."""
        return np.asarray(self.open.sum(axis=1, keepdims=True))


def cluster_sizes(state: SampleState) -> Floats:
    """N_j (R, C) of the items that can matter, without undecided ones."""
    return np.asarray((state.cells.size - state.excluded) * state.cells.relevant, np.float64)


def drawn_of(state: SampleState, share: Floats) -> Drawn:
    """Of a state with a label; share (R, C): the measures that chances are in proportion to. R counts repeats
    and C clusters."""
    items, opened = cluster_sizes(state), (state.by_cell > 0) & state.cells.relevant
    x = share * (items > 0)
    chance = cluster_chances(x, (items > 0).astype(np.float64), opened.sum(axis=1).astype(np.float64))
    per_item = items / np.maximum(state.by_cell, 1)
    raw = np.take_along_axis(per_item / np.where(chance > 0, chance, 1.0), state.cell, axis=1)
    stands = raw * (items.sum(axis=1) / raw.sum(axis=1))[:, None]
    return Drawn(
        open=opened, items=items, chance=chance, stands=stands,
        within=np.take_along_axis(per_item, state.cell, axis=1),
    )


def errors_of(
    state: SampleState, drawn: Drawn, pull: Floats, risk: Floats, slopes: Floats, n_items: Floats,
    exact: Bools,
) -> Errors:
    """V and B, with their degrees of freedom; pull (R, n, Q): J·(e - ē). Between clusters and within them; R
    counts repeats, n labels and Q numbers."""
    m, c = drawn.clusters, state.by_cell.shape[1]
    few = m / np.maximum(m - 1, 1)
    u = sums_by(state.cell, drawn.stands[..., None] * pull, c) / n_items[..., None]
    part = state.by_cell / np.maximum(drawn.items, 1.0)
    square = (1 - drawn.chance * part)[..., None] * u**2 * few[..., None]
    spent = spent_on_fit(state.stack, state.cells)
    variance = square.sum(axis=1) * (m / np.maximum(m - spent, m / 2))
    square_of_sum, fourth, largest_df = (
        square.sum(axis=1) ** 2, (square**2).sum(axis=1), np.maximum(m - 1.0, LEAST_DF_OF_CLUSTERS),
    )
    excess = np.maximum(fourth - square_of_sum / np.maximum(m, 1), 2 * square_of_sum / largest_df)
    df = np.where(excess > 0, 2 * square_of_sum / np.where(excess > 0, excess, 1.0), largest_df)
    skew = (u**3).sum(axis=1) / np.maximum((u**2).sum(axis=1), 1e-200) ** 1.5
    between = _between(state, drawn, risk, slopes, n_items)
    # both parts are estimated from the same clusters: one knows no more than the other
    df = np.minimum(
        np.clip(df, LEAST_DF_OF_CLUSTERS, largest_df), np.maximum(between.df, LEAST_DF_OF_CLUSTERS)
    )
    return Errors(
        variance=np.where(exact[:, None], 0.0, variance) + between.variance, df=df,
        skew=np.where(exact[:, None], 0.0, skew), parts=between.parts,
        unknown=(~exact[:, None] & ~enough(state)) | between.alone,
    )


def _between(
    state: SampleState, drawn: Drawn, risk: Floats, slopes: Floats, n_items: Floats
) -> Between:
    """B: Σ_j S_j²/π_j over the clusters drawn, S_j the sum of J·(ℓ - R) over the cluster."""
    if state.table is None:
        raise ValueError("there are no labels")
    d, c, m = state.stack.size, state.by_cell.shape[1], drawn.clusters
    if state.table.cluster is None:      # of the pool alone
        nothing = np.zeros((len(m), slopes.shape[1]))
        return Between(variance=nothing, df=np.full(m.shape, np.inf), alone=m < 2, parts=nothing[:, None])
    z = np.einsum("rnd,rqd->rnq", state.table.loss[state.item] - risk[:, None, :d], slopes)
    z = z + np.einsum("rnd,rqd->rnq", state.table.known[state.item] - risk[:, None, d:],
                      slopes_of_known(state.stack, state.cells.known_sizes.tolist(), risk))
    total = sums_by(state.cell, drawn.within[..., None] * z, c)                       # S_j
    cluster_weight = sums_by(state.cell, (drawn.stands / drawn.within)[..., None], c) / \
        np.maximum(state.by_cell, 1)[..., None]                                      # 1/π_j
    counted = drawn.open * drawn.items
    size = counted.sum(axis=1) ** 2 / np.maximum((counted**2).sum(axis=1), 1e-12)
    variance = (cluster_weight * total**2).sum(axis=1) * m / np.maximum(m - 1, 1) / n_items**2
    return Between(
        variance=variance, df=np.maximum(size - 1, 0.5)[:, None], alone=m < 2,
        parts=cluster_weight * total / n_items[..., None],
    )


MOST_CLUSTERS = 5_000   # each is a cell of the record
EVEN = 0.5              # of the chances


def too_many(number: str) -> BadInput:
    """The error, to be raised, for a pool of more than MOST_CLUSTERS clusters; the message has the number as
    text, and says that intervals are over clusters without this method too.

    Whole clusters: all items that come together are asked together, such as the answers to one prompt.

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
    return BadInput(
        f"method {WholeClusters.name!r} takes up to {plural(MOST_CLUSTERS, 'cluster')}, and the pool has "
        f"{number}; leave `method` out: intervals are over clusters then too"
    )


def _numbers(items: Items) -> Floats:
    """The numbers of the clusters of some items, each once."""
    return np.unique(np.zeros(0) if items.cluster is None else np.asarray(items.cluster)[:, 0])


@dataclass(frozen=True, slots=True, eq=False)
class _ByCluster:
    profile_of: By
    numbers: Floats    # (C,) of the clusters, rising

    def __call__(self, stack: Stack, items: Items) -> tuple[Ints, Bools]:
        cluster = np.zeros(len(items)) if items.cluster is None else np.asarray(items.cluster)[:, 0]
        return np.searchsorted(self.numbers, cluster), self.profile_of(stack, items).relevant


@dataclass(frozen=True, slots=True)
class WholeClusters(OutcomeMethod):
    """The method `whole-clusters`: a cell is a cluster, all its items are asked together, and the estimate
    is a ratio over clusters with Student's interval."""

    sources: ClassVar[tuple[str, ...]] = ("cochran1977",)
    name: ClassVar[str] = "whole-clusters"
    says: ClassVar[str] = "Whole clusters of items that come together, one after the other."
    interval: ClassVar[str] = "ratio"
    interval_note: ClassVar[str] = (
        "Student's interval over the clusters that were drawn."
    )
    capabilities: ClassVar[Capabilities] = replace(
        OutcomeMethod.capabilities, single_draws=False, needs_clusters=True, weighs_guesses=True,
        no_weights="",
    )

    def cells(self, pool: MeasuredPool) -> OutcomeCells:
        """A cell for each cluster. Raises BadInput without clusters, or with too many."""
        if pool.none.cluster is None:
            raise BadInput(f"method {self.name!r} needs clusters: name their column under pool.cluster")
        numbers = np.unique(np.concatenate(list(pool.over(_numbers))))
        if len(numbers) > MOST_CLUSTERS:
            raise too_many(f"{len(numbers):,}")
        pool_profile = profile(pool)
        return summed(pool, pool_profile, _ByCluster(pool_profile, numbers), len(numbers)).cells

    def share(self, state: SampleState) -> Floats:
        """How much one item of each cluster should be asked for, (R, C): a share EVEN for all alike, the
        remainder by the root of the guessed mean spread of the cluster's items."""
        root = np.sqrt(state.cells.spread @ state.stack.weight)
        mean = max(float(root[state.cells.relevant].mean()) if state.cells.relevant.any() else 1.0, 1e-12)
        return np.broadcast_to((1 - EVEN) * root / mean + EVEN, state.by_cell.shape)

    def allocation(self, state: SampleState, labels: int) -> Floats:
        """How many of so many labels are meant for each cluster, (R, C): all its items, times the chance of
        the cluster to be drawn."""
        items = cluster_sizes(state)
        x = self.share(state) * (items > 0)
        return items * cluster_chances(x, items, np.full(len(items), float(labels)))

    def propose(self, state: SampleState, size: Ints) -> Design:
        """The design of the next round: clusters that are open already are finished for certain, and with
        the labels that are left others are begun, each with its chance."""
        open_items, eligible = state.left, state.wanted.astype(np.float64)
        going_on = ((state.by_cell + state.excluded) > 0) & (eligible > 0)
        begun = (going_on * eligible).sum(axis=1)
        x = np.where(going_on | (eligible <= 0), 0.0, self.share(state))
        fresh = cluster_chances(x, eligible, np.maximum(size - begun, 0.0))
        return Design(
            left=open_items, unlabelled=np.where(going_on, 1.0, fresh),
            census=np.zeros(len(open_items), np.bool_)
        )

    def numbers_drawn(self, design: Design, rng: np.random.Generator) -> Ints:
        """As many items as the design means: the last cluster goes on in the next round. (R,) for R repeats.
        """
        turn = in_turn(design.unlabelled, rng)
        open_in_turn = np.take_along_axis(design.left * (design.unlabelled > 0), turn, axis=1)
        size = np.round((design.left * design.unlabelled).sum(axis=1)).astype(np.int64)
        before = np.cumsum(open_in_turn, axis=1) - open_in_turn
        counts = np.zeros_like(design.left)
        np.put_along_axis(counts, turn, np.clip(size[:, None] - before, 0, open_in_turn), axis=1)
        return counts

    def in_order(self, design: Design, size: int, rng: np.random.Generator) -> Ints:
        """Whole clusters while they fit; of one that is larger than the round, as many as fit. Counts of new
        items by cluster. A cluster that would not fit ends the round, unless it is the first."""
        taken: list[Ints] = []
        room = size
        for c in in_turn(design.unlabelled, rng)[0].tolist():
            items_of_cluster = int(design.left[0, c]) if design.unlabelled[0, c] > 0 else 0
            if items_of_cluster > room and taken:
                break
            taken.append(np.full(min(items_of_cluster, room), c))
            room -= min(items_of_cluster, room)
            if not room:
                break
        return np.concatenate(taken).astype(np.int64)

    def weights(self, state: SampleState) -> ItemWeights:
        """What each labelled item stands for (one repeat), with the factor of its squared error by the
        chance of its cluster. No item shares a group with others, so errors are not centred."""
        drawn = drawn_of(state, self.share(state))
        chance = np.take_along_axis(drawn.chance, state.cell, axis=1)[0]
        return ItemWeights(
            weight=drawn.stands[0], factor=drawn.stands[0] ** 2 * (1 - chance),
            group=np.full(state.n, -1, np.int64),
        )

    def expects(self, state: SampleState) -> Floats:
        """The loss that the guesses, as the labels weigh them, make one expect of an item of each cluster,
        (C, D) for one repeat. C counts clusters and D components; before any label the guesses have their
        first weights."""
        weights = state.cells.first[:, None]
        if state.n:
            weights = fitted(state, drawn_of(state, self.share(state)).stands)[0]
        return np.asarray((weights * state.cells.guess).sum(axis=1) / state.cells.size[:, None])

    def estimate(self, state: SampleState, confidence: float) -> OutcomeEstimates:
        """The ratio estimate of every number over the clusters that were drawn, corrected by the guesses,
        with Student's interval over clusters. NaN before the first label."""
        exact = np.asarray(~state.wanted.any(axis=1))
        if not state.n or state.table is None:
            return nothing_yet(state.stack, exact)
        drawn, relevant = drawn_of(state, self.share(state)), state.cells.relevant
        weights = fitted(state, drawn.stands)
        residual = residuals(state, weights, True)
        n_items = (state.cells.n_items - state.excluded.sum(axis=1)).astype(np.float64)[:, None]
        guessed = state.cells.guess[relevant].sum(axis=0)[None] - state.excluded_guess
        idle = np.einsum("b,bd->d", state.cells.first, state.cells.guess[~relevant].sum(axis=0))
        off = np.einsum("rn,rnd->rd", drawn.stands, residual)
        item_weights, weight = np.ones((1, 1)), drawn.items.sum(axis=1)
        if state.stack.weights is not None:     # per weight, whose sum over the pool is known
            item_weights = state.table.known[state.item, -1]
            weight = state.cells.told[relevant, -1].sum() - state.excluded_known[:, -1]
            off = off * (weight / np.maximum((drawn.stands * item_weights).sum(axis=1), 1e-300))[:, None]
        known_sums = state.cells.known[None] - state.excluded_known
        risk = np.concatenate([(weights * guessed).sum(axis=1) + idle + off, known_sums], axis=1) / n_items
        sizes = state.cells.known_sizes.tolist()
        slopes = state.stack.slopes(risk, sizes)
        centred = (
            residual - item_weights[..., None] * off[:, None] / np.maximum(weight, 1e-300)[:, None, None]
        )
        pull = np.einsum("rnd,rqd->rnq", centred, slopes)
        error = errors_of(state, drawn, pull, risk, slopes, n_items, exact)
        unbounded = np.asarray(np.isinf(bounds_of(state.stack)).any(axis=0))
        if unbounded.any():
            error = replace(error, out=further(pull, unbounded))
        return reported(state.stack, risk, sizes, error, exact, confidence)
