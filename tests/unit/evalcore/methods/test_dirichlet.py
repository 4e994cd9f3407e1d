"""The array passes against an obvious, slow, node-by-node walk of the same tree."""

from dataclasses import replace

import numpy as np
import pytest

from assay.evalcore.errors import BadInput
from assay.evalcore.methods.dirichlet import Leaves, dirichlet_tree, fit_tree
from assay.evalcore.methods.two_classes.dirichlet import strata_as_leaves
from assay.evalcore.pool.partition import partition_by


def small_cells(n_slots=8):
    rng = np.random.default_rng(3)
    score = rng.normal(size=120)
    partition, _ = partition_by(
        np.quantile(score, [0.2, 0.4, 0.7, 0.9]), score, rng.random(120), (score > 0.5).astype(int),
        n_slots=n_slots,
    )
    return partition.cells


def slow_em_step(tree, observed, missing, joint):
    """Leaves as a dictionary of paths, one node at a time."""
    n_leaves, width = len(tree.occupied), tree.branching
    counts = {}
    for y in (0, 1):
        for k in range(n_leaves):
            if tree.occupied[k]:
                share = joint[y, k] / joint[:, k].sum()
                counts[y, k] = observed[y, k] + missing[k] * share + tree.prior[y, k]
    totals = [sum(v for (c, _), v in counts.items() if c == y) for y in (0, 1)]
    result = np.zeros_like(joint)
    for y in (0, 1):
        for k in range(n_leaves):
            if not tree.occupied[k]:
                continue
            mass = totals[y] / sum(totals)
            for depth in range(1, tree.depth + 1):
                size = width ** (tree.depth - depth)          # leaves below a node of this depth
                node, parent = k // size, k // (size * width)
                weights = {}
                for child in range(parent * width, (parent + 1) * width):
                    below = [j for j in range(child * size, (child + 1) * size) if tree.occupied[j]]
                    if below:
                        weights[child] = sum(counts[y, j] for j in below) + depth**2
                mass *= weights[node] / sum(weights.values())
            result[y, k] = mass
    return result


@pytest.mark.parametrize("branching", [2, 3])
def test_one_pass_over_arrays_equals_the_node_by_node_walk(branching):
    cells = small_cells()
    tree = replace(dirichlet_tree(strata_as_leaves(cells), branching=branching), max_steps=1)
    labelled = np.zeros((1, cells.n_cells, 2), np.int64)
    labelled[0, :, 0] = np.minimum(cells.size, 2)
    labelled[0, 3, 1] = 1
    start = tree.initial(1)
    observed = np.zeros((2, len(tree.occupied)))
    for c, slot in enumerate(cells.stratum):
        observed[:, slot] += labelled[0, c]
    expected = slow_em_step(tree, observed, tree.slot_size - observed.sum(axis=0), start[0])
    assert fit_tree(tree, labelled, start)[0] == pytest.approx(expected, abs=1e-14)


def test_the_joint_is_a_distribution_over_occupied_leaves():
    cells = small_cells()
    tree = dirichlet_tree(strata_as_leaves(cells))
    joint = fit_tree(tree, np.zeros((2, cells.n_cells, 2), np.int64), tree.initial(2))
    assert joint.sum(axis=(1, 2)) == pytest.approx([1, 1])
    assert (joint[:, :, ~tree.occupied] == 0).all()
    assert (joint[:, :, tree.occupied] > 0).all()


def test_repeats_do_not_influence_each_other():
    cells = small_cells()
    tree = dirichlet_tree(strata_as_leaves(cells))
    rng = np.random.default_rng(9)
    labelled = rng.integers(0, 3, (4, cells.n_cells, 2))
    labelled = np.minimum(labelled, cells.size[:, None] // 2)
    together = fit_tree(tree, labelled, tree.initial(4))
    alone = np.concatenate([fit_tree(tree, labelled[r : r + 1], tree.initial(1)) for r in range(4)])
    assert np.array_equal(together, alone)


def test_labels_move_the_rate_of_their_stratum():
    cells = small_cells()
    tree = dirichlet_tree(strata_as_leaves(cells))
    before = tree.chances(fit_tree(tree, np.zeros((1, cells.n_cells, 2), np.int64), tree.initial(1)))
    labelled = np.zeros((1, cells.n_cells, 2), np.int64)
    labelled[0, -1, 1] = cells.size[-1]
    after = tree.chances(fit_tree(tree, labelled, tree.initial(1)))
    assert after[0, -1, 1] > before[0, -1, 1]


def test_a_tree_needs_at_least_two_branches():
    with pytest.raises(BadInput, match="branching"):
        dirichlet_tree(strata_as_leaves(small_cells()), branching=1)


def test_a_class_that_no_supplied_probability_expects_is_no_division_by_zero():
    leaves = Leaves(
        slot=np.array([0, 1]), size=np.array([5, 5]), chance=np.array([[1.0, 0.0, 0.0], [0.25, 0.25, 0.5]]),
        n_slots=2, lump=np.array([0, 1, 1]),
    )
    part = dirichlet_tree(leaves).part
    assert part == pytest.approx(np.array([[1, 0.5, 0.5], [1, 1 / 3, 2 / 3]]))
