"""Segments of pools whose items come in clusters, for every kind of labels: intervals are over clusters there
too; and curves of segments."""

import numpy as np
import pandas as pd
import pytest
from doubles.outcomes import spec_of, write_grades, write_numbers, write_pairs, write_tags
from doubles.specs import within_reach
from doubles.stream import after
from doubles.stream_of_kinds import stream_of, with_groups
from doubles.systems import spec_of_systems, write_models
from sklearn.metrics import roc_auc_score

from assay.flows.evaluation.advance import advance
from assay.flows.evaluation.begin import begin_evaluation
from assay.flows.monitor.history import read_monitor_history
from assay.flows.monitor.tick import tick
from assay.flows.monitor.versions import register
from assay.flows.record.opened import open_evaluation
from assay.flows.record.standing import current_standing
from assay.flows.report.gather import report_data
from assay.flows.verify.ledger import verify
from assay.flows.verify.monitor import verify_monitor
from assay.tasks.ledger.stores.store import MemoryStore
from assay.tasks.report.files import render_report
from assay.tasks.spec.evaluation import Spec
from assay.tasks.spec.monitor import MonitorSpec

WRITERS = {"number": write_numbers, "tags": write_tags, "grades": write_grades, "preference": write_pairs}
MEASURE = {"number": "mae", "tags": "hamming", "grades": "mae", "preference": "win_rate"}


def clustered(kind, folder, **changes):
    """160 items in clusters of four, 40 on the left and 120 on the right."""
    if kind.startswith("two classes"):
        write_models(folder, 160)
        alone = {} if kind == "two classes compared" else {"pool_systems": None, "pool_prediction": "p1"}
        data = spec_of_systems(folder, **{"measure": ["accuracy"], **alone}, **changes)
    else:
        WRITERS[kind](folder)
        data = spec_of(kind, folder, **{"measure": [MEASURE[kind]], **changes})
    pool = pd.read_csv(folder / "pool.csv", dtype=str, keep_default_na=False)
    four = np.arange(len(pool)) // 4
    pool.assign(four=four, side=np.where(four % 4, "right", "left")).to_csv(folder / "pool.csv", index=False)
    data["pool"] |= {"cluster": "four", "segments": ["side"]}
    return within_reach(data)


def run(data):
    spec, store = Spec.from_json(data), MemoryStore()
    begin_evaluation(store, spec)
    advance(store, spec.name)
    opened = open_evaluation(store, spec.name)
    return store, report_data(opened, current_standing(opened))


@pytest.mark.parametrize(("kind", "method"), [
    ("two classes compared", "auto"), ("number", "auto"), ("two classes", "whole-clusters"),
    ("tags", "whole-clusters"),
])
def test_segments_are_estimated_over_clusters(tmp_path, kind, method):
    store, data = run(clustered(kind, tmp_path, method=method, budget={"labels": 100}, batch_size=25))
    rows = [row for row in data.estimates if row.segment and row.value is not None]
    assert "side=right" in {row.segment for row in rows}
    for row in rows:
        assert row.interval == "weighted, over clusters"
        assert row.lower < row.upper
        assert row.lower <= row.value <= row.upper
    assert verify(store, data.evaluation).verified
    assert "side=right" in render_report(data)["report.html"].decode()


@pytest.mark.parametrize("kind", ["two classes", "preference"])
def test_with_every_label_the_value_is_exact_and_the_interval_open(tmp_path, kind):
    _, data = run(clustered(kind, tmp_path, budget={"labels": 160}, batch_size=160))
    whole, *sides = data.estimates
    assert {row.segment for row in sides} == {"side=left", "side=right"}
    for row in sides:
        assert row.lower < row.value < row.upper
    left, right = (next(row.value for row in sides if row.segment == f"side={side}")
                   for side in ("left", "right"))
    assert (40 * left + 120 * right) / 160 == pytest.approx(whole.value)


def test_too_few_clusters_say_so(tmp_path):
    data = clustered("number", tmp_path, budget={"labels": 100}, batch_size=25)
    pool = pd.read_csv(tmp_path / "pool.csv", dtype=str)
    pool.loc[pool["side"] == "left", "four"] = "one"
    pool.to_csv(tmp_path / "pool.csv", index=False)
    _, report = run(data)
    left = next(row for row in report.estimates if row.segment == "side=left")
    assert left.value is None
    assert "are of too few clusters" in left.undefined_reason


@pytest.mark.parametrize("kind", ["two classes", "number"])
def test_in_a_monitor_too(tmp_path, kind):
    data = stream_of(kind, tmp_path, 2)
    with_groups(tmp_path)
    data["pool"] |= {"cluster": "four", "segments": ["side"]}
    spec, store = MonitorSpec.from_data(data, origin="monitor.yaml"), MemoryStore()
    register(store, spec)
    assert not tick(store, spec.name, moment=after(2)).failed
    for row in read_monitor_history(store, spec.name).rows:
        assert [place.segment for place in row.segments] == ["side=left", "side=right"]
        assert all(place.source == "draws" for place in row.segments if place.measured.value is not None)
    assert verify_monitor(store, spec.name).differences == ()


CURVE = [{"name": "pr_curve", "at": [0.3, 0.6]}, {"name": "roc_curve", "at": [0.3]}, {"name": "roc_auc"},
         {"name": "average_precision"}]


def with_curves(kind, folder, n):
    """Curves of the positive class, or of one grade, by side."""
    if kind == "two classes":
        write_models(folder, 160)
        data = spec_of_systems(folder, pool_systems=None, pool_prediction="p1", pool_probability="s",
                               measure=["f1", *CURVE])
    else:
        write_grades(folder)
        data = spec_of("grades", folder, measure=["accuracy", *({**one, "class": "4"} for one in CURVE)])
    pool = pd.read_csv(folder / "pool.csv", dtype=str, keep_default_na=False)
    pool.assign(side=np.where(np.arange(160) % 4, "right", "left")).to_csv(folder / "pool.csv", index=False)
    data["pool"]["segments"] = ["side"]
    return data | {"budget": {"labels": n}, "batch_size": n // 2}


def test_curves_are_estimated_in_segments(tmp_path):
    store, data = run(with_curves("grades", tmp_path, 120))
    told = {(row.measure, row.at, row.curve) for row in data.estimates if row.segment == "side=right"}
    assert told == {(row.measure, row.at, row.curve) for row in data.estimates if row.segment is None}
    areas = [row for row in data.estimates if row.segment == "side=right" and row.measure == "roc_auc"]
    assert all(row.lower < row.value <= row.upper for row in areas)
    assert verify(store, data.evaluation).verified
    assert "recall of 4 at 0.3" in render_report(data)["report.html"].decode().casefold()


@pytest.mark.parametrize("kind", ["two classes", "grades"])
def test_with_every_label_the_area_of_a_segment_is_that_of_scikit_learn(tmp_path, kind):
    _, data = run(with_curves(kind, tmp_path, 160))
    pool = pd.read_csv(tmp_path / "pool.csv", dtype=str)
    label = pd.read_csv(tmp_path / "labels.csv", dtype=str).set_index("item_id")["label"][pool["item_id"]]
    right = (pool["side"] == "right").to_numpy()
    score = pool["s" if kind == "two classes" else "p_4"].astype("f4")[right]
    truth = (label == ("match" if kind == "two classes" else "4")).to_numpy()[right]
    by = {row.measure: row for row in data.estimates if row.segment == "side=right"}
    assert by["roc_auc"].value == pytest.approx(roc_auc_score(truth, score))
    assert by["roc_auc"].interval == "exact", "160 scores have a band each"


def test_few_labels_of_the_class_say_nothing_of_an_area(tmp_path):
    _, data = run(with_curves("two classes", tmp_path, 40))
    [left] = [row for row in data.estimates if row.segment == "side=left" and row.measure == "roc_auc"]
    assert left.value is None
    assert "it needs 10 labels of class 'match'" in left.undefined_reason


def test_a_monitor_has_curves_of_segments(tmp_path):
    data = stream_of("two classes", tmp_path, 1, measure=["accuracy", "roc_auc"])
    with_groups(tmp_path)
    data["pool"] |= {"segments": ["side"]}
    spec, store = MonitorSpec.from_data(data, origin="monitor.yaml"), MemoryStore()
    register(store, spec)
    assert not tick(store, spec.name, moment=after(1)).failed
    assert verify_monitor(store, spec.name).differences == ()
    opened = open_evaluation(store, "stream-2026-11-01")
    rows = report_data(opened, current_standing(opened)).estimates
    assert {row.segment for row in rows if row.measure == "roc_auc"} == {None, "side=left", "side=right"}
