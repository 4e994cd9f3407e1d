"""What each person answered, counted by hand."""

import numpy as np
import pytest

from assay.evalcore.annotators.adjudication import Annotation, votes_of
from assay.evalcore.annotators.error_rates import ErrorRates
from assay.evalcore.annotators.quality import (
    AnsweredRound,
    AskedAgain,
    GoldTally,
    asked_again,
    error_intervals,
    gold_tally,
    labels_by_place,
    people,
)

CLASSES = {"no": 0, "yes": 1}


def says(annotator, item, label="yes", kind="label", at="2026-01-01T00:00:00"):
    return Annotation(
        item_id=item, annotation_id=f"{annotator}-{item}-{at}", annotator=annotator, kind=kind,
        label=label if kind == "label" else None, updated_at=at,
    )


def a_round(items, labels, *answers, number=1, again=None):
    n = len(items)
    return AnsweredRound(
        number=number, item_id=tuple(items), prediction=np.zeros(n, np.int64), label=np.array(labels),
        positive=np.full(n, 0.5), stands_for=np.ones(n), again=again or {}, again_alone=True, answers=answers,
    )


def votes_in(*rounds):
    return votes_of({r.number: r.answers for r in rounds}, CLASSES)


def test_classes_skips_and_other_answers_are_counted_apart_the_latest_of_each_item():
    one = a_round(
        ["a", "b", "c"], [1, 0, -1],
        says("ann", "a"), says("ann", "b", "no"), says("ann", "b", "yes", at="2026-01-02T00:00:00"),
        says("ann", "c", kind="skip"), says("bob", "c", kind="invalid"),
    )
    ann, bob = people([one], votes_in(one), {}, None, 0.95)
    assert (ann.annotator, ann.answers, ann.skips, ann.invalid) == ("ann", 2, 1, 0)
    assert (bob.annotator, bob.answers, bob.skips, bob.invalid) == ("bob", 0, 0, 1)
    # b was labelled "no" and ann's latest answer is "yes"; c has no label
    assert (ann.labels.items, ann.labels.agreed) == (2, 1)
    assert (bob.labels.items, ann.errors, bob.errors) == (0, None, None)


def test_the_same_item_in_two_rounds_is_two_places():
    first, second = a_round(["a"], [1], says("ann", "a")), a_round(["a"], [0], says("ann", "a"), number=2)
    assert labels_by_place([first, second]) == {(1, "a"): 1, (2, "a"): 0}
    (ann,) = people([first, second], votes_in(first, second), {}, None, 0.95)
    assert (ann.labels.items, ann.labels.agreed) == (2, 1)


def test_answers_to_gold_are_counted_by_truth():
    one = a_round(
        ["a"], [1],
        says("ann", "a"), says("ann", "g1", "yes"), says("ann", "g2", "no"), says("bob", "g2", "yes"),
    )
    gold = {(1, "g1"): 0, (1, "g2"): 1, (1, "g3"): 1}
    ann, bob = people([one], votes_in(one), gold, None, 0.95)
    assert (ann.gold.answers, ann.gold.wrong) == ((1, 1), (1, 1))
    assert (bob.gold.answers[1], bob.gold.wrong[1]) == (1, 0)
    assert gold_tally(votes_in(one), gold) == GoldTally(items=3, answers=3, right=1)


def test_only_surprising_answers_that_a_second_person_answered_were_asked_again():
    one = a_round(
        ["a", "b", "c"], [0, 1, 1],
        says("ann", "a"), says("bob", "a", "no"), says("cid", "a", "no"),   # "yes" surprised; "no" it became
        says("ann", "b"), says("bob", "b"),                                 # and here "yes" was confirmed
        says("ann", "c"), says("bob", "c", kind="skip"),                    # a skip is no second answer
        again={"a": (1,), "b": (1,), "c": (1,)},
    )
    assert asked_again([one]) == AskedAgain(items=2, answers=3, overruled=1)


def test_error_intervals_are_central_quantiles_of_the_draws():
    draws = np.stack([np.linspace(0, 1, 101), np.full(101, 0.2)], axis=1)
    got = error_intervals(draws, 0.9)
    assert (got.false_positive.mean, got.false_positive.lower, got.false_positive.upper) == pytest.approx(
        (0.5, 0.05, 0.95)
    )
    assert (got.miss.lower, got.miss.upper) == pytest.approx((0.2, 0.2))


def test_somebody_of_whom_nothing_tells_has_no_error_rates():
    one = a_round(["a"], [1], says("ann", "a"), says("bob", "a"))
    rates = ErrorRates(
        annotators=("ann", "bob"), draws=np.full((10, 2, 2), 0.1), known=frozenset({"ann"}), gold=True,
        repeated=False,
    )
    ann, bob = people([one], votes_in(one), {}, rates, 0.95)
    assert ann.errors.miss.mean == pytest.approx(0.1)
    assert bob.errors is None
