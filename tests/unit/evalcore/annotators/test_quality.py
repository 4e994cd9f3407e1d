"""How people do after some rounds, and how often the labels they made are wrong, worked by hand."""

import numpy as np
import pytest
from doubles.rounds import a_question, nothing_labelled

from assay.evalcore.annotators.adjudication import Annotation, truth_of, votes_of
from assay.evalcore.annotators.answers import ClassAnswers
from assay.evalcore.annotators.error_rates import ErrorRates, dawid_skene
from assay.evalcore.annotators.quality import (
    UNTESTED,
    AnsweredRound,
    Correctable,
    annotator_quality,
    errors_of_labels,
)
from assay.evalcore.annotators.rules import Rule

CLASSES = {"no": 0, "yes": 1}
E = 0.1   # everybody errs this often, either way


def says(annotator, item, label):
    return Annotation(
        item_id=item, annotation_id=f"{annotator}-{item}", annotator=annotator, kind="label", label=label,
        updated_at="",
    )


def a_round(table, number=1, again=None, alone=False):
    """table: item -> what ann, bob and cid say: "y", "n", or " " for nothing. The first is the label."""
    spoken = {"y": "yes", "n": "no"}
    answers = [
        says(who, item, spoken[word]) for item, words in table.items()
        for who, word in zip(("ann", "bob", "cid"), words, strict=False) if word in spoken
    ]
    items = tuple(item for item in table if not item.startswith("gold"))
    return AnsweredRound(
        number=number, item_id=items, prediction=np.zeros(len(items), np.int64),
        label=np.array([int(table[item].strip()[0] == "y") for item in items], np.int64),
        positive=np.full(len(items), 0.5), stands_for=np.ones(len(items)), again=again or {},
        again_alone=alone, answers=answers,
    )


def a_rule(name="majority", annotators=1, gold=None, number=1):
    kind = ClassAnswers(codes=CLASSES)
    return Rule(name=name, annotators=annotators, kind=kind, number=number, gold=gold or {})


def known_rates(*people):
    """Error rates of E of these people, for certain."""
    return ErrorRates(
        annotators=people, draws=np.full((5, len(people), 2), E), known=frozenset(people), gold=True,
        repeated=False,
    )


def errors_of(rounds, rule, *people):
    votes = votes_of({r.number: r.answers for r in rounds}, CLASSES)
    fitted = None
    if rule.name == "dawid-skene":
        fitted = dawid_skene(votes, truth_of(votes, rule.gold))
    return errors_of_labels(rounds, rule, votes, known_rates(*people), fitted)


def test_one_answer_each_is_wrong_as_often_as_people_are():
    got = errors_of([a_round({"a": "y", "b": "n"})], a_rule(), "ann")
    assert got == pytest.approx(np.full((5, 2, 2), E))


def test_a_majority_of_three_is_wrong_when_two_of_them_are():
    got = errors_of([a_round({"a": "yyn"})], a_rule(annotators=3), "ann", "bob", "cid")
    assert got == pytest.approx(np.full((5, 2, 2), 3 * E**2 * (1 - E) + E**3))


def test_a_surprising_positive_that_goes_to_others_is_rarely_a_false_positive():
    # both items' "yes" is asked again: a false positive needs the first and one of two more to be wrong
    again = {"a": (1,), "b": (1,)}
    got = errors_of([a_round({"a": "y", "b": "n"}, again=again, alone=True)], a_rule(), "ann")
    assert got[0, 0, 0] == pytest.approx(E * (E + (1 - E) * E))
    assert got[0, 0, 1] == pytest.approx(E + (1 - E) * E**2)   # a hit may be outvoted


def test_surprising_answers_count_once_somebody_else_is_known_to_answer():
    again = {"a": (1,)}
    alone = errors_of([a_round({"a": "y"}, again=again)], a_rule(), "ann")
    assert alone == pytest.approx(np.full((5, 2, 2), E))
    # bob answers in the second round: from there on "yes" is asked again, of one of two items asked
    later = [a_round({"a": "y"}, again=again), a_round({"b": " y"}, number=2, again={"b": (1,)})]
    got = errors_of(later, a_rule(number=2), "ann", "bob")
    assert got[0, 0, 0] == pytest.approx((E + E * (E + (1 - E) * E)) / 2)


def test_dawid_skene_is_wrong_as_often_as_the_people_it_weighs():
    # all three agree on 20 items of each class: the fit believes them, and two of three decide
    table = {f"y{i}": "yyy" for i in range(20)} | {f"n{i}": "nnn" for i in range(20)}
    got = errors_of([a_round(table)], a_rule("dawid-skene", 3), "ann", "bob", "cid")
    assert got == pytest.approx(np.full((5, 2, 2), 3 * E**2 * (1 - E) + E**3))


def test_where_nothing_tells_of_errors_that_is_the_reason():
    question = a_question("passive", ("accuracy", "f1"))
    state = nothing_labelled(question).inner
    got = annotator_quality(
        [a_round({"a": "y", "b": " n"})], a_rule(), Correctable(method=question.method, state=state), 0.95,
        np.random.default_rng(0),
    )
    assert got.correction.reason == UNTESTED
    assert [(e.measure, e.value, e.undefined_reason) for e in got.correction.estimates] == [
        ("accuracy", None, UNTESTED), ("f1", None, UNTESTED)
    ]
    assert (got.correction.label_errors, got.correction.known_from, got.would_differ) == (None, (), ())
    assert [person.annotator for person in got.people] == ["ann", "bob"]
    assert [a.statistic for a in got.agreement] == ["fleiss-kappa", "krippendorff-alpha"]


def test_one_person_agrees_with_nobody_and_gold_tells_of_errors():
    question = a_question("passive")
    state = nothing_labelled(question).inner
    table = {"a": "y", **{f"gold{i}": "y" for i in range(30)}}
    gold = {(1, f"gold{i}"): 1 for i in range(30)}
    got = annotator_quality(
        [a_round(table)], a_rule(gold=gold), Correctable(method=question.method, state=state), 0.95,
        np.random.default_rng(0),
    )
    assert (got.agreement, got.round, got.revision, got.rule, got.annotators_per_item) == (
        (), 1, 0, "majority", 1
    )
    assert got.gold.right == 30
    assert got.correction.known_from == ("gold",)
    # the miss rate is Beta(1/2, 30 1/2); of the same draws for both predictions
    errors = got.correction.label_errors
    assert errors.predicted_negative == errors.predicted_positive
    assert errors.predicted_negative.miss.mean == pytest.approx(0.5 / 31, abs=0.005)


def test_dawid_skene_names_the_items_that_a_later_fit_sees_otherwise():
    question = a_question("passive")
    state = nothing_labelled(question).inner
    # the label of "odd" is its first answer, which the others overrule
    table = {f"y{i}": "yyy" for i in range(9)} | {f"n{i}": "nnn" for i in range(9)} | {"odd": "ynn"}
    got = annotator_quality(
        [a_round(table)], a_rule("dawid-skene", 3), Correctable(method=question.method, state=state), 0.95,
        np.random.default_rng(0),
    )
    assert [(one.round, one.item_id) for one in got.would_differ] == [(1, "odd")]
    assert got.correction.known_from == ("repeated answers",)
