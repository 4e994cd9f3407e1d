"""The Dirichlet methods beside the tree: flat, stochastic, recombined, reused; and their joint region."""

from dataclasses import replace

import numpy as np
import pytest
from doubles.pools import synthetic_pool

from assay.evalcore.design.round import CountedDesign, RoundLabels
from assay.evalcore.errors import BadInput, UnknownName
from assay.evalcore.estimators.importance import WeightSums, estimate_of_draws
from assay.evalcore.estimators.joint_region import NoRegion, confidence_region
from assay.evalcore.measures.registry import measure
from assay.evalcore.methods.dirichlet import dirichlet_tree, fit_tree, tree_posterior
from assay.evalcore.methods.registry import method
from assay.evalcore.methods.two_classes.dirichlet import DirichletTreeStochastic, strata_as_leaves
from assay.evalcore.pool.partition import build_partition
from assay.evalcore.pool.strata import Cells, ScoresInMemory
from assay.evalcore.replay.run import ReplayPlan, simulate


def two_cells():
    return Cells(
        stratum=np.array([0, 1]), prediction=np.array([0, 1]), size=np.array([30, 10]),
        mean_score=np.array([-1.0, 1.0]), mean_probability=np.array([0.2, 0.7]), log_density=np.zeros(2),
        n_slots=2,
    )


@pytest.mark.parametrize("flat", [False, True])
def test_the_posterior_of_counted_draws_by_hand(flat):
    # prior counts by [label][leaf]: (0.8, 0.3) and (0.2, 0.7); draws: 2 negatives in leaf 0, 3 positives in
    # leaf 1; by eqs 14 and 15, classes: 1 + 1.1 + 2 and 1 + 0.9 + 3 of 9; leaves of depth 1 get one more
    # each: (3.8, 1.3)/5.1 and (1.2, 4.7)/5.9
    leaves = strata_as_leaves(two_cells())
    joint = tree_posterior(dirichlet_tree(leaves, flat=flat), np.array([[[2.0, 0.0], [0.0, 3.0]]]))[0]
    assert joint[0] == pytest.approx(4.1 / 9 * np.array([3.8, 1.3]) / 5.1)
    assert joint[1] == pytest.approx(4.9 / 9 * np.array([1.2, 4.7]) / 5.9)


def test_without_a_tree_the_mode_has_no_count_beside_the_labels():
    # all items labelled; eq. 11 takes the one count a leaf away again, and the mode of θ that of α
    tree = dirichlet_tree(strata_as_leaves(two_cells()), flat=True)
    found = fit_tree(tree, np.array([[[20, 10], [0, 10]]]), tree.initial(1))[0]
    negative, positive = np.array([20.8, 0.3]), np.array([10.2, 10.7])
    assert found[0] == pytest.approx(21.1 / 42 * negative / 21.1)
    assert found[1] == pytest.approx(20.9 / 42 * positive / 20.9)


def test_the_stochastic_model_counts_every_draw_by_its_weight():
    cells, m = two_cells(), DirichletTreeStochastic(depth=1)
    state = m.start(cells, [measure("f1")], 1)
    design = m.propose(state, np.array([4]))
    one_item_two_labels = np.array([[[0, 0], [1, 1]]])             # the same item called 0 and then 1
    outcome = RoundLabels(
        new=np.array([[[0, 0], [0, 1]]]), drawn_new=one_item_two_labels, drawn_known=np.zeros((1, 2, 2), int)
    )
    after = m.observe(state, design, outcome, np.zeros((1, 2), int))
    weight = 1 / (40 * design.unlabelled[0, 1])
    assert after.counts[0] == pytest.approx(np.array([[0, weight], [0, weight]]))
    assert after.sums.weight[0] == pytest.approx(np.array([[0, 0], [weight, weight]]))


def test_a_label_gives_an_item_no_privilege_under_a_stochastic_oracle():
    pool = synthetic_pool(200, seed=1)
    m = method("dirichlet-tree-stochastic")
    partition, _ = build_partition(m, pool.score, pool.probability, pool.prediction)
    state = m.start(partition.cells, [measure("f1")], 1)
    labelled = np.zeros_like(state.labelled)
    labelled[0, -1] = (1, 1)
    design = m.propose(replace(state, labelled=labelled), np.array([5]))
    assert design.labelled[0, :, 0] == pytest.approx(design.unlabelled[0])
    assert design.labelled[0, :, 1] == pytest.approx(design.unlabelled[0])


def test_the_stochastic_proposal_is_the_root_of_the_expected_square():
    m = DirichletTreeStochastic(depth=1)
    cells = two_cells()
    state = m.start(cells, [measure("accuracy")], 1)
    rate = state.belief.chances[..., 1][0]
    design = m.propose(state, np.array([5]))
    # accuracy: |J ℓ| is 1 where the label contradicts the prediction
    wrong = np.array([rate[0], 1 - rate[1]])
    expected = np.sqrt(np.maximum(wrong, 1e-9))
    assert design.unlabelled[0] == pytest.approx(expected / (cells.size * expected).sum())


def test_without_a_tree_strata_do_not_learn_from_their_neighbours():
    pool = synthetic_pool(2000, seed=1)
    rates = {}
    for name in ("dirichlet-flat:depth=4", "dirichlet-tree:depth=4"):
        m = method(name)
        partition, _ = build_partition(m, pool.score, pool.probability, pool.prediction)
        cells = partition.cells
        state = m.start(cells, [measure("f1")], 1)
        at = cells.n_cells // 2
        new = np.zeros((1, cells.n_cells, 2), int)
        new[0, at, 1] = cells.size[at] // 2
        outcome = RoundLabels(new=new, drawn_new=new, drawn_known=np.zeros_like(new))
        after = m.observe(state, m.propose(state, np.array([5])), outcome, np.zeros((1, cells.n_cells), int))
        change = after.belief.chances[..., 1][0] - state.belief.chances[..., 1][0]
        rates[name] = change[at + 1] - change[-1]
    assert rates["dirichlet-tree:depth=4"] > rates["dirichlet-flat:depth=4"] + 0.005


def draws_with_weights(cells, labels, q):
    """The sums of draws with these cell-and-label counts (2, 2), every item at probability q (2,)."""
    counts = np.array([labels])
    design = CountedDesign(
        replacement=True, size=cells.size[None], left=cells.size[None], unlabelled=np.array([q]),
        labelled=np.zeros((1, 2, 2)), model=np.full((1, 2), 0.5), gradient=np.zeros((1, 2)),
        census=np.array([False]),
    )
    outcome = RoundLabels(new=counts, drawn_new=counts, drawn_known=np.zeros_like(counts))
    return WeightSums.none(1).add(cells, design, outcome)


SUMS = ([[6, 2], [3, 9]], [0.01, 0.07])


def test_the_region_of_one_measure_is_its_interval():
    sums = draws_with_weights(two_cells(), *SUMS)
    m = measure("f1")
    region = confidence_region([m], sums, 0.95)
    got = estimate_of_draws(m, sums, 0.95)
    assert region.rank == 1
    assert region.centre[0] == pytest.approx(got.value[0])
    assert region.half_widths()[0] == pytest.approx(1.959963984540054 * np.sqrt(got.variance[0]))
    assert region.contains(np.array([[got.value[0] + 0.99 * region.half_widths()[0]]])).all()
    assert not region.contains(np.array([[got.value[0] + 1.01 * region.half_widths()[0]]])).any()


def test_the_covariance_is_that_of_the_draws_one_by_one():
    sums = draws_with_weights(two_cells(), *SUMS)
    measures = [measure("precision"), measure("recall"), measure("accuracy")]
    region = confidence_region(measures, sums, 0.9)
    rows = []
    for f in (0, 1):
        weight = 1 / (40 * SUMS[1][f])
        for y in (0, 1):
            phi = []
            for m in measures:
                risk = np.einsum("fy,fyd->d", sums.weight[0], m.loss) / sums.draws[0]
                phi.append(weight * m.influence(risk)[f, y] - m.gradient(risk) @ risk)
            rows += [phi] * SUMS[0][f][y]
    one_by_one = np.array(rows)
    assert region.covariance == pytest.approx(one_by_one.T @ one_by_one / len(one_by_one) ** 2)


def test_a_measure_asked_twice_makes_a_flat_region():
    sums = draws_with_weights(two_cells(), *SUMS)
    region = confidence_region([measure("f1"), measure("fbeta", 1.0)], sums, 0.95)
    assert region.rank == 1
    same = region.centre + 0.5 * region.half_widths()
    assert region.contains(same)
    assert not region.contains(region.centre + np.array([0.01, -0.01]))
    lengths, directions = region.axes()
    assert lengths[1] == pytest.approx(0, abs=1e-6)
    assert directions[:, 0] == pytest.approx([np.sqrt(0.5)] * 2)


def test_no_draws_or_an_undefined_measure_give_no_region():
    with pytest.raises(NoRegion, match="at least 2 draws"):
        confidence_region([measure("f1")], WeightSums.none(1), 0.95)
    sums = draws_with_weights(two_cells(), [[6, 0], [0, 0]], SUMS[1])
    with pytest.raises(NoRegion, match="no item is positive"):
        confidence_region([measure("recall")], sums, 0.95)


def test_rounds_that_count_alike_are_plain_and_weights_scale_out():
    cells = two_cells()
    plain = draws_with_weights(cells, *SUMS)
    counts = np.array([SUMS[0]])
    design = CountedDesign(
        replacement=True, size=cells.size[None], left=cells.size[None], unlabelled=np.array([SUMS[1]]),
        labelled=np.zeros((1, 2, 2)), model=np.full((1, 2), 0.5), gradient=np.zeros((1, 2)),
        census=np.array([False]),
    )
    outcome = RoundLabels(new=counts, drawn_new=counts, drawn_known=np.zeros_like(counts))
    scaled = WeightSums.none(1).add(cells, design, outcome, np.array([7.5]))
    for m in (measure("f1"), measure("accuracy"), measure("mcc")):
        for self_normalised in (False, True):
            a = estimate_of_draws(m, plain, 0.95, self_normalised=self_normalised)
            b = estimate_of_draws(m, scaled, 0.95, self_normalised=self_normalised)
            assert (a.value[0], a.variance[0]) == pytest.approx((b.value[0], b.variance[0]))


def test_self_normalising_changes_accuracy_and_leaves_ratios_alone():
    sums = draws_with_weights(two_cells(), *SUMS)
    for name, differs in (("f1", False), ("recall", False), ("accuracy", True)):
        a = estimate_of_draws(measure(name), sums, 0.95)
        b = estimate_of_draws(measure(name), sums, 0.95, self_normalised=True)
        assert bool(abs(a.value[0] - b.value[0]) > 1e-3) is differs, name
        assert bool(abs(a.variance[0] / b.variance[0] - 1) > 1e-6) is differs, name
    # weights 2.5 and 1/2.8: errors 2 · 2.5 + 3/2.8 of a total weight 8 · 2.5 + 12/2.8
    total = 8 * 2.5 + 12 / 2.8
    got = estimate_of_draws(measure("accuracy"), sums, 0.95, self_normalised=True)
    assert got.value[0] == pytest.approx(1 - (2 * 2.5 + 3 / 2.8) / total)


def test_settings_are_read_from_the_name():
    m = method("dirichlet-tree:combination=square-root:depth=6:reuse=0.1")
    assert (m.combination, m.depth, m.reuse) == ("square-root", 6, 0.1)
    assert m.name == "dirichlet-tree:combination=square-root:depth=6:reuse=0.1"
    assert method("auto:depth=5").depth == 5
    assert method("bernoulli-online:assisted=true").assisted
    assert method("dirichlet-tree").depth == 8, "the plain name keeps its settings"


@pytest.mark.parametrize(
    ("name", "error", "said"),
    [
        ("dirichlet-tree:combnation=plain", UnknownName, "did you mean 'combination'"),
        ("dirichlet-tree:combination=fair", BadInput, "one of plain, square-root, inverse-variance"),
        ("dirichlet-tree:depth=six", BadInput, "must be int, got 'six'"),
        ("sawade:trust=1.5", BadInput, "between 0 and 1"),
        ("passive:size=3", UnknownName, "its settings: guaranteed, one_at_a_time"),
        ("bernoulli-online:assisted=yes", BadInput, "true or false"),
        ("dirichlet-tree:interval=none", UnknownName, "has no setting"),
        ("sawde:trust=0.5", UnknownName, "did you mean 'sawade'"),
    ],
)
def test_a_wrong_setting_is_refused_with_the_remedy(name, error, said):
    with pytest.raises(error, match=said):
        method(name)


def test_a_tree_too_big_is_refused():
    with pytest.raises(BadInput, match="depth 40"):
        method("dirichlet-tree:depth=40").edges(ScoresInMemory(np.arange(10.0)), 0)


def test_the_estimator_is_a_setting_of_every_importance_sampler():
    sums = draws_with_weights(two_cells(), *SUMS)
    accuracy = measure("accuracy")
    weighted = estimate_of_draws(accuracy, sums, 0.95).value[0]
    normalised = estimate_of_draws(accuracy, sums, 0.95, self_normalised=True).value[0]
    for name in ("dirichlet-tree", "dirichlet-flat", "dirichlet-tree-stochastic", "static-is", "sawade",
                 "optimal-is", "oasis", "passive-with-replacement"):
        for setting, expected in (("true", normalised), ("false", weighted)):
            m = method(f"{name}:self-normalised={setting}")
            state = m.start(two_cells(), [accuracy], 1)
            got = m.estimate(replace(state, sums=sums), 0.95, np.random.default_rng(1))
            assert got[0].value[0] == pytest.approx(expected), name


def test_every_combination_rule_and_estimator_ends_at_the_truth_of_a_small_pool():
    pool, f1 = synthetic_pool(90, seed=5), measure("f1")
    truth = float(f1.of_confusion(pool.confusion()))
    for rule in ("plain", "square-root", "inverse-variance"):
        for name in (f"dirichlet-tree:combination={rule}", f"bernoulli-online:combination={rule}",
                     f"bernoulli-online:combination={rule}:assisted=true",
                     f"dirichlet-tree:combination={rule}:self-normalised=true"):
            (trace,) = simulate(
                method(name), pool, [f1], ReplayPlan(budgets=[45, 90], batch_size=15, seed=1), repeats=3
            )
            assert np.isfinite(trace.value[:, 0]).all(), name
            assert trace.value[:, 1] == pytest.approx(truth), name
