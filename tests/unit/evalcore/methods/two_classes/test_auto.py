"""`auto` is what the certified table says, either way, and an evaluation keeps what it began with."""

import json
from dataclasses import replace

import numpy as np
import pytest
from doubles.world import World

from assay.evalcore.methods import registry
from assay.evalcore.methods.registry import auto, method
from assay.evalcore.methods.two_classes import certified
from assay.evalcore.methods.two_classes.choice import (
    BINARY,
    DEFAULT,
    POOLS_OF_RECORD,
    WORKING,
    Certified,
    choose,
)
from assay.flows.evaluation.begin import begin_evaluation
from assay.flows.record.opened import open_evaluation
from assay.tasks.ledger import layout
from benchmarks.certified_table import rows, source

OF_RECORD = POOLS_OF_RECORD[BINARY]
GOOD = tuple(
    Certified(method="recalibrated", pool=pool, kind=WORKING, measure="f1", repeats=1000, ratio=0.12,
              coverage=0.951, width=2.4)
    for pool in OF_RECORD
)


def test_the_committed_table_decides_and_says_why():
    chosen = choose(certified.TABLE)
    assert auto() == chosen
    assert method("auto").name == chosen.method
    assert chosen.method in chosen.reason
    passed = all(
        any(r.pool == pool and r.measure == "f1" and not r.failings() for r in certified.TABLE)
        for pool in OF_RECORD
    )
    assert (chosen.method == "recalibrated") == passed


def test_a_candidate_that_passed_everywhere_is_chosen():
    chosen = choose(GOOD)
    assert chosen.method == "recalibrated"
    assert "0.12 (abt-buy) and 0.12 (restaurant)" in chosen.reason
    assert "95.1%" in chosen.reason


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"repeats": 50}, "50 repeats of the 1,000"),
        ({"ratio": 0.31}, "is 0.31, at most 0.3"),
        ({"ratio": None}, "cannot be told"),
        # of 1,000 at 0.94, 917 or fewer come up with probability 0.002
        ({"coverage": 0.917}, "coverage is 0.917"),
    ],
)
def test_one_failing_anywhere_keeps_the_default_and_is_named(change, said):
    chosen = choose((GOOD[0], replace(GOOD[1], **change)))
    assert chosen.method == DEFAULT
    assert f"{OF_RECORD[1]}: " in chosen.reason
    assert said in chosen.reason
    assert f"{OF_RECORD[0]}:" not in chosen.reason


def test_a_pool_that_was_not_measured_keeps_the_default():
    assert "restaurant: not measured" in choose(GOOD[:1]).reason
    assert choose(()).method == DEFAULT


def test_the_kinds_of_pool_are_held_to_errors_of_their_own_and_none_to_a_width():
    broken = replace(GOOD[0], kind="broken", ratio=1.2, width=90.0)
    assert broken.failings() == []
    assert replace(broken, ratio=1.21).failings() != []


def test_rows_of_another_kind_of_outcome_do_not_count():
    assert choose(tuple(replace(row, outcome="classes") for row in GOOD)).method == DEFAULT


def test_settings_written_for_the_default_keep_the_default(monkeypatch):
    monkeypatch.setattr(registry, "TABLE", GOOD)
    assert method("auto").name == "recalibrated"
    assert method("auto:depth=6").name == "dirichlet-tree:depth=6"
    assert "depth=6" in auto("auto:depth=6").reason
    assert method("auto:n_strata=32").name == "recalibrated:n_strata=32"


def test_an_evaluation_keeps_the_method_that_auto_meant_when_it_began(tmp_path, monkeypatch):
    world = World(tmp_path, method="auto")
    monkeypatch.setattr(registry, "TABLE", ())
    opened = begin_evaluation(world.store, world.spec, world.desk)
    assert opened.question.method.name == "dirichlet-tree"
    recorded = json.loads(world.store.get(layout.spec("small")))["auto"]
    assert recorded == {"method": "dirichlet-tree", "reason": opened.why_method}
    monkeypatch.setattr(registry, "TABLE", GOOD)
    assert method("auto").name == "recalibrated"
    assert begin_evaluation(world.store, world.spec, world.desk).question.method.name == "dirichlet-tree"
    assert open_evaluation(world.store, "small").why_method == recorded["reason"]
    assert world.advance().state == "finished"


def test_a_method_asked_for_by_name_needs_no_reason(tmp_path):
    world = World(tmp_path, method="passive")
    assert begin_evaluation(world.store, world.spec, world.desk).why_method is None
    assert json.loads(world.store.get(layout.spec("small"))).get("auto") is None


def test_the_table_is_made_of_the_sums_and_reads_back_as_it_was():
    # 100 repeats; MSE 0.01 and 0.04 against 0.1: ratios 0.1 and 0.4, geometric mean 0.2; widths 0.392 and
    # 0.784 over 3.92 · 0.1 and 3.92 · 0.2: 1 and 1
    def total(squared, covers, width):
        return {"n": 100.0, "squared": squared, "covers": covers, "width": width}

    found = {
        ("abt-buy", "recalibrated", "f1", 50): total(1.0, 95.0, 39.2),
        ("abt-buy", "recalibrated", "f1", 100): total(4.0, 93.0, 78.4),
        ("abt-buy", "passive", "f1", 50): total(10.0, 10.0, 100.0),
    }
    table = rows(found, lambda *where: ("passive", {"mse": 0.1}), {"abt-buy": WORKING})
    assert table == [
        Certified(method="recalibrated", pool="abt-buy", kind=WORKING, measure="f1", repeats=100, ratio=0.2,
                  coverage=0.93, width=1.0)
    ]
    made = {}
    exec(source(table, (50, 100)), made)
    assert made["TABLE"] == tuple(table)
    assert np.isfinite(made["TABLE"][0].ratio)
