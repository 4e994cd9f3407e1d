"""Posting: lost replies, lost posts, deletions. One label per item, whatever happens."""

from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest
from doubles.world import World

from assay.flows.cli.standing import state_in_words
from assay.flows.evaluation.begin import begin_evaluation
from assay.flows.verify.ledger import verify
from assay.tasks.desks.desk import DeskRefused
from assay.tasks.ledger.asked_round import read_plan, read_posts
from assay.tasks.ledger.closed_round import read_labels
from assay.tasks.ledger.record import Ledger

TEN_MINUTES = timedelta(minutes=10)


class Clock:
    """Stands still until told otherwise."""

    def __init__(self) -> None:
        self.time = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.time

    def pass_by(self, **time: int) -> None:
        self.time += timedelta(**time)


@pytest.fixture
def world(tmp_path):
    made = World(tmp_path, n=60, budget={"labels": 8}, batch_size=4)
    made.clock = Clock()
    begin_evaluation(made.store, made.spec, made.desk, clock=made.clock)
    return made


def step(world, **more):
    return world.advance(repost_after=TEN_MINUTES, now=world.clock, **more)


def copies(world):
    return Counter(item_id for _, item_id in world.desk.posted)


def asked(world, round=1):
    planned = read_plan(Ledger(world.store, "small"), round)
    return [planned.item_id[t] for t in planned.asked()]


def test_a_lost_reply_is_not_posted_again(world):
    world.desk.lost_replies = 1
    assert step(world).state == "finished"
    assert set(copies(world).values()) == {1}


def test_a_lost_post_waits_and_is_then_posted_again(world):
    world.desk.lost_posts = 1
    waiting = step(world)
    assert (waiting.state, waiting.waiting_for.not_on_desk) == ("waiting", 4)
    world.clock.pass_by(minutes=9)
    assert step(world).state == "waiting"
    assert copies(world) == {}
    world.clock.pass_by(minutes=2)
    assert step(world).state == "finished"
    assert set(copies(world).values()) == {1}
    assert [post.attempt for post in read_posts(Ledger(world.store, "small"), 1)] == [1, 2]


def test_a_post_that_commits_late_is_found_and_not_repeated(world):
    world.desk.lost_posts = 1
    step(world)
    world.desk.on_desk[1, 1] = asked(world)      # the server had it all along
    world.clock.pass_by(minutes=20)
    assert step(world).state == "finished"
    assert all(round != 1 for round, _ in world.desk.posted)


@pytest.mark.parametrize(("lost", "reads_of_the_first_round"), [(0, 0), (1, 1)])
def test_a_round_that_was_posted_twice_is_read_again_when_the_next_one_closes(
    world, monkeypatch, lost, reads_of_the_first_round
):
    world.desk.lost_posts = lost
    if lost:
        step(world)
        world.clock.pass_by(minutes=20)
    read = []
    collect = world.desk.collect
    monkeypatch.setattr(world.desk, "collect", lambda batch: read.append(batch.round) or collect(batch))
    assert step(world).state == "finished"
    assert read[read.index(2):].count(1) == reads_of_the_first_round


def test_a_desk_that_is_away_while_copies_are_looked_for_stops_nobody(world, monkeypatch):
    world.desk.lost_posts = 1
    step(world)
    world.clock.pass_by(minutes=20)
    collect = world.desk.collect

    def only_open_rounds(batch):
        if batch.round == 1 and read_labels(Ledger(world.store, "small"), 2) is not None:
            raise DeskRefused("away")
        return collect(batch)

    monkeypatch.setattr(world.desk, "collect", only_open_rounds)
    assert step(world).state == "finished"


def test_only_what_is_missing_is_posted_again(world):
    world.desk.lost_posts = 1
    step(world)
    first, *rest = asked(world)
    world.desk.on_desk[1, 1] = [first]
    world.clock.pass_by(minutes=20)
    step(world)
    assert sorted(i for round, i in world.desk.posted if round == 1) == sorted(rest)


def test_an_item_deleted_once_is_asked_again_and_twice_is_undecided(world):
    world.desk.answers = {}
    step(world)
    gone, *others = asked(world)
    world.desk.delete(1, gone)
    world.clock.pass_by(minutes=20)
    assert step(world).state == "waiting"
    assert copies(world)[gone] == 2
    world.desk.delete(1, gone)
    world.desk.answers = {item_id: world.truth[item_id] for item_id in others}
    world.clock.pass_by(minutes=20)
    step(world)
    assert copies(world)[gone] == 2
    decided = {d.item_id: d for d in read_labels(Ledger(world.store, "small"), 1)}
    assert (decided[gone].label, decided[gone].reason) == (None, "deleted")
    assert all(decided[item_id].label is not None for item_id in others)


def test_an_answer_seen_before_the_item_was_deleted_counts(world):
    world.desk.answers = {}
    step(world)
    first, *others = asked(world)
    world.desk.answers = {first: world.truth[first]}
    step(world)                               # sees and keeps the answer
    world.desk.delete(1, first)
    world.desk.answers |= {item_id: world.truth[item_id] for item_id in others}
    step(world)
    decided = {d.item_id: d for d in read_labels(Ledger(world.store, "small"), 1)}
    assert decided[first].label == (world.truth[first] == "match")
    assert copies(world)[first] == 1


def test_an_item_everybody_skips_twice_is_undecided_spends_budget_and_is_never_asked_again(world):
    world.desk.answers = {}
    step(world)
    skipped = asked(world)[0]
    world.desk.answers = {**world.truth, skipped: None}
    world.desk.second_answers = {}
    waiting = step(world)
    assert (waiting.waiting_for.asked_again, waiting.waiting_for.items) == (1, 1)
    assert copies(world)[skipped] == 2
    world.desk.second_answers = {skipped: None}
    done = step(world)
    assert (done.state, done.stopped_by) == ("finished", "budget")
    assert (done.labels, done.undecided) == (7, 1)      # 8 asked, one of them in vain
    assert copies(world)[skipped] == 2
    assert done.known.estimates[0].diagnostics["undecided"] == 1
    decided = {d.item_id: d for d in read_labels(Ledger(world.store, "small"), 1)}
    assert (decided[skipped].reason, decided[skipped].askings) == ("skipped", 2)
    assert verify(world.store, "small").verified


def test_what_is_asked_again_counts_when_it_is_decided_the_second_time(world):
    world.desk.answers = {}
    step(world)
    skipped = asked(world)[0]
    world.desk.answers = {**world.truth, skipped: None}
    world.desk.second_answers = {skipped: "match"}
    done = step(world)
    assert (done.state, done.labels, done.undecided) == ("finished", 8, 0)
    decided = {d.item_id: d for d in read_labels(Ledger(world.store, "small"), 1)}
    assert (decided[skipped].label, decided[skipped].askings) == (1, 2)
    assert len(decided[skipped].annotations) == 2     # the skip, and the answer
    assert verify(world.store, "small").verified


def test_a_second_question_somebody_removed_twice_is_deleted_and_verifies(world):
    world.desk.answers = {}
    step(world)
    skipped = asked(world)[0]
    world.desk.answers = {**world.truth, skipped: None}
    world.desk.second_answers = {}
    for copies_made in (2, 3):
        step(world)
        assert copies(world)[skipped] == copies_made
        world.desk.on_desk[1, 2].remove(skipped)
        world.clock.pass_by(minutes=20)
    assert step(world).state == "finished"
    decided = {d.item_id: d for d in read_labels(Ledger(world.store, "small"), 1)}
    assert (decided[skipped].reason, decided[skipped].askings) == ("deleted", 2)
    assert verify(world.store, "small").differences == ()


def test_a_mind_changed_about_the_first_question_settles_the_item(world):
    world.desk.answers = {}
    step(world)
    skipped = asked(world)[0]
    world.desk.answers = {**world.truth, skipped: None}
    world.desk.second_answers = {}
    step(world)
    world.desk.answers = dict(world.truth)
    assert step(world).state == "finished"
    decided = {d.item_id: d for d in read_labels(Ledger(world.store, "small"), 1)}
    assert decided[skipped].label == (world.truth[skipped] == "match")
    assert verify(world.store, "small").verified


def test_what_is_asked_again_and_lost_is_posted_again_and_no_more(world):
    world.desk.answers = {}
    step(world)
    skipped = asked(world)[0]
    world.desk.answers = {**world.truth, skipped: None}
    world.desk.second_answers = {}
    world.desk.lost_posts = 1
    assert step(world).waiting_for.not_on_desk == 1
    assert copies(world)[skipped] == 1
    world.clock.pass_by(minutes=11)
    step(world)
    assert copies(world)[skipped] == 2
    posts = read_posts(Ledger(world.store, "small"), 1)
    assert [(post.attempt, post.asking, post.arrived) for post in posts] == [
        (1, 1, True), (2, 2, False), (3, 2, True)
    ]


def test_a_tie_goes_to_one_more_person(tmp_path):
    world = World(tmp_path, n=60, budget={"labels": 4}, batch_size=4,
                  desk={"kind": "simulated", "labels": str(tmp_path / "labels.csv"),
                        "annotators_per_item": 2})
    begin_evaluation(world.store, world.spec, world.desk)
    world.desk.answers = {}
    world.advance()
    tied, *others = asked(world)
    other = {"match": "no match", "no match": "match"}
    world.desk.answers = dict(world.truth)
    world.desk.people = dict.fromkeys([tied, *others], 2)
    world.desk.votes = lambda item_id, person: (
        other[world.truth[item_id]] if item_id == tied and person == 1 else world.truth[item_id]
    )
    waiting = world.advance()
    assert waiting.waiting_for.tied == 1
    assert world.desk.people[tied] == 3
    assert world.advance().state == "finished"
    decided = {d.item_id: d for d in read_labels(Ledger(world.store, "small"), 1)}
    assert decided[tied].label == (world.truth[tied] == "match")
    assert len(decided[tied].annotations) == 3


def test_an_item_is_answered_once_everybody_has_who_was_asked_about_it(tmp_path):
    world = World(tmp_path, n=60, budget={"labels": 8}, batch_size=8,
                  desk={"kind": "simulated", "labels": str(tmp_path / "labels.csv"),
                        "annotators_per_item": 3})
    begin_evaluation(world.store, world.spec, world.desk)
    world.desk.answers = {}
    assert world.advance().waiting_for.answered == 0
    items = asked(world)
    world.desk.answers = {item: world.truth[item] for item in items[:6]}
    world.desk.people = dict(zip(items, (3, 3, 3, 2, 1, 1), strict=False))
    standing = world.advance()
    waits = standing.waiting_for
    assert (waits.items, waits.answered, waits.tied) == (8, 3, 0)
    said = "3 answered, 5 open; 2 items wait for a second person, 1 item waits for a third person"
    assert said in state_in_words(standing)
    assert standing.to_json()["waiting_for"]["waiting_for_person"] == {"2": 2, "3": 1}
    # two that differ are no tie while a third person is still to come
    world.desk.votes = lambda item_id, person: ("match", "no match")[person % 2]
    assert world.advance().waiting_for.tied == 0


def test_a_post_dated_ahead_by_a_wrong_clock_does_not_delay_posting_again(world):
    world.desk.lost_posts = 1
    world.clock.pass_by(days=30)             # this machine's clock is a month ahead
    assert step(world).state == "waiting"
    world.clock.pass_by(days=-30)            # another machine's is right
    world.desk.answers, answers = {}, world.desk.answers
    step(world)
    assert copies(world) == dict.fromkeys(asked(world), 1)
    assert [post.at for post in read_posts(Ledger(world.store, "small"), 1)] == [
        world.clock() + timedelta(days=30), world.clock()
    ]
    world.desk.answers = answers
    step(world)
    assert read_labels(Ledger(world.store, "small"), 1)


def test_a_clock_that_is_seconds_behind_waits_as_long_as_any(world):
    world.desk.lost_posts = 1
    step(world)
    world.clock.pass_by(seconds=-5)
    step(world)
    assert copies(world) == {}
