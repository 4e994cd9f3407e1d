"""Evaluations of numbers, tags and preferences, from the spec to the report, at desks without a server."""

import csv
import json
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from doubles.outcomes import TAGS, WRITERS, N, spec_of, write_labels, write_pairs, write_tags
from sklearn.metrics import f1_score, mean_squared_error, r2_score

from assay.evalcore.errors import BadInput
from assay.flows.cli.main import run_command_line
from assay.flows.evaluation.advance import Patience, Timing, advance, drive
from assay.flows.evaluation.begin import begin_evaluation
from assay.flows.record.opened import open_evaluation
from assay.flows.report.gather import report_data
from assay.flows.verify.ledger import verify
from assay.tasks.desks.blind import BlindPair
from assay.tasks.desks.caller import CallerDesk
from assay.tasks.ledger.asked_round import stored_answers
from assay.tasks.ledger.closed_round import read_annotators, read_labels
from assay.tasks.ledger.record import Ledger
from assay.tasks.report.files import render_report
from assay.tasks.report.standing import Standing
from assay.tasks.spec.evaluation import Spec
from assay.tasks.testing import MemoryStore

AT_ONCE = Patience(first=0.0, longest=0.0, in_all=0.0)


def run(kind: str, folder: Path, /, store=None, **changes) -> tuple[MemoryStore, Standing]:
    store = store or MemoryStore()
    begin_evaluation(store, Spec.from_json(spec_of(kind, folder, **changes)))
    return store, drive(store, kind, patience=AT_ONCE)


def values(standing: Standing) -> dict:
    return {(row.measure, row.class_name): row.value for row in standing.estimates}


@pytest.mark.parametrize("kind", WRITERS)
def test_a_run_is_finished_verified_reported_and_the_same_again(tmp_path, kind):
    WRITERS[kind](tmp_path)
    store, standing = run(kind, tmp_path)
    assert (standing.state, standing.stopped_by, standing.labels) == ("finished", "budget", 40)
    assert all(row.lower <= row.value <= row.upper for row in standing.estimates)
    found = verify(store, kind)
    assert (found.differences, found.rounds, found.labels) == ((), 2, 40)
    _, again = run(kind, tmp_path)
    assert again.to_json() == standing.to_json()
    page = render_report(report_data(open_evaluation(store, kind), standing))["report.html"].decode()
    title = {"number": "Predictions and labels", "tags": "Tag by tag", "preference": "Who won"}[kind]
    assert f">{title}</h2>" in page


@pytest.mark.parametrize("kind", ["number", "preference"])
def test_coins_of_each_item_bring_as_many_labels_as_were_meant_on_average(tmp_path, kind):
    WRITERS[kind](tmp_path)
    store, standing = run(kind, tmp_path, method="bernoulli:draws=independent")
    assert standing.state == "finished"
    assert standing.labels >= 40     # the last batch may exceed the budget
    assert verify(store, kind).differences == ()
    page = render_report(report_data(open_evaluation(store, kind), standing))["report.html"].decode()
    assert "Every item has a coin of its own" in page


@pytest.mark.parametrize("form", ["printed", "corrected"])
def test_tags_by_appendix_d_run_live(tmp_path, form):
    write_tags(tmp_path)
    store, standing = run(
        "tags", tmp_path, method=f"bernoulli:form={form}", measure=["micro_f1", "macro_f1_of_means", "f1"],
        pool_segments=["predicted"],
    )
    assert (standing.state, standing.labels) == ("finished", 40)
    assert {row.interval for row in standing.estimates if row.segment is None} == {"beta"}
    assert all(row.lower <= row.value <= row.upper for row in standing.estimates if row.segment is None)
    assert verify(store, "tags").differences == ()
    page = render_report(report_data(open_evaluation(store, "tags"), standing))["report.html"].decode()
    assert "beta interval" in page
    everything = {"budget": {"labels": N}, "batch_size": 50}
    _, labelled_out = run("tags", tmp_path, method=f"bernoulli:form={form}", **everything)
    assert all(row.lower == row.value == row.upper for row in labelled_out.estimates)


@pytest.mark.parametrize(("kind", "method", "why"), [
    ("number", "bernoulli:form=printed", "is for tags, not for number"),
    ("tags", "bernoulli:trust=0.8", "trust is for tags with form="),
])
def test_what_appendix_d_has_nothing_for_is_refused(tmp_path, kind, method, why):
    with pytest.raises(BadInput, match=why):
        Spec.from_json(spec_of(kind, tmp_path, method=method))


def test_labelled_out_the_values_are_those_of_scikit_learn(tmp_path):
    truth = WRITERS["number"](tmp_path)
    _, standing = run("number", tmp_path, budget={"labels": N}, batch_size=N)
    with (tmp_path / "pool.csv").open(newline="", encoding="utf-8") as opened:
        predicted = {row["item_id"]: float(row["predicted"]) for row in csv.DictReader(opened)}
    y, f = np.array([*truth.values()]), np.array([predicted[item] for item in truth])
    found = values(standing)
    assert standing.stopped_by == "pool"
    assert found["mse", None] == pytest.approx(mean_squared_error(y, f))
    assert found["r2", None] == pytest.approx(r2_score(y, f))
    assert found["within(5)", None] == pytest.approx((np.abs(f - y) <= 5).mean())
    tags = write_tags(tmp_path)
    _, standing = run("tags", tmp_path, budget={"labels": N}, batch_size=N)
    with (tmp_path / "pool.csv").open(newline="", encoding="utf-8") as opened:
        predicted_tags = {row["item_id"]: row["predicted"] for row in csv.DictReader(opened)}
    y, f = (np.array([[tag in one[item].split("|") for tag in TAGS] for item in tags])
            for one in (tags, predicted_tags))
    assert values(standing)["micro_f1", None] == pytest.approx(f1_score(y, f, average="micro"))
    assert values(standing)["f1", "arts"] == pytest.approx(f1_score(y[:, 3], f[:, 3]))


@pytest.mark.parametrize(("kind", "errors", "rule", "statistics"), [
    ("number", {"noise": 3.0}, "mean", ["krippendorff-alpha"]),
    ("tags", {"error_rate": 0.1}, "dawid-skene", ["krippendorff-alpha"] * (1 + len(TAGS))),
])
def test_several_people_their_agreement_and_gold(tmp_path, kind, errors, rule, statistics):
    truth = WRITERS[kind](tmp_path)
    gold = {f"gold-{i}": label for i, label in enumerate([*truth.values()][:8])}
    write_labels(tmp_path, truth | gold)
    with (tmp_path / "gold.csv").open("w", newline="", encoding="utf-8") as opened:
        csv.writer(opened).writerows([["item_id", "label", "text"], *([i, y, "?"] for i, y in gold.items())])
    desk = {"kind": "simulated", "labels": str(tmp_path / "labels.csv"), "annotators": [errors] * 3,
            "annotators_per_item": 3, "gold": {"labels": str(tmp_path / "gold.csv"), "rate": 0.2}}
    store, standing = run(kind, tmp_path, desk=desk, adjudication=rule and {"rule": rule})
    assert standing.labels == 40
    assert verify(store, kind).differences == ()
    known = read_annotators(Ledger(store, kind), 2)
    assert [a.statistic for a in known.agreement] == statistics
    assert 0.2 < known.agreement[0].value <= 1
    assert known.gold.answers == 3 * known.gold.items > 0
    assert (known.spread is not None) == (kind == "number")
    if kind == "number":
        # the label of three is their middle or mean: nearer to the truth than one answer, whose s.d. is 3
        assert known.spread.typical == pytest.approx(3.0, abs=0.6)
        one = read_labels(Ledger(store, kind), 1)[0]
        assert one.label == pytest.approx(truth[one.item_id], abs=6)
    page = render_report(report_data(open_evaluation(store, kind), standing))["report.html"].decode()
    assert "Krippendorff’s α" in page


def test_numbers_at_the_callers_desk_with_skips_changed_answers_and_an_early_end(tmp_path):
    truth = WRITERS["number"](tmp_path)
    store = MemoryStore()
    spec = Spec.from_json(spec_of(
        "number", tmp_path, desk={"kind": "caller"}, skipped="set-aside", batch_size=10, budget={"labels": 20}
    ))
    begin_evaluation(store, spec)
    desk = CallerDesk(store, evaluation="number", answers=spec.labels.answers)
    advance(store, "number")
    first = [one.item.item_id for one in desk.ask()]
    with pytest.raises(Exception, match="is no answer of evaluation 'number'"):
        desk.tell({first[0]: 101})
    desk.tell({item: truth[item] for item in first[2:]} | {first[0]: None})
    standing = advance(store, "number", close_round="open", timing=Timing(repost_after=timedelta(0)))
    assert (standing.labels, standing.undecided, standing.known.unanswered) == (8, 1, 1)
    before = values(standing)["mae", None]
    desk.tell({first[2]: 0})
    standing = advance(store, "number", look_again=True)
    assert (standing.revision, standing.revised_items) == (1, 1)
    assert values(standing)["mae", None] > before + 1
    assert verify(store, "number").differences == ()


def test_the_folder_takes_sets_of_tags(tmp_path):
    truth = write_tags(tmp_path)
    store = MemoryStore()
    desk = {"kind": "folder", "path": str(tmp_path / "d")}
    begin_evaluation(store, Spec.from_json(spec_of("tags", tmp_path, desk=desk)))
    assert advance(store, "tags").state == "waiting"
    folder = tmp_path / "d" / "tags"
    assert 'joined by "|", or none' in (folder / "INSTRUCTIONS.txt").read_text(encoding="utf-8")
    with (folder / "round-0001.csv").open(encoding="utf-8-sig", newline="") as opened:
        rows = list(csv.DictReader(opened))
    with (folder / "answers" / "round-0001-kim.csv").open("w", encoding="utf-8", newline="") as opened:
        writer = csv.writer(opened)
        writer.writerow(["item_id", "label"])
        writer.writerows([row["item_id"], " | ".join(truth[row["item_id"]].split("|")[::-1])] for row in rows)
    assert advance(store, "tags").labels == 20
    kind = open_evaluation(store, "tags").spec.labels.answers
    assert all(kind.text(one.label) == truth[one.item_id] for one in read_labels(Ledger(store, "tags"), 1))


def test_two_answers_are_compared_blind_and_what_was_shown_is_recorded(tmp_path):
    truth = write_pairs(tmp_path)
    store = MemoryStore()
    spec = Spec.from_json(spec_of("preference", tmp_path, desk={"kind": "caller"}))
    begin_evaluation(store, spec)
    advance(store, "preference")
    desk = CallerDesk(store, evaluation="preference", answers=spec.labelling.blind.answers)
    waiting = desk.ask()
    assert {frozenset(one.item.shown) for one in waiting} == {frozenset(["prompt", "answer_a", "answer_b"])}
    first = [one.item.shown["answer_a"].split(" ")[0] for one in waiting]
    assert {*first} == {"old", "new"}
    order = BlindPair(answers=("new", "old"), seed=5, evaluation="preference").order
    assert first == [order(one.item.item_id)[0] for one in waiting]
    desk.tell({
        one.item.item_id: "tie" if truth[one.item.item_id] == "tie"
        else "AB"[one.item.shown["answer_b"].startswith(truth[one.item.item_id])]
        for one in waiting
    })
    advance(store, "preference")
    ledger = Ledger(store, "preference")
    names = spec.labels.answers
    assert all(names.text(one.label) == truth[one.item_id] for one in read_labels(ledger, 1))
    kept = {answer.item_id: answer for answer in stored_answers(ledger, 1)}
    assert {kept[one.item.item_id].raw["answer_a"] for one in waiting} == {"old", "new"}
    assert verify(store, "preference").differences == ()


@pytest.mark.parametrize(("kind", "changes", "message"), [
    ("number", {"labels": {"number": {"min": 5, "max": 5}}}, "has no number between"),
    ("number", {"pool_prediction": None}, "'mae' needs pool.prediction"),
    ("number", {"measure": "f1"}, "no measure 'f1' of number"),
    ("number", {"pool_probability": "judge"}, "the labels are numbers"),
    ("number", {"desk": {"kind": "simulated", "labels": "l.csv", "error_rate": 0.1}}, "give noise"),
    ("number", {"adjudication": {"rule": "majority"}}, "made by median or mean"),
    ("tags", {"labels": {"tags": ["a|b", "c"]}}, "joined by"),
    ("tags", {"labels": {"tags": ["None", "c"]}}, "has no tag"),
    ("tags", {"pool_probability": "p_war"}, "every tag has its own"),
    ("preference", {"pool_display": ["prompt", "new"]}, "lacks 'old'"),
    ("preference", {"labels": {"prefer": ["old", "Tie"]}}, "as a tie is called"),
    ("preference", {"labels": {"prefer": ["old"]}}, "lists 1; give 2"),
])
def test_a_spec_that_does_not_fit_says_why(tmp_path, kind, changes, message):
    with pytest.raises(Exception, match=message):
        Spec.from_json(spec_of(kind, tmp_path, **changes))


def test_numbers_need_no_prediction_for_their_mean_and_take_judges(tmp_path):
    WRITERS["number"](tmp_path)
    asked = {"pool_prediction": None, "measure": "mean", "labels": {"number": {}}}
    store, standing = run("number", tmp_path, pool_judge="judge", **asked)
    _, blind = run("number", tmp_path, **asked)
    assert verify(store, "number").differences == ()
    judged, alone = (one.estimates[0] for one in (standing, blind))
    assert judged.upper - judged.lower < 0.7 * (alone.upper - alone.lower)


def test_the_command_line_of_numbers(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    WRITERS["number"](tmp_path)
    spec = spec_of("number", tmp_path)
    (tmp_path / "assay.yaml").write_text(json.dumps(spec), encoding="utf-8")
    assert run_command_line(["doctor", "assay.yaml", "--store", "ledger"]) == 0
    assert "a number from 0 to 100" in capsys.readouterr().out
    assert run_command_line(["run", "assay.yaml", "--store", "ledger", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [row["measure"] for row in told["estimates"]][:2] == ["mae", "rmse"]
    more = ["--evidence", "--latex", "--out", "out"]
    assert run_command_line(["report", "number", "--store", "ledger", *more]) == 0
    written = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"report.html", "evidence.zip", "report.tex", "report.bib"} <= written
    assert run_command_line(["verify", "number", "--store", "ledger"]) == 0
    assert run_command_line(["export", "number", "--store", "ledger", "--out", "labels.csv"]) == 0
    with (tmp_path / "labels.csv").open(newline="", encoding="utf-8") as opened:
        rows = list(csv.DictReader(opened))
    assert len(rows) == 40
    assert all(0 <= float(row["label"]) <= 100 for row in rows)   # a number, not text that looks like one
