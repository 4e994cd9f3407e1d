"""Tables 1 and 2 and Example 1 of Marchant & Rubinstein (2021), by numbers worked out by hand.

Ten items with two classes: TP = 3, FP = 1, FN = 2, TN = 4.  Where the paper's g is another number than ours
the difference is stated; docs/measured/papers/errata.md says why.
"""

import numpy as np
import pytest

from assay.evalcore.measures.registry import measure, outcome_measure
from assay.evalcore.outcomes.classes import Classes
from assay.evalcore.outcomes.items import Items
from assay.evalcore.outcomes.numbers import Numbers

KIND = Classes(("no", "yes"), positive="yes")
F = np.array([1, 1, 1, 1, 0, 0, 0, 0, 0, 0])
Y = np.array([1, 1, 1, 0, 1, 1, 0, 0, 0, 0])
CONFUSION = np.array([[4.0, 2.0], [1.0, 3.0]])     # by prediction and label
R1, R2, R3 = 0.3, 0.5, 0.4                         # the means of y f, y and f


def of_pool(name, **options):
    items = Items(prediction=F[:, None].astype(float))
    found = outcome_measure(name, KIND, len(Y), options=options)
    return found.of_pool(items, KIND.phi(Y.astype(float)))


@pytest.mark.parametrize(
    ("name", "beta", "printed", "by_hand"),
    [
        ("accuracy", None, 1 - 0.3, 7 / 10),
        ("balanced_accuracy", None, (R1 + R2 * (1 - R2 - R3)) / (2 * R2 * (1 - R2)), (3 / 5 + 4 / 5) / 2),
        ("precision", None, R1 / R3, 3 / 4),
        ("recall", None, R1 / R2, 3 / 5),
        ("f1", None, R1 / ((R2 + R3) / 2), 2 / 3),
        ("fbeta", 2.0, R1 / ((4 * R2 + R3) / 5), 5 * 3 / (5 * 3 + 4 * 2 + 1)),
        ("mcc", None, (R1 - R2 * R3) / np.sqrt(R2 * R3 * (1 - R2) * (1 - R3)), 10 / np.sqrt(600)),
    ],
)
def test_table_1_by_hand(name, beta, printed, by_hand):
    assert printed == pytest.approx(by_hand), "the printed g"
    assert measure(name, beta).of_confusion(CONFUSION) == pytest.approx(by_hand)
    general = "yes" if name in ("precision", "recall", "f1", "fbeta") else None
    options = {**({"class": general} if general else {}), **({"beta": beta} if beta else {})}
    assert of_pool(name, **options)[0] == pytest.approx(by_hand)


def test_fowlkes_mallows_is_the_printed_one_of_the_positive_class_or_of_each():
    positive = R1 / np.sqrt(R2 * R3)
    assert positive == pytest.approx(np.sqrt(3 / 4 * 3 / 5)), "√(precision · recall) of the positive class"
    assert positive == pytest.approx(0.67082039)
    negative = 0.4 / np.sqrt(0.5 * 0.6)
    assert of_pool("fowlkes_mallows") == pytest.approx([positive])
    assert of_pool("fowlkes_mallows", **{"class": "no"}) == pytest.approx([negative])
    alike = Classes(("no", "yes"))
    each = outcome_measure("fowlkes_mallows", alike, len(Y))
    items = Items(prediction=F[:, None].astype(float))
    assert each.parts == ("no", "yes")
    assert each.of_pool(items, alike.phi(Y.astype(float))) == pytest.approx([negative, positive])


def test_macro_fowlkes_mallows_is_the_mean_over_classes():
    assert of_pool("macro_fowlkes_mallows")[0] == pytest.approx((0.3 / np.sqrt(0.2) + 0.4 / np.sqrt(0.3)) / 2)
    assert of_pool("macro_fowlkes_mallows")[0] == pytest.approx(0.70055862)


def test_fowlkes_mallows_of_a_class_that_is_never_predicted_has_no_value_and_counts_as_0_in_the_mean():
    items = Items(prediction=np.zeros((10, 1)))
    of = {name: outcome_measure(name, KIND, 10) for name in ("fowlkes_mallows", "macro_fowlkes_mallows")}
    assert np.isnan(of["fowlkes_mallows"].of_pool(items, KIND.phi(Y.astype(float)))[0])
    # of "no": 5 of 10 are hit, and there are 5
    mean = of["macro_fowlkes_mallows"].of_pool(items, KIND.phi(Y.astype(float)))[0]
    assert mean == pytest.approx(np.sqrt(0.5) / 2)


def test_the_brier_score_of_a_positive_class_is_that_of_its_probability():
    # (0.9 - 1)² and (0.2 - 1)²
    p = np.array([0.9, 0.2])
    items = Items(prediction=np.array([[1.0], [0.0]]), probability=np.stack([1 - p, p], axis=1))
    found = outcome_measure("brier", KIND, 2).of_pool(items, KIND.phi(np.array([1.0, 1.0])))
    assert found[0] == pytest.approx((0.01 + 0.64) / 2)


def of_numbers(name, y, f):
    kind = Numbers()
    items = Items(prediction=np.asarray(f, float)[:, None])
    return outcome_measure(name, kind, len(y)).of_pool(items, kind.phi(np.asarray(y, float)))[0]


def test_table_2_by_hand():
    y, f = [1, 2, 3, 6], [2, 2, 5, 4]
    assert of_numbers("mae", y, f) == pytest.approx(5 / 4)
    assert of_numbers("mse", y, f) == pytest.approx(9 / 4)
    # the variance of y is 50/4 - 9 = 3.5
    assert of_numbers("r2", y, f) == pytest.approx(1 - 2.25 / 3.5)


def printed_r2(y, f):
    r1, r2, r3, r4 = np.mean(y), np.mean(np.square(y)), np.mean(f), np.mean(np.square(f))
    return (r4 - 2 * r1 * r3 + r1**2) / (r2 - r1**2)


def test_the_printed_coefficient_of_determination_is_r2_of_least_squares_fits_alone():
    x, y = np.array([0.0, 1, 2, 4, 5]), np.array([1.0, 0, 3, 4, 6])
    fit = np.polyval(np.polyfit(x, y, 1), x)
    assert printed_r2(y, fit) == pytest.approx(of_numbers("r2", y, fit))
    # by hand: mean (f - 3)² / 3.5 = (1 + 1 + 4 + 1)/4 / 3.5
    assert printed_r2([1, 2, 3, 6], [2, 2, 5, 4]) == pytest.approx(1.75 / 3.5)


def test_example_1_by_hand():
    score = np.array([0.9, 0.8, 0.6, 0.3, 0.1])
    y, at = np.array([1.0, 0, 1, 1, 0]), (0.2, 0.5, 0.85)
    above = score[:, None] >= np.array(at)
    loss = np.concatenate([above, y[:, None] * above, y[:, None]], axis=1).mean(axis=0)
    printed = [*(loss[3:6] / loss[:3]), *(loss[3:6] / loss[6])]
    by_hand = [3 / 4, 2 / 3, 1, 1, 2 / 3, 1 / 3]
    assert printed == pytest.approx(by_hand)
    items = Items(prediction=(score > 0.5).astype(float)[:, None], score=score[:, None])
    curve = outcome_measure("pr_curve", KIND, 5, options={"at": at})
    assert curve.of_pool(items, KIND.phi(y)) == pytest.approx(by_hand)
