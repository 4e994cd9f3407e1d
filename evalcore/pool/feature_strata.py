"""Strata from features instead of scores, hung on a complete tree.

With features, items that are alike may share a stratum although their scores differ.  Both functions give
every item a leaf of a complete tree of the branching factor and depth asked for, so that a Dirichlet tree's
inner nodes are the inner nodes of the partition:

    leaf = Σ_level branch · branching^(depth - 1 - level)

Leaves may be empty: ties, and groups with fewer items than branches, do not split.  `cells_of` makes cells of
leaves and predictions; methods treat them like cells cut by score.
"""

import numpy as np

from assay.evalcore.errors import BadInput
from assay.evalcore.pool.cell_sums import CellSums, keys_of
from assay.evalcore.pool.cells import Cells
from assay.evalcore.types import Array, Bools, Floats, Ints

_MICRO = 512         # small clusters that stand for the items when a dendrogram is built
_MOST_LEAVES = 65_536


def kd_tree_strata(features: Floats, *, branching: int = 2, depth: int = 8) -> Ints:
    """The leaf (N,) of each item in a k-d tree (Bentley 1975).

    features (N, D).  A node is cut on the feature with the largest variance among its items, relative to its
    variance in the pool, into `branching` groups of equal size; tied values stay together.
    Raises BadInput for features that are not finite numbers, or a tree that cannot be.
    """
    features = _checked(features, branching, depth)
    leaf: Ints = np.zeros(len(features), np.int64)
    for _ in range(depth):
        branch = np.zeros(len(features), np.int64)
        order = np.argsort(leaf, kind="stable")
        starts = np.flatnonzero(np.diff(leaf[order], prepend=-1))
        for rows in np.split(order, starts[1:]):
            branch[rows] = _equal_groups(features[rows], branching)
        leaf = leaf * branching + branch
    return leaf


def cluster_strata(features: Floats, *, branching: int = 2, depth: int = 8, seed: int = 0) -> Ints:
    """The leaf (N,) of each item in a hierarchy of clusters.

    features (N, D).  k-means (scikit-learn) puts the items into at most 512 small clusters; Ward's dendrogram
    of their centres (scipy) is cut into `branching` groups, and each group again, `depth` times.  Raises
    BadInput as `kd_tree_strata` does.
    """
    from sklearn.cluster import MiniBatchKMeans

    features = _checked(features, branching, depth)
    distinct = np.unique(features, axis=0)
    if len(distinct) <= _MICRO:
        centres, micro = np.unique(features, axis=0, return_inverse=True)
        micro = micro.ravel()
    else:
        means = MiniBatchKMeans(_MICRO, random_state=seed, n_init=1, batch_size=4096).fit(features)
        centres, micro = means.cluster_centers_, means.labels_
    leaf: Ints = np.zeros(len(centres), np.int64)
    for _ in range(depth):
        branch = np.zeros(len(centres), np.int64)
        for node in np.unique(leaf):
            rows = np.flatnonzero(leaf == node)
            branch[rows] = _ward_groups(centres[rows], branching)
        leaf = leaf * branching + branch
    return np.asarray(leaf[micro], dtype=np.int64)


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
    sums = CellSums.of(key, 2 * n_leaves, scores, probabilities)
    return sums.cells(n_leaves), sums.cell_of(key)


def _checked(features: Floats, branching: int, depth: int) -> Floats:
    """Features on the scale of their standard deviations."""
    features = np.asarray(features, np.float64)
    if features.ndim != 2 or not features.size:
        raise BadInput("features are a table of numbers: items by features, at least one of each")
    bad: Bools = ~np.isfinite(features)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise BadInput(f"feature {column} of item {row} is not a finite number; fill or drop it")
    if branching < 2 or depth < 1 or branching**depth > _MOST_LEAVES:
        raise BadInput(f"a tree of branching {branching} and depth {depth} is not one of 2 to 65,536 leaves")
    spread = features.std(axis=0)
    return np.asarray((features - features.mean(axis=0)) / np.where(spread > 0, spread, 1.0))


def _equal_groups(features: Floats, branching: int) -> Ints:
    """Group (n,) of each row, by equal steps of rank in the widest feature."""
    variance = features.var(axis=0)
    if not variance.max() > 0:
        return np.zeros(len(features), np.int64)
    values = features[:, int(np.argmax(variance))]
    ordered = np.sort(values)
    cuts = ordered[(np.arange(1, branching) * len(values)) // branching]
    # where most items are tied at the bottom the cut goes above them, so that the node splits all the same
    cuts = np.where(cuts > ordered[0], cuts, ordered[np.searchsorted(ordered, ordered[0], side="right")])
    return np.searchsorted(np.unique(cuts), values, side="right").astype(np.int64)


def _ward_groups(centres: Floats, branching: int) -> Ints:
    """Group (n,) of each centre: Ward's dendrogram cut where it has `branching` branches."""
    from scipy.cluster.hierarchy import fcluster, ward

    if len(centres) <= branching:
        return np.arange(len(centres), dtype=np.int64)
    return np.asarray(fcluster(ward(centres), branching, criterion="maxclust") - 1, dtype=np.int64)
