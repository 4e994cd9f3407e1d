"""Appendix H of Marchant & Rubinstein (2021), live: items are asked again in later rounds, and each answer is
a draw of its own."""

import json

import numpy as np
import pytest
from doubles.classes import pool_and_spec
from doubles.small_pool import small_spec, spec_json, write_small_pool

from assay.evalcore.errors import BadInput
from assay.flows.cli.main import run_command_line
from assay.flows.evaluation.advance import Patience, drive
from assay.flows.evaluation.begin import begin_evaluation
from assay.flows.record.opened import open_evaluation
from assay.flows.report.gather import report_data
from assay.flows.verify.ledger import verify
from assay.tasks.ledger.closed_round import read_labels
from assay.tasks.ledger.record import Ledger
from assay.tasks.report.files import render_report
from assay.tasks.spec.evaluation import Spec
from assay.tasks.testing import MemoryStore

ROUNDS = "dirichlet-tree-stochastic:requery=rounds"
AT_ONCE = Patience(first=0.0, longest=0.0, in_all=0.0)


def desk(folder, **more):
    labels = str(folder / "labels.csv")
    return {"kind": "simulated", "labels": labels, "error_rate": 0.2, "varies": True, **more}


def test_a_budget_may_exceed_the_pool_and_the_record_is_verified(tmp_path):
    store = MemoryStore()
    spec = small_spec(
        tmp_path, n=60, method=ROUNDS, budget={"labels": 140}, batch_size=20, desk=desk(tmp_path)
    )
    begin_evaluation(store, spec)
    standing = drive(store, spec.name, patience=AT_ONCE)
    assert (standing.state, standing.stopped_by, standing.labels) == ("finished", "budget", 140)
    assert all(row.lower < row.value < row.upper for row in standing.estimates if row.segment is None)
    found = verify(store, spec.name)
    assert (found.differences, found.rounds, found.labels) == ((), 7, 140)
    answers = {}
    for number in range(1, 8):
        rows = read_labels(Ledger(store, spec.name), number)
        assert len({one.item_id for one in rows}) == len(rows) == 20, "nobody is asked twice in a round"
        for one in rows:
            answers.setdefault(one.item_id, []).append(one.label)
    assert len(answers) <= 60
    assert any(len(set(heard)) > 1 for heard in answers.values()), "people say different things on other days"
    page = render_report(report_data(open_evaluation(store, spec.name), standing))["report.html"].decode()
    assert "140 labels" in page


def test_an_export_has_a_row_for_each_answer_and_its_weights_make_the_estimate(tmp_path, capsys):
    predictions, labels = write_small_pool(tmp_path, n=60)
    data = spec_json(
        predictions, labels, method=ROUNDS, budget={"labels": 80}, batch_size=20, desk=desk(tmp_path),
        measure=["accuracy"], store=str(tmp_path / "ledger"),
    )
    (tmp_path / "spec.yaml").write_text(json.dumps(data), encoding="utf-8")
    assert run_command_line(["run", str(tmp_path / "spec.yaml"), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["estimates"]
    (value,) = [one["value"] for one in told if not one["segment"]]
    out = tmp_path / "labels.parquet"
    assert run_command_line(["export", "small", "--store", data["store"], "--out", str(out)]) == 0
    import pyarrow.parquet as pq

    rows = pq.read_table(out).to_pylist()
    assert len(rows) == 80 > len({row["item_id"] for row in rows})
    weight = np.array([row["sample_weight"] for row in rows])
    wrong = np.array([row["label"] != row["prediction"] for row in rows])
    assert weight.sum() == pytest.approx(60, rel=0.2), "answers stand for the pool together"
    assert 1 - (weight * wrong).sum() / 60 == pytest.approx(value), "accuracy is 1 less the mean error"


def test_of_several_classes_too(tmp_path):
    spec = Spec.from_json(pool_and_spec(
        tmp_path, n=40, method=ROUNDS, budget={"labels": 60}, measure=["macro_f1", "accuracy"],
        desk=desk(tmp_path), target={"half_width": 0.01}, pool_segments=["predicted"],
    ))
    store = MemoryStore()
    begin_evaluation(store, spec)
    standing = drive(store, spec.name, patience=AT_ONCE)
    assert (standing.state, standing.stopped_by, standing.labels) == ("finished", "budget", 60)
    assert all(row.lower < row.value < row.upper for row in standing.estimates if row.segment is None)
    assert sum(row.segment is not None for row in standing.estimates) == 2 * 4
    found = verify(store, spec.name)
    assert (found.differences, found.rounds, found.labels) == ((), 3, 60)
    heard = {}
    for number in range(1, 4):
        rows = read_labels(Ledger(store, spec.name), number)
        assert len({one.item_id for one in rows}) == len(rows) == 20
        for one in rows:
            heard.setdefault(one.item_id, set()).add(one.label)
    assert len(heard) <= 40
    assert any(len(said) > 1 for said in heard.values())


@pytest.mark.parametrize(("changes", "why"), [
    ({"method": "dirichlet-tree-stochastic:requery=true"}, r"several times in a round.*requery=rounds"),
    ({"desk": {"annotators_per_item": 2}}, "takes every answer for another draw: one person answers"),
    ({"desk": {"ask_again": True}}, "an answer that surprises is a draw too"),
    ({"warm_start": {"evaluation": "earlier"}}, "labels bought before would answer"),
])
def test_what_would_answer_an_item_once_and_for_all_is_refused(tmp_path, changes, why):
    predictions, labels = write_small_pool(tmp_path, n=60)
    data = spec_json(predictions, labels, **{"method": ROUNDS, "desk": desk(tmp_path)} | changes)
    data["desk"] = desk(tmp_path, **changes.get("desk", {}))
    with pytest.raises(BadInput, match=why):
        Spec.from_json(data, origin="the test's spec")


@pytest.mark.parametrize(("changes", "why"), [
    ({"method": "dirichlet-tree-stochastic:requery=true"}, r"several times in a round.*requery=rounds"),
    ({"outcomes": {"source": "known.csv"}}, "known outcomes would answer every draw"),
    ({"labels": {"tags": ["cat", "dog"]}, "measure": "micro_f1"}, "is for classes and preference, not for"),
])
def test_so_it_is_of_several_classes(tmp_path, changes, why):
    with pytest.raises(BadInput, match=why):
        Spec.from_json(pool_and_spec(tmp_path, **{"method": ROUNDS} | changes))


def test_other_methods_keep_to_the_pool(tmp_path):
    spec = small_spec(tmp_path, n=60, budget={"labels": 61})
    with pytest.raises(BadInput, match="the pool has 60 items; lower it"):
        begin_evaluation(MemoryStore(), spec)
