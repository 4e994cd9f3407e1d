"""Windows of time, and the signals that cost no label."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from assay.evalcore.errors import BadInput
from assay.evalcore.measures.registry import measure
from assay.evalcore.monitoring.calendar import at, due, kind_of, named
from assay.evalcore.monitoring.signals import (
    Traffic,
    expected_measure,
    is_quiet,
    population_stability,
    signals,
)


@pytest.mark.parametrize(
    ("template", "kind", "name", "filled"),
    [
        ("s3://b/dt={date}/*.parquet", "day", "2026-11-20", "s3://b/dt=2026-11-20/*.parquet"),
        ("y={year}/m={month}/d={day}/x.csv", "day", "2026-11-20", "y=2026/m=11/d=20/x.csv"),
        ("{date}/{hour}.csv", "hour", "2026-11-20T06", "2026-11-20/06.csv"),
        ("{year}/{week}.csv", "week", "2026-W01", "2026/01.csv"),
        ("{year}-{month}.csv", "month", "2026-12", "2026-12.csv"),
        ("p-{year}.parquet", "year", "2015", "p-2015.parquet"),
    ],
)
def test_a_template_says_how_long_its_windows_are(template, kind, name, filled):
    assert kind_of(template) == kind
    window = named(name, kind)
    assert window.name == name
    assert window.fill(template) == filled
    assert at(window.start, kind) == window == at(window.end - timedelta(seconds=1), kind)
    assert window.next().start == window.end


def test_the_first_iso_week_of_2026_begins_in_2025():
    assert named("2026-W01", "week").start == datetime(2025, 12, 29, tzinfo=UTC)


@pytest.mark.parametrize("template", ["x.csv", "{month}.csv", "{hour}.csv", "{dat}.csv", "{date}-{week}.csv"])
def test_a_template_that_names_no_window_is_refused(template):
    with pytest.raises(BadInput):
        kind_of(template)


@pytest.mark.parametrize("name", ["2026-13", "2026", "20261120", "2026-W60", "yesterday"])
def test_a_name_that_is_no_day_is_refused(name):
    with pytest.raises(BadInput, match="2026-11-20"):
        named(name, "day")


def test_a_window_is_due_once_it_has_ended_and_settled():
    first = named("2026-11-01", "day")
    now = datetime(2026, 11, 4, 1, tzinfo=UTC)
    assert [w.name for w in due(first, None, now, timedelta(0))] == ["2026-11-01", "2026-11-02", "2026-11-03"]
    assert [w.name for w in due(first, None, now, timedelta(hours=2))] == ["2026-11-01", "2026-11-02"]
    assert [w.name for w in due(first, first, now, timedelta(0))] == ["2026-11-01"]


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
