"""From a spec with targets of several measures to where it stops, and what the report says was asked."""

import json
from math import sqrt

import pytest
from doubles.small_pool import spec_json, write_small_pool

from assay.evalcore.errors import BadInput
from assay.evalcore.methods.registry import method
from assay.evalcore.printed import printed
from assay.flows.doctor import ExaminationWatch, examine_spec
from assay.flows.evaluation.advance import Patience, drive
from assay.flows.evaluation.begin import begin_evaluation
from assay.flows.record.opened import open_evaluation
from assay.flows.report.gather import report_data
from assay.flows.verify.ledger import verify
from assay.tasks.report import sentences
from assay.tasks.spec.consistency import never_met
from assay.tasks.spec.evaluation import Spec
from assay.tasks.spec.goals import Budget, Target
from assay.tasks.testing import MemoryStore

AT_ONCE = Patience(first=0.0, longest=0.0, in_all=0.0)
WIDE = {"f1": 0.45, "precision": 0.45}


def run(folder, **changes):
    predictions, labels = write_small_pool(folder)
    store, spec = MemoryStore(), Spec.from_json(spec_json(
        predictions, labels, **{"measure": ["f1", "precision"], "budget": {"labels": 160}, **changes},
    ))
    begin_evaluation(store, spec)
    return store, drive(store, spec.name, patience=AT_ONCE)


@pytest.mark.parametrize(("target", "says", "labels"), [
    ({"half_width": WIDE}, "half-widths of at most 0.45 (f1) and 0.45 (precision)", 120),
    ({"half_width": WIDE, "least_labels": 40, "looks": 1}, "half-widths of at most 0.45", 40),
    ({"half_width": 0.45, "least_labels": 40}, "half-width of at most 0.45", 60),
    ({"variance": {"trace": 0.1}}, "variances of all measures that add up to at most 0.1", 120),
])
def test_a_run_stops_when_its_targets_are_met(tmp_path, target, says, labels):
    store, standing = run(tmp_path, target=target)
    assert standing.labels == labels
    assert standing.stopped_by == ("variance" if "variance" in target else "half_width")
    assert verify(store, "small").differences == ()
    told = sentences.target(report_data(open_evaluation(store, "small"), standing))
    assert told.lower().startswith(says.lower())


def test_what_a_target_of_a_variance_is_held_against_is_printed(tmp_path):
    store, standing = run(tmp_path, target={"variance": 0.02})
    stored = standing.estimates[0]
    printed_row = printed(stored)
    assert standing.stopped_by == "variance"
    assert printed_row["standard_error"] == stored.standard_error == sqrt(stored.variance)
    assert 0 < printed_row["standard_error"] ** 2 <= 0.02
    # the interval believes it: no more than twice as wide as a normal one of the variance asked for
    assert stored.upper - stored.lower <= 2 * 2 * 1.96 * sqrt(0.02)
    assert verify(store, "small").differences == ()


def test_one_far_measure_keeps_it_going(tmp_path):
    _, standing = run(tmp_path, target={"half_width": {"f1": 0.45, "precision": 0.001}})
    assert (standing.stopped_by, standing.labels) == ("budget", 160)


@pytest.mark.parametrize(("target", "message"), [
    ({"half_width": {"f2": 0.05}}, "no such measure is asked for"),
    ({"half_width": {}}, "of no measure"),
    ({"half_width": {"trace": 0.05}}, "give it as `variance`"),
    ({"variance": {"trace": 0.05, "f1": 0.1}}, "beside others; keep one"),
    ({"half_width": {"f1": 2.0}}, "every interval of such measures meets"),
    ({"half_width": {"f1": -1.0}}, "greater than 0"),
    ({"looks": 1}, "no target that they are about"),
    ({"half_width": 0.1, "looks": 0}, "greater than or equal to 1"),
    ({"half_width": {"f1": 0.05}, "variance": 0.1}, "keep one"),
])
def test_targets_that_make_no_sense_are_refused(tmp_path, target, message):
    predictions, labels = write_small_pool(tmp_path)
    with pytest.raises(BadInput, match=message):
        Spec.from_json(spec_json(predictions, labels, target=target, budget={"labels": 160}))


def test_a_budget_below_its_own_floor_is_said_to_be_too_small():
    target = Target(half_width=0.1, least_labels=40, looks=1)
    told = never_met(target, Budget(labels=39), 20, method("passive"))
    assert told is not None
    assert "one look, with 40 labels or more" in told
    assert never_met(target, Budget(labels=40), 20, method("passive")) is None


@pytest.mark.parametrize(("changes", "says"), [
    ({"target": {"half_width": 0.1, "least_labels": 40, "looks": 1}}, "at one look, with 40 labels or more"),
    ({"target": {"half_width": 0.1}}, None),
    ({"method": "isotonic"}, "isotonic reports no interval, as it was published"),
])
def test_the_doctor_says_what_fewer_labels_cost_and_which_method_has_no_interval(tmp_path, changes, says):
    predictions, labels = write_small_pool(tmp_path)
    path = tmp_path / "spec.json"
    path.write_text(json.dumps(spec_json(
        predictions, labels, **{"method": "passive", "budget": {"labels": 160}, **changes}
    )))
    examined = examine_spec(path, lambda spec: MemoryStore(), ExaminationWatch())
    warnings = [found.says for found in examined.findings if found.level == "warning"]
    assert any(says in text for text in warnings) if says else not warnings
