"""The chance of a window's draws while its limit is kept."""

import numpy as np
import pytest
from scipy.stats import binom

from assay.evalcore.monitoring.single_window import FEWEST_DRAWS, chance_of_draws
from assay.evalcore.reproducible import stream

LIMIT = 0.8     # of the share of right answers: a draw is 0.2 where one is right, -0.8 where it is wrong


@pytest.mark.parametrize(("draws", "wrong"), [(100, 40), (100, 35), (50, 12), (20, 14), (400, 100)])
def test_of_a_share_it_is_the_tail_of_the_binomial(draws, wrong):
    x = np.repeat([-LIMIT, 1 - LIMIT], [wrong, draws - wrong])[None]
    found = chance_of_draws(x, np.full_like(x, 1 - LIMIT))
    assert found[0] == pytest.approx(binom.sf(wrong - 1, draws, 1 - LIMIT), rel=0.01)


def test_where_all_draws_are_the_worst_it_is_the_chance_of_just_that():
    x = np.full((1, 30), -0.1)
    assert chance_of_draws(x, np.full((1, 30), 2.0))[0] == pytest.approx((2.0 / 2.1) ** 30)


def test_rows_of_unequal_length_are_as_alone_and_units_do_not_matter():
    rng = stream(1, "draws")
    x = rng.normal(-0.3, 1.0, (2, 40))
    bound = np.full((2, 40), 4.0)
    longer = np.where(np.arange(40) < [[25], [40]], x, np.nan)
    alone = [chance_of_draws(x[:1, :25], bound[:1, :25])[0], chance_of_draws(x[1:], bound[1:])[0]]
    np.testing.assert_allclose(chance_of_draws(1e6 * longer, 1e6 * bound), alone, rtol=1e-8)


def test_nothing_follows_from_few_draws_or_from_a_kept_limit():
    few = np.full((1, FEWEST_DRAWS - 1), -1.0)
    assert chance_of_draws(few, np.ones_like(few))[0] == 1.0
    assert chance_of_draws(-np.ones((1, 50)), np.ones((1, 50)))[0] < 1e-9
    assert chance_of_draws(np.ones((1, 50)), np.ones((1, 50)))[0] == 1.0
    assert chance_of_draws(np.zeros((1, 0)), np.zeros((1, 0)))[0] == 1.0


@pytest.mark.parametrize("draws", [20, 100])
def test_draws_of_many_values_are_rejected_no_more_often_than_the_level_says(draws):
    """Of 20,000 windows whose true mean is 0, 1 in 100 is to be rejected: with a level that is kept more than
    255 are in fewer than 1 of 10,000 tries."""
    rng = stream(2, f"{draws} draws of many values")
    x = rng.choice([-0.5, -0.25, 0.0, 0.1, 1.4], (20_000, draws), p=[0.2, 0.2, 0.3, 0.2, 0.1])
    x = x - (0.2 * -0.5 + 0.2 * -0.25 + 0.2 * 0.1 + 0.1 * 1.4)
    rejected = (chance_of_draws(x, np.full_like(x, 1.4)) <= 0.01).sum()
    assert rejected <= binom.ppf(1 - 1e-4, len(x), 0.01)
