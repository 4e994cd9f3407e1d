"""Dawid-Skene: a step worked by hand, what it recovers, and what it must not depend on."""

import numpy as np
import pytest
from doubles.votes import simulated_votes, votes_from

from assay.evalcore.annotators.adjudication import Votes
from assay.evalcore.annotators.answers import ClassAnswers
from assay.evalcore.annotators.error_rates import dawid_skene
from assay.evalcore.annotators.rules import Rule, disagreements, settle


def test_with_the_truth_of_all_items_known_the_confusion_is_counted():
    # truths 1 1 0 0; p0 says 1 0 0 0, p1 says 1 1 1 0. With the prior 4 right and 1 wrong:
    # p0: misses (1 + 1)/(2 + 5) = 2/7, false positives (0 + 1)/7; p1 the other way round
    votes = votes_from([[1, 1], [0, 1], [0, 1], [0, 0]])
    got = dawid_skene(votes, np.array([1, 1, 0, 0]))
    assert got.confusion[:, 1, 0] == pytest.approx([2 / 7, 1 / 7])
    assert got.confusion[:, 0, 1] == pytest.approx([1 / 7, 2 / 7])


def test_the_result_is_a_fixed_point_of_the_papers_equations():
    votes = simulated_votes(np.random.default_rng(1), np.tile([0, 0, 1], 40), [[0.1, 0.2]] * 4, 3)
    got = dawid_skene(votes, right=0, wrong=0)
    for j in range(4):
        mine = votes.annotator == j
        weight = got.truth[votes.item[mine]]
        said = np.stack([weight[votes.label[mine] == y].sum(axis=0) for y in (0, 1)], axis=1)   # (2.3)
        assert got.confusion[j] == pytest.approx(said / said.sum(axis=1, keepdims=True), abs=1e-8)
    assert got.prevalence == pytest.approx(got.truth.mean(axis=0), abs=1e-8)                    # (2.4)


def test_two_reliable_people_outweigh_three_who_guess():
    # p0 and p1 agree on everything; p2, p3 and p4 answer at random: their majority against the two is
    # overruled
    rng = np.random.default_rng(0)
    truth = np.tile([0, 1], 50)
    rows = [[y, y, *(rng.random(3) < 0.5).astype(int).tolist()] for y in truth.tolist()]
    assert dawid_skene(votes_from(rows)).decided().tolist() == truth.tolist()


def test_gold_keeps_its_truth_and_says_who_errs():
    # p0 always says 1, also of ten gold negatives: against p1, whose gold answers are right, it loses
    rows = [[1, 0]] * 10 + [[1, 1]] * 10 + [[1, 0]]
    known = np.array([0] * 10 + [1] * 10 + [-1])
    assert dawid_skene(votes_from(rows), known).decided()[-1] == 0


def test_the_order_of_the_votes_does_not_matter():
    votes = simulated_votes(np.random.default_rng(2), np.tile([0, 1, 0], 30), [[0.2, 0.1]] * 4, 3)
    order = np.random.default_rng(3).permutation(len(votes.item))
    shuffled = Votes(items=votes.items, annotators=votes.annotators, item=votes.item[order],
                     annotator=votes.annotator[order], label=votes.label[order])
    assert dawid_skene(shuffled).truth == pytest.approx(dawid_skene(votes).truth, abs=1e-9)


def test_a_tie_is_told_and_not_thrown():
    assert dawid_skene(votes_from([[0, 1]])).decided().tolist() == [-1]


class Said:
    kind, annotation_id, updated_at = "label", "1", ""

    def __init__(self, item_id, annotator, label):
        self.item_id, self.annotator, self.label = item_id, annotator, label


CLASSES = {"no": 0, "yes": 1}


def rule(name, number=2, **more):
    return Rule(name=name, annotators=2, kind=ClassAnswers(codes=CLASSES), number=number, **more)


def test_dawid_skene_waits_until_all_items_of_the_round_have_their_answers():
    answers = [Said("x", "a", "yes"), Said("x", "b", "no"), Said("y", "a", "no")]
    got = settle(rule("dawid-skene"), ["x", "y"], [], answers)
    assert (got["x"].status, got["x"].label) == ("labelled", None)   # not before y has its second answer
    assert got["y"].status == "waiting"


def test_earlier_rounds_and_gold_say_whom_to_believe():
    # in round 1, b contradicts the gold every time
    gold = {(1, f"g{i}"): i % 2 for i in range(8)}
    earlier = [Said(f"g{i}", who, ("no", "yes")[(i % 2) ^ (who == "b")]) for i in range(8) for who in "ab"]
    answers = [Said("x", "a", "yes"), Said("x", "b", "no")]
    weighed = settle(rule("dawid-skene", gold=gold, earlier=lambda: {1: earlier}), ["x"], [], answers)["x"]
    assert (weighed.status, weighed.label, weighed.needs) == ("labelled", "yes", 0)
    # nobody is known: a tie, which one person more decides
    alone = settle(rule("dawid-skene"), ["x"], [], answers)["x"]
    assert (alone.status, alone.needs, alone.people) == ("waiting", 1, 3)


def test_ties_of_gold_items_wait_for_nobody():
    answers = [Said(item, who, label) for item in ("x", "g") for who, label in (("a", "yes"), ("b", "no"))]
    got = settle(rule("majority"), ["x"], ["g"], answers)
    assert (got["x"].status, got["g"].status) == ("waiting", "labelled")


def test_labels_a_later_fit_sees_otherwise_are_named():
    said = [[1, 1], [0, 0]]
    answers = [
        Said(f"i{i}", who, ("no", "yes")[y])
        for i, two in enumerate(said) for who, y in zip("ab", two, strict=True)
    ]
    decided = ClassAnswers(codes=CLASSES).weighed({1: answers}, {})
    labels = {(1, "i0"): "no", (1, "i1"): "no"}
    assert disagreements(decided, labels) == [(1, "i0")]
