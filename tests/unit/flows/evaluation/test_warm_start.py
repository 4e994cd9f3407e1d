"""Labels of an earlier evaluation: what they are worth, that they count, and that nobody is asked twice."""

from dataclasses import replace
from datetime import date

import numpy as np
import pytest
from doubles.stream import monitor_data, write_day

from assay.evalcore.errors import BadInput
from assay.evalcore.evaluation.state import Question, before_any_label, plan
from assay.evalcore.measures.registry import measure
from assay.evalcore.methods.registry import method, methods_that
from assay.evalcore.monitoring.earlier_windows import Inherited, evidence_by_cell
from assay.evalcore.pool.partition import Partition
from assay.evalcore.pool.strata import Cells
from assay.flows.evaluation.advance import advance
from assay.flows.evaluation.begin import begin_evaluation
from assay.flows.verify.ledger import verify
from assay.tasks.ledger.asked_round import read_plan
from assay.tasks.ledger.closed_round import read_labels
from assay.tasks.ledger.record import Ledger
from assay.tasks.ledger.stores.store import MemoryStore
from assay.tasks.pool.inherited import labels_to_inherit
from assay.tasks.spec.evaluation import Spec


def _partition():
    """Strata below 0, 0 to 1, 1 to 2 and above; cells (0, f=0), (1, f=0), (3, f=1)."""
    cells = Cells(
        stratum=np.array([0, 1, 3]), prediction=np.array([0, 0, 1]), size=np.array([5, 5, 5]),
        mean_score=np.array([-1.0, 0.5, 2.5]), mean_probability=np.array([0.1, 0.4, 0.9]),
        log_density=np.zeros(3), n_slots=4,
    )
    return Partition(edges=np.array([0.0, 1.0, 2.0]), cells=cells)


def _inherited(*rows):
    score, prediction, label, weight = (np.array(column) for column in zip(*rows, strict=True))
    return Inherited(score=score.astype(float), prediction=prediction, label=label, weight=weight)


def test_an_inherited_label_goes_to_its_stratum_or_the_nearest_with_its_prediction():
    rows = _inherited(
        (-3, 0, 0, 0.5), (0.3, 0, 1, 0.5), (1.5, 0, 1, 0.25), (1.5, 1, 1, 0.25), (-3, 1, 0, 1.0)
    )
    got = evidence_by_cell(_partition(), rows)
    assert got.tolist() == [[0.5, 0.0], [0.0, 0.75], [1.0, 0.25]]


def test_earlier_labels_move_what_the_label_model_expects():
    question = Question(
        method=method("dirichlet-tree"), cells=_partition().cells, measures=(measure("f1"),),
        confidence=0.95, seed=1, evaluation="x",
    )
    warm = replace(question, evidence=np.array([[0, 40.0], [0, 0], [0, 0]]))
    believed = [plan(q, before_any_label(q), 1).design.model[0, 0] for q in (question, warm)]
    assert believed[0] < 0.4 < 0.8 < believed[1]


def test_methods_say_whether_they_can_start_warm():
    trees = ["dirichlet-tree", "dirichlet-flat", "dirichlet-tree-stochastic"]
    assert methods_that("starts_warm") == [*trees, "recalibrated", "score-test"]
    assert not method("passive").capabilities.starts_warm


def test_a_method_that_takes_no_labels_refuses_them(tmp_path):
    for name in ("passive", "oasis"):
        with pytest.raises(BadInput, match=rf"\$\.warm_start cannot be used by method '{name}'"):
            _spec(tmp_path, "a", "2026-11-01", method=name, warm_start={"evaluation": "b"})


def _spec(folder, name, day, **changes):
    data = monitor_data(folder)
    del data["monitor"], data["threshold"]
    data["pool"]["source"] = data["pool"]["source"].replace("{date}", day)
    data["desk"]["labels"] = data["desk"]["labels"].replace("{date}", day)
    return Spec.from_json({**data, "name": name, "method": "dirichlet-tree:depth=3", **changes})


def _two_days(folder):
    """The second day holds the first day's items again, one of them with another text."""
    rng = np.random.default_rng(2)
    logit = 4 * rng.standard_normal(150)
    label = rng.random(150) < 1 / (1 + np.exp(-logit))
    ids = [f"same-{i}" for i in range(150)]
    write_day(folder, date(2026, 11, 1), logit, label, ids)
    write_day(folder, date(2026, 11, 2), logit, label, ids)


def _run(store, spec):
    begin_evaluation(store, spec)
    return advance(store, spec.name)


@pytest.mark.parametrize("how", ["dirichlet-tree:depth=3", "recalibrated:report_draws=200"])
def test_an_item_that_shows_the_same_again_keeps_its_label_and_costs_nothing(tmp_path, how):
    _two_days(tmp_path)
    store = MemoryStore()
    _run(store, _spec(tmp_path, "first", "2026-11-01", method=how))
    warm = _spec(
        tmp_path, "second", "2026-11-02", method=how, warm_start={"evaluation": "first", "discount": 0.5}
    )
    standing = _run(store, warm)
    had = {one.item_id for one in labels_to_inherit(store, warm, "first", 0.5)}
    asked, reused, number = [], [], 1
    while (decided := read_labels(Ledger(store, "second"), number)) is not None:
        planned = read_plan(Ledger(store, "second"), number)
        asked += [planned.item_id[t] for t in planned.to_people()]
        reused += [d.item_id for d in decided if d.reason == "reused"]
        number += 1
    assert reused
    assert not had & set(asked)
    assert len(asked) <= 100 < standing.labels == len(asked) + len(reused)
    assert verify(store, "second").verified


def test_an_item_that_shows_something_else_under_its_old_id_is_asked(tmp_path):
    _two_days(tmp_path)
    second = tmp_path / "predictions-2026-11-02.csv"
    second.write_text(second.read_text().replace("item same", "changed same"))
    store = MemoryStore()
    _run(store, _spec(tmp_path, "first", "2026-11-01"))
    _run(store, _spec(tmp_path, "second", "2026-11-02", warm_start={"evaluation": "first"}))
    assert not any(d.reason for d in read_labels(Ledger(store, "second"), 1))


def test_labels_two_windows_old_are_worth_the_discount_squared(tmp_path):
    _two_days(tmp_path)
    store = MemoryStore()
    _run(store, _spec(tmp_path, "a", "2026-11-01", budget={"labels": 30}))
    _run(store, _spec(tmp_path, "b", "2026-11-02", budget={"labels": 30},
                      warm_start={"evaluation": "a", "discount": 0.5}))
    third = _spec(tmp_path, "c", "2026-11-02")
    weights = {one.weight for one in labels_to_inherit(store, third, "b", 0.5)}
    assert weights == {0.5, 0.25}


def test_a_change_of_the_inherited_labels_is_found(tmp_path):
    _two_days(tmp_path)
    store = MemoryStore()
    _run(store, _spec(tmp_path, "first", "2026-11-01", budget={"labels": 30}))
    _run(store, _spec(tmp_path, "second", "2026-11-02", warm_start={"evaluation": "first"}))
    changed = MemoryStore()
    for key in store.keys(""):
        blob = store.get(key)
        changed.put(key, blob[:-9] + b"x" + blob[-8:] if "/inherited-" in key else blob)
    assert not verify(changed, "second").verified


def test_an_evaluation_that_is_not_there_or_has_other_classes_is_refused(tmp_path):
    _two_days(tmp_path)
    store = MemoryStore()
    with pytest.raises(BadInput, match=r"warm_start\.evaluation: no evaluation named 'first'"):
        _run(store, _spec(tmp_path, "second", "2026-11-02", warm_start={"evaluation": "first"}))
    _run(store, _spec(tmp_path, "first", "2026-11-01", budget={"labels": 10}))
    other = _spec(tmp_path, "second", "2026-11-02", warm_start={"evaluation": "first"},
                  labels={"positive": "good", "negative": "bad"})
    with pytest.raises(BadInput, match="has other classes"):
        _run(store, other)
