"""What Label Studio does to a client, and what ours makes of it: on a real server, through a proxy that loses
replies where the test says so."""

import logging
import threading
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from doubles.desks import label_studio_desk
from services.faulty_proxy import Fault, FaultyProxy, commit_late, drop_reply, faulty_proxy, say
from services.label_studio_people import Person, choice_result, new_person

from assay.evalcore.annotators.adjudication import adjudicate
from assay.evalcore.annotators.answers import class_answers
from assay.evalcore.errors import BadInput
from assay.tasks.desks.desk import AmbiguousPost, Batch, DeskRefused, DeskUnreachable, Item
from assay.tasks.desks.kind import Resources
from assay.tasks.desks.label_studio.api import LabelStudioApi
from assay.tasks.desks.label_studio.desk import LabelStudioDesk
from assay.tasks.desks.label_studio.local import LocalLabelStudio
from assay.tasks.desks.label_studio.page.controls import Control
from assay.tasks.ledger.stores.store import MemoryStore
from assay.tasks.spec.evaluation import Spec

pytestmark = pytest.mark.services

CLASSES = ("match", "no match")
DISPLAY = ("name_a", "name_b")


def a_desk(api: LabelStudioApi, evaluation: str, annotators: int = 1, **options: object) -> LabelStudioDesk:
    return label_studio_desk(
        api, evaluation=evaluation, answers=class_answers(*CLASSES), display=DISPLAY,
        annotators_per_item=annotators,
        **options,  # type: ignore[arg-type]
    )


def a_batch(evaluation: str, *ids: str) -> Batch:
    items = [Item(item_id=one, shown={"name_a": one, "name_b": f"other {one}"}) for one in ids]
    return Batch(evaluation=evaluation, round=1, items=items)


class Desk:
    """A prepared desk with a batch of two posted items, and where Label Studio keeps them."""

    def __init__(self, api: LabelStudioApi, owner: Person, annotators: int = 1) -> None:
        self.evaluation = f"desk-{uuid4().hex[:8]}"
        self.desk = a_desk(api, self.evaluation, annotators)
        self.desk.prepare()
        self.batch = a_batch(self.evaluation, "a", "b")
        self.desk.post(self.batch, self.batch.items)
        (self.project,) = (project["id"] for project in owner.projects(self.evaluation))
        self._owner = owner

    def tasks_of(self, item_id: str) -> list[int]:
        tasks = self._owner.tasks(self.project)
        return [task["id"] for task in tasks if task["data"]["shown_name_a"] == item_id]

    def data(self) -> list[dict[str, str]]:
        return [task["data"] for task in self._owner.tasks(self.project)]

    def answers(self) -> dict[str, tuple[str, str | None]]:
        return {one.item_id: (one.kind, one.label) for one in self.desk.collect(self.batch).annotations}


@pytest.fixture
def posted(label_studio_api: LabelStudioApi, people: list[Person]) -> Desk:
    return Desk(label_studio_api, people[0])


@pytest.fixture
def proxy(label_studio: LocalLabelStudio) -> Iterator[FaultyProxy]:
    with faulty_proxy(label_studio.url) as proxy:
        yield proxy


@pytest.fixture
def through_proxy(proxy: FaultyProxy, label_studio: LocalLabelStudio) -> LabelStudioApi:
    return LabelStudioApi(proxy.url, label_studio.token, timeout=60)


# What is uploaded, and where


def test_nothing_is_uploaded_but_our_keys_and_the_shown_fields(posted: Desk):
    for data in posted.data():
        assert set(data) == {"assay_batch", "assay_item", "shown_name_a", "shown_name_b"}
        assert data["assay_batch"] == f"{posted.evaluation}/0001"


def test_the_id_of_an_item_stays_at_home(label_studio_api: LabelStudioApi, people: list[Person]):
    evaluation = f"private-{uuid4().hex[:8]}"
    desk = a_desk(label_studio_api, evaluation)
    desk.prepare()
    item = Item(item_id="customer-4711", shown={"name_a": "x", "name_b": "y"})
    desk.post(Batch(evaluation=evaluation, round=1, items=[item]), [item])
    (project,) = people[0].projects(evaluation)
    assert "4711" not in str(people[0].tasks(project["id"]))


def test_the_project_says_what_it_is_about_and_names_the_round_until_somebody_renames_it(
    label_studio_api: LabelStudioApi, people: list[Person]
):
    evaluation = f"titled-{uuid4().hex[:8]}"
    desk = a_desk(label_studio_api, evaluation, guidelines="Look twice.\n<script>x</script>")
    desk.prepare()

    def project() -> dict[str, Any]:
        (found,) = people[0].projects(evaluation)
        return label_studio_api.get_json(f"api/projects/{found['id']}/")

    mark = project()["title"].rpartition(" ")[2]
    assert project()["title"] == f"{evaluation}: match or no match? {mark}"
    assert project()["expert_instruction"].count("<p>") == 2
    assert "&lt;script&gt;" in project()["expert_instruction"]
    assert (project()["show_instruction"], project()["show_skip_button"]) == (True, False)
    for number in (1, 2):
        batch = Batch(evaluation=evaluation, round=number, items=a_batch(evaluation, "a").items)
        desk.post(batch, batch.items)
        assert project()["title"].endswith(f", round {number} {mark}")
    people[0].rename_project(project()["id"], f"Ours {mark}")
    batch = Batch(evaluation=evaluation, round=3, items=a_batch(evaluation, "a").items)
    desk.post(batch, batch.items)
    assert project()["title"] == f"Ours {mark}"


def test_who_cannot_tell_does_not_take_the_place_of_who_can(posted: Desk, people: list[Person]):
    """Label Studio counts the answer; we wait for as many classes as are wanted."""
    (task,) = posted.tasks_of("a")
    control = Control(class_answers(*CLASSES))
    people[0].answer(task, control.results(None))
    assert posted.answers() == {"a": ("skip", None)}
    posted.desk.request_more(posted.batch, ["a"], 1)
    assert people[1].next_task(posted.project) in [task, *posted.tasks_of("b")]
    people[1].label(posted.tasks_of("b")[0], "match")
    assert people[1].next_task(posted.project) == task   # still offered to somebody else


def test_the_project_is_found_again_after_people_renamed_it(
    posted: Desk, label_studio_api: LabelStudioApi, people: list[Person]
):
    people[0].rename_project(posted.project, "Our matching work")
    again = a_desk(label_studio_api, posted.evaluation)
    again.prepare()
    assert again.missing(posted.batch) == []
    assert len(people[0].projects(posted.evaluation)) == 1
    # where people label, not the list of items
    assert again.place() == f"{label_studio_api.url}/projects/{posted.project}/data?labeling=1"


def test_one_name_in_two_ledgers_is_two_projects(label_studio_api: LabelStudioApi, people: list[Person]):
    evaluation = f"twice-{uuid4().hex[:8]}"
    for identity in ("this ledger", "that ledger"):
        a_desk(label_studio_api, evaluation, identity=identity).prepare()
    assert len(people[0].projects(evaluation)) == 2


def test_processes_that_race_to_create_the_project_end_up_with_one(
    label_studio: LocalLabelStudio, people: list[Person]
):
    evaluation = f"race-{uuid4().hex[:8]}"
    desks = [a_desk(LabelStudioApi(label_studio.url, label_studio.token), evaluation) for _ in range(3)]
    start = threading.Barrier(len(desks))

    def prepare(desk: LabelStudioDesk) -> None:
        start.wait()
        desk.prepare()

    threads = [threading.Thread(target=prepare, args=(desk,)) for desk in desks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    batch = a_batch(evaluation, "a")
    desks[0].post(batch, batch.items)
    assert all(desk.missing(batch) == [] for desk in desks)
    with_items = [p for p in people[0].projects(evaluation) if people[0].tasks(p["id"])]
    assert len(with_items) == 1


def test_a_personal_access_token_is_exchanged_and_works(
    posted: Desk, label_studio: LocalLabelStudio, people: list[Person]
):
    people[0].allow_personal_access_tokens()
    token = people[0].personal_access_token()
    desk = a_desk(LabelStudioApi(label_studio.url, token), posted.evaluation)
    desk.prepare()
    assert desk.missing(posted.batch) == []


def test_fields_whose_first_values_are_pictures_are_shown_as_pictures(
    label_studio_api: LabelStudioApi, people: list[Person]
):
    evaluation = f"pictures-{uuid4().hex[:8]}"
    desk = a_desk(label_studio_api, evaluation)
    desk.prepare()
    shown = {"name_a": "https://example.com/1.png", "name_b": "https://example.com/2.JPG?size=3"}
    batch = Batch(evaluation=evaluation, round=1, items=[Item(item_id="a", shown=shown)])
    desk.post(batch, batch.items)
    (project,) = people[0].projects(evaluation)
    page = label_studio_api.get_json(f"api/projects/{project['id']}/")["label_config"]
    assert page.count("<HyperText ") == 2
    (task,) = people[0].tasks(project["id"])
    assert task["data"]["shown_name_a"].startswith('<img src="https://example.com/1.png"')

    # The page stays as it is: what a later batch holds is shown as what it is, markup included.
    later = Batch(evaluation=evaluation, round=2, items=[Item(item_id="b", shown={"name_a": "<i>none</i>"})])
    a_desk(label_studio_api, evaluation).post(later, later.items)
    assert people[0].tasks(project["id"])[1]["data"]["shown_name_a"] == "&lt;i&gt;none&lt;/i&gt;"


def test_a_batch_is_read_page_by_page_even_while_items_vanish(
    label_studio_api: LabelStudioApi, people: list[Person], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("assay.tasks.desks.label_studio.api.TASK_PAGE_SIZE", 3)
    evaluation = f"pages-{uuid4().hex[:8]}"
    desk = a_desk(label_studio_api, evaluation)
    desk.prepare()
    batch = a_batch(evaluation, *(f"i{number}" for number in range(10)))
    desk.post(batch, batch.items)
    (project,) = people[0].projects(evaluation)
    first, *_ = people[0].tasks(project["id"])
    seen = []
    for task in label_studio_api.tasks(project["id"]):
        if len(seen) == 2:
            people[0].delete_task(first["id"])   # an offset of three would now skip the fourth
        seen.append(task["id"])
    assert len(seen) == 10
    assert len(desk.missing(batch)) == 1


# Answers


def test_a_skip_that_holds_a_choice_is_a_skip(posted: Desk, people: list[Person]):
    people[0].skip(posted.tasks_of("a")[0], [choice_result("match")])
    assert posted.answers() == {"a": ("skip", None)}


RUBBISH = [
    [],
    [choice_result("maybe")],
    [choice_result("match"), choice_result("no match")],
    [{**choice_result("match"), "value": {"choices": ["match", "no match"]}}],
    [{**choice_result("match"), "value": {"choices": []}}],
    [{**choice_result("match"), "value": {"text": ["match"]}}],
    [{**choice_result("match"), "from_name": "other"}],
    [{"id": "r1"}],
]


def test_an_answer_that_is_none_of_the_classes_is_kept_apart_with_its_record(
    posted: Desk, people: list[Person]
):
    ids = [f"item {number}" for number in range(len(RUBBISH))]
    batch = Batch(evaluation=posted.evaluation, round=2, items=a_batch("", *ids).items)
    posted.desk.post(batch, batch.items)
    for one, result in zip(ids, RUBBISH, strict=True):
        people[0].answer(posted.tasks_of(one)[0], result)
    answers = {answer.item_id: answer for answer in posted.desk.collect(batch).annotations}
    assert {(answer.kind, answer.label) for answer in answers.values()} == {("invalid", None)}
    assert [answers[one].raw["result"] for one in ids] == RUBBISH


def test_an_edited_answer_keeps_its_id_and_its_last_value(posted: Desk, people: list[Person]):
    number = people[0].label(posted.tasks_of("a")[0], "match")
    (before,) = posted.desk.collect(posted.batch).annotations
    people[0].relabel(number, "no match")
    (after,) = posted.desk.collect(posted.batch).annotations
    assert (before.label, after.label) == ("match", "no match")
    assert before.annotation_id == after.annotation_id
    assert before.updated_at < after.updated_at


def test_a_withdrawn_answer_is_gone(posted: Desk, people: list[Person]):
    number = people[0].label(posted.tasks_of("a")[0], "match")
    people[0].withdraw(number)
    assert posted.answers() == {}


def test_a_draft_is_no_answer(posted: Desk, people: list[Person]):
    people[1].draft(posted.tasks_of("a")[0], "match")
    assert posted.answers() == {}


def test_tasks_that_others_put_into_the_project_are_left_alone(posted: Desk, people: list[Person]):
    strange = {**posted.data()[0], "assay_item": "not one of ours"}
    people[0].import_tasks(posted.project, [strange, strange])
    collected = posted.desk.collect(posted.batch)
    assert (collected.present, collected.copies_removed) == ({"a", "b"}, 0)
    assert len(posted.data()) == 4


# Copies, and items that vanish


def test_untouched_copies_are_removed_and_counted(posted: Desk):
    posted.desk.post(posted.batch, posted.batch.items)
    first = posted.tasks_of("a")[0]
    assert posted.desk.collect(posted.batch).copies_removed == 2
    assert posted.tasks_of("a") == [first]
    assert posted.desk.collect(posted.batch).copies_removed == 0


def test_of_a_labelled_and_an_untouched_copy_the_labelled_one_stays(posted: Desk, people: list[Person]):
    posted.desk.post(posted.batch, posted.batch.items[:1])
    _, later = posted.tasks_of("a")
    people[0].label(later, "match")
    assert posted.desk.collect(posted.batch).copies_removed == 1
    assert posted.tasks_of("a") == [later]
    assert posted.answers() == {"a": ("label", "match")}


def test_copies_that_were_both_labelled_stay_and_their_answers_are_merged(posted: Desk, people: list[Person]):
    posted.desk.post(posted.batch, posted.batch.items[:1])
    first, second = posted.tasks_of("a")
    people[0].label(first, "match")
    people[1].label(second, "match")
    collected = posted.desk.collect(posted.batch)
    assert (collected.copies_removed, posted.tasks_of("a")) == (0, [first, second])
    assert adjudicate(["a"], collected.annotations, annotators=2)["a"].votes == {"match": 2}


@pytest.mark.parametrize("touch", ["draft", "skip"])
def test_a_copy_somebody_began_or_skipped_is_not_removed(posted: Desk, people: list[Person], touch: str):
    posted.desk.post(posted.batch, posted.batch.items[:1])
    _, second = posted.tasks_of("a")
    if touch == "draft":
        people[1].draft(second, "match")
    else:
        people[1].skip(second)
    assert posted.desk.collect(posted.batch).copies_removed == 1
    assert posted.tasks_of("a") == [second]


def test_a_deleted_item_is_missing_and_can_be_posted_again(posted: Desk, people: list[Person]):
    people[0].delete_task(posted.tasks_of("a")[0])
    assert posted.desk.collect(posted.batch).present == {"b"}
    assert [item.item_id for item in posted.desk.missing(posted.batch)] == ["a"]
    posted.desk.post(posted.batch, posted.desk.missing(posted.batch))
    assert posted.desk.missing(posted.batch) == []


def test_a_deleted_project_is_an_error_that_says_so(posted: Desk, label_studio_api: LabelStudioApi,
                                                    people: list[Person]):
    people[0].delete_project(posted.project)
    for act in (posted.desk.collect, posted.desk.missing):
        with pytest.raises(DeskRefused, match=f"no project for evaluation {posted.evaluation}.*deleted"):
            act(posted.batch)
    restarted = a_desk(label_studio_api, posted.evaluation)
    with pytest.raises(DeskRefused, match="deleted"):
        restarted.post(posted.batch, posted.batch.items)


# Several people


def test_a_tie_goes_to_one_person_more_and_to_nobody_before(
    label_studio: LocalLabelStudio, label_studio_api: LabelStudioApi, people: list[Person]
):
    posted = Desk(label_studio_api, people[0], annotators=2)
    third = new_person(label_studio.url, label_studio.token)
    for item in ("a", "b"):
        people[0].label(posted.tasks_of(item)[0], "match")
        people[1].label(posted.tasks_of(item)[0], "no match" if item == "a" else "match")
    assert third.next_task(posted.project) is None

    collected = posted.desk.collect(posted.batch)
    outcomes = adjudicate(["a", "b"], collected.annotations, annotators=2, present=collected.present)
    assert (outcomes["a"].status, outcomes["a"].needs, outcomes["b"].label) == ("waiting", 1, "match")
    posted.desk.request_more(posted.batch, ["a"], outcomes["a"].people)

    assert third.next_task(posted.project) == posted.tasks_of("a")[0]
    third.label(posted.tasks_of("a")[0], "no match")
    collected = posted.desk.collect(posted.batch)
    assert adjudicate(["a"], collected.annotations, annotators=2)["a"].label == "no match"
    assert third.next_task(posted.project) is None


def test_asking_for_fewer_people_than_before_changes_nothing(
    label_studio_api: LabelStudioApi, people: list[Person]
):
    posted = Desk(label_studio_api, people[0])
    posted.desk.request_more(posted.batch, ["a"], 3)
    posted.desk.request_more(posted.batch, ["a"], 2)
    overlaps = {task["data"]["shown_name_a"]: task["overlap"] for task in people[0].tasks(posted.project)}
    assert overlaps == {"a": 3, "b": 1}


# Faults


def imports(proxy: FaultyProxy) -> int:
    """How many imports came by."""
    return sum(request.endswith("/import") for request in proxy.requests)


@pytest.mark.parametrize("fault", [drop_reply, say(502, after=True)], ids=["no reply", "502 after commit"])
def test_a_lost_reply_is_ambiguous_and_nothing_is_sent_twice(
    proxy: FaultyProxy, through_proxy: LabelStudioApi, fault: Fault
):
    evaluation = f"lost-{uuid4().hex[:8]}"
    desk, batch = a_desk(through_proxy, evaluation), a_batch(evaluation, "a", "b")
    desk.prepare()
    proxy.next("POST", fault, at="/import")
    with pytest.raises(AmbiguousPost):
        desk.post(batch, batch.items)
    assert imports(proxy) == 1           # nobody, the SDK included, tried again
    assert desk.missing(batch) == []  # it had arrived
    assert desk.collect(batch).copies_removed == 0


@pytest.mark.parametrize("fault", [say(502), say(429, Retry_After="1")], ids=["502", "429"])
def test_a_refused_import_is_ambiguous_too_and_can_be_repeated(
    proxy: FaultyProxy, through_proxy: LabelStudioApi, fault: Fault
):
    evaluation = f"refused-{uuid4().hex[:8]}"
    desk, batch = a_desk(through_proxy, evaluation), a_batch(evaluation, "a")
    desk.prepare()
    proxy.next("POST", fault, at="/import")
    with pytest.raises(AmbiguousPost):
        desk.post(batch, batch.items)
    assert (imports(proxy), desk.missing(batch)) == (1, list(batch.items))
    desk.post(batch, batch.items)
    assert desk.missing(batch) == []


def test_an_import_that_commits_after_it_was_posted_again_leaves_one_label(
    proxy: FaultyProxy, through_proxy: LabelStudioApi, people: list[Person]
):
    evaluation = f"late-{uuid4().hex[:8]}"
    desk, batch = a_desk(through_proxy, evaluation), a_batch(evaluation, "a", "b")
    desk.prepare()
    proxy.next("POST", commit_late, at="/import")
    with pytest.raises(AmbiguousPost):
        desk.post(batch, batch.items)
    assert desk.missing(batch) == list(batch.items)   # "not there" is not "never"
    desk.post(batch, desk.missing(batch))
    (project,) = people[0].projects(evaluation)
    for task in people[0].tasks(project["id"]):
        people[0].label(task["id"], "match")
    proxy.commit_what_is_late()
    assert len(people[0].tasks(project["id"])) == 4
    collected = desk.collect(batch)
    assert (collected.copies_removed, collected.present) == (2, {"a", "b"})
    outcomes = adjudicate(["a", "b"], collected.annotations, present=collected.present)
    assert [outcome.label for outcome in outcomes.values()] == ["match", "match"]
    assert len(collected.annotations) == 2


def test_reads_are_tried_again(proxy: FaultyProxy, through_proxy: LabelStudioApi):
    evaluation = f"reads-{uuid4().hex[:8]}"
    desk, batch = a_desk(through_proxy, evaluation), a_batch(evaluation, "a")
    desk.prepare()
    desk.post(batch, batch.items)
    proxy.next("GET", say(502), say(429, Retry_After="1"), drop_reply)
    assert desk.missing(batch) == []


def test_a_server_that_keeps_failing_is_unreachable_not_wrong(
    proxy: FaultyProxy, label_studio: LocalLabelStudio
):
    api = LabelStudioApi(proxy.url, label_studio.token, read_attempts=2)
    proxy.next("GET", say(502), say(502))
    with pytest.raises(DeskUnreachable, match=r"502.*try again later"):
        a_desk(api, "any").prepare()


@pytest.mark.parametrize(("fault", "said"), [
    (say(200, b"<html>sign in</html>", "text/html"), "a page instead of JSON"),
    (say(302, Location="https://elsewhere.example/?token=secret"), "redirects to https://elsewhere.example/"),
], ids=["html", "redirect"])
def test_an_address_that_is_not_label_studios_is_recognised(
    proxy: FaultyProxy, through_proxy: LabelStudioApi, fault: Fault, said: str
):
    proxy.next("GET", fault)
    with pytest.raises(DeskRefused, match=said) as caught:
        a_desk(through_proxy, "any").prepare()
    assert "secret" not in str(caught.value)


def test_a_server_that_is_down_is_unreachable_and_the_message_says_what_to_do():
    api = LabelStudioApi("http://127.0.0.1:1", "x" * 40, read_attempts=2)
    with pytest.raises(DeskUnreachable, match=r"http://127\.0\.0\.1:1 could not be reached.*desk\.url"):
        a_desk(api, "any").prepare()


def test_a_wrong_token_names_the_variable_and_is_never_shown(
    label_studio: LocalLabelStudio, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.DEBUG)
    wrong = "0badc0de" * 5
    with pytest.raises(DeskRefused, match=r"401.*LABEL_STUDIO_API_KEY") as caught:
        a_desk(LabelStudioApi(label_studio.url, wrong), "any").prepare()
    assert wrong not in str(caught.value)
    assert wrong not in caplog.text


def test_the_right_token_is_not_logged_either(
    posted: Desk, label_studio: LocalLabelStudio, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.DEBUG)
    posted.desk.collect(posted.batch)
    assert label_studio.token not in caplog.text
    assert label_studio.token not in repr(posted.desk)


def test_a_missing_token_is_refused_before_anything_is_sent():
    spec = Spec.from_json({
        "name": "e",
        "pool": {"source": "p.csv", "id": "id", "score": "s", "threshold": 0.0, "display": ["t"]},
        "labels": {"positive": "yes", "negative": "no"}, "measure": "f1", "target": {"half_width": 0.05},
        "budget": {"labels": 10}, "desk": {"kind": "label-studio", "url": "http://127.0.0.1:1"},
    })
    with pytest.raises(DeskRefused, match="LABEL_STUDIO_API_KEY"):
        spec.desk.open(spec.labelling, Resources(store=MemoryStore(), environment={}))


@pytest.mark.parametrize("url", ["nonsense", "ftp://host", "http://", "http://user:word@host"])
def test_an_address_that_is_none_is_bad_input(url: str):
    with pytest.raises(BadInput, match=r"desk\.url") as caught:
        LabelStudioApi(url, "token")
    if "word" in url:
        assert "word@" not in str(caught.value)


def test_large_imports_are_split(posted: Desk, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("assay.tasks.desks.label_studio.desk.IMPORT_SIZE", 2)
    batch = Batch(evaluation=posted.evaluation, round=2, items=a_batch("", "v", "w", "x", "y", "z").items)
    posted.desk.post(batch, batch.items)
    assert posted.desk.missing(batch) == []


def test_an_answer_that_another_member_edits_becomes_that_member_s(posted: Desk, people: list[Person]):
    (task,) = posted.tasks_of("a")
    given = people[1].label(task, "match")
    people[2].relabel(given, "no match")
    (answer,) = posted.desk.collect(posted.batch).annotations
    assert (answer.annotator, answer.label) == (f"ls-{people[2].number}", "no match")
    assert answer.raw["completed_by"] == people[1].number


def test_a_task_whose_shown_text_somebody_edited_is_not_the_item_any_more(
    posted: Desk, people: list[Person], caplog: pytest.LogCaptureFixture
):
    (task,) = posted.tasks_of("a")
    (data,) = (one for one in posted.data() if one["shown_name_a"] == "a")
    people[1].label(task, "match")
    people[0].edit_data(task, data | {"shown_name_b": "something else"})
    assert posted.answers() == {}
    assert [item.item_id for item in posted.desk.missing(posted.batch)] == ["a"]
    assert "no longer shows what was posted" in caplog.text
    posted.desk.post(posted.batch, posted.desk.missing(posted.batch))
    assert posted.desk.missing(posted.batch) == []
