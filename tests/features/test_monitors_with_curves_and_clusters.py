"""Monitors of every kind of labels with curves beside what is watched, and with items in clusters."""

import pytest
from doubles.stream import after, monitor_data, write_stream
from doubles.stream_of_kinds import stream_of, with_groups

from assay.evalcore.errors import BadInput
from assay.flows.monitor.history import read_monitor_history
from assay.flows.monitor.tick import tick
from assay.flows.monitor.versions import register
from assay.flows.record.opened import open_evaluation
from assay.flows.record.standing import current_standing
from assay.flows.report.gather import report_data
from assay.flows.verify.monitor import verify_monitor
from assay.tasks.ledger.stores.store import MemoryStore
from assay.tasks.report.files import render_report
from assay.tasks.spec.monitor import MonitorSpec

CURVE = [{"name": "pr_curve", "at": [0.2, 0.6]}, "roc_auc", "average_precision"]


def of_class(name):
    """The same curves of one class of several."""
    return [{"class": name, **(one if isinstance(one, dict) else {"name": one})} for one in CURVE]


def watched(data, days=2):
    spec, store = MonitorSpec.from_data(data, origin="monitor.yaml"), MemoryStore()
    register(store, spec)
    assert not tick(store, spec.name, moment=after(days)).failed
    assert verify_monitor(store, spec.name).differences == ()
    return store, read_monitor_history(store, spec.name).rows


def width(row):
    return row.overall.measured.upper - row.overall.measured.lower


def report_of(store, evaluation):
    opened = open_evaluation(store, evaluation)
    return report_data(opened, current_standing(opened))


@pytest.mark.parametrize(("kind", "first", "curves"), [
    ("two classes", "f1", CURVE), ("classes", "accuracy", of_class("cat")),
])
def test_curves_are_estimated_beside_what_is_watched(tmp_path, kind, first, curves):
    data = stream_of(kind, tmp_path, 2, measure=[first, *curves], threshold={"min": 0.3})
    store, rows = watched(data)
    for row in rows:
        assert row.overall.source == "draws"
        assert row.verdict.measure.startswith(first if isinstance(first, str) else first["name"])
    report = report_of(store, f"{data['name']}-2026-11-02")
    points = [row for row in report.estimates if row.curve == "pr_curve"]
    assert [(row.measure, row.at) for row in points] == [
        (name, at) for name in ("precision", "recall") for at in (0.2, 0.6)
    ]
    assert {row.measure for row in report.estimates} >= {"roc_auc", "average_precision"}
    for row in report.estimates:
        assert row.value is None or row.lower <= row.value <= row.upper
    assert rows[1].overall.measured.value == report.estimates[0].value, "not that of a point of the curve"
    assert "ROC AUC" in render_report(report)["report.html"].decode()


def test_a_curve_does_not_change_what_is_watched_of_classes(tmp_path):
    """Of one class both are along its score: the same model, and the same cells where the curve adds none."""
    first = {"name": "f1", "class": "cat"}
    alone = watched(stream_of("classes", tmp_path, 1, measure=[first]), 1)[1]
    area = {"name": "roc_auc", "class": "cat"}
    beside = watched(stream_of("classes", tmp_path, 1, measure=[first, area]), 1)[1]
    assert beside[0].overall.measured.value == pytest.approx(alone[0].overall.measured.value, abs=0.02)


def test_signals_are_those_of_a_score(tmp_path):
    """Of two classes, with a curve or without one."""
    write_stream(tmp_path, 2)
    names, expected = [], []
    for beside in ([], ["roc_auc"]):
        data = monitor_data(tmp_path) | {"measure": ["accuracy", *beside]}
        _, rows = watched(data)
        names.append({one.name for one in rows[1].signals})
        expected.append({one.name: one.value for one in rows[1].signals})
    assert names[0] == names[1] >= {"psi", "ks", "predictions", "expected"}
    for name in names[0]:
        assert expected[0][name] == pytest.approx(expected[1][name], abs=1e-4)


@pytest.mark.parametrize(("kind", "first", "said"), [
    ("two classes", "roc_auc", "roc_auc is of all scores and cannot be watched.*one of these first.*f1, "),
    ("two classes", CURVE[0], "'pr_curve' has 4 numbers; put a measure of one number first"),
    ("classes", of_class("cat")[1], "no mean over items decides.*accuracy, brier"),
])
def test_a_limit_on_a_curve_is_refused_with_the_reason(tmp_path, kind, first, said):
    data = stream_of(kind, tmp_path, 1, measure=[first], threshold={"min": 0.8})
    with pytest.raises(BadInput, match=said):
        MonitorSpec.from_data(data, origin="monitor.yaml")


@pytest.mark.parametrize("kind", ["two classes", "number"])
def test_with_clusters_the_interval_is_wider_and_the_evidence_the_same(tmp_path, kind):
    data = stream_of(kind, tmp_path, 2, method="passive")
    with_groups(tmp_path)
    clustered = {**data, "pool": {**data["pool"], "cluster": "four"}}
    _, with_them = watched(clustered)
    _, without = watched(data)
    for a, b in zip(without, with_them, strict=True):
        assert b.verdict.interval.endswith(", over clusters")
        assert b.verdict.dependent, "another window may hold items of the same clusters"
        assert b.overall.source == a.overall.source
        assert a.overall.limits == b.overall.limits
        if kind != "two classes":    # of which this is another method
            assert b.overall.factors == a.overall.factors
            assert b.overall.measured.value == a.overall.measured.value
            assert width(b) >= width(a)
    assert with_them[-1].verdict.recent[0].joined == "dependent"


@pytest.mark.parametrize("kind", ["two classes", "number"])
def test_a_window_that_is_all_labelled_decides_though_its_interval_stays_open(tmp_path, kind):
    data = stream_of(kind, tmp_path, 1, budget={"labels": 400}, batch_size=400, monitor_quiet_labels=400)
    with_groups(tmp_path)
    data["pool"]["cluster"] = "four"
    _, [row] = watched(data, 1)
    assert row.overall.source == "exact"
    assert not row.overall.measured.exact
    assert row.overall.measured.lower < row.overall.measured.value < row.overall.measured.upper
    assert row.verdict.labels_to_decide is None
    assert max(row.overall.factors[0]) < 0, "the limit is kept"


def test_at_its_limit_it_is_no_breach(tmp_path):
    """300 items, of which a whole number is right: a limit at exactly that share is kept."""
    data = stream_of("classes", tmp_path, 1, budget={"labels": 300}, batch_size=300, monitor_quiet_labels=300)
    with_groups(tmp_path)
    data["pool"]["cluster"] = "four"
    _, [row] = watched(data, 1)
    right = round(row.overall.measured.value * 300) / 300
    _, [row] = watched(data | {"threshold": {"min": right}}, 1)
    assert row.state != "breach"


def test_whole_clusters_leave_no_single_draws(tmp_path):
    data = stream_of("classes", tmp_path, 1, method="whole-clusters")
    data["pool"]["cluster"] = "four"
    with pytest.raises(BadInput, match="does not draw its items one after the other"):
        MonitorSpec.from_data(data, origin="monitor.yaml")

