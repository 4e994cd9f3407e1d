"""Alerts of what lasts: told once a day, and at once when a window joins."""

from datetime import UTC, datetime, timedelta

from doubles.channels import FakeChannel

from assay.tasks.alerts.alert import StandingState, daily_alert, spent_alert
from assay.tasks.alerts.outbox import deliver_due, raise_alert
from assay.tasks.ledger.record import Ledger
from assay.tasks.ledger.stores.store import MemoryStore

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


def missing(*days, until=NOON):
    return [
        StandingState(window=f"2026-11-{day}", why="no file matches", since=NOON, until=until) for day in days
    ]


def told(windows, begun_today=(), now=NOON):
    return daily_alert("stream", "missing", "warning", windows, begun_today, now)


def test_the_words_of_one_window_and_of_several():
    one = told(missing("05"), ["2026-11-05"])
    assert one.subject == "stream: window 2026-11-05 is missing"
    assert one.body.splitlines()[0] == "2026-11-05: no file matches (since 2026-11-20 12:00 UTC)"
    assert one.body.splitlines()[-1] == "This is said once a day until 2026-11-20 12:00 UTC."
    several = told(missing("05", "06", "07", "08", until=None))
    assert several.subject == "stream: 4 windows are missing: 2026-11-05, 2026-11-06, 2026-11-07, ..."
    assert several.body.splitlines()[-1] == "This is said once a day."
    assert "20 more: assay history stream" in told(missing(*map(str, range(10, 50)))).body


def test_the_key_changes_with_the_day_and_with_the_windows_that_joined_on_it():
    keys = [
        told(missing("05")).key, told(missing("05", "06")).key,
        told(missing("05", "06"), ["2026-11-06"]).key,
        told(missing("05"), ["2026-11-06"]).key,     # it joined and left again: nothing new
        told(missing("05"), now=NOON + timedelta(days=1)).key,
    ]
    assert keys[0] == keys[1] == "missing-20261120"
    assert keys[2] == keys[3] != keys[0]
    assert keys[4] == "missing-20261121"


def test_the_cooldown_does_not_hold_back_the_word_of_the_next_day():
    ledger, channel = Ledger(MemoryStore(), "monitors/stream"), FakeChannel("a")
    for hours in (0, 23.9):       # the schedule is not that exact
        now = NOON + timedelta(hours=hours)
        raise_alert(ledger, told(missing("05"), now=now), now)
        assert [one.status for one in deliver_due(ledger, [channel], now)] == ["sent"]


def test_a_spent_month_is_told_by_its_day():
    alert = spent_alert("stream", "2026-11", 2000, "warning", NOON)
    assert (alert.key, alert.subject) == ("spent-20261120", "stream: the labels of 2026-11 are spent")
    assert "2,000 labels a month" in alert.body
