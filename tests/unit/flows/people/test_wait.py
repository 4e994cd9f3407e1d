"""Whom else to ask while a round is open."""

from types import SimpleNamespace

import pytest

from assay.evalcore.annotators.adjudication import Annotation, adjudicate
from assay.flows.people import closing
from assay.tasks.desks.desk import Batch


def answer(person, kind, label=None):
    return Annotation(
        item_id="a", annotation_id=person, annotator=person, kind=kind, label=label, updated_at=""
    )


@pytest.mark.parametrize(("answers", "asked"), [
    ([answer("p", "label", "yes")], []),                                           # one of two: no news
    ([answer("p", "label", "yes"), answer("q", "skip")], [(["a"], 2)]),            # q's place is used up
    ([answer("p", "label", "yes"), answer("q", "label", "no")], [(["a"], 3)]),     # a tie
])
def test_a_desk_is_told_of_people_who_could_not_tell_because_it_may_count_them(monkeypatch, answers, asked):
    told = []
    monkeypatch.setattr(closing, "request_more", lambda _, __, items, needed: told.append((items, needed)))
    people = SimpleNamespace(desk=None, annotators=2)
    asking = SimpleNamespace(batch=Batch(evaluation="e", round=1, items=[]))
    closing._request_more(people, asking, adjudicate(["a"], answers, annotators=2))
    assert told == asked
