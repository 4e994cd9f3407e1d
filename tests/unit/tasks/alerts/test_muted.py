"""Alerts that are raised during a mute are kept, and nobody is told."""

from datetime import UTC, datetime, timedelta

import pytest
from doubles.channels import FakeChannel, an_alert
from doubles.fuses import Fuse, Fused, PowerCut

from assay.tasks.alerts.outbox import (
    deliver_due,
    outbox_index,
    outbox_rows,
    raise_alert,
    read_muted,
    summary_alert,
)
from assay.tasks.ledger.monitors import Mute, create_mute, ended_mutes, mute_at, read_mutes
from assay.tasks.ledger.record import Ledger
from assay.tasks.ledger.stores.store import MemoryStore

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


def a_mute(number, at, until):
    return Mute(number=number, at=NOON + at * HOUR, until=None if until is None else NOON + until * HOUR,
                reason="roll-out")


def muted_ledger():
    ledger = Ledger(MemoryStore(), "monitors/stream")
    create_mute(ledger, a_mute(1, 0, 5))
    return ledger


@pytest.mark.parametrize(
    ("hour", "number"), [(-1, None), (0, 1), (1, 1), (2, 2), (6, 2), (7, None), (9, None)]
)
def test_the_last_change_before_a_moment_counts(hour, number):
    mutes = [a_mute(1, 0, 5), a_mute(2, 2, 9), a_mute(3, 7, None)]
    found = mute_at(mutes, NOON + hour * HOUR)
    assert (found and found.number) == number


def test_mutes_that_have_ended():
    mutes = [a_mute(1, 0, 1), a_mute(2, 2, 9), a_mute(3, 7, None)]
    numbers = [[one.number for one in ended_mutes(mutes[:n], NOON + 8 * HOUR)] for n in (1, 2, 3)]
    assert numbers == [[1], [1], [1, 2]]


def test_the_first_to_change_a_mute_has_decided():
    ledger = muted_ledger()
    assert create_mute(ledger, a_mute(1, 0, 99)) == a_mute(1, 0, 5)
    assert read_mutes(ledger) == [a_mute(1, 0, 5)]


def test_nobody_is_told_of_a_muted_alert_neither_then_nor_later():
    ledger, channel = muted_ledger(), FakeChannel("a")
    assert raise_alert(ledger, an_alert(), NOON + HOUR)
    assert outbox_index(ledger.store) == {}
    for hours in (1, 6):
        assert not raise_alert(ledger, an_alert(), NOON + hours * HOUR)
        assert deliver_due(ledger, [channel], NOON + hours * HOUR) == []
    (row,) = outbox_rows(ledger)         # which looks for alerts that nobody was told of
    assert (row.muted, row.waiting) == (True, False)
    assert outbox_index(ledger.store) == {}
    assert row.to_json()["muted"]


def test_what_was_raised_before_the_mute_is_delivered_in_it():
    ledger, channel = muted_ledger(), FakeChannel("a")
    raise_alert(ledger, an_alert(), NOON - HOUR)
    assert [one.status for one in deliver_due(ledger, [channel], NOON + HOUR)] == ["sent"]


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("at", [1, 2])
def test_a_cut_during_a_mute_leaves_an_alert_that_is_muted_or_not_raised(at, when):
    ledger, channel = muted_ledger(), FakeChannel("a")
    fused = Ledger(Fused(ledger.store, Fuse(at, when)), ledger.name)
    with pytest.raises(PowerCut):
        raise_alert(fused, an_alert(), NOON + HOUR)
    raised_later = (at, when) == (1, "before")     # nothing was written: the mute has ended by then
    raise_alert(ledger, an_alert(), NOON + 6 * HOUR)
    sent = deliver_due(ledger, [channel], NOON + 6 * HOUR)
    assert [one.status for one in sent] == (["sent"] if raised_later else [])
    assert len(read_muted(ledger)) == (0 if raised_later else 1)


def test_the_summary_lists_what_was_muted_in_order():
    ledger = muted_ledger()
    for i, key in enumerate("bac"):
        raise_alert(ledger, an_alert(key, subject=f"subject {key}"), NOON + i * HOUR)
    muted = read_muted(ledger)
    assert [one.alert.key for one in muted] == ["b", "a", "c"]
    summary = summary_alert("stream", a_mute(1, 0, 5), muted, [], "info")
    assert summary.subject == "stream: the mute has ended; 3 alerts muted"
    assert summary.body.splitlines() == [
        "Muted since 2026-11-20 12:00 UTC: roll-out", "- subject b", "- subject a", "- subject c",
        "Nothing of this still stands.",
    ]
