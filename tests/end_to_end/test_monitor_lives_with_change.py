"""A monitor that is amended and muted, and windows that are missing, empty, small or failing."""

import json
from dataclasses import replace
from datetime import timedelta

import pytest
from doubles.channels import FakeChannel
from doubles.stream import a_monitor, after, monitor_data, write_stream

from assay.evalcore.errors import BadInput
from assay.flows.alerts import deliver
from assay.flows.cli.main import run_command_line
from assay.flows.drivers.sweep import sweep_store
from assay.flows.evaluation.begin import begin_evaluation
from assay.flows.monitor.history import read_monitor_history
from assay.flows.monitor.mute import mute, unmute
from assay.flows.monitor.opening import open_window
from assay.flows.monitor.run import read_run
from assay.flows.monitor.tick import backfill, tick
from assay.flows.monitor.versions import MonitorNameTaken, amend, open_monitor, register
from assay.flows.verify.monitor import verify_monitor
from assay.tasks.alerts.alert import Alert, as_raised
from assay.tasks.alerts.outbox import deliver_due, outbox_index
from assay.tasks.ledger import layout, open_store, record
from assay.tasks.ledger.monitors import read_openings, read_verdicts
from assay.tasks.ledger.record import Ledger
from assay.tasks.ledger.stores.store import MemoryStore
from assay.tasks.spec.monitor import MonitorSpec

MONITOR = layout.monitor_ledger("stream")


def watched(spec, days):
    store = MemoryStore()
    register(store, spec)
    tick(store, "stream", moment=after(days))
    return store


def changed(folder, threshold=None, **monitor):
    """The spec of `a_monitor` with another floor, or another `monitor:` section; every window gets as many
    labels.
    """
    data = monitor_data(folder, quiet_labels=100, **monitor)
    if threshold is not None:
        data["threshold"] = {"min": threshold}
    return data


def spec_of(data):
    return MonitorSpec.from_data(data, "x")


def rows(store):
    return read_monitor_history(store, "stream").rows


def alerts(store):
    keys = [key for key in store.keys(layout.alerts(MONITOR)) if layout.alert.match(key)]
    return {key.rsplit("/", 1)[1].removesuffix(".json"): as_raised(record.decode(Alert, store.get(key), key))
            for key in keys}


def test_another_floor_judges_later_windows_only_and_begins_its_own_evidence(tmp_path):
    write_stream(tmp_path, 4, items=200)
    store = watched(spec_of(changed(tmp_path)), 2)
    made = amend(store, spec_of(changed(tmp_path, 0.99)), moment=after(2), reason="agreed")
    assert (made.number, made.first, made.anew, made.changed) == (
        2, "2026-11-03", ("floor",), ("limit.min",)
    )
    assert amend(store, spec_of(changed(tmp_path, 0.99)), moment=after(2)) is None     # said twice, made once
    tick(store, "stream", moment=after(4))
    verdicts = {v.window: v for v in read_verdicts(Ledger(store, MONITOR))}
    assert [verdicts[f"2026-11-0{d}"].version for d in (1, 2, 3, 4)] == [1, 1, 2, 2]
    assert [verdicts[f"2026-11-0{d}"].overall.limits[0].value for d in (2, 3)] == [0.85, 0.99]
    # the evidence is that of a monitor whose life begins with the third window
    alone = watched(spec_of(changed(tmp_path, 0.99, first="2026-11-03")), 4)
    for fresh in read_verdicts(Ledger(alone, MONITOR)):
        # what the measure is told with goes on: another floor does not change the measure
        assert replace(verdicts[fresh.window].overall, tracked=fresh.overall.tracked) == fresh.overall
    assert verify_monitor(store, "stream").verified
    assert [row.version for row in rows(store)] == [1, 1, 2, 2]


def test_late_labels_of_an_old_window_are_judged_by_the_old_version(tmp_path):
    write_stream(tmp_path, 2, items=200)
    store = watched(spec_of(changed(tmp_path)), 1)
    amend(store, spec_of(changed(tmp_path, 0.5)), moment=after(1))
    tick(store, "stream", moment=after(2))
    source = tmp_path / "predictions-2026-11-01.csv"
    lines = source.read_text().splitlines()
    source.write_text("\n".join(lines[:-5]) + "\n")
    done = tick(store, "stream", moment=after(2))
    assert [(v.window, v.version, v.overall.limits[0].value) for v in done.verdicts] == [
        ("2026-11-01", 1, 0.85)
    ]
    assert verify_monitor(store, "stream").verified


def test_another_model_begins_reference_evidence_and_label_model_anew(tmp_path):
    write_stream(tmp_path, 4, items=200)
    data = changed(tmp_path, drop={"by": 0.05})
    data["method"] = "dirichlet-tree"
    store = watched(spec_of(data), 2)
    newer = data | {"model_version": "b", "pool": data["pool"] | {"segments": ["half"]}}
    made = amend(store, spec_of(newer), moment=after(2))
    assert (made.new_model, made.reference, made.first) == (True, "2026-11-03", "2026-11-03")
    tick(store, "stream", moment=after(4))
    openings = {window: several[0] for window, several in read_openings(Ledger(store, MONITOR)).items()}
    assert [openings[f"2026-11-0{d}"].why == "first" for d in (1, 2, 3, 4)] == [True, False, True, False]
    assert [openings[f"2026-11-0{d}"].inherits for d in (2, 3, 4)] == [
        "stream-2026-11-01", None, "stream-2026-11-03"
    ]
    verdicts = {v.window: v for v in read_verdicts(Ledger(store, MONITOR))}
    names = [[limit.name for limit in verdicts[f"2026-11-0{d}"].overall.limits] for d in (2, 3, 4)]
    assert names == [["floor", "reference"], ["floor"], ["floor", "reference"]]
    told = read_monitor_history(store, "stream").to_json()
    assert [window["model_version"] for window in told["windows"]] == [None, None, "b", "b"]
    assert told["amendments"][0]["new_model"]
    assert verify_monitor(store, "stream").verified


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"measure": "f1"}, r"\$\.measure is what all windows so far were measured by"),
        ({"labels": {"positive": "no", "negative": "yes"}}, r"\$\.labels says what the labels"),
        ({"pool": {"id": "text"}}, r"\$\.pool\.id"),
        ({"pool": {"segments": ["half"]}}, r"\$\.pool\.segments changes what is judged.*model_version"),
        ({"pool": {"source": "p-{year}-W{week}.csv"}, "monitor": {"first": "2026-W45"}},
         "windows of a week.*begin another monitor"),
        ({"monitor": {"timezone": "Asia/Tokyo"}}, r"\$\.monitor\.timezone"),
    ],
)
def test_what_may_not_be_amended_is_refused(tmp_path, change, said):
    store = watched(a_monitor(tmp_path), 0)
    data = monitor_data(tmp_path)
    for key, value in change.items():
        data[key] = data[key] | value if isinstance(value, dict) and key != "labels" else value
    with pytest.raises(BadInput, match=said.replace(".*", r"[\s\S]*")):
        amend(store, spec_of(data), moment=after(1))
    assert not list(store.keys(f"{MONITOR}/versions/"))


def test_a_version_is_never_made_for_a_window_that_is_due(tmp_path):
    store = watched(a_monitor(tmp_path), 0)
    newer = a_monitor(tmp_path, error_rate=0.01)
    with pytest.raises(BadInput, match=r"2026-11-02 is too early.*before 2026-11-04"):
        amend(store, newer, moment=after(3), first_window="2026-11-02")
    assert amend(store, newer, moment=after(3), first_window="2026-11-09").first == "2026-11-09"
    # the next one applies no earlier than the last
    assert amend(store, a_monitor(tmp_path, error_rate=0.02), moment=after(3)).first == "2026-11-09"
    assert [one.number for one in open_monitor(store, "stream").all] == [1, 2, 3]
    assert open_monitor(store, "stream").version_of("2026-11-08").number == 1
    assert open_monitor(store, "stream").version_of("2026-11-09").number == 3
    with pytest.raises(MonitorNameTaken, match=r"version 3 differs in monitor.error_rate\)\. .*assay amend"):
        register(store, newer)


def test_of_two_amendments_at_the_same_moment_one_is_refused(tmp_path, monkeypatch):
    store = watched(a_monitor(tmp_path), 0)
    before = open_monitor(store, "stream")
    one, other = a_monitor(tmp_path, error_rate=0.01), a_monitor(tmp_path, error_rate=0.02)
    made = amend(store, one, moment=after(1))
    monkeypatch.setattr("assay.flows.monitor.versions.open_monitor", lambda *_: before)
    with pytest.raises(BadInput, match="somebody else made version 2 at the same moment"):
        amend(store, other, moment=after(1))
    assert amend(store, one, moment=after(1)) == made
    assert len(open_monitor(store, "stream").all) == 2


def test_verify_finds_a_version_that_was_made_after_looking(tmp_path):
    write_stream(tmp_path, 2, items=100)
    store = watched(spec_of(changed(tmp_path)), 1)
    made = amend(store, spec_of(changed(tmp_path, 0.5)), moment=after(1))
    tick(store, "stream", moment=after(2))
    key = layout.monitor_version(MONITOR, 2)

    def forged(**change):
        """Without the log, which would name the forgery by itself."""
        copy = MemoryStore()
        for other in store.keys(""):
            if layout.log_entry.match(other):
                continue
            blob = store.get(other)
            copy.put(other, json.dumps(record.plain(made) | change).encode() if other == key else blob)
        return {d.key: d.difference for d in verify_monitor(copy, "stream").differences}

    assert {said.partition(":")[0] for said in forged().values()} == {
        "is neither in the log nor sealed", "is missing, and so is the whole log",
    }
    late = (after(1) + timedelta(days=1)).isoformat()
    assert "was due already when it was made" in forged(at=late)[key]
    assert "anew" in forged(anew=[])[key]
    found = forged(first="2026-11-03")
    assert "judged by version 2 of the spec, and version 1 applies" in found[
        layout.monitor_verdict(MONITOR, 2)
    ]
    assert "cannot be read" in forged(first=3)[key]


def test_missing_empty_and_small_windows_are_no_failures_and_are_told_once_a_day(tmp_path):
    write_stream(tmp_path, 4, items=100)
    (tmp_path / "predictions-2026-11-02.csv").rename(tmp_path / "kept.csv")
    for day, kept in (("03", 1), ("04", 3)):
        path = tmp_path / f"predictions-2026-11-{day}.csv"
        path.write_text("\n".join(path.read_text().splitlines()[:kept]) + "\n")
    data = changed(tmp_path)
    data["alerts"] = {"tell": ["missing", "empty", "small"]}
    store = MemoryStore()
    register(store, spec_of(data))
    done = tick(store, "stream", moment=after(2))
    assert (list(done.awaited), done.failed) == (["2026-11-02"], {})      # its grace lasts a day
    done = tick(store, "stream", moment=after(4))
    assert {window: why.split(":")[0] for window, why in done.left_out.items()} == {
        "2026-11-02": "missing", "2026-11-03": "empty", "2026-11-04": "small",
    }
    assert [row.state for row in rows(store)][1:] == ["missing", "empty", "small"]
    assert rows(store)[3].wrong.why == "2 items, and monitor.least_items asks for 20"
    told = alerts(store)
    assert sorted(alert.kind for alert in told.values()) == ["empty", "missing", "small"]
    for minutes in (1, 600):                               # no more on that day
        tick(store, "stream", moment=after(4) + timedelta(minutes=minutes))
    assert alerts(store) == told
    tick(store, "stream", moment=after(5) - timedelta(minutes=5))
    assert len(alerts(store)) == 6                           # a word a day
    (tmp_path / "kept.csv").rename(tmp_path / "predictions-2026-11-02.csv")
    tick(store, "stream", moment=after(5))
    assert rows(store)[1].verdict is not None
    assert rows(store)[1].wrong is None
    tick(store, "stream", moment=after(20))                     # too late to be mended: no word any more
    assert {alert.kind for key, alert in alerts(store).items() if "-20261121" in key} == {"missing"}
    assert verify_monitor(store, "stream").verified


def test_days_that_the_stream_does_not_have_are_not_missed(tmp_path):
    write_stream(tmp_path, 1, items=60)      # 2026-11-01 is a Sunday
    spec = a_monitor(tmp_path, first="2026-10-30", without=["saturday", "2026-11-02..2026-11-03"])
    store = MemoryStore()
    register(store, spec)
    done = tick(store, "stream", moment=after(4))
    assert sorted([*done.left_out, *done.awaited]) == ["2026-10-30", "2026-11-04"]
    assert [row.window for row in rows(store) if row.verdict] == ["2026-11-01"]


def test_a_window_that_fails_is_told_once_a_day_until_it_works(tmp_path):
    write_stream(tmp_path, 1, items=60)
    source = tmp_path / "predictions-2026-11-01.csv"
    good = source.read_text()
    source.write_text(good.replace("probability", "p"))
    store = watched(a_monitor(tmp_path), 1)
    for hours in (1, 2, 24):
        assert "2026-11-01" in tick(store, "stream", moment=after(1) + timedelta(hours=hours)).failed
    assert [row.state for row in rows(store)] == ["failed"]
    assert [alert.kind for alert in alerts(store).values()] == ["failure", "failure"]
    assert len(list(filter(layout.window_state.match, store.keys(MONITOR)))) == 1
    source.write_text(good)
    for hours in (0, 1):
        tick(store, "stream", moment=after(2) + timedelta(hours=hours))
    assert rows(store)[0].wrong is None
    ended = alerts(store)["failure-ended-2026-11-01-0002"]
    assert (ended.kind, ended.group, ended.severity) == ("recovery", "failure", "warning")
    assert ended.subject == "stream: window 2026-11-01 can be worked on again"
    assert len(alerts(store)) == 3


def test_a_missing_window_that_comes_ends_what_was_told_once_none_is_missing_any_more(tmp_path):
    write_stream(tmp_path, 4, items=60)
    files = [tmp_path / f"predictions-2026-11-0{day}.csv" for day in (2, 3)]
    kept = [file.read_text() for file in files]
    for file in files:
        file.unlink()
    store = watched(a_monitor(tmp_path), 4)
    ops = FakeChannel()
    ledger = Ledger(store, MONITOR)

    def subjects(hours):
        now = after(4) + timedelta(hours=hours)
        tick(store, "stream", moment=now)
        deliver_due(ledger, [ops], now)
        return [alerts(store)[key].subject for _, key in ops.told]

    assert len(subjects(1)) == 1
    files[0].write_text(kept[0])
    assert len(subjects(2)) == 1                # the other is still missing
    files[1].write_text(kept[1])
    assert subjects(3)[1:] == ["stream: window 2026-11-03 has come"]
    assert len(subjects(4)) == 2


def test_a_sweep_that_fails_on_a_window_tells_of_it_as_the_monitor(tmp_path):
    write_stream(tmp_path, 1, items=60)
    spec, store = a_monitor(tmp_path), MemoryStore()
    register(store, spec)
    window = spec.window("2026-11-01")
    opening = open_window(read_run(store, "stream", after(1)), window)
    begin_evaluation(store, spec.evaluation(window, opening.evaluation, opening.labels, None, 0))
    labels = tmp_path / "labels-2026-11-01.csv"
    kept = labels.read_text()
    labels.unlink()
    assert opening.evaluation in sweep_store(store).failed
    (row,) = rows(store)
    assert row.state == "failed"
    assert "labels-2026-11-01.csv" in row.wrong.why
    assert [alert.kind for alert in alerts(store).values()] == ["failure"]
    assert not list(store.keys(f"{opening.evaluation}/alerts/"))
    labels.write_text(kept)
    sweep_store(store)
    assert rows(store)[0].wrong is None


def test_an_error_that_is_none_of_ours_is_told_as_the_monitor_and_stops_no_other(tmp_path, monkeypatch):
    write_stream(tmp_path, 2, items=60)
    spec, store = a_monitor(tmp_path), MemoryStore()
    register(store, spec)
    window = spec.window("2026-11-01")
    opening = open_window(read_run(store, "stream", after(1)), window)
    begin_evaluation(store, spec.evaluation(window, opening.evaluation, opening.labels, None, 0))

    def broken(*_arguments, **_options):
        raise TypeError("a reply of another shape")

    with monkeypatch.context() as patched:
        patched.setattr("assay.flows.drivers.sweep.advance", broken)
        assert opening.evaluation in sweep_store(store).failed
    (row,) = rows(store)
    assert row.state == "failed"
    assert "an unexpected TypeError" in row.wrong.why
    assert [alert.kind for alert in alerts(store).values()] == ["failure"]
    sweep_store(store)
    assert rows(store)[0].wrong is None
    with monkeypatch.context() as patched:
        patched.setattr("assay.flows.monitor.tick.open_due", broken)
        failed = tick(store, "stream", moment=after(2)).failed
    assert "an unexpected TypeError" in failed["2026-11-02"]


def test_people_who_do_not_finish_make_a_window_stale_and_a_spent_month_is_told(tmp_path):
    write_stream(tmp_path, 2, items=60)
    data = changed(tmp_path, monthly_labels=60, stale_days=2.0)
    data["desk"]["delay"] = 10.0**7
    data["alerts"] = {"tell": ["stale", "spent", "unlabelled"]}
    store = watched(spec_of(data), 2)
    assert [row.state for row in rows(store)] == ["unlabelled", "waiting"]   # the newer comes first
    tick(store, "stream", moment=after(5))
    assert [row.state for row in rows(store)][:2] == ["unlabelled", "stale"]
    told = sorted(key.split("-")[0] + key[-9:] for key in alerts(store) if "spent" in key or "stale" in key)
    assert [key for key in alerts(store) if key.startswith("spent")] == ["spent-20261103", "spent-20261106"]
    assert any(alert.kind == "stale" for alert in alerts(store).values()), told


def test_what_is_raised_during_a_mute_is_summed_up_and_a_standing_breach_told(tmp_path):
    write_stream(tmp_path, 2, drop_from=0, worse=0.45, items=150)
    store = watched(spec_of(changed(tmp_path)), 0)
    mute(store, "stream", until=after(2), reason="roll-out", moment=after(0))
    tick(store, "stream", moment=after(1))
    (key,) = alerts(store)
    assert store.exists(layout.alert_muted(MONITOR, key))
    assert outbox_index(store) == {}
    assert deliver(store, clock=lambda: after(1)) == []
    tick(store, "stream", moment=after(1))                 # again: nothing changes
    assert list(alerts(store)) == [key]
    tick(store, "stream", moment=after(2) + timedelta(minutes=1))
    summary = alerts(store)["mute-0001-ended"]
    assert summary.subject == "stream: the mute has ended; 1 alert muted"
    assert "roll-out" in summary.body
    # of the second window, in the same run: of the incident that was muted, under another key
    again = alerts(store)["verdict-000002"]
    assert again.kind == "breach"
    assert f"Of this still stands, and is told by itself:\n- {again.subject}" in summary.body
    assert f"{key}-unmuted" not in alerts(store), "one incident is told once"
    waiting = {one.key for one in outbox_index(store)[MONITOR]}
    assert "mute-0001-ended" in waiting
    assert key not in waiting
    tick(store, "stream", moment=after(2) + timedelta(minutes=9))
    assert sum("ended" in one for one in alerts(store)) == 1


def test_windows_that_came_too_late_are_backfilled_and_the_alert_says_so(tmp_path):
    write_stream(tmp_path, 6, items=150)
    late = [tmp_path / f"predictions-2026-11-0{n}.csv" for n in (2, 3)]
    texts = [file.read_text() for file in late]
    for file in late:
        file.unlink()
    data = changed(tmp_path, last="2026-11-06", late_days=2)
    data["alerts"] = {"tell": ["missing", "recovery"]}
    store = watched(spec_of(data), 1)
    tick(store, "stream", moment=after(12))     # the monitor did not run: all is found at once, too late
    (told,) = [one for one in alerts(store).values() if one.kind == "missing"]
    assert "until" not in told.body
    assert "`assay backfill stream --from 2026-11-02 --to 2026-11-03`" in told.body
    for file, text in zip(late, texts, strict=True):
        file.write_text(text)
    assert not tick(store, "stream", moment=after(13)).opened, "no run looks by itself any more"
    with pytest.raises(BadInput, match=r"no window from 2026-12-01 is due; it has 2026-11-01 to 2026-11-06"):
        backfill(store, "stream", from_window="2026-12-01", to_window=None, moment=after(13))
    done = backfill(store, "stream", from_window="2026-11-02", to_window="2026-11-03", moment=after(13))
    assert done.summary() == "2 evaluations opened, 2 verdicts"
    assert all(row.verdict is not None and row.wrong is None for row in rows(store))
    assert [key for key in alerts(store) if key.startswith("missing-ended")]
    # predictions that were mended later, too
    late[0].write_text("\n".join(texts[0].splitlines()[:-30]) + "\n")
    done = backfill(store, "stream", from_window="2026-11-02", to_window="2026-11-04", moment=after(14))
    assert [(one.window, one.why) for one in done.opened] == [("2026-11-02", "late predictions")]
    assert not tick(store, "stream", moment=after(15)).opened
    assert not verify_monitor(store, "stream").differences


def test_a_collapse_and_a_missing_window_outlive_a_mute(tmp_path):
    write_stream(tmp_path, 3, items=150)
    file = tmp_path / "predictions-2026-11-02.csv"
    file.write_text(file.read_text().replace(",1,item", ",0,item"))
    (tmp_path / "predictions-2026-11-03.csv").unlink()
    store = watched(spec_of(changed(tmp_path, last="2026-11-03")), 1)
    mute(store, "stream", until=after(4) + timedelta(hours=1), reason="roll-out", moment=after(1))
    tick(store, "stream", moment=after(4))
    assert {one.kind for one in alerts(store).values()} >= {"collapse", "missing"}
    tick(store, "stream", moment=after(4) + timedelta(hours=2))
    summary = alerts(store)["mute-0001-ended"].body
    (collapse,) = [one for key, one in alerts(store).items() if key == "collapse-2026-11-02-unmuted"]
    assert f"- {collapse.subject}\n- 1 window missing: 2026-11-03" in summary


def test_a_mute_may_be_ended_early_and_needs_a_reason_and_a_date_to_come(tmp_path):
    write_stream(tmp_path, 1, drop_from=0, worse=0.45, items=150)
    store = watched(spec_of(changed(tmp_path)), 0)
    with pytest.raises(BadInput, match="is past"):
        mute(store, "stream", until=after(0), reason="x", moment=after(1))
    with pytest.raises(BadInput, match="needs a reason"):
        mute(store, "stream", until=after(9), reason=" ", moment=after(1))
    assert not unmute(store, "stream", moment=after(0))
    mute(store, "stream", until=after(9), reason="roll-out", moment=after(0))
    tick(store, "stream", moment=after(1))
    assert unmute(store, "stream", moment=after(1) + timedelta(hours=1))
    assert {"mute-0001-ended", "verdict-000001-unmuted"} <= alerts(store).keys()
    assert verify_monitor(store, "stream").verified


def test_the_command_backfill_needs_a_monitor_and_a_window(tmp_path, capsys):
    write_stream(tmp_path, 2, items=150)
    spec = spec_of(changed(tmp_path, last="2026-11-02"))
    store = open_store(str(tmp_path / "ledger"))
    register(store, spec)
    where = ["--store", str(tmp_path / "ledger")]
    assert run_command_line(["backfill", "stream", "--from", "2026-11-02", *where]) == 4
    assert "1 evaluation opened, 1 verdict" in capsys.readouterr().out
    assert run_command_line(["backfill", "stream", *where]) == 2
    assert run_command_line(["backfill", "other", "--from", "2026-11-02", *where]) == 2
    assert run_command_line(["backfill", "stream", "--from", "2026-W44", *where]) == 2


def test_the_commands_amend_and_mute(tmp_path, capsys):
    write_stream(tmp_path, 1, items=60)
    path = tmp_path / "watch.yaml"
    where = ["--store", str(tmp_path / "ledger")]
    data = changed(tmp_path, last="2026-11-01")
    path.write_text(json.dumps(data))
    run_command_line(["monitor", str(path), "--once", *where])
    path.write_text(json.dumps(changed(tmp_path, 0.9)))
    assert run_command_line(["monitor", str(path), "--once", *where]) == 2
    assert "assay amend SPEC" in capsys.readouterr().err
    assert run_command_line(["amend", str(path), "--reason", "agreed", *where]) == 0
    out = capsys.readouterr().out
    assert "changed: limit.min, monitor.last" in out
    assert "The evidence begins anew for: floor." in out
    assert run_command_line(["amend", str(path), "--json", *where]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "format_number": 1, "monitor": "stream", "amendment": None,
    }
    assert run_command_line(["mute", "stream", "--until", "2999-01-01", "--reason", "roll-out", *where]) == 0
    assert run_command_line(["history", "stream", *where]) == 0
    out = capsys.readouterr().out
    assert "version 2 from" in out
    assert "alerts are muted until 2999-01-01 00:00 UTC: roll-out" in out
    assert run_command_line(["unmute", "stream", *where]) == 0
    assert run_command_line(["mute", "stream", "--until", "tomorrow", "--reason", "x", *where]) == 2
    out = tmp_path / "pages"
    assert run_command_line(["history", "stream", "--out", str(out), *where]) == 0
    assert "Changes of the monitor" in (out / "history.html").read_text()


def test_windows_that_a_clock_ahead_of_time_called_missing_are_withdrawn(tmp_path):
    write_stream(tmp_path, 4, items=60)
    store = watched(spec_of(changed(tmp_path, late_days=0, grace_hours=0)), 2)
    tick(store, "stream", moment=after(40))                       # a clock that was more than a month ahead
    assert sum(row.state == "missing" for row in rows(store)) == 36
    tick(store, "stream", moment=after(3))
    found = read_monitor_history(store, "stream", lambda: after(3)).rows
    assert [row.window for row in found if row.state == "missing"] == []
    assert [row.window for row in found] == ["2026-11-01", "2026-11-02", "2026-11-03", "2026-11-04"]
    write_stream(tmp_path, 6, items=60)
    tick(store, "stream", moment=after(6))                        # and windows that come are looked at
    found = read_monitor_history(store, "stream", lambda: after(6)).rows
    assert [row.verdict is not None for row in found] == [True] * 6


def test_history_without_a_name_lists_monitors_and_alerts_take_a_monitors_name(tmp_path, capsys, monkeypatch):
    write_stream(tmp_path, 2, drop_from=1, worse=0.45, items=60)
    monkeypatch.setenv("ASSAY_STORE", str(tmp_path / "ledger"))
    from assay.tasks.ledger import open_store

    store = open_store(str(tmp_path / "ledger"))
    register(store, spec_of(changed(tmp_path)))
    assert run_command_line(["history"]) == 0
    assert "stream: no window yet" in capsys.readouterr().out
    tick(store, "stream", moment=after(2))
    assert run_command_line(["history"]) == 0
    assert "stream: window 2026-11-02: in breach; 2 windows" in capsys.readouterr().out
    assert run_command_line(["alerts", "stream", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["alerts"]
    assert run_command_line(["alerts", "monitors/stream", "--json"]) == 0
    assert told == json.loads(capsys.readouterr().out)["alerts"] != []
