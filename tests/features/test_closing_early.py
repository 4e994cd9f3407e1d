"""Rounds closed early, by request or at their deadline; late answers; what people could not decide."""

import threading
from datetime import UTC, datetime, timedelta

import pytest
from doubles.fuses import Fuse, Fused, PowerCut, cuts
from doubles.world import World

from assay.evalcore.evaluation.nonresponse import NothingToStandFor
from assay.flows.evaluation.advance import NoRoundToClose, Timing, advance
from assay.flows.evaluation.begin import begin_evaluation
from assay.flows.verify.ledger import verify
from assay.tasks.ledger import layout
from assay.tasks.ledger.asked_round import read_plan
from assay.tasks.ledger.closed_round import read_closing, read_labels, read_revisions
from assay.tasks.ledger.record import Ledger
from assay.tasks.ledger.stores.store import MemoryStore

# `passive`: what is tested is who answers, not which items a method picks
SMALL = {"n": 60, "budget": {"labels": 24}, "batch_size": 12, "measure": ["accuracy", "precision"],
         "method": "passive"}


class Clock:
    def __init__(self):
        self.time = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self):
        return self.time


def begun(folder, **changes):
    world = World(folder, **SMALL | changes)
    world.clock = Clock()
    begin_evaluation(world.store, world.spec, world.desk, clock=world.clock)
    world.desk.answers = {}
    return world


def step(world, **more):
    return world.advance(repost_after=timedelta(hours=1), now=world.clock, **more)


def planned(world, number=1):
    return read_plan(Ledger(world.store, "small"), number)


def answer_all_but(world, unanswered, number=1):
    """Everybody answers, but for so many items; those who do leave both predictions heard."""
    plan = planned(world, number)
    asked = [(plan.item_id[t], int(plan.prediction[t])) for t in plan.asked()]
    silent, heard = [], set()
    for item, prediction in asked:
        if prediction in heard and len(silent) < unanswered:
            silent.append(item)
        heard.add(prediction)
    world.desk.answers |= {item: world.truth[item] for item, _ in asked if item not in silent}
    return silent


def decided(world, number=1):
    return {d.item_id: d for d in read_labels(Ledger(world.store, "small"), number)}


def verified(world):
    result = verify(world.store, "small")
    assert result.verified, result.differences
    return result


def test_a_round_closed_on_request_records_who_did_not_answer_and_says_so(tmp_path):
    world = begun(tmp_path)
    step(world)
    silent = answer_all_but(world, 4)
    assert step(world).waiting_for.answered == 8
    standing = step(world, close_round="open")
    assert (standing.rounds, standing.labels, standing.state) == (1, 8, "waiting")   # the next is asked
    assert {i for i, d in decided(world).items() if d.reason == "unanswered"} == set(silent)
    said = standing.to_json()["estimates"][0]["nonresponse"]
    assert (said["unanswered"], said["response_rate"]) == (4, 8 / 12)
    assert said["assumption"] == "missing at random within cells"
    verified(world)


def test_without_a_decision_on_record_unanswered_items_are_not_verified(tmp_path):
    world = begun(tmp_path)
    step(world)
    answer_all_but(world, 2)
    step(world, close_round="open")
    copied = MemoryStore()
    for key in world.store.keys(""):
        if key != layout.closing("small", 1):
            copied.put(key, world.store.get(key))
    found = {d.key for d in verify(copied, "small").differences}
    assert layout.closing("small", 1) in found
    assert layout.labels("small", 1) in found


def test_a_round_nobody_answered_cannot_be_closed(tmp_path):
    world = begun(tmp_path)
    step(world)
    with pytest.raises(NothingToStandFor, match="no answered item can stand for them"):
        step(world, close_round="open")
    assert not world.store.exists(layout.closing("small", 1))
    assert step(world).state == "waiting"


def test_there_must_be_a_round_to_close(tmp_path):
    world = begun(tmp_path)
    with pytest.raises(NoRoundToClose, match="no round open"):
        step(world, close_round="open")
    world.desk.answers = dict(world.truth)
    step(world)
    with pytest.raises(NoRoundToClose, match="finished"):
        step(world, close_round="open")


def test_an_item_that_arrived_twice_and_is_there_is_unanswered_and_not_deleted(tmp_path):
    world = begun(tmp_path)
    step(world)
    there, gone = answer_all_but(world, 2)
    for item in (there, gone):
        world.desk.delete(1, item)
    world.clock.time += timedelta(hours=2)
    step(world)                                     # posted again, and arrived again
    world.desk.delete(1, gone)
    step(world, close_round="open")
    assert (decided(world)[there].reason, decided(world)[gone].reason) == ("unanswered", "deleted")
    verified(world)


def test_unanswered_items_were_asked_so_they_count_against_the_budget(tmp_path):
    world = begun(tmp_path, n=240)
    step(world)
    answer_all_but(world, 4)
    step(world, close_round="open")
    world.desk.answers = dict(world.truth)
    done = step(world)
    # 12 asked in the first round, four of them answered late, and 12 in the second: a budget of 24
    assert (done.state, done.labels, done.rounds) == ("finished", 24, 2)
    assert done.revised_items == 4
    verified(world)


def test_a_deadline_closes_the_round_with_what_is_answered(tmp_path):
    world = begun(tmp_path, deadline={"round_hours": 72})
    waiting = step(world)
    assert waiting.to_json()["waiting_for"]["deadline"] == "2026-01-04T00:00:00+00:00"
    silent = answer_all_but(world, 3)
    world.clock.time += timedelta(hours=71)
    assert step(world).rounds == 0
    world.clock.time += timedelta(hours=1)
    standing = step(world)
    assert (standing.rounds, standing.labels) == (1, 9)
    assert {i for i, d in decided(world).items() if d.reason == "unanswered"} == set(silent)
    assert read_closing(Ledger(world.store, "small"), 1) == "deadline"
    verified(world)


def test_a_clock_that_was_behind_when_a_round_was_posted_does_not_end_it_at_once(tmp_path):
    world = begun(tmp_path, deadline={"round_hours": 72})
    right, world.clock.time = world.clock.time, datetime(1970, 1, 1, tzinfo=UTC)
    step(world)
    answer_all_but(world, 2)
    world.clock.time = right + timedelta(hours=71)
    assert step(world).state == "waiting"
    assert read_closing(Ledger(world.store, "small"), 1) is None
    world.clock.time = right + timedelta(hours=73)
    step(world)
    assert read_closing(Ledger(world.store, "small"), 1) == "deadline"


def test_a_deadline_that_waits_says_it_is_overdue(tmp_path):
    world = begun(tmp_path, deadline={"round_hours": 1.5, "then": "wait"})
    step(world)
    answer_all_but(world, 3)
    world.clock.time += timedelta(hours=2)
    standing = step(world)
    assert (standing.state, standing.rounds, standing.waiting_for.overdue) == ("waiting", 0, True)


def test_a_deadline_with_nobody_to_stand_for_the_others_waits_and_says_why(tmp_path):
    world = begun(tmp_path, deadline={"round_hours": 1})
    step(world)
    world.clock.time += timedelta(hours=2)
    standing = step(world)
    assert standing.waiting_for.overdue is True
    assert "no answered item can stand for them" in standing.waiting_for.cannot_close


def test_a_late_answer_becomes_a_revision_at_the_next_advance(tmp_path):
    world = begun(tmp_path, budget={"labels": 60})
    step(world)
    silent = answer_all_but(world, 3)
    step(world, close_round="open")
    asked_again = set(planned(world, 2).item_id)
    late = [item for item in silent if item not in asked_again]
    assert late, "the seed leaves at least one item to the first round"
    world.desk.answers[late[0]] = world.truth[late[0]]
    standing = step(world)
    assert (standing.revision, standing.revised_items, standing.labels) == (1, 1, 10)
    assert standing.to_json()["estimates"][0]["nonresponse"]["unanswered"] == 2
    (revision,) = read_revisions(Ledger(world.store, "small"))
    assert [i.decided.item_id for i in revision.changed] == late[:1]
    world.desk.answers = dict(world.truth)
    assert step(world).state == "finished"
    verified(world)


def test_a_round_that_is_named_is_closed_once_however_often_that_is_asked(tmp_path):
    world = begun(tmp_path)
    step(world)
    with pytest.raises(NoRoundToClose, match=r"round 2 .* is not open: round 1 is"):
        step(world, close_round=2)
    answer_all_but(world, 4)
    assert step(world, close_round=1).rounds == 1
    answer_all_but(world, 4, number=2)               # enough of the next to close that one too
    assert step(world, close_round=1).rounds == 1
    assert read_closing(Ledger(world.store, "small"), 2) is None
    assert step(world, close_round=2).state == "finished"
    assert step(world, close_round=2).state == "finished"
    with pytest.raises(NoRoundToClose, match="finished after 2 rounds"):
        step(world, close_round=3)
    verified(world)


def test_a_call_made_twice_without_a_name_does_not_close_a_round_nobody_answered(tmp_path):
    world = begun(tmp_path)
    step(world)
    answer_all_but(world, 4)
    step(world, close_round="open")
    with pytest.raises(NothingToStandFor, match="no answered item can stand for them"):
        step(world, close_round="open")
    assert read_closing(Ledger(world.store, "small"), 2) is None
    assert step(world).rounds == 1


def test_two_that_close_a_round_at_once_close_that_one_and_agree(tmp_path):
    for n in range(6):
        world = begun(tmp_path / str(n))
        step(world)
        silent = answer_all_but(world, 4)
        start, errors = threading.Barrier(2), []

        def close(world=world, start=start, errors=errors):
            start.wait()
            try:
                step(world, close_round=1)
            except BaseException as error:
                errors.append(error)

        both = [threading.Thread(target=close) for _ in range(2)]
        for thread in both:
            thread.start()
        for thread in both:
            thread.join()
        assert not errors
        assert {i for i, d in decided(world).items() if d.reason == "unanswered"} == set(silent)
        assert read_labels(Ledger(world.store, "small"), 2) is None
        world.desk.answers = dict(world.truth)
        assert step(world).state == "finished"
        verified(world)


def test_a_power_cut_at_any_effect_of_closing_early_changes_nothing(tmp_path):
    halfway = begun(tmp_path, budget={"labels": 16})
    step(halfway)
    answer_all_but(halfway, 4)

    def close(world, fuse):
        return advance(
            Fused(world.store, fuse), "small", Fused(world.desk, fuse),
            timing=Timing(now=world.clock, repost_after=timedelta(hours=1)), close_round=1,
        )

    smooth, fuse = halfway.copy(), Fuse()
    close(smooth, fuse)
    for at, when in cuts([*range(1, len(fuse.effects) + 1)]):
        cut = halfway.copy()
        with pytest.raises(PowerCut):
            close(cut, Fuse(at, when))
        if cut.store.exists(layout.closing("small", 1)):
            step(cut)                                   # it is decided: whoever comes next closes it
        step(cut, close_round=1)            # said again, however far the first came
        assert cut.record() == smooth.record(), f"{when} effect {at}, {fuse.effects[at - 1]}"


def test_undecided_items_are_bounded_both_ways(tmp_path):
    world = begun(tmp_path, budget={"labels": 12})
    step(world)
    plan = planned(world)
    item = next(plan.item_id[t] for t in plan.asked() if plan.prediction[t] == 1)
    world.desk.answers = {**world.truth, item: None}
    done = step(world)
    assert (done.undecided, done.labels) == (1, 11)
    for row in done.estimates[:2]:                          # accuracy and precision
        bounds = row.undecided
        # the item is predicted positive: right if it is positive
        assert bounds.all_negative.value < bounds.all_positive.value
        assert bounds.items == 1
    shown = done.to_json()["estimates"][0]["undecided"]
    assert set(shown) == {"items", "all_negative", "all_positive"}
    verified(world)
