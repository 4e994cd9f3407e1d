"""The leaves of a Dirichlet tree of K classes: a pool cut along a line on which neighbours are alike.

Marchant & Rubinstein (2021), section 5.2 and appendix I: strata of a score, cut at equal steps of cumulative
√frequency, are the leaves of a complete tree in their order.  Here is what the score is.

Classes that no measure tells apart, whatever is predicted, are one to the tree: for the F1 of one class there
are that class and the rest, and the tree is that of two classes.  Of what is left (`lump`),

    two      the supplied score of two classes, or else the probability of the one that is asked for (without
             one, of the one expected to be rarer)
    more     the classes that are predicted, one after the other, and in each the probability of the predicted
             class, falling in one and rising in the next: where two meet, both are in doubt or both are sure.
             The order of the classes is that of an average linkage of their mean probabilities, so neighbours
             are often taken for each other.  Predictions with the same mean probabilities are one: of two
             classes dealt out at random, the probability of either counts

Without a prediction the likeliest class stands for it, and what several systems predict together for one
prediction.  Nothing depends on the order in which classes are named.  A cut by features has leaves of its
own.  Items of a leaf that are predicted otherwise, or whose label cannot matter, are cells of their own, as
with two classes.

Of each cell is kept (`OutcomeCells`)

    slot      (C,)       its leaf
    chance    (C, K)     the mean probability of each class, as supplied, or as guessed from predictions
    by_class  (3, n)     the mean loss of its items if all of them were of class y, without its zeros: rows
                         c·K + y, component, value.  Counted from a right prediction's loss, with the
                         components that the pool tells; from up to SAMPLED items of a cell
"""

from dataclasses import dataclass, replace

import numpy as np
import scipy

from assay.evalcore.errors import BadInput
from assay.evalcore.measures.stack import Stack
from assay.evalcore.methods.any_outcome.cut import BetweenEdges, Stratum
from assay.evalcore.methods.any_outcome.measured_pool import (
    Assign,
    Beforehand,
    MeasuredPool,
    Summed,
    profile,
    summed,
)
from assay.evalcore.methods.any_outcome.state import OutcomeCells
from assay.evalcore.methods.dirichlet import Leaves, lumped
from assay.evalcore.outcomes.base import OutcomeKind
from assay.evalcore.outcomes.items import Items, joined_items
from assay.evalcore.pool.partition import PartitionKind, cut_scores
from assay.evalcore.pool.strata import csf_edges, freedman_diaconis
from assay.evalcore.reproducible import first_largest, steady
from assay.evalcore.types import Bools, Floats, Ints

LEAST_BINS, MOST_BINS = 16, 4096   # of the histogram of a group, where there are more than two classes
SAME_LEAF_DISTANCE = 1e-4   # squared Hellinger distance of mean probabilities that are taken to be the same
SAMPLED = 8         # items of a cell that its losses are taken from
_NUMBERS = 10**8    # of those losses, at most
_PULLS_AT_ONCE = 1 << 18   # pulls that are compared


def leaves(
    pool: MeasuredPool, partition: PartitionKind, n_slots: int, stratum: Stratum | None = None
) -> OutcomeCells:
    """The cells of a pool in at most n_slots leaves, in a few passes.

    stratum: the leaf of an item, where the cut is not one of the line.  Raises BadInput where outcomes are
    not classes, and as `profile`.
    """
    kind = pool.stack.kind
    if not kind.one_of_parts:
        raise BadInput(f"a Dirichlet tree is a model of classes, and these outcomes are {kind.name}")
    line = _line(pool, profile(pool))
    stratum = stratum or BetweenEdges(_edges(pool, line, partition, n_slots), line)
    by = _Key(line, stratum, split=2 * len(line.place) <= n_slots)
    keys = np.unique(np.concatenate(list(pool.measured(by.occupied))))
    made = summed(pool, line.pool_profile, _Placed(by, keys), len(keys), line.chances)
    return replace(
        made.cells, chance=made.further / made.cells.size[:, None], by_class=_by_class(pool, made),
        slot=keys // by.each, lump=line.lump,
    )


def _edges(pool: MeasuredPool, line: "_Line", partition: PartitionKind, n_slots: int) -> Floats:
    ordered = pool.ordered(line)
    if line.two or partition != "csf":
        return cut_scores(partition, ordered, n_slots)
    # every group has its own part of the line, of as many bins as the histogram rule gives one score
    bins = max(LEAST_BINS, freedman_diaconis(pool.ordered(replace(line, within=True))))
    return csf_edges(ordered, n_slots, min(bins, MOST_BINS) * (int(line.rank.max()) + 1))


def expected_phi(kind: OutcomeKind, items: Items, guess_weights: Floats) -> Floats:
    """p(y|x) (n, K) before any label: as supplied; from predictions and judges where nothing is. n counts
    items and K classes. Supplied rows are scaled to add up to 1, and no chance is below 1e-9."""
    if items.probability is not None:
        total = items.probability.sum(axis=1, keepdims=True)
        return np.asarray(np.maximum(items.probability / total, 1e-9))
    guesses = kind.guesses(items)
    return np.asarray(
        np.einsum("b,nbp->np", guess_weights[: guesses.shape[1]] / guess_weights.sum(), guesses)
    )


def evidence_by_leaf(
    kind: OutcomeKind, cells: OutcomeCells, items: Items, code: Floats, weight: Floats
) -> Floats:
    """Pseudo-labels (C, K) of cells by class, of n items of other pools; code, weight (n,).

    Each goes to the cell of its prediction whose mean probabilities are nearest (Hellinger); where nothing is
    predicted so, to the nearest of all.  Raises BadInput for cells of another method.
    """
    if cells.chance is None:
        raise BadInput("the pool was not cut into leaves, and takes no earlier labels; freeze it anew")
    pseudo_labels = np.zeros(cells.chance.shape)
    root = np.sqrt(cells.chance / cells.chance.sum(axis=1, keepdims=True))
    guess_weights = kind.first_weights(items)
    for rows, piece in items.chunks(1 + _PULLS_AT_ONCE // len(root)):
        p = expected_phi(kind, piece, guess_weights)
        alike = steady(np.sqrt(p / p.sum(axis=1, keepdims=True)) @ root.T)     # (n, C)
        if piece.systems and cells.said.shape[1]:
            cell_support = (cells.said[:, 0] > 0).T.astype(np.float64)
            same_prediction = kind.prediction_support(piece.prediction[:, 0]) @ cell_support > 0
            alike = np.where(same_prediction | ~same_prediction.any(axis=1, keepdims=True), alike, -1.0)
        np.add.at(pseudo_labels, (first_largest(alike), code[rows].astype(np.int64)), weight[rows])
    return pseudo_labels


def lump_of_each_class(pool: MeasuredPool) -> Ints:
    """(K,) the number of the lump that each class is in: classes of one lump pull alike at every number.

    The pulls are J·ℓ with J at outcomes that are all alike, where no slope is nothing by chance.  Lumps are
    numbered in the order of the names of their classes.  Where nothing pulls, every class is its own.
    """
    stack, k = pool.stack, pool.stack.kind.width
    total = sum(pool.measured(_even_risk))
    slopes = stack.slopes(np.asarray(total / len(pool)), stack.known_sizes(pool.none))
    order = np.argsort(np.array(stack.kind.parts), kind="stable")
    same: Ints = np.zeros(k, np.int64)
    for slopes_by_class in pool.measured(_Alike(slopes, order)):
        same = _split(same, slopes_by_class[None])
    lump = np.empty(k, np.int64)
    lump[order] = same if same.max() else np.arange(k)
    return lump


def _split(same: Ints, columns: Floats | Ints) -> Ints:
    """(K,) the lumps `same` (K,), divided where the columns (., K) of their classes differ.

    Lumps are numbered from 0 in the order of their first classes.
    """
    rows = np.ascontiguousarray(columns.T) + 0   # -0.0 is 0.0
    lump_numbers: dict[tuple[int, bytes], int] = {}
    keys = [(lump, row.tobytes()) for lump, row in zip(same.tolist(), rows, strict=True)]
    return np.array([lump_numbers.setdefault(key, len(lump_numbers)) for key in keys], np.int64)


def _even_risk(stack: Stack, items: Items) -> Floats:
    """(D + D_k,) sums of the losses of outcomes that are all alike, and of those that are known."""
    k = stack.kind.width
    total: Floats = np.zeros(stack.size + sum(stack.known_sizes(items)))
    for _, piece in items.chunks():
        loss = stack.item_losses(piece, np.full((len(piece), k), 1 / k))
        total = total + np.concatenate([loss, stack.known(piece)], axis=1).sum(axis=0)
    return total


@dataclass(frozen=True, slots=True, eq=False)
class _Alike:
    """Which classes pull alike at the items of a shard."""

    slopes: Floats
    order: Ints     # of the classes

    def __call__(self, stack: Stack, items: Items) -> Ints:
        k = stack.kind.width
        same: Ints = np.zeros(k, np.int64)
        for _, piece in items.chunks(1 + _PULLS_AT_ONCE // k):
            for slope in self.slopes:
                same = _split(same, steady(_pulls(stack, piece, slope)[:, self.order]))
                if same.max() == k - 1:
                    return same
        return same


def _pulls(stack: Stack, items: Items, slope: Floats) -> Floats:
    """(n, K) J·ℓ by class, up to what is the same for all classes; slope (D,)."""
    k, start = stack.kind.width, 0
    pulls: Floats = np.zeros((len(items), k))
    for loss in stack.losses:
        part = slope[start : start + loss.size]
        start += loss.size
        if not part.any():
            continue
        class_pulls = loss.pull(items, part)
        if class_pulls is None:
            class_pulls = np.stack([loss.if_all(items, y) @ part for y in range(k)], axis=1)
        pulls = pulls + class_pulls
    return pulls


@dataclass(frozen=True, slots=True, eq=False)
class _Line:
    """Where an item lies, (n,): neighbours are alike."""

    pool_profile: Beforehand
    lump: Ints      # (K,)
    place: Ints     # (G,) of each prediction among all: of a lump, or of what systems say together
    rank: Ints      # (G,) of its group on the line
    scored_lump: int = 0  # of two lumps, the one whose probability is the score
    within: bool = False   # where in its group an item lies

    @property
    def two(self) -> bool:
        """Whether there are two lumps, and so no groups."""
        return int(self.lump.max()) == 1

    def __call__(self, stack: Stack, items: Items) -> Floats:
        place = np.empty(len(items))
        joint = self.group(stack, items) if items.systems > 1 else None
        for rows, piece in items.chunks():
            p = self._p(stack, piece)
            if self.two:
                supplied = piece.score if len(self.lump) == 2 else None
                place[rows] = p[:, self.scored_lump] if supplied is None else supplied[:, 0]
                continue
            predicted_lump = _predicted(self.lump, piece, p)
            if joint is None:
                rank = self.rank[predicted_lump]
                likelihood = np.take_along_axis(lumped(p, self.rank), rank[:, None], axis=1)[:, 0]
            else:
                rank, likelihood = (
                    self.rank[joint[rows]],
                    np.take_along_axis(p, predicted_lump[:, None], axis=1)[:, 0],
                )
            likelihood = np.clip(likelihood, 0.0, 1 - 1e-9)
            place[rows] = np.where(rank % 2, likelihood, 1 - 1e-9 - likelihood) + (0 if self.within else rank)
        return steady(place)

    def group(self, stack: Stack, items: Items) -> Ints:
        """(n,) what is predicted."""
        if items.systems > 1:
            return self.pool_profile(stack, items).group
        group = np.empty(len(items), np.int64)
        for rows, piece in items.chunks():
            group[rows] = _predicted(self.lump, piece, self._p(stack, piece))
        return group

    def totals(self, stack: Stack, items: Items) -> Floats:
        """(G, 1 + lumps) items by group, and sums of their probabilities."""
        lumps = int(self.lump.max()) + 1
        total = np.zeros((lumps, 1 + lumps))
        for _, piece in items.chunks():
            p = self._p(stack, piece)
            np.add.at(total, _predicted(self.lump, piece, p), np.insert(p, 0, 1.0, axis=1))
        return total

    def chances(self, stack: Stack, items: Items, cell: Ints, n_cells: int) -> Floats:
        """(C, K) sums over the cells of the chance of each class."""
        chance = np.zeros((n_cells, stack.kind.width))
        for rows, piece in items.chunks():
            n = len(piece)
            member = scipy.sparse.csr_array((np.ones(n), (cell[rows], np.arange(n))), shape=(n_cells, n))
            chance += np.asarray(member @ expected_phi(stack.kind, piece, self.pool_profile.guess_weights))
        return chance

    def _p(self, stack: Stack, items: Items) -> Floats:
        """(n, lumps)."""
        return lumped(expected_phi(stack.kind, items, self.pool_profile.guess_weights), self.lump)


def _predicted(lump: Ints, items: Items, p: Floats) -> Ints:
    """(n,) the lump of what the first system predicts; the likeliest where nothing is predicted."""
    return lump[items.prediction[:, 0].astype(np.int64)] if items.systems else first_largest(p)


def _line(pool: MeasuredPool, pool_profile: Beforehand) -> _Line:
    lump, kind = lump_of_each_class(pool), pool.stack.kind
    lumps = int(lump.max()) + 1
    line = _Line(pool_profile, lump, np.arange(lumps), np.arange(lumps))
    totals = np.asarray(sum(pool.measured(line.totals)))
    if lumps > 2:
        place, rank = _chained(totals)
        line = replace(line, place=place, rank=rank)
    elif kind.counted is not None:
        line = replace(line, scored_lump=int(lump[kind.parts.index(kind.counted)]))
    else:
        line = replace(line, scored_lump=1 - int(first_largest(totals[:, 1:].sum(axis=0))))
    if pool.none.systems > 1:   # they are put in order already
        every = np.arange(pool_profile.places.ranked)
        return replace(line, place=every, rank=every)
    return (
        line
        if lumps > 2
        else replace(line, place=np.array([1, 0]) if line.scored_lump == 0 else np.arange(2))
    )


def _chained(totals: Floats) -> tuple[Ints, Ints]:
    """(G,) the place of each prediction, whose neighbours have mean probabilities alike, and (G,) its group:
    those of the same mean probabilities are one.  totals (G, 1 + G): items, and sums of probabilities."""
    n, mean = totals[:, 0], totals[:, 1:] / np.maximum(totals[:, :1], 1.0)
    by_size = np.argsort(-n, kind="stable")
    predicted: Ints = by_size[: np.count_nonzero(n)]
    group: Ints = np.arange(len(predicted))
    if len(predicted) > 2:
        root = np.sqrt(mean[predicted])
        apart = np.round(np.maximum(1 - root @ root.T, 0.0), 10)   # Hellinger
        np.fill_diagonal(apart, 0.0)
        tree = scipy.cluster.hierarchy.linkage(
            scipy.spatial.distance.squareform(apart, checks=False), "average", optimal_ordering=True
        )
        order = np.asarray(scipy.cluster.hierarchy.leaves_list(tree), np.int64)
        order = order if order[0] < order[-1] else order[::-1]
        predicted = predicted[order]
        same = np.asarray(scipy.cluster.hierarchy.fcluster(tree, SAME_LEAF_DISTANCE, "distance"), np.int64)[
            order
        ]
        if same.max() > 1:
            group = np.cumsum(np.diff(same, prepend=same[0]) != 0)
    place, rank = np.empty(len(n), np.int64), np.empty(len(n), np.int64)
    unseen = by_size[len(predicted) :]
    place[np.concatenate([predicted, unseen])] = np.arange(len(n))
    rank[predicted], rank[unseen] = group, group[-1] + 1 + np.arange(len(unseen))
    return place, rank


@dataclass(frozen=True, slots=True, eq=False)
class _Key:
    """A number for the leaf, the prediction, and whether the label matters."""

    line: _Line
    leaf: Stratum
    split: bool     # items of a leaf that are predicted otherwise are told apart

    @property
    def each(self) -> int:
        """How many keys a leaf has."""
        return 2 * len(self.line.place)

    def __call__(self, stack: Stack, items: Items) -> tuple[Ints, Bools]:
        relevant = self.line.pool_profile(stack, items).relevant
        key = self.leaf(stack, items) * self.each + ~relevant
        if self.split:
            key = key + 2 * self.line.place[self.line.group(stack, items)]
        return key, relevant

    def occupied(self, stack: Stack, items: Items) -> Ints:
        """The keys of a shard."""
        return np.unique(self(stack, items)[0])


@dataclass(frozen=True, slots=True, eq=False)
class _Placed:
    by: _Key
    keys: Ints

    def __call__(self, stack: Stack, items: Items) -> tuple[Ints, Bools]:
        key, relevant = self.by(stack, items)
        return np.searchsorted(self.keys, key), relevant


@dataclass(frozen=True, slots=True, eq=False)
class _Pick:
    """Some items of the cells of a shard."""

    assign: Assign
    offset: Ints     # (C,) items of each cell in the shards before
    cell: Ints
    rank: Ints      # their places in it, over all shards, by cell

    def __call__(self, stack: Stack, items: Items) -> tuple[Ints, Items]:
        """Their cells, and the items themselves."""
        cell, _ = self.assign(stack, items)
        order, size = np.argsort(cell, kind="stable"), np.bincount(cell, minlength=len(self.offset))
        within = self.rank - self.offset[self.cell]
        picked = (within >= 0) & (within < size[self.cell])
        places = (np.cumsum(size) - size)[self.cell[picked]] + within[picked]
        return self.cell[picked], items.at(order[places])


def _by_class(pool: MeasuredPool, made: Summed) -> Floats:
    stack, size = pool.stack, made.cells.size
    k, n_cells = stack.kind.width, len(size)
    per_cell = int(np.clip(_NUMBERS // max(n_cells * k * stack.size, 1), 1, SAMPLED))
    taken = np.minimum(size, per_cell)
    cell = np.repeat(np.arange(n_cells), taken)
    within = np.arange(taken.sum()) - np.repeat(np.cumsum(taken) - taken, taken)
    rank = within * size[cell] // taken[cell]
    before = np.cumsum(made.by_shard, axis=1) - made.by_shard
    picked = list(pool.each([_Pick(made.assign, offset, cell, rank) for offset in before.T]))
    of = np.concatenate([cell for cell, _ in picked])
    order = np.argsort(of, kind="stable")   # by cell, then by row
    sample, of = joined_items([items for _, items in picked]).at(order), of[order]
    mean = scipy.sparse.csr_array((1 / taken[of], (of, np.arange(len(of)))), shape=(n_cells, len(of)))
    known_parts, parts = stack.known(sample), []
    for y in range(k):
        loss = np.concatenate([stack.if_all(sample, y) - stack.perfect, known_parts], axis=1)
        sums = (mean @ scipy.sparse.csr_array(loss)).tocoo()
        parts.append(np.stack([sums.coords[0] * k + y, sums.coords[1], sums.data]))
    return np.asarray(np.concatenate(parts, axis=1), np.float64)


def leaves_of(cells: OutcomeCells, n_leaves: int) -> Leaves:
    """The cells as leaves of a Dirichlet tree: the leaf, the size and the mean probabilities of each cell,
    and which classes are one to the tree. Raises ValueError for cells that were not cut by
    `dirichlet_leaves`."""
    if cells.slot is None or cells.chance is None or cells.lump is None:
        raise ValueError("these cells are not the leaves of a tree")
    chance = np.maximum(cells.chance, 1e-12)
    return Leaves(slot=cells.slot, size=cells.size, chance=chance, n_slots=n_leaves, lump=cells.lump)


def losses_by_class(cells: OutcomeCells, classes: int, width: int) -> "scipy.sparse.csr_array":
    """The mean loss of each cell's items if all of them were of one class, as a sparse matrix (C·K, D′): row
    c·K + y for cell c and class y, a column for each component."""
    row, column, value = np.zeros((3, 0)) if cells.by_class is None else cells.by_class
    at = (row.astype(np.int64), column.astype(np.int64))
    return scipy.sparse.csr_array((value, at), shape=(cells.n_cells * classes, width))
