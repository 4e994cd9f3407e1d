"""Appendix C of Yilmaz et al. (2021): importance and Bernoulli sampling compared."""

import numpy as np
import pytest

from assay.evalcore.design.draws import (
    bernoulli_error,
    bound,
    distinct_items,
    importance_error,
    inclusion_in_draws,
    leading_ratio,
    printed_bound,
)

H = np.array([4.0, 3, 2, 1])
Q = H / H.sum()


def test_two_draws_by_hand():
    # q = .4 .3 .2 .1; two draws miss an item with (1 - q)²: .36 .49 .64 .81, so 4 - 2.3 = 1.7 are distinct
    assert inclusion_in_draws(Q, 2) == pytest.approx([0.64, 0.51, 0.36, 0.19])
    assert distinct_items(Q, 2) == pytest.approx(1.7)
    # eq. 79: 10²/2.  Eq. 80 at M = 1.7: 100/1.7 - 30; the largest b is 4 · 1.7/10 < 1
    assert importance_error(H, 2) == pytest.approx(50)
    assert bernoulli_error(H, 1.7) == pytest.approx(100 / 1.7 - 30)
    # eq. 85: (1/1.7 - 1/4) · 2
    assert bound(4, 2, 1.7) == pytest.approx(2 / 1.7 - 0.5)


def test_all_labels_leave_no_error():
    assert bernoulli_error(H, 4) == 0
    assert inclusion_in_draws(np.array([1.0, 0.0]), 3).tolist() == [1, 0]


@pytest.mark.parametrize(("n_items", "draws"), [(1_000, 100), (10_000, 50), (300, 30)])
def test_bernoulli_draws_have_the_smaller_error_by_half_of_what_eq_87_prints(n_items, draws):
    rng = np.random.default_rng(n_items)
    for h in (np.ones(n_items), rng.gamma(3.0, size=n_items)):
        q = h / h.sum()
        labels = distinct_items(q, draws)
        ratio = bernoulli_error(h, labels) / importance_error(h, draws)
        assert ratio < 1
        assert ratio <= bound(n_items, draws, labels) + 1e-12
        gain = draws * (q**2).sum() / 2
        assert 1 - ratio == pytest.approx(gain, rel=0.1)
        assert leading_ratio(q, draws) == pytest.approx(1 - gain)
    # with equal weights eq. 87 is not kept
    even = np.full(n_items, 1 / n_items)
    ratio = bernoulli_error(even, distinct_items(even, draws)) / importance_error(even, draws)
    assert ratio > printed_bound(n_items, draws)
