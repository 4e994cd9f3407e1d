"""Answers to several questions as one code, and what each question sees of an item."""

import numpy as np
import pytest

from assay.evalcore.annotators.answers import NumberAnswers, TagAnswers, class_answers
from assay.evalcore.annotators.question_answers import QuestionAnswers
from assay.evalcore.errors import BadInput
from assay.evalcore.outcomes.base import UNANSWERED, UNDECIDED
from assay.evalcore.outcomes.classes import Classes
from assay.evalcore.outcomes.items import Items
from assay.evalcore.outcomes.numbers import Numbers
from assay.evalcore.outcomes.questions import LARGEST_CODE, OneQuestion, SeveralQuestions, packing
from assay.evalcore.outcomes.tags import Tags

KINDS = (Classes(("a", "b", "c")), Numbers(-1.5, 2.0), Tags(("x", "y")))
ANSWERS = QuestionAnswers(
    each={"kind": class_answers("a", "b", "c"), "size": NumberAnswers(low=-1.5, high=2.0),
          "tags": TagAnswers(names=("x", "y"))},
    packing=packing(KINDS), asks={},
)


def test_codes_hold_every_answer_and_every_gap():
    rng = np.random.default_rng(1)
    codes = np.stack([
        rng.integers(0, 3, 500), np.round(rng.uniform(-1.5, 2.0, 500), 4), rng.integers(0, 4, 500)
    ], axis=1).astype(float)
    codes[rng.random(codes.shape) < 0.3] = UNANSWERED
    packed = packing(KINDS).pack(codes)
    assert ((packed >= 0) & (packed < LARGEST_CODE)).all()
    np.testing.assert_array_equal(packing(KINDS).unpack(packed), codes)     # to the last bit


def test_codes_that_are_no_outcome_are_none_of_any_question():
    found = packing(KINDS).unpack(np.array([UNDECIDED, UNANSWERED]))
    np.testing.assert_array_equal(found, [[UNDECIDED] * 3, [UNANSWERED] * 3])


@pytest.mark.parametrize(("kinds", "says"), [
    ((Numbers(), KINDS[0]), "needs both bounds"),
    ((Tags(tuple(f"t{i}" for i in range(40))), Tags(tuple(f"s{i}" for i in range(40)))), "53 bits"),
])
def test_what_cannot_be_one_code_is_refused(kinds, says):
    with pytest.raises(BadInput, match=says):
        packing(kinds)


def test_two_numbers_share_the_room_that_is_left():
    found = packing([Numbers(0, 1e6), Numbers(0, 1e6), Classes(tuple("abcdef"))])
    assert [one.decimals for one in found.places] == [1, 1, None]
    codes = np.array([[123456.7, 0.1, 3.0]])
    np.testing.assert_array_equal(found.unpack(found.pack(codes)), codes)


def test_every_question_sees_its_own_columns():
    kind = SeveralQuestions((
        OneQuestion("one", KINDS[0], predicts=True, probabilities=True, judges=1),
        OneQuestion("two", KINDS[1], judges=2), OneQuestion("three", KINDS[2], predicts=True),
    ))
    items = Items(
        prediction=np.array([[1.0, 3.0]]), probability=np.array([[0.1, 0.7, 0.2]]),
        judge=np.array([[2.0, 0.5, 0.6]]), cluster=np.array([[7.0]]),
    )
    one, two, three = (kind.view(number, items) for number in range(3))
    assert (one.prediction.tolist(), one.probability.tolist(), one.judge.tolist()) == (
        [[1.0]], [[0.1, 0.7, 0.2]], [[2.0]])
    assert (two.systems, two.probability, two.judge.tolist()) == (0, None, [[0.5, 0.6]])
    assert (three.prediction.tolist(), three.judge, three.cluster.tolist()) == ([[3.0]], None, [[7.0]])


def test_answers_are_one_json_object_with_the_questions_that_were_answered():
    said = ANSWERS.joint_answer({"kind": "B", "size": "0.25", "tags": ""})
    assert said == '{"kind": "b", "size": "0.25"}'
    assert ANSWERS.text(ANSWERS.code(said)) == ANSWERS.meaning(said) == said
    assert ANSWERS.meaning('{"kind": "d"}') is ANSWERS.meaning("{}") is ANSWERS.meaning("b") is None
    assert ANSWERS.joint_answer({"other": "b"}) is None
    assert ANSWERS.meaning('{"tags": ["y", "x"], "size": 1}') == '{"size": "1.0", "tags": "x|y"}'


def test_several_people_decide_each_question_by_itself():
    votes = {
        ANSWERS.joint_answer({"kind": "a", "size": "1"}): 1,
        ANSWERS.joint_answer({"kind": "a", "size": "2"}): 1,
        ANSWERS.joint_answer({"kind": "b", "tags": "x"}): 1,
    }
    assert ANSWERS.joined(votes, "majority") == '{"kind": "a", "size": "1.5", "tags": "x"}'
    tied = {ANSWERS.joint_answer({"kind": "a"}): 1, ANSWERS.joint_answer({"kind": "b", "size": "1"}): 1}
    assert ANSWERS.joined(tied, "majority") is None     # one more person decides
