"""Where labels went on the axis of the score, by hand."""

import numpy as np

from assay.evalcore.weighted.sample import BINS, along_the_score


def test_cells_and_labels_are_counted_where_the_mean_score_is():
    bins = along_the_score(
        np.array([0.0, 0.5, 10.0, 20.0]), np.array([900, 50, 7, 3]),
        [0, 1, 2, 2, 3], [False, True, True, False, True],
    )
    width = 20.0 / BINS
    assert [(b.lower, b.upper, b.items, b.labelled, b.positives) for b in bins] == [
        (0.0, width, 950, 2, 1), (10.0, 10.0 + width, 7, 2, 1), (20.0 - width, 20.0, 3, 1, 1),
    ]


def test_one_score_alone_is_one_bin():
    [only] = along_the_score(np.array([2.0, 2.0]), np.array([4, 5]), [], [])
    assert (only.lower, only.upper, only.items, only.labelled) == (2.0, 2.0, 9, 0)


def test_an_axis_too_long_for_a_float_is_left_out():
    assert along_the_score(np.array([-1.7e308, 1.7e308]), np.array([1, 1]), [0], [True]) == ()
