"""Guaranteed intervals cover at all looks together: a slice of docs/measured/guaranteed.md.

What covers with 0.95 falls below the 1 in 10,000 point of its binomial distribution in one of 10,000 tries.
Of 30 runs that finds a coverage of 0.6 in 95 of 100 cases; the table has 1,000 runs, and guaranteed intervals
cover more than they must.
"""

import numpy as np
import pytest
from doubles.studies import in_a_study
from scipy.stats import binom

from assay.evalcore.errors import BadInput
from assay.evalcore.measures.registry import outcome_measure
from assay.evalcore.measures.stack import Stack
from assay.evalcore.methods.registry import outcome_method
from benchmarks.guaranteed import FAMILIES, cell
from benchmarks.rare_errors import FAMILIES as OUTCOMES

RUNS = 30
LEAST = binom.ppf(1e-4, RUNS, 0.95) / RUNS

CELLS = [
    in_a_study("wrong 0.5%", "accuracy", "passive"),
    ("wrong 0.5%", "accuracy", "stratified"),
    in_a_study("wrong 25%", "f1", "passive"),
    in_a_study("fives", "mean", "passive"),
    ("grades", "mae", "stratified"),
    in_a_study("systems", "accuracy", "passive"),
    in_a_study("two classes, 3%", "f1", "stratified-neyman"),
    ("two classes", "recall", "passive"),
    in_a_study("two classes", "accuracy", "stratified-online"),
]


@pytest.mark.parametrize(("family", "measure", "method"), CELLS)
def test_all_looks_are_covered(family, measure, method):
    found = cell(FAMILIES[family], measure, f"{method}:guaranteed=true", runs=RUNS, budgets=(25, 50, 100))
    assert found.together >= LEAST, found


def test_it_needs_even_or_stratified_draws():
    with pytest.raises(BadInput, match="use passive, stratified or stratified-neyman"):
        outcome_method("static-is:guaranteed=true")


@pytest.mark.parametrize("measure", ["macro_f1", "pearson", "r2"])
def test_a_measure_that_no_mean_decides_about_is_refused(measure):
    pool = OUTCOMES["grades"].draw(np.random.default_rng(1), 200, 0.1)
    stack = Stack(kind=pool.kind, measures=(outcome_measure(measure, pool.kind, 200),))
    with pytest.raises(BadInput, match="has no guaranteed interval"):
        outcome_method("passive:guaranteed=true").cut(stack, pool.items)
