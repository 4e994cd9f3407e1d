"""The interval of `recalibrated`: a hull of four, narrowed once hits and errors were found."""

import numpy as np
import pytest
from scipy.special import expit, logit

from assay.evalcore.measures.by_group import of_predictions
from assay.evalcore.measures.registry import measure
from assay.evalcore.recalibration.interval import (
    ByDesign,
    ByPosterior,
    Combined,
    GroupCounts,
    Quantiles,
    combine,
    main_interval,
    quantiles,
    stretched,
)

F1 = of_predictions([measure("f1")], np.array([0.0, 1.0]))[0].estimands[0]


def _arrays(*values):
    return tuple(np.array([v], float) for v in values)


def _interval(*, hits, errors, design_error=0.1, design_value=0.6, positives=1e-9):
    value, variance = _arrays(0.6, 0.03**2)
    (yes,) = (np.array([True]),)
    return main_interval(
        F1,
        Combined(value=value, variance=variance, trust=value * 0, gap=value * 0),
        ByDesign(
            usable=yes, value=np.array([design_value]), variance=variance,
            empirical=np.array([design_error**2]),
        ),
        Quantiles(nominal=_arrays(0.55, 0.68), early=_arrays(0.5, 0.7)),
        Quantiles(nominal=_arrays(0.52, 0.66), early=_arrays(0.48, 0.69)),
        GroupCounts(
            items=np.array([[1000.0, 100.0]]),
            labelled=np.array([[0.0, float(hits + errors)]]),
            known=np.array([[0.0, float(hits)]]),
            free=np.array([[1000.0, 100.0 - hits - errors]]),
            expected=np.array([[0.25, 0.75]]) * positives,
        ),
        1.96,
    )


def test_with_nothing_of_one_side_it_is_the_hull_of_four():
    lower, upper = _interval(hits=20, errors=0)
    # the design's own reaches 1.96 · 0.1 either way, further than the others
    assert (lower[0], upper[0]) == pytest.approx((0.6 - 0.196, 0.6 + 0.196))


def test_with_enough_of_both_and_rare_positives_the_design_s_interval_is_left_out():
    lower, upper = _interval(hits=20, errors=20)
    # the heavier tail's lower end, and the posterior's upper end a tenth further out in log odds
    odds = logit(0.6) + 1.1 * (logit(0.68) - logit(0.6))
    assert (lower[0], upper[0]) == pytest.approx((0.52, expit(odds)))


def test_a_design_s_interval_that_is_as_narrow_as_the_others_stays():
    (without,), _ = _interval(hits=20, errors=20)
    lower, upper = _interval(hits=20, errors=20, design_error=0.04, design_value=0.5)
    assert without == pytest.approx(0.52)
    assert lower[0] == pytest.approx(0.5 - 1.96 * 0.04)
    assert upper[0] < 0.7
    # twice as wide as the others: a sixteenth of it
    others = (upper[0] - without) / 2
    lower, _ = _interval(hits=20, errors=20, design_error=2 * others / 1.96, design_value=0.5)
    assert lower[0] == pytest.approx(0.5 - 2 * others / 16)


def test_where_positives_are_many_the_design_s_interval_stays():
    (kept,), _ = _interval(hits=20, errors=20, design_error=0.2, positives=1e9)
    assert kept == pytest.approx(0.6 - 1.96 * 0.2, abs=1e-6)


def test_in_between_it_is_in_between():
    (all_lower,), (all_upper,) = _interval(hits=20, errors=20)
    lower, upper = _interval(hits=40, errors=8)
    assert lower[0] == pytest.approx(0.4 * all_lower + 0.6 * 0.404)
    assert upper[0] == pytest.approx(0.4 * all_upper + 0.6 * 0.796)


def test_stretching_keeps_to_the_range_and_to_the_centre():
    ends = np.array([-0.9, 0.2]), np.array([0.9, 0.2])
    low, high = stretched(ends, np.array([0.0, 0.2]), 1.5, (-1.0, 1.0))
    far = 2 * 19**1.5 / (1 + 19**1.5) - 1          # odds of 19 to the power 1.5
    assert (low[0], high[0]) == pytest.approx((-far, far))
    assert (low[1], high[1]) == pytest.approx((0.2, 0.2))


def test_early_quantiles_lie_further_out_and_meet_the_nominal_ones_with_many_labels():
    rng = np.random.default_rng(1)
    draws, weight = rng.random((2, 4000)), np.full((2, 4000), 1 / 4000)
    found = quantiles(draws, weight, np.array([100.0, 1e6]), 0.95)
    assert found.nominal[0] == pytest.approx([0.025, 0.025], abs=0.01)
    assert found.early[0][0] == pytest.approx(0.0125, abs=0.006)    # n / (n + 100) of the tail is a half
    assert found.early[0][1] == pytest.approx(found.nominal[0][1], abs=1e-3)
    assert (found.early[1] >= found.nominal[1]).all()


@pytest.mark.parametrize("share", [0.4, 0.9])
def test_the_variance_is_that_of_two_estimates_of_which_one_knows_what_the_other_does(share):
    # the mean of 100 terms, and of the first of them: their covariance is the variance of the mean of all
    runs = 20_000
    x = np.random.default_rng(5).standard_normal((runs, 100)) / 10
    first, labels = round(100 * share), np.full(runs, 100.0)
    many, few = (np.full(runs, 0.01 / n) for n in (100, first))
    ones = np.ones((runs, 2))
    combined = combine(
        ByPosterior(median=x.mean(axis=1), mean=x.mean(axis=1), variance=many, undefined=labels * 0),
        ByDesign(usable=labels > 0, value=x[:, :first].mean(axis=1), variance=few, empirical=few),
        GroupCounts(items=ones, labelled=ones, known=ones, free=ones, expected=1e6 * ones), labels,
    )
    squared = combined.value**2
    # 4.9 standard errors of the mean of the squares: a false alarm in a million
    assert abs(squared.mean() - combined.variance.mean()) < 4.9 * squared.std() / np.sqrt(runs)
    assert 0.1 < combined.trust.mean() < 0.5
