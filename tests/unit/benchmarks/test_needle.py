"""A slice of docs/measured/papers/adaptive-importance-sampling.md: a curve, and claims of few repeats."""

import numpy as np
import pytest
from doubles.pools import pools_folder, synthetic_pool
from sklearn.metrics import precision_recall_curve

from assay.evalcore.replay.run import BudgetSummary
from assay.tasks.replay.labelled_pool import read_labelled_pool
from benchmarks.reproduce.needle.claims import of_f1
from benchmarks.reproduce.needle.curves import Run, binned, curve, draw_until, proposal, pulls
from benchmarks.reproduce.needle.runs import BUDGETS, METHODS, Convergence, agreement, convergence, curves


def test_the_tree_beats_even_draws_of_a_curve():
    found = curves(synthetic_pool(3000, seed=7), [50, 200], repeats=8, tree_repeats=8, thresholds=64)
    tree, even = (found[name][1].error.mean() for name in ("Ours-8", "Passive"))
    assert tree < found["Ours-8"][0].error.mean()
    assert tree < even / 2


def test_a_curve_on_all_labels_is_that_of_scikit_learn():   # the highest threshold is the highest score
    pool = synthetic_pool(300, seed=7)
    grid = np.linspace(pool.score.min(), pool.score.max(), 40)
    precision, recall, thresholds = precision_recall_curve(pool.label, pool.score)
    at = np.searchsorted(thresholds, grid)
    assert binned(pool, 40).truth == pytest.approx(np.concatenate([precision[at], recall[at]]), abs=1e-12)


def test_the_pulls_of_items_at_a_curve_are_the_slopes_of_example_1():
    mass, step = np.random.default_rng(3).random((7, 2)) / 14, 1e-6
    for b, y in np.ndindex(mass.shape):
        moved = np.zeros_like(mass)
        moved[b, y] = step
        slope = (curve(mass + moved) - curve(mass - moved)) / (2 * step)
        assert pulls(mass)[b, y] == pytest.approx(np.linalg.norm(slope), rel=1e-6)


def test_weights_of_draws_add_up_to_the_items_they_stand_for():
    pool = binned(synthetic_pool(400, seed=2), 16)
    rng, sums, draws = np.random.default_rng(1), np.zeros(pool.items.shape), 0
    for _ in range(100):
        run = Run(labelled=np.zeros_like(pool.items), weight=np.zeros(pool.items.shape))
        for labels in (30, 60):
            draw_until(pool, run, proposal(pool, run, np.full(16, 0.3)), labels, rng)
        assert run.labelled.sum() == run.labels == 60
        assert (run.labelled <= pool.items).all()
        sums, draws = sums + run.weight, draws + run.draws
    # a stop at a number of new items leans by some draws in a round: 5% here
    assert sums / draws == pytest.approx(pool.items / pool.size, rel=0.2, abs=0.006)


def test_the_tree_beats_even_draws_of_f1_on_a_rare_class():
    pool = read_labelled_pool(str(pools_folder() / "abt-buy.parquet"))
    found = convergence("abt-buy", pool, "f1", ["Passive", "Ours-8"], [100], 10)
    assert found.error("Ours-8", 100) < found.error("Passive", 100) / 2
    even, tree = (found.by_method[name][0].divergence for name in ("Passive", "Ours-8"))
    assert tree < even - 3


def summaries(error):
    return [
        BudgetSummary(labels=labels, labels_mean=labels, mse=error, mse_se=0.0, bias=0.0, undefined=0.0,
                      coverage=1.0, width=0.1, divergence=error)
        for labels in BUDGETS
    ]


def test_claims_follow_the_numbers():
    errors = dict(zip(METHODS, (8.0, 7.0, 0.5, 0.6, 0.4, 0.3), strict=True))
    f1 = {
        name: Convergence(pool=name, measure="f1", by_method={m: summaries(e) for m, e in errors.items()})
        for name in ("abt-buy", "restaurant")
    }
    assert agreement(f1["abt-buy"], 50) == 1
    assert [line.count("**Found**") for line in of_f1(f1)] == [1, 1, 1, 1, 1, 0]
    worse = {name: Convergence(pool=name, measure="f1", by_method={
        m: summaries(0.1 if m == "IS" else e) for m, e in errors.items()
    }) for name in f1}
    assert [line.count("**Not found**") for line in of_f1(worse)][:3] == [1, 0, 1]
