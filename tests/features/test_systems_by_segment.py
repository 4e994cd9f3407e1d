"""Several systems in each segment of a pool: values, differences and verdicts, for every kind of labels."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import yaml
from doubles.outcomes import spec_of, write_grades, write_numbers, write_tags
from doubles.specs import within_reach
from doubles.stream import after
from doubles.stream_of_systems import a_monitor_of_systems, write_systems
from doubles.systems import spec_of_systems, write_models

from assay.flows.cli.main import run_command_line
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

WRITERS = {"number": write_numbers, "tags": write_tags, "grades": write_grades}
MEASURES = {"number": ["mae", "rmse"], "tags": ["micro_f1", "jaccard"], "grades": ["accuracy", "mae"]}


def compared(kind, folder, **changes):
    """A pool of the kind with two systems and two sides, and a spec that compares them."""
    if kind == "two classes":
        write_models(folder)
        usual = {"measure": ["accuracy", "f1"], "pool_segments": ["side"]}
        data = spec_of_systems(folder, **usual | changes)
    else:
        WRITERS[kind](folder)
        data = spec_of(kind, folder, **{
            "pool_prediction": None, "pool_probability": None, "pool_segments": ["side"],
            "pool_systems": {"old": {"prediction": "predicted"}, "new": {"prediction": "other"}},
            "measure": MEASURES[kind], **changes,
        })
    pool = pd.read_csv(folder / "pool.csv", dtype=str, keep_default_na=False)
    # the other one says of every third item what is said of the item before it
    if "predicted" in pool:
        before = pool["predicted"].shift(1, fill_value="2")
        pool["other"] = np.where(np.arange(len(pool)) % 3, pool["predicted"], before)
        if kind == "tags":
            pool.loc[0, "other"] = "war"
    pool["side"] = np.where(np.arange(len(pool)) % 2, "left", "right")
    pool.to_csv(folder / "pool.csv", index=False)
    return within_reach(data)


def run(data):
    spec, store = Spec.from_json(data), MemoryStore()
    begin_evaluation(store, spec)
    advance(store, spec.name)
    return store, report_data(opened := open_evaluation(store, spec.name), current_standing(opened))


@pytest.mark.parametrize("kind", ["two classes", "grades"])
def test_every_measure_and_every_difference_is_estimated_in_every_segment(tmp_path, kind):
    store, data = run(compared(kind, tmp_path, budget={"labels": 120}, batch_size=40))
    rows = [row for row in data.estimates if row.segment]
    whole = [row for row in data.estimates if not row.segment]
    assert {(row.measure, row.system, row.versus, row.segment) for row in rows} == {
        (row.measure, row.system, row.versus, f"side={side}") for row in whole for side in ("left", "right")
    }
    for row in rows:
        assert (row.comparison is None) == (row.versus is None)
        if row.value is not None:
            assert row.lower <= row.value <= row.upper
    given = [row for row in rows if row.versus and row.value is not None]
    assert given
    for row in given:
        assert row.comparison.together == 2, "the differences of a measure in both segments"
        assert row.comparison.lower <= row.lower <= row.upper <= row.comparison.upper
    assert verify(store, data.evaluation).verified
    page = render_report(data)["report.html"].decode()
    assert "side=left" in page
    assert "all segments of the column" in page


@pytest.mark.parametrize("kind", ["two classes", "number", "tags"])
def test_with_every_label_they_are_exact_and_add_up(tmp_path, kind):
    n = 400 if kind == "two classes" else 160
    _, data = run(compared(kind, tmp_path, budget={"labels": n}, batch_size=n))
    by = {(row.measure, row.system, row.versus, row.segment): row for row in data.estimates}
    for (measure, system, versus, segment), row in by.items():
        if row.value is None:
            continue
        assert (row.lower, row.upper) == (row.value, row.value)
        if versus is not None:
            mine, theirs = by[measure, system, None, segment], by[measure, versus, None, segment]
            assert row.value == pytest.approx(mine.value - theirs.value, abs=1e-9)
            assert row.comparison.verdict in ("better", "worse", "tie")
    first = data.estimates[0].measure
    sides = [by[first, "new", None, f"side={side}"].value for side in ("left", "right")]
    if first in ("accuracy", "mae"):   # means, of two halves
        assert np.mean(sides) == pytest.approx(by[first, "new", None, None].value)


def test_every_pair_is_one_family_with_every_segment(tmp_path):
    data = compared("two classes", tmp_path, pool_pairs="all", measure="accuracy", pool_systems={
        "old": {"prediction": "p1"}, "new": {"prediction": "p2"}, "mid": {"score": "s", "threshold": 0.5},
    }, budget={"labels": 120}, batch_size=60)
    _, report = run(data)
    rows = [row for row in report.estimates if row.segment and row.versus]
    assert len(rows) == 6
    assert {row.comparison.together for row in rows} == {6}


def test_a_segment_in_which_systems_hardly_differ_says_so(tmp_path):
    data = compared("two classes", tmp_path, measure="accuracy")
    pool = pd.read_csv(tmp_path / "pool.csv", dtype=str)
    left = pool["side"] == "left"
    pool.loc[left, "p2"] = pool.loc[left, "p1"].map({"match": "TRUE", "no match": "0"})
    pool.to_csv(tmp_path / "pool.csv", index=False)
    _, report = run(data)
    [row] = [row for row in report.estimates if row.versus and row.segment == "side=left"]
    assert row.value is None
    assert "the systems differ on none of its" in row.undefined_reason
    assert row.comparison.verdict == "open"


def test_the_command_line_says_it(tmp_path, capsys):
    data = compared("two classes", tmp_path, measure="accuracy", budget={"labels": 120}, batch_size=60)
    (tmp_path / "spec.yaml").write_text(yaml.safe_dump(data, sort_keys=False))
    at = ["--store", str(tmp_path / "ledger")]
    assert run_command_line(["run", str(tmp_path / "spec.yaml"), *at]) == 0
    capsys.readouterr()
    assert run_command_line(["compare", "systems", *at]) in (0, 4)
    assert "accuracy of new minus old in side=left: " in " ".join(capsys.readouterr().out.split())
    assert run_command_line(["compare", "systems", "--json", *at]) in (0, 4)
    told = json.loads(capsys.readouterr().out)
    assert {row["segment"] for row in told["by_segment"]} == {"side=left", "side=right"}
    assert all(row["segment"] is None for row in (*told["estimates"], *told["differences"]))
    assert any("comparison" in row for row in told["by_segment"])


def test_a_monitor_of_two_systems_judges_every_segment(tmp_path):
    write_systems(tmp_path, 3, worse_from=1)
    for path in tmp_path.glob("predictions-*.csv"):
        day = pd.read_csv(path, dtype=str)
        day.assign(side=np.where(np.arange(len(day)) % 2, "left", "right")).to_csv(path, index=False)
    spec, store = a_monitor_of_systems(tmp_path, pool={"segments": ["side"]}), MemoryStore()
    register(store, spec)
    assert not tick(store, spec.name, moment=after(3)).failed
    last = read_monitor_history(store, spec.name).rows[-1]
    assert [place.segment for place in last.segments] == ["side=left", "side=right"]
    for place in last.segments:
        assert place.source == "draws"
        assert place.measured.upper < 0, "a difference, not a share"
        assert place.verdict == "breach"
    assert verify_monitor(store, spec.name).differences == ()


def test_a_further_system_of_the_pool_is_not_mixed_up(tmp_path):
    """Rows of a segment are found by the system too."""
    _, data = run(compared("two classes", tmp_path, measure="accuracy"))
    left = [row for row in data.estimates if row.segment == "side=left"]
    assert len({(row.system, row.versus) for row in left}) == 3
    assert not any(one.same(other) for one in left for other in left if one is not other)
    assert all(replace(row, revision=1).same(row) for row in left)
