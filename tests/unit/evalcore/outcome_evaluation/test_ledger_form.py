"""Labels and items of a ledger as the core takes them."""

import numpy as np

from assay.evalcore.outcome_evaluation.ledger_form import codes_of, items_of, stands_for
from assay.evalcore.outcomes.codes import UNANSWERED, UNDECIDED


def test_missing_labels_have_the_marks_of_the_core():
    assert codes_of(np.array([0, 3, -1, -2])).tolist() == [0.0, 3.0, UNDECIDED, UNANSWERED]


def test_items_are_one_system_with_or_without_probabilities():
    items = items_of(np.array([2, 0]), np.array([[0.0, 0.5, 0.5], [1.0, 0.0, 0.0]]))
    assert items.prediction.tolist() == [[2.0], [0.0]]
    assert items.probability.tolist() == [[0.0, 0.5, 0.5], [1.0, 0.0, 0.0]]
    assert items_of(np.array([2, 0]), None).probability is None


def test_an_item_stands_for_one_over_its_chance():
    assert stands_for(np.array([0.5, 1.0, 0.0])).tolist() == [2.0, 1.0, 0.0]
