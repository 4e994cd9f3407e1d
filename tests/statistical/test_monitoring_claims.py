"""What monitoring promises: no prior makes the design biased, and a fine stream is left alone."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from doubles.studies import in_a_study
from scipy.special import expit, logit
from scipy.stats import binom

from assay.evalcore.design.draws import (
    draw_one_at_a_time,
    expansion_weight,
    first_draws,
    simulate_each,
    simulate_labels,
    weights,
)
from assay.evalcore.measures.by_group import CellGroups
from assay.evalcore.measures.registry import measure
from assay.evalcore.methods.registry import method, with_single_draws
from assay.evalcore.monitoring.betting import Account, bet_on_round, draw_weights, expected, mixed, worth
from assay.evalcore.monitoring.verdicts import Life, Promise, step
from assay.evalcore.replay.pool import LabelledPool, prepared_cells

FALSE_ALARM = 1e-6   # chance that correct code would fail on a fresh seed


@cache
def _pool():
    rng = np.random.default_rng(8)
    p = rng.beta(0.5, 0.7, 120)
    return LabelledPool(
        score=p, probability=p, prediction=(p > 0.5).astype(np.int64),
        label=(rng.random(120) < p).astype(np.int64),
    )


def _windows(name, what, limit, repeats, rounds=2, size=15, evidence=None, seed=3, side="below",
             sharpness=1.0):
    """Log factors (R, G) and the final states of `repeats` windows, drawn and bet on as in a monitor."""
    how = method(with_single_draws(name))
    pool = _pool()
    told = expit(sharpness * logit(pool.probability))
    cells, by_label = prepared_cells(how, replace(pool, score=told, probability=told))
    rng = np.random.default_rng(seed)
    value = worth(what, limit, side, cells)
    given = None if evidence is None else evidence(cells, by_label)
    state = how.start(cells, [what], repeats) if given is None else how.start_from(
        cells, [what], repeats, given)
    account = Account.new(repeats)
    for _ in range(rounds):
        left = state.left
        design, draws = how.next_round(state, np.full(repeats, size), rng)
        outcome, label = simulate_each(draws, by_label - state.labelled, rng)
        cell = np.where(first_draws(draws), draws.cell, -1)
        account = bet_on_round(
            account, expected(value[None], design.model), draw_weights(design), left, cell,
            value[np.maximum(cell, 0), label],
        )
        state = how.observe(state, design, outcome, np.zeros_like(state.excluded))
    return account.factors, state


@pytest.mark.statistical
def test_the_design_is_unbiased_under_a_prior_that_has_every_label_wrong():
    # inherited labels say the opposite of the truth, as many as the pool has items
    what, repeats = measure("f1"), 4000
    _, state = _windows(
        "dirichlet-tree:depth=3:epsilon=0.01", what, 0.5, repeats,
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
    name, what, repeats = "recalibrated:n_strata=8:planning_draws=32", measure("f1"), 200
    _, by_label = prepared_cells(method(with_single_draws(name)), _pool())
    _, state = _windows(
        name, what, 0.5, repeats, rounds=2, size=10,
        evidence=lambda cells, by_label: by_label[:, ::-1].astype(float),
    )
    # the weights of a round are fixed before its labels arrive: in every cell Σ w (T - θ) has mean 0 for a
    # guess that was there before
    sums, guess = state.sums, 0.3
    gap = sums.known + sums.guessed * guess - sums.weight * by_label[:, 1]
    gap = CellGroups.by_prediction(state.model.shape.predicted).sums(gap)     # FN and TP
    z = gap.mean(axis=0) / (gap.std(axis=0, ddof=1) / np.sqrt(repeats))
    assert np.abs(z).max() < 5.2   # 2 totals, 1e-6 in all: |z| < 5.0 for a normal mean


WRONG = {"evidence": lambda cells, by_label: by_label[:, ::-1].astype(float)}   # every inherited label is


@pytest.mark.statistical
@pytest.mark.parametrize(("name", "repeats", "given"), [
    ("passive", 2000, {}),
    ("stratified", 2000, {}),
    ("stratified-neyman", 2000, {"sharpness": 0.5}),
    ("sawade", 1000, {"sharpness": 0.5}),
    ("dirichlet-tree:depth=3", 300, WRONG),
    ("recalibrated:n_strata=8:planning_draws=32", 80, WRONG),
], ids=lambda x: x if isinstance(x, str) else "")
@pytest.mark.parametrize(("what", "side"), [in_a_study("accuracy", "below"), ("f1", "above")])
def test_a_bet_against_the_truth_does_not_gain(name, repeats, given, what, side):
    # probabilities that are off, and priors that have every label wrong, cost power and not honesty
    truth = float(measure(what).of_confusion(_pool().confusion()))
    said, _ = _windows(name, measure(what), truth, repeats, side=side, **given)
    worth = np.exp(said)
    # E ≤ 1 for every effect; for the larger ones the mean rests on a few runs, so they are left out
    for g in range(3):
        mean, spread = worth[:, g].mean(), worth[:, g].std(ddof=1) / np.sqrt(len(worth))
        assert mean <= 1 + 5.2 * spread


@pytest.mark.statistical
def test_a_bet_against_a_wrong_claim_gains():
    truth = float(measure("accuracy").of_confusion(_pool().confusion()))
    for name in ("passive", "recalibrated:n_strata=8:planning_draws=32"):
        said, _ = _windows(name, measure("accuracy"), truth + 0.15, 100)
        assert mixed(said).mean() > 0.3


@pytest.mark.statistical
@pytest.mark.parametrize(("name", "repeats", "given"), [
    ("sawade", 1000, {}), ("recalibrated:n_strata=8:planning_draws=32", 100, {"sharpness": 0.5}),
], ids=["sawade", "recalibrated, log odds halved"])
def test_a_stream_at_its_limit_is_left_alone_for_200_windows(name, repeats, given):
    truth = float(measure("f1").of_confusion(_pool().confusion()))
    said, _ = _windows(name, measure("f1"), truth, repeats, **given)
    lives = 500
    for test in ("e-detector", "e-process", "alpha-spending"):
        rng, promise = np.random.default_rng(5), Promise(error_rate=0.05, test=test)
        life = Life(windows=0, wealth=np.tile(Life.new(test, said.shape[1]).wealth, (lives, 1)))
        alarmed = np.zeros(lives, np.bool_)
        for _ in range(200):
            life, evidence = step(promise, life, said[rng.integers(len(said), size=lives)])
            alarmed |= evidence >= -np.log(0.05)
        assert alarmed.sum() <= binom.isf(FALSE_ALARM, lives, 0.05)


@pytest.mark.statistical
def test_an_estimate_from_items_drawn_one_at_a_time_is_unbiased():
    # three cells of unlike weight, a batch of a third of the pool: Σ ω (y - m) makes up for what m misses
    rng = np.random.default_rng(11)
    repeats, left = 20_000, np.array([[6, 10, 20]])
    by_label, model = np.array([[5, 1], [4, 6], [2, 18]]), np.array([0.9, 0.1, 0.5])
    lefts = np.broadcast_to(left, (repeats, 3))
    weight = np.broadcast_to(weights(np.array([[0.8, 0.1, 0.3]])), (repeats, 3))
    draws = draw_one_at_a_time(lefts, weight, np.full(repeats, 12), rng)
    told = expansion_weight(lefts, weight, draws.cell)
    new = simulate_labels(draws, np.broadcast_to(by_label, (repeats, 3, 2)), rng).new
    total = (left * model).sum() + (told * (new[..., 1] - new.sum(axis=2) * model)).sum(axis=1)
    z = (total.mean() - by_label[:, 1].sum()) / (total.std(ddof=1) / np.sqrt(repeats))
    assert abs(z) < 5.0   # 6e-7 for a normal mean
