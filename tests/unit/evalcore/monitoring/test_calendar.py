"""Windows of time: names, templates, and when one is due."""

from datetime import UTC, datetime, timedelta

import pytest

from assay.evalcore.errors import BadInput
from assay.evalcore.monitoring.calendar import at, due, kind_of, named


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
