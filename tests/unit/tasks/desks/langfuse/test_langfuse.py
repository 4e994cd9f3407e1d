"""What the desk in Langfuse does when people share a score or skip, and when the server says no."""

import re
from dataclasses import replace

import pytest
from doubles.desks import labelling
from doubles.http_double import serving
from doubles.langfuse import PUBLIC, SECRET, LangfuseDouble

from assay.evalcore.annotators.adjudication import adjudicate
from assay.evalcore.annotators.answers import NumberAnswers, TagAnswers, class_answers
from assay.evalcore.annotators.question_answers import QuestionAnswers
from assay.evalcore.outcomes.questions import Packing
from assay.tasks.desks.desk import AmbiguousPost, Batch, DeskRefused, DeskUnreachable, Item
from assay.tasks.desks.kind import Resources
from assay.tasks.desks.langfuse import desk as langfuse_desk
from assay.tasks.desks.langfuse.api import LangfuseApi
from assay.tasks.desks.langfuse.desk import LangfuseDesk, score_configs
from assay.tasks.desks.langfuse.kind import LangfuseKind
from assay.tasks.ledger.stores.store import MemoryStore

CLASSES = class_answers("spam", "ham")
LABELLING = labelling(evaluation="june", answers=CLASSES, display=("text",), guidelines="be quick")
BATCH = Batch(evaluation="june", round=1, items=[Item(item_id="secret-7", shown={"text": "win a prize"})])
KEYS = {"LANGFUSE_PUBLIC_KEY": PUBLIC, "LANGFUSE_SECRET_KEY": SECRET}


@pytest.fixture
def double():
    return LangfuseDouble()


@pytest.fixture
def url(double):
    with serving(double) as address:
        yield address


def opened(url, annotators=1, asked=LABELLING):
    return LangfuseDesk(
        LangfuseApi(url, PUBLIC, SECRET, read_attempts=1), asked, annotators_per_item=annotators, identity="x"
    )


def posted(url, annotators=1):
    desk = opened(url, annotators)
    desk.prepare()
    desk.post(BATCH, BATCH.items)
    return desk


def said(desk, batch=BATCH):
    return [(answer.kind, answer.label, answer.annotator) for answer in desk.collect(batch).annotations]


def test_nothing_of_the_pool_but_the_shown_fields_leaves(url, double):
    posted(url)
    (trace,) = double.traces.values()
    assert trace["attributes"] == {
        "langfuse.trace.name": "round 1", "langfuse.observation.input": "win a prize"
    }
    assert "secret-7" not in str(double.__dict__)


def test_an_answer_counts_once_its_entry_is_completed_and_is_that_of_the_last_person(url, double):
    desk = posted(url)
    (trace,), (config,) = double.traces, double.configs
    double.annotate(trace, config["name"], "spam")
    assert said(desk) == []
    double.complete(trace)
    ((kind, label, ada),) = said(desk)
    assert (kind, label) == ("label", "spam")
    double.annotate(trace, config["name"], "ham", "kim")
    ((kind, label, kim),) = said(desk)
    assert (kind, label) == ("label", "ham")
    assert ada != kim
    assert "ada" not in ada + kim


def test_an_entry_without_a_score_is_a_skip_and_a_score_by_a_program_is_no_answer(url, double):
    desk = posted(url, annotators=2)
    filled, skipped = sorted(double.traces)
    (config,) = double.configs
    double.annotate(filled, config["name"], "ham", None)
    double.complete(filled)
    double.complete(skipped)
    assert sorted(said(desk)) == [("invalid", None, "lf-nobody"), ("skip", None, "lf-nobody")]


def test_who_answers_both_places_of_an_item_counts_once_and_somebody_else_gets_a_third(url, double):
    desk = posted(url, annotators=2)
    (config,) = double.configs
    for trace in sorted(double.traces):
        double.annotate(trace, config["name"], "spam", "ada")
        double.complete(trace)
    collected = desk.collect(BATCH)
    assert adjudicate(["secret-7"], collected.annotations, annotators=2)["secret-7"].status == "waiting"
    desk.collect(BATCH)
    (third,) = (entry["objectId"] for entry in double.entries if entry["status"] == "PENDING")
    double.annotate(third, config["name"], "spam", "kim")
    double.complete(third)
    answers = desk.collect(BATCH).annotations
    assert adjudicate(["secret-7"], answers, annotators=2)["secret-7"].label == "spam"


def test_one_place_of_two_is_not_all_of_an_item(url, double):
    desk = posted(url, annotators=2)
    double.entries.pop()
    assert desk.collect(BATCH).present == frozenset()
    desk.post(BATCH, desk.missing(BATCH))
    assert desk.collect(BATCH).present == {"secret-7"}
    assert len(double.entries) == 2


def test_what_leads_to_a_trace_twice_is_removed_unless_it_is_completed(url, double):
    desk = posted(url)
    double.entries += [{**double.entries[0], "id": "copy"}, {**double.entries[0], "id": "second"}]
    double.complete(double.entries[0]["objectId"])
    assert desk.collect(BATCH).copies_removed == 2
    assert [entry["status"] for entry in double.entries] == ["COMPLETED"]


@pytest.mark.parametrize("third", [True, False])
def test_lists_are_read_to_their_last_page(url, double, third):
    double.page, double.third = 2, third
    batch = replace(BATCH, items=[Item(item_id=str(n), shown={"text": "x"}) for n in range(7)])
    desk = opened(url)
    for name in ("a", "b", "c"):
        opened(url, asked=replace(LABELLING, evaluation=name)).prepare()
    desk.prepare()
    desk.post(batch, batch.items)
    assert desk.missing(batch) == []
    (config,) = (each for each in double.configs if each["name"].startswith("june "))
    for trace in double.traces:
        double.annotate(trace, config["name"], "ham")
        double.complete(trace)
    assert len(said(desk, batch)) == 7


def test_large_items_are_posted_in_parts(url, double, monkeypatch):
    monkeypatch.setattr(langfuse_desk, "POST_BYTES", 3000)
    batch = replace(BATCH, items=[Item(item_id=str(n), shown={"text": "x" * 1200}) for n in range(5)])
    desk = opened(url)
    desk.prepare()
    desk.post(batch, batch.items)
    assert double.requests.count(("POST", "/api/public/otel/v1/traces")) == 5
    assert len(double.traces) == 5


def test_a_write_that_the_server_has_no_time_for_is_sent_again(url, double, monkeypatch):
    monkeypatch.setattr("assay.tasks.desks.replies.FIRST_PAUSE", 0.01)
    double.reply_headers = {"Retry-After": "0"}
    desk = LangfuseDesk(LangfuseApi(url, PUBLIC, SECRET), LABELLING)
    desk.prepare()
    double.instead = [(429, '{"message": "Rate limit exceeded"}')] * 3
    desk.post(BATCH, BATCH.items)
    assert desk.missing(BATCH) == []
    double.instead = [(429, '{"message": "Rate limit exceeded"}')] * 9
    with pytest.raises(DeskUnreachable, match="Rate limit exceeded"):
        desk.missing(BATCH)


def test_a_queue_that_somebody_deleted_is_reported_and_not_made_again(url, double):
    desk = posted(url)
    double.queues.clear()
    for read in (lambda: desk.missing(BATCH), lambda: desk.collect(BATCH),
                 lambda: opened(url).post(BATCH, BATCH.items)):
        with pytest.raises(DeskRefused, match="is not in Langfuse"):
            read()
    assert double.queues == []


@pytest.mark.parametrize(("status", "text", "error", "says"), [
    (401, '{"message": "Invalid credentials"}', DeskRefused, "LANGFUSE_SECRET_KEY"),
    (403, "<html>", DeskRefused, "something between"), (500, "oops", DeskUnreachable, "answered 500"),
    (404, '{"message": "gone"}', DeskRefused, "gone"), (200, "<html>", DeskRefused, "page instead of JSON"),
    (200, "[]", DeskRefused, "does not give there"),
    (200, '{"data": []}', DeskRefused, "does not give there"),
    (405, '{"message": "Maximum number of annotation queues"}', DeskRefused, "Maximum number"),
])
def test_what_the_server_says_is_told_in_words(url, double, status, text, error, says):
    double.instead = [(status, text)]
    with pytest.raises(error, match=says):
        opened(url).missing(BATCH)


def test_a_queue_that_is_refused_says_why(url, double):
    double.instead = [(200, '{"data": [], "meta": {"totalItems": 0, "totalPages": 0}}')] * 2 + [
        (400, '{"message": "no such category"}')
    ]
    with pytest.raises(DeskRefused, match="no such category"):
        opened(url).prepare()
    assert double.queues == []


def test_a_lost_reply_to_a_post_is_ambiguous_and_the_next_post_completes_it(url, double):
    desk = opened(url)
    desk.prepare()
    double.instead = [(200, '{"data": [], "meta": {"totalItems": 0, "totalPages": 0}}'), (502, "")]
    with pytest.raises(AmbiguousPost, match="answered 502"):
        desk.post(BATCH, BATCH.items)
    desk.post(BATCH, desk.missing(BATCH))
    assert desk.missing(BATCH) == []


def test_keys_are_sent_and_named_nowhere(url):
    kind = LangfuseKind(kind="langfuse", url=url)
    wrong = {**KEYS, "LANGFUSE_SECRET_KEY": "sk-wrong-9876"}
    with pytest.raises(DeskRefused, match="LANGFUSE_SECRET_KEY") as refused:
        kind.look(LABELLING, Resources(store=MemoryStore(), environment=wrong))
    assert "sk-wrong" not in str(refused.value)
    for name in KEYS:
        with pytest.raises(DeskRefused, match="needs the keys of a project"):
            kind.look(LABELLING, Resources(store=MemoryStore(), environment={**KEYS, name: ""}))
    right = Resources(store=MemoryStore(), environment=KEYS)
    assert kind.look(LABELLING, right) == f"Langfuse at {url} accepts our keys (no queue made)"


def test_people_find_the_queue_at_its_page(url, double):
    desk = posted(url)
    kind = LangfuseKind(kind="langfuse", url=url)
    assert desk.place() == f"{url}/project/P/annotation-queues/{double.queues[0]['id']}"
    assert double.queues[0]["description"] == "be quick"
    assert kind.address_for("june", desk.place())[0] == desk.place()
    assert kind.address_for("june")[0] == url


def test_answers_that_it_cannot_ask_for_are_refused_when_the_spec_is_read():
    kind = LangfuseKind(kind="langfuse", url="http://127.0.0.1:3000")
    asked = QuestionAnswers(each={"a": CLASSES, "b": CLASSES}, packing=Packing(places=()), asks={})
    ((_, says),) = kind.unlike(asked)
    assert "langfuse takes one answer an item" in says
    assert kind.unlike(CLASSES) == []


def test_every_kind_of_answer_has_its_scores():
    def values(answers, **told):
        asked = replace(LABELLING, answers=answers, **told)
        return score_configs(asked, "0123abcd")

    (classes,) = values(CLASSES, question="Is it spam?")
    assert [(each["label"], each["value"]) for each in classes["categories"]] == [
        ("spam", 0), ("ham", 1), ("can't tell", 2)
    ]
    assert classes["description"].startswith("Is it spam? Give ")
    number, skip = values(NumberAnswers(low=0, high=float("inf")))
    assert (number["dataType"], number["minValue"], "maxValue" in number) == ("NUMERIC", 0, False)
    assert [each["label"] for each in skip["categories"]] == ["can't tell"]
    tags, _ = values(TagAnswers(names=("war", "arts")))
    assert tags["dataType"] == "TEXT"
    long, _ = values(TagAnswers(names=("war",)), evaluation="spam@june/" + "x" * 60)
    assert re.fullmatch(r"[\w .()-]{1,35}", long["name"])
    assert long["name"].endswith(" 0123abcd")
