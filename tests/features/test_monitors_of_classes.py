"""Monitors of several classes, from the stream to the verdict, its record and its page."""

import json
from datetime import timedelta

import pytest
from doubles.stream import FIRST, after
from doubles.stream_of_classes import a_monitor_of_classes, classes_data, write_classes
from doubles.stream_of_kinds import stream_of

from assay.evalcore.errors import BadInput
from assay.flows.cli.main import run_command_line
from assay.flows.monitor.history import read_monitor_history
from assay.flows.monitor.tick import tick
from assay.flows.monitor.versions import register
from assay.flows.record.opened import open_evaluation
from assay.flows.record.standing import current_standing
from assay.flows.report.gather import report_data
from assay.flows.verify.ledger import verify
from assay.flows.verify.monitor import verify_monitor
from assay.tasks.ledger import layout
from assay.tasks.ledger.monitors import read_openings, read_verdicts
from assay.tasks.ledger.record import Ledger
from assay.tasks.ledger.stores.local import LocalStore
from assay.tasks.ledger.stores.store import MemoryStore
from assay.tasks.report.files import render_report
from assay.tasks.spec.monitor import MonitorSpec


def watched(spec, days, store=None):
    store = MemoryStore() if store is None else store
    register(store, spec)
    done = tick(store, spec.name, moment=after(days))
    assert not done.failed
    return store, read_monitor_history(store, spec.name)


def test_a_drop_is_called_and_every_verdict_is_recomputed(tmp_path):
    write_classes(tmp_path, 6, drop_from=4)
    store, history = watched(a_monitor_of_classes(tmp_path), 6)
    called = [row.state == "breach" for row in history.rows]
    assert called[:4] == [False] * 4, "before the drop"
    assert called[5], "a window after it at the latest"
    ledger = Ledger(store, layout.monitor_ledger("animals"))
    for verdict in read_verdicts(ledger):
        assert verdict.overall.source == "draws"
    found = verify_monitor(store, "animals")
    assert (found.differences, found.rounds) == ((), 6)
    assert verify(store, "animals-2026-11-05").verified
    openings = read_openings(ledger)
    signals = {signal.name for signal in openings["2026-11-06"][0].signals}
    assert signals == {
        "psi", "ks", "classes", "expected", "missing text", "schema", "rows", "repeats", "new_classes",
        "lost_classes", "collapse",
    }


def test_trees_watch_classes_too_and_start_from_the_window_before(tmp_path):
    write_classes(tmp_path, 3, drop_from=2)
    store, history = watched(a_monitor_of_classes(tmp_path, method="dirichlet-tree"), 3)
    assert [row.state == "breach" for row in history.rows[:2]] == [False, False]
    assert open_evaluation(store, "animals-2026-11-02").question.evidence.sum() > 0
    found = verify_monitor(store, "animals")
    assert (found.differences, found.rounds) == ((), 3)
    assert verify(store, "animals-2026-11-03").verified


def test_it_says_so_everywhere(tmp_path, capsys):
    """In the history, its JSON and pages, of a measure of one class; a week of labels costs what it says."""
    write_classes(tmp_path, 2, drop_from=1)
    store = LocalStore(tmp_path / "ledger")
    measure = [{"name": "recall", "class": "cat"}]
    spec = a_monitor_of_classes(tmp_path, measure=measure, monitor_drop={"by": 0.02})
    _, history = watched(spec, 2, store)
    assert history.measure == "recall(cat)"
    assert [limit.name for limit in history.rows[1].overall.limits] == ["floor", "reference"]
    assert history.rows[0].overall.sure < history.rows[0].overall.measured.value
    at = ["--store", str(tmp_path / "ledger")]
    assert run_command_line(["history", "animals", *at, "--json", "--out", str(tmp_path / "pages")]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["measure"], told["labels"]) == ("recall(cat)", 200)
    page = (tmp_path / "pages" / "windows" / "2026-11-02.html").read_text(encoding="utf-8")
    assert "Recall (cat)" in page
    assert "shares of the predicted classes" in page


def test_segments_are_estimated_and_judged(tmp_path):
    write_classes(tmp_path, 2, drop_from=1)
    pool = classes_data(tmp_path)["pool"] | {"segments": ["region"]}
    store, history = watched(a_monitor_of_classes(tmp_path, pool=pool), 2)
    assert [place.segment for place in history.rows[1].segments] == ["region=n", "region=s"]
    for place in history.rows[1].segments:
        assert place.source == "draws"
        assert max(place.factors[0]) > 0
        assert place.measured.value < 0.82
    first = "animals-2026-11-01"
    for name in ("animals", first):
        found = verify_monitor(store, name) if name == "animals" else verify(store, name)
        assert found.differences == ()
    opened = open_evaluation(store, first)
    data = report_data(opened, current_standing(opened))
    rows = {(row.measure, row.segment, row.class_name): row for row in data.estimates}
    north = rows["accuracy", "region=n", None]
    assert north.lower < north.value <= north.upper
    assert north.interval == "weighted"
    assert north.labels + rows["recall", "region=s", "cat"].labels == 100
    assert "region=n" in render_report(data)["report.html"].decode()


def test_a_rise_is_what_is_worse_of_an_error(tmp_path):
    write_classes(tmp_path, 4, drop_from=2)
    spec = a_monitor_of_classes(tmp_path, measure="brier", threshold=None, monitor_drop={"by": 0.02})
    _, history = watched(spec, 4)
    assert {limit.side for row in history.rows for limit in row.overall.limits} == {"above"}
    assert history.rows[3].state == "breach"


def test_predictions_alone_are_watched_with_fewer_signals(tmp_path):
    write_classes(tmp_path, 2)
    pool = classes_data(tmp_path)["pool"]
    del pool["probability"]
    store, history = watched(a_monitor_of_classes(tmp_path, pool=pool, method="passive"), 2)
    assert {one.name for one in history.rows[1].signals} == {
        "classes", "missing text", "schema", "rows", "repeats", "new_classes", "lost_classes", "collapse",
    }
    assert history.rows[1].overall.source == "draws"
    assert verify_monitor(store, "animals").differences == ()


@pytest.mark.parametrize(("changes", "said"), [
    ({"measure": "mcc"}, "mcc cannot be watched: no mean.*accuracy, brier.*weighted_recall$"),
    ({"measure": "log_loss", "threshold": None, "monitor_drop": {"by": 0.1}},
     "log_loss cannot be watched: single items may count for many times the mean.*accuracy, brier, "),
    ({"measure": "recall", "threshold": None, "monitor_drop": {"by": 0.1}}, "recall has 3 numbers"),
    ({"method": "bernoulli"}, "does not draw its items one after the other; methods that do: recalibrated"),
])
def test_what_cannot_be_watched_is_refused_with_what_can_be(tmp_path, changes, said):
    with pytest.raises(BadInput, match=said):
        a_monitor_of_classes(tmp_path, **changes)


@pytest.mark.parametrize("kind", ["number", "two classes"])
def test_outcomes_of_other_labels_settle_a_window_too(tmp_path, kind):
    data = stream_of(kind, tmp_path, 2)
    if kind == "two classes":     # with segments
        data["pool"]["segments"] = ["half"]
    data["outcomes"] = {"source": f"{tmp_path}/came-{{date}}.csv", "complete_after_days": 3}
    _came(tmp_path, 2, 0.5)
    spec, store = MonitorSpec.from_data(data, origin="monitor.yaml"), MemoryStore()
    watched(spec, 2, store)
    items = sum(1 for _ in (tmp_path / f"labels-{FIRST}.csv").open()) - 1
    assert open_evaluation(store, f"{spec.name}-{FIRST}").n_outcomes == round(items / 2)
    _came(tmp_path, 2, 1.0)
    assert not tick(store, spec.name, moment=after(7)).failed
    for row in read_monitor_history(store, spec.name).rows[:2]:
        assert (row.verdict.overall.source, row.verdict.overall.measured.labels) == ("exact", items)
    assert verify_monitor(store, spec.name).differences == ()
    assert verify(store, f"{spec.name}-{FIRST}-r1").verified


def _came(folder, days, share):
    """The outcomes of so large a part of each day's items."""
    for day in (FIRST + timedelta(days=d) for d in range(days)):
        rows = (folder / f"labels-{day}.csv").read_text().splitlines()
        (folder / f"came-{day}.csv").write_text("\n".join(rows[: 1 + round(share * (len(rows) - 1))]) + "\n")


@pytest.mark.parametrize("changes", [
    {"measure": ["accuracy", {"name": "roc_auc", "class": "cat"}]}, {"pool_cluster": "region"},
], ids=["a curve", "clusters"])
def test_outcomes_that_come_by_themselves_ask_nobody_and_then_settle_a_window(tmp_path, changes):
    write_classes(tmp_path, 2)
    data = classes_data(tmp_path, **{k: v for k, v in changes.items() if not k.startswith("pool_")})
    data["pool"] |= {k.removeprefix("pool_"): v for k, v in changes.items() if k.startswith("pool_")}
    data["outcomes"] = {"source": f"{tmp_path}/came-{{date}}.csv", "complete_after_days": 3}
    _came(tmp_path, 2, 0.5)
    spec = MonitorSpec.from_data(data, origin="monitor.yaml")
    store, history = watched(spec, 2)
    # two clusters say too little of others
    assert {row.state for row in history.rows} == {"inconclusive" if "pool_cluster" in changes else "ok"}
    opened = open_evaluation(store, f"animals-{FIRST}")
    assert opened.n_outcomes == 150
    assert current_standing(opened).labels > 100, "known items that are drawn cost nothing"
    _came(tmp_path, 2, 1.0)
    assert not tick(store, "animals", moment=after(7)).failed
    for row in read_monitor_history(store, "animals").rows[:2]:
        assert row.verdict.overall.source == "exact"
        assert row.verdict.overall.measured.labels == 300
    assert verify_monitor(store, "animals").differences == ()
    assert verify(store, f"animals-{FIRST}-r1").verified
