"""Every measure by every method on pools on which much is 0/0: a number is finite, or it is said why not.

The pools are the degenerate ones: everything alike, everything wrong, classes that nobody predicts or that
do not occur, probabilities of 0 and 1, judges that always say the same, a pool of one item, numbers that are
all equal or very large.  Every evaluation runs from no label to all labels.
"""

import numpy as np
import pytest

from assay.evalcore.errors import BadInput
from assay.evalcore.evaluation.estimates import estimates
from assay.evalcore.evaluation.state import Question, before_any_label, observe, plan
from assay.evalcore.measures.registry import MEASURES_BY_KIND, outcome_measure
from assay.evalcore.measures.stack import Stack
from assay.evalcore.methods.registry import OUTCOME_METHODS
from assay.evalcore.outcomes.base import LARGEST_OUTCOME
from assay.evalcore.outcomes.classes import Classes, preferences
from assay.evalcore.outcomes.items import Items
from assay.evalcore.outcomes.numbers import Numbers
from assay.evalcore.outcomes.score_grid import grids
from assay.evalcore.outcomes.tags import Tags
from assay.evalcore.replay.pool import OutcomePool

N = 12
SETTINGS = {"top_k_accuracy": {"k": 2.0}, "within": {"tolerance": 1.0}, "fbeta": {"beta": 2.0},
            "pr_curve": {"at": (0.2, 0.5)}, "roc_curve": {"at": (0.2, 0.5)}}
ABC, PAIR = Classes(("a", "b", "c")), Classes(("no", "yes"), positive="yes")
TAGS, GRADES = Tags(("red", "green")), Classes(("1", "2", "3"), (1.0, 2.0, 3.0))
EVEN = np.full((N, 3), 1 / 3)
ZERO, ONE, TWO = np.zeros(N), np.ones(N), np.full(N, 2.0)
TURNS = np.arange(N) % 3.0


def a_pool(kind, codes, prediction=None, *, probability=None, judge=None):
    columns = {"probability": probability, "judge": None if judge is None else judge[:, None]}
    predictions = np.zeros((len(codes), 0)) if prediction is None else prediction[:, None]
    return OutcomePool(kind=kind, codes=codes, items=Items(prediction=predictions, **columns))


POOLS = {
    "one class is all there is": a_pool(ABC, ZERO, ZERO, probability=ABC.phi(ZERO)),
    "all wrong, and sure of it": a_pool(ABC, ONE, ZERO, probability=ABC.phi(ZERO)),
    "a class that nobody predicts": a_pool(ABC, TURNS, ZERO, probability=EVEN),
    "classes, predictions alone": a_pool(ABC, TURNS, TURNS),
    "no positive at all": a_pool(PAIR, ZERO, ZERO, probability=np.full((N, 2), 0.5)),
    "all positive, none predicted": a_pool(PAIR, ONE, ZERO, probability=PAIR.phi(ZERO)),
    "one item": a_pool(ABC, ZERO[:1], ONE[:1], probability=EVEN[:1]),
    "grades all alike, a judge that says another": a_pool(GRADES, ONE, ONE, judge=TWO),
    "grades, a judge that guesses": a_pool(GRADES, TURNS, ONE, judge=np.roll(TURNS, 1)),
    "no tag anywhere": a_pool(TAGS, ZERO, ZERO, probability=np.zeros((N, 2))),
    "every tag missed": a_pool(TAGS, np.full(N, 3.0), ZERO, probability=np.zeros((N, 2))),
    "every tag everywhere": a_pool(TAGS, np.full(N, 3.0), np.full(N, 3.0), probability=np.ones((N, 2))),
    "one number": a_pool(Numbers(), TWO, TWO, judge=TWO),
    "one number, predicted as another": a_pool(Numbers(0.0, 5.0), TWO, ONE),
    "very large numbers": a_pool(Numbers(), LARGEST_OUTCOME * TURNS / 2, -LARGEST_OUTCOME * TURNS / 2),
    "one number far from all others": a_pool(Numbers(), np.array([1e12, *TURNS[1:]]), TURNS),
    "a judge alone, always the same": a_pool(Numbers(0.0, 5.0), TURNS, judge=ONE),
    "ties alone": a_pool(preferences("new", "old", "tie"), TWO),
    "wins alone, a judge that sees none": a_pool(preferences("new", "old", "tie"), ZERO, judge=ONE),
}


def question_of(pool, method):
    """All measures of the kind that the pool has the columns for."""
    found, n, bands = [], len(pool.items), grids(pool.kind, pool.items)
    for kind, name in MEASURES_BY_KIND:
        if kind != pool.kind.name:
            continue
        try:
            measure = outcome_measure(name, pool.kind, n, options=SETTINGS.get(name), grids=bands)
            Stack(kind=pool.kind, measures=(measure,)).check(pool.items)
        except BadInput:     # grades alone have it, it needs a class, or a column that is not there
            continue
        found.append(measure)
    assert found
    stack = Stack(kind=pool.kind, measures=tuple(found))
    cut = OUTCOME_METHODS[method].cut(stack, pool.items)
    return cut.cell, Question(
        method=OUTCOME_METHODS[method], measures=stack, cells=cut.cells, confidence=0.95, seed=3,
        evaluation="degenerate",
    )


def check(estimate):
    """A value with an interval around it, or a reason; no NaN and nothing infinite anywhere."""
    numbers = [estimate.value, estimate.lower, estimate.upper, estimate.variance]
    assert all(number is None or np.isfinite(number) for number in numbers), estimate
    assert (estimate.value is None) == bool(estimate.undefined_reason), estimate
    if estimate.value is not None:
        slack = 1e-9 * max(1.0, abs(estimate.value))
        assert estimate.lower is None or estimate.lower <= estimate.value + slack, estimate
        assert estimate.upper is None or estimate.value - slack <= estimate.upper, estimate


# each pool by methods that differ in what they draw and how they estimate, and a few by every method
TELLING = ("recalibrated", "stratified-neyman", "dirichlet-tree")
BY_ALL = ("a class that nobody predicts", "all positive, none predicted", "every tag missed",
          "one number, predicted as another", "grades, a judge that guesses")


@pytest.mark.parametrize(("name", "method"), [
    (name, method) for name, pool in POOLS.items() for method, one in OUTCOME_METHODS.items()
    if pool.kind.name in one.kinds and not (one.capabilities.needs_clusters or one.of_some_measures)
    and (method in TELLING or name in BY_ALL)
])
def test_a_number_is_finite_or_it_is_said_why_not(name, method):
    pool = POOLS[name]
    cell, question = question_of(pool, method)
    state = before_any_label(question)
    for size in (1, 4, N):
        for estimate in estimates(question, state):
            check(estimate)
        if not state.exhausted:
            drawn = plan(question, state, size)
            rows = [np.flatnonzero(cell == c)[r] for c, r in zip(drawn.cell, drawn.rank, strict=True)]
            state = observe(question, state, drawn, pool.codes[rows], pool.items.at(np.array(rows)))
    last = estimates(question, state)
    truth = pool.truth(question.measures)
    for estimate, true in zip(last, truth, strict=True):
        check(estimate)
        assert state.exhausted
        value = np.nan if estimate.value is None else estimate.value
        assert value == pytest.approx(true, nan_ok=True, rel=1e-6, abs=1e-9), estimate
