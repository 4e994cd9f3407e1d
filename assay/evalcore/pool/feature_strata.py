"""Strata from features instead of scores, hung on a complete tree.

With features, items that are alike may share a stratum although their scores differ.  Both cuts give every
item a leaf of a complete tree of the branching factor and depth asked for, so that a Dirichlet tree's inner
nodes are the inner nodes of the partition:

    leaf = Σ_level branch · branching^(depth - 1 - level)

Leaves may be empty: ties, and groups with fewer items than branches, do not split.  `cells_of` makes cells of
leaves and predictions; methods treat them like cells cut by score.

A cut is grown from some items and then gives any item its leaf: a pool too large for one process is cut as
a sample of it says.  Any cut is valid: estimates are of the whole pool whatever its strata are.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import scipy

from assay.evalcore.errors import BadInput, needs
from assay.evalcore.pool.strata import Cells, CellSums, keys_of
from assay.evalcore.reproducible import first_largest
from assay.evalcore.types import Array, Bools, Floats, Ints

_MICRO = 512         # small clusters that stand for the items when a dendrogram is built
_MOST_LEAVES = 65_536   # of the tree of cuts
SAMPLE = 1 << 20     # items, or a few more, that a cut is grown from: all of a pool of one shard


class FeatureCut(Protocol):
    """A cut by features that was grown from some items: it gives any item, by its features, a leaf of a
    complete tree."""

    def leaves(self, features: Floats) -> Ints:
        """The leaf (n,) of each item; features (n, D). Raises BadInput where they are no finite numbers.
        Leaves are counted from 0, and n counts the items."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scale:
    """Puts features on the scale of their standard deviations."""

    mean: Floats      # (D,)
    spread: Floats    # (D,)

    @staticmethod
    def from_features(features: Floats) -> "_Scale":
        spread = features.std(axis=0)
        return _Scale(mean=features.mean(axis=0), spread=np.where(spread > 0, spread, 1.0))

    def scaled(self, features: Floats) -> Floats:
        return np.asarray((features - self.mean) / self.spread)


@dataclass(frozen=True, slots=True, kw_only=True)
class _KdTree:
    """Of each level, the nodes that are cut: on which feature, and where."""

    scale: _Scale
    branching: int
    levels: Sequence[Mapping[int, tuple[int, Floats]]]

    def leaves(self, features: Floats) -> Ints:
        features = self.scale.scaled(_finite(features))
        leaf: Ints = np.zeros(len(features), np.int64)
        for level in self.levels:
            branch = np.zeros(len(features), np.int64)
            for node, rows in _rows_by(leaf):
                if node in level:
                    feature, cuts = level[node]
                    branch[rows] = np.searchsorted(cuts, features[rows, feature], side="right")
            leaf = leaf * self.branching + branch
        return leaf


def kd_tree(features: Floats, *, branching: int = 2, depth: int = 8) -> FeatureCut:
    """A k-d tree (Bentley 1975) of some items.

    features (N, D).  A node is cut on the feature with the largest variance among its items, relative to its
    variance in all of them, into `branching` groups of equal size; tied values stay together.
    Raises BadInput for features that are not finite numbers, or a tree that cannot be.
    """
    _refuse_tree(branching, depth)
    scale = _Scale.from_features(_finite(features))
    features = scale.scaled(features)
    levels: list[dict[int, tuple[int, Floats]]] = []
    leaf: Ints = np.zeros(len(features), np.int64)
    for _ in range(depth):
        level: dict[int, tuple[int, Floats]] = {}
        branch = np.zeros(len(features), np.int64)
        for node, rows in _rows_by(leaf):
            of_node = features[rows]
            # equal values may have a variance that is not 0, by rounding
            variance = np.where(of_node.max(axis=0) > of_node.min(axis=0), of_node.var(axis=0), 0.0)
            if variance.max() > 0:
                feature = int(first_largest(variance))
                values = of_node[:, feature]
                level[node] = feature, _equal_steps(np.sort(values), branching)
                branch[rows] = np.searchsorted(level[node][1], values, side="right")
        leaf = leaf * branching + branch
        levels.append(level)
    return _KdTree(scale=scale, branching=branching, levels=levels)


class _NearestCentre(Protocol):
    """A k-means of scikit-learn that was fitted."""

    def predict(self, features: Floats, /) -> Ints: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class _Clusters:
    """Small clusters, and the leaf of each."""

    scale: _Scale
    centres: Floats    # (M, D)
    leaf: Ints         # (M,)
    means: _NearestCentre | None   # that made them; None where they are all values there were

    def leaves(self, features: Floats) -> Ints:
        features = self.scale.scaled(_finite(features))
        if self.means is not None:
            return np.asarray(self.leaf[self.means.predict(features)], np.int64)
        distinct, place = np.unique(features, axis=0, return_inverse=True)
        nearest = [int(first_largest(-((self.centres - values) ** 2).sum(axis=1))) for values in distinct]
        return np.asarray(self.leaf[np.array(nearest, np.int64)[place.ravel()]], np.int64)


def clusters(features: Floats, *, branching: int = 2, depth: int = 8, seed: int = 0) -> FeatureCut:
    """A hierarchy of clusters of some items.

    features (N, D).  k-means (scikit-learn) puts the items into at most 512 small clusters; Ward's dendrogram
    of their centres (scipy) is cut into `branching` groups, and each group again, `depth` times.  An item
    has the leaf of the nearest centre.  Raises BadInput as `kd_tree` does.
    """
    _refuse_tree(branching, depth)
    scale = _Scale.from_features(_finite(features))
    features = scale.scaled(features)
    centres, means = np.unique(features, axis=0), None
    if len(centres) > _MICRO:
        with needs("scikit-learn", f"clusters of more than {_MICRO} different items"):
            from sklearn.cluster import MiniBatchKMeans

        means = MiniBatchKMeans(_MICRO, random_state=seed, n_init=1, batch_size=4096).fit(features)
        centres = means.cluster_centers_
    leaf: Ints = np.zeros(len(centres), np.int64)
    for _ in range(depth):
        branch = np.zeros(len(centres), np.int64)
        for _node, rows in _rows_by(leaf):
            branch[rows] = _ward_groups(centres[rows], branching)
        leaf = leaf * branching + branch
    return _Clusters(scale=scale, centres=centres, leaf=leaf, means=means)


def cells_of(
    leaf: Ints, n_leaves: int, scores: Floats, probabilities: Floats, predictions: Array
) -> tuple[Cells, Ints]:
    """Cells of leaves × predictions, and the cell (N,) of each item.

    leaf (N,) in 0..n_leaves - 1; scores, probabilities (N,); predictions (N,) 0 or 1.  The log density is 0.
    Raises BadInput for arrays of different lengths or a leaf beyond the tree.
    """
    if not len(leaf) == len(scores) == len(probabilities) == len(predictions) or not len(leaf):
        raise BadInput("leaves, scores, probabilities and predictions must describe one pool of items")
    if leaf.min() < 0 or leaf.max() >= n_leaves:
        raise BadInput(f"leaves must lie in 0..{n_leaves - 1}")
    key = keys_of(leaf, predictions)
    sums = CellSums.from_items(key, 2 * n_leaves, scores, probabilities)
    return sums.cells(n_leaves), sums.cell_of(key)


def _finite(features: Floats) -> Floats:
    features = np.asarray(features, np.float64)
    if features.ndim != 2 or not features.size:
        raise BadInput("features are a table of numbers: items by features, at least one of each")
    bad: Bools = ~np.isfinite(features)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise BadInput(f"feature {column} of item {row} is not a finite number; fill or drop it")
    return features


def _refuse_tree(branching: int, depth: int) -> None:
    if branching < 2 or depth < 1 or branching**depth > _MOST_LEAVES:
        raise BadInput(f"a tree of branching {branching} and depth {depth} is not one of 2 to 65,536 leaves")


def _rows_by(leaf: Ints) -> list[tuple[int, Ints]]:
    """(leaf, its rows in order) of each leaf that occurs; leaf (n,)."""
    order = np.argsort(leaf, kind="stable")
    starts = np.flatnonzero(np.diff(leaf[order], prepend=-1))
    return [(int(leaf[rows[0]]), rows) for rows in np.split(order, starts[1:])]


def _equal_steps(ordered: Floats, branching: int) -> Floats:
    """Where values (n,), rising and not all the same, are cut into groups by equal steps of rank."""
    cuts = ordered[(np.arange(1, branching) * len(ordered)) // branching]
    # where most items are tied at the bottom the cut goes above them, so that the node splits all the same
    cuts = np.where(cuts > ordered[0], cuts, ordered[np.searchsorted(ordered, ordered[0], side="right")])
    edges: Floats = np.unique(cuts)
    return edges


def _ward_groups(centres: Floats, branching: int) -> Ints:
    """Group (n,) of each centre: Ward's dendrogram cut where it has `branching` branches."""

    if len(centres) <= branching:
        return np.arange(len(centres), dtype=np.int64)
    joined = scipy.cluster.hierarchy.ward(centres)
    cluster = scipy.cluster.hierarchy.fcluster(joined, branching, criterion="maxclust")
    return np.asarray(cluster - 1, dtype=np.int64)
