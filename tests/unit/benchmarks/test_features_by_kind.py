"""Every feature for every kind of labels: a spec can have it, or is told why it cannot be.

What is refused is listed here with a word of the reason, so that a feature which is lost, or gained, shows.
"""

import pytest

from benchmarks.abilities import features, kinds, table_of_features, why_not

_NO_SCORE = {"tags": "no measure", "numbers": "of classes or tags", "preferences": "no measure"}
_NO_ONE_CLASS = dict.fromkeys(("classes", "grades", "tags", "numbers", "preferences"), "of no one class")
_COMPARED = {"preferences": "the labels themselves compare"}
_SEVERAL_NUMBERS = dict.fromkeys(
    ("two classes", "classes", "one class of several", "grades"), "has 4 numbers"
)
_OF_CLASSES = dict.fromkeys(("tags", "numbers"), "is for classes and preference")
REFUSED = {
    "several systems compared": _COMPARED,
    "judges of compared systems": _COMPARED,
    "judges": {"two classes": "that of its numbers as `score` or `probability`"},
    "covariates": dict.fromkeys(("two classes", "one class of several"), "along"),
    "a spread of predictions": dict.fromkeys(
        ("two classes", "classes", "one class of several", "grades", "tags", "preferences"), "are no numbers"
    ),
    "areas under curves": _NO_SCORE,
    "labels of an earlier evaluation": {
        **dict.fromkeys(("classes", "grades", "preferences"), "these measures are of no such classes"),
        **dict.fromkeys(("tags", "numbers"), "a model of classes"),
    },
    "an audit": _NO_ONE_CLASS,
    "segments of compared systems": _COMPARED,
    "areas under curves in segments": _NO_SCORE,
    "monitors of two systems": _COMPARED,
    "areas under curves in monitors": _NO_SCORE,
    "drops of two systems in monitors": _COMPARED,
    "a limit on the points of a curve": _NO_SCORE | _SEVERAL_NUMBERS,
    "whole clusters drawn in monitors": dict.fromkeys(kinds(), "evidence from single draws"),
    "further systems beside a prediction": dict.fromkeys(
        ("classes", "grades", "tags", "numbers", "preferences"), "no prediction of its own"
    ),
    "simulated people who miss what is there": dict.fromkeys(
        ("classes", "grades", "numbers", "preferences"), "errors about one class"
    ),
    "items asked anew": _OF_CLASSES,
    "an even share for other measures": _OF_CLASSES,
    "static draws divided by their weights": dict.fromkeys(_NO_ONE_CLASS, "is Σ w ℓ / n"),
    "how finely one score is modelled": dict.fromkeys(_NO_ONE_CLASS, "only one class against the rest has"),
    "self-normalised estimates": _OF_CLASSES,
    "intervals and regions as printed": _OF_CLASSES,
}


@pytest.mark.parametrize("feature", features())
def test_it_is_there_or_the_reason_is_told(feature):
    for kind in kinds():
        reason = REFUSED.get(feature, {}).get(kind)
        told = why_not(feature, kind)
        assert (reason is None) == (not told), (kind, told)
        assert (reason or "") in told, kind


def test_the_table_has_a_line_for_each_and_a_sentence_for_what_is_refused():
    table = table_of_features()
    assert all(f"| {feature} |" in table for feature in features())
    for feature, refused in REFUSED.items():
        assert all(why_not(feature, kind) in table for kind in refused)
