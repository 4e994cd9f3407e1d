"""The oracle: its formula by hand, against the design simulated, and against all allocations there are."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from doubles.pools import synthetic_pool
from scipy.stats import norm

from assay.evalcore.errors import BadInput
from assay.evalcore.measures.registry import every, measure
from assay.evalcore.pool.strata import Cells
from assay.evalcore.replay.run import oracle, oracles

FALSE_ALARM = 1e-6   # chance that correct code would fail on a fresh seed
Z = float(norm.isf(0.025))


def cells(prediction, size):
    n = len(size)
    return Cells(
        stratum=np.arange(n), prediction=np.array(prediction), size=np.array(size), mean_score=np.zeros(n),
        mean_probability=np.full(n, 0.5), log_density=np.zeros(n), n_slots=n,
    )


def by_label(size, positives):
    return np.stack([np.array(size) - positives, positives], axis=1)


def test_one_cell_by_hand():
    # Four items predicted positive, two of them positive: of the six pairs that may be drawn, one has the
    # mean 0, four 1/2 and one 1. That is a variance of (2/6) (1/2)² = 1/12; the rest does not matter.
    one = oracle(measure("precision"), cells([0, 1], [6, 4]), by_label([6, 4], [3, 2]))
    assert one.allocation(2) == pytest.approx([0, 2])
    assert one.half_width(2) == pytest.approx(Z * np.sqrt(1 / 12))
    assert one.half_width(4) == 0


def test_what_a_full_cell_cannot_take_goes_to_the_others():
    # Accuracy, N = 20. A: 2 items, 1 right, S² = 1/2. B: 10 items, 5 right, S² = 5/18. C: 8 items, all right.
    # Neyman's shares are N S: 1.414 to 5.270, so 10 labels would put 2.116 into A. It takes 2, B takes 8:
    # SE² = 10² (5/18) (1/8 - 1/10) / 20² = (25/36) / 400, and SE = 1/24.
    one = oracle(measure("accuracy"), cells([1, 1, 1], [2, 10, 8]), by_label([2, 10, 8], [1, 5, 8]))
    assert one.allocation(10) == pytest.approx([2, 8, 0])
    assert one.half_width(10) == pytest.approx(Z / 24)
    assert one.labels_to(Z / 24 * 1.0001) == 10
    assert one.labels_to(Z / 24 * 0.9999) == 11


def test_known_rates_may_tell_all():
    # every cell is pure
    one = oracle(measure("f1"), cells([0, 1], [5, 5]), by_label([5, 5], [0, 5]))
    assert (one.half_width(1), one.labels_to(0.05)) == (0.0, 0)


SIZE, POSITIVES, PREDICTION = [60, 25, 12, 3], [4, 9, 8, 2], [0, 0, 1, 1]


@pytest.mark.parametrize("what", every(), ids=lambda m: m.name)
def test_the_standard_error_is_that_of_the_simulated_design(what):
    """Cells drawn item by item; the measure is linearised by small differences instead of its gradient."""
    one = oracle(what, cells(PREDICTION, SIZE), by_label(SIZE, POSITIVES))
    drawn = np.minimum(np.maximum(np.round(one.allocation(30)).astype(int), 2), SIZE)
    rng = np.random.default_rng(20261122)
    repeats = 20_000
    error = np.zeros(repeats)
    for c, (size, positives) in enumerate(zip(SIZE, POSITIVES, strict=True)):
        items = np.tile(np.arange(size) < positives, (repeats, 1))
        sample = rng.permuted(items, axis=1)[:, : drawn[c]]
        error += slope(what, c) * (size * sample.mean(axis=1) - positives)
    squared = error**2
    noise = squared.std(ddof=1) / np.sqrt(repeats)
    assert abs(squared.mean() - one.standard_error(drawn) ** 2) <= norm.isf(FALSE_ALARM / 2) * noise


def slope(what, cell, step=1e-4):
    """What one more positive in a cell adds to the measure."""
    tables = []
    for sign in (1, -1):
        label = by_label(SIZE, np.array(POSITIVES) + sign * step * (np.arange(4) == cell))
        tables.append(np.stack([label[np.array(PREDICTION) == f].sum(axis=0) for f in (0, 1)]))
    above, below = (what.of_confusion(table) for table in tables)
    return (above - below) / (2 * step)


@pytest.mark.parametrize("labels", [5, 9, 14])
def test_no_allocation_in_whole_labels_does_better(labels):
    size, positives = [9, 6, 4], [2, 3, 1]
    one = oracle(measure("f1"), cells([0, 1, 1], size), by_label(size, positives))
    errors = [
        one.standard_error(np.array(by_cell))
        for by_cell in product(*(range(1, n + 1) for n in size)) if sum(by_cell) == labels
    ]
    best = one.standard_error(one.allocation(labels))
    assert best <= min(errors) + 1e-12
    # whole labels cost a little, not a lot: the optimum is flat
    assert min(errors) <= 1.05 * best


def test_the_width_follows_the_confidence():
    args = measure("accuracy"), cells([1], [100]), by_label([100], [40])
    wide, narrow = (oracle(*args, confidence).half_width(20) for confidence in (0.99, 0.90))
    assert wide / narrow == pytest.approx(norm.isf(0.005) / norm.isf(0.05))


def test_a_measure_without_a_value_has_no_oracle():
    with pytest.raises(BadInput, match="precision has no value on this pool: "):
        oracle(measure("precision"), cells([0], [5]), by_label([5], [2]))


def test_oracles_of_a_pool_and_of_a_further_system():
    pool = synthetic_pool(400, seed=1)
    rng = np.random.default_rng(4)
    other = np.where(rng.random(400) < 0.2, 1 - pool.prediction, pool.prediction)
    f1 = measure("f1")
    several = replace(pool, systems=other[:, None])
    (own,), (further,) = (oracles(several, [f1], system=s) for s in (0, 1))
    assert own.labels_to(0.05) == oracles(pool, [f1])[0].labels_to(0.05)
    assert further.labels_to(0.05) == oracles(replace(pool, prediction=other), [f1])[0].labels_to(0.05)
    assert further.labels_to(0.05) != own.labels_to(0.05)
    # labels that differ from one annotator to the next have no such design
    assert oracles(replace(pool, label_probability=rng.random(400)), [f1]) == []
