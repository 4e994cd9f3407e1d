"""What a ledger keeps of items as the core takes it."""

import numpy as np

from assay.evalcore.outcome_evaluation.ledger_form import items_of, stands_for


def test_items_have_what_the_pool_has():
    items = items_of(np.array([2, 0]), np.array([[0.0, 0.5, 0.5], [1.0, 0.0, 0.0]]), None, 2)
    assert items.prediction.tolist() == [[2.0], [0.0]]
    assert items.probability.tolist() == [[0.0, 0.5, 0.5], [1.0, 0.0, 0.0]]
    judged = items_of(None, None, np.array([[1.0], [2.0]]), 2)
    assert (len(judged), judged.systems, judged.probability) == (2, 0, None)
    assert judged.judge.tolist() == [[1.0], [2.0]]


def test_an_item_stands_for_one_over_its_chance():
    assert stands_for(np.array([0.5, 1.0, 0.0])).tolist() == [2.0, 1.0, 0.0]
