"""Appendix D of Yilmaz et al. (2021) as a method: against its form in Python, by hand, and by simulation."""

from dataclasses import replace

import numpy as np
import pytest

from assay.evalcore.errors import BadInput
from assay.evalcore.estimators.intervals import beta_fit
from assay.evalcore.measures.registry import outcome_measure
from assay.evalcore.measures.stack import Stack
from assay.evalcore.methods.any_outcome.bernoulli_sample import Deviations, PublishedBernoulli
from assay.evalcore.methods.any_outcome.interval import slopes_of_known
from assay.evalcore.methods.registry import outcome_method
from assay.evalcore.outcomes.items import Items
from assay.evalcore.outcomes.numbers import Numbers
from assay.evalcore.outcomes.tags import Tags
from assay.evalcore.replay.families import outcome_family_pool as family
from assay.evalcore.replay.pool import OutcomePool, prepared
from assay.evalcore.replay.run import ReplayPlan, simulate
from benchmarks.reproduce import tags_of_appendix_d as python_form

PRINTED, CORRECTED = "bernoulli:form=printed", "bernoulli:form=corrected"
FALSE_ALARM = 1e-6
KIND = Tags(tuple("abcd"))
BITS = 2.0 ** np.arange(4)


def a_pool(n=400, seed=5):
    rng = np.random.default_rng(seed)
    p = rng.beta(0.7, 1.2, (n, 4))
    told = np.clip(p + rng.normal(0, 0.15, p.shape), 0.01, 0.99)
    return OutcomePool(
        kind=KIND, codes=(rng.random((n, 4)) < p) @ BITS,
        items=Items(prediction=((told > 0.45) @ BITS)[:, None], probability=told),
    )


POOL = a_pool()
PREDICTED, LABEL = KIND.phi(POOL.items.prediction[:, 0]) > 0, KIND.phi(POOL.codes)
BELIEVED = python_form.softened(POOL.items.probability)


def stack_of(*names):
    return Stack(kind=KIND, measures=tuple(outcome_measure(name, KIND, 400) for name in names))


def squares(name, *, printed):
    """h² of every item, as the method has it."""
    stack = stack_of(name)
    loss = np.concatenate([stack.item_losses(POOL.items, BELIEVED), stack.known(POOL.items)], axis=1)
    risk, sizes = loss.mean(axis=0), list(stack.known_sizes(POOL.items))
    slopes = np.concatenate([
        stack.slopes(risk, sizes), slopes_of_known(stack, sizes, risk[None])[0]
    ], axis=1)
    made = Deviations(trust=0.9, slopes=slopes, centre=slopes @ risk, printed=printed)
    return made.expected_squares(stack, POOL.items)[:, 0]


@pytest.mark.parametrize(("of", "measure", "more"), [
    ("over-confident", "accuracy", ""), ("tags", "micro_f1", ""), ("tags", "micro_f1", ":form=corrected"),
    ("regression", "mae", ""),
])
def test_coins_of_each_item_are_met_on_average_and_intervals_cover(of, measure, more):
    # 80 repeats: the mean of the labels, and of the estimates, is off by 5 standard errors once in 1.7
    # million; an interval that covers 0.95 covers at most 65 of them once in 40,000
    pool = family(of)
    stack = Stack(kind=pool.kind, measures=(outcome_measure(measure, pool.kind, len(pool.items)),))
    method, truth = outcome_method(f"bernoulli:draws=independent{more}"), pool.truth(stack)[0]
    assert not method.in_one_array
    assert ("with systematic draws" in method.sampling_note) == (":form" in more)
    found = simulate(method, pool, stack, ReplayPlan(budgets=(80,), batch_size=40), repeats=80)[0]
    labels, value = found.labels[:, 0], found.value[:, 0]
    assert labels.std() > 5
    assert abs(labels.mean() - 80) < 5 * labels.std() / np.sqrt(80)
    assert abs(value.mean() - truth) < 5 * value.std() / np.sqrt(80)
    assert ((found.lower[:, 0] <= truth) & (truth <= found.upper[:, 0])).sum() > 65


def drawn(name, seed=1):
    """The state after two rounds of 30 labels."""
    method, ready = outcome_method(PRINTED), prepared(outcome_method(PRINTED), POOL, stack_of(name))
    rng = np.random.default_rng(seed)
    people, state = ready.respondents(method, 1, rng, rng), ready.begin(method, 1)
    for _ in range(2):
        design, draws = method.next_round(state, np.array([30]), rng)
        state = method.observe(state, design, people.answer(draws, state, rng), np.zeros_like(state.excluded))
    return method, state


@pytest.mark.parametrize("printed", [True, False])
def test_micro_f1_is_drawn_by_equations_95_to_97(printed):
    # theirs lacks 1/μ_y, μ_y the mean of (predicted + labelled tags)/2 under p_a
    below = (PREDICTED.sum(axis=1) + BELIEVED.sum(axis=1)).mean() / 2
    theirs = python_form.micro_squares(PREDICTED, BELIEVED) / below**2
    np.testing.assert_allclose(squares("micro_f1", printed=printed), theirs, rtol=1e-6)


@pytest.mark.parametrize("printed", [True, False])
def test_macro_f1_is_drawn_by_equation_109_as_printed_or_with_the_products(printed):
    theirs = python_form.macro_squares(PREDICTED, BELIEVED, printed=printed)
    np.testing.assert_allclose(squares("macro_f1_of_means", printed=printed), theirs, rtol=1e-5)


@pytest.mark.parametrize(("name", "theirs"), [
    ("micro_f1", python_form.estimate_micro), ("macro_f1_of_means", python_form.estimate_macro),
])
def test_estimate_variance_and_interval_are_those_of_equations_18_and_28(name, theirs):
    method, state = drawn(name)
    rows, b = state.item[0], np.take_along_axis(state.chance, state.cell, axis=1)[0]
    expected = theirs(PREDICTED[rows], LABEL[rows], b)
    found = method.estimate(state, 0.9)
    assert found.value[0, 0] == pytest.approx(expected.value)
    assert found.variance[0, 0] == pytest.approx(expected.variance, rel=1e-5)
    beta = beta_fit(found.value[:, 0], found.variance[:, 0], np.array([True]), 0.9, (0.0, 1.0))
    assert found.lower[0, 0] <= beta.lower[0]
    assert beta.upper[0] <= found.upper[0]
    # footnote 3: of the ratio g is (predicted + labelled tags)/2, of others 1
    g = (PREDICTED[rows].sum(axis=1) + LABEL[rows].sum(axis=1)) / 2 if name == "micro_f1" else np.ones(len(b))
    more = replace(method, epsilon=0.01).estimate(state, 0.9).variance[0, 0]
    added = 0.01 * (1 / b).sum() / (g / b).sum() ** 2
    assert more == pytest.approx(found.variance[0, 0] + added, rel=1e-6)
    assert outcome_method("bernoulli:epsilon=0.01:form=corrected").epsilon == 0.01
    usual = outcome_method("bernoulli")
    before, after = (usual.estimate(state, 0.9), replace(usual, epsilon=0.01).estimate(state, 0.9))
    assert (after.variance > before.variance).all()
    assert (after.value == before.value).all()


@pytest.mark.parametrize("written", ["bernoulli:epsilon=0.5", "bernoulli:epsilon=0.5:form=corrected"])
def test_epsilon_adds_nothing_to_a_number_that_is_undefined(written):
    pool = replace(POOL, codes=np.zeros_like(POOL.codes))       # nobody has a tag: no recall
    one = outcome_measure("recall", pool.kind, len(pool.items), options={"class": pool.kind.parts[0]})
    stack = Stack(kind=pool.kind, measures=(one,))
    plan = ReplayPlan(budgets=(9,), batch_size=9)
    [found] = simulate(outcome_method(written), pool, stack, plan, repeats=3)
    assert np.isnan(found.value).all(), "and no warning of a division by 0"


def test_two_rounds_are_drawn_as_one():
    _, state = drawn("micro_f1")
    h, left = np.sqrt(state.cells.spread[:, 0]), state.cells.size
    level = state.chance[0] / h
    assert np.ptp(level) < 0.12 * level.mean(), "b = μ h, but for how many of a cell the first round drew"
    assert (state.chance[0] * left).sum() == pytest.approx(60, rel=0.05)


def test_weights_are_one_over_b_and_the_estimate_is_their_mean():
    method, state = drawn("hamming")
    found = method.weights(state)
    wrong = state.table.loss[state.item[0], 0]
    value = (found.weight * wrong).sum() / found.weight.sum()
    assert method.estimate(state, 0.9).value[0, 0] == pytest.approx(value)
    np.testing.assert_allclose(found.factor, found.weight * (found.weight - 1))


@pytest.mark.parametrize("method", [PRINTED, CORRECTED])
def test_estimates_are_near_the_truth_and_intervals_cover(method):
    stack, runs = stack_of("micro_f1", "macro_f1_of_means"), 400
    traces = simulate(outcome_method(method), POOL, stack, ReplayPlan(budgets=[60], seed=3), repeats=runs)
    for trace, truth in zip(traces, POOL.truth(stack), strict=True):
        spread = trace.value[:, 0].std()
        # the bias of a ratio is of order 1/n: a fifth of a standard error here; 5 standard errors of the mean
        assert trace.value.mean() == pytest.approx(truth, abs=spread * (0.2 + 5 / np.sqrt(runs)))
        covered = ((trace.lower <= truth) & (truth <= trace.upper)).mean()
        # 0.93 and no less, but for a false alarm of one in a million
        assert covered >= 0.93 - 4.9 * np.sqrt(0.93 * 0.07 / runs)


def test_all_labelled_is_exact():
    stack = stack_of("micro_f1", "macro_f1", "hamming")
    small = replace(POOL, items=POOL.items.at(slice(0, 40)), codes=POOL.codes[:40])
    for trace, truth in zip(
        simulate(
            outcome_method(PRINTED), small, stack, ReplayPlan(budgets=[40]), repeats=2
        ), small.truth(stack), strict=True
    ):
        np.testing.assert_allclose(trace.value, truth)
        np.testing.assert_allclose(trace.upper - trace.lower, 0, atol=1e-9)


def test_names_give_the_same_method_again():
    for written in (PRINTED, CORRECTED, "bernoulli:form=printed:trust=0.5"):
        assert outcome_method(written).written == written
        assert outcome_method(outcome_method(written).written) == outcome_method(written)
    assert isinstance(outcome_method(PRINTED), PublishedBernoulli)


@pytest.mark.parametrize(("name", "why"), [
    ("bernoulli:trust=0.5", "trust is for tags with form="),
    ("bernoulli:form=printed:one-at-a-time=true", "draws the items of a batch together"),
    ("bernoulli:form=known", "form must be one of known-totals, corrected, printed"),
])
def test_settings_that_would_change_nothing_are_refused(name, why):
    with pytest.raises(BadInput, match=why):
        outcome_method(name)


def test_it_is_for_tags():
    with pytest.raises(BadInput, match="is for tags, not for number; methods that are"):
        outcome_method(PRINTED, Numbers())


def test_equation_109_is_of_measures_by_tag():
    # per-tag F1 has no margin as a whole, and is fine; a difference of Jaccard indices is neither
    outcome_method(PRINTED).cut(stack_of("f1"), POOL.items)
    one, other = (outcome_measure("jaccard", KIND, 400, system=s) for s in (0, 1))
    both = replace(POOL.items, prediction=np.repeat(POOL.items.prediction, 2, axis=1))
    several = Stack(kind=KIND, measures=(replace(one, margin=None, losses=(*one.losses, *other.losses)),))
    with pytest.raises(BadInput, match=r"equation 109 is of measures by tag.*form=corrected"):
        outcome_method(PRINTED).cut(several, both)
