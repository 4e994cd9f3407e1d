"""`dirichlet-tree:printed=true` of three classes: Proposition 2, equation 1, section 3.3.2, item by item."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.stats

from assay.evalcore.design.draws import LEAST_NEW_MASS
from assay.evalcore.errors import BadInput
from assay.evalcore.evaluation.estimates import estimates, joint_region
from assay.evalcore.evaluation.state import Question, before_any_label, observe, plan
from assay.evalcore.measures.registry import outcome_measure
from assay.evalcore.measures.stack import Stack
from assay.evalcore.methods.registry import outcome_method
from assay.evalcore.outcomes.base import UNANSWERED, UNDECIDED
from assay.evalcore.outcomes.classes import Classes
from assay.evalcore.outcomes.items import Items
from assay.evalcore.replay.pool import OutcomePool
from assay.evalcore.replay.run import ReplayPlan, simulate

KIND = Classes(("a", "b", "c"))
N = 300


def three_classes(seed=2):
    rng = np.random.default_rng(seed)
    z = 1.5 * rng.normal(size=(N, 3)) - 0.7 * np.arange(3)
    p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    y = (p.cumsum(axis=1) > rng.random((N, 1))).argmax(axis=1)
    return p, p.argmax(axis=1), y


def begun(measures=("accuracy",), name="dirichlet-tree:printed=true:depth=3"):
    p, f, y = three_classes()
    stack = Stack(kind=KIND, measures=tuple(outcome_measure(m, KIND, N) for m in measures))
    m = outcome_method(name)
    items = Items(prediction=f[:, None].astype(float), probability=p)
    cut = m.cut(stack, items)
    question = Question(method=m, measures=stack, cells=cut.cells, confidence=0.95, seed=3, evaluation="test")
    order = np.argsort(cut.cell, kind="stable")
    start = np.cumsum(cut.cells.size) - cut.cells.size
    return question, items, cut.cell, (lambda a_plan: order[start[a_plan.cell] + a_plan.rank]), f, y


def played(question, items, item_of, y, rounds, size=20):
    """Rounds of a live evaluation: the draws (item, q) of each, with the state after."""
    state, drawn = before_any_label(question), []
    for _ in range(rounds):
        a_plan = plan(question, state, size)
        item = item_of(a_plan)
        drawn.append((item, a_plan.probability, a_plan.design))
        state = observe(question, state, a_plan, y[item].astype(float), items.at(item))
    return state, drawn


def test_every_draw_has_the_q_of_proposition_2():
    question, items, cell, item_of, f, y = begun()
    state, _ = played(question, items, item_of, y, 3)
    known = np.full(N, -1)
    for c, asked in state.asked.items():
        known[np.flatnonzero(cell == c)[list(asked.rank)]] = asked.code
    pi = state.inner.belief.chances[0][cell]                                # (N, K) of unlabelled items
    wrong = np.where(known >= 0, known != f, 1 - pi[np.arange(N), f])        # E‖D ℓ‖ of accuracy: D = -1
    threshold = 1e-9 * (known < 0).mean()
    reach = np.where(known >= 0, np.maximum(wrong, threshold * (known != f)), wrong)
    q = reach / reach.sum()
    new = q[known < 0].sum()
    assert new > LEAST_NEW_MASS, "the rule that keeps rounds finite does not act here"
    design = question.method.propose(state.inner, np.array([1]))
    assert design.unlabelled[0][cell][known < 0] == pytest.approx(q[known < 0], rel=1e-7)
    rows = np.array([np.flatnonzero(cell == c)[r] for c, r in
                     zip(state.inner.cell[0], state.inner.rank[0], strict=True)])
    assert design.labelled[0] == pytest.approx(q[rows], rel=1e-7, abs=1e-12)


@pytest.mark.parametrize("measures", [("accuracy",), ("accuracy", "macro_f1")])
def test_estimate_and_interval_are_those_of_the_draws_one_by_one(measures):
    question, items, _, item_of, f, y = begun(measures)
    state, drawn = played(question, items, item_of, y, 4)
    item, q = (np.concatenate([one[i] for one in drawn]) for i in (0, 1))
    n, w = len(item), 1 / (N * q)
    assert n > 80, "labelled items are drawn again, at no cost"
    right = (y == f)[item].astype(float)
    mean = 1 - (w * (1 - right)).mean()                                     # the loss is that of an error
    first = estimates(question, state)[0]
    assert (first.interval, first.labels) == ("ais-student-as-printed", 80)
    assert first.value == pytest.approx(mean, abs=1e-12)
    last = question.method.propose(state.inner, np.array([0]))
    place = {(c, r): i for i, (c, r) in
             enumerate(zip(state.inner.cell[0].tolist(), state.inner.rank[0].tolist(), strict=True))}
    order = [place[address] for one in drawn for address in _addresses(question, item_of, one)]
    q_last = last.labelled[0][order]
    pulling = right == 0
    second = (1 / (N**2 * q * np.where(pulling, q_last, 1.0)) * pulling).sum() / n
    sigma = second - (w * (1 - right)).mean() ** 2
    half = scipy.stats.t.ppf(0.975, n - 1) * np.sqrt(sigma / n)
    assert (first.lower, first.upper) == pytest.approx((max(mean - half, 0), min(mean + half, 1)), abs=1e-9)
    if len(measures) == 2:
        region = joint_region(question, state).in_plain_numbers()
        assert (region.quantile, region.variance) == ("F", "printed")
        scale = (n - 1) * 2 / (n - 2) * scipy.stats.f.ppf(0.95, 2, n - 2)
        assert region.shape[0][0] == pytest.approx(scale * sigma / n, rel=1e-9)


def _addresses(question, item_of, one):
    """(cell, rank) of each draw, found again from its item."""
    sizes = question.cells.size
    cells = np.repeat(np.arange(len(sizes)), sizes)
    ranks = np.concatenate([np.arange(size) for size in sizes])

    class Everything:
        cell, rank = cells, ranks

    where = np.empty(N, np.int64)
    where[item_of(Everything)] = np.arange(N)
    at = where[one[0]]
    return zip(cells[at].tolist(), ranks[at].tolist(), strict=True)


def test_replays_come_to_the_truth_and_are_exact_at_the_end():
    p, f, y = three_classes()
    pool = OutcomePool(kind=KIND, items=Items(prediction=f[:, None].astype(float), probability=p),
                       codes=y.astype(float))
    stack = Stack(kind=KIND, measures=(outcome_measure("accuracy", KIND, N),))
    trace = simulate(outcome_method("dirichlet-tree:printed=true:depth=3"), pool, stack,
                     ReplayPlan(budgets=(60, N), batch_size=30, seed=7), repeats=60)[0]
    truth = (y == f).mean()
    error = trace.value[:, 0] - truth
    assert abs(error.mean()) < 4.9 * error.std() / np.sqrt(60)       # 1e-6 chance of a false alarm
    assert trace.value[:, 1] == pytest.approx(truth)
    assert (trace.upper[:, 1] - trace.lower[:, 1]).max() < 1e-9


@pytest.mark.parametrize("code", [UNANSWERED, UNDECIDED])
def test_items_without_a_label_are_stood_for(code):
    question, items, _, item_of, f, y = begun()
    values = []
    for seed in range(24):
        asked = replace(question, seed=seed)
        state, rng = before_any_label(asked), np.random.default_rng(seed)
        gone = rng.random(N) < 0.25
        for _ in range(3):
            a_plan = plan(asked, state, 30)
            item = item_of(a_plan)
            codes = np.where(gone[item], code, y[item]).astype(float)
            state = observe(asked, state, a_plan, codes, items.at(item))
        values.append(estimates(asked, state)[0].value)
    error = np.array(values) - (y == f).mean()
    assert abs(error.mean()) < 4.9 * error.std() / np.sqrt(len(error))


def test_clusters_are_refused():
    p, f, _ = three_classes()
    stack = Stack(kind=KIND, measures=(outcome_measure("accuracy", KIND, N),))
    items = Items(prediction=f[:, None].astype(float), probability=p, cluster=np.arange(N)[:, None] % 9.0)
    with pytest.raises(BadInput, match="knows of no clusters"):
        outcome_method("dirichlet-tree:printed=true").cut(stack, items)
