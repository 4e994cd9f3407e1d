"""Targets of several measures, and how many labels and looks a target takes."""

import pytest

from assay.evalcore.errors import BadInput
from assay.evalcore.evaluation.estimate import MeasureEstimate
from assay.evalcore.evaluation.stopping import Look, StoppingRule, stop_reason

Z = 1.959963984540054


def row(name, half_width, variance=None, class_name=None, interval="ais-normal"):
    variance = (half_width / Z) ** 2 if variance is None else variance
    return MeasureEstimate(
        measure=name, class_name=class_name, value=0.5, lower=0.5 - half_width, upper=0.5 + half_width,
        confidence=0.95, interval=interval, labels=0, variance=variance,
    )


def look(labels, *rows):
    return Look(labels=labels, estimate=rows[0], both_outcomes=True, exhausted=False, others=rows)


def reason(rule, *looks):
    return stop_reason(rule, looks)


def test_each_measure_has_to_meet_its_own():
    rule = StoppingRule(budget=900, half_width={"f1": 0.05, "recall": 0.1})
    far = look(100, row("f1", 0.04), row("recall", 0.2), row("precision", 0.9))
    near = look(120, row("f1", 0.04), row("recall", 0.09), row("precision", 0.9))
    assert reason(rule, near, far) is None
    assert reason(rule, far, near) is None
    assert reason(rule, near, near) == "half_width"


def test_a_name_without_a_class_is_of_every_class():
    classes = [row("recall", 0.04, class_name="cat"), row("recall", 0.2, class_name="dog")]
    narrow = look(100, *classes)
    assert reason(StoppingRule(budget=900, half_width={"recall": 0.1}), narrow, narrow) is None
    assert reason(StoppingRule(budget=900, half_width={"recall(cat)": 0.1}), narrow, narrow) == "half_width"


def test_a_target_of_a_measure_that_is_not_there_is_never_met():
    found = look(100, row("f1", 0.01))
    assert reason(StoppingRule(budget=900, half_width={"accuracy": 0.1}), found, found) is None


def test_the_trace_is_the_sum_of_all_variances():
    # 0.001 + 0.0015 = 0.0025: not above 0.0025, above 0.0024
    found = look(100, row("f1", Z * 0.001**0.5), row("recall", Z * 0.0015**0.5))
    assert reason(StoppingRule(budget=900, variance={"trace": 0.00251}), found, found) == "variance"
    assert reason(StoppingRule(budget=900, variance={"trace": 0.0024}), found, found) is None
    # an interval of one measure that is far wider than its variance says is not believed
    doubted = look(100, row("f1", 0.4, variance=0.001), row("recall", Z * 0.0015**0.5))
    assert reason(StoppingRule(budget=900, variance={"trace": 0.00251}), doubted, doubted) is None


def test_an_exact_measure_adds_nothing_and_an_unknown_variance_meets_nothing():
    exact = look(100, row("f1", Z * 0.001**0.5), row("recall", 0.0, variance=0.0, interval="exact"))
    assert reason(StoppingRule(budget=900, variance={"trace": 0.002}), exact, exact) == "variance"
    unknown = look(100, row("f1", Z * 0.001**0.5), row("recall", 0.3, variance=0.0))
    assert reason(StoppingRule(budget=900, variance={"trace": 0.002}), unknown, unknown) is None


def test_variances_may_be_of_each_measure():
    found = look(100, row("f1", Z * 0.001**0.5), row("recall", Z * 0.0015**0.5))
    for recall, stops in ((0.0016, "variance"), (0.0014, None)):
        rule = StoppingRule(budget=900, variance={"f1": 0.0011, "recall": recall})
        assert reason(rule, found, found) == stops


@pytest.mark.parametrize(("least", "looks", "seen", "stops"), [
    (40, 1, [40], True), (41, 1, [40], False), (40, 2, [40], False), (40, 2, [40, 60], True),
    (40, 3, [40, 60], False), (40, 3, [40, 60, 80], True), (60, 2, [40, 60], False),
])
def test_labels_and_looks_are_what_the_evaluation_says(least, looks, seen, stops):
    rule = StoppingRule(budget=900, half_width=0.05, least_labels=least, looks=looks)
    found = reason(rule, *(look(n, row("f1", 0.04)) for n in seen))
    assert (found == "half_width") is stops


def test_a_target_that_is_not_positive_is_refused():
    with pytest.raises(BadInput, match="half_width must be positive"):
        StoppingRule(budget=9, half_width={"f1": 0.0})
