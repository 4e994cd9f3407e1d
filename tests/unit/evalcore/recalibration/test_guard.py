"""The guard for the time until enough positives below the threshold were found."""

import numpy as np
import pytest

from assay.evalcore.measures.by_group import of_predictions
from assay.evalcore.measures.registry import measure
from assay.evalcore.recalibration.interval import GUARDED_POSITIVES, GroupCounts, guard_share, guarded


def _number(name):
    (found,) = of_predictions([measure(name)], np.array([0.0, 1.0]))
    return found.estimands[0]


F1 = _number("f1")


def _counts(missed, *, labelled=25.0, items=1000.0, predicted=85.0):
    """One repeat: positives found among the predicted negatives, labels there, and items by prediction."""
    return GroupCounts(
        items=np.array([[items, predicted]]),
        labelled=np.array([[labelled, 25.0]]),
        known=np.array([[missed, 12.0]]),
        free=np.array([[items - labelled, predicted - 25.0]]),
        expected=np.array([[missed + 10, 40.0]]),
    )


def _share(estimand, counts):
    return guard_share(estimand.quantity.label_matters, counts.items, counts.labelled, counts.known)


def _ends(lower, upper):
    return np.array([lower]), np.array([upper])


@pytest.mark.parametrize(
    ("missed", "share"),
    [(0, 1), (GUARDED_POSITIVES, 1), (4 * GUARDED_POSITIVES, 0.5), (100 * GUARDED_POSITIVES, 0.1)],
)
def test_it_is_whole_until_a_few_positives_were_found_below_the_threshold_and_fades_from_there(missed, share):
    assert _share(F1, _counts(float(missed))) == pytest.approx([share])


def test_there_is_none_where_a_label_stands_for_as_many_items_as_were_predicted_positive():
    # 1,000 items over 25 labels are 40 each
    assert _share(F1, _counts(0.0, predicted=41.0)) == [1]
    assert _share(F1, _counts(0.0, predicted=40.0)) == [0]
    assert _share(F1, _counts(0.0, labelled=0.0, predicted=85.0)) == [0]


def test_there_is_none_for_a_measure_that_predicted_negatives_have_no_part_in():
    assert _share(_number("precision"), _counts(0.0)) == [0]


def test_the_interval_reaches_the_wide_one_and_never_shrinks():
    wide = _ends(0.2, 0.7)
    assert guarded(F1, _ends(0.5, 0.8), wide, _counts(0.0)) == (np.array([0.2]), np.array([0.8]))
    lower, upper = guarded(F1, _ends(0.5, 0.8), wide, _counts(12.0))
    assert (lower[0], upper[0]) == pytest.approx((0.35, 0.8))
