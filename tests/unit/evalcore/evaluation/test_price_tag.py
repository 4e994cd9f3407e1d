"""What stands beside every estimate: the bound for positives unseen, and the price in random labels."""

from dataclasses import replace
from itertools import combinations, permutations
from math import comb, log

import numpy as np
import pytest

from assay.evalcore.design.round import CountedDesign
from assay.evalcore.evaluation.estimate import MeasureEstimate, ModelCheck, NotExcluded, PriceTag, withheld
from assay.evalcore.evaluation.price_tag import FoundLabels, price_tag, unseen_bound, weighted_confusion
from assay.evalcore.evaluation.state import reach
from assay.evalcore.measures.registry import measure
from assay.evalcore.pool.strata import Cells

BOTH = np.array([True, True])


def cells(size, prediction):
    """Cells in one stratum each."""
    size = np.array(size)
    zeros = np.zeros(len(size))
    return Cells(
        stratum=np.arange(len(size)), prediction=np.array(prediction), size=size, mean_score=zeros,
        mean_probability=zeros + 0.5, log_density=zeros, n_slots=len(size),
    )


def found(pool, labelled, reached):
    """These items (C, 2) labelled, all others left."""
    labelled = np.array(labelled)
    return FoundLabels(
        cells=pool, labelled=labelled, left=pool.size - labelled.sum(axis=1), reached=reached
    )


def design(probability, left, replacement=False, census=False):
    probability, left = np.array([probability], float), np.array([left])
    return CountedDesign(
        replacement=replacement, size=left, left=left, unlabelled=probability,
        labelled=np.zeros((*left.shape, 2)), model=probability, gradient=probability,
        census=np.array([census]),
    )


def test_each_kind_of_draw_reaches_as_far_as_its_design_says():
    # π = 0.5, 0.2: −log(1 − π) for draws that are negatively associated
    assert reach(design([0.5, 0.2], [4, 10]), np.array([2, 2]), negatively_associated=True) == pytest.approx(
        [log(2), -log(0.8)]
    )
    # a systematic draw is taken at its counts: 1 of 4 and 0 of 10
    assert reach(design([0.5, 0.2], [4, 10]), np.array([1, 0]), negatively_associated=False) == pytest.approx(
        [-log(0.75), 0]
    )
    # with replacement, three new items; q of the unlabelled sums to 4 · 0.1 + 10 · 0.02 = 0.6
    drawn = design([0.1, 0.02], [4, 10], replacement=True)
    assert reach(drawn, np.array([2, 1]), negatively_associated=False) == pytest.approx(
        [3 * 0.1 / 0.6, 3 * 0.02 / 0.6]
    )
    assert not reach(design([0.5], [4], census=True), np.array([4]), negatively_associated=True).any()


def test_a_simple_random_sample_misses_more_positives_than_the_bound_at_most_5_times_in_100():
    # 60 items: for every sample size n and every B above the bound, C(60−B, n)/C(60, n) ≤ 0.05
    pool = cells([60], [0])
    for n in range(1, 59):
        reached = reach(design([n / 60], [60]), np.array([n]), negatively_associated=True)
        labelled = np.array([[n, 0]])
        bound = unseen_bound(found(pool, labelled, reached), 0.95, BOTH).positives
        for positives in range(1, 61 - n):
            if bound is not None and positives > bound:
                assert comb(60 - positives, n) / comb(60, n) <= 0.05


def test_successive_draws_miss_every_set_of_positives_at_most_as_often_as_the_bound_says():
    # six items, two new ones a round drawn with these q: every ordered pair enumerated
    q = np.array([0.4, 0.2, 0.15, 0.1, 0.1, 0.05])
    chance = {(i, j): q[i] * q[j] / (1 - q[i]) for i, j in permutations(range(6), 2)}
    assert sum(chance.values()) == pytest.approx(1)
    drawn = design(q, [1] * 6, replacement=True)
    h = reach(drawn, np.array([1, 1, 0, 0, 0, 0]), negatively_associated=False)
    for size in range(1, 5):
        for hidden in combinations(range(6), size):
            missed = sum(p for pair, p in chance.items() if not set(pair) & set(hidden))
            assert missed <= np.exp(-h[list(hidden)].sum()) + 1e-12


def test_the_bound_is_the_rule_of_three_over_the_least_reach():
    # −log 0.05 = 2.9957; over H = 0.03 that is 99.86, below the 500 + 200 items it is about
    pool = cells([510, 205], [0, 1])
    nothing = np.array([[10, 0], [5, 0]])
    reached = np.array([0.03, 0.9])
    got = unseen_bound(found(pool, nothing, reached), 0.95, BOTH)
    assert (got.positives, got.items) == (99, 700)
    # a true positive among the predicted positives: the question is then the other 500
    got = unseen_bound(found(pool, [[10, 0], [4, 1]], reached), 0.95, BOTH)
    assert (got.positives, got.items) == (99, 500)
    # a false negative was found: the draws alone bound nothing any more
    got = unseen_bound(found(pool, [[9, 1], [4, 1]], reached), 0.95, BOTH)
    assert got.positives is None
    assert "1 item predicted negative turned out positive" in str(got.reason)
    # H = 0.005 bounds them by 599 of 500: vacuous, and said so
    got = unseen_bound(found(pool, [[10, 0], [4, 1]], np.array([0.005, 0.9])), 0.95, BOTH)
    assert got.positives is None
    assert "too few to exclude any of the 500" in str(got.reason)
    # labels of predicted negatives cannot change precision
    precise = measure("precision").label_matters()
    got = unseen_bound(found(pool, [[10, 0], [4, 1]], reached), 0.95, precise)
    assert (got.positives, got.items) == (0, 0)


def test_labels_weigh_what_the_chance_to_find_them_was():
    # predicted negative: found with 1/2 (1 positive, 1 negative) and with 1/4 (2 negatives), so they weigh
    # 2, 2, 4, 4, and 2 of 12 of its 120 items are positive; predicted positive: 3 of 4 of 8, found alike
    pool = cells([40, 80, 8], [0, 0, 1])
    labelled = np.array([[1, 1], [2, 0], [1, 3]])
    reached = np.array([log(2), -log(0.75), log(2)])
    counts = weighted_confusion(found(pool, labelled, reached))
    assert counts == pytest.approx(np.array([[100, 20], [2, 6]]))


def tag(ends, labelled, exact=False, name="f1", diagnostics=None):
    row = MeasureEstimate(
        measure=name, value=None, undefined_reason="not looked at", lower=ends[0], upper=ends[1],
        confidence=0.95, interval="exact" if exact else "delta-normal", labels=0, variance=None,
        diagnostics=diagnostics or {},
    )
    return price_tag(measure(name), found(cells([4000, 80], [0, 1]), labelled, np.array([0.01, 0.3])), row)


def test_the_price_is_the_sample_size_of_the_same_half_width_or_the_reason_there_is_none():
    seen = [[38, 2], [5, 15]]
    needed = tag((0.5, 0.7), seen).random_labels
    # half the half-width takes about four times the labels, the finite pool helping
    assert 1 < needed < tag((0.55, 0.65), seen).random_labels <= 4 * needed
    assert tag((0.5, 0.7), seen, diagnostics={"random_labels": 1234.0}).random_labels == 1234
    assert tag((0.6, 0.6), seen, exact=True).random_labels == 4080
    for ends, labelled, reason in (
        ((None, None), seen, "no interval"),
        ((0.0, 1.0), seen, "whole range"),
        ((0.0, 0.4), [[40, 0], [20, 0]], "no positive"),
        ((0.5, 1.0), [[40, 0], [0, 20]], "no error"),
        ((0.5, 1.0), [[0, 0], [5, 20]], "one of the two predictions"),
    ):
        got = tag(ends, labelled)
        assert got.random_labels is None
        assert reason in got.random_labels_reason


def test_what_the_method_says_of_its_model_stands_beside_it_and_not_beside_an_exact_value():
    said = {"wide_lower": 0.4, "wide_upper": 0.9, "wide_announced": True, "regime": "agree", "draws": 60}
    told = tag((0.5, 0.7), [[38, 2], [5, 15]], diagnostics=said)
    excluded = told.not_excluded
    assert (excluded.wide_lower, excluded.wide_upper, excluded.wide_announced) == (0.4, 0.9, True)
    assert told.model_check == ModelCheck(regime="agree", broken_chance=None)
    exact = tag((0.6, 0.6), [[38, 2], [5, 15]], exact=True, diagnostics=said)
    assert (exact.not_excluded.wide_lower, exact.not_excluded.wide_announced) == (None, None)
    assert exact.model_check is None


def test_the_share_that_rests_on_the_model_is_that_of_cells_without_a_label():
    assert tag((0.5, 0.7), [[0, 0], [5, 15]]).not_excluded.unlabelled_share == pytest.approx(4000 / 4080)
    assert tag((0.5, 0.7), [[0, 0], [5, 15]], name="precision").not_excluded.unlabelled_share == 0
    assert tag((0.5, 0.7), [[1, 0], [5, 15]]).not_excluded.no_positive_found is False


TAG = PriceTag(
    random_labels=None, random_labels_reason="no positive", not_excluded=NotExcluded(
        no_positive_found=True, unlabelled_share=0.5, unseen_bound=240, unseen_items=4000,
    ),
)
FOUND_NOTHING = MeasureEstimate(
    measure="f1", value=0.0, undefined_reason=None, lower=0.0, upper=1.0, confidence=0.95,
    interval="delta-normal", labels=50, variance=0.0, price_tag=TAG,
)


def test_nothing_found_is_not_reported_as_0_or_1():
    said = withheld(FOUND_NOTHING, positives=0)
    assert said.value is None
    assert said.undefined_reason == (
        "no positive found yet among 50 labels; at most 240 positives among the unlabelled items"
    )
    assert (said.lower, said.upper) == (0.0, 1.0)
    perfect = replace(FOUND_NOTHING, measure="accuracy", value=1.0, price_tag=None)
    assert withheld(perfect, positives=0).undefined_reason == "no positive found yet among 50 labels"


def test_what_is_known_stands():
    for estimate, positives in (
        (FOUND_NOTHING, 1),                                        # a zero that positives speak for
        (replace(FOUND_NOTHING, interval="exact"), 0),             # every label is known
        (replace(FOUND_NOTHING, value=0.02), 0),                   # a posterior's word, inside the range
        (replace(FOUND_NOTHING, measure="mcc"), 0),                # 0 is no end of −1 to 1
    ):
        assert withheld(estimate, positives) == estimate
