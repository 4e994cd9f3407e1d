"""What `auto` means in a spec: the certified method, but for segments and for monitors."""

from pathlib import Path

import pytest
from doubles.small_pool import spec_json

from assay.evalcore.errors import BadInput
from assay.evalcore.measures.two_classes import served
from assay.evalcore.methods.registry import auto, method, methods_that
from assay.tasks.spec.evaluation import Spec
from assay.tasks.spec.monitor import MonitorSpec

MONITOR = {"first": "2026-11-20", "schedule": {"every_minutes": 60}, "monthly_labels": 100}


def _spec(segments=(), **changes):
    data = spec_json(Path("p.csv"), Path("l.csv"), **changes)
    data["pool"] = {**data["pool"], "segments": list(segments)}
    return Spec.from_json(data)


def test_auto_is_the_certified_method():
    assert _spec(method="auto").choice == auto()


@pytest.mark.parametrize("name", ["dirichlet-tree", "static-is"])
def test_a_method_that_serves_all_may_be_told_whom_to_serve(name):
    both = _spec(measure=["precision", "recall"], method=name)
    assert [m.name for m in served(both.measures)] == ["precision", "recall"]
    one = _spec(measure=["precision", "recall"], method=name, drive=["recall"])
    assert [m.name for m in served(one.measures)] == ["recall"]
    with pytest.raises(BadInput, match="cannot be used by method 'sawade'"):
        _spec(measure=["precision", "recall"], method="sawade", drive=["recall"])


def test_a_monitor_serves_the_measure_that_it_watches():
    for name, drives in (("dirichlet-tree", [True, False]), ("passive", [None, None])):
        data = spec_json(
            Path("p-{date}.csv"), Path("l.csv"), threshold={"min": 0.5}, method=name,
            measure=["precision", "recall"],
        )
        spec = MonitorSpec.from_data(data | {"monitor": MONITOR}, "test")
        opened = spec.evaluation(spec.first, "watch-1", 50, None, 0.0)
        assert [m.drives for m in opened.measures] == drives


def test_a_monitor_asks_about_no_item_again():
    data = spec_json(
        Path("p-{date}.csv"), Path("l.csv"), threshold={"min": 0.5}, measure=["precision"],
        method="dirichlet-tree-stochastic:requery=rounds",
    )
    with pytest.raises(BadInput, match=r"once a round.*leave out requery; a breach is called on evidence"):
        MonitorSpec.from_data(data | {"monitor": MONITOR}, "test")


def test_a_live_round_asks_about_no_item_twice():
    with pytest.raises(BadInput, match=r"method.*only a replay does: use requery=rounds"):
        _spec(method="dirichlet-tree-stochastic:requery=true")


def test_with_segments_auto_is_a_method_that_estimates_them():
    spec = _spec(["region"], method="auto")
    assert spec.choice == auto()
    assert not spec.chosen_method.capabilities.whole_pool_only


@pytest.mark.parametrize("name", methods_that("whole_pool_only"))
def test_a_method_without_estimates_by_segment_is_refused_where_segments_are_asked_for(name):
    with pytest.raises(BadInput, match=r"pool\.segments.*cannot be estimated by the method.*recalibrated"):
        _spec(["region"], method=name)
    assert _spec(method=name).chosen_method.name == name


def test_a_monitor_refuses_it_too():
    data = spec_json(Path("p-{date}.csv"), Path("l.csv"), threshold={"min": 0.5}, method="stratified")
    data["pool"] = {**data["pool"], "segments": ["region"]}
    with pytest.raises(BadInput, match="cannot be estimated by the method 'stratified'"):
        MonitorSpec.from_data(data | {"monitor": MONITOR}, "test")


def test_a_method_that_is_named_is_kept():
    spec = _spec(["region"], method="recalibrated")
    assert spec.chosen_method.name == "recalibrated"
    assert spec.choice.reason == "the spec asks for it"


def _watched(**changes):
    data = spec_json(Path("p-{date}.csv"), Path("l.csv"), threshold={"min": 0.5}, **changes)
    data["pool"] = {**data["pool"], "segments": []}
    return data


@pytest.mark.parametrize(("asked", "recorded"), [
    ("auto", "auto"), ("auto:depth=6", "dirichlet-tree:depth=6"), ("passive", "passive"),
    ("auto:guard=false", "recalibrated:guard=false"),
])
def test_a_monitor_records_auto_for_its_windows_to_decide_unless_settings_say_more(asked, recorded):
    data = _watched(method=asked)
    spec = MonitorSpec.from_data(data | {"monitor": MONITOR}, "test")
    assert spec.method == recorded
    assert spec.to_json()["method"] == recorded


@pytest.mark.parametrize(("predicted", "trust", "means"), [
    ((600, 400), None, "score-test"),       # what hides among so few can be seen in a window's labels
    ((39_000, 1000), None, "recalibrated"),
    ((600, 400), "score", "recalibrated"),
])
def test_of_a_window_auto_is_a_method_with_single_draws_whose_interval_can_be_had(predicted, trust, means):
    data = _watched(budget={"labels": 100}, target={"half_width": 0.02})    # which no 100 labels reach
    data.pop("method", None)
    data["pool"]["segments"] = ["region"]
    if trust is not None:
        data["trust"] = trust
    monitor = MonitorSpec.from_data(data | {"monitor": MONITOR}, "test")
    spec = monitor.evaluation(monitor.first, "w", 100, None, 0.0)
    assert spec.choice_of(predicted).method == f"{means}:one-at-a-time=true"
    assert not method(spec.choice_of(predicted).method).capabilities.whole_pool_only


@pytest.mark.parametrize(("wrong", "said"), [
    ({"method": "topk"}, "does not draw its items one after the other"),
    ({"measure": ["mcc"]}, "mcc cannot be watched"),
])
def test_a_monitor_refuses_what_leaves_no_evidence(wrong, said):
    data = _watched(**wrong)
    with pytest.raises(BadInput, match=said):
        MonitorSpec.from_data(data | {"monitor": MONITOR}, "test")


def test_the_evaluations_of_a_monitor_draw_one_item_at_a_time():
    data = _watched(method="auto")
    spec = MonitorSpec.from_data(data | {"monitor": MONITOR}, "test")
    one = spec.evaluation(spec.first, "watch-1", 50, None, 0.0)
    assert one.method == "auto:one-at-a-time=true"
    assert one.chosen_method.one_at_a_time
