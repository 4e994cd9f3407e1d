"""How a pool is cut, by name: the `partition` setting of the stratified methods.

    csf  geometric  equal-size  rank-geometric     by score, see `evalcore.pool.score_strata`
    kd-tree  clusters                              by features, see `evalcore.pool.feature_strata`

A cut by score has as many strata as the method asks for.  A cut by features has the leaves of a complete
tree, branching ** depth of them; a method that only counts strata gets a binary tree of at least as many.
"""

from dataclasses import dataclass
from math import ceil, log2
from typing import Literal, TypeAlias, get_args

import numpy as np

from assay.evalcore.errors import BadArgument
from assay.evalcore.pool.feature_strata import FeatureCut, clusters, kd_tree
from assay.evalcore.pool.ordered_scores import OrderedScores
from assay.evalcore.pool.score_strata import StrataKind, score_edges
from assay.evalcore.types import Floats

FeatureKind: TypeAlias = Literal["kd-tree", "clusters"]
PartitionKind: TypeAlias = Literal[
    "csf", "geometric", "equal-size", "rank-geometric", "kd-tree", "clusters"
]
_BY_SCORE: dict[str, StrataKind] = {kind: kind for kind in get_args(StrataKind)}
_BY_FEATURES: dict[str, FeatureKind] = {kind: kind for kind in get_args(FeatureKind)}


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureTree:
    """A cut by features, before it sees any."""

    kind: FeatureKind
    branching: int
    depth: int

    @property
    def n_leaves(self) -> int:
        """Leaves of the complete tree, empty ones included."""
        return int(self.branching**self.depth)

    def grown(self, features: Floats) -> FeatureCut:
        """The cut of items with these features (N, D).  Raises BadInput where they are no numbers."""
        grow = kd_tree if self.kind == "kd-tree" else clusters
        return grow(features, branching=self.branching, depth=self.depth)


def feature_tree(kind: PartitionKind, branching: int, depth: int) -> FeatureTree | None:
    """The tree of a cut by features; None for a cut by score."""
    if kind not in _BY_FEATURES:
        return None
    return FeatureTree(kind=_BY_FEATURES[kind], branching=branching, depth=depth)


def binary_tree(kind: PartitionKind, n_strata: int) -> FeatureTree | None:
    """The binary tree of a cut by features, of at least n_strata leaves; None for a cut by score."""
    return feature_tree(kind, 2, max(1, ceil(log2(max(n_strata, 2)))))


def cut_scores(kind: PartitionKind, scores: OrderedScores, n_strata: int) -> Floats:
    """Interior edges of a cut by score; an empty array for a cut by features."""
    if kind in _BY_FEATURES:
        return np.empty(0)
    return score_edges(_BY_SCORE[kind], scores, n_strata)


def without_features(method_name: str) -> BadArgument:
    """The error of a method that cuts by features where none are named."""
    return BadArgument(
        "features",
        f"method {method_name!r} cuts the pool by features and none are named; name columns of numbers, or "
        "cut by score: partition=csf",
    )
