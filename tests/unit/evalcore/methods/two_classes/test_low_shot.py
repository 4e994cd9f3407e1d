"""The variant of ACIS and the baselines that look at the top of the ranking alone; TOP-K, and Platt's curve.

ACIS as printed and the paper's own baselines are in `low_shot/`.
"""

from dataclasses import replace

import numpy as np
import pytest
from doubles.pools import synthetic_pool
from scipy.optimize import minimize

from assay.evalcore.design.draws import simulate_labels
from assay.evalcore.estimators.horvitz_thompson import Reused, confusion, predicted_variance, reuse_draws
from assay.evalcore.label_models import isotonic_rates, platt_rates
from assay.evalcore.measures.registry import measure
from assay.evalcore.methods.registry import method
from assay.evalcore.methods.two_classes.acis_pooled import AcisPooled
from assay.evalcore.methods.two_classes.plug_in import GaussianMixture, Herding, TopK
from assay.evalcore.pool.partition import build_partition, cut_rank, from_the_top, top_cells, top_edges
from assay.evalcore.pool.strata import Cells, ScoresInMemory
from assay.evalcore.replay.pool import LabelledPool, prepared, prepared_cells
from assay.evalcore.replay.run import ReplayPlan, run_block, simulate

KERNEL, FEW_LABELS = "herding:kernel=gaussian:top_domain=true", "isotonic:prior_labels=1:top_domain=true"
TOP = ["acis-pooled", "topk", "gmm:top_domain=true", KERNEL, FEW_LABELS, "platt:top_domain=true"]


def cells(size, prediction, probability=None):
    """Cells in order of score, one stratum each."""
    size = np.asarray(size, np.int64)
    n = len(size)
    return Cells(
        stratum=np.arange(n), prediction=np.asarray(prediction, np.int64), size=size,
        mean_score=np.linspace(-1, 1, n), mean_probability=np.asarray(probability or np.full(n, 0.5), float),
        log_density=np.zeros(n), n_slots=n,
    )


def rare_pool(n_items=3000, seed=5):
    rng = np.random.default_rng(seed)
    score = np.sort(rng.normal(size=n_items))[::-1]
    label = np.zeros(n_items, np.int64)
    label[[*range(12), 14, 17, 25, 40, 90, 150]] = 1
    prediction = (np.arange(n_items) < 16).astype(np.int64)
    return LabelledPool(
        score=score, probability=1 / (1 + np.exp(-4 * (score - 2))), prediction=prediction, label=label
    )


# --- the cut ----------------------------------------------------------------------------------------------


def test_the_cut_is_the_largest_of_one_percent_four_times_pp_and_two_hundred():
    assert cut_rank(1_000_000, 10) == 10_000
    assert cut_rank(1_000_000, 100_000) == 400_000
    assert cut_rank(5_000, 3) == 200
    assert cut_rank(120, 90) == 120  # never more than the pool


def test_the_domain_holds_the_highest_scores_and_no_more_than_the_cut_needs():
    pool = rare_pool()
    edges, _ = top_edges(ScoresInMemory(pool.score), int(pool.prediction.sum()))
    partition, cell = build_partition(TopK(), pool.score, pool.probability, pool.prediction)
    inside = top_cells(partition.cells)[cell]
    assert inside.sum() == cut_rank(3000, 16) == 200
    assert pool.score[inside].min() > pool.score[~inside].max()
    assert np.all(np.diff(edges) > 0)


def test_items_are_taken_from_the_top_down():
    # from the right: 2 of 2, then 3 of 4, none of the 5 lowest
    assert from_the_top(np.array([[5, 4, 2]]), np.array([5])).tolist() == [[0, 3, 2]]


# --- calibration ------------------------------------------------------------------------------------------


def test_isotonic_rates_are_those_of_scikit_learn():
    from sklearn.isotonic import IsotonicRegression

    rng = np.random.default_rng(3)
    labelled = rng.integers(0, 6, size=(4, 20, 2))
    prior, strength = rng.random(20), rng.random((4, 20)) + 0.1
    got = isotonic_rates(labelled, prior, strength)
    for r in range(4):
        weight = labelled[r].sum(axis=1) + strength[r]
        mean = (labelled[r, :, 1] + strength[r] * prior) / weight
        known = IsotonicRegression().fit_transform(np.arange(20), mean, sample_weight=weight)
        assert got[r] == pytest.approx(known, abs=1e-9)


def test_a_cell_without_label_and_prior_takes_the_rate_of_its_neighbours():
    labelled = np.array([[[3, 1], [0, 0], [2, 2]]])
    rates = isotonic_rates(labelled, np.array([0.0, 0.9, 0.0]), np.zeros((1, 3)))
    # 1/4 below and 2/4 above; the empty cell asks for 0.9 with no weight and is pooled down to 1/2
    assert rates[0] == pytest.approx([0.25, 0.5, 0.5], abs=1e-6)


def test_platt_s_curve_maximises_the_likelihood_of_its_softened_targets():
    score = np.linspace(-2, 3, 12)
    labelled = np.zeros((12, 2), np.int64)
    labelled[:7, 0] = [3, 2, 4, 1, 2, 3, 1]
    labelled[5:, 1] = [1, 0, 2, 1, 3, 2, 1]
    negatives, positives = labelled.sum(axis=0)
    high, low = (positives + 1) / (positives + 2), 1 / (negatives + 2)

    def loss(ab):
        p = 1 / (1 + np.exp(-(ab[0] * score + ab[1])))
        at = [t * np.log(p) + (1 - t) * np.log(1 - p) for t in (low, high)]
        return -(labelled[:, 0] @ at[0] + labelled[:, 1] @ at[1])

    a, b = minimize(loss, [0.0, 0.0], method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-12}).x
    assert platt_rates(score, labelled) == pytest.approx(1 / (1 + np.exp(-(a * score + b))), abs=1e-3)


def test_platt_without_both_labels_says_the_smoothed_rate():
    labelled = np.array([[4, 0], [2, 0]])
    assert platt_rates(np.array([0.0, 1.0]), labelled) == pytest.approx([1 / 8, 1 / 8])


def test_platt_on_labels_of_one_score_says_their_rate_there():
    labelled = np.array([[0, 0], [3, 1], [0, 0]])
    # softened targets: 1 of weight 2/3 and 3 of weight 1/5 are (2/3 + 3/5) / 4
    got = platt_rates(np.array([-1.0, 0.0, 1.0]), labelled)[1]
    assert got == pytest.approx((2 / 3 + 3 / 5) / 4, abs=1e-3)


# --- reuse of labels --------------------------------------------------------------------------------------


def test_the_chance_to_be_found_pools_all_rounds():
    # 3 draws at 0.1 and 2 at 0.5: missed with probability 0.9³ · 0.5²
    missed = reuse_draws(np.zeros((1, 1)), np.array([[0.1]]), np.array([3]))
    missed = reuse_draws(missed, np.array([[0.5]]), np.array([2]))
    assert np.exp(missed[0, 0]) == pytest.approx(0.9**3 * 0.5**2)


def test_counts_are_weighted_by_the_chance_to_be_found_and_keep_the_known_margins():
    c = cells([10, 8, 4], [0, 0, 1])
    labelled = np.array([[[4, 0], [1, 3], [1, 2]]])
    data = Reused(
        labelled=labelled, size=c.size[None], missed=np.log1p(-np.array([[0.4, 0.5, 0.75]])),
        rate=np.zeros((1, 3)), domain=np.ones(3, np.bool_),
    )
    # predicted negatives: 3 positives at weight 2 among 4/0.4 + 4/0.5 = 18, of 18 items: 6
    # predicted positives: 2 of 3, whatever the common weight, of 4 items: 8/3
    assert confusion(c, data)[0] == pytest.approx(np.array([[12, 6], [4 / 3, 8 / 3]]))


def test_estimates_never_contradict_the_labels():
    c = cells([10, 4], [0, 1])
    data = Reused(
        labelled=np.array([[[0, 2], [2, 2]]]), size=c.size[None], missed=np.log1p(-np.array([[0.2, 0.9]])),
        rate=np.zeros((1, 2)), domain=np.array([True, True]),
    )
    (below, above), = confusion(c, data)
    assert below[1] <= 10
    assert below[1] >= 2
    assert above == pytest.approx([2, 2])


def test_when_all_is_found_the_predicted_variance_is_zero_and_before_any_draw_it_is_infinite():
    c = cells([3, 2], [0, 1])
    all_known = Reused(
        labelled=np.array([[[2, 1], [1, 1]]]), size=c.size[None], missed=np.full((1, 2), -np.inf),
        rate=np.full((1, 2), 0.5), domain=np.array([True, True]),
    )
    nothing = replace(all_known, labelled=np.zeros((1, 2, 2), np.int64), missed=np.zeros((1, 2)))
    f1 = measure("f1")
    assert predicted_variance(f1, c, all_known, confusion(c, all_known))[0] == 0
    assert np.isinf(predicted_variance(f1, c, nothing, confusion(c, nothing))[0])


# --- the methods ------------------------------------------------------------------------------------------


def test_topk_labels_the_highest_scores_and_calls_the_rest_negative():
    pool = rare_pool()
    f1 = measure("f1")
    budgets = [10, 16, 60, 100]
    (trace,) = simulate(TopK(), pool, [f1], ReplayPlan(budgets=budgets, batch_size=7), repeats=1)
    for j, budget in enumerate(budgets):
        # scores are sorted: the first `budget` items are labelled, positives among them known
        tp = pool.label[: min(budget, 16)].sum()
        fn = pool.label[16:budget].sum()
        # predicted positives not labelled yet count as false
        assert trace.value[0, j] == pytest.approx(2 * tp / (tp + fn + 16))
    assert (trace.lower == 0).all(), "there is no interval to give"
    assert (trace.upper == 1).all()


@pytest.mark.parametrize("name", TOP)
def test_below_the_cut_nothing_is_asked_until_all_above_it_is_labelled(name):
    pool = rare_pool()
    m = method(name)
    c, by_label = prepared_cells(m, pool)
    domain = top_cells(c)
    k = int(c.size[domain].sum())
    rng = np.random.default_rng(1)
    state = m.start(c, (measure("f1"),), 2)
    for size in (90, 90, 50, 50):
        before = state.labelled[:, domain].sum(axis=(1, 2))
        design, draws = m.next_round(state, np.full(2, size), rng)
        outcome = simulate_labels(draws, by_label - state.labelled, rng)
        state = m.observe(state, design, outcome, np.zeros_like(state.excluded))
        below = state.labelled[:, ~domain].sum(axis=(1, 2))
        if (before + size <= k).all():
            assert (below == 0).all()
    assert (state.labelled[:, domain].sum(axis=(1, 2)) == k).all()
    assert (below == 280 - k).all()
    # the highest scores below the cut are the ones asked
    asked = np.flatnonzero(state.labelled[0].sum(axis=1) * ~domain)
    assert asked.min() >= np.flatnonzero(~domain).max() - len(asked) + 1


def test_the_variant_calibrates_when_an_iteration_is_full_and_doubles_the_next():
    pool = rare_pool()
    m = AcisPooled(first_iteration=20)
    c, by_label = prepared_cells(m, pool)
    rng = np.random.default_rng(2)
    state = m.start(c, (measure("f1"),), 1)
    turns = []
    for _ in range(16):
        proposal = state.proposal
        design, draws = m.next_round(state, np.array([10]), rng)
        outcome = simulate_labels(draws, by_label - state.labelled, rng)
        state = m.observe(state, design, outcome, np.zeros_like(state.excluded))
        if not np.array_equal(proposal, state.proposal):
            turns.append(int(state.labelled.sum()))
    assert turns == [20, 40, 80, 160]
    assert state.iteration[0] == 4


def test_the_switches_of_the_variant_do_what_they_say():
    pool = rare_pool()
    uncalibrated, whole = method("acis-pooled:calibrated=false"), method("acis-pooled:top_k=false")
    c, _ = prepared_cells(whole, pool)
    assert whole.start(c, (measure("f1"),), 1).domain.all()
    f1 = [measure("f1")]
    base, raw, last = (
        simulate(m, pool, f1, ReplayPlan(budgets=[100]), repeats=10)[0].value
        for m in (AcisPooled(), uncalibrated, method("acis-pooled:averaged=false"))
    )
    assert not np.array_equal(base, raw)
    assert not np.array_equal(base, last)


def test_kernel_herding_takes_items_in_proportion_to_the_domain():
    # two clumps of score, 3 to 1: of 40 picks about 30 and 10, by its very purpose within one or two
    score = np.concatenate([np.full(150, 1.0), np.full(50, 3.0)])
    pool = LabelledPool(
        score=score, probability=np.full(200, 0.5), prediction=(score > 2).astype(np.int64),
        label=(score > 2).astype(np.int64),
    )
    m = Herding(kernel="gaussian", top_domain=True)
    c, _ = prepared_cells(m, pool)
    state = m.start(c, (measure("accuracy"),), 1)
    counts = m._counts(state, np.array([40]))
    assert counts[0].tolist() == pytest.approx([30, 10], abs=2)


def test_the_mixture_finds_two_normal_classes_from_their_scores():
    rng = np.random.default_rng(4)
    label = (rng.random(1000) < 0.3).astype(np.int64)
    score = rng.normal(size=1000) + 4 * label
    pool = LabelledPool(
        score=score, probability=1 / (1 + np.exp(-(score - 2))), prediction=(score > 2.2).astype(np.int64),
        label=label,
    )
    m = GaussianMixture(top_domain=True)
    c, _ = prepared_cells(m, pool)
    state = m.start(c, (measure("f1"),), 1)
    inside = top_cells(c)
    expected = (m.rates(state)[0] * c.size)[inside].sum()
    assert expected == pytest.approx(label.sum(), rel=0.03), "without a single label"


@pytest.mark.parametrize("name", ["acis", "gmm", "herding", "isotonic", "platt", *TOP, "recycle"])
def test_a_pool_without_predicted_positives_is_no_obstacle(name):
    pool = synthetic_pool(120, seed=6)
    pool = replace(pool, prediction=np.zeros(120, np.int64))
    (trace,) = simulate(method(name), pool, [measure("f1")], ReplayPlan(budgets=[30, 120]), repeats=3)
    assert trace.value[:, 1] == pytest.approx(0.0)


@pytest.mark.parametrize("name", ["acis", "acis-pooled", "herding", KERNEL, "isotonic", FEW_LABELS])
def test_every_repeat_meets_its_budgets_across_the_cut(name):
    # some repeats reach the cut or the end of an iteration before others
    pool = rare_pool()
    m = method(name)
    budgets = [25, 60, 190, 230]
    (trace,) = run_block(
        m, prepared(m, pool, [measure("f1")]), ReplayPlan(budgets=budgets, seed=3), repeats=6
    )
    assert (trace.labels == budgets).all()
    assert np.isfinite(trace.value).all()
    assert (trace.lower <= trace.value).all()
    assert (trace.value <= trace.upper).all()
