"""Alerts reach every channel at least once, and as a rule once; in order, and not again and again."""

import itertools
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from doubles.channels import FakeChannel, an_alert
from doubles.fuses import Fuse, Fused, PowerCut
from doubles.world import World

from assay.flows.verify.ledger import verify
from assay.tasks.alerts import outbox
from assay.tasks.alerts.alert import Alert
from assay.tasks.alerts.outbox import (
    CLAIM,
    FIRST_RETRY,
    KEEP_TRYING,
    LAST_RETRY,
    deliver_due,
    outbox_index,
    raise_alert,
)
from assay.tasks.ledger import record
from assay.tasks.ledger.record import DamagedRecord, Ledger
from assay.tasks.ledger.stores.store import MemoryStore

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)


def raised(store, *alerts, owner="spam", at=NOON):
    for i, alert in enumerate(alerts):
        assert raise_alert(Ledger(store, owner), alert, at + i * timedelta(seconds=1))


def statuses(deliveries):
    return [(one.key, one.channel, one.status) for one in deliveries]


def test_an_alert_is_raised_once_and_survives_the_ledger():
    store = MemoryStore()
    alert = an_alert(links=("https://reports.example.com/spam",), group="f1")
    assert raise_alert(Ledger(store, "spam"), alert, NOON)
    assert not raise_alert(Ledger(store, "spam"), alert, NOON + HOUR)
    assert not raise_alert(Ledger(store, "spam"), an_alert(body="another wording of the same"), NOON)
    key = "spam/alerts/finished-breach.json"
    assert record.decode(Alert, store.get(key), key) == alert
    assert record.encode(alert) == store.get(key)
    with pytest.raises(DamagedRecord, match=key):
        record.decode(Alert, store.get(key).replace(b"critical", b"loud"), key)


@pytest.mark.parametrize("wrong", [{"key": "a/b"}, {"key": "a.b"}, {"key": ""}, {"severity": "loud"},
                                   {"kind": "news"}])
def test_an_alert_that_no_ledger_could_hold_is_refused(wrong):
    with pytest.raises(ValueError, match="alert"):
        an_alert(**wrong)


def test_every_channel_is_told_once_and_the_index_forgets():
    store, a, b = MemoryStore(), FakeChannel("a"), FakeChannel("b")
    raised(store, an_alert())
    assert statuses(deliver_due(Ledger(store, "spam"), [a, b], NOON)) == [
        ("finished-breach", "a", "sent"), ("finished-breach", "b", "sent"),
    ]
    assert outbox_index(store) == {}
    assert deliver_due(Ledger(store, "spam"), [a, b], NOON + HOUR) == []
    assert a.told == b.told == [("spam", "finished-breach")]


def test_a_channel_that_is_down_is_told_later_and_holds_no_other_up():
    store, up, down = MemoryStore(), FakeChannel("up"), FakeChannel("down")
    down.down = 2
    raised(store, an_alert())
    first = deliver_due(Ledger(store, "spam"), [down, up], NOON)
    assert statuses(first) == [("finished-breach", "down", "failed"), ("finished-breach", "up", "sent")]
    assert first[0].why == "refused with HTTP 503"
    # 30 s after the first failure, 60 s after the second
    assert deliver_due(Ledger(store, "spam"), [down, up], NOON + FIRST_RETRY - timedelta(seconds=1)) == []
    assert statuses(deliver_due(Ledger(store, "spam"), [down, up], NOON + FIRST_RETRY)) == [
        ("finished-breach", "down", "failed")
    ]
    assert deliver_due(Ledger(store, "spam"), [down, up], NOON + 2 * FIRST_RETRY) == []
    assert statuses(deliver_due(Ledger(store, "spam"), [down, up], NOON + 3 * FIRST_RETRY)) == [
        ("finished-breach", "down", "sent")
    ]
    assert up.told == down.told


def test_failures_are_tried_less_and_less_often_and_given_up_after_a_week():
    store, channel = MemoryStore(), FakeChannel()
    channel.down = 10**6
    raised(store, an_alert())
    now, tried = NOON, []
    while outbox_index(store):
        done = deliver_due(Ledger(store, "spam"), [channel], now)
        tried += [now] * len(done)
        now += 10 * MINUTE
    pauses = [b - a for a, b in itertools.pairwise(tried)]
    assert pauses[0] == 10 * MINUTE   # a sweep every ten minutes cannot do better
    assert max(pauses) <= LAST_RETRY + 10 * MINUTE
    assert len(tried) < 45   # 7 days of 6 hours are 28, and 10 doublings before
    assert KEEP_TRYING < tried[-1] - NOON <= KEEP_TRYING + 10 * MINUTE
    assert deliver_due(Ledger(store, "spam"), [FakeChannel()], now) == []


def test_an_attempt_dated_by_a_clock_that_was_ahead_keeps_nobody_from_the_next():
    store, channel = MemoryStore(), FakeChannel()
    channel.down = 1
    raised(store, an_alert())
    deliver_due(Ledger(store, "spam"), [channel], NOON + timedelta(days=365))
    assert statuses(deliver_due(Ledger(store, "spam"), [channel], NOON)) == [
        ("finished-breach", "ops", "sent")
    ]


def test_a_clock_that_jumps_ahead_does_not_give_an_alert_up():
    store, channel = MemoryStore(), FakeChannel()
    channel.down = 2
    raised(store, an_alert())
    for now in (NOON, NOON + timedelta(days=365), NOON + HOUR):
        done = deliver_due(Ledger(store, "spam"), [channel], now)
    assert statuses(done) == [("finished-breach", "ops", "sent")]


def test_a_crash_between_sending_and_noting_it_sends_a_second_time_and_no_third():
    store, channel = MemoryStore(), FakeChannel()
    channel.dies = 1
    raised(store, an_alert())
    with pytest.raises(KeyboardInterrupt):
        deliver_due(Ledger(store, "spam"), [channel], NOON)
    assert channel.told == [("spam", "finished-breach")]
    # whoever comes next cannot know whether the sender is still at it
    assert deliver_due(Ledger(store, "spam"), [channel], NOON + CLAIM - timedelta(seconds=1)) == []
    assert statuses(deliver_due(Ledger(store, "spam"), [channel], NOON + CLAIM)) == [
        ("finished-breach", "ops", "sent")
    ]
    deliver_due(Ledger(store, "spam"), [channel], NOON + HOUR)
    assert channel.told == [("spam", "finished-breach")] * 2


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_power_cut_anywhere_loses_no_alert(when):
    # raising makes 2 puts; delivering 2 (the claim, the note) and a discard
    for at in range(1, 6):
        store, channel, now = MemoryStore(), FakeChannel(), NOON
        cut = Fused(store, Fuse(at, when))
        for world in (cut, store, store):
            try:
                raise_alert(Ledger(world, "spam"), an_alert(), now)
                deliver_due(Ledger(world, "spam"), [channel], now)
            except PowerCut:
                assert world is cut
            now += CLAIM
        assert ("spam", "finished-breach") in channel.told, (at, when)
        assert len(channel.told) <= 2, (at, when)
        assert outbox_index(store) == {}


def test_many_sweeps_at_once_send_one_message():
    store, gate = MemoryStore(), threading.Barrier(8)
    channel = FakeChannel(pause=lambda: None)
    raised(store, an_alert("a"), an_alert("b", group="other"))

    def sweep(_):
        gate.wait()
        return deliver_due(Ledger(store, "spam"), [channel], NOON)

    with ThreadPoolExecutor(8) as pool:
        done = [one for result in pool.map(sweep, range(8)) for one in result]
    assert sorted(statuses(done)) == [("a", "ops", "sent"), ("b", "ops", "sent")]
    assert sorted(channel.told) == [("spam", "a"), ("spam", "b")]


def test_an_alert_that_another_sweep_has_just_told_is_not_a_repeat_of_itself(monkeypatch):
    store, channel = MemoryStore(), FakeChannel()
    ledger = Ledger(store, "spam")
    raised(store, an_alert("b"))
    there = outbox._exists

    def told_after_the_look(of, key):
        was = there(of, key)
        if key.endswith("/ops.json") and not was and not channel.told:
            monkeypatch.setattr(outbox, "_exists", there)
            deliver_due(Ledger(store, "spam"), [channel], NOON)
        return was

    monkeypatch.setattr(outbox, "_exists", told_after_the_look)
    assert statuses(deliver_due(ledger, [channel], NOON)) == []
    assert channel.told == [("spam", "b")]


def test_repeats_are_held_back_for_the_cooldown_unless_they_are_worse():
    store, channel = MemoryStore(), FakeChannel()
    raised(store, an_alert("w1", severity="warning"))
    deliver_due(Ledger(store, "spam"), [channel], NOON)
    raised(store, an_alert("w2", severity="warning"), an_alert("w3", severity="critical"), at=NOON + HOUR)
    later = deliver_due(Ledger(store, "spam"), [channel], NOON + HOUR)
    assert statuses(later) == [("w2", "ops", "held"), ("w3", "ops", "sent")]
    raised(store, an_alert("w4"), at=NOON + 24 * HOUR)     # 23 hours after w3 was told
    raised(store, an_alert("w5", group="recall"), at=NOON + 24 * HOUR)   # about something else
    assert statuses(deliver_due(Ledger(store, "spam"), [channel], NOON + 24 * HOUR)) == [
        ("w4", "ops", "held"), ("w5", "ops", "sent")
    ]
    raised(store, an_alert("w6"), at=NOON + 25 * HOUR)
    done = deliver_due(Ledger(store, "spam"), [channel], NOON + 25 * HOUR)
    assert statuses(done) == [("w6", "ops", "sent")]


def test_a_recovery_follows_what_it_recovers_from_and_ends_the_cooldown():
    store, channel = MemoryStore(), FakeChannel()
    raised(store, an_alert("w0", kind="recovery"))
    assert statuses(deliver_due(Ledger(store, "spam"), [channel], NOON)) == [("w0", "ops", "held")]
    channel.down = 1
    raised(store, an_alert("w1"), an_alert("w2", kind="recovery"), an_alert("w3"))
    # w1 fails, so w2 and w3 wait behind it
    assert statuses(deliver_due(Ledger(store, "spam"), [channel], NOON)) == [("w1", "ops", "failed")]
    assert statuses(deliver_due(Ledger(store, "spam"), [channel], NOON + MINUTE)) == [
        ("w1", "ops", "sent"), ("w2", "ops", "sent"), ("w3", "ops", "sent"),
    ]
    raised(store, an_alert("w4", kind="recovery"), an_alert("w5", kind="recovery"), at=NOON + HOUR)
    assert statuses(deliver_due(Ledger(store, "spam"), [channel], NOON + HOUR)) == [
        ("w4", "ops", "sent"), ("w5", "ops", "held")
    ]


def test_a_channel_hears_only_what_is_severe_enough_for_it():
    store, pager, mail = MemoryStore(), FakeChannel("pager", "critical"), FakeChannel("mail")
    raised(store, an_alert("a", severity="warning"), an_alert("b", severity="critical", group="x"))
    deliver_due(Ledger(store, "spam"), [pager, mail], NOON)
    assert pager.told == [("spam", "b")]
    assert mail.told == [("spam", "a"), ("spam", "b")]
    assert outbox_index(store) == {}


def test_with_nobody_to_tell_an_alert_waits_for_a_week():
    store = MemoryStore()
    raised(store, an_alert())
    assert deliver_due(Ledger(store, "spam"), [], NOON) == []
    assert list(outbox_index(store)) == ["spam"]
    deliver_due(Ledger(store, "spam"), [], NOON + KEEP_TRYING + MINUTE)
    assert outbox_index(store) == {}


def test_monitors_and_evaluations_have_outboxes_of_their_own():
    store, channel = MemoryStore(), FakeChannel()
    for owner in ("spam", "monitors/spam", "spam.monitors"):
        raised(store, an_alert(), owner=owner)
    assert set(outbox_index(store)) == {"spam", "monitors/spam", "spam.monitors"}
    for owner in outbox_index(store):
        deliver_due(Ledger(store, owner), [channel], NOON)
    assert sorted(channel.told) == [
        ("monitors/spam", "finished-breach"), ("spam", "finished-breach"),
        ("spam.monitors", "finished-breach"),
    ]


def test_verify_knows_what_an_outbox_holds(tmp_path):
    world = World(tmp_path, n=60, budget={"labels": 4}, batch_size=2)
    world.run()
    channel = FakeChannel()
    channel.down = 1
    raised(world.store, an_alert(key="failure-0123456789abcdef"), owner="small")
    for now in (NOON, NOON + HOUR):
        deliver_due(Ledger(world.store, "small"), [channel], now)
    assert len(list(world.store.keys("small/alerts/"))) == 5   # the alert, two tries, a failure, the note
    assert verify(world.store, "small").verified
    world.store.put("small/alerts/notes.txt", b"")
    assert {d.key for d in verify(world.store, "small").differences} == {"small/alerts/notes.txt"}


def test_an_alert_says_nothing_of_the_machine_or_the_moment():
    assert Alert.__dataclass_fields__.keys() == {
        "key", "severity", "kind", "subject", "body", "links", "group"
    }
