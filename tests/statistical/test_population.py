"""Intervals about the population cover, of pools that are drawn from one.

Nominal 95%.  A share of R runs that cover is below its bar by chance with a probability of at most 10⁻⁴ where
the true coverage is 0.95: `least` says how many of R may miss.
Whole evaluations are 25: that finds a coverage of 0.6 in five of six cases; what is finer is measured in
docs/measured/population.md.
"""

import numpy as np
import pytest
import scipy
from doubles.studies import in_a_study

from assay.evalcore.estimators.population import Pulls, apart, in_strata
from assay.evalcore.evaluation.population import both_estimates
from assay.evalcore.evaluation.state import Question, before_any_label, observe, plan
from assay.evalcore.measures.registry import outcome_measure
from assay.evalcore.measures.stack import Stack
from assay.evalcore.methods.registry import outcome_method
from assay.evalcore.outcomes.classes import Classes
from assay.evalcore.outcomes.items import Items
from assay.evalcore.reproducible import stream
from benchmarks.population import POPULATIONS, evaluated

RUNS = 300


def least(runs: int) -> int:
    """Runs that must cover."""
    return int(scipy.stats.binom.ppf(1e-4, runs, 0.95))


# value of each kind of item, their shares, the bounds
MEANS = {
    "accuracy": ((0.0, 1.0), (0.12, 0.88), (0.0, 1.0)),
    "nearly all right": ((0.0, 1.0), (0.006, 0.994), (0.0, 1.0)),
    "grades": ((1.0, 2.0, 3.0, 4.0, 5.0), (0.1, 0.2, 0.3, 0.25, 0.15), (1.0, 5.0)),
    "fives": ((1.0, 2.0, 3.0, 4.0, 5.0), (0.0, 0.01, 0.02, 0.07, 0.9), (1.0, 5.0)),
    "difference": ((-1.0, 0.0, 1.0), (0.02, 0.93, 0.05), (-1.0, 1.0)),
    "few differ": ((-1.0, 0.0, 1.0), (0.0, 0.985, 0.015), (-1.0, 1.0)),
}


@pytest.mark.parametrize("items", [200, 1000])
@pytest.mark.parametrize("name", MEANS)
def test_a_census_says_what_it_can_of_the_population(name, items):
    values, shares, bounds = MEANS[name]
    x, rng = np.array(values), stream(7, f"census/{name}", items)
    truth, covered = float(x @ shares), 0
    for counts in rng.multinomial(items, shares, RUNS):
        value = float(counts @ x / items)
        pulls = Pulls(
            z=(x - value)[:, None], items=counts.astype(float), most_down=np.array([value - bounds[0]]),
            most_up=np.array([bounds[1] - value]), labels=float(items),
        )
        found = apart(value, (value, value), pulls, 0, bounds, 0.95)
        covered += found.lower - 1e-9 <= truth <= found.upper + 1e-9
    assert covered >= least(RUNS)


@pytest.mark.parametrize(("shares", "items", "right"), [
    ((0.9, 0.1), (100, 100), (0.99, 0.5)),     # what the many items have not shown weighs most
    ((0.5, 0.5), (100, 100), (0.99, 0.01)),    # alike within strata, and not between them
    ((0.25, 0.25, 0.25, 0.25), (50, 50, 50, 50), (0.95, 0.9, 0.8, 0.7)),
    ((0.7, 0.1, 0.1, 0.1), (50, 50, 50, 50), (0.98, 0.9, 0.8, 0.7)),
])
def test_a_census_of_a_pool_drawn_in_strata_covers_what_rare_errors_may_be(shares, items, right):
    rng, n = stream(7, f"strata/{shares}{right}", sum(items)), np.array(items)
    stratum = np.repeat(np.arange(len(n)), n)
    own, chance = (np.array(shares) * n.sum() / n)[stratum], np.array(right)[stratum]
    truth, covered = float(np.array(shares) @ right), 0
    for x in (rng.random((RUNS, len(stratum))) < chance).astype(float):
        value = float((own * x).mean())
        pulls = in_strata(Pulls(
            z=(own * (x - value))[:, None], items=np.ones(len(x)), labels=float(len(x)),
            most_down=np.array([own.max() * value]), most_up=np.array([own.max() * (1 - value)]),
        ), stratum.astype(float))
        found = apart(value, (value, value), pulls, 0, (0.0, 1.0), 0.95)
        covered += found.lower - 1e-9 <= truth <= found.upper + 1e-9
        assert found.lower < value or value == 0
    assert covered >= least(RUNS)


# macro F1 of three classes: their shares of the predictions, and how many of each are right; what is wrong is
# of the next class
CLASSES = (((1 / 3, 1 / 3, 1 / 3), (0.995, 0.995, 0.995)), ((0.6, 0.3, 0.1), (0.98, 0.98, 0.98)),
           ((0.7, 0.25, 0.05), (0.03, 0.97, 0.5)))


@pytest.mark.parametrize(("shares", "right"), CLASSES)
def test_classes_that_are_all_right_or_all_wrong_are_no_proof_of_the_population(shares, right):
    table = np.zeros((3, 3))
    for k in range(3):
        table[k, k], table[k, (k + 1) % 3] = shares[k] * right[k], shares[k] * (1 - right[k])
    truth = (2 * np.diag(table) / (table.sum(axis=0) + table.sum(axis=1))).mean()
    runs, covered = 40, 0
    for run in range(runs):
        rng = stream(7, f"census of classes/{shares}{right}", run)
        said = rng.choice(3, 60, p=shares)
        labels = np.where(rng.random(60) < np.array(right)[said], said, (said + 1) % 3)
        lower, upper = _census_of_classes(said, labels)
        covered += lower - 1e-9 <= truth <= upper + 1e-9
    assert covered >= scipy.stats.binom.ppf(1e-4, runs, 0.92)     # the last leaves out a class in 5% of pools


def test_the_interval_of_classes_with_f1_of_0_and_1_does_not_close():
    lower, upper = _census_of_classes(np.tile([0, 1, 2], 20), np.tile([1, 0, 2], 20))
    assert lower < 1 / 3 - 0.03
    assert upper > 1 / 3 + 0.03


def _census_of_classes(said, labels):
    """The interval of macro F1 about the population, of a pool whose labels are all known."""
    kind, items = Classes(("a", "b", "c")), Items(prediction=said[:, None].astype(float))
    stack = Stack(kind=kind, measures=(outcome_measure("macro_f1", kind, len(said)),))
    method = outcome_method("passive")
    question = Question(
        method=method, measures=stack, cells=method.cut(stack, items).cells, confidence=0.95, seed=1,
        evaluation="census", about="population",
    )
    state = before_any_label(question)
    drawn = plan(question, state, len(said))
    state = observe(question, state, drawn, labels[drawn.rank].astype(float), items.at(drawn.rank))
    (found,) = both_estimates(question, state)[0]
    return found.lower[0], found.upper[0]


@pytest.mark.parametrize(("place", "by"), [
    in_a_study(0, "passive"), in_a_study(2, "auto"), in_a_study(4, "passive"), (5, "auto"),
])
def test_an_evaluation_covers_its_population(place, by):
    population, runs, covered = POPULATIONS[place], 25, {}
    for run in range(1, runs + 1):
        for labels, rows in evaluated(population, by, 200, run):
            for q, one in enumerate(rows):
                inside = float(one.lower[0]) <= population.truth[q] <= float(one.upper[0])
                covered[q, labels] = covered.get((q, labels), 0) + inside
    assert set(covered) >= {(0, "50"), (0, "100"), (0, "all")}
    assert min(covered.values()) >= least(runs)
