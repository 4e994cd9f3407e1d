"""Random sampling's error: worked by hand, by enumeration, and by simulation."""

from itertools import combinations
from math import comb, sqrt

import numpy as np
import pytest
from scipy.stats import binom, norm

from assay.evalcore.errors import BadInput
from assay.evalcore.estimators.random_sampling import (
    RandomSampling,
    chance_undefined,
    random_sampling_equivalent,
)
from assay.evalcore.measures.registry import measure
from assay.evalcore.reproducible import stream

Z95 = 1.959963984540054
FALSE_ALARM = 1e-6   # chance that correct code would fail on a fresh seed


def test_accuracy_is_a_proportion_with_the_finite_population_correction():
    # p = 0.9, N = 100, n = 25: S² = 0.9 · 0.1 · 100/99, se² = (1 − 25/100) S²/25
    got = random_sampling_equivalent(measure("accuracy"), np.array([[80, 4], [6, 10]]), 100, 25)
    assert got.std_error == pytest.approx(sqrt(0.75 * 0.09 * 100 / 99 / 25))
    assert got.half_width == pytest.approx(Z95 * got.std_error)
    # 14 of 100 items are positive, so 25 labels hold 3.5 on average
    assert got.expected_positives == pytest.approx(3.5)
    assert (got.target_half_width, got.labels_needed) == (None, None)


def test_precision_varies_only_with_the_predicted_positives():
    # TP = 30, FP = 10 of N = 1000: ratio of R0 = 0.03 and R1 = 0.04, V = 0.75, so φ = (tp − 0.75 pp)/0.04:
    # 0.25/0.04 = 6.25 for a true positive, −18.75 for a false one, 0 elsewhere.
    # Σ p φ² = 0.03 · 39.0625 + 0.01 · 351.5625 = 4.6875; S² is that times 1000/999; n = 200
    got = random_sampling_equivalent(measure("precision"), np.array([[900, 60], [10, 30]]), 1000, 200)
    assert got.std_error == pytest.approx(sqrt(0.8 * 4.6875 * 1000 / 999 / 200))


def test_the_number_needed_gives_the_half_width_asked_for_and_one_less_does_not():
    shares, f1 = np.array([[0.90, 0.02], [0.01, 0.07]]), measure("f1")
    needed = random_sampling_equivalent(f1, shares, 20_000, 100, 0.9, half_width=0.05).labels_needed
    assert needed is not None

    def half_width(n: int) -> float:
        return random_sampling_equivalent(f1, shares, 20_000, n, 0.9).half_width

    assert half_width(needed) <= 0.05 < half_width(needed - 1)


def test_a_target_beyond_reach_needs_the_whole_pool_which_is_exact():
    shares, f1 = np.array([[9_989, 4], [3, 4]]), measure("f1")
    got = random_sampling_equivalent(f1, shares, 10_000, 10_000, half_width=1e-9)
    assert got.labels_needed == 10_000
    assert got.std_error == 0.0
    assert got.chance_undefined == 0.0


@pytest.mark.parametrize(
    ("name", "counts", "expected"),
    [
        # N = 10 and n = 3 throughout: C(10, 3) = 120 samples
        ("accuracy", [[7, 1], [1, 1]], 0),                         # always exists
        ("precision", [[7, 1], [1, 1]], comb(8, 3) / 120),         # none of 2 predicted positives drawn
        ("f1", [[7, 1], [1, 1]], comb(7, 3) / 120),                # only true negatives drawn
        ("recall", [[3, 3], [3, 1]], comb(6, 3) / 120),            # none of 4 positives
        ("balanced_accuracy", [[3, 3], [3, 1]], (comb(6, 3) + comb(4, 3)) / 120),   # one class only
    ],
)
def test_the_chance_of_no_value_counts_the_samples_without_one(name, counts, expected):
    got = chance_undefined(measure(name), np.array(counts) / 10, 10, 3)
    assert got == pytest.approx(expected, abs=1e-9)


def test_the_chance_of_no_value_agrees_with_listing_every_sample():
    # all C(9, 4) = 126 samples of a pool of 9; for the Matthews coefficient several sets of kinds overlap
    mcc, counts = measure("mcc"), np.array([[3, 2], [1, 3]])
    pool = [(f, y) for f in (0, 1) for y in (0, 1) for _ in range(counts[f, y])]
    undefined = 0
    for sample in combinations(pool, 4):
        table = np.zeros((2, 2))
        for kind in sample:
            table[kind] += 1
        undefined += not np.isfinite(mcc.of_confusion(table))
    assert chance_undefined(mcc, counts / 9, 9, 4) == pytest.approx(undefined / 126, abs=1e-9)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"shares": np.array([[1.0, -0.1], [0.0, 0.1]])}, "2 × 2 table"),
        ({"shares": np.array([[np.nan, 0.1], [0.0, 0.1]])}, "2 × 2 table"),
        ({"shares": np.zeros((2, 2))}, "2 × 2 table"),
        ({"shares": np.array([[1.0, 0.0], [0.0, 0.0]])}, "f1 does not exist"),
        ({"pool_size": 0}, "at least one item"),
        ({"labels": 0}, "between 1 and"),
        ({"labels": 101}, "between 1 and"),
        ({"confidence": 1.0}, "confidence"),
        ({"half_width": 0.0}, "half_width"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(change, message):
    arguments = {
        "measure": measure("f1"), "shares": np.full((2, 2), 0.25), "pool_size": 100, "labels": 10,
    } | change
    with pytest.raises(BadInput, match=message):
        random_sampling_equivalent(**arguments)


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("name", "curvature"),
    [
        ("accuracy", 0.0),      # linear: the formula is exact
        # the delta method leaves out terms of relative order 1/(positives in the sample) = 1/120
        ("f1", 0.02),
        ("recall", 0.02),
        ("mcc", 0.02),
    ],
)
def test_the_standard_error_is_the_spread_of_simulated_samples(name, curvature):
    counts = np.array([[1_300, 200], [100, 400]])     # N = 2000, of which 600 are positive
    n, runs, m = 400, 20_000, measure(name)
    rng = stream(20261121, "comparison", purpose=name)
    samples = rng.multivariate_hypergeometric(counts.ravel(), n, size=runs).reshape(runs, 2, 2)
    simulated = m.of_confusion(samples.astype(float)).var(ddof=1)
    claimed = random_sampling_equivalent(m, counts, 2_000, n).std_error ** 2
    # a variance from `runs` near-normal values has relative standard error √(2/runs)
    tolerance = norm.isf(FALSE_ALARM / 2) * sqrt(2 / runs) + curvature
    assert abs(simulated / claimed - 1) < tolerance


@pytest.mark.statistical
def test_samples_without_a_value_are_as_frequent_as_claimed():
    counts, n, runs = np.array([[9_960, 10], [8, 22]]), 100, 20_000
    f1 = measure("f1")
    rng = stream(20261121, "comparison", purpose="undefined")
    samples = rng.multivariate_hypergeometric(counts.ravel(), n, size=runs).reshape(runs, 2, 2)
    undefined = int(np.isnan(f1.of_confusion(samples.astype(float))).sum())
    claimed: RandomSampling = random_sampling_equivalent(f1, counts, 10_000, n)
    low, high = binom.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], runs, claimed.chance_undefined)
    assert low <= undefined <= high
