"""The caller's desk beyond the common contract: what `ask` returns, and what `tell` takes and keeps."""

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from doubles.small_pool import spec_json, write_small_pool

from assay.evalcore.annotators.answers import class_answers
from assay.evalcore.errors import BadInput
from assay.flows.evaluation.begin import begin_evaluation
from assay.tasks.desks.caller import CallerDesk
from assay.tasks.desks.desk import Batch, Item
from assay.tasks.ledger import open_store
from assay.tasks.ledger.stores.store import MemoryStore
from assay.tasks.spec.evaluation import Spec

DOCUMENT = Path(__file__).parents[4] / "docs" / "reference" / "desks.md"
CLASSES = ("match", "no match")


def a_desk(store=None, **options):
    return CallerDesk(store or MemoryStore(), evaluation="e", answers=class_answers(*CLASSES), **options)


def posted(desk, *ids, round=1, asking=1):
    items = [Item(item_id=one, shown={"text": f"about {one}"}) for one in ids]
    batch = Batch(evaluation="e", round=round, items=items, asking=asking)
    desk.post(batch, batch.items)
    return batch


def asked(desk, *args):
    return [question.item.item_id for question in desk.ask(*args)]


def labels(desk, batch):
    return {(one.item_id, one.annotator): one.label for one in desk.collect(batch).annotations}


def test_asked_is_what_was_posted_as_it_is_shown_until_it_is_answered():
    desk = a_desk()
    assert desk.ask() == []
    posted(desk, "b", "a")
    assert [question.item.shown for question in desk.ask()] == [{"text": "about b"}, {"text": "about a"}]
    desk.tell({"b": "match"})
    assert asked(desk) == ["a"]
    desk.tell({"a": None})
    assert desk.ask() == []


def test_several_people_each_see_what_they_have_not_answered():
    desk = a_desk(annotators_per_item=2)
    batch = posted(desk, "a", "b")
    desk.tell({"a": "match"}, "kim")
    assert (asked(desk), asked(desk, "kim"), asked(desk, "lee")) == (["a", "b"], ["b"], ["a", "b"])
    assert [(question.answers, question.wanted) for question in desk.ask()] == [(1, 2), (0, 2)]
    desk.tell({"a": "no match"}, "lee")
    assert (asked(desk), asked(desk, "sam")) == (["b"], ["b"])
    desk.request_more(batch, ["a"], 3)
    assert (asked(desk, "sam"), asked(desk, "lee")) == (["a", "b"], ["b"])


def test_an_answer_is_about_the_latest_question_and_only_the_latest_round_is_asked():
    desk = a_desk()
    first, again = posted(desk, "a", "b"), posted(desk, "a", asking=2)
    second = posted(desk, "c", round=2)
    assert asked(desk) == ["c"]
    desk.tell({"a": "match", "b": "no match", "c": "match"})
    assert [set(labels(desk, batch).values()) for batch in (first, again, second)] == [
        {"no match"}, {"match"}, {"match"}
    ]


def test_told_again_nothing_is_written_and_told_otherwise_the_later_answer_counts():
    store, now = MemoryStore(), [1000.0]
    desk = a_desk(store, clock=lambda: now[0])
    batch = posted(desk, "a", "b")
    desk.tell({"a": "match", "b": "match"})
    (before,) = [one for one in desk.collect(batch).annotations if one.item_id == "a"]
    keys = list(store.keys(""))
    now[0] = 2000.0
    desk.tell({"b": "match", "a": "match"})
    assert list(store.keys("")) == keys
    desk.tell({"a": None})
    (after,) = [one for one in desk.collect(batch).annotations if one.item_id == "a"]
    assert (after.kind, after.annotation_id) == ("skip", before.annotation_id)
    assert (before.updated_at, after.updated_at) == ("1970-01-01T00:16:40+00:00", "1970-01-01T00:33:20+00:00")
    assert len(desk.collect(batch).annotations) == 2


@pytest.mark.parametrize(("answers", "said"), [
    ({"a": "match", "x": "match"}, r"has not asked about an item 'x'"),
    ({"a": "match", "b": "maybe"}, r"'maybe' is no answer .* 'match' or 'no match', or None"),
    ({"a": 1}, r"1 is no answer"), ({"a": {}}, r"\{\} is no answer"),
    ({"a": {"match": None}}, r"\{'match': None\} is no answer"),
])
def test_what_cannot_be_an_answer_is_refused_and_nothing_is_kept(answers, said):
    desk = a_desk()
    batch = posted(desk, "a", "b")
    with pytest.raises(BadInput, match=said):
        desk.tell(answers)
    assert desk.collect(batch).annotations == []


def test_many_who_tell_at_once_lose_nothing():
    store = MemoryStore()
    ids = [f"i{number}" for number in range(40)]
    batch = posted(a_desk(store), *ids)
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda one: a_desk(store).tell({one: "match"}, f"person {one}"), ids))
    assert len(labels(a_desk(store), batch)) == 40


def test_nothing_is_written_into_the_evaluations_own_record_and_nobody_is_named():
    store = MemoryStore()
    desk = a_desk(store)
    batch = posted(desk, "a")
    desk.tell({"a": "match"}, "Kim Example")
    desk.request_more(batch, ["a"], 2)
    assert all(key.startswith("desks/caller/e/0001/") for key in store.keys(""))
    assert not any(b"Kim" in store.get(key) for key in store.keys(""))
    assert a_desk().collect(batch).annotations == []


def test_the_documented_program_works(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    predictions, _ = write_small_pool(tmp_path, n=60)
    renamed = predictions.read_text().replace("no match", "ham").replace("match", "spam")
    predictions.write_text(renamed)
    data = spec_json(predictions, predictions, name="spam-june", desk={"kind": "caller"}, measure=["f1"])
    data["labels"] = {"positive": "spam", "negative": "ham"}
    begin_evaluation(open_store("./assay-ledger"), Spec.from_json(data))
    exec(re.search(r"```python\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)[1], {})
    assert "20 labels" in capsys.readouterr().out
