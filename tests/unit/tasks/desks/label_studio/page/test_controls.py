"""The controls of a labelling page, and what their results say."""

from xml.etree import ElementTree

import pytest

from assay.evalcore.annotators.answers import NumberAnswers, TagAnswers, class_answers
from assay.tasks.desks.label_studio.page.controls import Control
from assay.tasks.spec.labels.classes import Grades

NUMBER = Control(NumberAnswers(low=0, high=100))
TAGS = Control(TagAnswers(names=("war", "$port", "a b")))


def xml(control):
    return ElementTree.fromstring("<View>" + "\n".join(control.lines("shown_text")) + "</View>")


def test_a_number_has_a_field_with_its_bounds():
    field = xml(NUMBER).find("./View/Number")
    assert [field.get(key) for key in ("min", "max")] == ["0", "100"]
    # with `required`, an item of which nobody can tell could not be submitted; nothing at all cannot anyway
    assert field.get("required") is None
    assert field.get("hotkey") is None   # it would add one to the number
    assert xml(Control(NumberAnswers())).find("./View/Number").get("min") is None
    assert xml(NUMBER).find("./View/Header").get("value") == "a number from 0 to 100"


def test_that_no_tag_applies_is_an_answer_of_its_own():
    field, apart = xml(TAGS)
    beside = [(one.get("value"), one.get("hotkey")) for one in apart]
    assert beside == [("none of these", "n"), ("can't tell", "c")]
    assert (field.get("choice"), field.get("required")) == ("multiple", None)
    assert [one.get("hotkey") for one in field] == ["1", "2", "3"]
    assert TAGS.results("none")[0]["value"]["choices"] == [apart[0].get("alias")]
    # what was chosen before and is off the page now does not count
    assert TAGS.meaning([*TAGS.results("war"), *TAGS.results("none")]) == "none"
    assert TAGS.meaning([]) == "none", "on the pages of earlier versions nothing chosen was the answer"
    many = Control(TagAnswers(names=tuple(f"tag {n}" for n in range(22))))
    assert "n" not in [one.get("hotkey") for one in xml(many)[0]]


def test_one_class_has_round_boxes_and_tags_have_square_ones():
    assert xml(Control(class_answers("A", "B"))).find("Choices").get("choice") == "single-radio"
    assert xml(TAGS).find("Choices").get("choice") == "multiple"


def test_both_ends_of_a_scale_of_grades_are_named_and_answers_are_the_grades_alone():
    grades = Control(Grades(grades=(1, 2, 3)).answers)
    low, middle, high, _ = xml(grades).iter("Choice")
    assert [low.get("value"), middle.get("value"), high.get("value")] == ["1 (lowest)", "2", "3 (highest)"]
    assert [low.get("alias"), middle.get("alias"), high.get("alias")] == ["1", None, "3"]
    assert [grades.meaning(grades.results(one)) for one in "123"] == ["1", "2", "3"]
    digits = xml(Control(class_answers("1", "2", "3")))     # classes that happen to be digits have no ends
    assert [one.get("value") for one in digits.iter("Choice")][:3] == ["1", "2", "3"]


@pytest.mark.parametrize(("control", "question"), [
    (Control(class_answers("spam", "ham")), "Which is it: spam or ham?"),
    (Control(class_answers("a", "b", "c", "d")), "Which of these is it?"),
    (Control(Grades(grades=(1, 2, 3)).answers), "Which grade, from 1 (lowest) to 3 (highest)?"),
    (NUMBER, "Which number, from 0 to 100?"), (Control(NumberAnswers()), "Which number?"),
    (TAGS, "Which of these apply? Choose all that do."),
])
def test_there_is_always_a_question(control, question):
    assert control.question == question


@pytest.mark.parametrize(("control", "answer"), [
    (NUMBER, "3.5"), (NUMBER, "0.0"), (TAGS, "none"), (TAGS, "war|a b"), (TAGS, "$port"),
    (Control(class_answers("A", "B", "tie")), "tie"),
])
def test_what_the_page_submits_is_what_it_means(control, answer):
    assert control.meaning(control.results(answer)) == answer


@pytest.mark.parametrize("control", [
    NUMBER, TAGS, Control(class_answers("A", "B", "tie")), Control(class_answers(*map(str, range(100)))),
])
def test_that_nobody_can_tell_is_an_answer_of_its_own(control):
    said = control.results(None)
    assert control.cannot_tell(said)
    (choice,) = [one for one in xml(control).iter("Choice") if one.get("hotkey") == "c"]
    assert said[0]["value"] == {"choices": [choice.get("alias")]}
    for results in ([], None, "x", [{"id": 1}], [result(choices=["A"])], [result(number=3)]):
        assert not control.cannot_tell(results)


def test_no_class_is_taken_for_it_and_it_is_no_class():
    control = Control(class_answers("can't tell", "cannot tell $"))
    assert [control.meaning(control.results(name)) for name in control.answers.choices] == [
        "can't tell", "cannot tell $",
    ]
    assert not any(control.cannot_tell(control.results(name)) for name in control.answers.choices)
    assert control.meaning(control.results(None)) is None


def test_it_counts_over_what_it_took_off_the_page_but_not_beside_another_class():
    assert NUMBER.cannot_tell([result(number=7), *NUMBER.results(None)])
    one = Control(class_answers("A", "B"))
    (said,) = one.results(None)
    both = [said | {"value": {"choices": ["A", *said["value"]["choices"]]}}]
    assert (one.cannot_tell(both), one.meaning(both)) == (False, None)


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
