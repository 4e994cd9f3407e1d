"""Which class a written value means."""

import doctest

import pytest

from assay.evalcore.outcomes import class_names
from assay.evalcore.outcomes.class_names import ClassReader, classes_among, two_class_values, what_differs


def test_the_examples_of_the_module():
    assert doctest.testmod(class_names).failed == 0


@pytest.mark.parametrize(("names", "written", "meant"), [
    (("spam", "ham"), ["spam", "spam ", " Spam", "SPAM", "spam\u200b", "spam\xa0"], "spam"),
    (("K\u00f6der", "ham"), ["Ko\u0308der", "K\u00f6der", "k\u00f6der"], "K\u00f6der"),
    (("1", "2", "3"), ["1", "1.0", "1.00"], "1"),
    (("007", "008"), ["007", "007 "], "007"),
    (("not spam", "spam"), ["not  spam", "Not\tspam"], "not spam"),
    (("true", "false"), ["True", "TRUE", "true "], "true"),
])
def test_spellings_of_a_class_are_one_class(names, written, meant):
    assert {ClassReader(names).read(text) for text in written} == {meant}


@pytest.mark.parametrize(("names", "written"), [
    (("007", "008"), "7"), (("1", "2"), "true"), (("a", "A", "b"), "a\u0308"), (("Us", "uS"), "us"),
])
def test_what_could_be_two_classes_or_none_is_none(names, written):
    assert ClassReader(names).read(written) is None


def test_classes_that_differ_by_a_capital_alone_are_read_as_they_are_written():
    assert [ClassReader(("a", "A")).read(text) for text in ("a", "A", "A ")] == ["a", "A", "A"]


@pytest.mark.parametrize(("positive", "negative", "read"), [
    ("spam", "ham", {"1": "spam", "1.0": "spam", "TRUE": "spam", "0": "ham", "False": "ham", "2": None}),
    ("0", "1", {"1": "1", "1.0": "1", "true": "1", "0.0": "0", "false": "0"}),
    ("1", "2", {"1.0": "1", "2.0": "2", "0": None, "True": "1"}),
    ("no", "1", {"1": "1", "0": "no", "True": "1"}),
    ("True", "False", {"true": "True", "1": "True", "0": "False"}),
])
def test_ones_and_zeros_mean_the_positive_and_the_negative_class(positive, negative, read):
    reader = ClassReader((positive, negative), two_class_values(positive, negative))
    assert {text: reader.read(text) for text in read} == read


def test_values_of_a_column_become_one_class_each():
    assert classes_among({"1": 3, "1.0": 4, "0": 2}) == {"1": "1", "1.0": "1", "0": "0"}
    assert classes_among({"True": 3, "0": 4, "1": 1}) == {"True": "1", "0": "0", "1": "1"}
    assert classes_among({"Ko\u0308der": 3, "K\u00f6der": 1}) == dict.fromkeys(
        ["Ko\u0308der", "K\u00f6der"], "K\u00f6der")
    assert classes_among({"007": 1, "7": 1}) == {"007": "007", "7": "7"}


def test_what_differs_by_capitals_alone_is_said():
    assert what_differs(["ham", "ham ", "spam"]) is None          # one class
    assert what_differs(["Ham", "ham", "HAM"]) == "'HAM', 'Ham' and 'ham' differ only by capitals"
