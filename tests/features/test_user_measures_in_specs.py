"""Measures of users, named in a spec by where they are: only where whoever runs Assay allows the module."""

import json

import pytest
from doubles.small_pool import spec_json, write_small_pool

from assay.evalcore.errors import BadInput
from assay.flows.cli.main import run_command_line
from assay.flows.evaluation.advance import Patience, drive
from assay.flows.evaluation.begin import begin_evaluation
from assay.flows.record.opened import open_evaluation
from assay.flows.report.gather import report_data
from assay.flows.verify.ledger import verify
from assay.tasks.ledger import open_store
from assay.tasks.report.files import render_report
from assay.tasks.spec.evaluation import Spec
from assay.tasks.spec.user_measures import ALLOWED
from assay.tasks.testing import MemoryStore

MODULE = '''
from assay.evalcore.measures.user_defined import user_measure

NOTHING = 3

def missed(kind):
    """5 for a missed match, 1 for a false one."""
    positive = kind.parts.index("match")

    def cost(items, outcome):
        said = items.prediction[:, 0] == positive
        return 5.0 * ((outcome == positive) & ~said) + 1.0 * ((outcome != positive) & said)

    return user_measure("missed", kind, loss=cost, bounds=(0, 5))

def broken(kind):
    raise RuntimeError("no luck")
'''


@pytest.fixture
def module(tmp_path, monkeypatch):
    (tmp_path / "costs_of_tests.py").write_text(MODULE, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    return "costs_of_tests"


def written(folder, measure, **changes):
    predictions, labels = write_small_pool(folder)
    data = spec_json(predictions, labels, measure=measure, **{
        "method": "auto", "target": {"confidence": 0.95}, "budget": {"labels": 40}, **changes,
    })
    del data["pool"]["segments"]
    return data


def test_an_allowed_measure_goes_through_a_whole_evaluation(tmp_path, module, monkeypatch):
    monkeypatch.setenv(ALLOWED, module)
    data = written(tmp_path, [f"{module}:missed", "f1"], budget={"labels": 400}, batch_size=200)
    store, spec = MemoryStore(), Spec.from_json(data)
    begin_evaluation(store, spec)
    standing = drive(store, spec.name, patience=Patience(first=0.0, longest=0.0, in_all=0.0))
    found = {row.measure: row for row in standing.estimates}[f"{module}:missed"]
    rows = [line.split(",") for line in (tmp_path / "predictions.csv").read_text().splitlines()[1:]]
    truth = dict(line.split(",") for line in (tmp_path / "labels.csv").read_text().splitlines()[1:])
    said = [(row[2], truth[row[0]]) for row in rows]
    costs = [5.0 * (y == "match" != f) + 1.0 * (f == "match" != y) for f, y in said]
    assert found.value == pytest.approx(sum(costs) / len(costs))
    assert verify(store, "small").differences == ()
    page = render_report(report_data(open_evaluation(store, "small"), standing))["report.html"].decode()
    assert "missed" in page


@pytest.mark.parametrize(("allowed", "name", "message"), [
    ("", "missed", "a spec alone may not"),
    ("another", "missed", r"ASSAY_MEASURE_MODULES=another,costs_of_tests"),
    ("costs_of_tests", "nowhere", "has no function 'nowhere'"),
    ("costs_of_tests", "NOTHING", "has no function 'NOTHING'"),
    ("costs_of_tests", "broken", "RuntimeError: no luck"),
])
def test_what_is_not_allowed_or_not_there_is_refused(tmp_path, module, monkeypatch, allowed, name, message):
    monkeypatch.setenv(ALLOWED, allowed)
    with pytest.raises(BadInput, match=message):
        Spec.from_json(written(tmp_path, f"{module}:{name}"))


def test_a_refused_module_is_never_imported(tmp_path, monkeypatch, capsys):
    (tmp_path / "never_imported.py").write_text("raise SystemExit('it ran')", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delenv(ALLOWED, raising=False)
    spec = tmp_path / "spec.json"
    spec.write_text(json.dumps(written(tmp_path, "never_imported:missed")), encoding="utf-8")
    assert run_command_line(["doctor", str(spec)]) != 0
    assert "it ran" not in "".join(capsys.readouterr())


def test_whoever_reads_a_ledger_is_told_which_module_to_allow(tmp_path, module, monkeypatch, capsys):
    monkeypatch.setenv(ALLOWED, module)
    spec = Spec.from_json(written(tmp_path, f"{module}:missed"))
    where = f"file://{tmp_path}/ledger"
    begin_evaluation(open_store(where), spec)
    monkeypatch.delenv(ALLOWED)
    assert run_command_line(["status", spec.name, "--store", where]) == 2
    told = capsys.readouterr().err
    assert f"{ALLOWED}={module}" in told
    assert "restore" not in told, "nothing is wrong with the ledger"
