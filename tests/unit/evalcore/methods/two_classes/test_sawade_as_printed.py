"""The interval of Sawade et al. (2010), section 2.3: as printed, and with the E[w]² of Poms et al. (2021)."""

import numpy as np
import pytest
from doubles.pools import synthetic_pool
from scipy.stats import t as student

from assay.evalcore.estimators.importance import WeightSums
from assay.evalcore.measures.registry import measure
from assay.evalcore.methods.registry import method
from assay.evalcore.methods.two_classes.base import no_labels_yet
from assay.evalcore.methods.two_classes.fixed_proposal import ImportanceState, generalised_weight
from assay.evalcore.pool.partition import build_partition

ALPHA = {"f1": 0.5, "precision": 1.0, "recall": 0.0}
# five draws: prediction, label, v = p/q
F = np.array([1, 1, 0, 0, 1])
Y = np.array([1, 0, 1, 0, 1])
V = np.array([0.5, 2.0, 4.0, 1.0, 0.25])


def state_of(name):
    pool = synthetic_pool(50, seed=1)
    partition, _ = build_partition(method("sawade"), pool.score, pool.probability, pool.prediction)
    table, squared = np.zeros((1, 2, 2)), np.zeros((1, 2, 2))
    np.add.at(table, (0, F, Y), V)
    np.add.at(squared, (0, F, Y), V**2)
    cells = partition.cells
    return ImportanceState(
        **no_labels_yet(cells, [measure(name, None)], 1),
        positive_rate=np.zeros(cells.n_cells),
        weight=np.zeros(cells.n_cells),
        sums=WeightSums(
            weight=table, squared=squared, crossed=table, say=np.array([5.0]), say_squared=np.array([5.0]),
            draws=np.array([5]),
        ),
    )


@pytest.mark.parametrize("name", ["f1", "precision", "recall", "accuracy"])
def test_both_intervals_draw_by_draw(name):
    w = np.ones(5) if name == "accuracy" else ALPHA[name] * F + (1 - ALPHA[name]) * Y
    loss = (F == Y).astype(float)
    value = (V * w * loss).sum() / (V * w).sum()
    squares = (V**2 * w**2 * (loss - value) ** 2).sum()
    printed = squares / V.sum() / 5                                   # S²/n, section 2.3
    corrected = squares / (V * w).sum() ** 2
    for setting, variance, df in [("corrected", corrected, 4), ("printed", printed, 5)]:
        m = method(f"sawade:variance={setting}")
        (e,) = m.estimate(state_of(name), 0.9, np.random.default_rng(0))
        assert e.value[0] == pytest.approx(value)
        assert e.variance[0] == pytest.approx(variance)
        half = student.ppf(0.95, df) * np.sqrt(variance)
        assert e.upper[0] == pytest.approx(min(1, value + half))
        assert e.lower[0] == pytest.approx(max(0, value - half))


def test_by_hand_the_printed_interval_is_too_narrow_by_the_mean_weight():
    # F1, w = ½(f + y): 1, ½, ½, 0, 1; Σvw = .5 + 1 + 2 + .25 = 3.75; F = .75/3.75 = .2; Σv = 7.75, n = 5
    # Σ v²w²(ℓ - F)² = .25·.64 + 1·.04 + 4·.04 + .0625·.64 = .4
    (ours,) = method("sawade").estimate(state_of("f1"), 0.95, np.random.default_rng(0))
    (printed,) = method("sawade:variance=printed").estimate(state_of("f1"), 0.95, np.random.default_rng(0))
    assert (ours.value[0], ours.variance[0]) == pytest.approx((0.2, 0.4 / 3.75**2))
    assert printed.variance[0] == pytest.approx(0.4 / 7.75 / 5)


def test_each_interval_has_its_own_name():
    assert method("sawade").interval == "student"
    assert method("sawade:variance=printed").interval == "student-as-printed"
    assert "too narrow" in method("sawade:variance=printed").interval_note


def test_the_weight_of_a_generalised_risk_is_read_off_its_margin():
    assert generalised_weight(measure("f1", None)).tolist() == [[0, 0.5], [0.5, 1]]
    assert generalised_weight(measure("recall", None)).tolist() == [[0, 1], [0, 1]]
    assert generalised_weight(measure("accuracy", None)).tolist() == [[1, 1], [1, 1]]
    assert generalised_weight(measure("mcc", None)) is None


def test_a_measure_that_is_no_generalised_risk_gets_the_whole_range():
    (e,) = method("sawade:variance=printed").estimate(state_of("mcc"), 0.95, np.random.default_rng(0))
    assert (e.lower[0], e.upper[0], e.variance[0]) == (-1, 1, 0)
