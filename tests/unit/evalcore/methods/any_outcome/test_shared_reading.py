"""One sample for three questions: each is estimated as honestly as if it had been asked alone.

Pools are drawn with fixed seeds.  A coverage is held to 0.95 less 3.7 standard errors of a share of so many
runs: a false alarm in about one of 10,000 such checks.
"""

from functools import cache

import numpy as np
import pytest

from assay.evalcore.errors import BadInput
from assay.evalcore.evaluation.estimates import estimates
from assay.evalcore.evaluation.questions import each_question
from assay.evalcore.evaluation.state import Question, before_any_label, observe, plan
from assay.evalcore.measures.registry import outcome_measure
from assay.evalcore.measures.stack import StackOfQuestions, stack_of_questions
from assay.evalcore.methods.registry import method_of_questions, outcome_method
from assay.evalcore.outcomes.base import UNANSWERED
from assay.evalcore.outcomes.classes import Classes
from assay.evalcore.outcomes.items import Items
from assay.evalcore.outcomes.numbers import Numbers
from assay.evalcore.outcomes.questions import OneQuestion, SeveralQuestions
from assay.evalcore.replay.pool import OutcomePool
from assay.evalcore.replay.run import ReplayPlan, simulate

N, RUNS = 1_500, 200
KIND = SeveralQuestions((
    OneQuestion("grade", Classes(tuple("12345"), values=(1, 2, 3, 4, 5)), judges=1),
    OneQuestion("number", Numbers(0, 10), predicts=True),
    OneQuestion("right", Classes(("no", "yes"), positive="yes"), predicts=True, probabilities=True),
))


@cache
def pool() -> OutcomePool:
    """A grade that a judge sees, a number whose errors grow with it, and rare mistakes of a classifier."""
    rng = np.random.default_rng(11)
    quality = rng.normal(0, 1, N)
    grade = np.clip(np.round(2 + quality + 0.5 * rng.standard_normal(N)), 0, 4)
    judge = np.clip(np.round(2 + quality + 0.8 * rng.standard_normal(N)), 0, 4)
    number = rng.uniform(0, 10, N)
    said = np.clip(number + 0.3 * number * rng.standard_normal(N), 0, 10)
    p = 1 / (1 + np.exp(-2.5 * rng.standard_normal(N) - 1))
    right = (rng.random(N) < p).astype(float)
    codes = np.stack([grade, np.round(number, 3), right], axis=1)
    return OutcomePool(kind=KIND, codes=KIND.packing.pack(codes), items=Items(
        prediction=np.stack([said, (p > 0.5).astype(float)], axis=1), judge=judge[:, None],
        probability=np.stack([1 - p, p], axis=1),
    ))


def stack(drive: tuple[str, ...] | None = None) -> StackOfQuestions:
    def of(name: str, number: int):
        return (outcome_measure(name, KIND.each[number].kind, N),)

    return stack_of_questions(
        KIND, {"grade": of("mean", 0), "number": of("mae", 1), "right": of("f1", 2)}, drive
    )


def least(runs: int) -> float:
    return 0.95 - 3.7 * np.sqrt(0.95 * 0.05 / runs)


@pytest.mark.parametrize("name", ["auto", "passive"])
def test_every_question_is_covered(name):
    truth = pool().truth(stack())
    found = simulate(
        outcome_method(method_of_questions(name)), pool(), stack(), ReplayPlan(budgets=[120]), repeats=RUNS
    )
    for q, one in enumerate(found):
        held = (one.lower <= truth[q]) & (truth[q] <= one.upper)
        assert held.mean() >= least(RUNS), (q, held.mean())
        error = one.value.mean() - truth[q]
        assert abs(error) < 4 * one.value.std() / np.sqrt(RUNS) + 0.01 * abs(truth[q])


def test_a_question_that_alone_drives_is_known_better_than_in_an_even_sample():
    widths = {}
    for name, drive in (("auto", ("right",)), ("passive", None)):
        found = simulate(
            outcome_method(method_of_questions(name)), pool(), stack(drive), ReplayPlan(
                budgets=[120]
            ), repeats=50
        )
        widths[name] = float((found[2].upper - found[2].lower).mean())
    assert widths["auto"] < 0.9 * widths["passive"]


def test_who_leaves_a_question_out_leaves_out_that_question_alone():
    """A third of the items get no grade, whatever it is: its interval is wider and holds, others do not see
    it."""
    rng, runs, truth = np.random.default_rng(5), 40, pool().truth(stack())
    method = outcome_method("questions")
    cut = method.cut(stack(), pool().items)
    order = np.argsort(cut.cell, kind="stable")
    start = np.concatenate([[0], np.cumsum(cut.cells.size)])
    codes = KIND.packing.unpack(pool().codes)
    held, numbers = np.zeros(3), []
    for run in range(runs):
        question = Question(
            method=method, measures=stack(), cells=cut.cells, confidence=0.95, seed=run, evaluation="gaps"
        )
        state = before_any_label(question)
        for _ in range(2):
            drawn = plan(question, state, 60)
            item = order[start[drawn.cell] + drawn.rank]
            said = codes[item].copy()
            said[rng.random(len(item)) < 1 / 3, 0] = UNANSWERED
            state = observe(question, state, drawn, KIND.packing.pack(said), pool().items.at(item))
        rows = estimates(question, state)
        held += [row.lower <= truth[q] <= row.upper for q, row in enumerate(rows)]
        numbers.append([row.labels for row in rows])
        assert rows[0].nonresponse.unanswered == 120 - rows[0].labels > 0
        assert rows[1].nonresponse is rows[2].nonresponse is None
    assert (np.array(numbers)[:, 1:] == 120).all()
    assert (held / runs >= least(runs)).all(), held / runs
    assert [one.state.labels for one in each_question(question, state)] == numbers[-1]


def test_a_pool_that_is_read_out_is_exact_where_every_item_was_answered():
    small = OutcomePool(kind=KIND, items=pool().items.at(slice(0, 60)), codes=pool().codes[:60])
    found = simulate(
        outcome_method("questions"), small, stack(), ReplayPlan(budgets=[60], batch_size=20), repeats=2
    )
    for one, truth in zip(found, small.truth(stack()), strict=True):
        np.testing.assert_allclose([one.value, one.lower, one.upper], truth, atol=1e-9)


def test_methods_with_draws_of_their_own_are_refused():
    with pytest.raises(BadInput, match="take auto"):
        method_of_questions("dirichlet-tree")
    with pytest.raises(BadInput, match="several questions about one item"):
        outcome_method("questions").cut(stack().each[0], KIND.view(0, pool().items))
    with pytest.raises(BadInput, match="has no measure"):
        stack_of_questions(KIND, {"grade": stack().each[0].measures})
