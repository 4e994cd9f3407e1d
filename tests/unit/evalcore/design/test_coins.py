"""Independent coins: every item with its own chance, batches of random size."""

import numpy as np

from assay.evalcore.design.draws import coins, inclusion


def test_the_counts_have_the_mean_and_the_variance_of_independent_draws():
    left, pi = np.array([30, 100, 10, 400]), np.array([0.5, 0.2, 0.9, 0.01])
    repeats = 40_000
    counts = coins(
        np.broadcast_to(left, (repeats, 4)), np.broadcast_to(pi, (repeats, 4)), np.random.default_rng(3)
    )
    size = counts.sum(axis=1)
    variance = (left * pi * (1 - pi)).sum()            # section 3.1: M - Σ b²
    assert np.isclose(variance, (left * pi).sum() - (left * pi**2).sum())
    # 4.9 standard errors: a false alarm in a million
    assert (np.abs(counts.mean(axis=0) - left * pi) < 4.9 * np.sqrt(left * pi * (1 - pi) / repeats)).all()
    assert abs(size.mean() - (left * pi).sum()) < 4.9 * np.sqrt(variance / repeats)
    assert abs(size.var() - variance) < 4.9 * np.sqrt(3 * variance**2 / repeats)

def test_where_no_coin_shows_heads_all_are_thrown_again():
    # two items with b = ¼ and ½: no head with ¾ · ½ = ⅜, so π = ¼/⅝ = 0.4 and ½/⅝ = 0.8
    left, b, repeats = np.array([1, 1]), np.array([0.25, 0.5]), 40_000
    pi = inclusion(left[None], b[None])[0]
    assert pi.tolist() == [0.4, 0.8]
    counts = coins(
        np.broadcast_to(left, (repeats, 2)), np.broadcast_to(b, (repeats, 2)), np.random.default_rng(4)
    )
    assert counts.sum(axis=1).min() == 1
    assert (np.abs(counts.mean(axis=0) - pi) < 4.9 * np.sqrt(pi * (1 - pi) / repeats)).all()


def test_chances_are_those_of_the_coins_where_some_item_is_certain_or_the_batch_is_large():
    left = np.array([[1, 50]])
    assert inclusion(left, np.array([[1.0, 0.01]])).tolist() == [[1.0, 0.01]]
    assert np.allclose(inclusion(np.array([[100, 100]]), np.array([[0.2, 0.1]])), [[0.2, 0.1]], rtol=1e-12)
    assert inclusion(left, np.zeros((1, 2))).tolist() == [[0, 0]]


def test_certain_items_are_always_drawn_and_impossible_ones_never():
    left = np.array([[4, 7, 2]])
    counts = coins(left, np.array([[1.0, 0.0, 1.0]]), np.random.default_rng(1))
    assert counts.tolist() == [[4, 0, 2]]
