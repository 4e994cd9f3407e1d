"""Estimates by segment from the draws of closed rounds, worked by hand: four items, two in each region."""

from dataclasses import replace

import numpy as np
import pytest
from doubles.rounds import SEGMENTS, a_question, a_round, four_items, nothing_labelled

from assay.evalcore.evaluation.state import Question, before_any_label, plan
from assay.evalcore.measures.registry import outcome_measure
from assay.evalcore.measures.stack import Stack
from assay.evalcore.methods.registry import outcome_method
from assay.evalcore.outcomes.base import UNANSWERED
from assay.evalcore.outcomes.classes import Classes
from assay.evalcore.outcomes.items import Items
from assay.evalcore.weighted.segments import difference_estimates, segment_draws, segment_rows

NORTH, SOUTH = 0, 1


def by_segment(question, rounds):
    return segment_rows(question, nothing_labelled(question), rounds, SEGMENTS)


def test_each_draw_is_weighted_by_its_own_probability():
    # N = 4, two draws at q = 1/4 and 1/2, both in the north, which is half of the pool:
    # w = 1 and 1/2, over the share 2 and 1.  The second is an error: R̂ = (0·2 + 1·1)/2 = 1/2
    question = a_question()
    one = a_round([0, 1], [0, 0], [0.25, 0.5], region=[NORTH, NORTH])
    north, south = by_segment(question, [one])
    assert (north.segment, north.value, north.interval, north.labels) == (
        "region=north", pytest.approx(0.5), "too few labels", 2
    )
    assert (north.lower, north.upper) == (0.0, 1.0)
    assert (south.segment, south.value, south.labels) == ("region=south", None, 0)
    assert "in this segment" in south.undefined_reason


def test_equal_chances_give_the_plain_mean_of_the_segment_s_labels():
    # north: right, wrong; south: right
    question = a_question("passive")
    one = a_round([0, 1, 1], [0, 0, 1], replacement=False, region=[NORTH, NORTH, SOUTH])
    north, south = by_segment(question, [one])
    assert (north.value, south.value) == (pytest.approx(0.5), pytest.approx(1.0))
    assert {north.interval, south.interval} == {"delta-normal"}


def test_under_other_designs_without_replacement_the_segment_s_own_items_are_estimated():
    # north has one item of each cell.  Cell 0 at π = 1/2, the label 0; the model expects 1/2 of every item:
    # FN = 1/2 + (0 - 1/2)/(1/2) < 0, kept to the least possible, 0; TP = 1/2 of the one that nobody saw
    question = a_question("bernoulli", ("accuracy",), by_segment={"region": np.array([[1, 1], [1, 1]])})
    one = a_round([0], [0], 0.5, replacement=False, unlabelled=[0.5, 0.3], region=[NORTH])
    north, south = by_segment(question, [one])
    assert north.value == pytest.approx((1 + 0.5) / 2)
    assert (north.interval, north.labels, north.lower, north.upper) == ("too few labels", 1, 0.0, 1.0)
    assert south.value == pytest.approx(0.5)   # what the model expects of two items
    assert (south.interval, south.labels) == ("too few labels", 0)


def test_a_segment_whose_labels_are_all_known_is_exact_while_the_pool_is_not():
    question = a_question("bernoulli", ("accuracy",), by_segment={"region": np.array([[1, 1], [1, 1]])})
    one = a_round([0, 1], [0, 0], 0.5, replacement=False, unlabelled=[0.5, 0.3], region=[NORTH, NORTH])
    north, south = by_segment(question, [one])
    assert (north.value, north.lower, north.upper, north.interval) == (0.5, 0.5, 0.5, "exact")
    assert south.interval == "too few labels"


def test_a_method_that_leaves_items_out_says_so_for_every_measure_and_segment():
    question = a_question("topk", ("f1", "accuracy"))
    one = a_round([0, 1], [0, 1], replacement=False, unlabelled=[0.5, 0.3])
    got = by_segment(question, [one])
    assert [(e.measure, e.segment, e.value) for e in got] == [
        ("f1", "region=north", None), ("f1", "region=south", None),
        ("accuracy", "region=north", None), ("accuracy", "region=south", None),
    ]
    assert {e.undefined_reason for e in got} == {"the method topk gives no estimates by segment"}
    assert {e.interval for e in got} == {"none"}


def test_unanswered_items_leave_more_weight_to_the_answered():
    # of a simple random sample each draw had 1/N; in cell 1 one of two answered, which halves its chance
    question = a_question("passive")
    one = a_round([0, 1, 1], [0, 1, UNANSWERED], replacement=False)
    draws = segment_draws(question, [one], "region", SEGMENTS["region"], weighted=True)
    assert draws.weight == pytest.approx([1, 2])
    assert draws.made == 3


def test_draws_without_a_label_and_those_of_a_census_are_told_apart():
    question = a_question()
    rounds = [a_round([0, 1], [0, -1], region=[SOUTH, NORTH]), a_round([1], [1], 1.0, census=True)]
    draws = segment_draws(question, rounds, "region", SEGMENTS["region"], weighted=True)
    assert draws.segment.tolist() == [SOUTH, NORTH]
    assert draws.census.tolist() == [False, True]
    assert draws.made == 2   # the undecided draw was made too
    assert np.array_equal(draws.share, [0.5, 0.5])


def test_answered_items_of_a_segment_stand_for_the_unanswered_ones_of_their_cell():
    # 40 items of one cell in each segment; 20 asked at π = 1/4, every second one answered: 8 right, 2 wrong
    n = 80
    cells = replace(four_items(), size=np.array([n, n]))
    question = replace(
        a_question("bernoulli", ("specificity",)), cells=cells,
        by_segment={"region": np.array([[40, 40], [40, 40]])},
    )
    label = np.array([0] * 8 + [1] * 2 + [UNANSWERED] * 10)
    one = a_round([0] * 20, label, 0.25, replacement=False, unlabelled=[0.25, 0.25], region=[NORTH] * 20)
    design = replace(one.plan.design, size=np.array([[n, n]]), left=np.array([[n, n]]),
                     model=np.array([[0.2, 0.2]]))
    one = replace(one, plan=replace(one.plan, design=design))
    found = difference_estimates(
        question.measures, cells, [one], "region", question.by_segment["region"], 0.95
    )[0]
    # positives among those predicted negative: 40 · 0.2 + (2 - 10 · 0.2) / (1/8) = 8 of 40
    known = found.labels.tolist()
    assert known == [10, 0]
    negatives = 40 - 8, 40 * 0.8
    assert found.arrays.value[0] == pytest.approx(32 / (32 + 32))
    assert found.arrays.value[1] == pytest.approx(negatives[1] / (negatives[1] + 32))


def test_where_segments_drive_labels_go_to_each_as_its_error_asks():
    rng = np.random.default_rng(8)
    segment = np.repeat([0, 1, 2], [1_500, 400, 100])
    truth = rng.integers(0, 2, 2_000).astype(float)
    predicted = np.where(rng.random(2_000) < 0.8, truth, 1 - truth)
    kind = Classes(("no", "yes"))
    stack = Stack(kind=kind, measures=(outcome_measure("accuracy", kind, 2_000),))
    counts = {}
    for drives in (False, True):
        codes = np.stack([segment, segment], axis=1).astype(float) if drives else None
        items = Items(prediction=predicted[:, None], segment=codes)
        method = outcome_method("recalibrated")
        cut = method.cut(stack, items)
        if drives:
            assert {tuple(np.unique(segment[cut.cell == c])) for c in range(cut.cells.n_cells)} == {
                (0,), (1,), (2,)
            }
        question = Question(method=method, measures=stack, cells=cut.cells, confidence=0.95, seed=1,
                            evaluation="segments")
        planned = plan(question, before_any_label(question), 90)
        of_cell = [np.flatnonzero(cut.cell == c) for c in range(cut.cells.n_cells)]
        drawn = np.array([of_cell[c][r] for c, r in zip(planned.cell, planned.rank, strict=True)])
        counts[drives] = np.bincount(segment[drawn], minlength=3)
    # one spread everywhere: as many labels of each segment, and in proportion where they do not drive
    assert counts[True].tolist() == pytest.approx([30, 30, 30], abs=4)
    assert counts[False].tolist() == pytest.approx([67, 18, 5], abs=6)
