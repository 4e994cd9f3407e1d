"""The controls of a labelling page, and what their results say."""

from xml.etree import ElementTree

import pytest

from assay.evalcore.annotators.answers.classes import class_answers
from assay.evalcore.annotators.answers.numbers import NumberAnswers
from assay.evalcore.annotators.answers.tags import TagAnswers
from assay.tasks.desks.label_studio.controls import Control

NUMBER = Control(NumberAnswers(low=0, high=100))
TAGS = Control(TagAnswers(names=("war", "$port", "a b")))


def xml(control):
    return ElementTree.fromstring("\n".join(control.lines("shown_text")))


def test_a_number_has_a_field_with_its_bounds():
    field = xml(NUMBER)
    assert field.tag == "Number"
    assert [field.get(key) for key in ("min", "max", "required")] == ["0", "100", "true"]
    assert xml(Control(NumberAnswers())).get("min") is None


def test_tags_are_choices_of_which_none_may_be_chosen():
    field = xml(TAGS)
    assert (field.get("choice"), field.get("required")) == ("multiple", None)
    assert [one.get("hotkey") for one in field] == ["1", "2", "3"]
    assert TAGS.may_be_empty
    assert not NUMBER.may_be_empty


@pytest.mark.parametrize(("control", "answer"), [
    (NUMBER, "3.5"), (NUMBER, "0.0"), (TAGS, "none"), (TAGS, "war|a b"), (TAGS, "$port"),
    (Control(class_answers("A", "B", "tie")), "tie"),
])
def test_what_the_page_submits_is_what_it_means(control, answer):
    assert control.meaning(control.results(answer)) == answer


def result(**value):
    return {"from_name": "label", "to_name": "shown_text", "type": "x", "value": value}


@pytest.mark.parametrize(("control", "results"), [
    (NUMBER, []), (NUMBER, [result(number=101)]), (NUMBER, [result(number=True)]),
    (NUMBER, [result(number="3")]), (NUMBER, [result(number=3), result(number=3)]), (NUMBER, None),
    (NUMBER, [{"id": "r1"}]),
    (TAGS, [result(choices=["jazz"])]), (TAGS, [result(choices=[3])]), (TAGS, [{"id": "r1"}]), (TAGS, "war"),
    (TAGS, [result(choices=["war"]), result(choices=["war"])]), (TAGS, [result(number=3)]),
])
def test_what_is_no_answer_is_none(control, results):
    assert control.meaning(results) is None


def test_regions_that_people_drew_are_no_part_of_an_answer():
    drawn = {"from_name": "region", "type": "labels", "value": {}}
    assert NUMBER.meaning([drawn, result(number=2)]) == "2.0"
    assert TAGS.meaning([drawn]) == "none"
