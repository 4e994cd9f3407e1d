"""The signals that cost no label."""

import numpy as np
import pytest

from assay.evalcore.errors import BadInput
from assay.evalcore.measures.registry import measure
from assay.evalcore.monitoring.signals import (
    Traffic,
    expected_measure,
    is_quiet,
    population_stability,
    signals,
)


def _traffic(rng, n, shift=0.0):
    score = rng.standard_normal(n) + shift
    p = 1 / (1 + np.exp(-2 * score))
    return Traffic(score=score, probability=p, prediction=(p > 0.5).astype(int))


def test_the_expected_accuracy_is_the_mean_confidence():
    # predicted 1 at 0.9 and 0.7, 0 at 0.2: expected right 0.9 + 0.7 + 0.8 of 3
    p = np.array([0.9, 0.7, 0.2])
    traffic = Traffic(score=np.zeros(3), probability=p, prediction=np.array([1, 1, 0]))
    assert expected_measure(traffic, measure("accuracy")) == pytest.approx(0.8)
    # expected TP 1.6, FP 0.4, FN 0.2: F1 = 3.2/3.8
    assert expected_measure(traffic, measure("f1")) == pytest.approx(3.2 / 3.8)


def test_equal_shares_have_no_psi_and_a_moved_half_has_what_the_formula_says():
    reference = np.arange(1000.0)
    assert population_stability(reference, reference) == 0.0
    # all of the window in the upper five bins: shares 0.2 and 0.1 there, half an item of 1000 below
    upper = np.arange(500.0, 1000.0).repeat(2)
    expected = 5 * (0.2 - 0.1) * np.log(2) + 5 * (0.0005 - 0.1) * np.log(0.005)
    assert population_stability(upper, reference) == pytest.approx(expected, rel=0.02)


@pytest.mark.statistical
def test_traffic_that_has_not_moved_is_quiet_and_traffic_that_has_is_not():
    rng = np.random.default_rng(3)
    f1 = measure("f1")
    reference = _traffic(rng, 2000)
    # four signals at 0.001 each: at most 0.4% of 300 windows, 1.2 expected; P(Poisson(1.2) > 7) < 1e-4
    loud = sum(not is_quiet(signals(_traffic(rng, 1500), reference, f1)) for _ in range(300))
    assert loud <= 7
    moved = {s.name: s.raised for s in signals(_traffic(rng, 1500, shift=0.5), reference, f1)}
    assert moved["psi"]
    assert moved["ks"]
    assert moved["predictions"]


def test_a_small_window_is_not_suspicious_by_its_size():
    rng = np.random.default_rng(4)
    reference = _traffic(rng, 2000)
    found = {s.name: s for s in signals(_traffic(rng, 60), reference, measure("accuracy"))}
    assert found["psi"].by_chance > 0.4   # 27.9 (1/60 + 1/2000): of 60 items PSI says nothing
    assert not found["psi"].raised


def test_an_expected_measure_that_does_not_exist_is_told_and_raised():
    nothing = Traffic(score=np.zeros(5), probability=np.zeros(5), prediction=np.zeros(5, int))
    some = Traffic(score=np.arange(5.0), probability=np.full(5, 0.6), prediction=np.ones(5, int))
    found = {s.name: s for s in signals(nothing, some, measure("precision"))}
    assert found["expected"].value is None
    assert found["expected"].raised


def test_a_ragged_window_is_refused():
    with pytest.raises(BadInput, match="do not describe one window"):
        Traffic(score=np.zeros(3), probability=np.zeros(2), prediction=np.zeros(3))
