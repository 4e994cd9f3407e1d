"""The static optimal proposal for any measure."""

import numpy as np
import pytest

from assay.evalcore.errors import BadInput
from assay.evalcore.measures.registry import outcome_measure
from assay.evalcore.measures.stack import Stack
from assay.evalcore.methods.any_outcome.state import SampleState, no_rows_yet
from assay.evalcore.methods.any_outcome.static_sample import StaticSample
from assay.evalcore.methods.registry import outcome_method
from assay.evalcore.outcomes.classes import Classes
from assay.evalcore.outcomes.items import Items
from assay.evalcore.outcomes.numbers import Numbers

KIND = Classes(tuple("abc"))
RNG = np.random.default_rng(4)
P = RNG.dirichlet(np.full(3, 0.5), 300)
ITEMS = Items(prediction=P.argmax(axis=1).astype(float)[:, None], probability=P)


def _expected(stack, trust):
    """(N,) the root of Σ_q w_q E_y (J_q·(ℓ - R))², item by item and class by class."""
    believed = np.einsum("b,nbp->np", KIND.first_weights(ITEMS), KIND.guesses(ITEMS))
    believed = trust * believed + (1 - trust) / 3
    by_class = [stack.item_losses(ITEMS, np.tile(row, (300, 1))) for row in np.eye(3)]
    losses = np.stack(by_class, axis=1)   # (N, K, D)
    risk = np.einsum("nk,nkd->d", believed, losses) / 300
    known = stack.known(ITEMS).mean(axis=0)
    slopes = stack.slopes(np.concatenate([risk, known]), stack.known_sizes(ITEMS))
    pull = np.einsum("nkd,qd->nkq", losses - risk, slopes)
    return np.sqrt(np.einsum("nk,nkq,q->n", believed, pull**2, stack.weight))


@pytest.mark.parametrize(("names", "trust"), [
    (["accuracy"], 1), (["macro_f1"], 1), (["recall", "accuracy"], 1), (["macro_f1"], 0.6),
])
def test_an_item_is_asked_in_proportion_to_what_it_may_add_to_the_error(names, trust):
    stack = Stack(kind=KIND, measures=tuple(outcome_measure(name, KIND, 300) for name in names))
    made = StaticSample(trust=trust).cut(stack, ITEMS)
    expected = _expected(stack, trust)
    sums = np.bincount(made.cell, weights=expected**2)
    # all that is left of the item is its cell: cells are alike in the square
    share = StaticSample().share(SampleState(**no_rows_yet(stack, made.cells, 1)))[0]
    wanted = np.sqrt(sums / made.cells.size)
    above = wanted > 0.1 * expected.mean()      # the others are raised to a floor
    assert above.mean() > 0.9
    np.testing.assert_allclose(share[above], wanted[above], rtol=1e-9)
    within = np.array([np.ptp(expected[made.cell == c]) for c in range(made.cells.n_cells)])
    assert np.median(within) < 0.02 * expected.max(), "cells of alike items"


def test_the_trace_counts_each_measure_in_units_of_its_target():
    measures = tuple(outcome_measure(name, KIND, 300) for name in ("accuracy", "macro_f1"))
    alone = Stack(kind=KIND, measures=measures[:1])
    both = Stack(kind=KIND, measures=measures, target=(0.01, 10.0))
    one, two = (StaticSample().cut(stack, ITEMS) for stack in (alone, both))
    shares = [
        StaticSample().share(SampleState(**no_rows_yet(stack, made.cells, 1)))[0][made.cell]
        for stack, made in ((alone, one), (both, two))
    ]
    assert np.corrcoef(*shares)[0, 1] > 0.999, "a measure that hardly matters does not steer"


@pytest.mark.parametrize(("written", "even"), [
    ("static-is:secondary-mixing=0.3", 0.3), ("static-is:epsilon=0.2:secondary-mixing=0.5", 0.6),
    ("bernoulli:secondary-mixing=0.3", 0.3), ("bernoulli:draws=independent:secondary-mixing=1", 1.0),
])
def test_a_part_of_the_labels_is_spread_evenly_for_the_numbers_that_are_asked_besides(written, even):
    method, usual = outcome_method(written), outcome_method(written.partition(":")[0])
    for names, part in ((("accuracy", "macro_f1"), even), (("accuracy",), getattr(method, "epsilon", 0.0))):
        stack = Stack(kind=KIND, measures=tuple(outcome_measure(name, KIND, 300) for name in names))
        cells = method.cut(stack, ITEMS).cells
        mine, theirs = (of.share(of.start(cells, stack, 1))[0] for of in (method, usual))
        mean = (theirs * cells.size).sum() / 300
        np.testing.assert_allclose(mine, (1 - part) * theirs + part * mean)
    assert method.written == outcome_method(method.written).written


def test_settings_of_the_baselines_are_those_of_any_number_of_classes():
    stack = Stack(kind=KIND, measures=(outcome_measure("accuracy", KIND, 300),))
    assert outcome_method("stratified:strata=6").cut(stack, ITEMS).cells.n_cells == 6
    alike = outcome_method("stratified-neyman:partition=equal-size:strata=4").cut(stack, ITEMS).cells
    assert alike.size.tolist() == [75] * 4
    for written, why in (
        ("stratified:strata=1", "at least 2 strata"),
        ("stratified:guaranteed=true:strata=6", "few strata of its own"),
    ):
        with pytest.raises(BadInput, match=why):
            outcome_method(written)
    numbers = Stack(kind=Numbers(0, 1), measures=(outcome_measure("mae", Numbers(0, 1), 300),))
    with pytest.raises(BadInput, match="a number has none"):
        outcome_method("static-is:trust=0.5").cut(numbers, Items(prediction=P[:, :1]))
