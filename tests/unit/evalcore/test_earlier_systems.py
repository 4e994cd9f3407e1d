"""The factor model of earlier systems."""

import numpy as np
import pytest

from assay.evalcore.earlier_systems import fit_factors, most_telling, n_factors
from assay.evalcore.errors import BadInput


def made(n=300, m=60, seed=3):
    """Chances (n, m) of right answers with two abilities, and results."""
    rng = np.random.default_rng(seed)
    item, slope = rng.normal(size=(n, 2)) * (2.0, 1.0), rng.normal((1.2, 0.0), (0.3, 0.8), (m, 2))
    chance = 1 / (1 + np.exp(-(item @ slope.T + rng.normal(0, 0.5, m))))
    return chance, (rng.random((n, m)) < chance).astype(float)


def test_factors_find_the_chances_better_than_shares_do():
    chance, results = made()
    fit = fit_factors(results)
    # of a system that nobody has seen: the mean over systems; of one that was seen: its own
    own = np.abs(fit.of_systems() - chance).mean()
    assert own < 0.7 * np.abs(results.mean(axis=1, keepdims=True) - chance).mean()
    assert np.abs(fit.of_new_system() - chance.mean(axis=1)).mean() < 0.05


def test_missing_results_count_for_nothing():
    chance, results = made()
    gaps = np.random.default_rng(1).random(results.shape) < 0.5
    found = fit_factors(np.where(gaps, np.nan, results)).of_new_system()
    assert np.corrcoef(found, chance.mean(axis=1))[0, 1] > 0.97


def test_the_same_whatever_the_order_of_items():
    _, results = made(100, 10)
    order = np.random.default_rng(2).permutation(100)
    assert fit_factors(results[order]).of_new_system() == pytest.approx(
        fit_factors(results).of_new_system()[order], abs=1e-10)


def test_a_system_without_results_is_refused():
    with pytest.raises(BadInput, match="no result on these items"):
        fit_factors(np.array([[1.0, np.nan], [0.0, np.nan]]))


def test_the_most_telling_are_no_copies_of_each_other():
    rng = np.random.default_rng(4)
    a, b = rng.integers(0, 2, (2, 500)).astype(float)
    flipped = np.where(rng.random(500) < 0.1, 1 - a, a)
    # a twice, a with noise, b: the second that is taken is b
    assert most_telling(np.column_stack([a, a, flipped, b]), 2).tolist() in ([0, 3], [2, 3])
    assert len(most_telling(np.column_stack([a, a]), 2)) == 1


def test_factors_by_systems():
    assert [n_factors(m) for m in (1, 7, 8, 49, 50, 300)] == [1, 1, 2, 2, 3, 3]
