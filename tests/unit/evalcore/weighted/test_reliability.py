"""The share of positives by probability, by hand."""

import numpy as np
import pytest

from assay.evalcore.outcomes.classes import Classes
from assay.evalcore.outcomes.items import Items
from assay.evalcore.weighted.judges import of_predicted, reliability, reliability_of_predictions
from assay.evalcore.weighted.sample import WeightedSample


def a_sample(label, weight, *, exact=False):
    n = len(label)
    none = np.zeros(n, np.int64)
    return WeightedSample(
        cell=none, rank=np.arange(n), round=none + 1, draw=np.arange(n), label=label, probability=1 / weight,
        weight=weight, factor=weight * (weight - 1), group=none - 1, reached=np.array([True]), exact=exact,
    )


def test_each_bin_weighs_its_labels_and_bins_without_labels_are_left_out():
    label = np.array([0.0] * 20 + [1.0] * 10 + [1.0] * 10)
    weight = np.array([3.0] * 20 + [1.0] * 10 + [2.0] * 10)
    probability = np.array([0.1] * 20 + [0.19] * 10 + [1.0] * 10)
    low, high = reliability(a_sample(label, weight), probability, ("no", "yes"), 1000, 0.95)
    assert (low.lower, low.upper, low.labels) == (0.1, 0.2, 30)
    assert low.share == pytest.approx(10 / 70)
    assert low.predicted == pytest.approx((60 * 0.1 + 10 * 0.19) / 70)
    assert low.share_lower < low.share < low.share_upper
    assert (high.lower, high.upper, high.share) == (0.9, 1.0, 1.0)
    assert 0.5 < high.share_lower < 1.0


def test_few_labels_have_no_share_but_a_reason_and_all_labels_have_it_exactly():
    few = np.array([0.0, 1.0]), np.array([5.0, 5.0])
    [bin] = reliability(a_sample(*few), np.array([0.42, 0.44]), ("no", "yes"), 10, 0.95)
    assert (bin.share, bin.labels) == (None, 2)
    assert bin.undefined_reason
    known = a_sample(few[0], np.ones(2), exact=True)
    [bin] = reliability(known, np.array([0.42, 0.44]), ("no", "yes"), 2, 0.95)
    assert (bin.share, bin.share_lower, bin.share_upper) == (0.5, 0.5, 0.5)


def test_of_several_classes_it_is_the_share_predicted_right_by_the_probability_of_the_prediction():
    label = np.array([0.0] * 10 + [1.0] * 10 + [2.0] * 20)
    predicted = np.array([0.0] * 20 + [2.0] * 20)
    weight = np.array([4.0] * 10 + [2.0] * 10 + [1.0] * 20)
    each = np.array([[0.55, 0.4, 0.05]] * 20 + [[0.01, 0.02, 0.97]] * 20)
    probability = of_predicted(predicted, each)
    middle, high = reliability_of_predictions(
        Classes(names=("a", "b", "c")), a_sample(label, weight), Items(prediction=predicted[:, None]),
        probability, 1000, 0.95,
    )
    assert (middle.lower, middle.labels, high.lower, high.labels) == (0.5, 20, 0.9, 20)
    assert middle.share == pytest.approx(40 / 60)
    assert middle.share_lower < middle.share < middle.share_upper
    assert (high.predicted, high.share) == (pytest.approx(0.97), 1.0)
