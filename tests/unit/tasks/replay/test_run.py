"""Replays: the same numbers from any number of processes, in the form the command line promises."""

import json
from dataclasses import replace

import numpy as np
import pytest
from doubles.pools import synthetic_pool

from assay.evalcore.errors import BadArgument, BadInput, UnknownName
from assay.evalcore.measures.registry import measure
from assay.evalcore.methods.registry import method
from assay.evalcore.replay.run import replay
from assay.evalcore.replay.summary import summarise
from assay.tasks.replay.convergence_plot import check_plot_path, write_convergence_plot
from assay.tasks.replay.request import NamedMeasure, ReplayRequest
from assay.tasks.replay.run import run_replay

F1 = NamedMeasure(name="f1")
REQUEST = ReplayRequest(
    methods=("passive", "topk"), measures=(F1, NamedMeasure(name="fbeta", beta=2.0)), budgets=(20, 60),
    repeats=120, seed=5,
)


@pytest.fixture(scope="module")
def pool():
    return synthetic_pool(400, seed=1)


@pytest.fixture(scope="module")
def result(pool):
    return run_replay(pool, REQUEST, pool_name="made", processes=1)


def numbers(result):
    return [(entry.method, entry.measure, entry.budgets) for entry in result.methods]


def test_the_number_of_processes_changes_nothing_but_the_time(pool, result):
    calls = []
    again = run_replay(
        pool, REQUEST, pool_name="made", processes=2, progress=lambda done, total: calls.append((done, total))
    )
    assert numbers(again) == numbers(result)
    # three blocks of at most 50 repeats for each of two methods
    assert len(calls) == 6
    assert calls[-1] == (240, 240)
    assert [done for done, _ in calls] == sorted(done for done, _ in calls)


def test_the_numbers_are_those_of_a_plain_replay(pool, result):
    f1 = measure("f1")
    traces = replay(method("topk"), pool, [f1, measure("fbeta", 2.0)], [20, 60], repeats=120, seed=5)
    truth = float(f1.of_confusion(pool.confusion()))
    entry = next(e for e in result.methods if (e.method, e.measure) == ("topk", "f1"))
    assert list(entry.budgets) == summarise(traces[0], truth, [20, 60])
    assert result.truth["f1"] == truth


def test_the_json_is_the_contract(pool, result):
    data = json.loads(json.dumps(result.to_json(), allow_nan=False))
    assert list(data) == ["pool", "n", "repeats", "seed", "truth", "methods"]
    assert (data["pool"], data["n"], data["repeats"], data["seed"]) == ("made", 400, 120, 5)
    assert list(data["truth"]) == ["f1", "fbeta(2)"]
    assert [(m["method"], m["measure"]) for m in data["methods"]] == [
        ("passive", "f1"), ("passive", "fbeta(2)"), ("topk", "f1"), ("topk", "fbeta(2)")
    ]
    for entry in data["methods"]:
        assert entry["seconds_per_round"] > 0
        for budget, expected in zip(entry["budgets"], (20, 60), strict=True):
            assert list(budget) == [
                "labels", "labels_mean", "mse", "mse_se", "bias", "undefined", "coverage", "width"
            ]
            assert budget["labels"] == expected == budget["labels_mean"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"repeats": 0}, "^repeats: must be at least 1"),
        ({"confidence": 1.0}, "^confidence: must lie between 0 and 1"),
        ({"methods": ()}, "^methods: name at least one"),
        ({"methods": ("passive", "passive")}, "^methods: the same one is named twice"),
        ({"measures": (F1, F1)}, "^measures: the same one is named twice"),
        ({"budgets": (50, 20)}, "^budgets: must be rising"),
        ({"budgets": (401,)}, "^budgets: 401 labels are more than the pool's 400"),
        ({"batch_size": 0}, "^batch_size: must be at least 1"),
        ({"systems": ("child",)}, "^systems: need the method 'recycle' alone; 'passive' judges one"),
    ],
)
def test_requests_that_make_no_sense_are_refused(pool, change, message):
    with pytest.raises(BadArgument, match=message):
        run_replay(pool, replace(REQUEST, **change), pool_name="made", processes=1)


def test_an_error_in_another_process_arrives_as_it_was_raised(pool):
    with pytest.raises(BadArgument, match=r"^budgets: must be rising") as caught:
        run_replay(pool, replace(REQUEST, budgets=(50, 20)), pool_name="made", processes=2)
    assert caught.value.argument == "budgets"


def test_no_process_at_all_is_refused(pool):
    with pytest.raises(BadArgument, match=r"^processes: must be at least 1"):
        run_replay(pool, REQUEST, pool_name="made", processes=0)


def test_unknown_methods_are_refused_before_anything_runs(pool):
    with pytest.raises(UnknownName, match="acis"):
        run_replay(pool, replace(REQUEST, methods=("passive", "akis")), pool_name="made", processes=1)


def test_a_measure_without_a_value_on_the_pool_is_refused(pool):
    empty = replace(pool, prediction=np.zeros(400, np.int64))
    request = replace(REQUEST, measures=(NamedMeasure(name="precision"),))
    with pytest.raises(BadInput, match="made: precision has no value on this pool"):
        run_replay(empty, request, pool_name="made", processes=1)


@pytest.mark.parametrize(("suffix", "starts"), [("svg", b"<?xml"), ("png", b"\x89PNG")])
def test_the_figure_is_the_same_bytes_for_the_same_result(result, tmp_path, suffix, starts):
    first, second = (write_convergence_plot(result, tmp_path / f"{i}.{suffix}") for i in (1, 2))
    assert first.read_bytes() == second.read_bytes()
    assert first.read_bytes().startswith(starts)


def test_the_figure_names_methods_measures_and_labels(result, tmp_path):
    svg = write_convergence_plot(result, tmp_path / "plot.svg").read_text()
    for word in ("passive", "topk", "mean squared error", "coverage", "items labelled", "fbeta(2)"):
        assert word in svg


def test_a_figure_that_cannot_be_written_is_refused_before_the_replay(tmp_path):
    with pytest.raises(BadInput, match=r"\.svg or \.png"):
        check_plot_path(tmp_path / "plot.pdf")
    with pytest.raises(BadInput, match="no folder"):
        check_plot_path(tmp_path / "gone" / "plot.svg")
