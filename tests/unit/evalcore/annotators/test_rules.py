"""What items come to, worked out by hand from the module's text."""

import pytest

from assay.evalcore.annotators.adjudication import Annotation
from assay.evalcore.annotators.answers import ClassAnswers
from assay.evalcore.annotators.rules import Decision, Rule, decide, tally_of

CLASSES = {"no": 0, "yes": 1}


def said(annotator, label, item="x", asking=1, kind=None):
    """An answer; a label of None is a skip."""
    return Annotation(
        item_id=item, annotation_id=f"{asking}/{item}/{annotator}", annotator=annotator,
        kind=kind or ("skip" if label is None else "label"), label=label, updated_at="", asking=asking,
    )


def came_to(*answers, k=1, **how):
    rule = Rule(annotators=k, kind=ClassAnswers(codes=CLASSES), number=1)
    return decide(["x"], answers, rule, **how)["x"]


SKIP, SECOND_SKIP = said("a", None), said("a", None, asking=2)
DELETED, SKIPPED, UNANSWERED = (Decision(reason=r) for r in ("deleted", "skipped", "unanswered"))


def test_enough_people_who_agree_give_the_label_and_the_share_of_them():
    answers = [said("a", "yes"), said("b", "yes"), said("c", "no")]
    assert came_to(*answers, k=3) == Decision(label=1, share=2 / 3)


def test_too_few_people_or_a_tie_leave_an_item_open_until_its_round_is_closed_early():
    one, tie = [said("a", "no")], [said("a", "no"), said("b", "yes")]
    assert came_to(*one, k=2).is_open
    assert came_to(*tie, k=2).is_open
    assert came_to(*one, k=2, early=True) == Decision(label=0, share=0.0)
    assert came_to(*tie, k=2, early=True) == UNANSWERED
    assert came_to(early=True) == UNANSWERED
    assert came_to(said("a", None, kind="invalid"), early=True) == UNANSWERED


def test_what_everybody_skipped_is_open_until_it_was_skipped_a_second_time():
    assert came_to(SKIP).is_open
    assert came_to(SKIP, SECOND_SKIP) == SKIPPED
    assert came_to(SKIP, asks_twice=False) == SKIPPED
    assert came_to(SKIP, early=True) == SKIPPED


@pytest.mark.parametrize(("first", "second", "label"), [
    (None, "yes", 1),       # decided the second time
    ("no", None, 0),        # somebody decided the first question after all
    ("no", "yes", 0),       # and whatever the second answer is
])
def test_a_label_given_to_the_first_question_counts_before_the_second(first, second, label):
    assert came_to(said("a", first), said("a", second, asking=2)).label == label


def test_removed_items_are_deleted_unless_their_answers_settle_them():
    assert came_to(removed={"x"}) == DELETED
    assert came_to(removed={"x"}, early=True) == DELETED
    assert came_to(said("a", "yes"), removed={"x"}).label == 1
    assert came_to(SKIP, removed={"x"}) == DELETED                    # the second question was removed
    assert came_to(SKIP, SECOND_SKIP, removed={"x"}) == SKIPPED
    assert came_to(said("a", "no"), k=2, removed={"x"}) == DELETED
    assert came_to(said("a", "no"), k=2, removed={"x"}, early=True).label == 0


def test_an_answer_that_is_no_class_of_the_round_decides_nothing():
    assert came_to(said("a", "perhaps")).is_open
    assert came_to(said("a", "perhaps"), early=True) == UNANSWERED


def weighed(*answers, items=("x", "y"), **how):
    """By Dawid-Skene of two people, of whom b contradicted every gold item of round 1."""
    gold = {(1, f"g{i}"): i % 2 for i in range(8)}
    earlier = [said(who, ("no", "yes")[(i % 2) ^ (who == "b")], f"g{i}") for i in range(8) for who in "ab"]
    rule = Rule(name="dawid-skene", annotators=2, kind=ClassAnswers(codes=CLASSES), number=2, gold=gold,
                earlier=lambda: {1: earlier})
    return decide(items, answers, rule, **how)


def test_dawid_skene_believes_those_whom_gold_proved_right():
    both = [said("a", "yes"), said("b", "no"), said("a", "no", "y"), said("b", "yes", "y")]
    assert {i: d.label for i, d in weighed(*both).items()} == {"x": 1, "y": 0}


def test_dawid_skene_waits_for_items_of_the_round_and_not_for_gold_or_what_was_removed():
    tied, half = [said("a", "yes"), said("b", "no")], [said("a", "no", "y")]
    assert weighed(*tied, *half)["x"].is_open
    assert weighed(*tied, *half, removed={"y"}) == {"x": Decision(label=1, share=0.5), "y": DELETED}
    assert weighed(*tied, said("a", "yes", "g9"), items=["x"])["x"].label == 1     # gold, half answered


def test_dawid_skene_does_not_wait_for_a_question_that_the_other_asking_decides():
    # y was skipped, asked again and decided; then both took back their skips of the first question
    second = [said(who, "yes", "y", asking=2) for who in "ab"]
    tied = [said("a", "yes"), said("b", "no")]
    assert {i: d.label for i, d in weighed(*tied, *second).items()} == {"x": 1, "y": 1}
    # y was skipped and asked again; one answered, then both decided the first question after all
    first = [said(who, "yes", "y") for who in "ab"]
    skipped = [said(who, None) for who in "ab"]
    again = [said("a", "yes", asking=2), said("b", "no", asking=2), said("a", "no", "y", asking=2)]
    assert {i: d.label for i, d in weighed(*skipped, *first, *again).items()} == {"x": 1, "y": 1}


def test_closed_early_a_majority_decides_whatever_the_rule():
    three = [said("a", "yes"), said("b", "no"), said("c", "no")]
    assert weighed(*three, items=["x"])["x"].label == 1
    assert weighed(*three, items=["x"], early=True)["x"].label == 0


def test_the_tally_that_decides_is_that_of_the_second_question_unless_the_first_was_decided():
    rule = Rule(annotators=1, kind=ClassAnswers(codes=CLASSES), number=1)
    again = said("a", "yes", asking=2)
    assert tally_of("x", [SKIP], rule, asked_twice=False).status == "skipped"
    assert tally_of("x", [SKIP], rule, asked_twice=True).answers == 0
    assert tally_of("x", [SKIP, again], rule, asked_twice=True).label == "yes"
    assert tally_of("x", [said("a", "no"), again], rule, asked_twice=True).label == "no"
