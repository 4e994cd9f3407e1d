"""`recalibrated` on a matcher whose matches scatter under the threshold: a small simulation."""

from dataclasses import replace

import numpy as np
from scipy.special import expit
from scipy.stats import binom

from assay.evalcore.measures.registry import measure
from assay.evalcore.methods.two_classes.recalibrated import Recalibrated
from assay.evalcore.replay.pool import LabelledPool
from assay.evalcore.replay.run import ReplayPlan, simulate
from assay.evalcore.reproducible import stream

FALSE_ALARM = 1e-6   # chance that an interval that covers in 95% of runs would fail on a fresh seed
RUNS, LABELS = 20, 200


def scattered():
    """1,100 matches above the threshold, a narrow band below it, and 1% of 10,000 at the bottom, most of them
    where the score is lowest: their compared fields are missing."""
    rng = stream(3, "broken matcher")
    score = np.concatenate(
        [rng.uniform(0.01, 0.06, 1100), rng.uniform(-3.2, -2.6, 120), -rng.uniform(4.0, 9.5, 10_000)]
    )
    bottom = np.where(score[1220:] < -8.0, 0.025, 0.005)
    rate = np.concatenate([np.ones(1100), np.full(120, 0.37), bottom])
    return LabelledPool(
        score=score, probability=expit(score), prediction=(score > 0).astype(np.int64),
        label=(rng.random(len(score)) < rate).astype(np.int64),
    )


def test_intervals_hold_where_matches_scatter_under_the_threshold():
    pool, f1 = scattered(), measure("f1")
    truth = float(f1.of_confusion(pool.confusion()))
    how = replace(Recalibrated(), report_draws=600)
    (trace,) = simulate(how, pool, [f1], ReplayPlan(budgets=[LABELS], batch_size=50, seed=1), repeats=RUNS)
    missed = int(((trace.lower > truth) | (truth > trace.upper)).sum())
    assert missed <= binom.isf(FALSE_ALARM, RUNS, 0.05)
