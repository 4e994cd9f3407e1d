"""The signals that cost no label: what ordinary windows do is learned from the windows before."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

from assay.evalcore.measures.registry import measure
from assay.evalcore.monitoring.profile import Profile, Traffic, profile_of
from assay.evalcore.monitoring.repeats import RowCopies
from assay.evalcore.monitoring.signals import Signal, Watched, is_quiet, signals

F1 = measure("f1")
FALSE_ALARM = 1e-6   # chance that correct code would fail on a fresh seed


def _traffic(rng, n, shift=0.0, **more):
    score = rng.standard_normal(n) + shift
    p = 1 / (1 + np.exp(-2 * score))
    return Traffic(score=score, probability=p, prediction=(p > 0.5).astype(int), **more)


def _windows(traffics, seasons=()):
    first = profile_of(traffics[0], F1)
    return [
        Watched(profile=profile_of(one, F1, first), seasons=(seasons[i],) if seasons else ())
        for i, one in enumerate(traffics)
    ]


def _found(traffics, rate=0.05, fewest=5, seasons=()):
    found: dict[str, Signal] = {
        s.name: s for s in signals(_windows(traffics, seasons), rate=rate, fewest=fewest)
    }
    return found


def _loud(windows, rate, fewest=5):
    looks = range(fewest + 1, len(windows))
    return [not is_quiet(signals(windows[:k], rate=rate, fewest=fewest)) for k in looks]


def test_the_first_window_has_no_signals_and_the_next_ones_raise_none():
    rng = np.random.default_rng(1)
    traffics = [_traffic(rng, 500) for _ in range(4)] + [_traffic(rng, 500, shift=3.0)]
    assert _found(traffics[:1]) == {}
    found = _found(traffics)
    assert found["psi"].value > 1
    assert not any(signal.raised for signal in found.values())
    assert found["psi"].why == "4 of 5 windows to compare with"
    assert found["psi"].by_chance is None
    assert _found([*traffics[:4], _traffic(rng, 500), traffics[4]])["psi"].raised


@pytest.mark.statistical
@pytest.mark.parametrize("drift", [0.0, 0.3])
def test_ordinary_windows_are_raised_at_most_at_the_stated_rate(drift):
    # sampling alone, and a mean that moves by three tenths of a standard deviation from window to window
    rng = np.random.default_rng(3)
    loud = []
    for _ in range(8):
        loud += _loud(_windows([_traffic(rng, 600, drift * rng.standard_normal()) for _ in range(20)]), 0.05)
    assert sum(loud) <= binom.isf(FALSE_ALARM, len(loud), 0.05)


def test_a_shift_that_is_beyond_what_the_windows_before_did_is_raised():
    rng = np.random.default_rng(4)
    ordinary = [_traffic(rng, 1500, 0.05 * rng.standard_normal()) for _ in range(10)]
    assert not any(s.raised for s in _found(ordinary).values())
    found = _found([*ordinary, _traffic(rng, 1500, shift=1.0)])
    assert found["psi"].raised
    assert found["ks"].raised
    assert found["predictions"].raised
    assert found["predictions"].level == pytest.approx(0.84, abs=0.04)
    assert found["predictions"].usual == pytest.approx(0.5, abs=0.04)


def test_the_same_shift_is_ordinary_where_the_windows_before_moved_as_much():
    rng = np.random.default_rng(5)
    moving = [_traffic(rng, 1500, rng.standard_normal()) for _ in range(10)]
    assert not any(s.raised for s in _found([*moving, _traffic(rng, 1500, shift=1.0)]).values())


def test_a_weekend_is_compared_with_weekends_once_there_are_four():
    rng = np.random.default_rng(6)
    days = [str(i % 7) for i in range(36)]
    week = [_traffic(rng, 1500, shift=1.5 if day in "56" else 0.0) for day in days]
    # a Saturday like a working day, and the Monday after it like a Monday
    saturday = [*week[:33], _traffic(rng, 1500)]
    assert days[33] == "5"
    assert _found(saturday, seasons=days[:34])["predictions"].raised
    assert is_quiet(list(_found(week[:36], seasons=days).values()))
    assert not _found(saturday, seasons=["any"] * 34)["predictions"].raised


def test_a_small_window_is_unusual_by_its_size_alone():
    rng = np.random.default_rng(7)
    found = _found([*(_traffic(rng, 2000) for _ in range(8)), _traffic(rng, 60)])
    assert found["psi"].by_chance > 0.3   # of 60 items PSI says little
    assert [s.name for s in found.values() if s.raised] == ["rows"]


def test_an_expected_measure_that_does_not_exist_is_told_and_raised():
    nothing = Traffic(score=np.arange(5.0), probability=np.zeros(5), prediction=np.zeros(5, int))
    some = Traffic(score=np.arange(5.0), probability=np.full(5, 0.6), prediction=np.ones(5, int))
    found = _found([*[some] * 6, nothing])
    assert found["expected"].value is None
    assert found["expected"].raised
    assert not _found([nothing] * 7)["expected"].raised, "where it never existed nothing has changed"


def test_features_segments_and_missing_values_have_signals_of_their_own():
    rng = np.random.default_rng(8)

    def window(age=40.0, half=500, missing=3):
        return _traffic(
            rng, 1000, features={"age": age + 10 * rng.standard_normal(1000)},
            segments={"half": {"a": half, "b": 1000 - half}}, missing={"photo": missing},
        )

    ordinary = [window(half=500 + i % 3) for i in range(8)]
    assert is_quiet(list(_found([*ordinary, window()]).values()))
    for name, new in {
        "feature age": window(age=48.0),
        "segment half": window(half=300),
        "missing photo": window(missing=200),
    }.items():
        found = _found([*ordinary, new])
        assert [s.name for s in found.values() if s.raised] == [name]


def test_columns_that_come_go_or_change_their_kind_are_told_from_the_second_window_on():
    rng = np.random.default_rng(9)
    before = _traffic(rng, 100, columns={"id": "text", "age": "number", "old": "text", "empty": "nothing"})
    after = _traffic(rng, 100, columns={"id": "text", "age": "text", "new": "text", "empty": "number"})
    found = _found([before, after])["schema"]
    assert found.raised
    assert found.why == "new is new; old is gone; age holds text values, before number"
    assert not _found([before, before])["schema"].raised


def test_a_file_that_was_cut_and_one_that_was_doubled_are_raised_and_say_how_many():
    rng = np.random.default_rng(10)
    ordinary = [_traffic(rng, 1000 + int(rng.integers(-40, 40))) for _ in range(8)]
    for rows, change in ((400, 0.6), (2000, 1.0)):
        found = _found([*ordinary, _traffic(rng, rows)])
        assert [s.name for s in found.values() if s.raised] == ["rows"]
        assert found["rows"].level == pytest.approx(rows)
        assert found["rows"].usual == pytest.approx(1000, rel=0.05)
        assert found["rows"].value == pytest.approx(change, abs=0.06)
    assert is_quiet(list(_found([*ordinary, _traffic(rng, 1080)]).values()))


def test_rows_that_repeat_are_raised_however_their_ids_differ():
    rng = np.random.default_rng(11)

    def window(again):
        rows = rng.integers(0, 2**63, 1000).astype(np.uint64)
        return _traffic(rng, 1000, copies=RowCopies().with_rows(np.concatenate([rows[again:], rows[:again],
                                                                               rows[:again]])))

    ordinary = [window(0) for _ in range(8)]
    found = _found([*ordinary, window(100)])
    assert [s.name for s in found.values() if s.raised] == ["repeats"]
    assert found["repeats"].level == pytest.approx(100 / 1100)


def test_a_lasting_change_stays_raised_and_one_outlier_does_not_widen_what_is_ordinary():
    rng = np.random.default_rng(12)
    traffics = [_traffic(rng, 1000) for _ in range(8)] + [_traffic(rng, 1000, shift=1.0) for _ in range(10)]
    windows = _windows(traffics)
    stays = []
    for k in range(9, len(windows) + 1):
        raised = frozenset(s.name for s in signals(windows[:k], rate=0.05, fewest=5) if s.raised)
        stays.append("psi" in raised)
        windows[k - 1] = replace(windows[k - 1], apart=raised)
    assert all(stays)
    forgotten = [replace(w, apart=frozenset()) for w in windows]
    assert "psi" not in [s.name for s in signals(forgotten, rate=0.05, fewest=5) if s.raised], "accepted"
    back = [*windows, *_windows([traffics[0], _traffic(rng, 1000)])[1:]]
    assert [s.name for s in signals(back, rate=0.01, fewest=5) if s.raised] == []


def test_a_weekend_that_was_raised_becomes_ordinary_for_weekends_alone():
    rng = np.random.default_rng(13)
    days = [str(i % 7) for i in range(49)]
    windows = _windows([_traffic(rng, 500 if day in "56" else 1500) for day in days], seasons=days)
    raised = {}
    for k in range(6, len(windows) + 1):
        found = frozenset(s.name for s in signals(windows[:k], rate=0.05, fewest=5) if s.raised)
        raised[k - 1] = "rows" in found
        windows[k - 1] = replace(windows[k - 1], apart=found)
    loud = [k for k, is_raised in raised.items() if is_raised]
    assert loud
    assert {days[k] for k in loud} <= {"5", "6"}
    assert max(loud) < 35, "four weekends were seen by then"


def test_a_collapse_is_raised_from_the_second_window_on_and_not_by_chance():
    rng = np.random.default_rng(14)
    ordinary, collapsed = _traffic(rng, 300), _traffic(rng, 300)
    collapsed = replace(collapsed, prediction=np.zeros(300, int))
    found = _found([ordinary, collapsed])["collapse"]
    assert found.raised
    assert found.why.startswith("every item is predicted 'negative', before 4")
    rare = replace(ordinary, prediction=(np.arange(300) < 3).astype(int))
    assert not _found([rare, collapsed])["collapse"].raised, "3 of 300 may be none of 300 by chance"
    assert not _found([collapsed, collapsed])["collapse"].raised
    assert _found([ordinary, *[rare] * 3, collapsed])["collapse"].raised


def test_classes_that_are_new_or_lost_are_named():
    counts = [{"cat": 500 + i, "dog": 300, "owl": 40} for i in range(6)]
    before = [Watched(profile=Profile(rows=sum(c.values()), classes=c)) for c in counts]

    def of(classes):
        new = Watched(profile=Profile(rows=sum(classes.values()), classes=classes))
        return {s.name: s.why for s in signals([*before, new], rate=0.05, fewest=5) if s.raised}

    assert of({"cat": 530, "dog": 320}) == {"lost_classes": "owl"}
    assert of({"cat": 500, "dog": 290, "owl": 38, "elk": 9})["new_classes"] == "elk"
    assert "new_classes" not in of({"cat": 500, "dog": 290, "owl": 38, "elk": 1})
    assert of({"cat": 840}).keys() >= {"lost_classes", "collapse"}
