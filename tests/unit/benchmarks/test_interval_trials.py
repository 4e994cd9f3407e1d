"""How far an interval must be stretched to reach the truth, in trials of intervals."""

import numpy as np
import pytest

from benchmarks.interval_trials.trials import needed_stretch

WHOLE = np.zeros(4), np.ones(4)


def test_an_end_that_is_the_truth_needs_no_stretch_and_one_half_way_on_the_logit_scale_needs_twice():
    value, ends = np.full(4, 0.5), (np.full(4, 0.2), np.full(4, 0.8))
    # log odds of 0.8 are log 4, those of 16/17 twice that; below, the same
    truth = np.array([0.8, 16 / 17, 0.2, 1 / 17])
    assert needed_stretch(truth, value, ends, (0.0, 1.0), WHOLE) == pytest.approx([1.0, 2.0, 1.0, 2.0])


def test_an_end_that_is_certain_needs_no_stretch():
    value, ends, certain = np.full(2, 0.5), (np.full(2, 0.2), np.full(2, 0.8)), (np.full(2, 0.2), np.ones(2))
    needed = needed_stretch(np.array([0.2, 0.8]), value, ends, (0.0, 1.0), certain)
    assert needed == pytest.approx([0.0, 1.0])
