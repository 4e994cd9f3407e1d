"""Drawing on cells: what a draw may be, and what it may never be."""

import numpy as np
import pytest

from assay.evalcore.design.draws import simple_random, simulate_labels, with_replacement, without_replacement
from assay.evalcore.design.round import CountedDesign


def design(left, labelled, unlabelled_q, labelled_q):
    left, labelled = np.asarray(left), np.asarray(labelled)
    return CountedDesign(
        replacement=True,
        size=left + labelled.sum(axis=2),
        left=left,
        unlabelled=np.asarray(unlabelled_q, float),
        labelled=np.asarray(labelled_q, float),
        model=np.full(left.shape, 0.5),
        gradient=np.ones(left.shape),
        census=np.zeros(len(left), bool),
    )


def one_cell(left, labelled=0, new_mass=1.0):
    q = new_mass / left
    known = np.array([[[0, labelled]]])
    known_q = np.zeros((1, 1, 2))
    if labelled:
        known_q[0, 0, 1] = (1 - new_mass) / labelled
    return design([[left]], known, [[q]], known_q), known


def test_a_round_stops_at_the_wanted_number_of_new_items():
    d, known = one_cell(20)
    draws = with_replacement(d, known, np.array([6]), np.random.default_rng(1))
    seen = draws.ordinal[0]
    assert len(np.unique(seen)) == 6
    assert seen[-1] == 5, "the last draw is the one that reached the number"
    # a new item is always the next ordinal, so the running maximum climbs by one at a time
    assert set(np.diff(np.maximum.accumulate(seen))) <= {0, 1}


def test_repeats_within_a_round_come_up_as_often_as_they_should():
    # 2 items, drawn until both have been seen: the number of draws is 1 + Geometric(1/2), mean 3
    d, known = one_cell(2)
    lengths = [
        with_replacement(d, known, np.array([2]), np.random.default_rng(seed)).cell.shape[1]
        for seed in range(3000)
    ]
    # variance of the geometric is 2; 5 standard errors is a false alarm of 6e-7
    assert abs(np.mean(lengths) - 3) < 5 * np.sqrt(2 / 3000)


def test_draws_on_labelled_items_follow_their_share_of_the_proposal():
    # q gives 3/4 to the one labelled item: 3 draws on it for every draw on a new one, negative binomial
    d, known = one_cell(1000, labelled=1, new_mass=0.25)
    counts = [
        with_replacement(d, known, np.array([10]), np.random.default_rng(seed)).known.sum()
        for seed in range(2000)
    ]
    # 10 (almost surely distinct) new draws: mean 10·3 = 30, variance 10·0.75/0.25² = 120
    # in-round repeats add about 10·9/2/1000·3 = 0.135 draws
    assert abs(np.mean(counts) - 30.135) < 5 * np.sqrt(120 / 2000)


def test_an_item_of_probability_zero_is_never_drawn():
    d = design([[5, 5, 5]], np.zeros((1, 3, 2), int), [[0.0, 0.2, 0.0]], np.zeros((1, 3, 2)))
    for seed in range(50):
        draws = with_replacement(d, np.zeros((1, 3, 2), int), np.array([4]), np.random.default_rng(seed))
        assert set(draws.cell[0]) == {1}


def test_a_round_that_can_reach_nothing_ends():
    d = design([[5]], np.zeros((1, 1, 2), int), [[0.0]], np.zeros((1, 1, 2)))
    draws = with_replacement(d, np.zeros((1, 1, 2), int), np.array([4]), np.random.default_rng(1))
    assert draws.cell.shape == (1, 0)


def test_simple_random_samples_have_the_wanted_size_and_never_overdraw():
    rng = np.random.default_rng(2)
    left = np.array([[3, 0, 7, 10], [1, 1, 1, 1]])
    for _ in range(200):
        counts = simple_random(left, np.array([12, 4]), rng)
        assert counts.sum(axis=1).tolist() == [12, 4]
        assert (counts <= left).all()


def test_without_replacement_asks_each_item_once():
    draws = without_replacement(np.array([[2, 0, 3], [0, 0, 1]]))
    assert draws.cell.tolist() == [[0, 0, 2, 2, 2], [2, -1, -1, -1, -1]]
    assert draws.ordinal.tolist() == [[0, 1, 0, 1, 2], [0, -1, -1, -1, -1]]


def test_simulated_labels_keep_to_what_the_cell_holds():
    # 3 items, 2 of them positive, all drawn: exactly two positives come out, whatever the order
    draws = without_replacement(np.full((200, 1), 3))
    outcome = simulate_labels(draws, np.broadcast_to([1, 2], (200, 1, 2)), np.random.default_rng(4))
    assert (outcome.new == [1, 2]).all()
    assert (outcome.drawn_new == outcome.new).all()


def test_a_repeated_item_repeats_its_label():
    d, known = one_cell(3)
    for seed in range(100):
        rng = np.random.default_rng(seed)
        draws = with_replacement(d, known, np.array([2]), rng)
        outcome = simulate_labels(draws, np.array([[[1, 2]]]), rng)
        # two items seen; if both are positive no draw can be negative
        if outcome.new[0, 0, 1] == 2:
            assert outcome.drawn_new[0, 0, 0] == 0
        assert outcome.drawn_new.sum() == draws.cell.shape[1]


@pytest.mark.parametrize("rank", [0, 1])
def test_without_replacement_of_nothing_is_nothing(rank):
    assert without_replacement(np.zeros((2, 3), int)).cell.shape == (2, 0)
