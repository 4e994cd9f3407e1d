"""Sets of tags as answers: how they are written, and how several become one."""

import numpy as np
import pytest

from assay.evalcore.annotators.adjudication import Annotation
from assay.evalcore.annotators.answers import TagAnswers
from assay.evalcore.annotators.rules import Rule, settle
from assay.evalcore.outcomes.tags import Tags

KIND = TagAnswers(names=("war", "sport", "arts"))


def said(item, *answers):
    return [
        Annotation(item_id=item, annotation_id=f"{item}-{i}", annotator=f"p{i}", kind="label", label=answer,
                   updated_at="")
        for i, answer in enumerate(answers)
    ]


@pytest.mark.parametrize(("written", "meant"), [
    ("arts|war", "war|arts"), (" sport | sport ", "sport"), ("None", "none"), ("", None), ("|", None),
    ("war|jazz", None), ("war|none", None),
])
def test_a_set_has_one_spelling_and_the_empty_set_is_a_word(written, meant):
    assert KIND.meaning(written) == meant


@pytest.mark.parametrize(("column", "meant"), [('["arts","war"]', "war|arts"), ("[]", "none"), ("[1", None)])
def test_a_column_of_lists_is_read(column, meant):
    assert KIND.spelled(column) == meant


def test_codes_are_those_of_the_core():
    kind = Tags(KIND.names)
    for code in range(8):
        text = KIND.text(code)
        assert KIND.code(text) == code == kind.encode([kind.decode(code)])[0]
        assert text == (kind.decode(code) or "none")


def test_each_tag_goes_by_most_answers_and_waits_where_it_is_tied():
    assert KIND.joined({"war|arts": 1, "war": 1, "sport": 1}, "majority") == "war"
    assert KIND.joined({"war": 1, "sport": 1, "none": 1}, "majority") == "none"
    assert KIND.joined({"war": 1, "none": 1}, "majority") is None
    assert KIND.joined({}, "majority") is None


def test_dawid_skene_weighs_each_tag_by_itself_and_believes_whom_gold_shows_right():
    gold = {(1, f"g{i}"): KIND.code("war" if i % 2 else "sport") for i in range(12)}
    # p0 is right on gold, p1 says the opposite on war and sport
    answers = [
        one for i in range(12)
        for one in said(f"g{i}", "war" if i % 2 else "sport", "sport" if i % 2 else "war")
    ]
    rule = Rule(
        name="dawid-skene", annotators=2, kind=KIND, number=2, gold=gold, earlier=lambda: {1: answers}
    )
    weighed = settle(rule, ["x"], [], said("x", "war", "sport"))["x"]
    assert (weighed.status, weighed.label) == ("labelled", "war")


def test_agreement_is_told_of_each_tag_and_as_a_mean():
    rng = np.random.default_rng(0)
    answers = {1: [*said("a", "war", "war"), *said("b", "sport", "war"), *said("c", "none", "none")]}
    mean, war, sport, arts = KIND.agreements(answers, 0.95, rng)
    assert [one.tag for one in (mean, war, sport, arts)] == [None, "war", "sport", "arts"]
    # war: 3 of 6 votes; D_o = 1/3 of pairs differ, D_e = 2·3·3/(6·5) = 3/5; α = 1 - (1/3)/(3/5) = 4/9
    assert war.value == pytest.approx(4 / 9)
    assert arts.value is None
    assert mean.value == pytest.approx((war.value + sport.value) / 2)
    assert KIND.agreements({1: said("a", "war")}, 0.95, rng) == []


def test_an_error_rate_is_that_of_each_tag():
    rng = np.random.default_rng(1)
    answers = [KIND.erring("war", 0.1, rng) for _ in range(3000)]
    wrong = np.mean([[("war" in a.split("|")) is False, "sport" in a, "arts" in a] for a in answers], axis=0)
    assert wrong == pytest.approx([0.1] * 3, abs=0.022)   # four standard errors
