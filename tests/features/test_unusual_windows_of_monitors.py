"""What a monitor does when predictions collapse or become unusual, before anybody has labelled them."""

import csv
from datetime import timedelta

import pytest
from doubles.stream import FIRST, after, monitor_data, write_stream

from assay.flows.alerts import outbox_of_all
from assay.flows.monitor.history import read_monitor_history
from assay.flows.monitor.tick import tick
from assay.flows.monitor.versions import register
from assay.flows.verify.ledger import verify
from assay.flows.verify.monitor import verify_monitor
from assay.tasks.ledger import open_store
from assay.tasks.spec.monitor import MonitorSpec

TELL = ["breach", "recovery", "failure", "collapse", "signal"]


def rewrite(folder, day, change):
    """Changes the prediction and the probability of every row of a day."""
    file = folder / f"predictions-{FIRST + timedelta(days=day)}.csv"
    with file.open(newline="") as opened:
        rows = list(csv.DictReader(opened))
    rows = change(rows)
    with file.open("w", newline="") as opened:
        written = csv.DictWriter(opened, rows[0].keys())
        written.writeheader()
        written.writerows(rows)


def collapsed(rows):
    """Every item predicted negative."""
    return [row | {"prediction": "0"} for row in rows]


def watched(tmp_path, **changed):
    data = monitor_data(tmp_path, quiet_labels=100) | {
        "measure": "f1", "method": "recalibrated", "limit": {"min": 0.4}, "alerts": {"tell": TELL},
    } | changed
    data.pop("threshold")
    spec = MonitorSpec.from_data(data, "watch.yaml")
    store = open_store(str(tmp_path / "ledger"))
    register(store, spec)
    return store


def subjects(store):
    return [row.alert.subject for row in outbox_of_all(store, ["monitors/stream"])]


def rows_of(store):
    return {row.window: row for row in read_monitor_history(store, "stream").rows}


def test_a_window_without_a_predicted_positive_is_a_breach_and_asks_nobody(tmp_path):
    write_stream(tmp_path, 5)
    for day in (2, 3):
        rewrite(tmp_path, day, collapsed)
    store = watched(tmp_path)
    done = tick(store, "stream", moment=after(3))
    assert not done.failed
    rows = rows_of(store)
    assert [rows[f"2026-11-0{n}"].state for n in (1, 2, 3)] == ["ok", "ok", "breach"]
    worst = rows["2026-11-03"].verdict.overall
    assert (worst.measured.value, worst.measured.exact, worst.measured.labels) == (0.0, True, 0)
    tick(store, "stream", moment=after(5))
    rows = rows_of(store)
    assert [rows[f"2026-11-0{n}"].state for n in (3, 4, 5)] == ["breach", "breach", "ok"]
    assert [rows[f"2026-11-0{n}"].bought for n in (3, 4)] == [0, 0]
    assert rows["2026-11-05"].openings[0].inherits == "stream-2026-11-02", "the last one with labels"
    said = [subject for subject in subjects(store) if "every item" in subject]
    assert len(said) == 1, "told once while it lasts"
    assert "every item is predicted 'no'" in said[0]
    assert "stream: several classes are predicted again" in subjects(store)
    for name in ("stream-2026-11-03", "stream-2026-11-04"):
        assert not verify(store, name).differences
    assert not verify_monitor(store, "stream").differences


def test_people_are_asked_until_a_label_shows_that_the_measure_exists(tmp_path):
    # nothing came before that could leave no doubt
    write_stream(tmp_path, 1)
    rewrite(tmp_path, 0, collapsed)
    store = watched(tmp_path)
    tick(store, "stream", moment=after(1))
    (row,) = rows_of(store).values()
    assert row.state == "breach"
    assert row.verdict.overall.measured.exact
    assert row.bought == 50, "the first batch"


def test_where_no_positive_is_left_nothing_is_called(tmp_path):
    # nothing is positive, in the labels either: F1 does not exist, and the model is right
    write_stream(tmp_path, 1)
    rewrite(tmp_path, 0, collapsed)
    labels = tmp_path / f"labels-{FIRST}.csv"
    labels.write_text(labels.read_text().replace(",1\n", ",0\n").replace(",1\r\n", ",0\r\n"))
    store = watched(tmp_path)
    tick(store, "stream", moment=after(1))
    (row,) = rows_of(store).values()
    assert row.state == "inconclusive"
    assert row.verdict.overall.measured.value is None


@pytest.mark.parametrize("measure", ["accuracy", "precision"])
def test_a_collapse_is_critical_whatever_the_measure(tmp_path, measure):
    write_stream(tmp_path, 3)
    rewrite(tmp_path, 2, collapsed)
    store = watched(tmp_path, measure=measure)
    done = tick(store, "stream", moment=after(3))
    assert not done.failed
    (told,) = [
        row.alert for row in outbox_of_all(store, ["monitors/stream"]) if row.alert.kind == "collapse"
    ]
    assert told.severity == "critical"


def test_a_collapse_in_the_first_measure_asks_people_for_the_others(tmp_path):
    write_stream(tmp_path, 3)
    rewrite(tmp_path, 2, collapsed)
    store = watched(tmp_path, measure=["f1", "accuracy"])
    tick(store, "stream", moment=after(3))
    row = rows_of(store)["2026-11-03"]
    assert (row.state, row.bought) == ("breach", 100)
    assert row.verdict.overall.measured.exact


def test_a_cut_file_and_a_lasting_change_are_told_once_and_stay_raised(tmp_path):
    write_stream(tmp_path, 12)
    rewrite(tmp_path, 6, lambda rows: rows[:150])
    for day in (8, 9, 10):
        rewrite(tmp_path, day, lambda rows: [row | {"probability": "0.999" if row["prediction"] == "1" else
                                                    "0.001"} for row in rows])
    store = watched(tmp_path, method="passive")
    for day in range(1, 12):
        tick(store, "stream", moment=after(day))
    rows = rows_of(store)
    raised = {window: {signal.name for signal in row.raised} for window, row in rows.items()}
    assert raised["2026-11-07"] == {"rows"}
    assert [("psi" in raised[f"2026-11-{n:02d}"]) for n in range(7, 12)] == [False, False, True, True, True]
    told = subjects(store)
    assert "stream: number of items 150, usually 400 (window 2026-11-07)" in told
    assert sum("distribution of scores" in subject for subject in told) == 1
    assert "stream: no signal is raised any more" in told


def test_what_is_told_by_default_leaves_signals_out(tmp_path):
    spec = MonitorSpec.from_data(
        monitor_data(tmp_path) | {"alerts": {"cooldown_hours": 12}}, "watch.yaml"
    )
    assert "collapse" in spec.alerts.tell
    assert "signal" not in spec.alerts.tell
