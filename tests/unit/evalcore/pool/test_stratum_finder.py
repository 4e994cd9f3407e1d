"""Strata found by a table are those of a binary search."""

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.evalcore.pool import strata
from assay.evalcore.pool.strata import StratumFinder

ANY = st.floats(allow_nan=False, allow_infinity=False)
SCORE = st.one_of(ANY, st.floats(-2, 2), st.sampled_from([-0.0, 0.0, 1.0]))
SCORES = st.lists(SCORE, min_size=1, max_size=60).map(np.array)


@settings(max_examples=60, deadline=None)
@given(scores=SCORES, buckets=st.sampled_from([1, 3, 64]), at_once=st.integers(1, 20), data=st.data())
def test_the_stratum_is_that_of_a_binary_search(scores, buckets, at_once, data):
    picked = data.draw(st.lists(st.one_of(st.sampled_from(scores.tolist()), ANY), max_size=12))
    edges = np.unique(np.array(picked, np.float64))
    near = np.concatenate([scores, edges, np.nextafter(edges, 0.0), -scores])
    with patch.multiple(strata, _FEW_SCORES=0, _BUCKETS=buckets, _SCORES_IN_CACHE=at_once):
        found = StratumFinder(edges).strata_of(near)
    assert found.dtype == np.int64
    assert (found == np.searchsorted(edges, near, side="right")).all()


@pytest.mark.parametrize("edges", [
    np.array([]), np.array([0.5]), np.linspace(-3, 3, 255), np.r_[-1e308, np.linspace(0, 1e-3, 40), 1e308],
    np.r_[0.0, 5e-324, 1e-300], np.sort(np.random.default_rng(2).standard_cauchy(900)),
], ids=["none", "one", "even", "far apart", "smallest", "heavy tails"])
def test_many_scores_with_edges_of_all_kinds(edges):
    rng = np.random.default_rng(1)
    scores = np.concatenate([
        rng.normal(size=70_000), rng.standard_cauchy(20_000), edges, np.nextafter(edges, -np.inf),
        [0.0, -0.0, 1.7e308, -1.7e308],
    ])
    assert (StratumFinder(edges).strata_of(scores) == np.searchsorted(edges, scores, side="right")).all()
