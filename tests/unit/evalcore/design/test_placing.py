"""The placing model: what rates it expects, and how labels are shared out."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import expit

from assay.evalcore.design.placing import (
    LEAST_LABELS_OF_STRATUM,
    LEAST_TAUGHT,
    MOST_TAUGHT,
    PRIOR_DEVIATION,
    PRIOR_MEAN,
    placing_features,
    placing_rates,
    target_labels,
)

ODDS, SIDE = np.array([-3.0, -1.0, 1.0, 3.0, 5.0]), np.array([1, 1, 0, 0, 0])


def test_before_any_label_rates_fall_with_rank_through_a_half_at_the_threshold():
    features = placing_features(ODDS, SIDE)
    rate = placing_rates(features, np.zeros((1, 5)), np.zeros((1, 5)))[0]
    assert (np.diff(rate) < 0).all()
    assert rate[1] > 0.5 > rate[2]


def test_the_mode_is_where_another_optimiser_finds_it():
    features = placing_features(ODDS, SIDE)
    labels, positives = np.array([[5, 9, 30, 4, 2]]), np.array([[4, 3, 6, 0, 0]])
    most = MOST_TAUGHT / len(features)
    counted = most / (most - 1 + labels[0])

    def misfit(theta):
        p = expit(features @ theta)
        fit = (counted * (positives[0] * np.log(p) + (labels - positives)[0] * np.log1p(-p))).sum()
        return -fit + (((theta - PRIOR_MEAN) / PRIOR_DEVIATION) ** 2).sum() / 2

    theta = minimize(misfit, PRIOR_MEAN, tol=1e-12).x
    p = expit(features @ theta)
    curvature = (features * (labels[0] * counted * p * (1 - p))[:, None]).T @ features
    spread = np.linalg.inv(curvature + np.diag(1 / PRIOR_DEVIATION**2))
    wide = np.einsum("ci,ij,cj->c", features, spread, features)
    mean = expit(features @ theta / np.sqrt(1 + np.pi / 8 * wide))
    assert placing_rates(features, labels, positives)[0] == pytest.approx(mean, abs=1e-5)


def test_few_cells_teach_as_much_as_many():
    # the same 160 labels, 4% of them positive, of two values of a score and of thirty-two
    def taught(cells):
        odds = np.repeat([-1.0, 1.0], cells // 2)
        features = placing_features(odds, (odds < 0).astype(int))
        labels = np.full((1, cells), 160 / cells)
        return placing_rates(features, labels, labels * 0.04)[0, -1]

    assert taught(2) == pytest.approx(taught(32), abs=0.01)
    assert LEAST_TAUGHT * 32 == MOST_TAUGHT


@given(
    st.lists(st.floats(0, 1), min_size=3, max_size=3), st.lists(st.integers(0, 40), min_size=3, max_size=3),
    st.integers(1, 200),
)
def test_targets_add_up_keep_the_least_and_exceed_no_stratum(share, items, total):
    share, items = np.array([share]), np.array([items], dtype=float)
    if not items.sum():
        return
    target = target_labels(share, items, total)
    assert target.sum() == pytest.approx(min(total, items.sum()), abs=1e-6)
    assert (target <= items + 1e-9).all()
    if total >= 3 * LEAST_LABELS_OF_STRATUM:
        assert (target >= np.minimum(LEAST_LABELS_OF_STRATUM, items) - 1e-9).all()


def test_targets_follow_shares():
    target = target_labels(np.array([[1.0, 2.0, 5.0]]), np.array([[1e4, 1e4, 1e4]]), 80)
    assert target[0] == pytest.approx([10, 20, 50])
