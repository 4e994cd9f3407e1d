"""Max-t: the confidence of single intervals at which all of a curve's hold."""

from dataclasses import replace

import numpy as np
import pytest

from assay.evalcore.measures.registry import outcome_measure
from assay.evalcore.measures.stack import Stack
from assay.evalcore.methods.any_outcome.interval import joint_confidence
from assay.evalcore.methods.any_outcome.state import RoundOutcomes, loss_table
from assay.evalcore.methods.registry import OUTCOME_METHODS
from assay.evalcore.outcomes.classes import Classes
from assay.evalcore.outcomes.items import Items

RNG = np.random.default_rng(8)


def test_between_one_interval_and_bonferroni():
    alone = RNG.normal(size=(1, 4000, 1))
    assert joint_confidence(alone, 0.95)[0] == pytest.approx(0.95, abs=0.001)
    same = np.repeat(alone, 5, axis=2)
    apart = RNG.normal(size=(1, 4000, 5))
    # five errors that move together need hardly more than one; independent ones nearly Bonferroni's 0.99
    assert joint_confidence(same, 0.95)[0] < 0.96
    assert joint_confidence(apart, 0.95)[0] == pytest.approx(0.95 ** (1 / 5), abs=0.003)
    assert joint_confidence(apart[:, :3], 0.95)[0] <= 0.99
    twice = joint_confidence(np.concatenate([apart, apart]), 0.9)
    np.testing.assert_array_equal(twice[:1], joint_confidence(apart, 0.9))


def test_the_band_of_a_curve_holds_all_its_points_together():
    kind, n, repeats = Classes(("no", "yes"), positive="yes"), 1500, 200
    x = RNG.normal(size=n)
    p = 1 / (1 + np.exp(1 - 2 * x))
    y = (RNG.random(n) < p).astype(float)
    items = Items(prediction=(x > 0.5).astype(float)[:, None], score=x[:, None],
                  probability=np.stack([1 - p, p], axis=1))
    curve = outcome_measure("pr_curve", kind, n, options={"at": (-0.5, 0.0, 0.5, 1.0)})
    stack = Stack(kind=kind, measures=(curve,))
    method = OUTCOME_METHODS["guesses"]
    cut = method.cut(stack, items)
    state = replace(method.start(cut.cells, stack, repeats), table=loss_table(stack, items, y))
    _, draws = method.next_round(state, np.full(repeats, 200), np.random.default_rng(1))
    item = np.stack([np.concatenate([
        RNG.permutation(np.flatnonzero(cut.cell == c))[:k] for c, k in enumerate(np.bincount(one)) if k
    ]) for one in draws.cell])
    found = method.estimate(state.plus(RoundOutcomes(item=item, cell=cut.cell[item])), 0.95)
    truth = curve.of_pool(items, kind.phi(y))
    lower, upper = found.band
    assert (lower <= found.lower + 1e-12).all()
    assert (upper >= found.upper - 1e-12).all()
    assert ((upper - lower).mean(axis=0) > 1.1 * (found.upper - found.lower).mean(axis=0)).all()
    # at 0.93 fewer than 174 of 200 have a chance below 1 in 1,000
    assert ((lower <= truth) & (truth <= upper)).all(axis=1).mean() >= 0.87
