"""What is beside the guesses: covariates, a deviation, and judges that say nothing of some items."""

from dataclasses import replace

import numpy as np
import pytest

from assay.evalcore.measures.registry import outcome_measure
from assay.evalcore.measures.stack import Stack
from assay.evalcore.methods.any_outcome.measured_pool import MeasuredItems
from assay.evalcore.methods.registry import outcome_method
from assay.evalcore.outcomes.classes import Classes, OneClass
from assay.evalcore.outcomes.items import SILENT, Items, heard_judges, joined_items
from assay.evalcore.outcomes.numbers import Numbers
from assay.evalcore.outcomes.tags import Tags
from assay.evalcore.replay.pool import OutcomePool
from assay.evalcore.replay.run import ReplayPlan, simulate

GRADES = Classes(("1", "2", "3"), values=(1.0, 2.0, 3.0))


def graded(n=1_000, seed=3):
    """Grades that follow a covariate, and a judge that knows nothing of it; both are silent of some items."""
    rng = np.random.default_rng(seed)
    quality, x = rng.normal(size=n), rng.normal(size=n)
    codes = np.clip(np.round(1 + quality + 0.7 * x), 0, 2)
    judge = np.where(rng.random(n) < 0.2 + 0.3 * (codes < 1), SILENT, np.clip(np.round(1 + quality), 0, 2))
    return codes, Items(prediction=np.zeros((n, 0)), judge=judge[:, None]), x[:, None]


def stack_of(kind, measure, items):
    return Stack(kind=kind, measures=(outcome_measure(measure, kind, len(items)),))


def test_columns_that_never_vary_are_none_of_the_cells():
    _, items, x = graded()
    stack = stack_of(GRADES, "mean", items)
    full = replace(items, judge=np.maximum(items.judge, 0.0))
    for given, beside in (
        (full, None), (items, [True]), (replace(full, covariate=x), [True, False]),
        (replace(items, covariate=np.zeros_like(x)), [False, True]),
    ):
        cells = outcome_method("recalibrated").cells(MeasuredItems(stack, given))
        assert beside == (None if cells.beside is None else cells.beside.tolist())
        assert cells.guesses(stack) == 2
        assert cells.guess.shape[1] == len(cells.first)


def test_a_judge_that_is_silent_leaves_what_else_is_guessed():
    judge = np.array([[0.0], [SILENT], [1.5]])
    alone = GRADES.guesses(Items(prediction=np.zeros((3, 0)), judge=judge))
    assert alone[:, 0].tolist() == [[1, 0, 0], [1 / 3] * 3, [0, 0.5, 0.5]]
    beside = GRADES.guesses(Items(prediction=np.full((3, 1), 2.0), judge=judge))
    assert beside[1, 1].tolist() == [0, 0, 1]
    tags = Tags(("a", "b")).guesses(Items(prediction=np.full((3, 1), 3.0), judge=np.floor(judge)))
    assert tags[:, 1].tolist() == [[0, 0], [1, 1], [1, 0]]
    numbers = Items(prediction=np.zeros((3, 0)), judge=np.column_stack([judge, [4.0, 5.0, SILENT]]))
    assert heard_judges(numbers).tolist() == [[0, 4], [5, 5], [1.5, 1.5]]
    assert Numbers().guesses(numbers)[:, :2, 0].tolist() == heard_judges(numbers).tolist()
    one = OneClass(GRADES, 2).items(Items(prediction=np.zeros((3, 0)), judge=judge))
    assert one.judge.tolist() == [[0], [SILENT], [0.5]]


def test_items_keep_them_wherever_they_go():
    _, items, x = graded(10)
    given = replace(items, covariate=x, deviation=np.abs(x) + 1)
    both = joined_items([given.at(slice(0, 4)), given.at(np.arange(4, 10))])
    assert np.array_equal(both.beside, given.beside)
    assert given.beside[:, 2].tolist() == (items.judge[:, 0] == SILENT).tolist()


@pytest.mark.parametrize("kind", [GRADES, Numbers()])
def test_they_make_errors_small_and_estimates_stay_unbiased_and_covered(kind):
    codes, items, x = graded()
    found = []
    for given in (items, replace(items, covariate=x)):
        pool = OutcomePool(kind=kind, items=given, codes=codes)
        stack = stack_of(kind, "mean", given)
        (trace,) = simulate(
            outcome_method("recalibrated"), pool, stack, ReplayPlan(budgets=[100], seed=5), repeats=200
        )
        error, truth = trace.value[:, 0] - pool.truth(stack)[0], pool.truth(stack)[0]
        # four standard errors: one run in 16,000
        assert abs(error.mean()) < 4 * error.std() / np.sqrt(len(error))
        covered = (trace.lower[:, 0] <= truth) & (truth <= trace.upper[:, 0])
        # 0.89 is 3.9 standard deviations below 0.95
        assert covered.mean() > 0.89
        found.append((error**2).mean())
    assert found[1] < 0.8 * found[0]
