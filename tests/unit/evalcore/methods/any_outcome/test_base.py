"""Methods for any outcome: what the design and the estimator promise."""

from dataclasses import replace

import numpy as np
import pytest

from assay.evalcore.errors import BadInput, UnknownName
from assay.evalcore.estimators.linearised import grouped
from assay.evalcore.measures.measure import difference
from assay.evalcore.measures.registry import outcome_measure
from assay.evalcore.measures.stack import Stack
from assay.evalcore.methods.any_outcome.state import RoundOutcomes, loss_table
from assay.evalcore.methods.registry import OUTCOME_METHODS, outcome_method
from assay.evalcore.outcomes.base import Mixture, Regression
from assay.evalcore.outcomes.classes import Classes
from assay.evalcore.outcomes.items import Items
from assay.evalcore.replay.pool import OutcomePool
from assay.evalcore.replay.run import ReplayPlan, simulate

RNG = np.random.default_rng(2)
N = 500
P = RNG.dirichlet(np.full(4, 0.4), N)
CLUSTER = np.repeat(np.arange(N // 5.0), 5)[:, None]
ITEMS = Items(prediction=P.argmax(axis=1).astype(float)[:, None], probability=P, cluster=CLUSTER)
KIND = Classes(tuple("abcd"))
OF_ANY_MEASURE = [name for name, one in OUTCOME_METHODS.items() if not one.of_some_measures]
OF_ITEMS = [name for name in OF_ANY_MEASURE if not OUTCOME_METHODS[name].capabilities.needs_clusters]


def _stack(*names, **settings):
    return Stack(kind=KIND, measures=tuple(outcome_measure(name, KIND, N) for name in names), **settings)


@pytest.mark.parametrize("name", OF_ANY_MEASURE)
def test_cells_hold_every_item_once_and_their_sums_are_the_pools(name):
    stack = _stack("macro_f1", "accuracy")
    cut = OUTCOME_METHODS[name].cut(stack, ITEMS)
    np.testing.assert_array_equal(np.bincount(cut.cell, minlength=cut.cells.n_cells), cut.cells.size)
    assert cut.cells.size.min() > 0
    guess = np.einsum("b,cbd->d", cut.cells.first, cut.cells.guess)
    phi = np.einsum("b,nbp->np", cut.cells.first, KIND.guesses(ITEMS))
    np.testing.assert_allclose(guess, stack.item_losses(ITEMS, phi).sum(axis=0))


@pytest.mark.parametrize("name", OF_ITEMS)
def test_a_draw_has_exactly_the_size_and_keeps_the_inclusion_probabilities(name):
    stack = _stack("macro_f1")
    method = OUTCOME_METHODS[name]
    cut = method.cut(stack, ITEMS)
    repeats = 2000
    design = method.propose(method.start(cut.cells, stack, repeats), np.full(repeats, 40))
    counts = method.numbers_drawn(design, np.random.default_rng(1))
    assert (counts.sum(axis=1) == 40).all()
    assert (counts <= design.left).all()
    expected = design.left[0] * design.unlabelled[0]
    error = counts.mean(axis=0) - expected
    # five standard errors of a count that is rounded up or down
    assert (np.abs(error) < 5 * 0.5 / np.sqrt(repeats) + 1e-9).all()


def test_the_order_of_measures_does_not_matter():
    one, other = (OUTCOME_METHODS["recalibrated"].cut(_stack(*names), ITEMS)
                  for names in (("macro_f1", "accuracy"), ("accuracy", "macro_f1")))
    np.testing.assert_array_equal(one.cell, other.cell)


def test_only_measures_that_drive_shape_the_sample():
    alone = OUTCOME_METHODS["recalibrated"].cut(_stack("accuracy"), ITEMS)
    driving = OUTCOME_METHODS["recalibrated"].cut(_stack("accuracy", "macro_f1", drive=(True, False)), ITEMS)
    np.testing.assert_array_equal(alone.cell, driving.cell)


def test_items_on_which_systems_agree_are_not_asked_about_a_difference():
    other = (ITEMS.prediction[:, 0] + (RNG.random(N) < 0.1)) % 4
    items = Items(prediction=np.stack([ITEMS.prediction[:, 0], other], axis=1), probability=P)
    first, second = (outcome_measure("accuracy", KIND, N, system=s) for s in (0, 1))
    stack = Stack(kind=KIND, measures=(difference(second, first),))
    cut = OUTCOME_METHODS["recalibrated"].cut(stack, items)
    differ = items.prediction[:, 0] != items.prediction[:, 1]
    np.testing.assert_array_equal(cut.cells.relevant[cut.cell], differ)


def test_groups_join_neighbours_and_cells_without_labels():
    labelled = np.array([[0, 3, 0, 2, 5, 0, 1], [0, 0, 0, 0, 0, 0, 0]])
    groups = grouped(labelled, 5.0)
    assert groups[0].tolist() == [0, 0, 0, 0, 1, 1, 2]
    assert not groups[1].any()


def test_a_mixture_finds_the_guess_that_is_right():
    rng = np.random.default_rng(4)
    y = rng.integers(0, 3, 4000)
    good, bad = 0.7 * np.eye(3)[y] + 0.1, np.full((4000, 3), 1 / 3)
    phi = np.stack([bad, good, rng.permutation(good)], axis=1)
    gram = np.einsum("nbp,nkp->bk", phi, phi)[None, None]
    cross = np.einsum("nbp,np->b", phi, np.eye(3)[y])[None, None]
    weights = Mixture().fit(gram, cross, np.full((1, 1), 4000.0), 4000, np.array([0.5, 0.0, 0.5]))
    assert weights.shape == (1, 3, 1)
    assert weights.sum() == pytest.approx(1)
    assert weights[0, 1, 0] > 0.95


def _fit(judge, y):
    guess = np.stack([*judge.T, np.ones(len(y))], axis=1)
    gram, cross = guess.T @ guess, guess.T @ y
    square, first = np.array([[y @ y]]), np.zeros(guess.shape[1])
    return Regression().fit(gram[None, None], cross[None, None], square, len(y), first)


def test_a_regression_follows_a_judge_and_ignores_a_useless_or_constant_one():
    rng = np.random.default_rng(6)
    y = rng.normal(3, 1, 2000)
    weights = _fit(np.stack([2 * y + 1, rng.normal(0, 1, 2000), np.full(2000, 3.0)], axis=1), y)[0, :, 0]
    np.testing.assert_allclose(weights[0], 0.5, atol=0.01)
    np.testing.assert_allclose(weights[1:3], 0, atol=0.01)
    useless = [_fit(rng.normal(0, 1, (60, 1)), rng.normal(3, 1, 60))[0, 0, 0] for _ in range(200)]
    assert np.mean(np.square(useless)) < 0.6 / 60      # least squares would have 1/60


def test_names():
    assert outcome_method("auto").name == "recalibrated"
    with pytest.raises(UnknownName, match="passive"):
        outcome_method("pasive")


def test_a_question_must_make_sense():
    with pytest.raises(BadInput):
        Stack(kind=KIND, measures=())
    with pytest.raises(BadInput):
        _stack("accuracy", drive=(False,))
    with pytest.raises(BadInput, match="no items"):
        OUTCOME_METHODS["passive"].cut(_stack("accuracy"), ITEMS.at(slice(0, 0)))


@pytest.mark.parametrize("name", OF_ITEMS)
def test_the_order_of_the_names_of_classes_changes_nothing(name):
    order = [2, 0, 3, 1]
    label = RNG.permutation(P.argmax(axis=1)).astype(float)
    place = np.argsort(order)
    found = []
    for kind, prediction, p, codes in (
        (KIND, P.argmax(axis=1), P, label),
        (Classes(tuple("abcd"[k] for k in order)), place[P.argmax(axis=1)], P[:, order],
         place[label.astype(int)].astype(float)),
    ):
        items = Items(prediction=prediction.astype(float)[:, None], probability=p)
        stack = Stack(kind=kind, measures=(outcome_measure("macro_f1", kind, N),))
        pool = OutcomePool(kind=kind, items=items, codes=codes)
        found.append(simulate(OUTCOME_METHODS[name], pool, stack, ReplayPlan(budgets=[60]), repeats=2)[0])
    for what in ("value", "lower", "upper"):
        np.testing.assert_allclose(getattr(found[1], what), getattr(found[0], what), rtol=1e-8)


@pytest.mark.parametrize(("name", "outcomes"), [("passive", 1), ("dirichlet-tree", 4), ("recalibrated", 2)])
def test_labels_are_counted_by_the_outcomes_that_a_method_tells_apart(name, outcomes):
    one = outcome_measure("f1", KIND, N, options={"class": "c"})
    stack = Stack(kind=KIND, measures=(one,)) if name == "recalibrated" else _stack("macro_f1")
    method, rng = outcome_method(name), np.random.default_rng(3)
    codes, cut = rng.integers(0, 4, N).astype(float), method.cut(stack, ITEMS)
    state = replace(method.start(cut.cells, stack, 2), table=loss_table(stack, ITEMS, codes))
    rows = np.stack([rng.choice(N, 60, replace=False) for _ in range(2)])
    for some in (rows[:, :25], rows[:, 25:]):
        state = state.plus(RoundOutcomes(item=some, cell=cut.cell[some]))
    column = {1: codes * 0, 2: codes == 2, 4: codes}[outcomes].astype(int)
    expected = np.zeros((2, cut.cells.n_cells, outcomes), int)
    for r in (0, 1):
        np.add.at(expected[r], (cut.cell[rows[r]], column[rows[r]]), 1)
    np.testing.assert_array_equal(state.labelled, expected)
    np.testing.assert_array_equal(state.by_cell, expected.sum(axis=2))
    np.testing.assert_array_equal(state.bought, [60, 60])
