"""Partitions by score and by features: sizes, order, ties, and the tree they hang on."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from assay.evalcore.errors import BadInput
from assay.evalcore.measures.registry import measure
from assay.evalcore.methods.registry import method
from assay.evalcore.pool.feature_strata import cells_of, clusters, kd_tree
from assay.evalcore.pool.strata import (
    ScoresInMemory,
    assign,
    equal_size_edges,
    geometric_edges,
    rank_geometric_edges,
    score_edges,
)
from assay.evalcore.replay.pool import CountedPool
from assay.evalcore.replay.run import ReplayPlan, run_block

KINDS = ["csf", "geometric", "equal-size", "rank-geometric"]


def test_equal_size_strata_have_equal_sizes():
    scores = np.random.default_rng(1).permutation(np.arange(1000.0))
    assert np.bincount(assign(equal_size_edges(ScoresInMemory(scores), 8), scores)).tolist() == [125] * 8


def test_rank_geometric_strata_grow_from_the_top():
    scores = np.arange(256.0)
    sizes = np.bincount(assign(rank_geometric_edges(ScoresInMemory(scores), 4), scores))[::-1]
    # edges below the top 256^(1/4), 256^(2/4), 256^(3/4) = 4, 16, 64 items
    assert sizes.tolist() == [4, 12, 48, 192]


def test_geometric_strata_widen_from_the_top_by_a_constant_factor():
    edges = geometric_edges(ScoresInMemory(np.linspace(0, 1, 5001)), 5)
    distance = np.concatenate([[0.0], np.sort(1 - edges), [1.0]])
    widths = np.diff(distance)
    # 1001^(1/5) = 3.98: from a thousandth of the range up to the whole
    assert widths[1:] / widths[:-1] == pytest.approx(np.full(4, 1001 ** (1 / 5)), rel=1e-6)


@settings(max_examples=60, deadline=None)
@given(
    kind=st.sampled_from(KINDS),
    scores=arrays(np.float64, st.integers(1, 80), elements=st.floats(-5, 5, width=16)),
    n_strata=st.integers(1, 40),
)
def test_every_cut_is_increasing_inside_the_scores_and_has_no_more_strata_than_asked(kind, scores, n_strata):
    edges = score_edges(kind, ScoresInMemory(scores), n_strata)
    assert len(edges) <= n_strata - 1
    assert (np.diff(edges) > 0).all()
    if len(edges):
        assert edges[0] > scores.min()
        assert edges[-1] <= scores.max()


def test_a_tree_method_takes_any_cut_by_name():
    scores = np.random.default_rng(2).normal(size=500)
    for kind in KINDS:
        edges, n_slots = method(f"dirichlet-tree:partition={kind}:depth=3:branching=3").edges(
            ScoresInMemory(scores), int((scores > 1).sum())
        )
        assert n_slots == 27
        assert 8 < len(edges) <= 26


def test_a_kd_tree_halves_the_widest_feature_first_and_leaves_are_its_paths():
    # feature 0 is bimodal, its variance the same as feature 1's after scaling: cut it and the modes part
    features = np.array([[0.0, 0], [0, 1], [9, 0], [9, 1]])
    leaf = kd_tree(features, branching=2, depth=2).leaves(features)
    assert sorted(leaf.tolist()) == [0, 1, 2, 3]
    # the first branch is the leaf's upper bit: the two rows of each half share it
    upper = leaf // 2
    assert upper[0] == upper[1] != upper[2] == upper[3]


@pytest.mark.parametrize(("branching", "depth"), [(2, 4), (3, 2), (4, 2)])
def test_kd_leaves_of_untied_items_are_equally_large(branching, depth):
    features = np.random.default_rng(3).normal(size=(1440, 3))
    sizes = np.bincount(kd_tree(features, branching=branching, depth=depth).leaves(features))
    assert len(sizes) == branching**depth
    assert sizes.max() - sizes.min() <= depth


def test_ties_stay_together_and_still_split_off():
    features = np.array([[0.0]] * 90 + [[1.0]] * 10)
    leaf = kd_tree(features, depth=1).leaves(features)
    assert leaf.tolist() == [0] * 90 + [1] * 10


def test_equal_values_whose_variance_is_not_zero_by_rounding_are_not_cut():
    features = np.random.default_rng(0).integers(0, 5, size=(5003, 3)) / 3
    leaf = kd_tree(features, branching=2, depth=8).leaves(features)
    assert 64 < len(np.unique(leaf)) <= 125


def test_a_cut_grown_from_a_sample_gives_any_item_a_leaf():
    features = np.random.default_rng(1).normal(size=(4000, 2))
    for grown in (kd_tree(features[::4], depth=3), clusters(features[::4], depth=3)):
        leaf = grown.leaves(features)
        assert np.concatenate([grown.leaves(some) for some in np.array_split(features, 7)]).tolist() == (
            leaf.tolist()
        )
        assert sorted(set(leaf)) == list(range(8))
    few = np.array([[0.0], [1.0]])
    assert clusters(few, depth=1).leaves(np.array([[0.1], [0.9], [5.0]])).tolist() in ([0, 1, 1], [1, 0, 0])


def test_clusters_part_what_lies_apart_at_the_first_branch():
    rng = np.random.default_rng(4)
    features = np.concatenate([rng.normal(size=(300, 2)), 20 + rng.normal(size=(100, 2))])
    leaf = clusters(features, branching=2, depth=3).leaves(features)
    upper = leaf // 4
    assert len(set(upper[:300])) == len(set(upper[300:])) == 1
    assert upper[0] != upper[300]
    assert leaf.max() < 8


def test_many_items_are_clustered_through_small_clusters_with_a_fixed_seed():
    features = np.random.default_rng(5).normal(size=(1500, 2))
    first, second = (clusters(features, branching=3, depth=2).leaves(features) for _ in range(2))
    assert (first == second).all()
    assert len(np.unique(first)) == 9


def test_features_that_are_not_numbers_are_named():
    with pytest.raises(BadInput, match="feature 1 of item 2"):
        kd_tree(np.array([[0.0, 1], [1, 1], [2, np.nan]]))
    with pytest.raises(BadInput, match="65,536 leaves"):
        kd_tree(np.zeros((3, 1)), branching=2, depth=20)


def test_cells_of_features_can_be_evaluated_like_any_other():
    rng = np.random.default_rng(6)
    features = rng.normal(size=(600, 2))
    score = features[:, 0]
    label = (features.sum(axis=1) > 2.0).astype(np.int64)
    prediction = (score > 1.2).astype(np.int64)
    leaf = kd_tree(features, depth=4).leaves(features)
    cells, cell = cells_of(leaf, 16, score, 1 / (1 + np.exp(-score)), prediction)
    assert cells.n_items == 600
    positives = np.bincount(cell, weights=label, minlength=cells.n_cells).astype(np.int64)
    by_label = np.stack([cells.size - positives, positives], axis=1)
    f1 = measure("f1")
    (trace,) = run_block(
        method("dirichlet-tree:depth=4"), CountedPool(cells=cells, by_label=by_label, measures=[f1]),
        ReplayPlan(budgets=[100, 600]), repeats=4,
    )
    index = prediction * 2 + label
    truth = f1.of_confusion(np.bincount(index, minlength=4).reshape(2, 2).astype(float))
    assert trace.value[:, 1] == pytest.approx(np.full(4, float(truth)))
