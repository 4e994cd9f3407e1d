"""From items to cells: the pool is cut once, in one of several ways, and later steps use the counts alone.

This is the only step whose cost grows with the pool.  It runs when the pool is frozen; the edges and the
counts go into the ledger, and every later round reads those.  Methods that look for rare positives cut at the
top of the ranking as well (`top_edges`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import ceil, log2
from typing import ClassVar, Literal, Protocol, TypeAlias, get_args

import numpy as np

from assay.evalcore.errors import BadArgument, BadInput
from assay.evalcore.json_values import JsonObject, mapping_of
from assay.evalcore.pool.feature_strata import FeatureCut, cells_of, clusters, kd_tree
from assay.evalcore.pool.strata import (
    Cells,
    CellSums,
    OrderedScores,
    ScoresInMemory,
    StrataKind,
    assign,
    csf_edges,
    keys_of,
    rank_edges,
    score_edges,
)
from assay.evalcore.types import Array, Bools, Floats, Ints

FeatureKind: TypeAlias = Literal["kd-tree", "clusters"]
PartitionKind: TypeAlias = Literal[
    "csf", "geometric", "equal-size", "rank-geometric", "kd-tree", "clusters"
]
_BY_SCORE: dict[str, StrataKind] = {kind: kind for kind in get_args(StrataKind)}
_BY_FEATURES: dict[str, FeatureKind] = {kind: kind for kind in get_args(FeatureKind)}


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureTree:
    """A cut by features before it sees any item: the kind of cut, and the branching factor and depth of the
    complete tree.

    How a pool is cut, by name: the `partition` setting of the stratified methods.

        csf  geometric  equal-size  rank-geometric     by score, see `evalcore.pool.strata`
        kd-tree  clusters                              by features, see `evalcore.pool.feature_strata`

    A cut by score has as many strata as the method asks for.  A cut by features has the leaves of a complete
    tree, branching ** depth of them; a method that only counts strata gets a binary tree of at least as many.
    """

    kind: FeatureKind
    branching: int
    depth: int

    @property
    def n_leaves(self) -> int:
        """The number of leaves of the complete tree, branching to the power of depth; empty ones included.
        Each leaf is a stratum."""
        return int(self.branching**self.depth)

    def grown(self, features: Floats) -> FeatureCut:
        """The cut of items with these features (N, D). Raises BadInput where they are no numbers. N counts
        items and D features; it applies to items of other shards as well."""
        grow = kd_tree if self.kind == "kd-tree" else clusters
        return grow(features, branching=self.branching, depth=self.depth)


def feature_tree(kind: PartitionKind, branching: int, depth: int) -> FeatureTree | None:
    """The tree of a cut by features; None for a cut by score."""
    if kind not in _BY_FEATURES:
        return None
    return FeatureTree(kind=_BY_FEATURES[kind], branching=branching, depth=depth)


def binary_tree(kind: PartitionKind, n_strata: int) -> FeatureTree | None:
    """The binary tree of a cut by features, of at least n_strata leaves; None for a cut by score. Its depth
    is the logarithm of the strata, rounded up."""
    return feature_tree(kind, 2, max(1, ceil(log2(max(n_strata, 2)))))


def cut_scores(kind: PartitionKind, scores: OrderedScores, n_strata: int) -> Floats:
    """Interior edges of a cut by score; an empty array for a cut by features. They rise, and a score on an
    edge belongs above it."""
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


class Cutter(Protocol):
    """What cutting a pool needs to know of a method: its name, its edges along the score, and its cut by
    features if it has one."""

    @property
    def name(self) -> str:
        """The name of the method, for messages about the cut."""
        ...

    @property
    def feature_tree(self) -> FeatureTree | None:
        """The tree of features it cuts by; None for a cut by score."""
        ...

    def edges(self, scores: OrderedScores, positives: int) -> tuple[Floats, int]:
        """Interior strata edges for a pool, and the number of leaf slots of its tree. `positives` counts the
        items that are predicted positive."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Partition:
    """The edges of the strata of a pool and the cells that they make, with the items that are left out
    because their labels were known, and the counts of segment values by cell."""

    edges: Floats  # interior edges, increasing; none where features were cut
    cells: Cells
    known: Ints | None = None   # (2, 2) items left out, by prediction and known label; None: all are in cells
    by_segment: Mapping[str, Ints] = field(default_factory=dict)  # column -> (S, C) items by value and cell
    weights: ClassVar[None] = None   # two classes whose items differ in weight are cut as any outcome

    def to_json(self) -> JsonObject:
        """The partition as plain JSON values, from which `from_json` gives the same bits back; parts that are
        empty are left out. Arrays become lists of numbers."""
        data: JsonObject = {"edges": self.edges.tolist(), "cells": self.cells.to_json()}
        if self.known is not None:
            data["known"] = self.known.tolist()
        if self.by_segment:
            data["by_segment"] = {column: counts.tolist() for column, counts in self.by_segment.items()}
        return data

    @staticmethod
    def from_json(data: Mapping[str, object]) -> "Partition":
        """The partition made of stored JSON values: the inverse of `to_json`. Raises KeyError where edges or
        cells are missing. A ledger keeps it so, and every process reads the same cells."""
        by_segment = mapping_of(data.get("by_segment"))
        if "by_segment" in data and not by_segment:    # empty parts are left out
            raise KeyError("by_segment")
        return Partition(
            edges=np.asarray(data["edges"], np.float64),
            cells=Cells.from_json(mapping_of(data["cells"])),
            known=np.asarray(data["known"], np.int64) if "known" in data else None,
            by_segment={
                column: np.asarray(counts, np.int64) for column, counts in by_segment.items()
            },
        )


def count_by_segment(cell: Ints, n_cells: int, value: Ints, n_values: int) -> Ints:
    """(S, C) items by value of a segment column and cell; cell, value (N,). S counts values, C cells and N
    items. All that do not occur are 0."""
    return np.bincount(value * n_cells + cell, minlength=n_values * n_cells).reshape(n_values, n_cells)


def decision_boundary(scores: OrderedScores, positives: int) -> float:
    """The score at which predictions turn positive: halfway between the PP-th and the next highest score.

    positives: PP, the number of predicted positives.  It is a threshold that makes the predictions where one
    does, and else one that would predict as many positives.  Where nothing or everything is predicted
    positive it is the highest or the lowest score.
    """
    if positives in (0, len(scores)):
        return scores.high if positives == 0 else scores.low
    below, above = scores.at(len(scores) - positives + np.array([-1, 0]))
    return float((below + above) / 2)


def label_model_edges(scores: OrderedScores, positives: int, n_strata: int) -> Floats:
    """Edges (K,) for a label model along the score: steps of cumulative √frequency, geometric ranks from the
    top, and the decision boundary; positives: the number of predicted positives."""
    parts = [csf_edges(scores, n_strata), rank_edges(scores, max(positives, 16) / 16)]
    if 0 < positives < len(scores):
        parts.append(np.array([decision_boundary(scores, positives)]))
    return np.unique(np.concatenate(parts))


def build_partition(
    method: Cutter,
    scores: Floats,
    probabilities: Floats,
    predictions: Array,
    features: Floats | None = None,
    systems: Array | None = None,
) -> tuple[Partition, Ints]:
    """Cut a pool as a method asks for: the partition, and the cell (N,) of each item.

    scores, probabilities, predictions (N,): see `partition_by`; features (N, D): for methods that cut by them
    (`evalcore.pool.feature_strata`); systems (N, S): what further systems predict, 0 or 1: items with equal
    predictions make a stratum (`evalcore.pool.partition`).  Raises BadInput for an empty pool, and where
    features are missing.
    """
    if len(scores) == 0:
        raise BadInput("the pool is empty: there is nothing to evaluate")
    tree = method.feature_tree
    if tree is not None:
        if features is None:
            raise without_features(method.name)
        cells, cell = cells_of(
            tree.grown(features).leaves(features), tree.n_leaves, scores, probabilities, predictions
        )
        return Partition(edges=np.empty(0), cells=cells), cell
    if systems is not None:
        pattern, n_patterns = pattern_of(systems)
        cells, cell = cells_of(pattern, n_patterns, scores, probabilities, predictions)
        return Partition(edges=np.empty(0), cells=cells), cell
    ordered, positives = ScoresInMemory(scores), int(np.count_nonzero(predictions))
    edges, n_slots = method.edges(ordered, positives)
    return partition_by(
        edges, scores, probabilities, predictions, n_slots=n_slots,
        boundary=decision_boundary(ordered, positives), ordered=ordered,
    )


def partition_by(
    edges: Floats,
    scores: Floats,
    probabilities: Floats,
    predictions: Array,
    *,
    n_slots: int | None = None,
    boundary: float = 0.0,
    ordered: OrderedScores | None = None,
) -> tuple[Partition, Ints]:
    """Cut a pool at these edges.

    edges (K,) rising, K interior edges for K + 1 strata; scores, probabilities (N,); predictions (N,) 0 or 1;
    n_slots: leaves of the complete tree (default: the number of strata); boundary: the score at which the
    system changes its prediction; ordered: the scores in rank order, where they are at hand.

    Returns the partition and the cell (N,) of each item.  Raises BadInput for an empty or ragged pool.
    """
    if len(scores) == 0:
        raise BadInput("the pool is empty: there is nothing to evaluate")
    if not len(scores) == len(probabilities) == len(predictions):
        raise BadInput(
            f"{len(scores)} scores, {len(probabilities)} probabilities and {len(predictions)} predictions "
            "do not describe one pool"
        )
    key = keys_of(assign(edges, scores), predictions)
    sums = CellSums.from_items(key, 2 * (len(edges) + 1), scores, probabilities)
    cells = sums.cells(
        max(n_slots or 0, len(edges) + 1), boundary=boundary, ordered=ordered or ScoresInMemory(scores)
    )
    return Partition(edges=edges, cells=cells), sums.cell_of(key)


MOST_PATTERN_SYSTEMS = 10   # whose predictions can share labels: as many bits has a pattern


def pattern_of(predictions: Array) -> tuple[Ints, int]:
    """The pattern (N,) of each item, and how many patterns there can be.

    predictions (N, S), 0 or 1: what each of S systems predicts; bit s of a pattern is what system s says.
    Raises BadInput for more than MOST_PATTERN_SYSTEMS.
    """
    n_systems = predictions.shape[1]
    if n_systems > MOST_PATTERN_SYSTEMS:
        raise BadInput(f"pool.systems: {n_systems} systems; at most {MOST_PATTERN_SYSTEMS} can share labels")
    bits = np.left_shift(1, np.arange(n_systems, dtype=np.int64))
    return np.asarray(predictions, np.int64) @ bits, 1 << n_systems


_SHARE = 0.01            # K at least this share of the pool,
_PREDICTED_POSITIVES = 4  # this many times PP, lest a common class be cut off,
_LEAST_RANK = 200   # and this many items
_ITERATIONS = 12         # whose domains end at an edge: beyond it they have 40,950 labels


def cut_rank(n_items: int, predicted_positives: int) -> int:
    """The number K of items above the cut in rank: a share of the pool, a multiple of the predicted
    positives, or a least number, whichever is largest, and at most all items.

    The top of the ranking: where rare positives are looked for, by methods that look nowhere else.

    Poms et al. (2021) sample among the K highest scores only and take every item below for negative.  Their
    method takes a K that grows (`iteration_of`); the other methods built on it take

        K = max(N/100, 4 PP, 200),   PP the number of predicted positives,

    at most N.  The methods built on it share a weakness: a positive below the cut is never found, and their
    intervals leave it out.  When all K items are labelled the cut moves down with the labels, item by item in
    rank order, so that a pool that is labelled to the end is measured exactly.

    `acis` takes the paper's own cut instead: 3 (i + 1) PP in iteration i.
    """
    rank = max(int(np.ceil(_SHARE * n_items)), _PREDICTED_POSITIVES * predicted_positives, _LEAST_RANK)
    return min(rank, n_items)


def top_edges(scores: OrderedScores, positives: int, *, ratio: float = 1.06) -> tuple[Floats, int]:
    """Edges of strata of geometric ranks, cut at K and at the decision boundary as well; and their number.

    positives: PP, the number of predicted positives.  About the first `1 / (ratio - 1)` ranks are strata of
    one item.
    """
    k = cut_rank(len(scores), positives)
    at_cut = float(scores.at(np.array([len(scores) - k]))[0])
    marks = [at_cut, decision_boundary(scores, positives)]
    return _ranked(scores, ratio, marks)


def iteration_edges(scores: OrderedScores, positives: int, *, ratio: float = 1.03) -> tuple[Floats, int]:
    """As `top_edges`, cut where the domain of each iteration ends: see `iteration_of`."""
    ranks = [3 * (i + 1) * positives for i in range(1, _ITERATIONS + 1)]
    at = [len(scores) - rank for rank in ranks if 0 < rank <= len(scores)]
    marks = scores.at(np.array(at)).tolist() if at else []
    return _ranked(scores, ratio, [*marks, decision_boundary(scores, positives)])


def _ranked(scores: OrderedScores, ratio: float, marks: list[float]) -> tuple[Floats, int]:
    edges = np.unique(np.concatenate([rank_edges(scores, 1, ratio), marks]))
    edges = edges[edges > scores.low]
    return edges, len(edges) + 1


def iteration_of(cells: Cells) -> Floats:
    """The first iteration i (C,), from 1, whose domain has the cell; infinite without predicted positives.

    The domain of iteration i is the fewest whole strata that hold the 3 (i + 1) PP highest scores (Poms et
    al. 2021, section 3.3).
    """
    step = 3 * cells.predicted_positives
    return np.maximum(_above(cells) // step, 1.0) if step else np.full(cells.n_cells, np.inf)


def top_cells(cells: Cells) -> Bools:
    """Cells (C,) of the domain: the fewest whole strata that hold the top K items. K is the rank that the cut
    takes: OASIS and its kin search there."""
    return np.asarray(_above(cells) < cut_rank(cells.n_items, cells.predicted_positives))


def _above(cells: Cells) -> Floats:
    """Items (C,) in strata above that of each cell."""
    size = np.bincount(cells.stratum, weights=cells.size, minlength=cells.n_slots)
    above = np.cumsum(size[::-1])[::-1] - size
    return np.asarray(above[cells.stratum])


def from_the_top(eligible: Ints, size: Ints) -> Ints:
    """Counts (R, C) of `size` (R,) items taken from `eligible` (R, C), cells of the highest scores first. R
    counts repeats and C cells; never more than a cell has."""
    above = np.cumsum(eligible[:, ::-1], axis=1)[:, ::-1] - eligible
    return np.asarray(np.clip(size[:, None] - above, 0, eligible))
