"""The best of several systems, asked of people at a folder desk: the winner, the report, and no winner."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
import yaml

from assay.flows.cli.main import run_command_line

NAMES = ["alpha", "beta", "gamma"]
ROWS = {"display": ["text"], "contenders": {"columns": ["model"], "names": NAMES}}


@pytest.fixture
def assay(tmp_path, monkeypatch, capsys):
    """A way to run commands in a folder of its own: exit code, output, errors."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ASSAY_STORE", raising=False)

    def run(*arguments):
        capsys.readouterr()
        code = run_command_line(list(arguments))
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


def _answers(rows, *, right):
    """Rows of each system's answer to a question, and what people would say of it."""
    rng = np.random.default_rng(2)
    told = {}
    with Path("answers.csv").open("w", newline="") as opened:
        writer = csv.writer(opened)
        writer.writerow(["item_id", "model", "text"])
        for i in range(rows):
            for name, chance in zip(NAMES, right, strict=True):
                writer.writerow([f"{i}-{name}", name, f"what {i}-{name} says"])
                told[f"{i}-{name}"] = int(rng.random() < chance) if chance < 1 else i % 2
    return told


def _comparisons(items):
    """Every two systems' answers to a question, in either order; alpha wins two times of three."""
    told = {}
    with Path("answers.csv").open("w", newline="") as opened:
        writer = csv.writer(opened)
        writer.writerow(["item_id", "left", "right", "one", "other"])
        for i in range(items):
            for a, b in (("alpha", "beta"), ("gamma", "alpha"), ("beta", "gamma")):
                writer.writerow([f"{i}-{a}-{b}", a, b, f"{a} says {i}", f"{b} says {i}"])
                won = a if b == "gamma" else "alpha" if i % 4 else b if a == "alpha" else a
                told[f"{i}-{a}-{b}"] = "one" if won == a else "other"
    return told


def _spec(pool, labels, measure, **changes):
    Path("best.yaml").write_text(yaml.safe_dump({
        "name": "best", "pool": {"source": "answers.csv", "id": "item_id", **pool}, "labels": labels,
        "measure": measure, "target": {"best_of": 0.0}, "budget": {"labels": 300}, "batch_size": 50,
        "desk": {"kind": "folder", "path": "labelling"}, **changes,
    }))


def _answer(told):
    """People fill in every sheet that waits: what is shown of an item names it."""
    for sheet in sorted(Path("labelling/best").glob("round-*.csv")):
        target = Path("labelling/best/answers") / sheet.name
        if target.exists():
            continue
        with sheet.open(encoding="utf-8-sig", newline="") as opened:
            rows = list(csv.DictReader(opened))
        with target.open("w", newline="") as opened:
            writer = csv.writer(opened)
            writer.writerow(["item_id", "label", "skip"])
            writer.writerows([row["item_id"], told(row), ""] for row in rows)


def _until_it_ends(assay, told):
    assert assay("begin", "best.yaml")[0] == 0
    for _ in range(10):
        code, out, _ = assay("advance", "best", "--json")
        if code != 5:
            return code, json.loads(out)
        _answer(told)
    raise AssertionError("it does not end")


def test_grades_by_system_end_with_a_winner(assay):
    told = _answers(200, right=(0.9, 0.6, 0.3))
    _spec(ROWS, {"grades": [0, 1]}, "mean")
    code, ended = _until_it_ends(assay, lambda row: told[row["text"].split()[1]])
    assert (code, ended["stopped_by"], ended["best"]["winner"]) == (0, "best_of", "alpha")
    assert ended["best"]["better_than_all"] is True
    assert [one["out"] for one in ended["best"]["systems"]] == [False, True, True]
    assert ended["labels"] < 300
    _, said, _ = assay("status", "best")
    said = " ".join(said.split())
    assert "alpha is the best of 3 systems by Mean" in said
    assert "each of the two could be named with a chance of up to 5%" in said
    assert "hold together for all 3 systems; those of assay compare are of one system each" in said
    assert "assay status has those that hold together" in " ".join(assay("compare", "best")[1].split())
    assert assay("verify", "best")[0] == 0
    assert assay("report", "best")[0] == 0
    page = Path("assay-report-best/report.html").read_text()
    assert "Best system" in page
    assert '<p class="what">Mean <span class="of">alpha</span></p>' in page
    code, _, error = assay("extend", "best", "--labels", "400")
    assert code == 2
    assert "spread over the looks of its budget" in " ".join(error.split())


def test_a_tie_is_said_to_be_one_and_is_inconclusive(assay):
    told = _answers(60, right=(1, 1, 0.1))      # the first two alike on every question
    _spec(ROWS, {"grades": [0, 1]}, "mean", budget={"labels": 150})
    code, ended = _until_it_ends(assay, lambda row: told[row["text"].split()[1]])
    assert (code, ended["stopped_by"], ended["best"]["winner"]) == (4, "budget", None)
    _, said, _ = assay("status", "best")
    assert "No winner is known" in " ".join(said.split())


def test_an_arena_has_win_rates_and_strengths(assay):
    told = _comparisons(120)
    _spec({"display": ["one", "other"], "contenders": {"columns": ["left", "right"], "names": NAMES}},
          {"prefer": ["one", "other"], "tie": False}, "win_rate")

    def preferred(row):
        texts = [row["answer_a"], row["answer_b"]]            # in an order that is drawn for each item
        i = texts[0].split()[2]
        pair = next(key for key in told if key.split("-")[0] == i
                    and {key.split("-")[1], key.split("-")[2]} == {text.split()[0] for text in texts})
        won = pair.split("-")[1 if told[pair] == "one" else 2]
        return "AB"[texts.index(f"{won} says {i}")]

    code, ended = _until_it_ends(assay, preferred)
    assert (code, ended["best"]["winner"]) == (0, "alpha")
    rate = next(e for e in ended["estimates"] if e["system"] == "alpha" and e["versus"] is None)
    assert rate["lower"] <= 0.75 <= rate["upper"]
    assert rate["band"]["lower"] < rate["lower"] < rate["upper"] < rate["band"]["upper"]
    assert assay("report", "best")[0] == 0
    assert "Bradley-Terry" in Path("assay-report-best/report.html").read_text()


@pytest.mark.parametrize(("pool", "labels", "changes", "said"), [
    ({"display": ["text", "model"]}, {}, {}, "people must not see it"),
    ({}, {"labels": {"positive": "yes", "negative": "no"}}, {}, "needs labels"),
    ({}, {}, {"method": "dirichlet-tree"}, "mix the rows of systems"),
    ({}, {}, {"about": "population"}, "named of the pool's items"),
    ({}, {}, {"target": {"best_of": 0, "half_width": 0.1}}, "beside another target"),
    ({"contenders": None}, {}, {}, "needs several systems"),
    ({"contenders": {"columns": ["model", "text"], "names": NAMES}}, {}, {}, "name one"),
    ({"contenders": {"columns": ["model"], "names": ["a", "a"]}}, {}, {}, "lists 'a' twice"),
    ({"contenders": {"columns": ["model"], "names": ["a", "b\nc"]}}, {}, {}, "a name is one line"),
    ({"contenders": {"columns": ["model"], "names": ["a"]}}, {}, {}, "names has 1; give at least 2"),
])
def test_what_makes_no_sense_is_refused(assay, pool, labels, changes, said):
    _answers(40, right=(0.9, 0.6, 0.3))
    _spec({key: value for key, value in {
        "display": ["text"], "contenders": {"columns": ["model"], "names": NAMES}, **pool}.items()
        if value is not None}, labels.get("labels", {"grades": [0, 1]}), "accuracy" if labels else "mean",
        **changes)
    code, _, error = assay("begin", "best.yaml")
    assert code == 2
    assert said in " ".join(error.split())


def test_a_row_of_a_system_that_is_not_named_is_refused(assay):
    _answers(40, right=(0.9, 0.6, 0.3))
    _spec({"display": ["text"], "contenders": {"columns": ["model"], "names": NAMES[:2]}}, {"grades": [0, 1]},
          "mean", budget={"labels": 150})
    code, _, error = assay("begin", "best.yaml")
    assert code == 2
    assert "are none of the contenders ('alpha', 'beta')" in " ".join(error.split())
    _spec({"display": ["text"], "contenders": {"columns": ["model"], "names": [*NAMES, "delta"]}},
          {"grades": [0, 1]}, "mean", budget={"labels": 110})
    code, _, error = assay("begin", "best.yaml")
    assert code == 2
    assert "no row is of the contender 'delta'" in " ".join(error.split())


def test_a_measure_of_no_system_alone_is_refused_once(assay):
    _answers(40, right=(0.9, 0.6, 0.3))
    _spec({**ROWS, "prediction": "guess"}, {"number": {"min": 0, "max": 1}}, "bias")
    code, _, error = assay("begin", "best.yaml")
    assert code == 2
    assert " ".join(error.split()).count("of one system's rows") == 1


def test_a_system_of_which_all_is_known_has_an_interval_of_its_value_alone(assay):
    told = _answers(40, right=(0.95, 0.9, 0.3))
    _spec(ROWS, {"grades": [0, 1]}, "mean", budget={"labels": 120})
    _, ended = _until_it_ends(assay, lambda row: told[row["text"].split()[1]])
    known = [one for one in ended["best"]["systems"] if one["upper"] - one["lower"] < 1e-6]
    assert known
    assert all(one["lower"] == one["value"] == one["upper"] for one in known)
    names = {one["system"] for one in known}
    alone = [one for one in ended["estimates"] if one["system"] in names and one["versus"] is None]
    assert {one["interval"] for one in alone} == {"exact"}
