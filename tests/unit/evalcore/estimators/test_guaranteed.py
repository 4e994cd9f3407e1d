"""Guaranteed intervals: fair bets by enumeration, ends at a census, and the one multiplier for all cells."""

from itertools import permutations

import numpy as np
import pytest

from assay.evalcore.errors import BadInput
from assay.evalcore.estimators import guaranteed
from assay.evalcore.estimators.guaranteed import Counted, least_total, open_counts, refuse_without_mean
from assay.evalcore.measures.rates import MEASURES
from assay.evalcore.reproducible import stream

POOL = np.array([0.0, 1.0, 0.3, 0.3, 0.9, 0.0])
CELL = np.array([0, 0, 0, 1, 1, 1])
SIZE = np.array([3, 3])


def every_order() -> tuple[np.ndarray, np.ndarray]:
    """The first four labels of all orders in which cells take turns: values and cells."""
    rows = [
        [one[0], other[0], one[1], other[1]]
        for one in permutations(range(3)) for other in permutations(range(3, 6))
    ]
    item = np.array(rows)
    return POOL[item], CELL[item]


def test_no_bet_gains_on_average_where_the_total_is_the_true_one():
    value, cell = every_order()
    rows = len(value)
    size, span, tail = np.tile(SIZE, (rows, 1)), np.ones((rows, 2)), np.full(rows, 0.025)
    bets = guaranteed._bets(value, cell, size, span, tail)
    by_cell = np.array([POOL[c == CELL].sum() for c in (0, 1)])
    left = by_cell - bets.spent
    assert np.exp(bets.logs(left)).mean(axis=0) == pytest.approx(1.0, abs=1e-12)


def test_the_prediction_of_counts_gains_nothing_on_average_at_the_true_number():
    orders = np.array(list(permutations([1, 0, 1, 0, 1])))[:, :2]
    k = orders.sum(axis=1)[:, None]
    labelled = np.stack([2 - k, k], axis=-1)
    region = open_counts(np.full((len(k), 1), 5), labelled, np.array([0.3]), 0.95)
    log_e = region.unlikely(np.full((len(k), 1), 3.0))[:, 0] - region.depth - np.log(0.05)
    assert np.exp(log_e).mean() == pytest.approx(1.0, abs=1e-9)


def test_a_census_leaves_nothing_open():
    value, cell = POOL[None], CELL[None]
    found = least_total(value, cell, SIZE[None], np.zeros((1, 2)), np.ones((1, 2)), np.array([0.025]))
    assert found == pytest.approx(POOL.sum(), abs=1e-9)


def test_no_label_leaves_everything_open():
    nothing = np.zeros((1, 0))
    found = least_total(nothing, nothing.astype(np.int64), SIZE[None], np.full((1, 2), -2.0), np.ones((1, 2)),
                        np.array([0.025]))
    assert found == -12.0


def test_the_way_to_share_a_total_is_the_best_for_it():
    """No way on a fine grid that is cheaper is left out, by more than rounding."""
    rng = stream(1, "guaranteed")
    value = rng.random((1, 60)) ** np.array([1.0, 4.0])[np.arange(60) % 2]
    cell = (np.arange(60) % 2)[None]
    size, tail = np.array([[400, 300]]), np.array([0.025])
    found = least_total(value, cell, size, np.zeros((1, 2)), np.ones((1, 2)), tail)
    bets = guaranteed._bets(value, cell, size, np.ones((1, 2)), tail)
    u = found[0] - bets.spent.sum()
    shares = np.linspace(0, u, 2001)
    logs = [
        np.logaddexp.reduce(bets.logs(np.array([[a, u - a]]))[0] + np.log(guaranteed._OF_HORIZONS))
        for a in shares
    ]
    assert min(logs) == pytest.approx(-np.log(0.025), abs=1e-3)


def test_measures_without_a_mean_are_refused():
    mcc = [one for one in MEASURES if one.name == "mcc"]
    with pytest.raises(BadInput, match="mcc is no ratio of means"):
        refuse_without_mean(mcc)


def test_a_region_holds_the_likeliest_counts():
    region = open_counts(np.array([[50, 80]]), np.array([[[5, 5], [9, 1]]]), np.array([0.5, 0.1]), 0.95)
    assert isinstance(region, Counted)
    assert region.unlikely(region.at(np.zeros((1, 2)))).sum() < region.depth[0]
    ends = [region.furthest(np.array([[sign, sign]])) for sign in (1.0, -1.0)]
    for end in ends:
        assert region.unlikely(end).sum() == pytest.approx(region.depth[0], abs=1e-5)
    assert ends[0].sum() < ends[1].sum()
