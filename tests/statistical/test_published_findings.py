"""What the papers found, found again: small pools, fixed seeds, tolerances from a stated false-alarm rate.

A ratio of two mean squared errors, each the mean of R squared errors with its standard error, has a relative
standard error of about √(r₁² + r₂²), rᵢ those of the two; a claim "below 1" is tested at Z of them.
"""

from itertools import pairwise

import numpy as np
import pytest
from doubles.digits import eight_or_not
from doubles.pools import synthetic_pool
from doubles.published import PUBLISHED
from doubles.studies import in_a_study
from scipy.special import expit
from scipy.stats import norm

from assay.evalcore.design.draws import simulate_labels
from assay.evalcore.design.proposal import LabelledCells, predicted_draw_variance, variance_minimising
from assay.evalcore.design.round import CountedDesign, RoundLabels
from assay.evalcore.estimators.horvitz_thompson import one_round
from assay.evalcore.estimators.importance import WeightSums, estimate_of_draws
from assay.evalcore.estimators.joint_region import confidence_region
from assay.evalcore.measures.registry import measure
from assay.evalcore.methods.registry import method
from assay.evalcore.pool.strata import Cells
from assay.evalcore.replay.pool import LabelledPool, prepared_cells
from assay.evalcore.replay.run import ReplayPlan, simulate, summarise

pytestmark = pytest.mark.statistical
Z = norm.isf(1e-6)


def rows(pool, method_name, budgets, repeats, batch_size, measure_name="f1"):
    m = measure(measure_name)
    truth = float(m.of_confusion(pool.confusion()))
    (trace,) = simulate(
        method(method_name), pool, [m], ReplayPlan(
            budgets=budgets, batch_size=batch_size, seed=3
        ), repeats=repeats
    )
    return summarise(trace, truth, budgets)


def ratio(above, below):
    """(ratio, its standard error) of two mean squared errors."""
    value = above.mse / below.mse
    return value, value * np.hypot(above.mse_se / above.mse, below.mse_se / below.mse)


@pytest.fixture(scope="module")
def digits():
    pool = eight_or_not()
    budgets = [65, 260, 520, 780, 1040, 1297]                     # 5, 20, 40, 60, 80, 100% of 1,297
    found = {name: rows(pool, name, budgets, 120, 130) for name in ("bernoulli", "optimal-is")}
    return found["bernoulli"], found["optimal-is"]


def test_bernoulli_beats_importance_sampling_the_more_the_more_is_labelled(digits):
    # Yilmaz et al. (2021), figures 2 and 8
    ratios = [ratio(b, i) for b, i in zip(*digits, strict=True) if i.mse > 0]
    values = [value for value, _ in ratios]
    for value, error in ratios[2:]:
        assert value + Z * error < 1
    assert values[-1] < 0.2 < values[1]
    assert all(later < earlier for earlier, later in pairwise(values[1:]))


def test_the_error_of_bernoulli_is_zero_when_everything_is_labelled(digits):
    last = digits[0][-1]
    assert (last.labels_mean, last.mse, last.width, last.coverage) == (1297, 0, 0, 1)


def test_bernoulli_intervals_cover_on_a_pool_that_is_not_rare(digits):
    # at a true coverage of 95%, 120 runs give fewer than 98 hits with a chance of 1e-7
    for row in digits[0]:
        assert row.coverage >= 98 / 120, row.labels


@pytest.mark.study
def test_the_advantage_of_active_sampling_grows_with_skew():
    # Sawade et al. (2010), figure 2, right: calibrated scores, positives 51%, 18%, 3%
    advantage = []
    for centre in (0.0, -2.5, -5.0):
        rng = np.random.default_rng(4)
        score = rng.normal(centre, 2.0, 20_000)
        pool = LabelledPool(
            score=score, probability=expit(score), prediction=(score > 0).astype(np.int64),
            label=(rng.random(20_000) < expit(score)).astype(np.int64),
        )
        (passive,), (active,) = (rows(pool, name, [300], 300, 100) for name in ("passive", "sawade"))
        advantage.append(ratio(passive, active))
    for (less, less_error), (more, more_error) in pairwise(advantage):
        assert more - less > Z / 2 * np.hypot(less_error, more_error)
    assert advantage[-1][0] > 4


def fixed_proposal_runs(runs, n, seed):
    """(pool, sums of `runs` samples of n draws from one proposal, its predicted variance of F1)."""
    pool = synthetic_pool(3000, seed=12, threshold=0.5)
    cells, by_label = prepared_cells(method("dirichlet-tree:depth=4"), pool)
    rate, f1 = by_label[:, 1] / cells.size, measure("f1")
    nothing = np.zeros((1, cells.n_cells, 2), int)
    design = variance_minimising(
        LabelledCells(measures=[f1], cells=cells, labelled=nothing, left=cells.size[None]), rate[None],
        size=np.array([10]), epsilon=np.array([1e-2]), deterministic=False,
    )
    predicted = predicted_draw_variance(f1, cells, nothing, design)[0] / n
    chance = (by_label * design.unlabelled[0, :, None]).ravel()
    drawn = np.random.default_rng(seed).multinomial(n, chance / chance.sum(), size=runs)
    drawn = drawn.reshape(runs, cells.n_cells, 2)
    many = CountedDesign(
        replacement=True, size=np.broadcast_to(cells.size, (runs, cells.n_cells)), left=design.left,
        unlabelled=np.repeat(design.unlabelled, runs, axis=0), labelled=np.zeros(drawn.shape),
        model=design.model, gradient=design.gradient, census=np.zeros(runs, bool),
    )
    outcome = RoundLabels(new=drawn, drawn_new=drawn, drawn_known=np.zeros_like(drawn))
    return pool, WeightSums.none(runs).add(cells, many, outcome), predicted


def test_the_joint_region_covers_as_often_as_it_says():
    # 1,000 runs at 95%: the share covered has a standard error of 0.7%; 1% more for the delta method
    pool, sums, _ = fixed_proposal_runs(1000, 2000, seed=8)
    measures = [measure("precision"), measure("recall"), measure("f1")]
    truth = np.array([float(m.of_confusion(pool.confusion())) for m in measures])
    # F1 follows from precision and recall, so the region of all three is all but flat: two of them are asked
    hits = sum(
        bool(confidence_region(measures[:2], sums, 0.95, repeat=r).contains(truth[:2])) for r in range(1000)
    )
    assert abs(hits / 1000 - 0.95) < Z * np.sqrt(0.95 * 0.05 / 1000) + 0.01
    flat = confidence_region(measures, sums, 0.95)
    lengths, _ = flat.axes()
    assert lengths[2] < 0.01 * lengths[0]


def test_theorem_2_gives_the_variance_of_ten_thousand_runs():
    # Marchant & Rubinstein (2021), theorem 2: with proposal q and the true p(y|x), the variance of Ĝ from n
    # draws is that of J·(w ℓ) over n.  n = 2,000 draws of a pool of 3,000, F1 near 0.8: the delta method is
    # good to about 1%, and the variance of 10,000 runs has a relative standard error of √(2/10,000) = 1.4%.
    pool, sums, predicted = fixed_proposal_runs(10_000, 2000, seed=7)
    f1 = measure("f1")
    got = estimate_of_draws(f1, sums, 0.95)
    assert got.value.var() == pytest.approx(predicted, rel=Z * 0.0142 + 0.01)
    assert got.variance.mean() == pytest.approx(predicted, rel=0.02)
    truth = float(f1.of_confusion(pool.confusion()))
    misses = int(((got.lower > truth) | (got.upper < truth)).sum())
    assert abs(misses - 500) < Z * np.sqrt(10_000 * 0.05 * 0.95) + 100, "and its intervals cover 95%"


@pytest.mark.parametrize("method_name", [
    in_a_study(name) if place % 4 else name for place, name in enumerate(PUBLISHED)
])
def test_every_method_comes_closer_with_labels_and_ends_at_the_truth(method_name):
    pool = synthetic_pool(400, seed=9)
    budgets = [40, 160, 400]
    found = rows(pool, method_name, budgets, 100, 20)
    for row, budget in zip(found, budgets, strict=True):
        assert row.labels_mean <= budget, "never over budget"
    early, later, last = found
    assert later.mse < early.mse
    assert (last.mse, last.width, last.coverage) == (0, 0, 1)


def test_horvitz_thompson_totals_of_bernoulli_rounds_average_to_the_truth():
    # The one-shot b reached in rounds: totals are unbiased up to what the batches' fixed size takes away
    pool = synthetic_pool(400, seed=9)
    repeats, m = 2000, method("bernoulli")
    cells, by_label = prepared_cells(m, pool)
    state, rng = m.start(cells, [measure("f1")], repeats), np.random.default_rng(5)
    for _ in range(4):
        design, draws = m.next_round(state, np.full(repeats, 20), rng)
        outcome = simulate_labels(draws, by_label - state.labelled, rng)
        state = m.observe(state, design, outcome, np.zeros_like(state.excluded))
    totals = one_round(cells, np.zeros_like(state.labelled), state.left, state.labelled, state.inclusion)
    for f in (0, 1):
        for y in (0, 1):
            got = totals.table[:, f, y]
            standard_error = got.std() / np.sqrt(repeats)
            truth = pool.confusion()[f, y]
            # 0.5% for the dependence of later b on how the earlier rounds fell
            assert abs(got.mean() - truth) < Z * standard_error + 0.005 * truth


def test_supplied_probabilities_of_0_and_1_rule_nothing_out():
    cells = Cells(
        stratum=np.array([0, 1]), prediction=np.array([0, 1]), size=np.array([5, 3]),
        mean_score=np.array([-1.0, 1.0]), mean_probability=np.array([0.0, 1.0]), log_density=np.zeros(2),
        n_slots=2,
    )
    for m in map(method, PUBLISHED):
        design = m.propose(m.start(cells, [measure("f1")], 1), np.array([2]))
        assert (design.unlabelled[0] > 0).all(), m.name


def test_equation_28_is_what_a_calibrated_classifier_should_expect():
    # Calibrated scores believed as they are: eq. 28 and the variance estimated from the labels agree (the
    # mean of 300 estimates is good to a few percent), and the actual error is at or below both, because a
    # systematic draw spreads over the cells better than independent coins.
    rng = np.random.default_rng(4)
    score = rng.normal(-2.5, 2.0, 5000)
    pool = LabelledPool(
        score=score, probability=expit(score), prediction=(score > 0).astype(np.int64),
        label=(rng.random(5000) < expit(score)).astype(np.int64),
    )
    m, f1, repeats = method("bernoulli:trust=1"), measure("f1"), 300
    truth = float(f1.of_confusion(pool.confusion()))
    cells, by_label = prepared_cells(m, pool)
    state = m.start(cells, [f1], repeats)
    for _ in range(2):
        design, draws = m.next_round(state, np.full(repeats, 400), rng)
        outcome = simulate_labels(draws, by_label - state.labelled, rng)
        state = m.observe(state, design, outcome, np.zeros_like(state.excluded))
        (got,) = m.estimate(state, 0.95, rng)
        predicted = float(got.diagnostics["predicted_variance"].mean())
        assert got.variance.mean() == pytest.approx(predicted, rel=0.1)
        squared = (got.value - truth) ** 2
        assert squared.mean() - Z * squared.std() / np.sqrt(repeats) < predicted
        assert squared.mean() > predicted / 2
