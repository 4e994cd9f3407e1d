"""Two real accounts of a real Label Studio: what each is offered, gold among it, and how each did."""

import csv
import json

import httpx
import pytest
from doubles.small_pool import spec_json, write_small_pool

from assay.flows.evaluation.advance import advance
from assay.flows.evaluation.begin import begin_evaluation
from assay.flows.verify.ledger import verify
from assay.tasks.desks.label_studio.api import TOKEN_VARIABLE
from assay.tasks.ledger import layout
from assay.tasks.ledger.asked_round import read_plan
from assay.tasks.ledger.closed_round import read_labels
from assay.tasks.ledger.record import Ledger
from assay.tasks.ledger.stores.store import MemoryStore
from assay.tasks.spec.evaluation import Spec

pytestmark = pytest.mark.services


def choose(person, task, choice):
    """What the labelling page submits."""
    value = {"choices": [choice]}
    person.answer(task, [{"from_name": "label", "to_name": "shown_text", "type": "choices", "value": value}])


def test_two_people_answer_each_item_gold_among_them_and_one_errs(
    label_studio, people, tmp_path, monkeypatch
):
    monkeypatch.setenv(TOKEN_VARIABLE, label_studio.token)
    predictions, labels = write_small_pool(tmp_path, n=80)
    with labels.open(newline="") as opened:
        truth = {f"what item {int(row['item_id'][5:])} says": row["label"] for row in csv.DictReader(opened)}
    known = [(f"gold-{i}", ("match", "no match")[i % 2], f"what item {900 + i} says") for i in range(4)]
    truth |= {text: label for _, label, text in known}
    with (tmp_path / "gold.csv").open("w", newline="") as opened:
        writer = csv.writer(opened)
        writer.writerow(["item_id", "label", "text"])
        writer.writerows(known)
    spec = Spec.from_json(spec_json(
        predictions, labels, name="by-two", budget={"labels": 6}, batch_size=6,
        desk={"kind": "label-studio", "url": label_studio.url, "annotators_per_item": 2,
              "gold": {"labels": str(tmp_path / "gold.csv"), "rate": 0.4}},
        adjudication={"rule": "dawid-skene"},
    ))
    store = MemoryStore()
    begin_evaluation(store, spec)
    assert advance(store, spec.name).state == "waiting"
    # 6 asked at a rate of 40%: 4 gold of 10
    planned = read_plan(Ledger(store, spec.name), 1)
    assert len(planned.gold) == 4

    _, right, wrong = people
    project = next(
        found["id"] for found in httpx.get(
            f"{label_studio.url}/api/projects/", params={"page_size": 1000, "include": "id,title"},
            headers={"Authorization": f"Token {label_studio.token}"}, timeout=150, trust_env=False,
        ).json()["results"] if found["title"].startswith("by-two:")
    )
    for person in (right, wrong):
        tasks = person.tasks(project)
        assert len(tasks) == 10
        # nothing on the desk tells gold from the rest: the same keys in every item
        assert len({tuple(sorted(task["data"])) for task in tasks}) == 1
        for task in tasks:
            text = task["data"]["shown_text"]
            label = truth[text]
            gold = int(text.split()[2]) >= 900
            if person is wrong and gold and label == "no match":
                label = "match"   # errs on both negatives among the gold
            choose(person, task["id"], label)

    done = advance(store, spec.name)
    assert (done.state, done.labels) == ("finished", 6)
    found = json.loads(store.get(layout.annotators(spec.name, 1)))
    by_name = {p["annotator"]: p for p in found["people"]}
    assert set(by_name) == {f"ls-{right.number}", f"ls-{wrong.number}"}
    assert by_name[f"ls-{right.number}"]["gold"] == {
        "answers": [2, 2], "wrong": [0, 0]}
    assert by_name[f"ls-{wrong.number}"]["gold"] == {
        "answers": [2, 2], "wrong": [2, 0]}
    assert found["correction"]["known_from"] == ["gold", "repeated answers"]
    for decided in read_labels(Ledger(store, spec.name), 1):
        assert decided.label == (truth[f"what item {int(decided.item_id[5:])} says"] == "match")
    written = b"".join(store.get(key) for key in store.keys(spec.name))
    assert b"@example.com" not in written
    assert verify(store, spec.name).differences == ()
