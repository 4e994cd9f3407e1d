"""Bets on the draws of a round, and what an exact value says, worked by hand."""

from itertools import permutations

import numpy as np
import pytest
from doubles.rounds import four_items

from assay.evalcore.measures.registry import measure
from assay.evalcore.monitoring import betting


@pytest.mark.parametrize("name", ["accuracy", "precision", "recall", "specificity", "f1"])
def test_a_measure_reaches_a_limit_exactly_when_its_margin_is_not_negative(name):
    counts = np.array([[50.0, 7.0], [11.0, 32.0]])   # [prediction, label]
    m = measure(name)
    value = float(m.of_confusion(counts))
    for limit, sign in ((value - 0.01, 1), (value + 0.01, -1)):
        constant, table = m.margin(limit)
        assert np.sign(constant + (counts / 100 * table).sum()) == sign


def test_a_measure_that_is_no_ratio_of_means_has_no_margin():
    assert measure("mcc").margin(0.5) is None
    assert betting.worth(measure("balanced_accuracy"), 0.5, "below", four_items()) is None


def test_the_worth_of_an_item_is_its_part_in_the_margin_and_turns_round_for_a_ceiling():
    floor = betting.worth(measure("accuracy"), 0.8, "below", four_items())
    assert floor == pytest.approx(np.array([[0.2, -0.8], [-0.8, 0.2]]))   # by cell and label
    assert betting.worth(measure("accuracy"), 0.8, "above", four_items()) == pytest.approx(-floor)


def test_the_effects_are_mixed_by_weights_that_add_up_to_one():
    assert betting.PRIOR.sum() == pytest.approx(1.0)
    assert betting.mixed(np.full(len(betting.EFFECTS), np.log(3.0))) == pytest.approx(np.log(3.0))


@pytest.mark.parametrize("model", [0.02, 0.5, 0.9])
def test_a_bet_against_the_truth_is_fair_over_all_orders_of_three_draws(model):
    # the mean over every sequence of draws, each with its probability: at the truth it is 1 for every effect
    # as long as no bound cuts a stake, and never above
    items = [(0, 1), (0, 0), (1, 1), (1, 1)]                     # (cell, label); one error: accuracy 3/4
    cells, weight = four_items(), np.array([[0.5, 0.2]])
    value = betting.worth(measure("accuracy"), 0.75, "below", cells)
    said = betting.expected(value[None], np.full((1, 2), model))
    total = np.zeros(len(betting.EFFECTS))
    for order in permutations(range(4), 3):
        chance, left = 1.0, [0, 1, 2, 3]
        for i in order:
            masses = [weight[0, items[j][0]] for j in left]
            chance *= weight[0, items[i][0]] / sum(masses)
            left.remove(i)
        cell = np.array([[items[i][0] for i in order]])
        drawn = np.array([[value[items[i]] for i in order]])
        after = betting.bet_on_round(
            betting.Account.new(1), said, weight, np.array([[2, 2]]), cell, drawn)
        total += chance * np.exp(after.factors[0])
    assert total == pytest.approx(np.ones(len(total)), abs=1e-9)


def test_items_out_of_reach_count_with_the_best_they_may_be():
    # the second cell cannot be drawn and is taken to be right: the bet is cautious, and loses
    cells, weight = four_items(), np.array([[0.5, 0.0]])
    value = betting.worth(measure("accuracy"), 0.5, "below", cells)
    said = betting.expected(value[None], np.full((1, 2), 0.5))
    left, cell, wrong = np.array([[2, 2]]), np.array([[0]]), np.array([[-0.5]])
    after = betting.bet_on_round(betting.Account.new(1), said, weight, left, cell, wrong)
    # N X = 2 · 1/2 - 1/2 · 2 = 0: even a wrong label says nothing
    assert after.factors == pytest.approx(np.zeros((1, len(betting.EFFECTS))))


def test_an_exact_value_decides():
    assert (betting.known_log_factors(0.79, 0.8, "below") > 50).all()
    assert (betting.known_log_factors(0.80, 0.8, "below") < -50).all()
