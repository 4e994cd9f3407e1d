"""The chance of a window's draws while its limit is kept."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

from assay.evalcore.monitoring.betting import expected
from assay.evalcore.monitoring.single_window import FEWEST_DRAWS, chance_of_draws
from assay.evalcore.monitoring.strata_of_draws import DrawsByStratum, strata_of_cells
from assay.evalcore.reproducible import stream


def chance(x, bound):
    """Of draws (R, T) of one stratum; NaN where there is none."""
    drawn = np.where(np.isfinite(x), 0, -1)
    return chance_of_draws(of_strata(drawn, x, bound, np.zeros((len(x), 1))))


def of_strata(drawn, total, bound, most):
    return replace(
        DrawsByStratum.new(len(drawn), 1, most.shape[1]), drawn=drawn, total=total,
        bound=np.where(drawn < 0, 0.0, bound), most=most,
    )


LIMIT = 0.8     # of the share of right answers: a draw is 0.2 where one is right, -0.8 where it is wrong


@pytest.mark.parametrize(("draws", "wrong"), [(100, 40), (100, 35), (50, 12), (20, 14), (400, 100)])
def test_of_a_share_it_is_the_tail_of_the_binomial(draws, wrong):
    x = np.repeat([-LIMIT, 1 - LIMIT], [wrong, draws - wrong])[None]
    found = chance(x, np.full_like(x, 1 - LIMIT))
    assert found[0] == pytest.approx(binom.sf(wrong - 1, draws, 1 - LIMIT), rel=0.01)


def test_where_all_draws_are_the_worst_it_is_the_chance_of_just_that():
    x = np.full((1, 30), -0.1)
    assert chance(x, np.full((1, 30), 2.0))[0] == pytest.approx((2.0 / 2.1) ** 30)


def test_rows_of_unequal_length_are_as_alone_and_units_do_not_matter():
    rng = stream(1, "draws")
    x = rng.normal(-0.3, 1.0, (2, 40))
    bound = np.full((2, 40), 4.0)
    longer = np.where(np.arange(40) < [[25], [40]], x, np.nan)
    alone = [chance(x[:1, :25], bound[:1, :25])[0], chance(x[1:], bound[1:])[0]]
    np.testing.assert_allclose(chance(1e6 * longer, 1e6 * bound), alone, rtol=1e-8)


def test_nothing_follows_from_few_draws_or_from_a_kept_limit():
    few = np.full((1, FEWEST_DRAWS - 1), -1.0)
    assert chance(few, np.ones_like(few))[0] == 1.0
    assert chance(-np.ones((1, 50)), np.ones((1, 50)))[0] < 1e-9
    assert chance(np.ones((1, 50)), np.ones((1, 50)))[0] == 1.0
    assert chance(np.zeros((1, 0)), np.zeros((1, 0)))[0] == 1.0


@pytest.mark.parametrize("draws", [20, 100])
def test_draws_of_many_values_are_rejected_no_more_often_than_the_level_says(draws):
    """Of 1,500 windows whose true mean is 0, 1 in 100 is to be rejected: with a level that is kept more than
    31 are in fewer than 1 of 10,000 tries."""
    rng = stream(2, f"{draws} draws of many values")
    x = rng.choice([-0.5, -0.25, 0.0, 0.1, 1.4], (1500, draws), p=[0.2, 0.2, 0.3, 0.2, 0.1])
    x = x - (0.2 * -0.5 + 0.2 * -0.25 + 0.2 * 0.1 + 0.1 * 1.4)
    rejected = (chance(x, np.full_like(x, 1.4)) <= 0.01).sum()
    assert rejected <= binom.ppf(1 - 1e-4, len(x), 0.01)


def test_of_two_strata_whose_steps_differ_it_is_about_the_tail_of_the_sum():
    # 20 of 40 are wrong in a stratum of 600 items, 15 of 60 in one of 400: 400 of 1,000, where 200 may be
    drawn = np.repeat([0, 1], [40, 60])[None]
    wrong = np.r_[np.arange(40) < 20, np.arange(60) < 15][None]
    size = np.where(drawn == 0, 600.0, 400.0)
    found = chance_of_draws(
        of_strata(drawn, size * np.where(wrong, -LIMIT, 1 - LIMIT), size * (1 - LIMIT), np.zeros((1, 2)))
    )[0]
    # the rates of the most likely distribution that keeps the limit, found by a search along it
    first = np.linspace(0.2, 1 / 3, 20_001)
    second = (200 - 600 * first) / 400
    likely = binom.logpmf(20, 40, first) + binom.logpmf(15, 60, second)
    p, q = first[np.argmax(likely)], second[np.argmax(likely)]
    a, b = np.meshgrid(np.arange(41), np.arange(61), indexing="ij")
    low = 600 * a / 40 + 400 * b / 60 >= 600 * 0.5 + 400 * 0.25 - 1e-9
    exact = (binom.pmf(a, 40, p) * binom.pmf(b, 60, q))[low].sum()
    assert exact <= found <= 1.3 * exact


def test_a_stratum_without_a_draw_has_its_largest_total():
    rng = stream(3, "a stratum without a draw")
    x = rng.normal(-0.3, 1.0, (1, 40))
    drawn, bound = np.zeros((1, 40), np.int64), np.full((1, 40), 4.0)
    without = chance_of_draws(of_strata(drawn, x, bound, np.zeros((1, 2))))[0]
    kept = chance_of_draws(of_strata(drawn, x, bound, np.array([[0.0, 0.1]])))[0]
    assert 0 < without < kept <= 1
    assert chance_of_draws(of_strata(drawn, x, bound, np.array([[0.0, 1.0]])))[0] == 1.0


def test_strata_keep_to_largest_values_and_share_out_the_draws():
    # of F1, by label: four cells are predicted positive
    value = np.array([[0.0, -0.5]] * 6 + [[-0.5, 1.5]] * 4)
    model = np.array([[0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.6, 0.7, 0.8, 0.9]])
    mass = np.ones((1, 10))
    found = strata_of_cells(expected(value[None], model), mass, 4)
    assert found.tolist() == [[1, 1, 1, 0, 0, 0, 2, 2, 3, 3]]
    assert strata_of_cells(expected(value[None], model), mass, 1).tolist() == [[0] * 10]
