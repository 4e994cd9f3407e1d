"""What estimated differences say: simultaneous intervals, the chance of being better, verdicts."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import ndtr, ndtri, stdtr

from assay.evalcore.errors import BadInput
from assay.evalcore.estimators.linearised import WIDER, interval_ends
from assay.evalcore.evaluation.estimates import chance_above, comparisons
from assay.evalcore.evaluation.state import Question, before_any_label
from assay.evalcore.measures.measure import leading, side_by_side
from assay.evalcore.measures.registry import outcome_measure
from assay.evalcore.measures.stack import Stack
from assay.evalcore.methods.any_outcome.state import OutcomeEstimates
from assay.evalcore.methods.registry import outcome_method
from assay.evalcore.outcomes.classes import Classes
from assay.evalcore.outcomes.items import Items

KIND = Classes(("no", "yes"), positive="yes")
METHOD = outcome_method("auto")


def _question(names=("accuracy",), systems=3, n=200):
    rng = np.random.default_rng(2)
    items = Items(prediction=rng.integers(0, 2, (n, systems)).astype(float))
    measures = side_by_side([
        [outcome_measure(name, KIND, n, system=s) for s in range(systems)] for name in names
    ])
    stack = Stack(kind=KIND, measures=measures, drive=leading(measures))
    return Question(
        method=METHOD, measures=stack, cells=METHOD.cut(stack, items).cells, confidence=0.95, seed=1,
        evaluation="test", systems=("base", "one", "two")[:systems],
    )


def _found(question, value, variance, df=1e6):
    q = len(question.measures.parts)
    table = np.zeros((1, q))
    table[0, : len(value)] = value
    bounds = np.array([question.measures.measures[m].bounds for m, _ in question.measures.parts]).T

    def at(confidence):
        spread, freedom = np.full((1, q), variance), np.full((1, q), df)
        return interval_ends(table, spread, freedom, np.zeros((1, q)), confidence, tuple(bounds))

    found = OutcomeEstimates(
        value=table, lower=table, upper=table, variance=np.full((1, q), variance),
        exact=np.zeros(1, bool), ends=at,
    )
    return [found.number(i) for i in range(q)]


def test_the_intervals_of_two_differences_hold_together_at_half_the_error_each():
    # two differences at 95%: each has its normal interval at 97.5%, 2.2414 standard errors wide, times 1.08
    question = _question()
    said = comparisons(question, before_any_label(question), _found(question, [0.05, -0.1], 0.02**2))
    assert [c.together for c in said.values()] == [2, 2]
    assert said[0].upper - 0.05 == pytest.approx(1.08 * 2.2414 * 0.02, rel=0.01)
    assert (said[0].verdict, said[1].verdict) == ("better", "worse")


def test_the_chance_of_being_better_is_students_and_agrees_with_the_interval():
    question = _question(systems=2)
    for value, df in ((0.01, 1e6), (-0.03, 5.0)):
        c = comparisons(question, before_any_label(question), _found(question, [value], 0.02**2, df))[0]
        assert c.chance_better == pytest.approx(stdtr(df, value / (WIDER * 0.02)), abs=0.003)
        assert c.verdict == "open"


def test_the_chance_asks_for_no_interval_twice():
    value, asked = np.array([[0.02, -0.03, 0.5, 1e-12]]), []

    def interval(confidence):
        asked.append(tuple(confidence[0]))
        half = 0.02 * ndtri(0.5 + confidence / 2)
        return value - half, value + half

    chance = chance_above(value, interval)
    assert chance[0] == pytest.approx([ndtr(1.0), ndtr(-1.5), 1.0, 0.5], abs=1e-8)
    assert len(set(asked)) == len(asked)


def test_a_settled_difference_of_nothing_is_a_tie():
    question = _question(systems=2)
    c = comparisons(question, before_any_label(question), _found(question, [0.0], 1e-30))[0]
    assert (c.verdict, c.chance_better, c.more_labels) == ("tie", None, None)


def test_before_the_first_label_all_is_open():
    question = _question()
    nothing = METHOD.number_estimates(before_any_label(question).inner, 0.95, None)
    said = comparisons(question, before_any_label(question), nothing)
    assert {c.verdict for c in said.values()} == {"open"}
    assert {c.chance_better for c in said.values()} == {None}


def test_differences_of_the_first_measure_come_first_and_drive():
    question = _question(("f1", "rate", "accuracy"))
    told = [(m.name, m.system, m.versus) for m in question.measures.measures]
    assert told[:5] == [
        ("f1", 1, 0), ("f1", 2, 0), ("f1", 0, None), ("f1", 1, None), ("f1", 2, None),
    ]
    assert told[5] == ("rate", None, None)
    assert question.measures.drive == (True, True, *[False] * (len(told) - 2))
    with pytest.raises(BadInput, match="same for all systems"):
        _question(("rate", "f1"))


def test_labels_of_two_systems_go_where_they_disagree():
    question = _question(systems=2, n=2000)
    method = outcome_method("guesses")
    share = method.share(before_any_label(replace(question, method=method)).inner)[0]
    most = question.cells.spread @ question.measures.weight > 1e-20
    assert most.any()
    assert not most.all()
    assert share[most].min() > 3 * share[~most].max()


@pytest.mark.parametrize("name", ["f1", "precision", "recall", "specificity", "balanced_accuracy", "mcc"])
def test_with_a_positive_class_a_measure_is_one_number(name):
    measure = outcome_measure(name, KIND, 10)
    assert measure.parts == (None,)
    # 4 true positives, 1 false positive, 2 false negatives, 3 true negatives
    prediction = np.array([1, 1, 1, 1, 1, 0, 0, 0, 0, 0], float)
    label = np.array([1, 1, 1, 1, 0, 1, 1, 0, 0, 0], float)
    value = measure.of_pool(Items(prediction=prediction[:, None]), KIND.phi(label))
    expected = {
        "f1": 8 / 11, "precision": 4 / 5, "recall": 4 / 6, "specificity": 3 / 4,
        "balanced_accuracy": (4 / 6 + 3 / 4) / 2, "mcc": (4 * 3 - 1 * 2) / np.sqrt(5 * 6 * 4 * 5),
    }
    assert value == pytest.approx([expected[name]])
    # without a negative item specificity has no value, nor has their mean with recall
    nothing = measure.of_pool(Items(prediction=prediction[:, None]), KIND.phi(np.ones(10)))
    assert np.isnan(nothing).all() == (name in ("specificity", "balanced_accuracy", "mcc"))
