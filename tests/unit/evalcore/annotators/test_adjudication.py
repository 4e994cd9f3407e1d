"""Outcomes worked out by hand from the rules in the module's text."""

from dataclasses import dataclass

import pytest

from assay.evalcore.annotators.adjudication import adjudicate


@dataclass(frozen=True)
class Given:
    item_id: str
    annotator: str
    kind: str
    label: str | None = None
    updated_at: str = "2026-01-01T00:00:00Z"
    annotation_id: str = "1"


def said(annotator: str, label: str, at: str = "2026-01-01T00:00:00Z") -> Given:
    return Given("x", annotator, "label", label, at, annotation_id=f"{annotator}-{at}")


def skipped(annotator: str, at: str = "2026-01-01T00:00:00Z") -> Given:
    return Given("x", annotator, "skip", None, at)


def rubbish(annotator: str) -> Given:
    return Given("x", annotator, "invalid")


def outcome(*answers: Given, k: int = 1, present=("x",), **options):
    return adjudicate(["x"], answers, annotators=k, present=present, **options)["x"]


def test_one_answer_of_one_person_is_the_label():
    got = outcome(said("a", "yes"))
    assert (got.status, got.label, got.needs) == ("labelled", "yes", 0)


def test_nobody_has_answered_yet():
    got = outcome(k=3)
    assert (got.status, got.label, got.needs, got.people) == ("waiting", None, 3, 3)


def test_two_against_one_is_a_majority():
    got = outcome(said("a", "no"), said("b", "yes"), said("c", "yes"), k=3)
    assert (got.label, got.votes) == ("yes", {"no": 1, "yes": 2})


def test_two_who_agree_still_wait_for_the_third():
    assert outcome(said("a", "yes"), said("b", "yes"), k=3).needs == 1


def test_a_tie_asks_one_person_more_and_that_one_decides():
    tie = (said("a", "yes"), said("b", "no"))
    got = outcome(*tie, k=2)
    assert (got.status, got.needs, got.people) == ("waiting", 1, 3)
    assert outcome(*tie, said("c", "no"), k=2).label == "no"


def test_three_different_classes_of_three_people_are_a_tie_too():
    three = (said("a", "p"), said("b", "q"), said("c", "r"))
    assert outcome(*three, k=3).needs == 1
    assert outcome(*three, said("d", "q"), k=3).label == "q"


def test_a_persons_last_word_counts_and_only_once():
    early, late = "2026-01-01T00:00:00.5Z", "2026-01-01T00:00:01Z"   # as text, ".5Z" sorts before "1Z"
    got = outcome(said("a", "yes", late), said("a", "no", early))
    assert (got.label, got.votes) == ("yes", {"yes": 1})
    assert outcome(said("a", "yes", early), skipped("a", late)).status == "skipped"
    assert outcome(skipped("a", early), said("a", "yes", late)).label == "yes"


def test_fractions_and_zones_are_times_and_not_text():
    # 10:00+02:00 is 08:00 UTC, before 09:00 UTC, though "10" sorts after "09"; no fraction is before .1
    nine = "2026-01-01T09:00:00Z"
    assert outcome(said("a", "no", "2026-01-01T10:00:00+02:00"), said("a", "yes", nine)).label == "yes"
    assert outcome(said("a", "no", nine), said("a", "yes", "2026-01-01T09:00:00.1Z")).label == "yes"


def test_an_answer_without_a_time_is_older_than_any_with_one():
    assert outcome(said("a", "no", ""), said("a", "yes")).label == "yes"


def test_as_many_skips_as_people_asked_settle_it():
    assert outcome(skipped("a"), k=1).status == "skipped"
    assert outcome(skipped("a"), k=2).needs == 2
    assert outcome(skipped("a"), skipped("b"), k=2).status == "skipped"


def test_enough_votes_beat_skips():
    assert outcome(skipped("a"), skipped("b"), said("c", "yes"), said("d", "yes"), k=2).label == "yes"


def test_a_skip_does_not_count_among_the_people_a_desk_is_asked_for():
    got = outcome(skipped("a"), said("b", "yes"), k=2)
    assert (got.status, got.needs, got.people, got.skips) == ("waiting", 1, 2, 1)


def test_an_invalid_answer_is_no_vote_and_uses_up_a_persons_turn():
    got = outcome(said("a", "yes"), rubbish("b"), k=2)
    assert (got.status, got.needs, got.people) == ("waiting", 1, 3)
    assert outcome(rubbish("a")).status == "invalid"
    assert outcome(rubbish("a"), said("b", "yes")).label == "yes"


def test_what_is_on_no_desk_has_to_be_posted_again_unless_it_is_settled():
    assert outcome(present=()).status == "absent"
    assert outcome(said("a", "yes"), k=2, present=()).needs == 1
    assert outcome(said("a", "yes"), present=()).label == "yes"
    assert outcome(skipped("a"), present=()).status == "skipped"
    assert outcome(present=None).status == "waiting"


def test_answers_about_other_items_are_nobodys_business():
    got = adjudicate(["y"], [said("a", "yes")])
    assert (list(got), got["y"].status) == (["y"], "waiting")


@pytest.mark.parametrize("k", [0, -1])
def test_nobody_cannot_decide(k: int):
    with pytest.raises(ValueError, match="at least 1"):
        adjudicate([], [], annotators=k)
