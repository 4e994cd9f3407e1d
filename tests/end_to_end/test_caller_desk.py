"""An evaluation labelled by code: ask what waits, tell the answers, advance; the numbers are anybody's."""

import csv
import json
from pathlib import Path

import yaml
from doubles.small_pool import spec_json, write_small_pool

from assay.evalcore.annotators.answers import class_answers
from assay.flows.cli.main import run_command_line
from assay.tasks.desks.caller import CallerDesk
from assay.tasks.ledger import open_store

CLASSES = ("match", "no match")
OTHER = dict(zip(CLASSES, reversed(CLASSES), strict=True))


def the_desk():
    """As another process would open it."""
    return CallerDesk(open_store("ledger"), evaluation="same", answers=class_answers(*CLASSES))


def run(capsys, *arguments):
    code = run_command_line([*arguments, "--store", "ledger", "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_asked_and_told_in_a_program_it_comes_to_what_any_other_desk_comes_to(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    predictions, labels = write_small_pool(Path("."), n=80)
    with labels.open(newline="") as opened:
        truth = {row["item_id"]: row["label"] for row in csv.DictReader(opened)}
    sizes = {"budget": {"labels": 18}, "batch_size": 6}
    desks = {"told": {"kind": "caller"}, "known": {"kind": "simulated", "labels": "labels.csv"}}
    for file, desk in desks.items():
        spec = spec_json(predictions, labels, name="same", desk=desk, **sizes)
        Path(f"{file}.yaml").write_text(yaml.safe_dump(spec))

    assert run(capsys, "begin", "told.yaml")[0] == 0
    code, standing = run(capsys, "advance", "same")
    told = []
    while code == 5:
        assert (standing["waiting_for"]["desk"], standing["waiting_for"]["on_desk"]) == ("caller", 6)
        asked = [question.item.item_id for question in the_desk().ask()]
        the_desk().tell({item_id: truth[item_id] for item_id in asked})
        told += asked
        code, standing = run(capsys, "advance", "same")
    assert (code, standing["state"], len(told), len(set(told))) == (0, "finished", 18, 18)
    assert run(capsys, "verify", "same")[0] == 0

    assert run_command_line(["run", "known.yaml", "--store", "elsewhere", "--json"]) == 0
    assert standing["estimates"] == json.loads(capsys.readouterr().out)["estimates"]

    the_desk().tell({told[0]: OTHER[truth[told[0]]]})
    code, standing = run(capsys, "advance", "same", "--look-again")
    assert (code, standing["revision"]) == (0, 1)
    assert run(capsys, "verify", "same")[0] == 0
