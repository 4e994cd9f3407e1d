"""The interval of a window with the windows before it, and what the model itself expects."""

from dataclasses import replace

import numpy as np
import pytest

from assay.evalcore.monitoring.signals import beyond_limit, expectation
from assay.evalcore.monitoring.tracking import FEWEST_WINDOWS, OwnDraws, mean_of_draws, track
from assay.evalcore.monitoring.verdicts import Measured, WatchedLimit, verdict_of

FLOOR = WatchedLimit(side="below", value=0.8, name="floor")


def own(value, error=0.03, draws=100):
    return OwnDraws(value=value, error=error, draws=draws)


def followed(values, error=0.03):
    return track([own(value, error) for value in values], 0.95, (0.0, 1.0))


def test_two_windows_tell_nothing_of_the_steps_between_them():
    assert followed([0.85] * (FEWEST_WINDOWS - 1)) is None
    assert followed([0.85] * FEWEST_WINDOWS) is not None


def test_windows_that_agree_make_the_interval_narrower_than_that_of_one():
    few, many = followed([0.85] * 4), followed([0.85, 0.86, 0.84] * 6)
    alone = 2 * 1.96 * 0.03
    assert many.upper - many.lower < few.upper - few.lower < alone
    assert many.upper - many.lower < 0.7 * alone
    assert many.value == pytest.approx(0.85, abs=0.005)


def test_the_answer_moves_little_when_the_values_do():
    """Nothing is rounded to the grid."""
    values = np.array([0.85, 0.82, 0.86, 0.84, 0.88])
    a, b = followed(values.tolist()), followed((values + 1e-9).tolist())
    for end in ("value", "lower", "upper"):
        assert getattr(b, end) - getattr(a, end) == pytest.approx(1e-9, abs=1e-10)


def test_a_window_that_disagrees_takes_its_own_interval_in():
    told = followed([0.85] * 10 + [0.65])
    assert told.lower <= 0.65 - 1.96 * 0.03
    assert told.own == 0.65


def test_what_so_few_labels_could_have_missed_is_never_left_out():
    """300 draws in which nothing varied: an error in a hundred could have gone unseen."""
    told = track([own(0.99, 0.0005) for _ in range(3)], 0.95, (0.0, 1.0))
    assert told.value - told.lower >= 3 / 300


def test_exact_windows_need_no_others():
    assert track([own(0.9, 0.0) for _ in range(5)], 0.95, (0.0, 1.0)) is None


def test_the_mean_of_windows_is_narrower_by_the_root_of_their_number():
    _, one = mean_of_draws([own(0.85, draws=10**6)], [1.0], 0.95)
    value, four = mean_of_draws([own(x, draws=10**6) for x in (0.8, 0.9, 0.8, 0.9)], [0.25] * 4, 0.95)
    assert value == pytest.approx(0.85)
    assert four == pytest.approx(one / 2, rel=1e-6)


def test_it_covers_steady_drifting_and_jumping_streams_that_nothing_was_chosen_on():
    """Nominal 95%; 300 windows of each kind: below 0.92 in one of 100 trials if it covers 95%."""
    rng = np.random.default_rng(5)
    for kind in ("steady", "drift", "jumps"):
        covered = []
        for _ in range(50):
            steps = {
                "steady": np.zeros(20), "drift": rng.normal(0, 0.01, 20),
                "jumps": np.where(rng.random(20) < 0.05, rng.uniform(-0.2, 0.1, 20), 0.0),
            }[kind]
            truth = np.clip(0.8 + np.cumsum(steps), 0.1, 0.97)
            value = rng.binomial(100, truth) / 100
            error = np.sqrt(np.maximum(value * (1 - value), 0.02) / 100)
            windows = [own(v, e) for v, e in zip(value.tolist(), error.tolist(), strict=True)]
            for w in (3, 6, 9, 12, 15, 18):
                told = track(windows[:w + 1], 0.95, (0.0, 1.0))
                covered.append(told.lower <= truth[w] <= told.upper)
        assert np.mean(covered) >= 0.92, kind


def test_windows_before_make_ok_of_a_wide_interval_where_its_own_draws_agree():
    wide = Measured(value=0.85, lower=0.795, upper=0.9, confidence=0.95, labels=100)
    told = followed([0.85, 0.86, 0.85, 0.86, 0.85, 0.86, 0.85])
    assert told.lower > 0.8
    assert verdict_of(wide, [FLOOR], alarm=False) == "inconclusive"
    with_those_before = {"alarm": False, "tracked": told, "drawn": own(0.85)}
    assert verdict_of(wide, [FLOOR], **with_those_before) == "ok"
    # its own labels have to show it too, at twice the risk: the window may have jumped
    wider = replace(wide, lower=0.78)
    assert verdict_of(wider, [FLOOR], **with_those_before) == "inconclusive"
    assert verdict_of(wide, [FLOOR], evidence_kept=(2.9,), **with_those_before) == "inconclusive", (
        "below log 20"
    )
    assert verdict_of(wide, [FLOOR], evidence_kept=(3.1,), **with_those_before) == "ok"
    # where the windows before narrow it by little, they say too little to call it ok
    sharp = own(0.85, (told.upper - told.lower) / 4)
    assert verdict_of(wide, [FLOOR], alarm=False, tracked=told, drawn=sharp) == "inconclusive"
    low = Measured(value=0.79, lower=0.7, upper=0.86, confidence=0.95, labels=100)
    assert verdict_of(low, [FLOOR], alarm=False, tracked=told, drawn=own(0.85)) == "inconclusive"
    assert verdict_of(wide, [FLOOR], alarm=True, tracked=told) == "breach"


def test_windows_before_call_no_breach_and_confirm_one_that_stands():
    wide = Measured(value=0.74, lower=0.65, upper=0.82, confidence=0.95, labels=100)
    told = followed([0.73, 0.74, 0.73, 0.74, 0.73, 0.74, 0.73])
    assert told.upper < 0.8
    assert verdict_of(wide, [FLOOR], alarm=False, tracked=told) == "inconclusive"
    assert verdict_of(wide, [FLOOR], alarm=False, standing=True, tracked=told) == "breach"


def test_an_expectation_is_corrected_by_how_far_it_was_off():
    before = [(0.90, own(x)) for x in (0.84, 0.86, 0.85, 0.85, 0.86)]
    told = expectation(0.82, before)
    assert told.lean == pytest.approx(0.048)
    assert told.corrected == pytest.approx(0.772)
    (raised,) = beyond_limit(told, [FLOOR])
    assert raised.raised
    assert raised.value == pytest.approx(0.028)
    assert raised.usual == pytest.approx(0.8)
    assert beyond_limit(expectation(0.87, before), [FLOOR]) == []


def test_an_expectation_that_was_off_this_way_and_that_says_nothing():
    before = [(x, own(0.85)) for x in (0.70, 0.99, 0.72, 0.97, 0.85)]
    assert beyond_limit(expectation(0.75, before), [FLOOR]) == []
    assert expectation(0.75, before[:2]).corrected is None
    assert beyond_limit(expectation(0.5, before[:2]), [FLOOR]) == []
