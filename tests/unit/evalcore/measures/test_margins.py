"""Limits as statements about a mean: the margin of a measure, and the largest it can be for one item."""

import numpy as np
import pytest

from assay.evalcore.measures.measure import difference
from assay.evalcore.measures.registry import MEASURES_BY_KIND, of_ranks, of_scores, outcome_measure
from assay.evalcore.outcomes.classes import Classes
from assay.evalcore.outcomes.items import Items
from assay.evalcore.outcomes.numbers import Numbers
from assay.evalcore.outcomes.tags import Tags

GRADES = Classes(names=("1", "2", "4"), values=(1.0, 2.0, 4.0))
TAGS = Tags(names=("a", "b", "c"))
NUMBERS = Numbers(low=-2.0, high=3.0)
KINDS = {"classes": GRADES, "tags": TAGS, "number": NUMBERS}
MACRO = {"macro_f1", "macro_f1_of_means", "macro_fowlkes_mallows", "macro_recall", "macro_specificity"}
WITHOUT = {
    "classes": {*MACRO, "balanced_accuracy", "confusion_matrix", "fowlkes_mallows", "log_loss", "mcc",
                "pearson", "r2", "weighted_f1", "weighted_precision"},
    "tags": {*MACRO, "fowlkes_mallows", "weighted_f1", "weighted_precision"},
    "number": {"pearson", "r2"},
}


def made(of, name):
    """The measure, of the second class where it is of one; k = 2."""
    options = {"class": KINDS[of].parts[1]} if "class" in MEASURES_BY_KIND[of, name].options else {}
    k = {"k": 2} if name.startswith("top") else {}
    return outcome_measure(name, KINDS[of], 50, options=options | k)


def a_pool(of, n=60):
    rng = np.random.default_rng(3)
    if of == "number":
        outcome = rng.uniform(-2, 3, n)
        return outcome, Items(prediction=rng.uniform(-2.5, 3.5, n)[:, None])
    if of == "tags":
        outcome = rng.integers(0, 8, n).astype(float)
        other = rng.integers(0, 8, n)
        return outcome, Items(prediction=np.where(rng.random(n) < 0.5, outcome, other)[:, None])
    outcome, probability = rng.integers(0, 3, n).astype(float), rng.dirichlet(np.ones(3), n)
    predicted = np.where(rng.random(n) < 0.5, outcome, rng.integers(0, 3, n))
    return outcome, Items(prediction=predicted[:, None], probability=probability)


def outcomes_of(of):
    return np.linspace(-2, 3, 21) if of == "number" else np.arange(3.0 if of == "classes" else 8.0)


# no monitor watches a curve; preferences are classes; rankings have tests of their own
SINGLE = [
    key for key in MEASURES_BY_KIND
    if key[0] in KINDS and not of_scores(key[1]) and not of_ranks(key[1])
]
WATCHED = [(of, name) for of, name in sorted(SINGLE) if name not in WITHOUT[of]]


@pytest.mark.parametrize(("of", "name"), sorted(SINGLE))
def test_a_measure_has_a_margin_or_is_among_those_that_have_none(of, name):
    assert (made(of, name).margin is None) == (name in WITHOUT[of])


@pytest.mark.parametrize(("of", "name"), WATCHED)
def test_the_margin_has_the_sign_of_the_distance_from_the_limit(of, name):
    measure, kind, (outcome, items) = made(of, name), KINDS[of], a_pool(of)
    loss = np.concatenate([one.item_losses(items, kind.phi(outcome)).mean(axis=0) for one in measure.losses])
    known = np.concatenate([one.known(items).mean(axis=0) for one in measure.losses])
    truth = float(measure.of_pool(items, kind.phi(outcome))[0])
    for at_least in (True, False):
        for limit in truth + np.array([-0.3, -0.01, 0.01, 0.3]):
            margin = measure.margin(float(limit), known, at_least)
            found = margin.constant + margin.slope @ loss + margin.known_slope @ known
            assert np.sign(found) == np.sign(truth - limit)


@pytest.mark.parametrize(("of", "name"), WATCHED)
@pytest.mark.parametrize("sign", [1, -1])
def test_no_item_of_a_cell_can_be_worth_more_than_is_said(of, name, sign):
    measure, kind, (_, items) = made(of, name), KINDS[of], a_pool(of)
    cell = np.arange(len(items)) % 7
    of_cell = [kind.prediction_support(items.prediction[cell == c, 0]).max(axis=0) for c in range(7)]
    said = np.stack(of_cell)[:, None]
    known = np.concatenate([one.known(items).mean(axis=0) for one in measure.losses])
    margin, (loss,) = measure.margin(0.6, known, True), measure.losses
    most = loss.most(said, sign * margin.slope, sign * margin.known_slope)
    worth = np.max([
        sign * (loss.item_losses(items, kind.phi(np.full(len(items), y))) @ margin.slope
                + loss.known(items) @ margin.known_slope)
        for y in outcomes_of(of)
    ], axis=0)
    each = np.array([worth[cell == c].max() for c in range(7)])
    assert (most >= each - 1e-12).all()
    if name in ("f1", "recall", "precision", "specificity", "cohen_kappa") and of == "classes":
        assert most == pytest.approx(each)   # and no more than some item can be


DIFFERENT = [
    (name, MEASURES_BY_KIND["classes", name].options)
    for of, name in sorted(SINGLE) if of == "classes" and not MEASURES_BY_KIND[of, name].one_system
]


def two_systems(name, options):
    """The measure's difference of two systems, and a pool of both; cells of one joint prediction each."""
    picked = {name: value for name, value in (("class", "2"), ("k", 2.0)) if name in options}
    one, other = (outcome_measure(name, GRADES, 50, system=s, options=picked) for s in (1, 0))
    rng = np.random.default_rng(4)
    outcome = rng.integers(0, 3, 80).astype(float)
    predicted = np.where(rng.random((80, 2)) < 0.5, outcome[:, None], rng.integers(0, 3, (80, 2)))
    given = np.concatenate([rng.dirichlet(np.ones(3), 80) for _ in range(2)], axis=1)
    return difference(one, other), outcome, Items(prediction=predicted, by_system=given)


def test_the_differences_of_means_have_a_margin_and_no_others():
    found = {
        name for name, options in DIFFERENT
        if two_systems(name, options)[0].margin is not None and name not in ("mean", "rate")
    }
    assert found == {"accuracy", "bias", "brier", "mae", "mse", "top_k_accuracy", "within"}


@pytest.mark.parametrize("name", ["accuracy", "bias", "mae", "mse", "within"])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_difference_is_bounded_by_the_class_that_both_systems_meet(name, sign):
    measure, outcome, items = two_systems(name, ())
    loss = np.stack([one.item_losses(items, GRADES.phi(outcome))[:, 0] for one in measure.losses])
    known = np.concatenate([one.known(items).mean(axis=0) for one in measure.losses])
    margin = measure.margin(-0.1, known, True)
    truth = float(measure.of_pool(items, GRADES.phi(outcome))[0])
    assert margin.constant + margin.slope @ loss.mean(axis=1) == pytest.approx(truth + 0.1)
    said = np.stack([GRADES.prediction_support(items.prediction[:, s]) for s in (0, 1)], axis=1)
    most = np.sum([
        one.most_by_class(said, sign * margin.slope[i : i + 1], np.zeros(len(one.known(items)[0])))
        for i, one in enumerate(measure.losses)
    ], axis=0).max(axis=1)
    worth = [
        sign * margin.slope @ np.stack([
            one.item_losses(items, GRADES.phi(np.full(80, y)))[:, 0] for one in measure.losses
        ]) for y in range(3)
    ]
    assert most == pytest.approx(np.max(worth, axis=0))
