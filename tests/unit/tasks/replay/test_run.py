"""Replays: the same numbers from any number of processes, in the form the command line promises."""

import json
from dataclasses import asdict, replace

import numpy as np
import pytest
from doubles.pools import synthetic_pool

from assay.evalcore.errors import BadArgument, BadInput, UnknownName
from assay.evalcore.measures.registry import measure
from assay.evalcore.methods.registry import method
from assay.evalcore.replay.run import ReplayPlan, simulate, summarise
from assay.tasks.replay.presentation import check_plot_path, replay_as_text, write_convergence_plot
from assay.tasks.replay.run import run_replay
from assay.tasks.replay.simulated import ReplayRequest, simulation_of

F1 = "f1"
REQUEST = ReplayRequest(
    methods=("passive", "topk"), measures=(F1, "fbeta(2)"), budgets=(20, 60),
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
    traces = simulate(
        method("topk"), pool, [f1, measure("fbeta", 2.0)], ReplayPlan(budgets=[20, 60], seed=5), repeats=120
    )
    truth = float(f1.of_confusion(pool.confusion()))
    entry = next(e for e in result.methods if (e.method, e.measure) == ("topk", "f1"))
    assert list(entry.budgets) == summarise(traces[0], truth, [20, 60])
    assert result.truth["f1"] == truth


def test_the_json_is_the_contract(pool, result):
    data = json.loads(json.dumps(result.to_json(), allow_nan=False))
    assert list(data) == ["pool", "n", "repeats", "seed", "truth", "methods", "oracle"]
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
        assert entry["least_coverage"] == 0.93
        for reached, target in zip(entry["labels_to"], (0.10, 0.05), strict=True):
            assert list(reached) == [
                "half_width", "labels", "at_most", "more_than", "coverage", "covers", "oracle", "times_oracle"
            ]
            assert reached["half_width"] == target
            assert (reached["labels"] is None) == (reached["more_than"] == 60)


def test_the_oracle_is_in_the_json_beside_the_methods(result):
    data = result.to_json()
    assert [entry["measure"] for entry in data["oracle"]] == ["f1", "fbeta(2)"]
    for entry in data["oracle"]:
        assert list(entry) == ["measure", "cells_of", "cells", "budgets", "labels_to"]
        assert entry["cells_of"] == "recalibrated"
        assert [b["labels"] for b in entry["budgets"]] == [20, 60]
        assert entry["budgets"][0]["width"] > entry["budgets"][1]["width"] > 0
        needs = {one["half_width"]: one["labels"] for one in entry["labels_to"]}
        assert needs[0.05] > needs[0.10] > 0
        of_methods = [m for m in data["methods"] if m["measure"] == entry["measure"]]
        assert all(r["oracle"] == needs[r["half_width"]] for m in of_methods for r in m["labels_to"])


def test_labels_to_a_half_width_follow_the_widths_that_are_printed(pool):
    # one that is met between the budgets, one at the first, one not at all
    request = replace(REQUEST, methods=("passive",), measures=(F1,), repeats=50)
    (entry,) = run_replay(pool, request, pool_name="made", processes=1).methods
    first, last = (b.width / 2 for b in entry.budgets)
    targets = ((first + last) / 2, first * 1.01, last * 0.99)
    (entry,) = run_replay(pool, replace(request, half_widths=targets), pool_name="made", processes=1).methods
    between, at_first, never = entry.labels_to
    assert 20 < between.labels < 60
    assert between.coverage == entry.budgets[1].coverage
    assert (at_first.labels, at_first.at_most, at_first.coverage) == (20, True, entry.budgets[0].coverage)
    assert (never.labels, never.more_than) == (None, 60)


def test_where_annotators_differ_there_is_no_oracle(pool):
    blurred = replace(pool, label_probability=np.clip(pool.label, 0.1, 0.9))
    request = replace(REQUEST, methods=("passive",), measures=(F1,), repeats=5, people=3)
    result = run_replay(blurred, request, pool_name="made", processes=1)
    assert result.oracle == ()
    assert all(reached.oracle is None for reached in result.methods[0].labels_to)
    assert "oracle knows" not in replay_as_text(result)


def test_divergences_are_told_where_asked_of_methods_that_have_a_proposal(pool):
    request = replace(
        REQUEST, methods=("static-is", "passive"), measures=(F1,), budgets=(20,), repeats=2, divergence=True
    )
    result = run_replay(pool, request, pool_name="made", processes=1)
    proposed, without = (entry["budgets"][0] for entry in result.to_json()["methods"])
    assert proposed["divergence"] > 0
    assert "divergence" not in without
    static_is, passive, *_ = replay_as_text(result).split("\n\n")[1:]
    assert static_is.splitlines()[1].endswith("no value  divergence")
    assert float(static_is.split()[-1]) == pytest.approx(proposed["divergence"], abs=5e-4)
    assert "divergence" not in passive


def test_the_text_has_a_row_for_every_method_and_the_oracle(result):
    text = replay_as_text(result)
    assert "passive, f1 (true value " in text
    table = text[text.index("f1, labels to a half-width"):text.index("fbeta(2), labels to a half-width")]
    rows = [line.split()[0] for line in table.splitlines()[2:5]]
    assert rows == ["passive", "topk", "oracle"]
    assert "±0.1 " in table
    assert "±0.05" in table
    # what does not cover is marked in the table and under it
    narrow = [
        replace(entry, labels_to=tuple(replace(r, covers=False, coverage=0.5) for r in entry.labels_to))
        for entry in result.methods
    ]
    marked = replay_as_text(replace(result, methods=tuple(narrow)))
    assert "0.500*" in marked
    assert "(held to 0.93 for passive, 0.93 for topk)" in marked


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
        ({"half_widths": ()}, "^half_widths: name at least one"),
        ({"half_widths": (0.1, 0.1)}, "^half_widths: the same one is named twice"),
        ({"half_widths": (0.1, 0.0)}, r"^half_widths: must be positive numbers, got \[0.1, 0.0\]"),
        ({"half_widths": (float("nan"),)}, r"^half_widths: must be positive numbers, got \[nan\]"),
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
    request = replace(REQUEST, measures=("precision",))
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


def _told(summary):
    """The numbers of a summary that it reports."""
    return {name: x for name, x in asdict(summary).items() if x is not None}


def test_an_audit_is_the_same_share_of_every_batch(pool):
    request = replace(REQUEST, methods=("recalibrated",), measures=(F1,), repeats=2, audit=30)
    found = simulation_of(pool, request).find_method("recalibrated")
    assert found.spread == 0.5       # of the largest budget, 60
    got = run_replay(pool, request, pool_name="made", processes=1)
    (trace,) = simulate(
        method("recalibrated").audited(0.5), pool, [measure("f1")], ReplayPlan(
            budgets=[20, 60], seed=5
        ), repeats=2
    )
    # linear algebra has another number of threads in each process: the last digits may differ
    expected_of = summarise(trace, got.truth["f1"], [20, 60])
    for ours, expected in zip(got.methods[0].budgets, expected_of, strict=True):
        assert _told(ours) == pytest.approx(_told(expected), rel=1e-9)
        assert ours.coverage_wide is not None
    assert got.to_json()["audit"] == 30


def test_without_an_audit_nothing_is_said_of_one(result):
    assert "audit" not in result.to_json()


@pytest.mark.parametrize(("changes", "said"), [
    ({"audit": 61}, "is a part of the largest budget, got 61"),
    ({"audit": -1}, "is a part of the largest budget, got -1"),
    ({"audit": 10, "methods": ("passive",)}, "is for the method recalibrated; 'passive' has none"),
])
def test_an_audit_that_cannot_be_is_refused(pool, changes, said):
    request = replace(REQUEST, **{"methods": ("recalibrated",), **changes})
    with pytest.raises(BadArgument, match=said) as caught:
        run_replay(pool, request, pool_name="made", processes=1)
    assert caught.value.argument == "audit"
