"""How likely single draws were, and what is left of their chance where items went unanswered."""

import numpy as np
import pytest
from doubles.rounds import a_round, four_items

from assay.evalcore.evaluation.nonresponse import NothingToStandFor
from assay.evalcore.evaluation.state import chances_of
from assay.evalcore.outcomes.base import UNANSWERED, UNDECIDED


def test_draws_with_replacement_are_weighted():
    assert chances_of([a_round([0, 1], [0, 1])]) == "weighted"


def test_without_replacement_equal_chances_count_alike_and_others_say_nothing():
    assert chances_of([a_round([0, 1], [0, 1], replacement=False, unlabelled=[0.5, 0.5])]) == "equal"
    assert chances_of([a_round([0, 1], [0, 1], replacement=False, unlabelled=[0.5, 0.4])]) is None


def test_a_census_fits_in_with_either():
    census = a_round([0, 1], [0, 1], replacement=False, unlabelled=[0.5, 0.4], census=True)
    assert chances_of([a_round([0], [0]), census]) == "weighted"
    alike = a_round([0, 1], [0, 1], replacement=False, unlabelled=[0.5, 0.5])
    assert chances_of([alike, census]) == "equal"


def test_the_two_designs_do_not_mix():
    alike = a_round([0, 1], [0, 1], replacement=False, unlabelled=[0.5, 0.5])
    assert chances_of([alike, a_round([0], [0])]) is None


def test_with_gaps_the_answered_items_weigh_by_their_response():
    gaps = a_round([0, 1, 1], [0, 1, UNANSWERED], replacement=False, unlabelled=[0.5, 0.5])
    assert gaps.gaps
    assert chances_of([gaps]) == "weighted"


def test_the_response_is_that_of_the_cell_and_items_labelled_before_keep_theirs():
    # cell 1: two of three answered; the last draw fell on an item that was labelled before
    one = a_round([0, 1, 1, 1, 1], [0, 1, 0, UNANSWERED, 1], new=[True, True, True, True, False])
    one.plan.ask[4] = False
    assert one.response(four_items()) == pytest.approx([1, 2 / 3, 2 / 3, 2 / 3, 1])


def test_without_gaps_nothing_is_taken_off():
    assert a_round([0, 1], [0, UNDECIDED]).response(four_items()).tolist() == [1.0, 1.0]


def test_a_prediction_that_nobody_answered_for_cannot_be_stood_for():
    one = a_round([0, 1], [0, UNANSWERED])
    with pytest.raises(NothingToStandFor):
        one.response(four_items())
    assert np.array_equal(one.code, [0, UNANSWERED])
