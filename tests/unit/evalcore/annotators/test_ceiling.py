"""One person held against another: the value is that of all pairs, and intervals over items cover."""

import numpy as np
import pytest

from assay.evalcore.annotators.adjudication import Annotation, votes_without_tie_breaks
from assay.evalcore.annotators.ceiling import FEWEST_SHARED, people_against_each_other
from assay.evalcore.measures.registry import outcome_measure
from assay.evalcore.outcomes.classes import Classes
from assay.evalcore.reproducible import stream
from assay.evalcore.weighted.sample import WeightedSample

KIND, POOL = Classes(("no", "yes"), positive="yes"), 5_000
MEASURES = [outcome_measure("f1", KIND, POOL, options={"class": "yes"}),
            outcome_measure("accuracy", KIND, POOL, options={})]


def a_random_sample(n: int) -> WeightedSample:
    """n items of POOL, each of which stands for as many."""
    weight = np.full(n, POOL / n)
    return WeightedSample(
        cell=np.zeros(n, np.int64), rank=np.arange(n), round=np.ones(n, np.int64), draw=np.arange(n),
        label=np.zeros(n), probability=1 / weight, weight=weight, factor=weight**2 * (1 - n / POOL),
        group=np.zeros(n, np.int64), reached=np.ones(1, np.bool_), exact=False,
    )


def test_it_is_the_agreement_of_two_people_and_f1_is_the_same_from_either_side():
    answers = [(1.0, 1.0)] * 6 + [(1.0, 0.0)] * 2 + [(0.0, 1.0)] + [(0.0, 0.0)] * 11
    f1, accuracy = people_against_each_other(KIND, MEASURES, a_random_sample(20), answers, 0.95)
    assert accuracy.value == pytest.approx(17 / 20)
    assert f1.value == pytest.approx(2 * 6 / (8 + 7))


def test_every_pair_of_three_answers_counts_a_sixth():
    answers = [(1.0, 1.0, 0.0)] + [(1.0, 1.0)] * 19
    _, accuracy = people_against_each_other(KIND, MEASURES, a_random_sample(20), answers, 0.95)
    assert accuracy.value == pytest.approx((19 + 1 / 3) / 20)


def test_few_shared_items_say_nothing():
    answers = [(1.0, 1.0)] * (FEWEST_SHARED - 1) + [(1.0,)] * 20
    assert people_against_each_other(KIND, MEASURES, a_random_sample(len(answers)), answers, 0.95) == []


def test_a_vote_that_broke_a_tie_is_none_of_two_people_s():
    answers = [
        Annotation(item_id="i", annotation_id=str(at), annotator=f"p{3 - at}", kind="label", label=label,
                   updated_at=f"2026-11-0{at + 1}T00:00:00Z")
        for at, label in enumerate(("cat", "dog", "dog"))
    ]
    assert votes_without_tie_breaks(answers, 2) == ["cat", "dog"]


def test_intervals_cover_what_two_people_reach():
    """200 samples of 100 items with 10% errors; 0.9 is 3.3 standard errors below 0.95."""
    rng, rate, wrong, covered = stream(1, "ceiling"), 0.3, 0.1, np.zeros(2)
    said_positive = rate * (1 - wrong) + (1 - rate) * wrong
    truth = ((rate * (1 - wrong) ** 2 + (1 - rate) * wrong**2) / said_positive, (1 - wrong) ** 2 + wrong**2)
    for _ in range(200):
        label = rng.random(100) < rate
        answers = np.logical_xor(label[:, None], rng.random((100, 2)) < wrong).astype(float)
        rows = people_against_each_other(KIND, MEASURES, a_random_sample(100), answers.tolist(), 0.95)
        covered += [row.lower <= true <= row.upper for row, true in zip(rows, truth, strict=True)]
    assert (covered / 200 > 0.9).all()


def test_items_that_weigh_more_count_for_more():
    answers = [(1.0, 1.0)] * 10 + [(1.0, 0.0)] * 10
    weight = np.array([[1.0]] * 10 + [[9.0]] * 10)
    _, accuracy = people_against_each_other(KIND, MEASURES, a_random_sample(20), answers, 0.95, weight)
    assert accuracy.value == pytest.approx(0.1)
    assert accuracy.labels == 20
