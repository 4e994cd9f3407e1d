"""What a monitor tells people, and in which words."""

from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest
from doubles.stream import a_monitor, monitor_data

from assay.evalcore.errors import BadInput
from assay.evalcore.monitoring.signals import Signal
from assay.evalcore.monitoring.verdicts import Measured, PlaceVerdict, WatchedLimit
from assay.flows.monitor.run import Tick
from assay.flows.monitor.telling import tell
from assay.tasks.alerts.alert import Alert
from assay.tasks.ledger import layout, record
from assay.tasks.ledger.life import write_closed
from assay.tasks.ledger.monitors import SupportingEvaluation, WindowVerdict
from assay.tasks.ledger.record import Ledger
from assay.tasks.ledger.stores.store import MemoryStore
from assay.tasks.report.history.words import alert_headline, news_of_place, worst_segment
from assay.tasks.spec.monitor import MonitorSpec


def told(ledger):
    """The alerts that were raised, by key."""
    keys = [key for key in ledger.store.keys(layout.alerts(ledger.name)) if key.count("/") == 2]
    return [record.decode(Alert, ledger.store.get(key), key) for key in keys]


def window_verdict(window, value, lower, upper, verdict):
    """A verdict on a window whose first segment is judged beside the whole."""
    measured = Measured(value=value, lower=lower, upper=upper, confidence=0.95, labels=175)
    place = PlaceVerdict(
        segment=None, measured=measured, limits=(WatchedLimit(side="below", value=0.8, name="floor"),
                                                 WatchedLimit(side="below", value=0.7812345,
                                                               name="reference")),
        factors=((), ()), evidence=(3.214, 0.5), needed=2.996, verdict=verdict,
    )
    return WindowVerdict(
        number=int(window[-2:]), window=window, reissue=0, measure="f1",
        interval="posterior and design", pool=1000,
        rests_on=SupportingEvaluation(
            evaluation=f"stream-{window}", revision=0, follow_ups=0, labels=175, bought=100
        ),
        overall=place, segments=(replace(place, segment="region=north"),), labels_to_decide=None,
    )


def test_a_monitor_tells_what_moved_how_sure_and_what_to_do(tmp_path):
    ledger, spec = Ledger(MemoryStore(), "stream"), a_monitor(tmp_path)
    before = window_verdict("2026-11-13", 0.8123, 0.7441, 0.8661, "ok")
    now = window_verdict("2026-11-20", 0.7121, 0.6621, 0.7611, "breach")
    for number in (1, 2):
        of_window = Ledger(ledger.store, "stream-2026-11-20")
        write_closed(of_window, number, datetime(2026, 11, 22 + number, 9, tzinfo=UTC))
    moved = Signal(name="psi", value=0.2512, by_chance=0.05, raised=True)
    still = Signal(name="ks", value=0.01, by_chance=0.05, raised=False)
    tell(ledger, spec, now, [before, now], signals=[moved, still])
    north, whole = told(ledger)
    assert whole.subject == (
        "stream: F1 in breach: 0.712 (0.662 to 0.762), must be at least 0.8, since 2026-11-20"
    )
    assert whole.body == (
        "F1 is 0.712 in window 2026-11-20. In the window before, 2026-11-13, it was 0.812 (0.744 to 0.867). "
        "Before anyone labelled, signals were raised: distribution of scores (PSI) 0.251.\n"
        "The 95% interval is 0.662 to 0.762, from 175 labels of 1,000 predictions. All of it is below 0.8.\n"
        "It must be at least 0.8 (floor), at least 0.7812 (reference).\n"
        "A false breach is called in any 200 windows with a chance of at most 5% (e-detector).\n"
        "The last labels came on 2026-11-24 09:00 UTC.\n"
        "\n"
        "What to do: look at the labelled items that were predicted wrongly. If labels are wrong, correct "
        "them on the desk: the window is then judged again. If the model is worse, go back to the last good "
        "version. A recovery is told by itself.\n"
        "Labels and answers: assay report stream-2026-11-20. All windows: assay history stream"
    )
    assert "evidence" not in whole.body.lower()
    assert north.subject.startswith("stream: F1 in region=north in breach: 0.712 (0.662 to 0.762)")
    assert north.group == "region=north"


def test_a_breach_says_since_when_and_a_recovery_what_it_ends(tmp_path):
    ledger, spec = Ledger(MemoryStore(), "stream"), a_monitor(tmp_path)
    days = [
        window_verdict("2026-11-10", 0.9, 0.85, 0.95, "ok"),
        window_verdict("2026-11-11", None, None, None, "breach"),
        window_verdict("2026-11-12", 0.79, 0.74, 0.84, "inconclusive"),
        window_verdict("2026-11-13", 0.78, 0.73, 0.83, "breach"),
        window_verdict("2026-11-14", 0.9, 0.85, 0.95, "ok"),
        window_verdict("2026-11-15", 0.7, 0.65, 0.75, "breach"),
    ]
    days = [replace(day, segments=()) for day in days]
    for i, day in enumerate(days):
        tell(ledger, spec, day, days[: i + 1])
        tell(ledger, spec, day, days)   # again, after a crash: the same
    first, second, recovery, third = told(ledger)
    assert first.subject == "stream: F1 in breach: undefined, must be at least 0.8, called in 2026-11-11"
    assert "There is no interval. It rests on 175 labels" in first.body
    assert second.subject.endswith("called in 2026-11-11")
    assert "This interval alone does not show the breach" in second.body
    assert "The breach is in 2 windows, from 2026-11-11." in second.body
    assert recovery.kind == "recovery"
    assert recovery.subject == (
        "stream: F1 recovered: 0.900 (0.850 to 0.950), must be at least 0.8, was in breach, called in "
        "2026-11-11"
    )
    assert "In the window before, 2026-11-13, it was 0.780 (0.730 to 0.830)." in recovery.body
    assert "It trusts the score" in recovery.body
    assert "It trusts the score" not in first.body
    assert third.subject.endswith("since 2026-11-15")


def test_a_breach_that_a_changed_limit_ends_is_closed_and_not_recovered(tmp_path):
    ledger, spec = Ledger(MemoryStore(), "stream"), a_monitor(tmp_path)
    floor = WatchedLimit(side="below", value=0.25, name="floor")
    bad = replace(window_verdict("2026-11-10", 0.487, 0.42, 0.55, "breach"), segments=())
    then = replace(window_verdict("2026-11-11", 0.468, 0.40, 0.53, "ok"), segments=(), version=2)
    then = replace(then, overall=replace(then.overall, limits=(floor,), evidence=(-1.0,), factors=((),)))
    for i, one in enumerate([bad, then]):
        tell(ledger, spec, one, [bad, then][: i + 1], reasons={2: "agreed with the business"})
    _, closed = told(ledger)
    assert closed.subject == (
        "stream: F1 closed: floor changed from 0.8 to 0.25 (agreed with the business); F1 did not improve: "
        "0.468 (0.400 to 0.530)"
    )
    assert "Nothing was mended" in closed.body
    assert "The breach is over" not in closed.body
    # where it is well by the old limit too, it recovered
    well = replace(then, overall=replace(then.overall, measured=replace(
        then.overall.measured, value=0.9, lower=0.85, upper=0.95)))
    assert "recovered" in alert_headline(news_of_place(well, well.overall, [bad, well]))


def test_a_breach_that_deepens_is_told_as_worse(tmp_path):
    days = [
        replace(window_verdict("2026-11-10", 0.70, 0.65, 0.75, "breach"), segments=()),
        replace(window_verdict("2026-11-11", 0.68, 0.63, 0.73, "breach"), segments=()),
        replace(window_verdict("2026-11-12", 0.55, 0.50, 0.60, "breach"), segments=()),
    ]
    said = [alert_headline(news_of_place(one, one.overall, days)) for one in days]
    assert [line.startswith("F1 worse, still in breach") for line in said] == [False, False, True]
    assert said[2].endswith("since 2026-11-10")


def test_a_breach_of_the_whole_names_the_worst_of_its_segments():
    day = window_verdict("2026-11-10", 0.70, 0.65, 0.75, "breach")
    (north,) = day.segments
    south = replace(north, segment="region=south", measured=replace(
        north.measured, value=0.41, lower=0.33, upper=0.52))
    assert worst_segment(news_of_place(day, day.overall, [day])) == ""
    day = replace(day, segments=(north, south))
    assert worst_segment(news_of_place(day, day.overall, [day])) == (
        "Worst of 2 segments: region=south 0.410 (0.330 to 0.520), each interval by itself."
    )
    assert worst_segment(news_of_place(day, south, [day])) == ""


def test_an_alert_links_to_the_page_of_its_window(tmp_path):
    ledger = Ledger(MemoryStore(), "stream")
    data = monitor_data(tmp_path) | {
        "alerts": {"report_url": "https://reports.example.com/{monitor}/windows/{window}.html"}
    }
    spec = MonitorSpec.from_data(data, "watch.yaml")
    now = replace(window_verdict("2026-11-20", 0.7121, 0.6621, 0.7611, "breach"), segments=())
    tell(ledger, spec, now, [now])
    (alert,) = told(ledger)
    assert alert.links == ("https://reports.example.com/stream/windows/2026-11-20.html",)
    of_window = spec.evaluation(spec.first, "stream-2026-11-01", 10, None, 0)
    assert of_window.alerts.report_url == "https://reports.example.com/stream/windows/2026-11-01.html"


def test_a_monitor_does_not_link_to_a_report_that_holds_no_verdict(tmp_path):
    data = monitor_data(tmp_path) | {"alerts": {"report_url": "https://reports.example.com/{evaluation}"}}
    with pytest.raises(BadInput, match=r"must hold \{window\}"):
        MonitorSpec.from_data(data, "watch.yaml")


def test_a_run_counts_follow_ups_apart_and_windows_without_labels_not_at_all():
    opened = [SimpleNamespace(evaluation=name, why=why) for name, why in (
        ("a", "first"), ("b", "quiet"), ("b", "follow-up"), (None, "catching up"),
    )]
    assert Tick(monitor="stream", opened=opened).summary() == "2 evaluations opened, 1 follow-up"
    assert Tick(monitor="stream", opened=opened[3:]).summary() == "nothing is due"
