"""A live evaluation of any kind of outcome, from question to exact value."""

import numpy as np
import pytest

from assay.evalcore.design.round import Design
from assay.evalcore.errors import BadInput
from assay.evalcore.evaluation.estimates import estimates
from assay.evalcore.evaluation.state import Question, before_any_label, observe, plan
from assay.evalcore.measures.measure import difference
from assay.evalcore.measures.registry import outcome_measure
from assay.evalcore.measures.stack import Stack
from assay.evalcore.methods.any_outcome.state import OutcomeCells
from assay.evalcore.methods.registry import OUTCOME_METHODS
from assay.evalcore.outcomes.base import UNANSWERED, UNDECIDED
from assay.evalcore.outcomes.classes import Classes
from assay.evalcore.outcomes.items import Items
from assay.evalcore.outcomes.numbers import Numbers
from assay.evalcore.outcomes.tags import Tags
from assay.evalcore.replay.pool import OutcomePool

N = 120


def _pool(kind):
    rng = np.random.default_rng(5)
    if kind == "number":
        y = rng.normal(3, 1, N).round(2)
        judge = (y + rng.normal(0, 1, N))[:, None]
        return OutcomePool(kind=Numbers(), codes=y, items=Items(prediction=y[:, None] + 0.5, judge=judge))
    if kind == "tags":
        p = rng.random((N, 3)) ** 2
        bits, powers = rng.random((N, 3)) < p, 2.0 ** np.arange(3)
        items = Items(prediction=((p > 0.4) @ powers)[:, None], probability=p)
        return OutcomePool(kind=Tags(("x", "y", "z")), codes=bits @ powers, items=items)
    p = rng.dirichlet(np.full(4, 0.5), N)
    y = np.array([rng.choice(4, p=row) for row in p], float)
    systems = np.stack([p.argmax(axis=1), rng.integers(0, 4, N)], axis=1).astype(float)
    return OutcomePool(kind=Classes(tuple("abcd")), codes=y, items=Items(prediction=systems, probability=p))


MEASURES = {
    "classes": ("macro_f1", "accuracy", "f1"),
    "tags": ("micro_f1", "jaccard"),
    "number": ("mean", "mae"),
}


def _question(pool, method, names):
    measures = [outcome_measure(name, pool.kind, N) for name in names]
    if pool.items.systems > 1:
        measures.append(difference(outcome_measure(names[0], pool.kind, N, system=1), measures[0]))
    stack = Stack(kind=pool.kind, measures=tuple(measures))
    cut = OUTCOME_METHODS[method].cut(stack, pool.items)
    names = ("old", "new")[: pool.items.systems]
    return Question(method=OUTCOME_METHODS[method], measures=stack, cells=cut.cells, confidence=0.95, seed=3,
                    evaluation="test", systems=names), cut.cell


def _rows(cell, round):
    return np.array([np.flatnonzero(cell == c)[r] for c, r in zip(round.cell, round.rank, strict=True)])


@pytest.mark.parametrize(("kind", "method"), [
    ("classes", "recalibrated"), ("tags", "stratified-neyman"), ("number", "active-inference"),
    ("classes", "dirichlet-tree"),
])
def test_label_everything_and_the_value_is_exact(kind, method):
    pool = _pool(kind)
    question, cell = _question(pool, method, MEASURES[kind])
    state, asked = before_any_label(question), []
    assert all(e.value is None for e in estimates(question, state))
    while not state.exhausted:
        round = plan(question, state, 35)
        assert round.ask.all()
        assert round.census or len(round.cell) == 35
        rows = _rows(cell, round)
        asked += rows.tolist()
        state = observe(question, state, round, pool.codes[rows], pool.items.at(rows))
        for e in estimates(question, state):
            assert e.value is None or e.lower <= e.value <= e.upper
    assert len(asked) == len(set(asked))
    truth = pool.truth(question.measures)
    found = estimates(question, state)
    np.testing.assert_allclose([e.value for e in found], truth, atol=1e-9)
    assert {e.interval for e in found} == {"exact"}
    assert all(e.lower == e.value == e.upper for e in found if e.value is not None)
    assert all(e.lower == pytest.approx(e.upper) for e in found)


def test_estimates_say_whose_they_are():
    pool = _pool("classes")
    question, cell = _question(pool, "recalibrated", ("f1", "accuracy"))
    state = before_any_label(question)
    round = plan(question, state, 60)
    rows = _rows(cell, round)
    found = estimates(question, observe(question, state, round, pool.codes[rows], pool.items.at(rows)))
    assert [(e.measure, e.class_name, e.system, e.versus) for e in found] == [
        *[("f1", c, "old", None) for c in "abcd"], ("accuracy", None, "old", None),
        *[("f1", c, "new", "old") for c in "abcd"],
    ]


def test_the_same_round_is_planned_again_after_a_restart():
    pool = _pool("classes")
    question, _ = _question(pool, "recalibrated", ("macro_f1",))
    first = plan(question, before_any_label(question), 20)
    again = plan(question, before_any_label(question), 20)
    np.testing.assert_array_equal(first.cell, again.cell)
    np.testing.assert_array_equal(first.rank, again.rank)
    np.testing.assert_array_equal(first.probability, again.probability)


def test_undecided_items_leave_the_pool_and_unanswered_ones_come_back():
    pool = _pool("classes")
    question, cell = _question(pool, "recalibrated", ("accuracy",))
    state, undecided = before_any_label(question), None
    while not state.exhausted:
        round = plan(question, state, 30)
        rows = _rows(cell, round)
        codes = pool.codes[rows].copy()
        if undecided is None:
            codes[:3], codes[3:8] = UNDECIDED, UNANSWERED
            undecided = rows[:3]
        state = observe(question, state, round, codes, pool.items.at(rows))
    rest = np.setdiff1d(np.arange(N), undecided)
    accuracy = (pool.codes[rest] == pool.items.prediction[rest, 0]).mean()
    first = estimates(question, state)[0]
    assert state.labels == N - 3
    assert first.value == pytest.approx(accuracy)
    assert first.diagnostics["undecided"] == 3
    assert first.nonresponse.unanswered == 5


def test_a_round_in_which_nobody_answered_changes_nothing_but_the_count():
    pool = _pool("number")
    question, cell = _question(pool, "recalibrated", ("mean",))
    state = before_any_label(question)
    round = plan(question, state, 10)
    after = observe(question, state, round, np.full(10, UNANSWERED), pool.items.at(_rows(cell, round)))
    assert (after.labels, after.round) == (0, 1)
    assert estimates(question, after)[0].value is None
    assert len(plan(question, after, 10).cell) == 10


def test_codes_that_are_not_numbers_are_refused():
    pool = _pool("number")
    question, cell = _question(pool, "passive", ("mean",))
    round = plan(question, before_any_label(question), 4)
    items = pool.items.at(_rows(cell, round))
    with pytest.raises(BadInput):
        observe(question, before_any_label(question), round, np.array([1, 2, 3, np.nan]), items)
    with pytest.raises(BadInput):
        observe(question, before_any_label(question), round, np.ones(3), items)
    with pytest.raises(BadInput):
        plan(question, before_any_label(question), 0)


def test_cells_and_designs_survive_being_stored():
    pool = _pool("classes")
    question, _ = _question(pool, "recalibrated", ("macro_f1",))
    back = OutcomeCells.from_arrays(question.cells.to_arrays())
    assert all(np.array_equal(a, b) for a, b in
               zip(back.to_arrays().values(), question.cells.to_arrays().values(), strict=True))
    design = plan(question, before_any_label(question), 20).design
    again = Design.from_columns(design.to_columns())
    np.testing.assert_array_equal(again.unlabelled, design.unlabelled)
    np.testing.assert_array_equal(again.left, design.left)
    assert again.census == design.census
