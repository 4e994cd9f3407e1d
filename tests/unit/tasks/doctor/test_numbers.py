"""What the doctor says of each measure before anybody has labelled anything."""

import numpy as np
import pytest

from assay.tasks.doctor.numbers import Numbers, measure_findings


def findings(prediction, label=None):
    n = len(prediction)
    numbers = Numbers(
        score=np.zeros(n), probability=np.full(n, 0.5), prediction=np.array(prediction),
        label=None if label is None else np.array(label), positive="yes", negative="no", threshold=None,
    )
    return {found["measure"]: found for found in measure_findings(numbers)}


def test_predictions_of_both_kinds_leave_nothing_to_note():
    found = findings([0, 1, 1])
    assert all(f["available"] and f["note"] is None and f["true_value"] is None for f in found.values())


@pytest.mark.parametrize(
    ("prediction", "missing", "fixed"),
    [
        (0, {"precision", "mcc"}, {"f1": "0", "fbeta(2)": "0", "recall": "0", "specificity": "1"}),
        (1, {"mcc"}, {"recall": "1", "specificity": "0"}),
    ],
)
def test_where_all_predictions_are_alike_some_measures_say_nothing(prediction, missing, fixed):
    found = findings([prediction] * 5)
    assert missing == {name for name, f in found.items() if not f["available"]}
    assert all(found[name]["note"].startswith("does not exist: ") for name in missing)
    for name, value in fixed.items():
        assert found[name]["note"].startswith(f"{value} wherever it exists")
    assert found["accuracy"]["note"] is None                # it depends on the labels all the same


def test_labels_give_the_exact_value():
    found = findings([1, 1, 0, 0], [1, 0, 0, 0])
    assert (found["precision"]["true_value"], found["accuracy"]["true_value"]) == (0.5, 0.75)
