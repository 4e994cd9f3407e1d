"""The verdict on a window, samples put together, and labels to decide, worked by hand."""

import pytest

from assay.evalcore.monitoring.verdicts import Measured, WatchedLimit, verdict_of

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


@pytest.mark.parametrize(("kept", "said"), [(3.6, "inconclusive"), (3.7, "ok"), (None, "ok")])
def test_ok_takes_as_much_evidence_as_the_interval_may_miss_on_one_side(kept, said):
    # log 40 = 3.689: 2.5% of a 95% interval
    assert verdict_of(_measured(0.9, 0.81, 0.95), [FLOOR], False, evidence_kept=[kept]) == said
