"""What an annotation in Label Studio means, and whose it is."""

import pytest

from assay.evalcore.annotators.answers import class_answers
from assay.tasks.desks.label_studio.desk import annotation, cannot_tell
from assay.tasks.desks.label_studio.page.controls import Control
from assay.tasks.desks.label_studio.page.fields import shown_fields, shown_value, still_shows

CHOSEN = [{"from_name": "label", "to_name": "shown_a", "type": "choices", "value": {"choices": ["yes"]}}]


def read(**raw):
    whole = {"id": 1, "created_at": "2026-11-22T00:00:00Z", "completed_by": 7, "result": CHOSEN} | raw
    return annotation("item", whole, Control(class_answers("yes", "no")))


def test_an_answer_is_the_work_of_who_edited_it_last_and_says_who_gave_it():
    assert read().annotator == "ls-7"
    assert read(updated_by=7).annotator == "ls-7"
    edited = read(updated_by=9)
    assert (edited.annotator, edited.kind, edited.label) == ("ls-9", "label", "yes")
    assert (edited.raw["completed_by"], edited.raw["updated_by"]) == (7, 9)
    assert read(updated_by=None).annotator == "ls-7"


def test_an_item_nobody_can_tell_is_skipped_by_whoever_said_so():
    control = Control(class_answers("yes", "no"))
    found = read(result=control.results(None))
    assert (found.annotator, found.kind, found.label) == ("ls-7", "skip", None)
    assert found.raw["result"] == control.results(None)
    assert cannot_tell(found.raw, control)
    assert not cannot_tell(found.raw | {"was_cancelled": True}, control)


def test_no_address_of_a_person_is_kept():
    person = {"id": 7, "email": "kim@example.com"}
    assert "example" not in str(read(completed_by=person, updated_by=person))


@pytest.mark.parametrize("nobody", [None, {}, {"id": None}, "", True])
def test_an_answer_of_nobody_is_invalid_and_kept(nobody):
    found = read(completed_by=nobody)
    assert (found.annotator, found.kind, found.label) == ("ls-nobody", "invalid", None)
    assert found.raw["result"] == CHOSEN


@pytest.mark.parametrize("value", [
    "plain", "two\nlines\r\nand a tab\t", "<b>bold</b> & co", "", "https://x.example/p.png",
    "<script>x</script>y",
])
@pytest.mark.parametrize("kind", ["text", "html", "image"])
def test_what_was_posted_still_shows_and_another_text_does_not(kind, value):
    [field] = shown_fields(["a"], {"a": kind})
    assert still_shows(shown_value(field, value), value)
    assert not still_shows(shown_value(field, value) + " not", value)
    assert not still_shows(None, value)


def test_addresses_that_label_studio_replaces_are_not_compared():
    assert still_shows("/tasks/1/presign/?fileuri=abc", "s3://bucket/p.png")
