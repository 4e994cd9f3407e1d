"""Adaptive importance sampling for K classes, against slow formulas, and the method of two classes."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit

from assay.evalcore.design.round import RoundLabels
from assay.evalcore.errors import BadInput, UnknownName
from assay.evalcore.evaluation.state import Question, before_any_label, observe, plan
from assay.evalcore.measures.registry import measure as two_class_measure
from assay.evalcore.measures.registry import outcome_measure
from assay.evalcore.measures.stack import Stack
from assay.evalcore.methods.any_outcome.dirichlet_leaves import _chained, leaves_of, lump_of_each_class
from assay.evalcore.methods.any_outcome.measured_pool import MeasuredItems
from assay.evalcore.methods.any_outcome.state import OutcomeCells, RoundOutcomes, loss_table
from assay.evalcore.methods.any_outcome.tree_sample import weighed
from assay.evalcore.methods.dirichlet import dirichlet_tree, tree_posterior
from assay.evalcore.methods.registry import OUTCOME_METHODS, outcome_method
from assay.evalcore.methods.registry import method as two_class_method
from assay.evalcore.outcomes.base import UNANSWERED
from assay.evalcore.outcomes.classes import Classes
from assay.evalcore.outcomes.items import Items
from assay.evalcore.outcomes.tags import Tags
from assay.evalcore.pool.partition import build_partition
from assay.evalcore.replay.families import outcome_family_pool as family
from assay.evalcore.replay.pool import LabelledPool, OutcomePool
from assay.evalcore.replay.run import ReplayPlan, simulate

TREES = ("dirichlet-tree", "dirichlet-tree-stochastic")


def _pool(k, n, seed=3):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(k, 0.5), n).round(2) + 0.01
    p /= p.sum(axis=1, keepdims=True)
    y = (p.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1).astype(float)
    items = Items(prediction=p.argmax(axis=1).astype(float)[:, None], probability=p)
    return OutcomePool(kind=Classes(tuple("abcdefgh"[:k])), codes=y, items=items)


def _stack(pool, *names):
    measures = tuple(outcome_measure(name, pool.kind, len(pool.items)) for name in names)
    return Stack(kind=pool.kind, measures=measures)


def _with_table(state, pool, stack):
    return replace(state, table=loss_table(stack, pool.items, pool.codes))


def _after(method, pool, stack, rounds, size, repeats=1, seed=1):
    """The state after some rounds, drawn anew in each repeat; and the rows of the pool in it."""
    rng = np.random.default_rng(seed)
    made = method.cut(stack, pool.items)
    state = _with_table(method.start(made.cells, stack, repeats), pool, stack)
    order = np.stack([np.lexsort((rng.random(len(pool.codes)), made.cell)) for _ in range(repeats)])
    first = np.concatenate([[0], np.cumsum(made.cells.size)])
    for _ in range(rounds):
        design, draws = method.next_round(state, np.full(repeats, size), rng)
        cell = draws.cell
        at = first[cell] + np.take_along_axis(state.by_cell, cell, axis=1) + draws.ordinal
        heard = RoundOutcomes(item=np.take_along_axis(order, at, axis=1), cell=cell)
        state = method.observe(state, design, heard, np.zeros_like(state.excluded))
    return made, state


def test_the_posterior_of_k_classes_is_equation_14():
    rng = np.random.default_rng(1)
    cells = OUTCOME_METHODS[TREES[0]].cut(_stack(pool := _pool(3, 200), "accuracy"), pool.items).cells
    leaves = leaves_of(cells, 256)
    tree, counts = dirichlet_tree(leaves), rng.random((1, cells.n_cells, 3))
    assert (leaves.slot == cells.slot).all()
    found = tree.chances(tree_posterior(tree, tree.by_leaf(counts)))[0]
    # what is supplied and counted, by occupied leaf
    at = np.unique(leaves.slot, return_inverse=True)[1]
    size = np.bincount(at, weights=cells.size)
    own = np.stack([
        np.bincount(at, weights=cells.size * leaves.chance[:, y]) / size
        + np.bincount(at, weights=counts[0][:, y]) for y in range(3)
    ], axis=1)
    alpha, scale, slots = 1 + own.sum(axis=0), 2 / (3 * np.log2(3) ** 2), np.unique(leaves.slot)
    for leaf in (0, 5, cells.n_cells - 1):
        p, slot = alpha.copy(), tree.slot[leaf]
        for depth in range(1, tree.depth + 1):
            step = 2 ** (tree.depth - depth)
            node, sibling = slot // step, (slot // step) ^ 1
            beta = [
                own[slots // step == v].sum(axis=0) + scale * depth**2 for v in (node, sibling)
                if (slots // step == v).any()
            ]
            p *= beta[0] / sum(beta)
        np.testing.assert_allclose(found[leaf], p / p.sum(), rtol=1e-9)


@pytest.mark.parametrize("names", [("accuracy",), ("macro_f1",), ("recall", "accuracy"), ("brier",)])
@pytest.mark.parametrize("name", TREES)
def test_an_item_is_drawn_by_proposition_2(name, names):
    pool = _pool(3, 40)
    stack, method = _stack(pool, *names), OUTCOME_METHODS[name]
    made, state = _after(method, pool, stack, 2, 6)
    cells, n, k = made.cells, 40, 3
    chances = state.belief.chances[0]
    labelled = state.item[0]
    # every item's loss by class, with the part that the pool tells; accuracy is told as its errors
    right = np.concatenate([stack.perfect, np.zeros(cells.told.shape[1])])
    loss = np.stack([
        np.concatenate([stack.item_losses(pool.items, np.tile(row, (n, 1))), stack.known(pool.items)], axis=1)
        for row in np.eye(k)
    ], axis=1) - right
    p = chances[made.cell]
    p[labelled] = np.eye(k)[pool.codes[labelled].astype(int)]
    risk = np.einsum("nk,nkd->d", p, loss) / n + right
    sizes, h = stack.known_sizes(pool.items), 1e-6
    slopes = np.stack([
        (stack.value(risk + h * e, sizes) - stack.value(risk - h * e, sizes)) / (2 * h)
        for e in np.eye(len(risk))
    ], axis=1)
    norm = np.sqrt(np.einsum("nkd,qd->nkq", loss, slopes) ** 2 @ stack.weight)
    q = (p * norm).sum(axis=1) if name == TREES[0] else np.sqrt((p * norm**2).sum(axis=1))
    # a leaf's items are drawn alike, by their mean
    rest = np.setdiff1d(np.arange(n), labelled)
    wanted = state.wanted[0]
    mean = np.bincount(made.cell[rest], weights=q[rest], minlength=cells.n_cells) / np.maximum(wanted, 1)
    even = method.secondary_mixing
    expected = (1 - even) * mean / (mean * wanted).sum() + even / wanted.sum()
    share = method.share(state)[0]
    assert (share * wanted).sum() == pytest.approx(1)
    tight = 2e-4 if "brier" not in names else 0.5     # losses differ inside a leaf: its mean loss is taken
    open_ = wanted > 0
    np.testing.assert_allclose(share[open_], expected[open_], rtol=tight)


@pytest.mark.parametrize("name", [
    *TREES, "dirichlet-flat", "dirichlet-tree:combination=inverse-variance", f"{TREES[0]}:one-at-a-time=true",
])
def test_weighted_means_are_unbiased_however_the_proposal_moves(name):
    # 3 rounds of 5 out of 40; 1,000 repeats: of 21 means one is 4 standard errors off in 1 of 750 trials
    pool = _pool(2, 40)
    stack, method = _stack(pool, "f1"), outcome_method(name)
    _, state = _after(method, pool, stack, 3, 5, repeats=1000)
    stands = weighed(state).stands
    whole = np.concatenate([state.table.loss, state.table.known], axis=1)
    found = np.einsum("rn,rnd->rd", stands, whole[state.item]) / 40
    error = found.mean(axis=0) - whole.mean(axis=0)
    assert (np.abs(error) < 4 * found.std(axis=0) / np.sqrt(1000) + 1e-12).all()


def test_with_two_classes_it_agrees_with_the_method_of_two_classes():
    # 2 rounds of 20 out of 300, 100 repeats each: means 4 standard errors apart come once in 16,000 trials; a
    # variance of 100 repeats comes out 1.9 times another that it equals once in 1,400
    pool = _pool(2, 300, seed=8)
    p = pool.items.probability[:, 1]
    twin = LabelledPool(
        score=p, probability=p, prediction=pool.items.prediction[:, 0].astype(int),
        label=pool.codes.astype(int),
    )
    two = simulate(
        two_class_method(TREES[0]), twin, [two_class_measure("accuracy")], ReplayPlan(
            budgets=(40,), batch_size=20
        ), repeats=100
    )[0].value[:, 0]
    (found,) = simulate(
        outcome_method(TREES[0]), pool, _stack(pool, "accuracy"), ReplayPlan(
            budgets=(40,), batch_size=20
        ), repeats=100
    )
    many = found.value[:, 0]
    truth = (pool.items.prediction[:, 0] == pool.codes).mean()
    apart = np.sqrt((two.var() + many.var()) / 100)
    assert abs(two.mean() - many.mean()) < 4 * apart
    assert abs(many.mean() - truth) < 4 * many.std() / 10
    assert many.var() < 1.9 * two.var()


def test_intervals_cover_where_probabilities_mislead():
    # R = 50: with a true coverage of 0.95 fewer than 0.84 are covered once in 450 trials
    pool = family("all-wrong")
    stack = _stack(pool, "macro_f1")
    truth = pool.truth(stack)[0]
    (trace,) = simulate(
        outcome_method(TREES[0]), pool, stack, ReplayPlan(budgets=(100,), batch_size=50), repeats=50
    )
    assert ((trace.lower <= truth) & (truth <= trace.upper)).mean() >= 0.84


def test_answered_items_stand_for_those_without_an_answer():
    pool = _pool(3, 300)
    stack, method = _stack(pool, "accuracy"), OUTCOME_METHODS[TREES[0]]
    made = method.cut(stack, pool.items)
    question = Question(
        method=method, measures=stack, cells=made.cells, confidence=0.95, seed=1, evaluation="e"
    )
    state, totals = before_any_label(question), []
    round = plan(question, state, 60)
    rows = np.array([
        np.flatnonzero(made.cell == c)[r] for c, r in zip(round.cell, round.rank, strict=True)
    ])
    for codes in (pool.codes[rows], np.where(np.arange(60) % 2, UNANSWERED, pool.codes[rows])):
        after = observe(question, state, round, codes, pool.items.at(rows))
        totals.append(method.weights(after.inner).weight.sum())
    assert totals[1] == pytest.approx(totals[0])
    silent = observe(question, state, round, np.full(60, UNANSWERED), pool.items.at(rows))
    assert len(plan(question, silent, 20).cell) == 20


def test_leaves_survive_being_stored_and_outcomes_must_be_classes():
    pool = _pool(3, 100)
    cells = OUTCOME_METHODS[TREES[0]].cut(_stack(pool, "macro_f1"), pool.items).cells
    back = OutcomeCells.from_arrays(cells.to_arrays())
    np.testing.assert_array_equal(back.chance, cells.chance)
    np.testing.assert_array_equal(back.by_class, cells.by_class)
    tags = Tags(("x", "y"))
    with pytest.raises(BadInput, match="not for tags; methods that are: recalibrated"):
        outcome_method(TREES[0], tags)
    stack = Stack(kind=tags, measures=(outcome_measure("micro_f1", tags, 3),))
    with pytest.raises(BadInput, match="model of classes"):
        OUTCOME_METHODS[TREES[0]].cut(stack, Items(prediction=np.ones((3, 1))))


def test_predictions_of_many_classes_share_leaves():
    rng = np.random.default_rng(2)
    kind = Classes(tuple(map(str, range(300))))
    items = Items(prediction=rng.integers(0, 300, 2000).astype(float)[:, None])
    pool = OutcomePool(kind=kind, items=items, codes=rng.integers(0, 300, 2000).astype(float))
    stack, method = _stack(pool, "accuracy"), OUTCOME_METHODS[TREES[0]]
    made, state = _after(method, pool, stack, 2, 20)
    assert len(np.unique(made.cells.slot)) == made.cells.n_cells <= 256
    assert (np.diff(np.sort(made.cell)) <= 1).all()
    found = method.estimate(state, 0.95)
    assert found.lower[0, 0] <= found.value[0, 0] <= found.upper[0, 0]
    assert method.expects(state).shape == (made.cells.n_cells, stack.size)


def _dealt_out(pool, seed=5):
    """A pool of two classes with the first dealt out at random to two: by predictions, labels and halves of
    its probability."""
    rng, p = np.random.default_rng(seed), pool.items.probability
    said, code = (
        np.where(x == 1, 2, rng.integers(0, 2, len(x))) for x in (pool.items.prediction[:, 0], pool.codes)
    )
    p = np.stack([p[:, 0] / 2, p[:, 0] / 2, p[:, 1]], axis=1)
    items = Items(prediction=said.astype(float)[:, None], probability=p)
    return OutcomePool(kind=Classes(("a", "c", "b")), codes=code.astype(float), items=items)


def _renamed(pool, order):
    """The same pool with its classes listed in another order."""
    place = np.argsort(order)
    items = Items(
        prediction=place[pool.items.prediction.astype(int)].astype(float),
        probability=pool.items.probability[:, order],
    )
    names = tuple(pool.kind.names[i] for i in order)
    return OutcomePool(kind=Classes(names), codes=place[pool.codes.astype(int)].astype(float), items=items)


def _rare(n=4000, seed=4):
    """Two classes, 3% of the second, seen through probabilities that are too sure."""
    rng = np.random.default_rng(seed)
    odds = -5 + 2 * rng.standard_normal(n)
    y = (rng.random(n) < expit(odds)).astype(float)
    p = expit(1.5 * odds + rng.standard_normal(n) + 1)
    items = Items(prediction=(p > 0.5).astype(float)[:, None], probability=np.stack([1 - p, p], axis=1))
    return OutcomePool(kind=Classes(("c", "b")), codes=y, items=items)


def _f1_of_b(pool):
    return Stack(kind=pool.kind, measures=(outcome_measure("f1", pool.kind, 9, options={"class": "b"}),))


@pytest.mark.parametrize("name", [
    "dirichlet-tree", "dirichlet-tree:depth=5:partition=equal-size",
    "dirichlet-tree:branching=4:depth=3:branches=modes", "dirichlet-flat",
    "dirichlet-tree:partition=kd-tree", "dirichlet-flat:partition=clusters:depth=5",
])
def test_with_two_classes_leaves_model_and_proposal_are_those_of_the_method_of_two_classes(name):
    pool, rng = _rare(), np.random.default_rng(1)
    method, two = outcome_method(name), two_class_method(name)
    p, said = pool.items.probability[:, 1], pool.items.prediction[:, 0].astype(int)
    features = np.stack([p, rng.standard_normal(len(p))], axis=1)
    pool = replace(pool, items=replace(pool.items, feature=features))
    partition, cell = build_partition(two, p, p, said, features)
    stack = _f1_of_b(pool)
    made = method.cut(stack, pool.items)
    np.testing.assert_array_equal(made.cell, cell)
    np.testing.assert_array_equal(made.cells.slot, partition.cells.stratum)
    twin = two.start(partition.cells, [two_class_measure("f1")], 1)
    # the same labels after every round give the same model, and the same chance to be drawn
    state = _with_table(method.start(made.cells, stack, 1), pool, stack)
    free = rng.permutation(len(cell))
    for rows in (free[:0], free[:40], free[40:120]):
        size = np.array([len(rows)])
        heard = RoundOutcomes(item=rows[None], cell=cell[rows][None])
        state = method.observe(state, method.propose(state, size), heard, np.zeros_like(state.excluded))
        new = np.zeros((1, partition.cells.n_cells, 2), np.int64)
        np.add.at(new[0], (cell[rows], pool.codes[rows].astype(int)), 1)
        labels = RoundLabels(new=new, drawn_new=new, drawn_known=np.zeros_like(new))
        twin = two.observe(twin, two.propose(twin, size), labels, np.zeros_like(new[..., 0]))
        np.testing.assert_allclose(state.belief.chances, twin.belief.chances, rtol=1e-8, atol=1e-12)
        q, mine = two.propose(twin, size).unlabelled, method.share(state)
        total = (q * state.wanted).sum()
        # slopes by what the pool tells are central differences here
        np.testing.assert_allclose((mine * total)[state.wanted > 0], q[state.wanted > 0], rtol=1e-6)


def test_a_class_dealt_out_to_two_changes_nothing_for_the_other():
    pool = _rare()
    many = _dealt_out(pool)
    twos, threes = (
        simulate(
            outcome_method(TREES[0]), one, _f1_of_b(one), ReplayPlan(budgets=(60, 120), batch_size=20),
            repeats=8
        )[0]
        for one in (pool, many)
    )
    np.testing.assert_allclose(threes.value, twos.value, rtol=1e-8)
    np.testing.assert_allclose(threes.upper, twos.upper, rtol=1e-6)


def test_three_classes_are_estimated_as_well_as_two():
    # 100 repeats each: a mean square comes out 1.9 times another that it equals once in 1,400 trials
    pool = _rare()
    many, p = _dealt_out(pool), pool.items.probability[:, 1]
    stack = _f1_of_b(many)
    truth = many.truth(stack)[0]
    found = simulate(
        outcome_method(TREES[0]), many, stack, ReplayPlan(budgets=(150,), batch_size=25), repeats=100
    )[0].value[:, 0]
    twin = LabelledPool(
        score=p, probability=p, prediction=pool.items.prediction[:, 0].astype(int),
        label=pool.codes.astype(int),
    )
    two = simulate(
        two_class_method(TREES[0]), twin, [two_class_measure("f1")], ReplayPlan(
            budgets=(150,), batch_size=25
        ), repeats=100
    )[0].value[:, 0]
    assert ((found - truth) ** 2).mean() < 1.9 * ((np.nan_to_num(two) - truth) ** 2).mean()


@pytest.mark.parametrize("measure", ["macro_f1", "accuracy"])
@pytest.mark.parametrize("name", TREES)
def test_the_order_of_the_names_changes_nothing(name, measure):
    pool = family("over-confident")
    again = _renamed(pool, [3, 0, 5, 1, 4, 2])
    first, second = (
        simulate(
            OUTCOME_METHODS[name], one, _stack(one, measure), ReplayPlan(budgets=(60,), batch_size=30),
            repeats=4
        )[0]
        for one in (pool, again)
    )
    np.testing.assert_allclose(second.value, first.value, rtol=1e-8)


def test_classes_that_no_measure_tells_apart_are_one_to_the_tree():
    pool = _pool(5, 200)

    def lumps(*measures):
        stack = Stack(kind=pool.kind, measures=measures)
        return lump_of_each_class(MeasuredItems(stack, pool.items)).tolist()

    def of(name, **options):
        return outcome_measure(name, pool.kind, 200, options=options)

    assert lumps(of("f1", **{"class": "c"})) == [0, 0, 1, 0, 0]
    assert lumps(of("recall", **{"class": "a"}), of("rate", **{"class": "d"})) == [0, 1, 1, 2, 1]
    assert lumps(of("accuracy")) == lumps(of("f1")) == [0, 1, 2, 3, 4]


def test_neighbours_on_the_line_are_alike_whatever_their_numbers():
    mean = np.array([[0.7, 0.28, 0.02], [0.2, 0.6, 0.2], [0.02, 0.28, 0.7]])
    for order in ([0, 1, 2], [1, 2, 0], [2, 0, 1]):
        n = np.array([30.0, 20.0, 10.0])[order]
        totals = np.concatenate([n[:, None], n[:, None] * mean[order][:, order]], axis=1)
        place, rank = _chained(totals)
        assert place[np.argsort(order)].tolist() == rank[np.argsort(order)].tolist() == [0, 1, 2]
    same = np.array([[9, 4, 4, 1], [8, 3.6, 3.5, 0.9], [5, 0.5, 0.5, 4]])
    assert _chained(same)[1].tolist() == [0, 0, 1]


def test_the_tree_has_the_settings_of_two_classes():
    pool = _pool(3, 400)
    stack = _stack(pool, "macro_f1")
    small = outcome_method("dirichlet-tree:partition=equal-size:depth=3")
    assert small.written == "dirichlet-tree:depth=3:partition=equal-size"
    assert outcome_method(small.written) == small
    cells = small.cut(stack, pool.items).cells
    by_leaf = np.bincount(cells.slot, weights=cells.size, minlength=8)
    assert len(by_leaf) == 8
    assert by_leaf.max() <= 1.5 * 400 / 8
    for name, message in {
        "dirichlet-tree:deep=3": "no setting 'deep=3'; did you mean 'depth'",
        "recalibrated:depth=3": "'recalibrated' has no setting",
        "dirichlet-tree:depth=40": "not one of 2 to 65,536 strata",
        "dirichlet-tree-stochastic:branches=modes": "no setting",
    }.items():
        with pytest.raises((BadInput, UnknownName), match=message):
            outcome_method(name)
