"""A monitor over a stream of days, with simulated annotators: drops, late predictions, budgets, races."""

import csv
import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import date

import numpy as np
import pyarrow.parquet as pq
import pytest
from doubles.stream import a_monitor, after, monitor_data, write_day, write_stream

from assay.evalcore.errors import BadInput
from assay.evalcore.monitoring.calendar import window_named
from assay.flows.cli.main import run_command_line
from assay.flows.drivers.sweep import sweep_store
from assay.flows.evaluation.begin import begin_evaluation
from assay.flows.evaluation.finish import CannotExtend, extend
from assay.flows.monitor.history import read_monitor_history
from assay.flows.monitor.opening import open_window
from assay.flows.monitor.run import read_run
from assay.flows.monitor.tick import tick, window_of
from assay.flows.monitor.versions import MonitorNameTaken, UnknownMonitor, open_monitor, register
from assay.flows.record.opened import open_evaluation
from assay.flows.record.standing import current_standing
from assay.flows.verify.ledger import verify
from assay.flows.verify.monitor import verify_monitor
from assay.tasks.ledger import layout
from assay.tasks.ledger.asked_round import read_plan
from assay.tasks.ledger.monitors import read_openings, read_verdicts
from assay.tasks.ledger.record import Ledger
from assay.tasks.ledger.stores.store import MemoryStore
from assay.tasks.pool.inherited import labels_by_item, labels_to_inherit
from assay.tasks.spec.monitor import MonitorSpec, load_monitor_spec
from assay.tasks.testing import FakeDesk


def _watched(spec, days, store=None):
    store = MemoryStore() if store is None else store
    register(store, spec)
    done = tick(store, spec.name, moment=after(days))
    return store, done, read_monitor_history(store, spec.name).rows


def monitors_ledger(store):
    """What the store holds of the monitor."""
    return Ledger(store, layout.monitor_ledger("stream"))


def test_a_drop_is_called_a_breach_and_told_once_and_what_came_before_is_not(tmp_path):
    write_stream(tmp_path, 5, drop_from=3, worse=0.45)
    store, done, rows = _watched(a_monitor(tmp_path, quiet_labels=100), 5)
    assert not done.failed
    assert [row.state != "breach" for row in rows] == [True, True, True, False, False]
    told = [key for key in store.keys("monitors/stream/alerts/") if key.endswith(".json")]
    assert told == [f"monitors/stream/alerts/verdict-{n:06d}.json" for n in (4, 5)]
    # nothing is left to do, and doing it again changes no record; what a look keeps for the next is derived
    before = {key: store.get(key) for key in store.keys("")}
    assert tick(store, "stream", moment=after(5)).summary() == "nothing is due"
    once = {key: store.get(key) for key in store.keys("")}
    assert {key: blob for key, blob in once.items() if not key.startswith("index/looks/")} == before
    assert tick(store, "stream", moment=after(5)).summary() == "nothing is due"
    assert {key: store.get(key) for key in store.keys("")} == once
    assert verify(store, "stream-2026-11-04").verified


def test_a_quiet_window_gets_a_small_check_and_a_shifted_one_the_full_budget(tmp_path):
    write_stream(tmp_path, 9, shift_from=7)
    _, _, rows = _watched(a_monitor(tmp_path, quiet_labels=40), 9)
    assert [row.openings[0].why for row in rows[:8]] == ["first", *["quiet"] * 6, "suspicious"]
    assert [row.bought for row in rows[:8]] == [100, *[40] * 6, 100]
    assert "ks" in {signal.name for signal in rows[7].raised}
    assert not any(row.raised for row in rows[:7])
    # it lasts, and its labels have told what it means: only another signal would be new
    assert "ks" in {signal.name for signal in rows[8].raised}
    if {signal.name for signal in rows[8].raised} <= {signal.name for signal in rows[7].raised}:
        assert (rows[8].openings[0].why, rows[8].bought) == ("quiet", 40)


def test_the_months_labels_are_never_exceeded_and_what_is_left_out_says_so(tmp_path):
    write_stream(tmp_path, 4)
    spec = a_monitor(tmp_path, monthly_labels=150, quiet_labels=40, follow_ups=5, reserve=0.0)
    _, _, rows = _watched(spec, 4)
    assert 120 <= sum(row.bought for row in rows) <= 150
    assert [row.state == "unlabelled" for row in rows] == [True, False, False, False]   # newest first


def _outage(folder, answered, **monitor):
    """A monitor that looked daily for eight days, and then not for 21; from day 19 on the stream is worse.

    answered: whether people answer at once
    """
    write_stream(folder, 40, drop_from=19, worse=0.45, items=200)
    usual = {"monthly_labels": 500, "follow_ups": 2, "quiet_labels": 25, "sizing": "decide",
             "spending": "first"}
    data = monitor_data(folder, **usual | monitor)
    if not answered:
        data["desk"]["delay"] = 10.0**7
    store = MemoryStore()
    register(store, MonitorSpec.from_data(data, "x"))
    for day in [*range(1, 9), 29]:
        tick(store, "stream", moment=after(day))
    return store


def rows_of(store, day):
    """The windows at noon after so many days."""
    return read_monitor_history(store, "stream", lambda: after(day)).rows


def test_after_an_outage_the_newest_windows_are_labelled_and_the_breach_is_found(tmp_path):
    store = _outage(tmp_path, answered=True)
    rows = rows_of(store, 29)
    before, newest = rows[:8], rows[-5:]
    assert all(row.bought >= 25 for row in (*before, *newest)), "each window has its own labels"
    assert newest[-1].state == "breach"
    assert sum(row.bought for row in rows) <= 500
    unlabelled = [row for row in rows if row.state == "unlabelled"]
    assert {row.wrong.why for row in unlabelled} == {"opened late: newer windows come first"}
    assert {row.openings[0].why for row in unlabelled} == {"catching up"}
    assert max(row.window for row in unlabelled) < min(row.window for row in newest)
    assert all(not row.openings[1:] for row in rows if row.window < "2026-11-15"), "no follow-up so late"
    # a month later there are labels to spare: first for windows to come, then for the newest without any
    tick(store, "stream", moment=after(31))
    later = rows_of(store, 31)
    assert all(row.bought >= 25 for row in later[-2:])
    assert verify_monitor(store, "stream").verified


def test_windows_that_an_outage_left_are_labelled_later_the_newest_first(tmp_path):
    store = _outage(tmp_path, answered=True, monthly_labels=300, last="2026-12-03")
    without = [row.window for row in rows_of(store, 29) if row.state == "unlabelled"]
    assert without
    for day in range(30, 34):
        tick(store, "stream", moment=after(day))
    rows = {row.window: row for row in rows_of(store, 33)}
    got = [window for window in without if rows[window].bought]
    assert got
    assert got == without[-len(got):], "the newest first"
    assert {rows[window].openings[-1].why for window in got} == {"labelled later"}
    assert all(rows[window].state != "unlabelled" for window in got)
    assert verify_monitor(store, "stream").verified


def test_after_an_outage_people_get_few_late_windows_at_a_time(tmp_path):
    few = {"newest": 3, "older_than": 10.0}
    store = _outage(tmp_path, answered=False, monthly_labels=5000, catch_up=few)
    states = {row.window: row.state for row in rows_of(store, 29) if row.window > "2026-11-08"}
    late = [window for window, state in states.items() if state in ("waiting", "stale")]
    assert late == ["2026-11-25", "2026-11-26", "2026-11-27", "2026-11-28", "2026-11-29"]   # two are on time
    tick(store, "stream", moment=after(29), only=["2026-11-12"])     # somebody asks for this one by name
    assert next(row for row in rows_of(store, 29) if row.window == "2026-11-12").state == "waiting"


def test_an_inconclusive_window_buys_what_would_decide(tmp_path):
    write_stream(tmp_path, 1)
    spec = {**monitor_data(tmp_path, follow_ups=1), "threshold": {"min": 0.87}}
    store, _, rows = _watched(MonitorSpec.from_data(spec, "x"), 1)
    verdicts = read_verdicts(monitors_ledger(store))
    if verdicts[0].verdict == "inconclusive":
        assert [v.reissue for v in verdicts] == [0, 1]
        asked = min(verdicts[0].labels_to_decide, 100)
        assert rows[0].bought == verdicts[0].rests_on.bought + asked
        assert rows[0].asked == 0
        assert replace(rows[0], verdict=verdicts[0]).asked == asked, "while people work on the follow-up"
    else:
        pytest.fail("the fixture should be near its floor")


def test_a_follow_up_extends_the_evaluation_so_there_is_one_number_everywhere(tmp_path):
    write_stream(tmp_path, 1, items=4000)
    data = monitor_data(tmp_path, follow_ups=2) | {"threshold": {"min": 0.91}, "budget": {"labels": 40}}
    store, _, (row,) = _watched(MonitorSpec.from_data(data, "x"), 1)
    first, *_, last = read_verdicts(monitors_ledger(store))
    assert (first.rests_on.follow_ups, last.rests_on.follow_ups) == (0, 2)
    assert {one.evaluation for one in row.openings} == {"stream-2026-11-01"}
    measured = row.overall.measured
    # distinct items, each bought once
    items = labels_to_inherit_items(store)
    assert len(items) == measured.labels == row.bought == last.rests_on.labels
    assert row.bought == sum(one.labels for one in row.openings)
    # the report and the status say what the verdict says
    standing = current_standing(open_evaluation(store, "stream-2026-11-01"))
    said = standing.known.estimates[0]
    assert (said.value, said.lower, said.upper, said.labels, said.confidence) == (
        measured.value, measured.lower, measured.upper, measured.labels, measured.confidence
    )
    # whoever may buy more while it is open has more chances to be misled: later intervals are wider
    assert (first.overall.measured.confidence, measured.confidence) == pytest.approx((0.95, 1 - 0.05 / 6))
    assert verify_monitor(store, "stream").verified
    assert verify(store, "stream-2026-11-01").verified
    assert extended_by_hand_is_refused(store)


def labels_to_inherit_items(store):
    """The items of the window that have a label."""
    return set(labels_by_item(Ledger(store, "stream-2026-11-01")))


def extended_by_hand_is_refused(store):
    """Whether nobody but the monitor may buy labels for a window."""
    with pytest.raises(CannotExtend, match="belongs to window 2026-11-01"):
        extend(store, "stream-2026-11-01", 200)
    return True


def test_a_window_beyond_its_limit_without_an_alarm_buys_what_would_call_it(tmp_path):
    write_stream(tmp_path, 2, drop_from=1, worse=0.3)
    stopped = _watched(a_monitor(tmp_path, quiet_labels=40, follow_ups=0), 2)[2][1]
    measured = stopped.verdict.overall.measured
    assert stopped.state == "inconclusive"
    assert measured.upper < 0.85, "the fixture should be beyond its limit"
    assert stopped.verdict.labels_to_decide > 0
    store, _, rows = _watched(a_monitor(tmp_path, quiet_labels=40, follow_ups=2), 2)
    assert rows[1].state == "breach"
    assert [o.why for o in rows[1].openings][1:] == ["follow-up"] * (len(rows[1].openings) - 1)
    assert rows[1].bought > 40
    assert verify_monitor(store, "stream").verified


def test_labels_of_a_quiet_window_are_decided_from_the_windows_before(tmp_path):
    write_stream(tmp_path, 4)
    data = monitor_data(tmp_path, sizing="decide", quiet_labels=20) | {"threshold": {"min": 0.78}}
    store, _, rows = _watched(MonitorSpec.from_data(data, "x"), 4)
    assert rows[0].openings[0].sizing is None
    for number, row in enumerate(rows[1:], start=1):
        opening = row.openings[0]
        assert opening.why == "quiet"
        assert opening.sizing.verdicts == number
        assert opening.sizing.windows == tuple(one.window for one in rows[:number])
        assert opening.labels == opening.sizing.labels == min(max(opening.sizing.decides, 20), 100)
    assert len({row.openings[0].labels for row in rows[1:]} - {20, 100}) > 0, "something in between"
    assert verify_monitor(store, "stream").verified
    changed, size = MemoryStore(), rows[2].openings[0].sizing
    for key in store.keys(""):
        blob = store.get(key)
        if key == "monitors/stream/windows/2026-11-03/openings/0001.json":
            blob = blob.replace(b'"decides":%d' % size.decides, b'"decides":%d' % (size.decides + 1))
        changed.put(key, blob)
    assert [(d.key, d.difference) for d in verify_monitor(changed, "stream").differences] == [(
        "monitors/stream/windows/2026-11-03/openings/0001.json",
        "its labels do not follow from the windows before",
    )]


def test_the_mean_over_the_last_windows_stands_beside_the_newest(tmp_path):
    write_stream(tmp_path, 4)
    data = monitor_data(tmp_path, quiet_labels=60, recent=3)
    data["pool"]["segments"] = ["half"]
    _, _, rows = _watched(MonitorSpec.from_data(data, "x"), 4)
    assert rows[0].recent is None
    assert [row.recent.windows for row in rows[1:]] == [
        ("2026-11-01", "2026-11-02"), ("2026-11-01", "2026-11-02", "2026-11-03"),
        ("2026-11-02", "2026-11-03", "2026-11-04"),
    ]
    last = rows[3].recent
    measured = [row.verdict.overall.measured for row in rows[1:]]
    assert last.value == pytest.approx(sum(m.value for m in measured) / 3)   # 60 labels each
    assert last.upper - last.lower < min(m.upper - m.lower for m in measured)
    assert last.joined == "independent"
    assert rows[3].recent_of("half=a").windows == last.windows


def test_warm_starts_make_windows_dependent_where_the_label_model_estimates(tmp_path):
    write_stream(tmp_path, 3)
    for method, joined in (
        ("dirichlet-tree:depth=3", "independent"), ("recalibrated:report_draws=100", "draws")
    ):
        data = monitor_data(tmp_path, quiet_labels=50) | {"method": method}
        _, _, rows = _watched(MonitorSpec.from_data(data, "x"), 3)
        assert rows[1].openings[0].inherits == "stream-2026-11-01"
        assert [row.recent.joined for row in rows[1:]] == [joined, joined]
        assert rows[1].verdict.dependent == (joined == "draws")


def test_late_predictions_reissue_the_window_and_a_rewritten_file_does_not(tmp_path):
    write_stream(tmp_path, 2)
    spec = a_monitor(tmp_path)
    store, _, _ = _watched(spec, 2)
    source = tmp_path / "predictions-2026-11-02.csv"
    source.write_text(source.read_text())                      # another time stamp, the same rows
    assert tick(store, "stream", moment=after(3)).opened == []    # the third day's file is missing, and fails
    day = date(2026, 11, 2)
    rng = np.random.default_rng(1)
    logit = 4 * rng.standard_normal(400)
    write_day(tmp_path, day, logit, rng.random(400) < 1 / (1 + np.exp(-logit)))
    done = tick(store, "stream", moment=after(3))
    assert [o.why for o in done.opened] == ["late predictions"]
    row = next(r for r in read_monitor_history(store, "stream").rows if r.window == "2026-11-02")
    assert row.replaced == 1
    assert row.verdict.rests_on.evaluation == "stream-2026-11-02-r1"
    judged = read_verdicts(monitors_ledger(store))
    assert [v.window for v in judged] == ["2026-11-01", "2026-11-02", "2026-11-02"]
    # after the days of grace nothing is reissued any more
    write_day(tmp_path, day, logit[:300], np.zeros(300, bool))
    assert tick(store, "stream", moment=after(30), only=["2026-11-02"]).opened == []


def test_a_window_whose_predictions_are_missing_holds_up_no_other(tmp_path):
    write_stream(tmp_path, 3)
    (tmp_path / "predictions-2026-11-02.csv").rename(tmp_path / "elsewhere.csv")
    store, done, rows = _watched(a_monitor(tmp_path), 3)
    assert not done.failed
    assert list(done.left_out) == ["2026-11-02"]
    path = tmp_path / "predictions-2026-11-02.csv"
    assert done.left_out["2026-11-02"].startswith(f"missing: no file {path}")
    assert [(row.window, row.state == "missing") for row in rows] == [
        ("2026-11-01", False), ("2026-11-02", True), ("2026-11-03", False)
    ]
    assert len(list(store.keys("monitors/stream/alerts/missing"))) == 1
    (tmp_path / "elsewhere.csv").rename(tmp_path / "predictions-2026-11-02.csv")
    tick(store, "stream", moment=after(3))
    assert [r.window for r in read_monitor_history(store, "stream").rows] == [
        "2026-11-01", "2026-11-02", "2026-11-03"
    ]


def test_people_who_are_slow_hold_up_their_own_window_only(tmp_path):
    write_stream(tmp_path, 2)
    data = monitor_data(tmp_path)
    data["desk"]["delay"] = 3600.0
    _, done, rows = _watched(MonitorSpec.from_data(data, "x"), 2)
    assert sorted(done.waiting) == ["stream-2026-11-01", "stream-2026-11-02"]
    assert [row.state for row in rows] == ["waiting", "waiting"]


def test_two_ticks_at_once_leave_what_one_leaves(tmp_path):
    write_stream(tmp_path, 3, drop_from=2)
    spec = a_monitor(tmp_path, quiet_labels=50)
    alone, _, _ = _watched(spec, 3)
    shared = MemoryStore()
    register(shared, spec)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda _: tick(shared, "stream", moment=after(3)), range(2)))
    tick(shared, "stream", moment=after(3))
    assert {v.window: v.verdict for v in read_verdicts(monitors_ledger(shared))} == {
        v.window: v.verdict for v in read_verdicts(monitors_ledger(alone))
    }
    assert all(len(several) == 1 for several in read_openings(monitors_ledger(shared)).values())


def test_a_drop_from_the_reference_is_told_against_what_the_reference_surely_was(tmp_path):
    write_stream(tmp_path, 4, drop_from=2, worse=0.45)
    data = monitor_data(tmp_path, quiet_labels=100, drop={"by": 0.02})
    del data["threshold"]
    _, _, rows = _watched(MonitorSpec.from_data(data, "x"), 4)
    assert rows[0].verdict.overall.limits == ()
    limit = rows[1].verdict.overall.limits[0]
    assert limit.name == "reference"
    # what its own draws leave sure of it, at half of the error rate, and not an end of its interval
    sure = rows[0].verdict.overall.sure
    assert limit.value == pytest.approx(sure - 0.02)
    assert sure < rows[0].verdict.overall.measured.value
    assert [row.state for row in rows[2:]] == ["breach", "breach"]


def test_a_drop_from_the_windows_before_is_told_against_what_they_surely_were(tmp_path):
    write_stream(tmp_path, 5, drop_from=4, worse=0.7)
    drop = {"by": 0.0, "than": "previous", "windows": 3}
    data = monitor_data(tmp_path, quiet_labels=100, drop=drop, horizon=5)
    del data["threshold"]
    _, _, rows = _watched(MonitorSpec.from_data(data, "x"), 5)
    assert [row.state == "breach" for row in rows] == [False] * 4 + [True]


def test_segments_are_judged_beside_the_pool(tmp_path):
    write_stream(tmp_path, 2, drop_from=1, worse=0.4)
    data = monitor_data(tmp_path, quiet_labels=100)
    data["pool"]["segments"] = ["half"]
    _, _, rows = _watched(MonitorSpec.from_data(data, "x"), 2)
    assert {one.segment for one in rows[1].verdict.segments} == {"half=a", "half=b"}
    assert any(one.verdict == "breach" for one in rows[1].verdict.segments)


def test_another_spec_under_the_same_name_is_refused_and_an_unknown_name_too(tmp_path):
    store = MemoryStore()
    register(store, a_monitor(tmp_path))
    register(store, a_monitor(tmp_path))
    with pytest.raises(MonitorNameTaken, match="monitor"):
        register(store, a_monitor(tmp_path, error_rate=0.01))
    with pytest.raises(UnknownMonitor, match="it holds stream"):
        open_monitor(store, "strean")
    with pytest.raises(BadInput, match="not a day"):
        tick(store, "stream", moment=after(1), only=["2026-W47"])


def test_a_monitor_is_verified_and_a_changed_verdict_is_found(tmp_path):
    write_stream(tmp_path, 3, drop_from=2, worse=0.45)
    store, _, _ = _watched(a_monitor(tmp_path, quiet_labels=60), 3)
    assert verify_monitor(store, "stream").verified
    changed = MemoryStore()
    for key in store.keys(""):
        blob = store.get(key)
        if key == "monitors/stream/verdicts/000002.json":
            blob = blob.replace(b'"labels":60', b'"labels":61')
        changed.put(key, blob)
    # the mean over the last windows in the third verdict rests on the second
    assert [d.key for d in verify_monitor(changed, "stream").differences] == [
        "monitors/stream/verdicts/000002.json", "monitors/stream/verdicts/000003.json",
    ]
    strange = [
        "monitors/stream/notes.txt", "monitors/stream/verdicts/1.json", "monitors/stream/windows/notes.txt",
    ]
    for key in strange:
        store.put(key, b"{}")
    assert [d.key for d in verify_monitor(store, "stream").differences] == strange


def test_the_command_line_does_what_is_due_and_tells_the_history(tmp_path, capsys):
    write_stream(tmp_path, 1, drop_from=0, worse=0.45)
    spec = tmp_path / "watch.yaml"
    spec.write_text(json.dumps(monitor_data(tmp_path)))     # JSON is YAML
    where = ["--store", str(tmp_path / "ledger")]
    assert run_command_line(["monitor", str(spec), "--once", "--window", "2026-11-01", *where]) == 3
    printed = capsys.readouterr()
    assert "breach" in printed.out
    assert "by 1 window so far about 0 of 40 windows will be inconclusive with 100 labels each" in printed.err
    out = tmp_path / "history"
    assert run_command_line(["history", "stream", "--json", "--out", str(out), *where]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [window["state"] for window in told["windows"]] == ["breach"]
    assert sorted(str(path.relative_to(out)) for path in out.rglob("*") if path.is_file()) == [
        "history.html", "history.json", "history.parquet", "windows.json", "windows/2026-11-01.html"
    ]
    rows = pq.read_table(out / "history.parquet").to_pylist()
    assert [(row["window"], row["verdict"], row["bought"]) for row in rows] == [("2026-11-01", "breach", 100)]
    page = (out / "history.html").read_text()
    assert 'src="data:image/svg+xml;base64,' in page
    assert "<script" not in page
    assert run_command_line(["verify", "stream", *where]) == 0
    assert run_command_line(["history", "strean", *where]) == 2
    assert run_command_line(["monitor", str(spec), "--window", "2026-11-01", *where]) == 2


def test_the_template_of_a_monitor_loads(tmp_path):
    path = tmp_path / "watch.yaml"
    assert run_command_line(["init", "--monitor", str(path)]) == 0
    assert load_monitor_spec(path).kind == "day"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"threshold": None, "drop": None}, "nothing could be a breach"),
        ({"first": "2026-W47"}, r"\$\.monitor\.first '2026-W47' is not a day"),
        ({"schedule": {}}, "needs exactly one of `cron` and `every_minutes`"),
        ({"errorrate": 0.05}, "did you mean 'error_rate'"),
        ({"timezone": "Berlin"}, r"\$\.monitor\.timezone 'Berlin' is no time zone"),
        ({"timezone": "Asia/Tokyo", "source": "{date}{hour}.csv", "first": "2026-11-01T00"}, "must be UTC"),
        ({"without": ["2026-11-01"]}, r"\$\.monitor\.without covers 2026-11-01"),
        ({"without": ["christmas"]}, r"\$\.monitor\.without lists 'christmas'"),
        ({"source": "p.csv"}, r"\$\.pool\.source names no window of time"),
        ({"warm_start": {"evaluation": "x"}, "method": "dirichlet-tree"}, "see monitor.carry_over"),
    ],
)
def test_a_monitor_that_makes_no_sense_is_refused_with_the_remedy(tmp_path, change, message):
    data = monitor_data(tmp_path)
    for key, value in change.items():
        if key == "source":
            data["pool"]["source"] = value
        elif key in ("threshold", "warm_start", "method"):
            data[key] = value
        else:
            data["monitor"][key] = value
    with pytest.raises(BadInput, match=message):
        MonitorSpec.from_data({k: v for k, v in data.items() if v is not None}, "watch.yaml")


def test_a_spec_without_a_monitor_section_is_no_monitor(tmp_path):
    path = tmp_path / "plain.yaml"
    path.write_text("name: x\n")
    with pytest.raises(BadInput, match="assay init --monitor"):
        load_monitor_spec(path)


def test_labels_that_people_correct_later_reissue_the_verdict(tmp_path, monkeypatch):
    write_stream(tmp_path, 1)
    with (tmp_path / "labels-2026-11-01.csv").open(newline="") as opened:
        truth = {row["item_id"]: ("no", "yes")[int(row["label"])] for row in csv.DictReader(opened)}
    desk = FakeDesk(truth)
    monkeypatch.setattr("assay.flows.evaluation.advance.desk_of", lambda store, spec: desk)
    data = monitor_data(tmp_path)
    data["budget"]["labels"] = 50
    store, _, rows = _watched(MonitorSpec.from_data(data, "x"), 1)
    planned = read_plan(Ledger(store, "stream-2026-11-01"), 1)
    for t in planned.asked()[:25]:
        name = planned.item_id[t]
        desk.answers[name] = {"yes": "no", "no": "yes"}[truth[name]]
    done = tick(store, "stream", moment=after(1))
    assert [(v.window, v.reissue, v.rests_on.revision) for v in done.verdicts] == [("2026-11-01", 1, 1)]
    assert done.verdicts[0].overall.measured.value < rows[0].verdict.overall.measured.value
    # the next window would start from what stands, and not from what was corrected
    spec = MonitorSpec.from_data(data, "x")
    for one in labels_to_inherit(store, spec, "stream-2026-11-01", 0.5):
        assert one.label == (desk.answers[one.item_id] == "yes")
    assert tick(store, "stream", moment=after(1)).summary() == "nothing is due"


def test_a_window_whose_people_are_done_is_judged_by_whoever_finishes_it(tmp_path):
    write_stream(tmp_path, 1, drop_from=0, worse=0.45)
    spec, store = a_monitor(tmp_path), MemoryStore()
    register(store, spec)
    # the schedule opens the window; its evaluation is left where people would be asked
    opening = open_window(read_run(store, "stream", after(1)), window_named("2026-11-01", spec.kind))
    window = window_named("2026-11-01", spec.kind)
    begin_evaluation(store, spec.evaluation(window, opening.evaluation, opening.labels, None, 0))
    assert window_of(store, opening.evaluation) == ("stream", "2026-11-01")
    assert list(sweep_store(store).finished) == [opening.evaluation]
    judged = read_verdicts(monitors_ledger(store))
    assert [(v.window, v.verdict) for v in judged] == [("2026-11-01", "breach")]
    assert store.exists("monitors/stream/alerts/verdict-000001.json")
    # the monitor's own tick finds nothing left to judge
    assert not tick(store, "stream", moment=after(1)).verdicts


def test_windows_that_waited_for_the_reference_are_judged_with_it(tmp_path):
    write_stream(tmp_path, 2)
    spec, store = a_monitor(tmp_path, drop={"by": 0.05}), MemoryStore()
    register(store, spec)
    for day in ("2026-11-02", "2026-11-01"):
        window = window_named(day, spec.kind)
        opening = open_window(read_run(store, "stream", after(2)), window)
        begin_evaluation(store, spec.evaluation(window, opening.evaluation, opening.labels, None, 0))
        sweep_store(store, only=[opening.evaluation])
        judged = {verdict.window for verdict in read_verdicts(monitors_ledger(store))}
        assert judged == (set() if day == "2026-11-02" else {"2026-11-01", "2026-11-02"})


def test_an_evaluation_that_only_sounds_like_a_monitors_belongs_to_none(tmp_path):
    write_stream(tmp_path, 1)
    store, _, _ = _watched(a_monitor(tmp_path), 1)
    for name in ("stream-2026-11-02", "stream-of-others", "stream", "other-2026-11-01"):
        assert window_of(store, name) is None, name


def registered(spec):
    store = MemoryStore()
    register(store, spec)
    return store


def test_where_labels_are_too_few_they_are_spread_over_the_month(tmp_path):
    write_stream(tmp_path, 30, items=60)
    data = monitor_data(tmp_path, quiet_labels=20, monthly_labels=180) | {"budget": {"labels": 20}}
    spread = registered(MonitorSpec.from_data(data, "x"))
    first = registered(MonitorSpec.from_data(
        data | {"monitor": data["monitor"] | {"spending": "first"}}, "x"
    ))
    for store in (spread, first):
        for day in range(1, 30):
            tick(store, "stream", moment=after(day))
    labelled = {
        id(store): [int(row.window[-2:]) for row in read_monitor_history(store, "stream").rows if row.bought]
        for store in (spread, first)
    }
    assert labelled[id(first)] == list(range(1, 10))
    assert len(labelled[id(spread)]) == 9
    gaps = np.diff(labelled[id(spread)])
    assert labelled[id(spread)][-1] >= 25
    assert set(gaps.tolist()) <= {2, 3, 4}
    passed = next(row for row in read_monitor_history(spread, "stream").rows if row.window == "2026-11-02")
    assert "too few for every window" in passed.wrong.why
