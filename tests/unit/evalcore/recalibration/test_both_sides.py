"""How much the labels have shown of both sides of a measure."""

import numpy as np
import pytest

from assay.evalcore.measures.by_group import of_predictions
from assay.evalcore.measures.registry import measure
from assay.evalcore.recalibration.interval import ENOUGH, GroupCounts, earned_share, shown_both_ways


def _number(name):
    (found,) = of_predictions([measure(name)], np.array([0.0, 1.0]))
    return found.estimands[0]


def _counts(tp, fp, fn, tn, *, items=(1000, 100), expected=(30, 60)):
    """One repeat: labelled items by kind; the pool's items and expected positives by prediction."""
    return GroupCounts(
        items=np.array([items], float),
        labelled=np.array([[fn + tn, tp + fp]], float),
        known=np.array([[fn, tp]], float),
        free=np.array([[items[0] - fn - tn, items[1] - tp - fp]], float),
        expected=np.array([expected], float),
    )


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("f1", 9),                   # 20 hits; 5 + 4 errors; true negatives do not pull
        ("precision", 5),            # errors are false positives
        ("recall", 4),               # errors are false negatives
        ("accuracy", 9),             # 20 + 70 right, 9 wrong
        ("specificity", 5),          # 70 true negatives, 5 false positives
    ],
)
def test_the_rarer_side_counts(name, shown):
    assert shown_both_ways(_number(name), _counts(20, 5, 4, 70)) == pytest.approx([shown])


@pytest.mark.parametrize("name", ["f1", "precision", "recall", "accuracy", "specificity", "mcc"])
def test_without_an_error_nothing_is_earned(name):
    assert earned_share(_number(name), _counts(40, 0, 0, 40)) == pytest.approx([0.0])


def test_without_a_hit_nothing_is_earned():
    assert earned_share(_number("f1"), _counts(0, 40, 10, 40)) == pytest.approx([0.0])


def test_all_is_earned_at_enough_of_both():
    enough = int(ENOUGH)
    assert earned_share(_number("f1"), _counts(enough, enough, 0, 0)) == pytest.approx([1.0])
    assert earned_share(_number("f1"), _counts(enough, enough - 4, 0, 9)) == pytest.approx([0.8])


def test_a_true_negative_is_worth_little_beside_a_true_positive_on_a_rare_class():
    # balanced accuracy: a positive weighs 1 / (2 · 20), a negative 1 / (2 · 9,980)
    balanced = _number("balanced_accuracy")
    counts = _counts(0, 0, 20, 1000, items=(9900, 100), expected=(10, 10))
    assert shown_both_ways(balanced, counts)[0] < 1000 * 20 / 9980 * 1.5
    assert shown_both_ways(balanced, counts)[0] < 3.1


def test_where_the_measure_does_not_exist_nothing_is_earned():
    assert earned_share(_number("precision"), _counts(0, 0, 3, 40, items=(100, 0), expected=(5, 0))) == [0.0]
