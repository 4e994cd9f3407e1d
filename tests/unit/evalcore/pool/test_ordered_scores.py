"""Counts from scores in order are those that numpy makes of them one by one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.evalcore.pool.strata import ScoresInMemory, histogram

NUMBERS = st.one_of(st.floats(-1e6, 1e6), st.floats(0, 1), st.integers(-3, 3).map(float), st.just(-0.0))


@settings(max_examples=80, deadline=None)
@given(scores=st.lists(NUMBERS, min_size=1, max_size=50).map(np.array), bins=st.integers(1, 40))
def test_the_histogram_is_numpys(scores, bins):
    rising = np.sort(scores) + 0.0
    _same(rising, bins, rising[0], rising[-1])


@pytest.mark.parametrize(("low", "width"), [
    (1.0, np.spacing(1.0)), (1e9, np.spacing(1e9) * 5), (-1.0, 1e-15), (0.0, 0.1), (3.0, 1 / 3),
    (-7e-9, 1e-20),
])
def test_scores_at_the_edges_and_beside_them_are_where_numpy_puts_them(low, width):
    for bins in (1, 7, 250, 65_536):
        high = low + bins * width
        edges = np.linspace(low, high, bins + 1)
        beside = np.concatenate([edges, np.nextafter(edges, np.inf), np.nextafter(edges, -np.inf)])
        _same(np.sort(beside[(beside >= low) & (beside <= high)]), bins, low, high)


def test_counts_of_pieces_add_up_though_none_reaches_both_ends():
    scores = np.sort(np.random.default_rng(3).normal(size=900))
    whole, _ = histogram(scores, 31, scores[0], scores[-1])
    pieces = [histogram(scores[i::7], 31, scores[0], scores[-1])[0] for i in range(7)]
    assert (np.sum(pieces, axis=0) == whole).all()


def test_scores_that_are_rising_are_not_sorted_again():
    scores = np.array([-1.0, 0.0, 0.0, 2.5])
    found, known = ScoresInMemory(scores, rising=True), ScoresInMemory(scores[::-1])
    assert (found.at(np.arange(4)) == known.at(np.arange(4))).all()


def _same(rising, bins, low, high):
    if low < high:
        known = np.histogram(rising, bins=bins, range=(low, high))
        for ours, theirs in zip(histogram(rising, bins, low, high), known, strict=True):
            assert (ours == theirs).all()
