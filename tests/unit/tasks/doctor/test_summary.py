"""What a pool looks like before anybody has labelled anything."""

import numpy as np
import pytest

from assay.evalcore.printed import printed
from assay.tasks.doctor.judge import alike_finding, ties_finding
from assay.tasks.doctor.numbers import ClassNames, UsableRows, threshold_of, usable_rows
from assay.tasks.doctor.roles import Roles
from assay.tasks.doctor.scan import Scan
from assay.tasks.doctor.summary import calibration, measure_findings, score_summary, summary_of


def a_pool(score, probability, prediction, label=None):
    return UsableRows(
        score=np.array(score), probability=np.array(probability), prediction=np.array(prediction),
        label=None if label is None else np.array(label), threshold=None,
        classes=ClassNames(predicted=("yes", "no"), labelled=("yes", "no"), question=None),
    )


def findings(prediction, label=None):
    n = len(prediction)
    numbers = a_pool(np.zeros(n), np.full(n, 0.5), prediction, label)
    return {found.measure: found for found in measure_findings(numbers)}


def test_predictions_of_both_kinds_leave_nothing_to_note():
    found = findings([0, 1, 1])
    assert all(f.available and f.note is None and f.true_value is None for f in found.values())


@pytest.mark.parametrize(
    ("prediction", "missing", "fixed"),
    [
        (0, {"precision", "mcc", "fowlkes_mallows"},
         {"f1": "0", "fbeta(2)": "0", "recall": "0", "specificity": "1"}),
        (1, {"mcc"}, {"recall": "1", "specificity": "0"}),
    ],
)
def test_where_all_predictions_are_alike_some_measures_say_nothing(prediction, missing, fixed):
    found = findings([prediction] * 5)
    assert missing == {name for name, f in found.items() if not f.available}
    assert all(found[name].note.startswith("does not exist: ") for name in missing)
    for name, value in fixed.items():
        assert found[name].note.startswith(f"{value} wherever it exists")
    assert found["accuracy"].note is None                # it depends on the labels all the same


def test_labels_give_the_exact_value():
    found = findings([1, 1, 0, 0], [1, 0, 0, 0])
    assert (found["precision"].true_value, found["accuracy"].true_value) == (0.5, 0.75)


def test_scores_are_summed_up_by_quantiles_and_ties():
    numbers = a_pool([0.0, 1.0, 1.0, 1.0, 2.0], [0.1] * 5, [0, 0, 0, 1, 1])
    found = score_summary(numbers)
    assert (found.quantiles["0"], found.quantiles["0.5"], found.quantiles["1"]) == (0.0, 1.0, 2.0)
    assert (found.distinct, found.largest_tie, found.predicted_positives) == (3, 3, 2)
    assert ties_finding(found, 5).about == "score"


def test_many_distinct_scores_are_nothing_to_warn_of():
    found = score_summary(a_pool(np.arange(20.0), [0.5] * 20, [1] * 20))
    assert ties_finding(found, 20) is None


def test_calibration_compares_expected_with_counted_positives_by_bins():
    # two probabilities, ten items each: one of ten and six of ten are positive
    numbers = a_pool(np.zeros(20), [0.2] * 10 + [0.6] * 10, [1] * 20, [1] + [0] * 9 + [1] * 6 + [0] * 4)
    found = calibration(numbers)
    assert (found.expected_positives, found.positives) == (pytest.approx(8.0), 7)
    assert [(one.items, one.lowest, one.highest) for one in found.bins] == [(10, 0.2, 0.2), (10, 0.6, 0.6)]
    assert [one.expected for one in found.bins] == pytest.approx([0.2, 0.6])
    assert [one.observed for one in found.bins] == pytest.approx([0.1, 0.6])
    assert calibration(a_pool([0.0], [0.5], [1])) is None


def test_the_json_of_a_summary_names_the_ends_of_bins():
    told = printed(summary_of(a_pool([0.0, 1.0], [0.2, 0.6], [0, 1], [0, 1]), rows=250_000))
    assert set(told) == {"scores", "calibration", "measures", "freeze"}
    assert set(told["calibration"]["bins"][0]) == {"from", "to", "items", "expected", "observed"}
    assert told["freeze"] == {"megabytes": 315, "seconds": 2}


def scanned(values):
    return Scan(rows=len(values), score=np.array(values, float), probability=np.array(values, float))


def test_a_threshold_cuts_by_score_from_above_and_by_probability_from_it_on():
    by_score, by_probability = Roles(score="s", threshold=0.5), Roles(probability="p", threshold=0.5)
    assert usable_rows(scanned([0.0, 0.5, 1.0]), by_score).prediction.tolist() == [0, 0, 1]
    assert usable_rows(scanned([0.1, 0.5, 0.9]), by_probability).prediction.tolist() == [0, 1, 1]


@pytest.mark.parametrize(("scale", "threshold"), [
    ([-3.0, 2.0], 0.0), ([0.1, 0.9], 0.5), ([0.4, 99.6], 50.0), ([0.0, 100.0], 50.0),
    ([0.0, 12.0], 0.0), ([3.0, 700.0], 0.0), ([np.nan, 80.0, 1.0], 50.0), ([np.nan], 0.5),
])
def test_the_threshold_is_that_of_the_scale_unless_it_is_told(scale, threshold):
    assert threshold_of(scanned(scale), Roles(score="s")) == threshold
    assert threshold_of(scanned(scale), Roles(score="s", threshold=7.0)) == 7.0


def test_a_guessed_threshold_that_leaves_one_class_is_a_problem_and_a_told_one_a_warning():
    found = scanned([3.0, 700.0])
    guessed = alike_finding(usable_rows(found, Roles(score="s")), Roles(score="s"))
    assert guessed is not None
    assert (guessed.level, "--threshold" in str(guessed.remedy)) == ("problem", True)
    assert guessed.says.startswith("every item is predicted positive: scores lie between 3 and 700")
    told = Roles(score="s", threshold=800.0)
    warned = alike_finding(usable_rows(found, told), told)
    assert warned is not None
    assert (warned.level, "predicted negative" in warned.says) == ("warning", True)
    told = Roles(score="s", threshold=10.0)
    assert alike_finding(usable_rows(found, told), told) is None
