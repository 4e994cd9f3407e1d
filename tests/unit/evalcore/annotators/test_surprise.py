"""Surprising answers: unlikely ones on which much of the estimate hangs, worked by hand."""

import numpy as np

from assay.evalcore.annotators.rules import items_behind_draws, surprising_answers
from assay.evalcore.design.round import CountedDesign, RoundPlan


def a_plan(replacement=False):
    """1,000 items in two cells of 900 and 100; one draw in each, both asked."""
    design = CountedDesign(
        replacement=replacement, size=np.array([[900, 100]]), left=np.array([[900, 100]]),
        unlabelled=np.array([[0.01, 0.5]]), labelled=np.zeros((1, 2, 2)), model=np.array([[0.001, 0.5]]),
        gradient=np.array([[0.8, 0.8]]), census=np.array([False]),
    )
    return RoundPlan(cell=np.array([0, 1]), rank=np.array([0, 0]), ask=np.array([True, True]),
                     probability=np.array([0.01, 0.5]), census=False, design=design)


def test_a_positive_in_the_tail_surprises_and_a_negative_there_does_not():
    # the tail's draw stands for 100 items: the other answer moves the measure by 0.8·100/1000 = 0.08;
    # the draw near the boundary stands for 2, and neither answer is unlikely there
    got = surprising_answers(a_plan(), labels_before=0, chance=0.05, moves=0.01)
    assert got.tolist() == [[False, True], [False, False]]


def test_what_moves_little_surprises_nobody():
    # of 18 earlier labels this round's 2 are a tenth: 0.008
    assert not surprising_answers(a_plan(), labels_before=18, chance=0.05, moves=0.01).any()
    assert surprising_answers(a_plan(), labels_before=10, chance=0.05, moves=0.01).any()   # 0.0133


def test_a_draw_with_replacement_shares_the_pool_with_the_others():
    # 1/(T q) with T = 2: 50 and 1
    assert items_behind_draws(a_plan(replacement=True)).tolist() == [50.0, 1.0]
