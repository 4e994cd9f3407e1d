"""Estimates from weights: the value is scikit-learn's, the interval covers, and what labels cannot carry is
said."""

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score, f1_score, matthews_corrcoef

from assay.evalcore.measures.registry import outcome_measure
from assay.evalcore.outcomes.classes import Classes
from assay.evalcore.outcomes.items import Items
from assay.evalcore.outcomes.numbers import Numbers
from assay.evalcore.weighted.estimate import Labelled, depends_on, unreached, weighted_estimates
from assay.evalcore.weighted.sample import WeightedSample

KIND = Classes(("no", "yes"))


def a_sample(label, weight, factor=None, group=None, reached=(True,), exact=False):
    n, weight = len(label), np.asarray(weight, float)
    none = np.zeros(n, np.int64)
    return WeightedSample(
        cell=none, rank=np.arange(n), round=none + 1, draw=np.arange(n), label=np.asarray(label, float),
        probability=1 / weight, weight=weight,
        factor=weight * (weight - 1) if factor is None else np.asarray(factor, float),
        group=none - 1 if group is None else np.asarray(group), reached=np.array(reached), exact=exact,
    )


def asked(names, kind=KIND, n=1000, **options):
    return [outcome_measure(name, kind, n, options=options if name in ("f1", "recall", "precision") else None)
            for name in names]


def given(prediction, among=None):
    prediction = np.asarray(prediction, float)
    return Labelled(items=Items(prediction=prediction[:, None]),
                    among=np.ones(len(prediction), bool) if among is None else among)


def test_the_value_is_that_of_scikit_learn_with_these_weights():
    rng = np.random.default_rng(1)
    y, f, w = rng.integers(0, 2, 80), rng.integers(0, 2, 80), 1 + 9 * rng.random(80)
    measures = asked(["f1", "mcc", "balanced_accuracy"], **{"class": "yes"})
    found = weighted_estimates(KIND, measures, a_sample(y, w), given(f), 0.95)
    assert [e.value for e in found] == pytest.approx([
        f1_score(y, f, sample_weight=w), matthews_corrcoef(y, f, sample_weight=w),
        balanced_accuracy_score(y, f, sample_weight=w),
    ])
    assert {e.interval for e in found} == {"weighted"}
    half = rng.random(80) < 0.5
    (part,) = weighted_estimates(KIND, measures[:1], a_sample(y, w), given(f, half), 0.95)
    assert part.value == pytest.approx(f1_score(y[half], f[half], sample_weight=w[half]))
    assert part.labels == half.sum()


def test_the_variance_is_that_of_a_stratified_mean():
    y = np.r_[np.ones(30), np.zeros(10), np.ones(5), np.zeros(15)]
    group, w = np.r_[np.zeros(40), np.ones(20)].astype(int), np.r_[np.full(40, 10.0), np.full(20, 30.0)]
    n = np.r_[np.full(40, 40), np.full(20, 20)]
    sample = a_sample(y, w, w * (w - 1) * n / (n - 1), group)
    (rate,) = weighted_estimates(KIND, asked(["rate"])[:1], sample, given(y), 0.95)[1:]
    expected = sum(
        (size / 1000) ** 2 * (1 - m / size) * p * (1 - p) / (m - 1)
        for size, m, p in ((400, 40, 0.75), (600, 20, 0.25))
    )
    assert rate.variance == pytest.approx(expected, rel=0.2), "and a little for labels that may be otherwise"
    assert rate.variance > expected


def test_labels_that_cannot_carry_a_question_say_so():
    y, f = np.zeros(40), np.ones(40)
    sample = a_sample(y, np.full(40, 25.0))
    recall, f1 = weighted_estimates(KIND, asked(["recall", "f1"], **{"class": "yes"}), sample, given(f), 0.95)
    assert (recall.value, f1.value) == (None, None)
    assert recall.undefined_reason == "it needs 5 labels of class 'yes', and there is none"
    assert (recall.lower, recall.upper, recall.interval) == (None, None, "none")
    few = np.arange(40) < 7
    (accuracy,) = weighted_estimates(KIND, asked(["accuracy"]), sample, given(f, few), 0.95)
    assert accuracy.value is None
    assert "7 labels carry too little" in accuracy.undefined_reason
    heavy = a_sample(y, np.r_[np.full(3, 900.0), np.full(37, 1.0)])
    (accuracy,) = weighted_estimates(KIND, asked(["accuracy"]), heavy, given(f), 0.95)
    assert accuracy.value is None, "three labels speak for nearly all items"


def test_labels_that_agree_leave_an_interval_and_settled_ones_none():
    y = np.r_[np.zeros(60), np.ones(40)]
    (e,) = weighted_estimates(KIND, asked(["accuracy"]), a_sample(y, np.full(100, 10.0)), given(y), 0.95)
    assert e.value == 1.0
    assert 0.9 < e.lower < 0.98
    (e,) = weighted_estimates(
        KIND, asked(["accuracy"]), a_sample(y, np.ones(100), exact=True), given(y), 0.95
    )
    assert (e.lower, e.upper, e.interval) == (1.0, 1.0, "exact")


def test_no_hit_among_few_labels_of_a_class_is_no_proof_that_there_is_none():
    y, f = np.r_[np.ones(8), np.zeros(192)], np.zeros(200)
    f[20:28] = 1.0
    measures, sample = asked(["recall", "precision"], **{"class": "yes"}), a_sample(y, np.full(200, 10.0))
    recall, precision = weighted_estimates(KIND, measures, sample, given(f), 0.95)
    assert (recall.value, precision.value) == (0.0, 0.0)
    # none of eight: Clopper and Pearson's upper end is 0.37
    assert 0.3 < recall.upper < 0.6
    assert 0.3 < precision.upper < 0.6


def test_the_class_that_counts_need_not_be_named():
    counted = Classes(("no", "yes"), positive="yes")
    y, f = np.r_[np.ones(20), np.zeros(80)], np.r_[np.ones(15), np.zeros(85)]
    sample = a_sample(y, np.full(100, 10.0))
    (named,) = weighted_estimates(KIND, asked(["recall"], **{"class": "yes"}), sample, given(f), 0.95)
    (e,) = weighted_estimates(counted, [outcome_measure("recall", counted, 1000)], sample, given(f), 0.95)
    assert (e.value, e.lower, e.upper) == (named.value, named.lower, named.upper)
    assert e.class_name is None


def test_numbers_have_student_s_interval():
    rng, kind = np.random.default_rng(3), Numbers()
    y = rng.normal(5, 2, 50)
    (mean,) = weighted_estimates(
        kind, [outcome_measure("mean", kind, 1000)], a_sample(y, np.full(50, 20.0)), given(y), 0.95
    )
    half = 2.01 * y.std() * np.sqrt(0.95 / 50)
    assert mean.value == pytest.approx(y.mean())
    assert (mean.upper - mean.lower) / 2 == pytest.approx(half, rel=0.15)


def test_a_share_of_many_classes_is_told_as_well_as_one_of_two():
    # 70 of 74 right: whatever the number of classes, the interval is that of 70 hits among 74 labels
    kind, f = Classes(tuple("abcdef")), np.arange(74) % 6
    y = np.where(np.arange(74) < 4, (f + 1) % 6, f)
    sample = a_sample(y, np.full(74, 1e4))
    (found,) = weighted_estimates(kind, asked(["accuracy"], kind), sample, given(f), 0.95)
    assert (found.lower, found.upper) == pytest.approx((0.867, 0.985), abs=0.006)


def test_a_mean_of_graded_losses_between_bounds_spreads_as_its_labels_do():
    rng, kind = np.random.default_rng(2), Numbers(1.0, 5.0)
    f = rng.integers(2, 5, 80).astype(float)
    y = f + rng.choice([-0.5, 0.0, 0.5], 80)
    (found,) = weighted_estimates(kind, asked(["mae"], kind), a_sample(y, np.full(80, 1e4)), given(f), 0.95)
    spread = np.abs(y - f).std(ddof=1) / np.sqrt(80)
    assert 3.9 * spread < found.upper - found.lower < 6 * spread


def test_where_hardly_a_label_differs_a_mean_reaches_as_far_as_outcomes_may():
    kind, f = Numbers(1.0, 5.0), np.full(80, 2.0)
    (found,) = weighted_estimates(kind, asked(["mae"], kind), a_sample(f, np.full(80, 1e4)), given(f), 0.95)
    # of 80 labels none differs: up to 1 - 0.025^(1/80) of the items may, by 3 at most
    assert (found.value, found.lower) == (0.0, 0.0)
    assert found.upper == pytest.approx(3 * (1 - 0.025 ** (1 / 80)), rel=0.02)


def test_a_measure_depends_on_items_that_could_not_be_drawn_or_does_not():
    y, f = np.tile([0.0, 1.0], 30), np.ones(60)
    sample = a_sample(y, np.full(60, 3.0), reached=[True, False])
    precision, recall = asked(["precision", "recall"], **{"class": "yes"})
    negatives = np.array([0.0])
    assert unreached(np.array([180, 820]), sample) == 820
    assert not depends_on(KIND, precision, sample, given(f), negatives)
    assert depends_on(KIND, recall, sample, given(f), negatives)


@pytest.mark.statistical
def test_intervals_of_simple_random_samples_cover():
    rng, n, m, repeats = np.random.default_rng(7), 3000, 150, 120
    y = (rng.random(n) < 0.15).astype(float)
    f = np.where(rng.random(n) < 0.2, 1 - y, y)
    kinds, segment = asked(["f1", "accuracy"], **{"class": "yes"}), np.arange(n) % 3 == 0
    hits, counts = np.zeros((2, 2)), np.zeros((2, 2))
    truth = [
        [float(one.of_pool(Items(prediction=f[at][:, None]), KIND.phi(y[at]))[0]) for one in kinds]
        for at in (np.ones(n, bool), segment)
    ]
    for _ in range(repeats):
        at = rng.permutation(n)[:m]
        sample = a_sample(y[at], np.full(m, n / m), np.full(m, n / m * (n / m - 1)))
        for k, among in enumerate((np.ones(m, bool), segment[at])):
            for j, e in enumerate(weighted_estimates(KIND, kinds, sample, given(f[at], among), 0.95)):
                if e.value is not None:
                    counts[k, j] += 1
                    hits[k, j] += e.lower <= truth[k][j] <= e.upper
    assert (counts[0] > 0.95 * repeats).all()
    assert (counts[:, 1] == repeats).all(), "accuracy needs no label of a class"
    # of 120 intervals that cover 93%, fewer than 0.86 happen once in 300
    assert (hits / counts >= 0.86).all(), hits / counts
