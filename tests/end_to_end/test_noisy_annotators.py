"""Whole evaluations by simulated people who err: gold, several answers, Dawid-Skene, asking again, verify."""

import csv
import json

import numpy as np
import pytest
from doubles.small_pool import small_spec

from assay.flows.evaluation.advance import advance
from assay.flows.evaluation.begin import begin_evaluation
from assay.flows.record.opened import open_evaluation
from assay.flows.report.gather import report_data
from assay.flows.verify.ledger import verify
from assay.tasks.ledger import layout
from assay.tasks.ledger.asked_round import read_plan
from assay.tasks.ledger.closed_round import read_gold_answers, read_labels
from assay.tasks.ledger.record import Ledger
from assay.tasks.ledger.stores.store import MemoryStore
from assay.tasks.report.files import render_report

PEOPLE = [
    {"false_positive": 0.02, "miss": 0.05},
    {"false_positive": 0.05, "miss": 0.10},
    {"false_positive": 0.20, "miss": 0.30},
]


def evaluation(folder, adjudication=None, gold=None, **desk):
    """A finished evaluation of the small pool: (store, spec, standing)."""
    given = {"kind": "simulated", "labels": str(folder / "all.csv"), "annotators": PEOPLE, **desk}
    if gold:
        given["gold"] = {"labels": str(folder / "gold.csv"), "rate": gold}
    changes = {"desk": given, "budget": {"labels": 40}}
    if adjudication:
        changes["adjudication"] = {"rule": adjudication}
    spec = small_spec(folder, **changes)
    with (folder / "labels.csv").open(newline="") as opened:
        rows = list(csv.DictReader(opened))
    known = [{"item_id": f"gold-{i}", "label": ("match", "no match")[i % 2], "text": f"gold {i}"}
             for i in range(20)]
    for name, listed in (("all.csv", rows + known), ("gold.csv", known)):
        with (folder / name).open("w", newline="") as opened:
            writer = csv.DictWriter(opened, ["item_id", "label", "text"], restval="")
            writer.writeheader()
            writer.writerows(listed)
    store = MemoryStore()
    begin_evaluation(store, spec)
    standing = advance(store, spec.name)
    while standing.state != "finished":   # somebody else was asked, and has answered by now
        standing = advance(store, spec.name)
    return store, spec, standing


def record(store, spec, number):
    return json.loads(store.get(layout.annotators(spec.name, number)))


def test_gold_is_mixed_in_answered_and_never_counted(tmp_path):
    store, spec, standing = evaluation(tmp_path, gold=0.2)
    # 20 asked in each of 2 rounds at a rate of 20%: 5 gold items a round, and 40 labels as without gold
    assert (standing.labels, standing.rounds) == (40, 2)
    for number in (1, 2):
        planned = read_plan(Ledger(store, spec.name), number)
        assert len(planned.gold) == 5
        assert all(item.startswith("gold-") for item in planned.gold)
        decided = read_labels(Ledger(store, spec.name), number)
        assert not {d.item_id for d in decided} & set(planned.gold)
        assert set(read_gold_answers(Ledger(store, spec.name), number)) == set(planned.gold)
    found = record(store, spec, 2)
    assert found["gold"]["items"] == 10
    assert sum(sum(p["gold"]["answers"]) for p in found["people"]) == 10
    assert found["correction"]["known_from"][0] == "gold"
    assert verify(store, spec.name).differences == ()


def test_the_plan_without_gold_is_the_plan_with_it(tmp_path):
    with_gold = evaluation(tmp_path / "a", gold=0.2, ask_again=False)
    without = evaluation(tmp_path / "b", ask_again=False)
    plans = [read_plan(Ledger(store, spec.name), 1) for store, spec, _ in (with_gold, without)]
    assert plans[0].item_id == plans[1].item_id
    ledgers = [Ledger(store, spec.name) for store, spec, _ in (with_gold, without)]
    labels = [[d.label for d in read_labels(ledger, 1)] for ledger in ledgers]
    assert labels[0] == labels[1]


@pytest.mark.parametrize("rule", ["majority", "dawid-skene"])
def test_three_answers_each_are_adjudicated_measured_and_verified(tmp_path, rule):
    store, spec, standing = evaluation(tmp_path, adjudication=rule, annotators_per_item=3)
    assert standing.labels == 40
    found = record(store, spec, 2)
    assert found["rule"] == rule
    assert [p["answers"] for p in found["people"]] == [40, 40, 40]
    assert [a["statistic"] for a in found["agreement"]] == ["fleiss-kappa", "krippendorff-alpha"] + [
        "cohen-kappa"] * 3
    assert found["correction"]["known_from"] == ["repeated answers"]
    worst = [p["errors"]["false_positive"]["mean"] + p["errors"]["miss"]["mean"] for p in found["people"]]
    assert worst.index(max(worst)) == 2
    for estimate, naive in zip(found["correction"]["estimates"], standing.known.estimates, strict=True):
        assert estimate["upper"] - estimate["lower"] >= naive.upper - naive.lower - 1e-9
    assert verify(store, spec.name).differences == ()


def test_closed_rounds_keep_the_labels_they_were_closed_with(tmp_path):
    store, spec, _ = evaluation(tmp_path, adjudication="dawid-skene", annotators_per_item=2)
    differ = record(store, spec, 2)["would_differ"]
    for one in differ:   # named, and not rewritten
        decided = read_labels(Ledger(store, spec.name), one["round"])
        assert one["item_id"] in {d.item_id for d in decided}
    assert verify(store, spec.name).verified


def test_surprising_answers_go_to_a_second_person_and_cost_no_budget(tmp_path):
    again = {"when": "always", "chance": 0.4, "moves": 0.0}   # nearly everything surprises
    store, spec, standing = evaluation(tmp_path, ask_again=again)
    assert standing.labels == 40
    found = record(store, spec, 2)["asked_again"]
    assert found["items"] > 0
    assert found["answers"] >= found["items"]
    assert found["overruled"] > 0
    surprised = 0
    for number in (1, 2):
        planned = read_plan(Ledger(store, spec.name), number)
        for one in read_labels(Ledger(store, spec.name), number):
            if len(one.annotations) > 1:
                surprised += 1
                assert one.item_id in planned.again
    assert surprised == found["items"]
    assert verify(store, spec.name).verified


def test_one_person_alone_is_never_asked_to_wait_for_another(tmp_path):
    store, spec, standing = evaluation(tmp_path, annotators=PEOPLE[:1])
    assert standing.state == "finished"
    assert not store.exists(layout.annotators(spec.name, 1))   # and there is nothing to say about them


def test_an_altered_gold_answer_is_found(tmp_path):
    store, spec, _ = evaluation(tmp_path, gold=0.2)
    gold = read_gold_answers(Ledger(store, spec.name), 1)
    digest = next(iter(gold.values()))[0]
    store._values[layout.annotation(spec.name, 1, digest)] += b" "
    assert any(digest in d.key for d in verify(store, spec.name).differences)


def test_an_altered_annotators_record_is_found(tmp_path):
    store, spec, _ = evaluation(tmp_path, gold=0.2)
    key = layout.annotators(spec.name, 2)
    changed = record(store, spec, 2)
    changed["gold"]["right"] += 1
    store._values[key] = json.dumps(changed).encode()
    assert any(d.key == key for d in verify(store, spec.name).differences)


def test_the_same_run_leaves_the_same_bytes(tmp_path):
    first, spec, _ = evaluation(tmp_path / "a", gold=0.1, adjudication="dawid-skene", annotators_per_item=2)
    second, _, _ = evaluation(tmp_path / "b", gold=0.1, adjudication="dawid-skene", annotators_per_item=2)
    for number in (1, 2):
        key = layout.annotators(spec.name, number)
        a, b = json.loads(first.get(key)), json.loads(second.get(key))
        assert a == b
        assert np.isfinite(a["correction"]["estimates"][0]["value"])


def test_the_report_says_how_people_did_without_naming_them(tmp_path):
    store, spec, standing = evaluation(tmp_path, gold=0.2)
    files = render_report(report_data(open_evaluation(store, spec.name), standing))
    told = json.loads(files["report.json"])["annotators"]
    assert len(told["people"]) == 3
    assert all(p["annotator"].startswith("person-") for p in told["people"])
    page = files["report.html"].decode()
    assert "The people who labelled" in page
    assert "simulated-" not in page + files["report.json"].decode()
    assert "Estimates corrected for people’s errors, as known from gold" in page


def test_the_report_says_where_nothing_is_known_of_peoples_errors(tmp_path):
    store, spec, standing = evaluation(tmp_path, annotators=PEOPLE[:1])
    page = render_report(report_data(open_evaluation(store, spec.name), standing))["report.html"]
    assert b"Nothing is known about annotators" in page
