"""What every desk promises, whichever it is. Answers are given the way people give them: through the real API
of a real Label Studio, in real CSV files, or by the passing of time."""

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest
from doubles.http_double import serving
from doubles.langfuse import LangfuseDouble
from doubles.phoenix import PhoenixDouble
from services.desk_worlds import (
    DISPLAY,
    Asked,
    CallerWorld,
    FakeWorld,
    FolderWorld,
    LabelStudioWorld,
    LangfuseWorld,
    PhoenixWorld,
    SimulatedWorld,
    World,
)
from services.phoenix_server import phoenix_server

from assay.evalcore.annotators.adjudication import adjudicate
from assay.evalcore.annotators.answers import NumberAnswers, TagAnswers, class_answers
from assay.tasks.desks.blind import FIELDS, BlindDesk, BlindPair
from assay.tasks.desks.desk import Batch, Desk, Item
from assay.tasks.ledger.stores.store import MemoryStore

NewWorld = Callable[..., World]   # truth, and what is asked where it is not a class
EVALUATION = "contract"

# Ids and texts that CSV, XML, JSON, templates and spreadsheets like to change.
HARD = ["00123", "=1+1", "-5", "1e5", "2026-11-20", "a,b;c\td", 'say "hi"', "two\nlines", "'tis", "Ünï€漢🎈",
        " padded ", "TRUE", "<b>&amp;</b>", "$name_a", "a" * 400]


def items(*ids: str) -> list[Item]:
    return [Item(item_id=one, shown={"name_a": f"left {one}", "name_b": f"right {one}"}) for one in ids]


@pytest.fixture(scope="module")
def phoenix_double() -> Iterator[str]:
    with serving(PhoenixDouble()) as url:
        yield url


PHOENIX = os.environ.get("ASSAY_PHOENIX", "")   # the command of a real one: `make desks`


@pytest.fixture(scope="module")
def phoenix(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with phoenix_server(PHOENIX, tmp_path_factory.mktemp("phoenix")) as url:
        yield url


@pytest.fixture(params=[
    pytest.param("label-studio", marks=pytest.mark.services), "phoenix-double", "langfuse-4", "langfuse-3",
    "folder", "caller", "simulated", "fake", *(["phoenix"] if PHOENIX else []),
])
def new_world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[NewWorld]:
    if request.param == "label-studio":
        api, people = request.getfixturevalue("label_studio_api"), request.getfixturevalue("people")
        yield lambda truth, *asked: LabelStudioWorld(
            api, people, f"{EVALUATION}-{uuid4().hex[:8]}", truth, *asked
        )
    elif request.param.startswith("phoenix"):
        double = request.param == "phoenix-double"
        url = request.getfixturevalue("phoenix_double" if double else "phoenix")
        yield lambda truth, *asked: PhoenixWorld(url, f"{EVALUATION}-{uuid4().hex[:8]}", truth, *asked)
    elif request.param.startswith("langfuse"):
        queues = LangfuseDouble(third=request.param == "langfuse-4")
        with serving(queues) as url:
            yield lambda truth, *asked: LangfuseWorld(
                queues, url, f"{EVALUATION}-{uuid4().hex[:8]}", truth, *asked
            )
    elif request.param == "folder":
        yield lambda truth, *asked: FolderWorld(tmp_path / uuid4().hex, EVALUATION, truth, *asked)
    elif request.param == "caller":
        yield lambda truth, *asked: CallerWorld(MemoryStore(), EVALUATION, truth, *asked)
    elif request.param == "fake":
        yield FakeWorld
    else:
        yield lambda truth, *asked: SimulatedWorld(tmp_path, MemoryStore(), EVALUATION, truth, *asked)


def posted(world: World, batch: Batch, annotators: int = 1) -> Desk:
    desk = world.open(annotators)
    desk.prepare()
    desk.post(batch, desk.missing(batch))
    return desk


def batch_of(*ids: str, round: int = 1) -> Batch:
    return Batch(evaluation=EVALUATION, round=round, items=items(*ids))


def test_a_desk_is_a_desk(new_world: NewWorld):
    assert isinstance(new_world({}).open(), Desk)


def test_before_anything_is_posted_everything_is_missing(new_world: NewWorld):
    desk, batch = new_world({"a": "match", "b": "match"}).open(), batch_of("a", "b")
    desk.prepare()
    desk.prepare()   # twice is once
    assert desk.missing(batch) == list(batch.items)
    collected = desk.collect(batch)
    assert (list(collected.annotations), collected.present) == ([], frozenset())


def test_what_was_posted_is_there_and_unanswered(new_world: NewWorld):
    batch = batch_of("a", "b")
    desk = posted(new_world({"a": "match", "b": "no match"}), batch)
    assert desk.missing(batch) == []
    collected = desk.collect(batch)
    assert (list(collected.annotations), collected.present) == ([], frozenset({"a", "b"}))


def test_what_was_posted_in_part_is_missing_in_part(new_world: NewWorld):
    world, batch = new_world(dict.fromkeys("abc", "match")), batch_of("a", "b", "c")
    desk = world.open()
    desk.prepare()
    desk.post(batch, batch.items[:2])
    assert [item.item_id for item in desk.missing(batch)] == ["c"]
    desk.post(batch, desk.missing(batch))
    assert desk.missing(batch) == []
    assert desk.collect(batch).present == {"a", "b", "c"}


def test_posting_nothing_does_nothing(new_world: NewWorld):
    desk, batch = new_world({"a": "match"}).open(), batch_of("a")
    desk.prepare()
    desk.post(batch, [])
    assert desk.missing(batch) == list(batch.items)


def test_answers_come_back_as_they_were_given(new_world: NewWorld):
    world, batch = new_world({"a": "match", "b": "no match", "c": None}), batch_of("a", "b", "c")
    desk = posted(world, batch)
    world.everybody_answers(batch)
    answers = {answer.item_id: (answer.kind, answer.label) for answer in desk.collect(batch).annotations}
    assert answers == {"a": ("label", "match"), "b": ("label", "no match"), "c": ("skip", None)}


NUMBER = Asked(NumberAnswers(low=-10, high=10))
TAGS = Asked(TagAnswers(names=("war", "$port", "a b")))
PAIR = Asked(class_answers("A", "B", "tie"), (*DISPLAY, *FIELDS))
COMPARED = BlindPair(answers=("old", "new"), seed=1, evaluation=EVALUATION)


def test_numbers_tags_and_preferences_come_back_as_they_were_given(new_world: NewWorld):
    for asked, truth in (
        (NUMBER, {"a": "-2.5", "b": "10.0", "c": None}), (TAGS, {"a": "war|a b", "b": "none", "c": None})
    ):
        world, batch = new_world(truth, asked), batch_of("a", "b", "c")
        desk = posted(world, batch)
        world.everybody_answers(batch)
        answers = {answer.item_id: (answer.kind, answer.label) for answer in desk.collect(batch).annotations}
        assert answers == {one: ("skip" if said is None else "label", said) for one, said in truth.items()}
    preferred = dict(zip("abcdef", ("old", "new", "tie", "old", "new", "old"), strict=True))
    world = new_world({item: COMPARED.side(item, name) for item, name in preferred.items()}, PAIR)
    texts = {"old": "the old answer", "new": "the new answer"}
    batch = Batch(evaluation=EVALUATION, round=1, items=[
        replace(item, shown={**item.shown, **texts}) for item in items(*preferred)
    ])
    blind = BlindDesk(world.open(), COMPARED)
    blind.prepare()
    blind.post(batch, blind.missing(batch))
    assert blind.missing(batch) == []
    world.everybody_answers(replace(batch, items=[COMPARED.shown(item) for item in batch.items]))
    assert {answer.item_id: answer.label for answer in blind.collect(batch).annotations} == preferred


def test_reading_twice_says_the_same_twice_even_in_another_process(new_world: NewWorld):
    world, batch = new_world({"a": "match", "b": None}), batch_of("a", "b")
    desk = posted(world, batch)
    world.everybody_answers(batch)
    restarted = world.open()
    assert desk.collect(batch) == desk.collect(batch) == restarted.collect(batch)
    assert restarted.missing(batch) == []


def test_a_batch_posted_twice_still_gives_one_effective_label_per_item(new_world: NewWorld):
    # The reply to the first post was lost and it was posted again too early: copies, or none.
    truth = {"a": "match", "b": "no match"}
    world, batch = new_world(truth), batch_of("a", "b")
    desk = posted(world, batch)
    desk.post(batch, batch.items)
    desk.collect(batch)
    world.everybody_answers(batch)
    collected = desk.collect(batch)
    assert collected.present == {"a", "b"}
    outcomes = adjudicate(["a", "b"], collected.annotations, present=collected.present)
    assert {item: outcome.label for item, outcome in outcomes.items()} == truth
    assert len({(answer.item_id, answer.annotator) for answer in collected.annotations}) == 2


def test_rounds_do_not_mix(new_world: NewWorld):
    world = new_world(dict.fromkeys("ab", "match"))
    first, second = batch_of("a"), batch_of("b", round=2)
    desk = posted(world, first)
    world.everybody_answers(first)
    desk.post(second, second.items)
    assert desk.collect(first).present == {"a"}
    assert desk.collect(second).present == {"b"}
    assert {answer.item_id for answer in desk.collect(first).annotations} == {"a"}
    assert list(desk.collect(second).annotations) == []


def test_several_people_answer_one_item_each_under_a_name_of_their_own(new_world: NewWorld):
    world, batch = new_world({"a": "match"}), batch_of("a")
    desk = posted(world, batch, annotators=2)
    world.everybody_answers(batch, annotators=2)
    answers = desk.collect(batch).annotations
    assert len({answer.annotator for answer in answers}) == 2
    assert len({answer.annotation_id for answer in answers}) == 2
    assert adjudicate(["a"], answers, annotators=2)["a"].label == "match"


def test_one_person_more_can_be_asked_for_and_asking_again_changes_nothing(new_world: NewWorld):
    world, batch = new_world({"a": "match", "b": "match"}), batch_of("a", "b")
    desk = posted(world, batch, annotators=1)
    world.everybody_answers(batch, annotators=1)
    desk.request_more(batch, ["a"], 2)
    desk.request_more(batch, ["a"], 2)
    assert desk.collect(batch).present == {"a", "b"}
    world.everybody_answers(batch, annotators=2)
    people = {answer.annotator for answer in desk.collect(batch).annotations if answer.item_id == "a"}
    assert len(people) >= 2


def test_ids_and_texts_survive_whatever_they_hold(new_world: NewWorld):
    truth = {one: CLASSES_IN_TURN[place % 2] for place, one in enumerate(HARD)}
    world, batch = new_world(truth), batch_of(*HARD)
    desk = posted(world, batch)
    assert desk.collect(batch).present == set(HARD)
    world.everybody_answers(batch)
    answers = desk.collect(batch).annotations
    assert {answer.item_id: answer.label for answer in answers} == truth


def test_an_annotation_can_be_kept_as_json_and_names_nobody(new_world: NewWorld):
    world, batch = new_world({"a": "match"}), batch_of("a")
    desk = posted(world, batch)
    world.everybody_answers(batch)
    (answer,) = desk.collect(batch).annotations
    kept = json.dumps([answer.raw, answer.annotator, answer.annotation_id])
    assert "@example.com" not in kept
    assert "person0" not in kept


def test_what_is_asked_again_is_a_question_of_its_own(new_world: NewWorld):
    world, batch = new_world({"a": "match", "b": None}), batch_of("a", "b")
    desk = posted(world, batch)
    world.everybody_answers(batch)
    before = desk.collect(batch)
    again = Batch(evaluation=EVALUATION, round=1, items=items("b"), asking=2)
    assert desk.missing(again) == list(again.items)
    desk.post(again, again.items)
    desk.post(again, desk.missing(again))   # nothing
    unanswered = desk.collect(again)
    assert (list(unanswered.annotations), unanswered.present) == ([], frozenset({"b"}))
    assert desk.collect(batch) == before
    world.everybody_answers(again)
    (answer,) = world.open().collect(again).annotations
    assert (answer.item_id, answer.kind, answer.asking) == ("b", "skip", 2)
    assert answer.annotation_id not in {first.annotation_id for first in before.annotations}
    assert desk.collect(batch) == before


CLASSES_IN_TURN = ("match", "no match")
