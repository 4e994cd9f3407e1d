"""Error rates of people and of labels, and measures with them taken out: worked by hand and by simulation."""

from itertools import product

import numpy as np
import pytest
from doubles.votes import simulated_votes, votes_from
from scipy.stats import beta

from assay.evalcore.annotators.error_rates import again_error, corrected_measure, error_rates, majority_error
from assay.evalcore.annotators.rules import gold_in_round, gold_in_turn, shuffled
from assay.evalcore.measures.registry import every

GOLD = ["g1", "g2", "g3", "g4", "g5"]


def test_with_gold_only_the_posterior_is_the_beta_distribution():
    # one annotator, 40 gold negatives of which 4 are called positive: Beta(4.5, 36.5)
    votes = votes_from([[int(i < 4)] for i in range(40)] + [[1]] * 40)
    truth = np.array([0] * 40 + [1] * 40)
    got = error_rates(votes, truth, np.zeros(80, int), np.random.default_rng(0))
    told = beta(4.5, 36.5)
    assert got.draws[:, 0, 0].mean() == pytest.approx(told.mean(), abs=5 * told.std() / np.sqrt(1000))
    assert np.quantile(got.draws[:, 0, 0], [0.025, 0.975]) == pytest.approx(told.interval(0.95), abs=0.02)
    assert (got.gold, got.repeated, got.known) == (True, False, {"p0"})


def test_single_answers_tell_nothing():
    votes = votes_from([[1, None], [None, 0]])
    assert error_rates(votes, np.full(2, -1), np.zeros(2, int), np.random.default_rng(0)) is None


@pytest.mark.statistical
def test_repeated_answers_of_three_people_tell_their_error_rates():
    # 600 items, a third positive; every rate must lie in its 99.99% interval: of 6 rates one would fall out
    # by chance with fewer than 6 of 10,000 seeds
    rng = np.random.default_rng(11)
    rates = [[0.02, 0.10], [0.05, 0.05], [0.15, 0.20]]
    truth = (rng.random(600) < 1 / 3).astype(int)
    votes = simulated_votes(rng, truth, rates, 3)
    got = error_rates(votes, np.full(600, -1), (rng.random(600) < 0.5).astype(int), rng)
    low, high = np.quantile(got.draws, [0.00005, 0.99995], axis=0)
    assert (low <= np.array(rates)).all()
    assert (np.array(rates) <= high).all()


def test_somebody_never_tested_gets_the_draws_of_those_who_were():
    votes = votes_from([[0, None]] * 30 + [[1, None]] * 30 + [[None, 1]])
    truth = np.array([0] * 30 + [1] * 30 + [-1])
    got = error_rates(votes, truth, np.zeros(61, int), np.random.default_rng(0))
    assert got.known == {"p0"}
    assert (got.drawn_rates("p1") == got.drawn_rates("p0")).all()   # p0 is the only one there is to stand in


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5])
def test_the_error_of_a_majority_is_that_of_all_patterns(k):
    e = 0.2
    expected = 0.0
    for pattern in product((0, 1), repeat=k):   # 1: wrong
        chance = np.prod([e if wrong else 1 - e for wrong in pattern])
        wrong = sum(pattern)
        expected += chance * (wrong > k / 2) + chance * (wrong == k / 2) * e
    assert majority_error(np.array(e), k) == pytest.approx(expected)


def test_asking_a_surprising_positive_again_squares_the_false_positives():
    e = np.array([0.1, 0.2])
    # truth 0: wrong if the first says 1 and the second too, or the third after a split: .1·(.1 + .9·.1)
    # truth 1: a miss at first, .2, or outvoted by two: .8·.2·.2
    got = again_error(e, np.array([False, True]))
    assert got == pytest.approx([0.1 * (0.1 + 0.9 * 0.1), 0.2 + 0.8 * 0.04])
    assert again_error(e, np.array([False, False])) == pytest.approx(e)


@pytest.mark.parametrize("chosen", every(), ids=lambda m: m.name)
def test_a_corrected_measure_of_the_expected_labels_is_the_true_one(chosen):
    true = np.array([[900.0, 30.0], [20.0, 50.0]])
    errors = np.array([[0.02, 0.10], [0.05, 0.20]])
    labels = np.stack([true[:, 0] * (1 - errors[:, 0]) + true[:, 1] * errors[:, 1],
                       true[:, 0] * errors[:, 0] + true[:, 1] * (1 - errors[:, 1])], axis=1)
    fixed = corrected_measure(chosen, errors)
    assert fixed.of_confusion(labels) == pytest.approx(chosen.of_confusion(true))
    # and its gradient is that of its value
    risk = (labels / labels.sum()).reshape(4)
    steps = np.eye(4) * 1e-7
    numeric = [(fixed.value(risk + step) - fixed.value(risk - step)) / 2e-7 for step in steps]
    assert fixed.gradient(risk) == pytest.approx(numeric, rel=1e-4, abs=1e-6)


def gold(number, used=0, taken=(), asked=38, rate=0.05):
    in_turn = gold_in_turn(GOLD, used, taken, seed=3, evaluation="e")
    return tuple(in_turn[:gold_in_round(rate, asked, seed=3, evaluation="e", number=number)])


def test_gold_is_its_share_of_what_people_see():
    # 38 asked at a rate of 5%: 2 of 40
    assert all(len(gold(number)) == 2 for number in range(1, 50))
    # 10 asked: 10·0.05/0.95 = 0.526 a round on average; 400 rounds, sd √(400·.526·.474) = 10, 5 sd allowed
    many = sum(len(gold(number, asked=10)) for number in range(1, 401))
    assert abs(many - 210.5) < 50


def test_all_gold_is_used_once_before_any_is_used_again():
    first, second = gold(1), gold(2, used=2)
    third = gold(3, used=4)
    assert sorted({*first, *second, third[0]}) == GOLD
    assert gold(1) == first   # and a rerun mixes in the same


def test_an_item_people_were_asked_about_is_no_gold():
    assert set(gold(1, taken=("g1", "g2", "g3"))) <= {"g4", "g5"}
    assert gold(1, taken=GOLD) == ()


def test_the_order_gives_no_gold_away():
    items = [f"i{i}" for i in range(20)] + GOLD
    order = shuffled(items, seed=3, evaluation="e", number=1)
    assert sorted(order) == sorted(items)
    assert order == shuffled(items[::-1], seed=3, evaluation="e", number=1)
