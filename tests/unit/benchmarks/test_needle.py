"""A slice of docs/measured/papers/adaptive-importance-sampling.md: a curve, and claims of few repeats."""

import pytest
from doubles.pools import pools_folder, synthetic_pool

from assay.evalcore.replay.run import BudgetSummary
from assay.tasks.replay.labelled_pool import read_labelled_pool
from benchmarks.reproduce.needle.claims import of_f1
from benchmarks.reproduce.needle.runs import BUDGETS, METHODS, Convergence, agreement, convergence, curves


def test_the_tree_beats_even_draws_of_a_curve():
    found = curves(synthetic_pool(3000, seed=7), ["Passive", "Ours-8"], [50, 300], 10, thresholds=20)
    assert found["Ours-8"][1] < found["Ours-8"][0]
    assert found["Ours-8"][1] < found["Passive"][1] / 2


def test_a_curve_on_all_labels_is_exact_at_every_threshold():   # the highest is passed by the highest score
    pool = synthetic_pool(200, seed=7)
    assert curves(pool, ["Passive"], [200], 2, thresholds=20)["Passive"] == pytest.approx([0], abs=1e-20)


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
