"""The label model of Marchant & Rubinstein (2021), written a second time from section 4, 5.2 and appendix F.

One node, class and leaf at a time, in dictionaries, without acceleration: EM until nothing moves.
"""

from itertools import pairwise

import numpy as np
import pytest

from assay.evalcore.errors import BadInput
from assay.evalcore.methods.dirichlet import Leaves, dirichlet_tree, fit_tree
from assay.evalcore.methods.registry import method, outcome_method


def paths(depth, branching=2):
    """Each leaf's nodes from the first level down, as (depth, number)."""
    levels = range(1, depth + 1)
    return [[(d, leaf // branching ** (depth - d)) for d in levels] for leaf in range(branching**depth)]


def printed_posterior(score, size, labelled, depth):
    """π(y | leaf) of unlabelled items, (leaves, K).

    score (leaves, K): s(y|k); size (leaves,): items; labelled (leaves, K): observed items.  Weights of
    branches are depth(v)² + Σ s(y|k) + expected items below (section 5.2, equation 11 with a count a leaf
    more).
    """
    leaves, classes = score.shape
    ways = paths(depth)
    pi = score / score.sum(axis=1, keepdims=True)
    while True:
        joint = np.zeros((leaves, classes))
        weight_of_class, all_psi = [], []
        for y in range(classes):
            expected = [labelled[k, y] + (size[k] - labelled[k].sum()) * pi[k, y] for k in range(leaves)]
            weight_of_class.append(sum(score[:, y]) + sum(expected))       # the mode: α̃_y - 1
            below = {}
            for k in range(leaves):
                for node in ways[k]:
                    below[node] = below.get(node, node[0] ** 2) + score[k, y] + expected[k]
            psi = np.ones(leaves)
            for k in range(leaves):
                for d, number in ways[k]:
                    siblings = [(d, 2 * (number // 2)), (d, 2 * (number // 2) + 1)]
                    psi[k] *= below[d, number] / sum(below[one] for one in siblings)
            all_psi.append(psi)
        theta = np.array(weight_of_class) / sum(weight_of_class)
        for y in range(classes):
            joint[:, y] = theta[y] * all_psi[y]
        after = joint / joint.sum(axis=1, keepdims=True)                   # equations 12 and 13
        moved = np.abs(after - pi).max()
        pi = after
        if moved < 1e-11:
            return pi


@pytest.mark.parametrize(("classes", "labels"), [(2, 0), (2, 40), (3, 0), (3, 40), (10, 0), (10, 60)])
def test_chances_are_those_of_a_second_implementation(classes, labels):
    rng, depth = np.random.default_rng(classes + labels), 3
    leaves = 2**depth
    size = rng.integers(20, 60, leaves)
    score = rng.dirichlet(np.full(classes, 0.4), leaves)
    score = np.clip(score, 1e-6, None)
    score /= score.sum(axis=1, keepdims=True)
    labelled = np.zeros((leaves, classes), np.int64)
    for k in rng.integers(0, leaves, labels):
        labelled[k, rng.choice(classes, p=score[k])] += 1
    tree = dirichlet_tree(Leaves(
        slot=np.arange(leaves), size=size, chance=score, n_slots=leaves, lump=np.arange(classes)
    )).as_printed()
    found = tree.chances(fit_tree(tree, labelled[None], tree.initial(1)))[0]
    assert np.abs(found - printed_posterior(score, size, labelled, depth)).max() < 1e-6


def test_the_prior_of_more_classes_is_scaled_only_where_it_is_not_printed():
    rng = np.random.default_rng(4)
    leaves = Leaves(slot=np.arange(8), size=np.full(8, 30), chance=rng.dirichlet(np.ones(5), 8), n_slots=8,
                    lump=np.arange(5))
    ours = dirichlet_tree(leaves)
    assert ours.smoothing == pytest.approx(2 / (5 * np.log2(5) ** 2))
    assert ours.as_printed().smoothing == 1.0
    assert dirichlet_tree(leaves, flat=True).as_printed().smoothing == 0.0


def test_equation_11_has_no_solution_with_the_prior_of_section_5_2():
    # depth 1 of a tree of depth 4: 8 leaves below each child, depth² = 1, and a class of rate 0.1 has
    # Σ s = 0.8 there.  Before any label its count is M θ_y/2 at most: with 10 items, 0.5.
    parameters = [1 + 0.8 + 0.5 - 8 for _ in range(2)]
    assert max(parameters) < 0


def test_em_of_more_classes_ends_where_a_step_moves_nothing():
    rng = np.random.default_rng(11)
    chance = rng.dirichlet(np.full(6, 0.3), 32)
    tree = dirichlet_tree(Leaves(slot=np.arange(32), size=rng.integers(5, 200, 32), chance=chance, n_slots=32,
                                 lump=np.arange(6)))
    nothing = np.zeros((1, 32, 6), np.int64)
    settled = fit_tree(tree, nothing, tree.initial(1))
    again = fit_tree(tree, nothing, settled)
    assert np.abs(tree.chances(again) - tree.chances(settled)).max() < 1e-6


def test_repeats_settle_on_their_own():
    rng = np.random.default_rng(12)
    tree = dirichlet_tree(Leaves(slot=np.arange(8), size=np.full(8, 40), chance=rng.dirichlet(np.ones(3), 8),
                                 n_slots=8, lump=np.arange(3)))
    labelled = rng.integers(0, 4, (3, 8, 3))
    together = fit_tree(tree, labelled, tree.initial(3))
    for r in range(3):
        assert np.array_equal(fit_tree(tree, labelled[r : r + 1], tree.initial(1))[0], together[r])


@pytest.mark.parametrize("settings", ["self-normalised=true", "combination=square-root"])
def test_what_is_not_printed_contradicts_it(settings):
    with pytest.raises(BadInput, match="printed=true belongs to the paper's estimate"):
        outcome_method(f"dirichlet-tree:printed=true:{settings}")


def test_a_name_with_printed_gives_the_same_method_again():
    for name in ("dirichlet-tree:printed=true", "dirichlet-flat:printed=true:depth=3"):
        assert outcome_method(name).written.split(":")[:2] == name.split(":")[:2]
        assert outcome_method(outcome_method(name).written) == outcome_method(name)
        assert method(name).interval == outcome_method(name).interval == "ais-student-as-printed"
    with pytest.raises(BadInput, match="draws with replacement"):
        outcome_method("dirichlet-tree:printed=true:one-at-a-time=true")
    with pytest.raises(BadInput, match="every draw asks anew"):
        outcome_method("dirichlet-tree-stochastic:printed=true")
    stochastic = outcome_method("dirichlet-tree-stochastic:printed=true:requery=rounds")
    assert stochastic.interval == "ais-student-as-printed"


def test_a_second_walk_has_the_same_paths():
    ways = paths(3)
    assert len(ways) == 8
    assert all(b[1] // 2 == a[1] for way in ways for a, b in pairwise(way))
