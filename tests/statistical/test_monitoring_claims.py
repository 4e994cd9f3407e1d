"""What monitoring promises: no prior makes the design biased, and a fine stream is left alone for life."""

from functools import cache

import numpy as np
import pytest
from scipy.stats import binom

from assay.evalcore.design.draws import simulate_labels
from assay.evalcore.measures.registry import measure
from assay.evalcore.methods.base import draw_round
from assay.evalcore.methods.registry import method
from assay.evalcore.monitoring.betting import bet_against, round_log_factors
from assay.evalcore.monitoring.lifetime import evidence_by_window
from assay.evalcore.replay.pool import LabelledPool, prepare

FALSE_ALARM = 1e-6   # chance that correct code would fail on a fresh seed


@cache
def _pool():
    rng = np.random.default_rng(8)
    p = rng.beta(0.5, 0.7, 120)
    return LabelledPool(
        score=p, probability=p, prediction=(p > 0.5).astype(np.int64),
        label=(rng.random(120) < p).astype(np.int64),
    )


def _windows(how, what, limit, repeats, rounds=2, size=15, evidence=None, seed=3):
    """Log factors (R, G) and the final states of `repeats` windows."""
    cells, by_label = prepare(how, _pool())
    rng = np.random.default_rng(seed)
    bet = bet_against(what, limit, "below")
    given = None if evidence is None else evidence(cells, by_label)
    state = how.start(cells, [what], repeats) if given is None else how.start_from(
        cells, [what], repeats, given)
    said = 0.0
    for _ in range(rounds):
        before = state.labelled
        design, draws = draw_round(how, state, np.full(repeats, size), rng)
        outcome = simulate_labels(draws, by_label - before, rng)
        said = said + round_log_factors(bet, cells, design, before, outcome)
        state = how.observe(state, design, outcome, np.zeros_like(state.excluded))
    return said, state


@pytest.mark.statistical
def test_the_design_is_unbiased_under_a_prior_that_has_every_label_wrong():
    # inherited labels say the opposite of the truth, as many as the pool has items
    what, repeats = measure("f1"), 4000
    _, state = _windows(
        method("dirichlet-tree:depth=3:epsilon=0.01"), what, 0.5, repeats,
        evidence=lambda cells, by_label: by_label[:, ::-1].astype(float),
    )
    # R̂ = Σ w ℓ / n over the draws: its mean is R whatever the proposal was (of the losses F1 looks at);
    # the number of draws is random, so the martingale Σ (w ℓ - R) is what has mean 0
    counts = _pool().confusion() / len(_pool().label)
    touched = what.touched() > 0
    gap = state.sums.weight - state.sums.say[:, None, None] * counts
    for f, y in np.argwhere(touched):
        of = gap[:, f, y]
        z = of.mean() / (of.std(ddof=1) / np.sqrt(repeats))
        assert abs(z) < 5.2   # 3 cells, 1e-6 in all: |z| < 5.1 for a normal mean


@pytest.mark.statistical
def test_the_design_s_part_of_recalibrated_is_unbiased_under_a_prior_that_has_every_label_wrong():
    what, repeats = measure("f1"), 400
    _, state = _windows(
        method("recalibrated:n_strata=8:planning_draws=32"), what, 0.5, repeats, rounds=2, size=10,
        evidence=lambda cells, by_label: by_label[:, ::-1].astype(float),
    )
    # the weights of a round are fixed before its labels arrive: Σ w (T - θ) has mean 0 for FN and for TP
    gap = state.sums.total[:, 0] - state.sums.weight * _pool().confusion()[:, 1]
    z = gap.mean(axis=0) / (gap.std(axis=0, ddof=1) / np.sqrt(repeats))
    assert np.abs(z).max() < 5.2   # 2 totals, 1e-6 in all: |z| < 5.0 for a normal mean


@pytest.mark.statistical
@pytest.mark.parametrize("name", ["passive", "sawade", "dirichlet-tree:depth=3"])
@pytest.mark.parametrize("what", ["accuracy", "f1"])
def test_a_bet_against_the_truth_does_not_gain(name, what):
    truth = float(measure(what).of_confusion(_pool().confusion()))
    said, _ = _windows(method(name), measure(what), truth, 1000)
    worth = np.exp(said)
    # E ≤ 1 for every share; for the larger ones the mean rests on a few runs, so they are left out
    for g in range(8):
        mean, spread = worth[:, g].mean(), worth[:, g].std(ddof=1) / np.sqrt(len(worth))
        assert mean <= 1 + 5.2 * spread


@pytest.mark.statistical
def test_a_bet_against_a_wrong_claim_gains():
    truth = float(measure("accuracy").of_confusion(_pool().confusion()))
    said, _ = _windows(method("passive"), measure("accuracy"), truth + 0.15, 300)
    assert said.max(axis=1).mean() > 0.5


@pytest.mark.statistical
@pytest.mark.parametrize("test", ["e-process", "alpha-spending"])
def test_a_stream_at_its_limit_is_left_alone_for_life(test):
    truth = float(measure("f1").of_confusion(_pool().confusion()))
    said, _ = _windows(method("sawade"), measure("f1"), truth, 1000)
    rng = np.random.default_rng(5)
    lives = 150
    alarmed = sum(
        any(look.alarm for look in evidence_by_window(test, list(said[rng.integers(1000, size=40)]), 0.05))
        for _ in range(lives)
    )
    assert alarmed <= binom.isf(FALSE_ALARM, lives, 0.05)
