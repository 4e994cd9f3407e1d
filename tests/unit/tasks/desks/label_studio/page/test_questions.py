"""Several questions on one page: what the page submits for their answers is read as these answers."""

import xml.etree.ElementTree as ElementTree

import pytest

from assay.tasks.desks.label_studio.page.config import labelling_config
from assay.tasks.desks.label_studio.page.controls import ControlsOfQuestions, control_of
from assay.tasks.desks.label_studio.page.fields import shown_fields
from assay.tasks.spec.labels.questions import QuestionList

LABELS = QuestionList.model_validate({"questions": [
    {"name": "grade", "question": "How <good> & $x?", "grades": [1, 2, 3]},
    {"name": "size", "number": {"min": 0, "max": 10}},
    {"name": "topics", "tags": ["war", "arts"]},
    {"name": "right", "positive": "yes", "negative": "no"},
]})
CONTROL = control_of(LABELS.answers)


@pytest.mark.parametrize("answer", [
    '{"grade": "2", "size": "3.5", "topics": "war|arts", "right": "no"}', '{"topics": "none"}',
    '{"size": "0.0", "right": "yes"}', '{"grade": "3"}',
])
def test_what_is_submitted_is_what_was_answered(answer):
    results = CONTROL.results(answer)
    assert CONTROL.meaning(results) == answer
    assert not CONTROL.cannot_tell(results)


def test_who_cannot_tell_of_any_skips_and_who_leaves_all_out_said_nothing():
    assert CONTROL.cannot_tell(CONTROL.results(None))
    assert CONTROL.meaning([]) is None
    assert not CONTROL.cannot_tell([])
    two = [*CONTROL.results('{"grade": "1"}')[:1], *CONTROL.results('{"grade": "3"}')[:1]]
    assert CONTROL.meaning(two) is None          # two grades at once


def test_the_page_has_a_block_for_each_and_asks_what_the_spec_says():
    assert isinstance(CONTROL, ControlsOfQuestions)
    page = ElementTree.fromstring(labelling_config(shown_fields(["text"], {}), CONTROL))
    blocks = [one for one in page.iter("View") if one.get("className") == "assay-asked"]
    asked = [block.find("Header").get("value") for block in blocks]
    assert asked[0] == "How <good> & $\u200bx?"
    assert asked[3] == "right: Which is it: yes or no?"
    names = [one.get("name") for one in page.iter() if one.get("toName")]
    assert len(names) == len(set(names))
    assert {"label_grade", "label_size", "undecided_size", "label_topics", "label_right"} <= set(names)
