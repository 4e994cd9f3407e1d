"""Partial pooling: what it comes to where the answer is known, and that intervals hold."""

import numpy as np
import pytest
import scipy
from scipy.stats import binom

from assay.errors import BadInput
from assay.evalcore.estimators.area_likelihood import DirectEstimates, design_effect, moderated_variances
from assay.evalcore.estimators.partial_pooling import pooled_estimates
from benchmarks.pooled_segments import JUDGED, TRIED_SEED, run, summary

UNIT = (0.0, 1.0)
EVERYWHERE = (-np.inf, np.inf)


def direct(value, labels, *, variance=None, predicted=np.nan, items=1e9, population=False):
    value = np.asarray(value, float)
    labels = np.broadcast_to(np.asarray(labels, float), value.shape)
    if variance is None:
        variance = value * (1 - value) / np.maximum(labels, 1)
    full = [np.broadcast_to(np.asarray(x, float), value.shape) for x in (variance, predicted, items)]
    return DirectEstimates(value=value, variance=full[0], labels=labels, predicted=full[1], items=full[2],
                           population=population)


def test_many_labels_leave_each_part_its_own_estimate():
    own = np.array([0.6, 0.7, 0.8, 0.9])
    pooled = pooled_estimates(direct(own, 20_000), 0.95, UNIT)
    assert pooled.value == pytest.approx(own, abs=0.003)
    error = np.sqrt(own * (1 - own) / 20_000)
    assert pooled.lower == pytest.approx(own - 1.96 * error, abs=0.002)
    assert pooled.upper == pytest.approx(own + 1.96 * error, abs=0.002)
    assert (pooled.own_share > 0.9).all()


def test_parts_that_agree_are_drawn_together_and_a_part_without_labels_is_as_the_others():
    pooled = pooled_estimates(direct([0.7, 0.9, 0.8, 0.8, 0.8, np.nan], [10, 10, 10, 10, 10, 0]), 0.95, UNIT)
    assert np.ptp(pooled.value) < 0.1 < 0.2
    assert pooled.value[5] == pytest.approx(pooled.towards[5], abs=1e-3)
    widths = pooled.upper - pooled.lower
    assert widths[5] > widths[:5].max()
    assert (pooled.lower_together <= pooled.lower).all()
    assert (pooled.upper_together >= pooled.upper).all()


def test_without_a_variance_of_its_own_no_interval_closes():
    # everything was right in ten labels of each part: the interval ends where the items of a part do
    pooled = pooled_estimates(direct(np.ones(8), 10, items=500), 0.95, UNIT)
    assert (pooled.upper == 1).all()
    assert (pooled.lower > 0.8).all()
    assert (pooled.lower < 0.99).all()


def test_a_prediction_is_believed_as_far_as_labels_bear_it_out():
    rng = np.random.default_rng(0)
    truth = scipy.special.expit(rng.normal(1, 1, 20))
    own = rng.binomial(10, truth) / 10
    told, shuffled, alone = (
        pooled_estimates(direct(own, 10, predicted=predicted), 0.95, UNIT).value
        for predicted in (truth, rng.permutation(truth), np.nan)
    )

    def error(value):
        return np.sqrt(np.mean((value - truth) ** 2))

    assert error(told) < 0.6 * error(alone)
    assert error(shuffled) < 1.2 * error(alone)


def test_measures_with_one_bound_and_with_none_have_scales_of_their_own():
    rng = np.random.default_rng(1)
    mean = rng.normal(5, 0.3, 40)
    sample = rng.normal(mean, 1, (8, 40))
    asked = direct(sample.mean(axis=0), 8, variance=sample.var(axis=0, ddof=1) / 8)
    free = pooled_estimates(asked, 0.95, EVERYWHERE)
    assert np.mean((free.value - mean) ** 2) < np.mean((asked.value - mean) ** 2)
    positive, negative = (
        pooled_estimates(direct(sign * asked.value**2, 8, variance=asked.variance), 0.95, bounds)
        for sign, bounds in ((1, (0.0, np.inf)), (-1, (-np.inf, 0.0)))
    )
    assert (positive.lower > 0).all()
    assert positive.value == pytest.approx(-negative.value, rel=1e-6)
    assert positive.lower == pytest.approx(-negative.upper, rel=1e-6)
    # a shift and another unit change nothing
    moved = pooled_estimates(
        direct(100 * asked.value - 7, 8, variance=1e4 * asked.variance), 0.95, EVERYWHERE
    )
    assert moved.value == pytest.approx(100 * free.value - 7, rel=1e-6)


def test_shares_and_grades_are_one_scale():
    own = np.array([0.2, 0.5, 0.6, 0.9])
    share = pooled_estimates(direct(own, 12, items=100), 0.95, UNIT)
    grade = pooled_estimates(
        direct(1 + 4 * own, 12, variance=16 * own * (1 - own) / 12, items=100), 0.95, (1.0, 5.0)
    )
    assert grade.value == pytest.approx(1 + 4 * share.value)
    assert grade.upper == pytest.approx(1 + 4 * share.upper)


def test_labels_worth_less_count_for_less():
    own = np.array([0.5, 0.7, 0.8, 0.9, 0.6])
    effect = design_effect(own, 3 * own * (1 - own) / 30, np.full(5, 30.0))
    assert effect == pytest.approx(3)
    narrow, wide = (
        pooled_estimates(direct(own, 30, variance=c * own * (1 - own) / 30), 0.95, UNIT) for c in (1, 3)
    )
    assert np.ptp(wide.value) < np.ptp(narrow.value)


def test_moderated_variances_lie_between_each_and_all():
    rng = np.random.default_rng(2)
    df = np.full(200, 4.0)
    variance = 2.0 / rng.chisquare(6, 200) * 6 * rng.chisquare(4, 200) / 4
    moderated, freedom = moderated_variances(variance, df)
    # Smyth (2004): prior degrees of freedom 6, estimated from 200 parts
    assert 3 < freedom[0] - 4 < 12
    assert np.ptp(np.log(moderated)) < np.ptp(np.log(variance))
    alike, pooled_df = moderated_variances(np.full(5, 2.0), np.full(5, 9.0))
    assert alike == pytest.approx(np.full(5, 2.0))
    assert pooled_df == pytest.approx(np.full(5, 45.0))


def test_a_population_has_no_last_item():
    pool, population = (
        pooled_estimates(direct([0.8, 0.9, 0.7, 1.0], 20, items=40, population=of), 0.95, UNIT)
        for of in (False, True)
    )
    assert (population.upper - population.lower > pool.upper - pool.lower).all()
    assert pool.upper[3] == 1
    assert population.upper[3] < 1


def test_too_few_parts_or_no_variance_at_all_are_left_alone():
    assert pooled_estimates(direct([0.5, 0.7], 10), 0.95, UNIT) is None
    assert pooled_estimates(direct([0.5, 0.7, np.nan], [10, 10, 0]), 0.95, UNIT) is None
    assert pooled_estimates(direct([1.0, 2.0, 3.0], 10, variance=0.0), 0.95, EVERYWHERE) is None
    with pytest.raises(BadInput, match="confidence"):
        pooled_estimates(direct([0.5, 0.7, 0.9], 10), 1.5, UNIT)


@pytest.mark.statistical
def test_with_ten_labels_each_segments_are_nearer_to_the_truth_than_the_pool_s_value_and_intervals_hold():
    runs = [run(name, JUDGED[name], TRIED_SEED, number) for name in JUDGED for number in range(3)]
    found = summary(runs)
    assert found.pooled < found.whole
    assert found.everything <= 0.05
    # 30 evaluations of 20 segments; as if 150 were independent, below 0.94 by chance one time in a million
    assert found.coverage * 150 >= binom.isf(1 - 1e-6, 150, 0.94)
    assert found.pooled < 0.8 * found.own


@pytest.mark.parametrize("bounds", [(0.0, 1000.0), (0.0, np.inf), EVERYWHERE])
def test_means_far_from_their_bounds_are_pooled_as_if_there_were_none(bounds):
    """500 with an error of 0.2: no interval reaches for the bounds."""
    own = np.array([499.7, 500.1, 500.0, 500.3])
    pooled = pooled_estimates(direct(own, 25, variance=0.04, items=300), 0.95, bounds)
    assert (pooled.lower > own - 1).all()
    assert (pooled.upper < own + 1).all()


def test_an_error_that_is_small_against_its_range_stays_small():
    own = np.array([40.0, 44.0, 47.0, 52.0])
    pooled = pooled_estimates(direct(own, 40, variance=25.0, items=300), 0.95, (0.0, 1e6))
    assert (pooled.upper < 80).all()
    assert (abs(pooled.towards - own.mean()) < 10).all()


def test_a_part_whose_labels_are_all_there_and_vary_still_leaves_the_others_alone():
    """As by draws with replacement, which may have missed none and still have a variance."""
    own, labels = np.array([0.98, 0.92, 0.95, 1.0]), np.array([60.0, 60.0, 60.0, 4.0])
    alone = pooled_estimates(direct(own[:3], labels[:3], items=1000), 0.95, UNIT)
    beside = pooled_estimates(
        direct(own, labels, variance=[3.3e-4, 1.2e-3, 7.9e-4, 1e-3], items=[1000, 1000, 1000, 4]), 0.95, UNIT
    )
    assert beside.value[:3] == pytest.approx(alone.value, abs=0.02)


def test_a_prior_chance_of_no_difference_draws_parts_together_and_the_default_has_none():
    own = np.array([0.6, 0.7, 0.8, 0.9, 0.8, 0.7])
    usual, even, sure = (
        pooled_estimates(direct(own, 20), 0.95, UNIT, chance) for chance in (None, 1 / 24, 0.95)
    )
    assert even.value == pytest.approx(usual.value, abs=1e-12)
    assert np.ptp(sure.value) < 0.5 * np.ptp(usual.value)
    assert (sure.upper - sure.lower < usual.upper - usual.lower).all()
