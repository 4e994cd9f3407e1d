"""Windows of time: names, templates, and when one is due."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from assay.evalcore.errors import BadInput
from assay.evalcore.monitoring.calendar import at, due, length_of_windows, window_named


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
    assert length_of_windows(template) == kind
    window = window_named(name, kind)
    assert window.name == name
    assert window.fill(template) == filled
    assert at(window.start, kind) == window == at(window.end - timedelta(seconds=1), kind)
    assert window.next().start == window.end


def test_the_first_iso_week_of_2026_begins_in_2025():
    assert window_named("2026-W01", "week").start == datetime(2025, 12, 29, tzinfo=UTC)


@pytest.mark.parametrize("template", ["x.csv", "{month}.csv", "{hour}.csv", "{dat}.csv", "{date}-{week}.csv"])
def test_a_template_that_names_no_window_is_refused(template):
    with pytest.raises(BadInput):
        length_of_windows(template)


@pytest.mark.parametrize("name", ["2026-13", "2026", "20261120", "2026-W60", "yesterday"])
def test_a_name_that_is_no_day_is_refused(name):
    with pytest.raises(BadInput, match="2026-11-20"):
        window_named(name, "day")


def test_a_window_is_due_once_it_has_ended_and_settled():
    first = window_named("2026-11-01", "day")
    now = datetime(2026, 11, 4, 1, tzinfo=UTC)
    assert [w.name for w in due(first, None, now, timedelta(0))] == ["2026-11-01", "2026-11-02", "2026-11-03"]
    assert [w.name for w in due(first, None, now, timedelta(hours=2))] == ["2026-11-01", "2026-11-02"]
    assert [w.name for w in due(first, first, now, timedelta(0))] == ["2026-11-01"]


BERLIN = ZoneInfo("Europe/Berlin")


@pytest.mark.parametrize(
    ("template", "filled"),
    [
        ("week={week_start}/*.csv", "week=2026-11-16/*.csv"),
        ("up-to-{week_end}.csv", "up-to-2026-11-22.csv"),
        ("{year}-W{week}_{week_start}.csv", "2026-W47_2026-11-16.csv"),
    ],
)
def test_weeks_may_be_in_files_named_by_a_date(template, filled):
    assert length_of_windows(template) == "week"
    assert window_named("2026-W47", "week").fill(template) == filled
    assert window_named("2026-11-16", "week") == window_named("2026-W47", "week")


def test_a_week_is_named_by_its_monday_and_by_no_other_day():
    with pytest.raises(BadInput, match="2026-W47, begins on 2026-11-16"):
        window_named("2026-11-18", "week")


def test_a_day_ends_at_midnight_of_its_time_zone():
    day = window_named("2026-11-20", "day", BERLIN)
    assert day.end.astimezone(UTC) == datetime(2026, 11, 20, 23, tzinfo=UTC)
    assert day.name == "2026-11-20"
    assert day.fill("{date}.csv") == "2026-11-20.csv"
    assert [w.name for w in due(day, None, datetime(2026, 11, 21, 22, 59, tzinfo=UTC), timedelta(0))] == [
        "2026-11-20"
    ]


@pytest.mark.parametrize(("day", "hours"), [("2026-03-29", 23), ("2026-10-25", 25), ("2026-11-20", 24)])
def test_the_day_on_which_the_clocks_change_is_one_window_of_its_own_length(day, hours):
    window = window_named(day, "day", BERLIN)
    assert window.end.astimezone(UTC) - window.start.astimezone(UTC) == timedelta(hours=hours)
    assert window.next().start == window.end
    assert at(window.start.astimezone(UTC) + timedelta(hours=hours - 1), "day", BERLIN) == window
