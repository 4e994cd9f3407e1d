"""The verdict on a window, samples put together, and labels to decide, worked by hand."""

import numpy as np
import pytest

from assay.evalcore.monitoring.verdicts import Measured, WatchedLimit, pooled, verdict_of

FLOOR = WatchedLimit(side="below", value=0.8, name="floor")


def _measured(value, lower, upper, labels=100, exact=False):
    return Measured(value=value, lower=lower, upper=upper, confidence=0.95, labels=labels, exact=exact)


@pytest.mark.parametrize(
    ("measured", "alarm", "standing", "said"),
    [
        (_measured(0.9, 0.81, 0.95), False, False, "ok"),
        (_measured(0.9, 0.79, 0.95), False, False, "inconclusive"),
        (_measured(0.7, 0.60, 0.79), False, False, "inconclusive"),   # one window alone calls no breach
        (_measured(0.7, 0.60, 0.79), False, True, "breach"),          # but confirms one that stands
        (_measured(0.9, 0.81, 0.95), True, False, "breach"),
        (_measured(None, None, None), False, False, "inconclusive"),
    ],
)
def test_the_verdict_on_a_window(measured, alarm, standing, said):
    assert verdict_of(measured, [FLOOR], alarm, standing) == said


def test_two_samples_of_a_window_are_pooled_by_their_labels():
    # 0.9 on 100 and 0.6 on 200: 0.7; half-widths 0.06/3 and 0.06·2/3 in quadrature
    got = pooled([_measured(0.9, 0.84, 0.96), _measured(0.6, 0.54, 0.66, labels=200)])
    assert got.value == pytest.approx(0.7)
    assert got.upper - got.value == pytest.approx(np.hypot(0.02, 0.04))
    assert got.labels == 300
    exact = _measured(0.8, 0.8, 0.8, exact=True)
    assert pooled([got, exact]) == exact


def test_samples_of_the_same_clusters_are_not_independent():
    one = Measured(value=0.8, lower=0.7, upper=0.85, confidence=0.95, labels=100)
    apart, shared = pooled([one, one]), pooled([one, one], shared=True)
    # two halves: the distance 0.1 is 0.1/√2 of independent samples, and 0.1 where they share all of it
    assert apart.lower == pytest.approx(0.8 - 0.1 / np.sqrt(2))
    assert (shared.lower, shared.upper, shared.labels) == pytest.approx((0.7, 0.85, 200))
