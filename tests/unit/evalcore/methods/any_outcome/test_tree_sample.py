"""Settings of a Dirichlet tree that go into its estimate and its proposal, of two classes and of more."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit

from assay.evalcore.design.round import RoundLabels
from assay.evalcore.errors import BadInput
from assay.evalcore.estimators.joint_region import NoRegion
from assay.evalcore.measures.registry import measure as two_class_measure
from assay.evalcore.measures.registry import outcome_measure
from assay.evalcore.measures.stack import Stack
from assay.evalcore.methods.any_outcome.state import RoundOutcomes, loss_table
from assay.evalcore.methods.any_outcome.tree_sample import weighed
from assay.evalcore.methods.registry import method as two_class_method
from assay.evalcore.methods.registry import outcome_method
from assay.evalcore.outcomes.classes import Classes
from assay.evalcore.outcomes.items import Items
from assay.evalcore.pool.partition import build_partition
from assay.evalcore.replay.families import outcome_family_pool as family
from assay.evalcore.replay.pool import OutcomePool, prepared
from assay.evalcore.replay.run import ReplayPlan, simulate

PRINTED = "variance=printed:region-quantile=F"


def _two(n=2000):
    rng = np.random.default_rng(4)
    odds = -1 + 2 * rng.standard_normal(n)
    p = expit(1.5 * odds + rng.standard_normal(n))
    kind = Classes(("no", "yes"), positive="yes")
    items = Items(prediction=(p > 0.5).astype(float)[:, None], probability=np.stack([1 - p, p], axis=1))
    return OutcomePool(kind=kind, codes=(rng.random(n) < expit(odds)).astype(float), items=items)


def _stack(pool, *names):
    n = len(pool.items)
    return Stack(kind=pool.kind, measures=tuple(outcome_measure(name, pool.kind, n) for name in names))


def _both_after_a_round(name, measures, n=80):
    """The method of any outcome and that of two classes, and their states with the same labels."""
    pool, rng, stack = _two(), np.random.default_rng(1), None
    mine, theirs = outcome_method(name), two_class_method(name)
    p, said = pool.items.probability[:, 1], pool.items.prediction[:, 0].astype(int)
    partition, cell = build_partition(theirs, p, p, said)
    stack = _stack(pool, *measures)
    state = mine.start(mine.cut(stack, pool.items).cells, stack, 1)
    state = replace(state, table=loss_table(stack, pool.items, pool.codes))
    twin, size = theirs.start(partition.cells, list(map(two_class_measure, measures)), 1), np.array([n])
    design = theirs.propose(twin, size)
    q = design.unlabelled[0][cell]
    rows = rng.choice(len(cell), n, replace=False, p=q / q.sum())
    none = np.zeros((1, partition.cells.n_cells), np.int64)
    new = np.zeros((1, partition.cells.n_cells, 2), np.int64)
    np.add.at(new[0], (cell[rows], pool.codes[rows].astype(int)), 1)
    twin = theirs.observe(twin, design, RoundLabels(new=new, drawn_new=new, drawn_known=0 * new), none)
    heard = RoundOutcomes(item=rows[None], cell=cell[rows][None])
    return mine, mine.observe(state, mine.propose(state, size), heard, none), theirs, twin


@pytest.mark.parametrize("name", [
    f"dirichlet-tree:{PRINTED}", f"dirichlet-flat:{PRINTED}:reuse=0.2", "dirichlet-tree:reuse=0.3",
    "dirichlet-tree:self-normalised=true", "dirichlet-flat:self-normalised=true:reuse=0.1",
    "dirichlet-tree:region-quantile=F",
])
def test_with_two_classes_a_setting_gives_what_it_gives_the_method_of_two_classes(name):
    mine, state, theirs, twin = _both_after_a_round(name, ("f1", "recall"))
    found, expected = mine.estimate(state, 0.9), theirs.estimate(twin, 0.9, np.random.default_rng(0))
    np.testing.assert_allclose(found.value[0], [float(one.value[0]) for one in expected], rtol=1e-6)
    if mine.variance == "printed":
        assert mine.interval == theirs.interval == "ais-normal-as-printed"
        assert mine.interval_note == theirs.interval_note
        for own, other in ((found.variance, "variance"), (found.lower, "lower"), (found.upper, "upper")):
            np.testing.assert_allclose(own[0], [getattr(one, other)[0] for one in expected], rtol=1e-5)
    if mine.self_normalised:
        for method, at in ((mine, state), (theirs, twin)):
            with pytest.raises(NoRegion, match="belongs to the importance-weighted estimate"):
                method.region(at, 0.9)
        return
    ours, region = mine.region(state, 0.9), theirs.region(twin, 0.9)
    assert (ours.quantile, ours.variance, ours.rank) == (region.quantile, region.variance, region.rank)
    np.testing.assert_allclose(ours.radius_squared, region.radius_squared)
    if mine.variance == "printed":
        np.testing.assert_allclose(ours.covariance, region.covariance, rtol=1e-4)


def test_accuracy_divided_by_its_weights_is_that_of_two_classes():
    mine, state, theirs, twin = _both_after_a_round("dirichlet-tree:self-normalised=true", ("accuracy",))
    (expected,) = theirs.estimate(twin, 0.9, np.random.default_rng(0))
    found, usual = mine.estimate(state, 0.9), outcome_method("dirichlet-tree").estimate(
        replace(state, normalised=False), 0.9)
    np.testing.assert_allclose(found.value[0], expected.value, rtol=1e-6)
    assert abs(found.value[0] - usual.value[0]) > 1e-4


@pytest.mark.parametrize("name", [
    "dirichlet-tree:depth=4", "dirichlet-flat", "dirichlet-tree-stochastic:requery=true",
])
@pytest.mark.parametrize("setting", ["self-normalised=true", "variance=printed"])
def test_of_more_classes_the_estimate_comes_to_the_truth_and_the_interval_covers_it(name, setting):
    # 200 repeats: a mean is off by 4 of its standard errors once in 16,000; an interval that covers 0.95 is
    # below 0.86 once in 100,000.  As printed it is known to end too near: it covered 0.58 to 0.95 here
    pool = family("over-confident")
    stack, method = _stack(pool, "accuracy"), outcome_method(f"{name}:{setting}")
    truth = pool.truth(stack)[0]
    found = simulate(method, pool, stack, ReplayPlan(budgets=(200,), batch_size=100), repeats=200)[0]
    assert abs(found.value.mean() - truth) < 4 * found.value.std() / np.sqrt(200)
    covered = ((found.lower <= truth) & (truth <= found.upper)).mean()
    assert covered > (0.86 if method.self_normalised else 0.4)


def test_as_printed_labels_that_agree_show_no_error_and_no_interval_either():
    pool = _two(300)
    right = replace(pool, codes=pool.items.prediction[:, 0])
    one = outcome_measure("precision", pool.kind, 300, options={"class": "yes"})
    method, stack = outcome_method(f"dirichlet-tree-stochastic:{PRINTED}"), Stack(
        kind=pool.kind, measures=(one,)
    )
    [found] = simulate(method, right, stack, ReplayPlan(budgets=(3,), batch_size=1), repeats=5)
    assert (found.value == 1).all()
    assert (found.lower == 0).all()
    assert (found.upper == 1).all()


def test_a_share_of_every_proposal_is_even_and_its_labels_answer_other_measures():
    # items predicted otherwise have no chance where precision of a class is all that is asked; with δ they
    # have, and what the labels stand for adds up: 60 means are off by 4 standard errors once in 16,000
    pool = family("over-confident")
    one = outcome_measure("precision", pool.kind, len(pool.items), options={"class": pool.kind.parts[0]})
    stack = Stack(kind=pool.kind, measures=(one,))
    none, method = outcome_method("dirichlet-tree"), outcome_method("dirichlet-tree:depth=5:reuse=0.4")
    cut = method.cut(stack, pool.items)
    assert not none.cut(stack, pool.items).cells.relevant.all()
    assert cut.cells.relevant.all()
    state = method.start(cut.cells, stack, 1)
    even = 1 / len(pool.items)
    q = method.share(state)
    assert q.min() >= 0.4 * even - 1e-15
    np.testing.assert_allclose((q * cut.cells.size).sum(), 1.0)
    right = (pool.items.prediction[:, 0] == pool.codes).astype(float)
    made, rng = prepared(method, pool, stack), np.random.default_rng(2)
    state, people = made.begin(method, 60), made.respondents(method, 60, rng, rng)
    for size in (60, 60):
        design, draws = method.next_round(state, np.full(60, size), rng)
        heard = people.answer(draws, state, rng)
        state = method.observe(state, design, heard, np.zeros_like(state.excluded))
    found = (weighed(state).stands * right[state.item]).sum(axis=1) / len(right)
    assert abs(found.mean() - right.mean()) < 4 * found.std() / np.sqrt(60)


def test_settings_that_contradict_each_other_are_refused():
    for other in ("self-normalised=true", "combination=square-root"):
        with pytest.raises(BadInput, match="belongs to the paper's estimate: leave out"):
            outcome_method(f"dirichlet-tree:variance=printed:{other}")
