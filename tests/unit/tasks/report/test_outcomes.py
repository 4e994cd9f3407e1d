"""The confusion matrix in a report: the order of its numbers, and what is left to report.json; systems."""

from dataclasses import replace

import pytest
from doubles.report_data import estimate, report_data, with_estimates

from assay.evalcore.evaluation.estimate import Band, MeasureEstimate
from assay.evalcore.outcomes.classes import Classes
from assay.evalcore.outcomes.numbers import Numbers
from assay.tasks.report.best import best_section
from assay.tasks.report.data import MATRIX, whole_pool_rows
from assay.tasks.report.outcomes import confusion_matrix

NAMES = ("cat", "dog")


def with_matrix(names=NAMES):
    shares = [0.5, 0.25, 0.0, 0.25] if len(names) == 2 else [1 / len(names) ** 2] * len(names) ** 2
    places = [(f, y) for f in names for y in names]
    rows = [
        replace(estimate(MATRIX, share, 0.0, 100), class_name=f"{f} → {y}")
        for share, (f, y) in zip(shares, places, strict=True)
    ]
    data = report_data()
    return with_estimates(replace(data, outcome=Classes(names=names)), [*data.estimates, *rows])


def test_rows_are_predicted_classes_and_the_worst_confusion_is_told():
    found = confusion_matrix(with_matrix())
    assert [(name, [n.split(" ")[0] for n in numbers]) for name, numbers in found.rows] == [
        ("cat", ["0.5000", "0.2500"]), ("dog", ["0", "0.2500"])
    ]
    assert "25% of the items are predicted cat and labelled dog" in found.figure.told


def test_of_many_classes_only_the_picture_is_on_the_page():
    found = confusion_matrix(with_matrix(tuple(f"c{i}" for i in range(13))))
    assert found.rows == ()


def test_the_matrix_is_not_in_the_table_of_measures_and_is_none_where_nobody_asked():
    data = with_matrix()
    assert MATRIX not in {row.measure for row in whole_pool_rows(data)}
    assert confusion_matrix(report_data()) is None


@pytest.mark.parametrize(("measure", "order"), [("mean", ["c", "b", "a"]), ("mae", ["b", "c", "a"])])
def test_systems_side_by_side_have_the_best_first_and_those_without_a_value_last(measure, order):
    rows = [
        MeasureEstimate(
            measure=measure, system=system, value=value, lower=-1.0, upper=1.0, confidence=0.95, interval="x",
            labels=9, band=Band(lower=-1.0, upper=1.0),
        )
        for system, value in (("a", None), ("b", -0.5), ("c", 0.5))
    ]
    section = best_section(None, rows, {}, finished=True, outcome=Numbers(-1, 1))
    assert section is not None
    assert [line.system for line in section.lines] == order
