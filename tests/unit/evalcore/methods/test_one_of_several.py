"""Methods of two classes for one class of several, and what labels of other pools teach a label model."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit

from assay.evalcore.errors import BadArgument, BadInput
from assay.evalcore.measures.registry import outcome_measure
from assay.evalcore.measures.stack import Stack
from assay.evalcore.methods.any_outcome.dirichlet_leaves import evidence_by_leaf
from assay.evalcore.methods.any_outcome.score_cells import evidence_along, place_on_score
from assay.evalcore.methods.any_outcome.state import Axis, loss_table
from assay.evalcore.methods.one_of_several import against_the_rest, one_of_several
from assay.evalcore.methods.registry import METHODS, method, of_two_classes_alone, outcome_method
from assay.evalcore.outcomes.classes import Classes
from assay.evalcore.outcomes.items import Items
from assay.evalcore.replay.pool import ItemizedPool, LabelledPool, OutcomePool
from assay.evalcore.replay.run import ReplayPlan, simulate
from assay.evalcore.reproducible import stream
from assay.tasks.replay.simulated import ReplayRequest, simulation_of

KIND = Classes(names=("cat", "dog", "owl"))
ALONE = sorted(filter(of_two_classes_alone, METHODS))


def stack_of(*asked):
    return Stack(kind=KIND, measures=tuple(
        outcome_measure(name, KIND, 1, options={"class": c} if c else {}) for name, c in asked
    ))


def animals(n=600, seed=4):
    rng = np.random.default_rng(seed)
    truth = rng.choice(3, n, p=[0.6, 0.3, 0.1])
    odds = np.exp(rng.normal(size=(n, 3)) + 2.0 * np.eye(3)[truth])
    p = odds / odds.sum(axis=1, keepdims=True)
    items = Items(prediction=p.argmax(axis=1).astype(float)[:, None], probability=p)
    return OutcomePool(kind=KIND, items=items, codes=truth.astype(np.float64))


OWLS = stack_of(("f1", "owl"), ("recall", "owl"))


@pytest.mark.parametrize("name", ALONE)
def test_a_replay_is_that_of_two_classes(name):
    pool, chosen = animals(), method(name)
    score, probability, prediction = against_the_rest(
        2, pool.items.prediction[:, 0], pool.items.probability[:, 2]
    )
    two = LabelledPool(
        score=score, probability=probability, prediction=prediction, label=(pool.codes == 2).astype(int)
    )
    asked = one_of_several(KIND, OWLS.measures).measures
    for mine, theirs in zip(
        simulate(
            chosen, pool, OWLS, ReplayPlan(budgets=[60]), repeats=2
        ), simulate(chosen, two, asked, ReplayPlan(budgets=[60]), repeats=2),
        strict=True,
    ):
        np.testing.assert_array_equal(mine.value, theirs.value)
        np.testing.assert_array_equal(mine.upper, theirs.upper)


def test_a_prediction_alone_is_a_score_of_two_values():
    found = against_the_rest(1, np.array([0, 1, 2, 1]), None)
    np.testing.assert_array_equal(found.score, [-0.5, 0.5, -0.5, 0.5])
    np.testing.assert_array_equal(found.prediction, [0, 1, 0, 1])
    np.testing.assert_allclose(found.probability, expit(found.score))


def test_which_methods_are_of_two_classes_alone():
    assert of_two_classes_alone("oasis:strata=6")
    assert not of_two_classes_alone("recalibrated")
    assert not of_two_classes_alone("whole-clusters")
    assert {"sawade", "oasis", "acis", "acis-pooled", "optimal-is", "bernoulli-online", "recycle",
            "stratified-online", "topk"} <= set(ALONE)


@pytest.mark.parametrize("asked", [
    [("accuracy", None)], [("f1", "owl"), ("f1", "cat")], [("f1", "owl"), ("accuracy", None)], [("f1", None)],
])
def test_measures_of_no_one_class_are_none_of_its(asked):
    with pytest.raises(BadInput, match="of several takes one against the rest"):
        one_of_several(KIND, stack_of(*asked).measures)


def test_what_a_replay_is_refused():
    pool = animals(60)

    def asked(pool, measures, methods=("oasis",), **more):
        return simulation_of(pool, ReplayRequest(
            methods=methods, measures=measures, budgets=(20,), repeats=1, **more
        ))

    assert [one.of_class for one in asked(pool, ("f1(owl)", "fbeta(2)")[:1]).simulated_numbers] == ["owl"]
    several = asked(pool, ("rate(owl)", "false_positive_rate(owl)", "fowlkes_mallows(owl)"))
    assert len(several.simulated_numbers) == 3
    with pytest.raises(BadInput, match="method 'oasis' does not measure 'roc_auc'"):
        asked(pool, ("roc_auc(owl)",))
    both = Items(prediction=np.repeat(pool.items.prediction, 2, axis=1))
    with pytest.raises(BadInput, match="'oasis'"):
        asked(OutcomePool(kind=KIND, items=both, codes=pool.codes), ("f1(owl)",))
    clustered = Items(prediction=pool.items.prediction, cluster=np.zeros((60, 1)))
    with pytest.raises(BadInput, match="does not say which cluster"):
        asked(OutcomePool(kind=KIND, items=clustered, codes=pool.codes), ("f1(owl)",))
    judged = Items(prediction=pool.items.prediction, judge=pool.items.prediction)
    judged = OutcomePool(kind=KIND, items=judged, codes=pool.codes)
    with pytest.raises(BadArgument, match="look at probabilities alone"):
        asked(judged, ("f1(owl)",))
    assert asked(judged, ("f1(owl)",), ("oasis", "recalibrated")).simulated_numbers


def axis(probability, prediction):
    c = len(probability)
    return Axis(
        part=2, stratum=np.arange(c), prediction=np.array(prediction), score=np.zeros(c),
        probability=np.array(probability), density=np.zeros(c), votes=np.zeros(c),
    )


def test_an_earlier_label_goes_to_the_nearest_cell_of_its_prediction():
    # in log-odds: 0.1 is at -2.2, 0.3 at -0.8, 0.5 at 0, 0.9 at 2.2; 0.2 (-1.4) is nearer to 0.3 than to 0.1
    items = Items(
        prediction=np.array([[0.0], [2.0], [2.0], [1.0]]),
        probability=np.array([[0.6, 0.2, 0.2], [0.2, 0.2, 0.6], [0.02, 0.02, 0.96], [0.5, 0.48, 0.02]]),
    )
    odds, said = place_on_score(KIND, items, 2)
    np.testing.assert_array_equal(said, [0, 1, 1, 0])
    found = evidence_along(
        axis([0.1, 0.3, 0.5, 0.9], [0, 0, 1, 1]), odds, said, np.array([1, 0, 1, 0]),
        np.array([0.5, 1.0, 0.25, 0.5]),
    )
    np.testing.assert_array_equal(found, [[0.5, 0], [0, 0.5], [1.0, 0], [0, 0.25]])


def test_where_nothing_is_predicted_so_the_nearest_cell_of_all_takes_it():
    one = np.ones(1, np.int64)
    found = evidence_along(axis([0.1, 0.9], [0, 0]), np.array([2.0]), one, one, np.ones(1))
    np.testing.assert_array_equal(found, [[0, 0], [0, 1]])


def test_a_tree_keeps_earlier_labels_with_their_predictions():
    pool, tree = animals(), outcome_method("dirichlet-tree:depth=4")
    cut = tree.cut(stack_of(("macro_f1", None)), pool.items)
    found = evidence_by_leaf(KIND, cut.cells, pool.items, pool.codes, np.full(600, 0.5))
    assert found.shape == (cut.cells.n_cells, 3)
    np.testing.assert_allclose(found.sum(axis=0), 0.5 * np.bincount(pool.codes.astype(int)))
    predicted = cut.cells.said[:, 0].argmax(axis=1)
    for c in range(3):   # cells hold items of one prediction
        np.testing.assert_allclose(
            found[predicted == c].sum(), 0.5 * (pool.items.prediction[:, 0] == c).sum()
        )


FALSE_ALARM = 1e-6


def test_wrong_labels_of_another_pool_do_not_move_the_estimate_of_a_tree():
    # every earlier label says cat; the mean over repeats may be off by 4.9 standard errors (FALSE_ALARM)
    pool, stack, repeats = animals(), stack_of(("accuracy", None)), 120
    tree = outcome_method("dirichlet-tree:depth=4")
    cut = tree.cut(stack, pool.items)
    wrong = evidence_by_leaf(KIND, cut.cells, pool.items, np.zeros(600), np.full(600, 0.5))
    ready = ItemizedPool(stack=stack, cut=cut, table=loss_table(stack, pool.items, pool.codes))
    rng = stream(7, "warm", purpose="test")
    state = replace(tree.start_from(cut.cells, stack, repeats, wrong), table=ready.table)
    people = ready.respondents(tree, repeats, rng, rng)
    for _ in range(2):
        design, draws = tree.next_round(state, np.full(repeats, 30), rng)
        state = tree.observe(state, design, people.answer(draws, state, rng), np.zeros_like(state.excluded))
    found = tree.estimate(state, 0.95).value[:, 0]
    assert abs(found.mean() - pool.truth(stack)[0]) < 4.9 * found.std(ddof=1) / np.sqrt(repeats)


def test_the_score_model_learns_the_rate_that_earlier_labels_had():
    pool, stack = animals(), stack_of(("f1", "owl"))
    chosen = outcome_method("recalibrated")
    cut = chosen.cut(stack, pool.items)

    def expected(code):
        evidence = chosen.pseudo_labels(KIND, cut.cells, pool.items, code, np.full(600, 0.5))
        planned = chosen.propose(chosen.start_from(cut.cells, stack, 1, evidence), np.array([25]))
        return float((planned.model[0] * cut.cells.size).sum() / 600)     # owls, as a share of the pool

    true = float((pool.codes == 2).mean())
    # a fifth of the prior ignores earlier labels, whatever they say
    right, wrong = expected(pool.codes), [expected(np.zeros(600)), expected(np.full(600, 2.0))]
    assert all(abs(right - true) < abs(other - true) / 2 for other in wrong)
    assert wrong[1] > 2 * right
