"""What the desk in Phoenix does when the server says no, is late, or lists what is not ours."""

import pytest
from doubles.desks import labelling
from doubles.http_double import serving
from doubles.phoenix import PhoenixDouble

from assay.evalcore.annotators.answers import NumberAnswers, TagAnswers, class_answers
from assay.evalcore.annotators.question_answers import QuestionAnswers
from assay.evalcore.errors import BadInput
from assay.evalcore.outcomes.questions import Packing
from assay.tasks.desks.desk import AmbiguousPost, Batch, DeskRefused, DeskUnreachable, Item
from assay.tasks.desks.kind import Resources
from assay.tasks.desks.phoenix import desk as phoenix_desk
from assay.tasks.desks.phoenix.api import PhoenixApi
from assay.tasks.desks.phoenix.desk import PhoenixDesk, annotation_config, meaning
from assay.tasks.desks.phoenix.kind import PhoenixKind
from assay.tasks.ledger.stores.store import MemoryStore

CLASSES = class_answers("spam", "ham")
LABELLING = labelling(evaluation="june", answers=CLASSES, display=("text",))
BATCH = Batch(evaluation="june", round=1, items=[Item(item_id="secret-7", shown={"text": "win a prize"})])


@pytest.fixture
def double():
    return PhoenixDouble()


@pytest.fixture
def desk(double):
    with serving(double) as url:
        yield PhoenixDesk(PhoenixApi(url, read_attempts=1), LABELLING, identity="here")


def test_nothing_of_the_pool_but_the_shown_fields_leaves(desk, double):
    desk.prepare()
    desk.post(BATCH, BATCH.items)
    (project,) = double.projects
    (span,) = double.spans[project].values()
    assert span["attributes"] == {"input.value": "win a prize", "input.mime_type": "text/plain"}
    assert "secret-7" not in str(span)


def test_a_project_that_somebody_deleted_is_reported_and_not_made_again(desk, double):
    desk.prepare()
    double.projects.clear()
    for read in (lambda: desk.missing(BATCH), lambda: desk.collect(BATCH),
                 lambda: desk.post(BATCH, BATCH.items)):
        with pytest.raises(DeskRefused, match="is gone from Phoenix"):
            read()
    assert double.projects == {}


def test_a_lost_reply_to_a_post_is_ambiguous_and_the_next_post_completes_it(desk, double):
    desk.prepare()
    double.instead = [(200, '{"data": [], "next_cursor": null}'), (503, "queue is full")]
    with pytest.raises(AmbiguousPost, match="503"):
        desk.post(BATCH, BATCH.items)
    desk.post(BATCH, desk.missing(BATCH))
    assert desk.missing(BATCH) == []


def test_spans_that_are_not_listed_in_time_are_ambiguous(desk, double, monkeypatch):
    monkeypatch.setattr(phoenix_desk, "ARRIVES_WITHIN", 0.0)
    monkeypatch.setattr(double, "_posted", lambda spans, data: (202, '{"total_queued": 1}'))
    desk.prepare()
    with pytest.raises(AmbiguousPost, match="does not list"):
        desk.post(BATCH, BATCH.items)


def test_only_annotations_by_people_count_and_of_one_person_the_latest(desk, double):
    desk.prepare()
    desk.post(BATCH, BATCH.items)
    (span,) = double.spans[desk.project]

    def annotate(kind, label, identifier):
        double._annotated([{"name": desk.project, "annotator_kind": kind, "span_id": span,
                            "identifier": identifier, "result": {"label": label}}])
        double.requests.append(("", ""))     # the clock of the double

    annotate("LLM", "ham", "judge")
    annotate("HUMAN", "ham", "ada")
    annotate("HUMAN", "spam", "ada")
    annotate("HUMAN", "perhaps", "kim")
    answers = {answer.annotator: (answer.kind, answer.label) for answer in desk.collect(BATCH).annotations}
    assert sorted(answers.values(), key=str) == [("invalid", None), ("label", "spam")]
    assert not any("ada" in name for name in answers)


def test_lists_are_read_to_their_last_page(desk, double):
    double.page = 2
    items = [Item(item_id=str(n), shown={"text": "x"}) for n in range(7)]
    batch = Batch(evaluation="june", round=1, items=items)
    desk.prepare()
    desk.post(batch, batch.items)
    assert desk.missing(batch) == []


@pytest.mark.parametrize(("status", "text", "error", "says"), [
    (401, "Invalid token", DeskRefused, "PHOENIX_API_KEY"),
    (403, "Forbidden", DeskRefused, "refused the token"), (404, "", DeskRefused, "is gone"),
    (500, "oops", DeskUnreachable, "answered 500"),
    (200, "<html>", DeskRefused, "page instead of JSON"), (200, "[]", DeskRefused, "does not give there"),
    (302, "", DeskRefused, "redirects"), (407, "", DeskRefused, "something between"),
])
def test_what_the_server_says_is_told_in_words(desk, double, status, text, error, says):
    double.instead = [(status, text)]
    with pytest.raises(error, match=says):
        desk.missing(BATCH)


def test_a_token_is_sent_and_named_nowhere():
    double = PhoenixDouble(token="px-0123456789")
    with serving(double) as url:
        kind = PhoenixKind(kind="phoenix", url=url)
        with pytest.raises(DeskRefused, match="PHOENIX_API_KEY") as refused:
            kind.look(LABELLING, Resources(store=MemoryStore(), environment={"PHOENIX_API_KEY": "px-wrong"}))
        assert "px-wrong" not in str(refused.value)
        right = Resources(store=MemoryStore(), environment={"PHOENIX_API_KEY": double.token})
        assert kind.look(LABELLING, right) == f"Phoenix at {url} answers (no project made)"


def test_answers_that_it_cannot_ask_for_are_refused_when_the_spec_is_read():
    kind = PhoenixKind(kind="phoenix", url="http://127.0.0.1:6006")
    each = {"a": CLASSES, "b": CLASSES}
    asked = QuestionAnswers(each=each, packing=Packing(places=()), asks={})
    ((key, says),) = kind.unlike(asked)
    assert key == "kind"
    assert "one answer an item" in says
    assert kind.unlike(CLASSES) == []
    for url in ("phoenix:6006", "http://x?token=1", "ftp://x"):
        with pytest.raises(ValueError, match=r"address|secret|token"):
            PhoenixKind(kind="phoenix", url=url)


def test_an_address_that_nobody_answers_is_unreachable():
    with pytest.raises(DeskUnreachable, match="could not be reached"):
        PhoenixDesk(PhoenixApi("http://127.0.0.1:9", read_attempts=1), LABELLING).missing(BATCH)
    with pytest.raises(BadInput, match=r"desk\.url"):
        PhoenixApi("http://user:password@127.0.0.1:9")


def test_every_kind_of_answer_has_its_page_and_its_meaning():
    number, tags = NumberAnswers(low=0, high=10), TagAnswers(names=("war", "arts"))
    offered = [value["label"] for value in annotation_config("x", CLASSES)["values"]]
    assert offered == ["spam", "ham", "can't tell"]
    assert annotation_config("x", number)["upper_bound"] == 10
    assert annotation_config("x", tags)["type"] == "FREEFORM"
    assert meaning({"label": "SPAM", "score": 1.0}, CLASSES) == ("label", "spam")
    assert meaning({"label": None, "score": 2.5}, number) == ("label", "2.5")
    assert meaning({"explanation": "war|arts"}, tags) == ("label", "war|arts")
    assert meaning({"label": "can't tell"}, CLASSES) == ("skip", None)
    for result in (None, [], {"label": "perhaps"}, {"score": 11.0}):
        assert meaning(result, number if isinstance(result, dict) and "score" in result else CLASSES) == (
            "invalid", None
        )
