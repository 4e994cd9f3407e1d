"""Several questions about one item: from the spec over each desk to page, JSON, export, replay and verify."""

import csv
import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import assay
from assay.evalcore.errors import BadInput
from assay.flows.cli.main import run_command_line
from assay.flows.evaluation.advance import Patience, advance, drive
from assay.flows.evaluation.begin import begin_evaluation
from assay.flows.record.opened import open_evaluation
from assay.flows.report.gather import report_data
from assay.flows.verify.ledger import verify
from assay.flows.weighted import exported_questions
from assay.tasks.ledger import open_store
from assay.tasks.report.files import render_report
from assay.tasks.spec.evaluation import Spec
from assay.tasks.testing import MemoryStore

AT_ONCE = Patience(first=0.0, longest=0.0, in_all=0.0)
N = 150
LABELS = [
    {"name": "grade", "question": "How good?", "grades": [1, 2, 3], "judge": "judged", "measure": "mean"},
    {"name": "size", "number": {"min": 0, "max": 10}, "prediction": "guessed", "measure": ["mae", "mean"]},
    {"name": "topics", "tags": ["war", "arts"], "prediction": "tagged", "measure": "micro_f1"},
    {"name": "right", "positive": "yes", "negative": "no", "score": "sure", "threshold": 0.5,
     "measure": [{"name": "f1"}, "accuracy"]},
]
ANSWERS = ("grade", "size", "topics", "right")


@pytest.fixture
def truth(tmp_path: Path) -> pd.DataFrame:
    """`pool.csv` and `labels.csv`; the answers by item."""
    rng = np.random.default_rng(3)
    grade, size = rng.integers(1, 4, N), np.round(rng.uniform(0, 10, N), 1)
    tags = [("war", "arts", "war|arts", "")[i] for i in rng.integers(0, 4, N)]
    sure = rng.random(N)
    right = np.where(rng.random(N) < sure, "yes", "no")
    ids = [f"item-{i:03d}" for i in range(N)]
    pd.DataFrame({
        "item_id": ids, "text": [f"shown of {item}" for item in ids], "part": ["a", "b", "b"] * (N // 3),
        "judged": np.clip(grade + rng.integers(-1, 2, N), 1, 3),
        "guessed": np.clip(size + rng.normal(0, 1, N), 0, 10), "sure": sure,
        "tagged": [one if rng.random() < 0.8 else "war" for one in tags],
    }).to_csv(tmp_path / "pool.csv", index=False)
    found = pd.DataFrame({"item_id": ids, "grade": grade, "size": size, "topics": tags, "right": right})
    # nobody says how large the first ones are; of the last nobody can say anything
    found["size"] = found["size"].astype(object)
    found.loc[:29, "size"] = ""
    found.to_csv(tmp_path / "labels.csv", index=False)
    return found.set_index("item_id")


def spec_of(folder: Path, **changes) -> dict:
    return {
        "name": "four",
        "pool": {"source": str(folder / "pool.csv"), "id": "item_id", "display": ["text"],
                 "segments": ["part"]},
        "labels": LABELS, "target": {"confidence": 0.9}, "budget": {"labels": 60}, "batch_size": 30,
        "desk": {"kind": "simulated", "labels": str(folder / "labels.csv")},
    } | changes


def run(folder: Path, **changes):
    store = MemoryStore()
    begin_evaluation(store, Spec.from_json(spec_of(folder, **changes)))
    return store, drive(store, "four", patience=AT_ONCE)


def test_one_reading_answers_all_and_is_verified_reported_and_exported(tmp_path, truth):
    store, standing = run(tmp_path)
    assert (standing.state, standing.labels) == ("finished", 60)
    whole = {(row.question, row.measure): row for row in standing.estimates if row.segment is None}
    assert list(whole) == [
        ("grade", "mean"), ("size", "mae"), ("size", "mean"), ("topics", "micro_f1"), ("right", "f1"),
        ("right", "accuracy"),
    ]
    assert all(row.lower <= row.value <= row.upper for row in whole.values())
    opened = open_evaluation(store, "four")
    columns, _ = exported_questions(opened, shown=False)
    missing = sum(one is None for one in columns["label:size"])
    assert 0 < missing < 30
    assert whole["size", "mean"].labels == 60 - missing
    assert whole["size", "mean"].nonresponse.unanswered == missing
    assert whole["grade", "mean"].labels == 60
    assert whole["grade", "mean"].nonresponse is None
    exact = truth.grade.mean()
    assert whole["grade", "mean"].lower - 0.2 < exact < whole["grade", "mean"].upper + 0.2
    for name in ANSWERS:       # weights stand for the pool
        weight = [one for one in columns[f"sample_weight:{name}"] if one is not None]
        assert sum(weight) == pytest.approx(N, rel=0.05)
    by_part = {row.question for row in standing.estimates if row.segment == "part=a"}
    assert by_part == set(ANSWERS)
    found = verify(store, "four")
    assert (found.differences, found.rounds, found.labels) == ((), 2, 60)
    _, again = run(tmp_path)
    assert again.to_json() == standing.to_json()
    files = render_report(report_data(opened, standing))
    page = files["report.html"].decode()
    assert f"size: not answered of {missing} items that were asked" in page
    assert "right" in page
    told = json.loads(files["report.json"])
    assert {one["question"] for one in told["estimates"]} == set(ANSWERS)


def test_several_people_decide_question_by_question(tmp_path, truth):
    desk = {"kind": "simulated", "labels": str(tmp_path / "labels.csv"), "annotators_per_item": 2,
            "error_rate": 0.2}
    store, standing = run(tmp_path, desk=desk, budget={"labels": 30})
    while standing.state != "finished":      # who breaks a tie answers at the next look
        standing = advance(store, "four")
    assert verify(store, "four").differences == ()


def test_a_target_is_met_when_every_question_that_drives_meets_it(tmp_path, truth):
    wide = {"half_width": 0.3, "confidence": 0.95}
    _, all_of_them = run(tmp_path, target=wide, budget={"labels": 150}, batch_size=15)
    _, one = run(tmp_path, target=wide, budget={"labels": 150}, batch_size=15, drive=["right"])
    assert all_of_them.stopped_by in ("half_width", "pool", "budget")
    assert one.stopped_by == "half_width"
    assert one.labels <= all_of_them.labels
    leading = [row for row in all_of_them.estimates if row.segment is None]
    if all_of_them.stopped_by == "half_width":
        firsts = [leading[at] for at in (0, 1, 3, 4)]
        assert max((row.upper - row.lower) / 2 for row in firsts) <= 0.3


def test_the_folder_has_a_column_for_each_question(tmp_path, truth, capsys):
    desk, place = tmp_path / "desk", str(tmp_path / "store")
    spec = Spec.from_json(spec_of(tmp_path, desk={"kind": "folder", "path": str(desk)}))
    store = open_store(place)
    begin_evaluation(store, spec)
    advance(store, "four")
    told = (desk / "four" / "INSTRUCTIONS.txt").read_text()
    assert 'grade: How good? "1" or "2" or "3"' in told
    with (desk / "four" / "round-0001.csv").open(encoding="utf-8-sig", newline="") as file:
        head, *rows = csv.reader(file)
    assert head == ["item_id", "text", *ANSWERS]
    rows[0][2:] = ["2", "", "", ""]                      # one question alone
    rows[1][2:] = ["9", "1", "", "yes"]                  # 9 is no grade: the whole row waits
    rows[2].append("yes")                                # skipped
    for row in rows[3:]:
        row[2:] = ["3", "4.5", "arts|war", "No"]
    with (desk / "four" / "answers" / "round-0001-kim.csv").open("w", newline="") as file:
        csv.writer(file).writerows([[*head, "skip"], *rows])
    old = 1_700_000_000
    os.utime(desk / "four" / "answers" / "round-0001-kim.csv", (old, old))
    waiting = advance(store, "four").waiting_for
    assert (waiting.round, waiting.invalid) == (1, 1)
    rows[1][2:] = ["1", "1", "none", "yes"]
    with (desk / "four" / "answers" / "round-0001-kim.csv").open("w", newline="") as file:
        csv.writer(file).writerows([[*head, "skip"], *rows])
    os.utime(desk / "four" / "answers" / "round-0001-kim.csv", (old + 60, old + 60))
    standing = advance(store, "four", close_round="open")
    assert standing.rounds == 1
    labels = {row.question: row.labels for row in standing.estimates if row.segment is None}
    assert labels == {"grade": 29, "size": 28, "topics": 28, "right": 28}
    assert run_command_line(["verify", "four", "--store", place]) == 0
    assert "verified" in capsys.readouterr().out


def test_ask_and_tell_in_python(tmp_path, truth):
    frame = pd.read_csv(tmp_path / "pool.csv", index_col="item_id")
    started = assay.begin(frame, outcome=LABELS, show=["text"], budget=50, batch_size=25)
    batch = started.ask()
    answers = truth.loc[batch.item_id].reset_index()
    answers["size"] = [None if one == "" else float(one) for one in answers["size"]]
    result = started.tell(answers)
    assert (result.rounds, result["mean", "grade"].labels) == (1, 25)
    said = {
        item: {"grade": float(truth.grade[item]), "topics": list(filter(None, truth.topics[item].split("|"))),
               "right": truth.right[item] == "yes"}
        for item in started.ask().item_id
    }
    result = started.tell(said)
    assert (result.state, result["mean", "grade"].labels) == ("finished", 50)
    assert result["mean", "size"].labels < 50
    assert set(result.to_frame()["question"]) == set(ANSWERS)
    with pytest.raises(KeyError, match="'size'"):
        result["mean"]
    fresh = assay.begin(frame, outcome=LABELS, show=["text"], budget=20)
    item = fresh.ask().item_id[0]
    with pytest.raises(BadInput, match="is no answer"):
        fresh.tell({item: {"grade": 7}})


def test_a_replay_reads_the_pool_as_the_spec_does(tmp_path, truth, capsys):
    known = truth.assign(size=[1.0 if one == "" else one for one in truth["size"]])
    pool = pd.read_csv(tmp_path / "pool.csv").merge(known.reset_index(), on="item_id")
    pool.to_csv(tmp_path / "known.csv", index=False)
    spec = tmp_path / "spec.yaml"
    spec.write_text(json.dumps(spec_of(tmp_path)))
    asked = ["replay", str(tmp_path / "known.csv"), "--questions", str(spec), "--json", "--budgets", "40",
             "--repeats", "3"]
    assert run_command_line([*asked, "--method", "auto,passive"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert {(one["question"], one["measure"]) for one in told["methods"]} == {
        ("grade", "mean"), ("size", "mae"), ("size", "mean"), ("topics", "micro_f1"), ("right", "f1"),
        ("right", "accuracy"),
    }
    assert told["truth"]["mean of grade"] == pytest.approx(known.grade.mean())
    assert run_command_line([*asked, "--measure", "f1"]) == 2
    assert "--measure: the spec" in capsys.readouterr().err
    spec.write_text(json.dumps(spec_of(tmp_path) | {"about": "population"}))
    assert run_command_line(asked) == 2
    assert "a replay knows the truth of its pool alone" in capsys.readouterr().err


def changed(place: int, **entry) -> list[dict]:
    return [{**one, **(entry if at == place else {})} for at, one in enumerate(LABELS)]


@pytest.mark.parametrize(("changes", "says"), [
    ({"labels": LABELS[:1]}, r"lists 1 questions"),
    ({"labels": changed(0, name="label")}, "cannot be the name of a question"),
    ({"labels": changed(0, name="size")}, "calls two questions 'size'"),
    ({"labels": changed(1, number={})}, "needs both bounds"),
    ({"labels": changed(0, measure="f1")}, r"measure\[0\].*'f1'"),
    ({"labels": changed(0, measure=[])}, "has none of question 'grade'"),
    ({"labels": changed(0, measure="accuracy")}, "needs a prediction"),
    ({"labels": changed(1, score="sure")}, "of a positive and a negative class"),
    ({"labels": changed(1, probability="sure")}, "is of classes or tags"),
    ({"labels": [*LABELS[:3], {"name": "x", "prefer": ["a", "b"]}]}, "an evaluation of its own"),
    ({"labels": [*LABELS[:3], {"name": "x", "prediction": "sure"}]}, "nothing that may be answered"),
    ({"method": "bernoulli"}, "take auto"),
    ({"drive": ["mean"]}, "names those that the choice of items serves"),
    ({"warm_start": {"evaluation": "other"}}, "a model of one question"),
    ({"budget": {"labels": 60, "audit": 5}}, "several questions are asked"),
    ({"desk": {"kind": "caller", "ask_again": True}}, "have a chance each"),
    ({"desk": {"kind": "caller", "gold": {"labels": "x.csv"}}}, "of one question"),
    ({"desk": {"kind": "simulated", "labels": "x.csv", "label": "y"}}, "in a column for each"),
    ({"labels": {"number": {}}, "measure": {"name": "mean", "question": "x"}}, "asks one only"),
])
def test_what_does_not_fit_is_refused_in_a_sentence(tmp_path, changes, says):
    with pytest.raises(BadInput, match=says):
        Spec.from_json(spec_of(tmp_path, **changes))


def test_columns_of_the_pool_belong_to_a_question(tmp_path):
    spec = spec_of(tmp_path)
    with pytest.raises(BadInput, match="beside the question's name"):
        Spec.from_json(spec | {"pool": spec["pool"] | {"prediction": "guessed"}})
