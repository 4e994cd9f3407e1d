"""Measures against scikit-learn on full labels, and what every measure must hold to."""

import numpy as np
import pytest
import sklearn.metrics as sk

from assay.evalcore.measures.registry import every, measure

ALL = pytest.mark.parametrize("m", every(), ids=lambda m: m.name)


def confusion(prediction, label):
    return np.bincount(prediction * 2 + label, minlength=4).reshape(2, 2).astype(float)


@pytest.mark.parametrize(
    ("name", "beta", "reference"),
    [
        ("accuracy", None, sk.accuracy_score),
        ("precision", None, sk.precision_score),
        ("recall", None, sk.recall_score),
        ("f1", None, sk.f1_score),
        ("fbeta", 2.0, lambda y, f: sk.fbeta_score(y, f, beta=2.0)),
        ("fbeta", 0.5, lambda y, f: sk.fbeta_score(y, f, beta=0.5)),
        ("specificity", None, lambda y, f: sk.recall_score(y, f, pos_label=0)),
        ("balanced_accuracy", None, sk.balanced_accuracy_score),
        ("mcc", None, sk.matthews_corrcoef),
    ],
)
def test_measures_agree_with_scikit_learn_on_full_labels(name, beta, reference):
    rng = np.random.default_rng(11)
    for _ in range(20):
        label = rng.integers(0, 2, 40)
        prediction = np.where(rng.random(40) < 0.7, label, 1 - label)
        got = measure(name, beta).of_confusion(confusion(prediction, label))
        assert float(got) == pytest.approx(reference(label, prediction), abs=1e-12)


@ALL
def test_gradients_agree_with_finite_differences(m):
    rng = np.random.default_rng(12)
    for _ in range(20):
        shares = rng.dirichlet(np.ones(4)).reshape(2, 2)
        risk = np.einsum("fy,fyd->d", shares, m.loss)
        step = 1e-6
        numeric = [
            (m.value(risk + step * e) - m.value(risk - step * e)) / (2 * step) for e in np.eye(len(risk))
        ]
        assert m.gradient(risk) == pytest.approx(np.array(numeric), rel=1e-5, abs=1e-6)


@ALL
def test_whether_it_exists_depends_only_on_which_kinds_of_item_there_are(m):
    # what `chance_undefined` counts on
    tables = np.stack(np.meshgrid(*[np.arange(4.0)] * 4), axis=-1).reshape(-1, 2, 2)[1:]
    present = np.where(tables > 0, 1.0, 0.0)
    assert (np.isfinite(m.of_confusion(tables)) == np.isfinite(m.of_confusion(present))).all()


@pytest.mark.parametrize("m", [m for m in every() if m.linear], ids=lambda m: m.name)
def test_a_measure_reaches_a_limit_exactly_when_its_margin_is_not_negative(m):
    counts = np.array([[50.0, 7.0], [11.0, 32.0]])
    value = float(m.of_confusion(counts))
    for limit, sign in ((value - 0.01, 1), (value + 0.01, -1)):
        constant, table = m.margin(limit)
        assert np.sign(constant + (counts / 100 * table).sum()) == sign


def test_f1_by_hand():
    # TP = 3, FP = 1, FN = 2: F1 = 2·3 / (2·3 + 1 + 2) = 2/3
    counts = np.array([[4.0, 2.0], [1.0, 3.0]])
    assert float(measure("f1").of_confusion(counts)) == pytest.approx(2 / 3)


def test_a_measure_of_nothing_is_undefined_and_not_zero():
    nothing_predicted = np.array([[5.0, 1.0], [0.0, 0.0]])
    assert np.isnan(measure("precision").of_confusion(nothing_predicted))
    assert np.isnan(measure("mcc").of_confusion(nothing_predicted))
    all_negative = np.array([[5.0, 0.0], [0.0, 0.0]])
    assert np.isnan(measure("f1").of_confusion(all_negative))
    assert np.isnan(measure("balanced_accuracy").of_confusion(all_negative))


def test_labels_of_predicted_negatives_do_not_matter_for_precision():
    assert measure("precision").label_matters().tolist() == [False, True]
    assert measure("f1").label_matters().tolist() == [True, True]


@ALL
def test_values_stay_within_the_bounds_and_reach_them(m):
    tables = np.stack(np.meshgrid(*[np.arange(4.0)] * 4), axis=-1).reshape(-1, 2, 2)
    values = m.of_confusion(tables[1:])                       # the first table is empty
    values = values[np.isfinite(values)]
    assert (values.min(), values.max()) == m.bounds


@ALL
def test_half_a_sentence_says_what_it_means_and_when_it_is_undefined(m):
    meaning = m.meaning.format(positive="match", negative="no match")
    for said in (m.title, meaning, m.undefined_when):
        assert said
        assert said == said.strip().rstrip(".")
    assert m.title[0].isupper()


def test_a_perfect_score_is_not_more_than_perfect():
    # √(y(1-y)f(1-f)) of these counts rounds down, and (t - yf) over it to 1 + 2e-16
    for n in range(2, 400):
        for positives in (1, n // 2, n - 1):
            counts = np.array([[[float(n - positives), 0.0], [0.0, float(positives)]]])
            assert np.nan_to_num(measure("mcc").of_confusion(counts))[0] <= 1.0
