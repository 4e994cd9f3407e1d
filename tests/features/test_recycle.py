"""`assay recycle` and `assay.recycle`: the paper's Algorithms 1 and 2, from predictions to precisions."""

import csv
import json

import numpy as np
import pandas as pd
import pytest

import assay
from assay.errors import BadInput
from assay.flows.cli.main import run_command_line

SYSTEMS = {"a": "said_a", "b": "said_b", "c": "said_c"}


@pytest.fixture
def pool():
    rng = np.random.default_rng(1)
    truth = rng.random(900) < 0.4
    said = {name: np.where(rng.random(900) < 0.85, truth, ~truth) for name in SYSTEMS.values()}
    return pd.DataFrame({
        "item_id": [f"i{k}" for k in range(900)], "truth": np.where(truth, "spam", "ham"),
        **{name: np.where(calls, "spam", "ham") for name, calls in said.items()},
    })


def test_labels_are_shared_and_the_same_seed_draws_the_same_samples(pool):
    plan = assay.recycle(pool, systems=SYSTEMS, positive="spam", size=120)
    assert [one.system for one in plan] == ["majority", "a", "b", "c"]
    assert all(one.precision is None and one.unlabelled == len(one.items) for one in plan)
    bought = {item for one in plan for item in one.items}
    assert len(bought) == sum(one.new for one in plan) < sum(len(one.items) for one in plan)
    labelled = pool.assign(label=pool["truth"].where(pool["item_id"].isin(bought), None))
    found = assay.recycle(labelled, systems=SYSTEMS, positive="spam", size=120, options={"label": "label"})
    assert [one.items for one in found] == [one.items for one in plan]
    for one in found:
        calls = (pool[list(SYSTEMS.values())] == "spam")
        mine = calls.sum(axis=1) > 1.5 if one.system == "majority" else calls[SYSTEMS[one.system]]
        truth = (pool["truth"][mine] == "spam").mean()
        assert one.lower - 0.06 < truth < one.upper + 0.06
        assert one.predicted_positive == mine.sum()


def test_equation_1_is_the_share_of_draws_that_come_from_the_parent(pool):
    for one in assay.recycle(pool, systems=SYSTEMS, positive="spam", size=200)[1:]:
        assert one.saved == one.recycled / one.sample > 0.4


def test_the_command_writes_what_to_label_and_prints_one_object(pool, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    pool.to_csv("pool.csv", index=False)
    asked = [arg for name, column in SYSTEMS.items() for arg in ("--system", f"{name}={column}")]
    asked += ["--positive", "spam", "--size", "80", "--out", "ask.csv"]
    assert run_command_line(["recycle", "pool.csv", *asked, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    with open("ask.csv", newline="", encoding="utf-8") as opened:
        rows = list(csv.DictReader(opened))
    assert told["labels"] == len(rows) == len({row["item_id"] for row in rows})
    assert run_command_line(["recycle", "pool.csv", *asked, "--label", "truth"]) == 0
    assert "items to label: ask.csv" in capsys.readouterr().out
    same = assay.recycle("pool.csv", systems=SYSTEMS, positive="spam", size=80)
    assert [one.system for one in same] == [one["system"] for one in told["systems"]]
    assert list(same[0].items) == told["systems"][0]["items"]


@pytest.mark.parametrize(("changes", "message"), [
    ({"systems": {"a": "said_a"}}, "name two or more"),
    ({"systems": {"a": "said_a", "majority": "said_b"}}, "as the parent is"),
    ({"systems": {"a": "said_a", "b": "said_d"}}, "no column 'said_d'"),
    ({"positive": "eggs"}, "predicts 'eggs' nowhere"),
    ({"size": 0}, "size: must be a whole number, 1 or more, got 0"),
    ({"options": {"mix": "sample"}}, "no option 'mix'"),
    ({"options": {"mixing": "draw"}}, "mixing is 'sample' or 'shuffle'"),
    ({"options": {"confidence": 1.5}}, "between 0 and 1"),
])
def test_what_makes_no_sense_is_refused(pool, changes, message):
    with pytest.raises(BadInput, match=message):
        assay.recycle(pool, **{"systems": SYSTEMS, "positive": "spam", "size": 50, **changes})
