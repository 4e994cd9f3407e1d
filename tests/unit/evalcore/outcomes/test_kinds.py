"""Kinds of outcome: codes and vectors, there and back."""

import numpy as np
import pytest

from assay.evalcore.annotators.answers import NumberAnswers
from assay.evalcore.errors import BadInput
from assay.evalcore.outcomes.base import LARGEST_OUTCOME, UNANSWERED, UNDECIDED, is_outcome
from assay.evalcore.outcomes.classes import Classes
from assay.evalcore.outcomes.items import Items
from assay.evalcore.outcomes.numbers import Numbers
from assay.evalcore.outcomes.tags import Tags

CASES = (
    (Classes(("cat", "dog", "owl")), ["owl", "cat"]),
    (Tags(("red", "green", "blue")), ["red|blue", "", "green"]),
    (Numbers(0.0, 10.0), ["3.25", "0.0", "10.0"]),
)


@pytest.mark.parametrize(("kind", "answers"), CASES, ids=lambda x: getattr(x, "name", ""))
def test_codes_lead_back_to_the_answers(kind, answers):
    codes = kind.encode(answers)
    assert codes.dtype == np.float64
    assert [kind.decode(c) for c in codes] == answers
    assert is_outcome(codes).all()


def test_no_outcome_is_one_of_the_two_marks():
    assert not is_outcome(np.array([UNDECIDED, UNANSWERED])).any()
    assert not Classes(("a", "b")).phi(np.array([UNDECIDED])).any()


def test_vectors_by_hand():
    assert Classes(("a", "b", "c")).phi(np.array([2.0, 0.0])).tolist() == [[0, 0, 1], [1, 0, 0]]
    assert Tags(("a", "b", "c")).phi(np.array([5.0, 0.0])).tolist() == [[1, 0, 1], [0, 0, 0]]
    assert Numbers().phi(np.array([2.5])).tolist() == [[2.5]]


@pytest.mark.parametrize(
    ("kind", "answer"),
    [(Classes(("a", "b")), "c"), (Tags(("a", "b")), "a|c"), (Numbers(0, 1), "2"), (Numbers(), "many")],
)
def test_an_answer_that_is_no_outcome_is_refused(kind, answer):
    with pytest.raises(BadInput):
        kind.encode([answer])


@pytest.mark.parametrize(
    "make", [lambda: Classes(("a",)), lambda: Classes(("a", "a")), lambda: Numbers(1, 1), lambda: Tags(()),
             lambda: Tags(tuple(map(str, range(54)))), lambda: Classes(("a", "b"), (1.0,))],
)
def test_kinds_that_make_no_sense(make):
    with pytest.raises(BadInput):
        make()


def test_guesses_of_classes_are_distributions_and_need_no_column():
    kind = Classes(("a", "b", "c"))
    p = np.array([[0.7, 0.2, 0.1], [0.0, 0.0, 1.0]])
    for items in (
        Items(prediction=np.array([[0.0], [2.0]]), probability=p),
        Items(prediction=np.array([[0.0], [2.0]])),
        Items(prediction=np.zeros((2, 0)), judge=np.array([[1.0], [2.0]])),
        Items(prediction=np.zeros((2, 0))),
    ):
        guess = kind.guesses(items)
        assert guess.shape[1] == len(kind.first_weights(items))
        np.testing.assert_allclose(guess.sum(axis=2), 1)


def test_the_variance_of_a_pull_by_hand():
    p, pull = np.array([[0.5, 0.3, 0.2]]), np.array([[1.0, 0.0, 2.0]])
    mean = 0.5 + 0.4
    expected = 0.5 * (1 - mean) ** 2 + 0.3 * mean**2 + 0.2 * (2 - mean) ** 2
    np.testing.assert_allclose(Classes(("a", "b", "c")).variance(pull, p), expected)
    np.testing.assert_allclose(Tags(("a", "b", "c")).variance(pull, p), 0.25 + 4 * 0.16)


def test_what_is_expected_of_an_outcome_is_0_of_what_is_no_class():
    phi = np.array([[0.2, 0.3, 0.5], [0.1, 0.1, 0.8], [0.6, 0.3, 0.1]])
    codes = np.array([2.0, UNDECIDED, 3.0])
    assert np.array_equal(Classes(("a", "b", "c")).phi(codes), [[0, 0, 1], [0, 0, 0], [0, 0, 0]])
    assert np.array_equal(Classes(("a", "b", "c")).at(phi, codes), [0.5, 0, 0])


def test_numbers_whose_squares_would_overflow_are_refused():
    assert Numbers().encode([str(LARGEST_OUTCOME)]) == [LARGEST_OUTCOME]
    with pytest.raises(BadInput, match=r"2e\+30 is beyond ±1e\+30"):
        Numbers().encode(["1", "-2", "2e30"])
    assert NumberAnswers().meaning("2e30") is None
