"""A slice of docs/papers/adaptive-importance-sampling.md: the curves, and what is claimed of few repeats."""

import numpy as np
from doubles.pools import pools_folder, synthetic_pool

from assay.evalcore.replay.summary import BudgetSummary
from assay.tasks.replay.labelled_pool import read_labelled_pool
from benchmarks.reproduce.needle.claims import of_f1
from benchmarks.reproduce.needle.curves import curve_errors, cut
from benchmarks.reproduce.needle.runs import BUDGETS, METHODS, Convergence, agreement, convergence


def made():
    return cut(synthetic_pool(3000, seed=7), 64)


def test_the_curve_of_a_pool_is_precision_and_recall_at_evenly_spaced_thresholds():
    whole = synthetic_pool(3000, seed=7)
    found = made().curve(made().by_label.astype(float))
    thresholds = np.linspace(whole.score.min(), whole.score.max(), 64)[1:-1]   # the ends are rounded
    above = whole.score[:, None] >= thresholds
    hits = (whole.label[:, None] * above).sum(axis=0)
    np.testing.assert_allclose(found[1:63], hits / above.sum(axis=0))
    np.testing.assert_allclose(found[65:127], hits / whole.label.sum())


def test_the_pull_of_an_item_is_the_norm_of_the_slope_of_the_curve():
    pool = made()
    counts = pool.by_label[None].astype(float)
    at, pull = pool.curve(counts)[0], pool.pull(counts)[0]
    for cell in (0, len(pool.bin) // 2, len(pool.bin) - 1):
        for y in (0, 1):
            more = counts.copy()
            more[0, cell, y] += 1e-6
            slope = np.linalg.norm((pool.curve(more)[0] - at) / 1e-6)
            np.testing.assert_allclose(pull[cell, y], slope, rtol=1e-4)


def test_the_tree_beats_even_draws_of_a_curve_and_comes_nearer_to_the_best_proposal():
    pool = made()
    even, _ = curve_errors(pool, "passive", [300], 10, np.random.default_rng(1))
    errors, distances = curve_errors(pool, "tree", [50, 300], 10, np.random.default_rng(1))
    assert errors[1] < even[0] / 2
    assert distances[1] < distances[0]


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
