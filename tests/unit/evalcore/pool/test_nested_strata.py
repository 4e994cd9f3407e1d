"""Nested strata along a score: where they are cut, how they split, and what their ranks are."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.evalcore.pool.nested_strata import (
    FINEST,
    NESTED_LEVELS,
    log_rank_odds,
    nested_strata,
    two_sided_edges,
)
from assay.evalcore.pool.strata import ScoresInMemory
from assay.evalcore.reproducible import stream


def test_the_decision_is_an_edge_and_each_side_has_as_many_strata_as_asked_for():
    score = stream(1, "nested").standard_normal(20_000)
    ordered = np.sort(score)
    edges = two_sided_edges(ScoresInMemory(score), 3_000)
    assert ordered[-3_000] in edges
    assert (edges > ordered[-3_000]).sum() == FINEST - 1
    assert (edges < ordered[-3_000]).sum() == FINEST - 1
    # finest around the threshold: strata of predicted negatives grow away from it
    sizes = np.diff(np.searchsorted(ordered, edges[edges <= ordered[-3_000]]))
    assert sizes[-1] < sizes[0]


@pytest.mark.parametrize(("scores", "positives", "edges"), [
    ([-1.0, -1.0, 1.0, 1.0], 2, [1.0]),          # predictions alone: a score of two values
    ([0.0, 0.0, 0.0], 0, []),                    # one value
    ([0.0, 0.0, 0.0], 3, []),
    ([2.0], 1, []),
])
def test_few_values_make_few_strata(scores, positives, edges):
    assert two_sided_edges(ScoresInMemory(np.array(scores)), positives).tolist() == edges


@given(st.lists(st.integers(0, 1), min_size=1, max_size=40))
def test_strata_are_split_and_never_merged_and_do_not_mix_predictions(prediction):
    found = nested_strata(np.array(prediction), np.arange(len(prediction), dtype=float))
    for level in range(NESTED_LEVELS):
        stratum, side = found.stratum[level], found.sides[level]
        assert (side[stratum] == prediction).all()
        assert sorted(set(stratum.tolist())) == list(range(len(side)))
        if level:
            coarser = found.stratum[level - 1]
            for one in np.unique(stratum):
                assert len(np.unique(coarser[stratum == one])) == 1


def test_a_level_needs_eight_labels_for_each_of_its_strata():
    found = nested_strata(np.repeat([0, 1], 16), np.arange(32.0))
    assert [found.level(n) for n in (0, 31, 32, 63, 64, 128, 256, 10_000)] == [0, 0, 1, 1, 2, 3, 4, 4]


def test_mean_log_rank_odds_by_adding_up():
    # ten items in cells of four, five and one from the top; the threshold after the first four.  The mean
    # over a cell is the integral over its ranks
    size, place = np.array([1, 5, 4]), np.array([0.0, 1.0, 2.0])
    r = (np.arange(10 * 10_000) + 0.5) / 10_000
    odds = np.log(r / (10 - r)) - np.log(4 / 6)
    by_hand = [odds[r > 9].mean(), odds[(r > 4) & (r < 9)].mean(), odds[r < 4].mean()]
    assert log_rank_odds(size, place, 4) == pytest.approx(by_hand, abs=1e-3)
