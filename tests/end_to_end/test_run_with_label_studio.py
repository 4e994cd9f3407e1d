"""`assay run` with a real Label Studio, and somebody who answers through its API."""

import csv
import json
from pathlib import Path

import pytest
import yaml
from doubles.small_pool import spec_json, write_small_pool

from assay.flows.cli.main import run_command_line
from assay.tasks.desks.label_studio.api import TOKEN_VARIABLE, LabelStudioApi
from assay.tasks.desks.label_studio.local import SimulatedPerson
from assay.tasks.ledger import open_store
from assay.tasks.ledger.asked_round import read_plan
from assay.tasks.ledger.closed_round import read_labels
from assay.tasks.ledger.record import Ledger

pytestmark = pytest.mark.services


@pytest.fixture
def evaluation(label_studio, tmp_path, monkeypatch, capsys):
    """A spec in a folder of its own, whose desk is the real server."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(TOKEN_VARIABLE, label_studio.token)
    predictions, labels = write_small_pool(Path("."), n=80)
    spec = spec_json(
        predictions, labels, name="by-people", desk={"kind": "label-studio", "url": label_studio.url},
        budget={"labels": 8}, batch_size=4, store="ledger",
    )
    Path("spec.yaml").write_text(yaml.safe_dump(spec))

    def assay(*arguments):
        capsys.readouterr()
        code = run_command_line([*arguments, "--json"])
        return code, json.loads(capsys.readouterr().out)

    return assay


def test_rounds_are_posted_answered_and_closed(evaluation, label_studio):
    with Path("labels.csv").open(newline="") as opened:
        truth = {row["item_id"]: row["label"] for row in csv.DictReader(opened)}
    person = SimulatedPerson(LabelStudioApi(label_studio.url, label_studio.token), "by-people", truth)
    store = open_store("ledger")
    for round in (1, 2):
        code, waiting = evaluation("run", "spec.yaml", "--wait", "0")
        assert (code, waiting["state"]) == (5, "waiting")
        assert waiting["waiting_for"] == {
            "round": round, "items": 4, "on_desk": 4, "answered": 0, "desk": "label-studio",
        }
        assert person.answer(read_plan(Ledger(store, "by-people"), round)) == 4
    code, done = evaluation("advance", "by-people", "--store", "ledger")
    assert (code, done["state"], done["stopped_by"], done["labels"]) == (0, "finished", "budget", 8)
    code, extended = evaluation("extend", "by-people", "--labels", "12", "--store", "ledger")
    assert (code, extended["state"], extended["waiting_for"]["on_desk"]) == (5, "waiting", 4)
    assert person.answer(read_plan(Ledger(store, "by-people"), 3)) == 4
    code, done = evaluation("advance", "by-people", "--store", "ledger")
    assert (code, done["stopped_by"], done["labels"]) == (0, "budget", 12)
    for round in (1, 2, 3):
        for decided in read_labels(Ledger(store, "by-people"), round):
            assert decided.label == (truth[decided.item_id] == "match")
            assert len(decided.annotations) == 1


def test_a_token_that_is_refused_ends_with_exit_code_1_and_begins_nothing(evaluation, monkeypatch):
    monkeypatch.setenv(TOKEN_VARIABLE, "f" * 40)
    code, answer = evaluation("begin", "spec.yaml")
    assert (code, answer["error"]["kind"]) == (1, "DeskRefused")
    assert "f" * 40 not in answer["error"]["message"]
    assert not Path("ledger/by-people/pool/manifest.json").exists()


def test_twelve_classes_are_offered_and_come_back(label_studio, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(TOKEN_VARIABLE, label_studio.token)
    names = [f"class {i}, <b> & $x \u200cy\u00a0z" for i in range(12)]
    truth = {f"i{i}": names[i % 12] for i in range(48)}
    with Path("pool.csv").open("w", newline="") as opened:
        writer = csv.writer(opened)
        writer.writerow(["item_id", "predicted", "text"])
        writer.writerows([item, names[(i * 7) % 12], f"text of {item}"] for i, item in enumerate(truth))
    spec = {
        "name": "twelve", "labels": {"classes": names}, "measure": ["accuracy", "macro_f1"],
        "pool": {"source": "pool.csv", "id": "item_id", "prediction": "predicted", "display": ["text"]},
        "budget": {"labels": 6}, "batch_size": 6, "store": "ledger",
        "desk": {"kind": "label-studio", "url": label_studio.url},
    }
    Path("spec.yaml").write_text(yaml.safe_dump(spec))
    assert run_command_line(["run", "spec.yaml", "--wait", "0", "--json"]) == 5
    store = open_store("ledger")
    person = SimulatedPerson(LabelStudioApi(label_studio.url, label_studio.token), "twelve", truth)
    assert person.answer(read_plan(Ledger(store, "twelve"), 1)) == 6
    assert run_command_line(["advance", "twelve", "--store", "ledger", "--json"]) == 0
    decided = read_labels(Ledger(store, "twelve"), 1)
    assert [names[int(one.label)] for one in decided] == [truth[one.item_id] for one in decided]
