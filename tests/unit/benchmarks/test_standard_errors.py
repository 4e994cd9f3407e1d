"""The least that an honest interval's half-width comes to, by hand, and that no draws do better."""

import numpy as np
import pytest
from doubles.pools import synthetic_pool
from scipy.stats import hypergeom

from assay.evalcore.measures.registry import usual
from assay.evalcore.replay.pool import LabelledPool
from benchmarks.standard_errors import HONEST, WIDTH, least_variance


def test_by_hand():
    # 10 rightly predicted negative, 10 true positives.  Two labels miss one of the ten with 8/10, both of two
    # with 8/10 · 7/9, all of three with 56/120 ...; F1 falls from 1 to 20/21, 20/22, 20/23 ...
    label = np.repeat([0, 1], 10)
    pool = LabelledPool(score=label - 0.5, probability=label * 0.8 + 0.1, prediction=label, label=label)
    unmet = {m: hypergeom.pmf(0, 10, m, 2) for m in range(1, 9)}
    assert unmet[3] == pytest.approx(56 / 120)
    by_hand = max((s - 2 * (1 - HONEST)) * ((1 - 20 / (20 + m)) / WIDTH) ** 2 for m, s in unmet.items())
    assert least_variance(pool, usual("f1"), 2) == pytest.approx(by_hand)


def test_more_labels_ask_for_less_and_a_pool_without_negatives_for_nothing():
    pool = synthetic_pool(2000, seed=3)
    least = [least_variance(pool, usual("f1"), n) for n in (50, 100, 300)]
    assert least[0] > least[1] > least[2] > 0
    everything = LabelledPool(score=pool.score, probability=pool.probability, label=pool.label,
                              prediction=np.ones_like(pool.label))
    assert least_variance(everything, usual("f1"), 50) == 0
