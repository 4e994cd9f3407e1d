"""Systematic draws over cells in random order: exact sizes, exact probabilities, company for everybody."""

import numpy as np
import pytest
from scipy.stats import norm

from assay.evalcore.design.draws import systematic

Z = norm.isf(1e-7)  # some tens of comparisons: a false alarm in 100,000 fresh seeds


@pytest.mark.statistical
def test_every_count_has_its_expectation_and_the_total_never_varies():
    left = np.array([1, 4, 50, 3, 1, 1, 200, 7])
    pi = np.array([0.3, 0.25, 0.09, 1.0, 0.95, 0.05, 0.016, 0.0])
    assert (left * pi).sum() == pytest.approx(13)      # 0.3 + 1 + 4.5 + 3 + 0.95 + 0.05 + 3.2 + 0 = 13
    repeats = 20_000
    counts = systematic(
        np.tile(left, (repeats, 1)), np.tile(pi, (repeats, 1)), np.random.default_rng(11)
    )
    assert (counts.sum(axis=1) == 13).all()
    assert (counts >= np.floor(left * pi - 1e-9)).all()
    assert (counts <= np.ceil(left * pi + 1e-9)).all()
    for c in range(8):
        fraction = (left * pi)[c] % 1
        chance_error = np.sqrt(fraction * (1 - fraction) / repeats)
        assert abs(counts[:, c].mean() - (left * pi)[c]) <= Z * chance_error + 1e-9


@pytest.mark.statistical
def test_any_two_cells_can_be_drawn_together():
    # ten items of π = 0.2: in a fixed order neighbours would never meet.  In random order all pairs are
    # alike, and two of ten are drawn, so each pair comes up with chance 1/45.
    repeats = 20_000
    counts = systematic(np.ones((repeats, 10), int), np.full((repeats, 10), 0.2), np.random.default_rng(3))
    together = counts.T @ counts / repeats
    pairs = together[np.triu_indices(10, 1)]
    assert np.abs(pairs - 1 / 45).max() <= Z * np.sqrt(1 / 45 * 44 / 45 / repeats)


def test_certain_items_are_drawn_and_impossible_ones_are_not():
    counts = systematic(np.array([[3, 2, 6]]), np.array([[1.0, 0.0, 1.0]]), np.random.default_rng(1))
    assert counts.tolist() == [[3, 0, 6]]
