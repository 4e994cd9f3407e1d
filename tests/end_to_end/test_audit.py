"""A spec with an audit, from the command line to the report: planned, drawn, verified, priced."""

import json
import re
from dataclasses import replace
from html import unescape
from pathlib import Path

import pytest
import yaml
from doubles.small_pool import spec_json, write_small_pool

from assay.evalcore.evaluation.state import before_any_label, plan
from assay.flows.cli.main import run_command_line
from assay.flows.record.opened import open_evaluation
from assay.tasks.ledger import open_store
from assay.tasks.ledger.asked_round import read_design
from assay.tasks.ledger.record import Ledger


@pytest.fixture
def assay(tmp_path, monkeypatch, capsys):
    """A spec whose budget has an audit, and a way to run commands beside it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ASSAY_STORE", raising=False)
    write_small_pool(Path("."), n=2000)
    spec = spec_json(
        Path("predictions.csv"), Path("labels.csv"), method="recalibrated", measure=["f1"],
        budget={"labels": 40, "audit": 20}, batch_size=20,
    )
    Path("small.yaml").write_text(yaml.safe_dump(spec))

    def run(*arguments):
        capsys.readouterr()
        code = run_command_line(list(arguments))
        said = capsys.readouterr()
        return code, said.out

    return run


def test_a_spec_with_an_audit_runs_verifies_and_reports_its_price(assay):
    assert assay("run", "small.yaml")[0] == 0
    store = open_store("./assay-ledger")
    opened = open_evaluation(store, "small")
    assert opened.question.method.spread == 0.5
    negative = opened.cut.cells.prediction == 0
    items = opened.cut.cells.size[negative].sum()
    for number in (1, 2):
        chance = read_design(Ledger(store, "small"), number).unlabelled[0]
        assert chance[negative].min() > 0.95 * 0.5 * 20 / items, "ten of every batch are spread evenly"

    code, out = assay("verify", "small")
    assert (code, "2 rounds and 40 labels recomputed" in out) == (0, True)
    # the audit is in what verify recomputes: without it other items would have been drawn
    without = replace(opened.question, method=opened.question.method.audited(0.0))
    first = read_design(Ledger(store, "small"), 1).unlabelled
    assert (plan(without, before_any_label(without), 20).design.unlabelled != first).any()

    assert assay("report", "small", "--out", "report")[0] == 0
    page = unescape(re.sub(r"\s+", " ", Path("report/report.html").read_text()))
    assert "50% of every batch was an audit for positives that the score does not show" in page
    told = json.loads(Path("report/report.json").read_text())
    announced = told["estimates"][0]["not_excluded"]["wide_announced"]
    assert ("audit" in told) == announced
    assert ("If positives hide from the score: 50 more labels, spread evenly" in page) == announced


def test_the_doctor_says_what_hidden_positives_would_cost(assay):
    out = assay("doctor", "small.yaml")[1]
    found = re.search(r"([\d,]+) positives that score like any negative would move f1 by 0.05", out)
    assert found, out
    told = json.loads(assay("doctor", "small.yaml", "--json")[1])["hidden_positives"]
    assert told["positives"] == int(found[1].replace(",", ""))
    # the rule of three
    assert told["labels"] == pytest.approx(3 * told["items"] / told["positives"], rel=0.2)
