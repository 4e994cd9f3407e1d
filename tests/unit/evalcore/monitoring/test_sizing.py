"""How many labels would decide, worked by hand."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

from assay.evalcore.monitoring.sizing import (
    labels_to_alarm,
    labels_to_decide_half,
    share_decided,
    size_of,
)
from assay.evalcore.monitoring.verdicts import Measured, PlaceVerdict, Promise, WatchedLimit

FLOOR = WatchedLimit(side="below", value=0.8, name="floor")
HALF = 1.959964 * 0.3 / 10    # 100 labels of standard deviation 0.3


def _place(value, half=HALF, labels=100, evidence=0.0, verdict="inconclusive", limits=(FLOOR,), exact=False):
    lower, upper = (None, None) if value is None else (value - half, value + half)
    return PlaceVerdict(
        segment=None,
        measured=Measured(value=value, lower=lower, upper=upper, confidence=0.95, labels=labels, exact=exact),
        limits=limits, factors=tuple((0.0,) for _ in limits), evidence=tuple(evidence for _ in limits),
        needed=3.0, verdict=verdict,
    )


def _size(windows, smallest=1, largest=10_000, test="e-process"):
    promise = Promise(error_rate=np.exp(-3.0), test=test)
    return size_of(windows, promise=promise, verdicts=len(windows), smallest=smallest, largest=largest)


def test_within_the_limit_the_interval_must_keep_off_it():
    # (1.96 + 0.84) 0.3 / 0.1 squared: 71 labels
    found = _size({"1": _place(0.88), "2": _place(0.92)})
    assert found.value == pytest.approx(0.9)
    assert found.spread == pytest.approx(0.3, rel=1e-5)
    assert found.decides == found.labels == int(np.ceil(((1.959964 + norm.ppf(0.8)) * 3) ** 2)) == 71
    assert (found.windows, found.limit, found.at, found.verdicts) == (("1", "2"), "floor", 0.8, 2)


def test_beyond_the_limit_the_evidence_must_reach_what_calls_a_breach():
    # evidence 1 of 3, 2 missing: u = 0.8416 + √(0.8416² + 4) = 3.0116; (u 0.3 / 0.1)² = 81.6
    found = _size({"1": _place(0.7, evidence=1.0)}).decides
    assert found == 82
    # of so many labels the log evidence u²/2 - 0.8416 u is 2 or more, eight times of ten
    u = np.sqrt(found) / 3
    assert norm.sf(2, u**2 / 2, u) == pytest.approx(0.8, abs=0.005)


def test_after_quiet_windows_the_price_of_the_horizon_is_missing_too():
    # e-detector, 200 windows: ρ = 0.02, the price is log 5.  Evidence of nearly nothing begins anew with
    # log(0.02 / 5) = -5.52, so 8.52 are missing: u = 0.8416 + √(0.8416² + 17.04) = 5.055; (u 3)² = 230
    assert _size({"1": _place(0.7, evidence=-30.0)}, test="e-detector").decides == 230
    # just below its alarm hardly anything is missing
    assert _size({"1": _place(0.7, evidence=2.99)}, test="e-detector").decides < 30
    # each window by itself, against 1/200 of the rate: 3 + log 200 = 8.30 are missing, whatever came before
    alone = [_size({"1": _place(0.7, evidence=e)}, test="alpha-spending").decides for e in (-30.0, 2.0)]
    assert alone[0] == alone[1] == int(np.ceil((norm.ppf(0.8) + np.sqrt(0.8416**2 + 16.597)) ** 2 * 9)) == 226


def test_of_several_limits_the_evidence_against_the_nearest_counts():
    ceiling = WatchedLimit(side="above", value=0.99, name="ceiling")
    place = replace(_place(0.7, limits=(FLOOR, ceiling)), evidence=(1.0, 2.9))
    assert _size({"1": place}).decides == 82


def test_a_breach_that_stands_needs_an_interval_that_keeps_off_the_limit():
    # the evidence reached the alarm and begins anew; the next window confirms the breach by its interval
    assert _size({"1": _place(0.7, evidence=9.0, verdict="breach")}).decides == 71


def test_the_size_stays_between_the_smallest_and_the_largest():
    far, near = {"1": _place(0.99)}, {"1": _place(0.8001)}
    assert _size(far, smallest=50).labels == 50
    assert _size(near, largest=200).labels == 200
    assert _size({"1": _place(0.8)}, largest=200).labels == 200, "no distance at all"


def test_windows_that_say_nothing_decide_nothing():
    assert _size({}) is None
    assert _size({"1": _place(None)}) is None
    assert _size({"1": _place(0.9, half=0.0, exact=True)}) is None, "a census has no spread"
    assert _size({"1": _place(0.9, limits=())}) is None
    assert _size({"1": _place(0.9), "2": _place(None)}).windows == ("1",)


def test_an_interval_beyond_the_limit_asks_for_what_would_call_a_breach():
    assert labels_to_alarm(_place(0.7, evidence=1.0), pool=1000) == 82
    assert labels_to_alarm(_place(0.7, evidence=-50.0), pool=300) == 200, "all of the window decides"
    for place in (
        _place(0.7, verdict="breach"), _place(0.79), _place(0.9, verdict="ok"), _place(None),
        _place(0.7, labels=300),
    ):
        assert labels_to_alarm(place, pool=300) is None


def test_above_a_ceiling_the_same_holds():
    ceiling = WatchedLimit(side="above", value=0.2, name="ceiling")
    assert labels_to_alarm(_place(0.3, evidence=1.0, limits=(ceiling,)), pool=1000) == 82
    assert _size({"1": _place(0.1, limits=(ceiling,))}).decides == 71


def test_how_many_windows_a_budget_decides():
    # 100 labels of 0.3 each have an error of 0.03, and 0.83 is one of it above the floor
    near = [_place(0.83)]
    assert share_decided(near, 100) == pytest.approx(norm.cdf(1 - 1.959964) + norm.cdf(-1 - 1.959964))
    assert share_decided([*near, _place(0.83)], 100) == share_decided(near, 100)
    # half are where 0.03 is 1.96 errors: (1.959964 · 0.3/0.03)² = 384.1
    assert labels_to_decide_half(near, 10_000) == 385
    assert labels_to_decide_half(near, 300) is None
    # windows further apart than their errors differ; of 0.77 and 0.89 the variance is 0.0072
    apart = [_place(0.77), _place(0.89)]
    deviation = np.sqrt(0.0072)
    ends = (-1.959964 * 0.03 - 0.03) / deviation, (1.959964 * 0.03 - 0.03) / deviation
    assert share_decided(apart, 100) == pytest.approx(norm.cdf(ends[0]) + norm.sf(ends[1]), rel=1e-5)
    assert share_decided([_place(None), _place(0.9, exact=True)], 100) is None


def test_of_two_limits_the_nearer_one_decides():
    far, near = FLOOR, WatchedLimit(side="above", value=0.92, name="ceiling")
    value = 0.91
    beside = [_place(value, limits=(far, near))]
    assert share_decided(beside, 100) == share_decided([_place(value, limits=(near,))], 100)
