"""Numbers as answers: how they are written, joined to a label, and how far people agree."""

import numpy as np
import pytest

from assay.evalcore.annotators.adjudication import Annotation, adjudicate
from assay.evalcore.annotators.agreement import answer_spread, interval_alpha
from assay.evalcore.annotators.answers import NumberAnswers
from assay.evalcore.annotators.rules import Rule, decide

KIND = NumberAnswers(low=0, high=10)


def said(item, *answers):
    return [
        Annotation(item_id=item, annotation_id=f"{item}-{i}", annotator=f"p{i}", kind="label", label=answer,
                   updated_at="")
        for i, answer in enumerate(answers)
    ]


@pytest.mark.parametrize(("written", "meant"), [
    ("3", "3.0"), (" 3.50", "3.5"), ("1e1", "10.0"), ("-0.0", "0.0"),
    ("10.5", None), ("-1", None), ("nan", None), ("inf", None), ("1_0", None), ("3,5", None), ("", None),
])
def test_a_number_has_one_spelling_and_lies_within_the_bounds(written, meant):
    assert KIND.meaning(written) == meant
    assert meant is None or KIND.text(KIND.code(meant)) == meant


def test_the_label_of_several_numbers_is_their_median_or_their_mean_and_never_a_tie():
    votes = {"1.0": 1, "2.0": 2, "7.0": 1}
    assert (KIND.joined(votes, "median"), KIND.joined(votes, "mean")) == ("2.0", "3.0")
    assert KIND.joined({"1.0": 1, "4.0": 1}, "median") == "2.5"
    assert KIND.joined({}, "median") is None
    answers = [*said("a", "1.0", "4.0"), *said("b", "7.0")]
    tallies = adjudicate(["a", "b"], answers, lambda v: KIND.joined(v, "median"), annotators=2)
    assert [(t.status, t.label, t.needs) for t in tallies.values()] == [
        ("labelled", "2.5", 0), ("waiting", None, 1)
    ]
    rule = Rule(name="median", annotators=2, kind=KIND, number=1)
    early = decide(["a", "b"], answers, rule, early=True)
    assert [(one.label, one.share) for one in early.values()] == [(2.5, None), (7.0, None)]


def test_alpha_of_numbers_is_one_minus_disagreement_over_what_chance_gives():
    # items (1, 2) and (4, 4): within, Σ_{i≠j} d²/(m-1) = 2·1 + 0 = 2; all four, Σ_{i≠j} d² = 2(4·37 - 11²)
    # = 54; α = 1 - 3·2/54
    got = interval_alpha([[1.0, 2.0], [4.0, 4.0], [9.0]], 0.95, np.random.default_rng(0))
    assert (got.items, got.agreed, got.value) == (2, 0.5, pytest.approx(1 - 3 * 2 / 54))
    same = interval_alpha([[5.0, 5.0], [5.0, 5.0]], 0.95, np.random.default_rng(0))
    assert (same.value, same.undefined_reason) == (None, "all answers are the same number")
    far = interval_alpha([[1e9 + 1, 1e9 + 2], [1e9 + 4, 1e9 + 4]], 0.95, np.random.default_rng(0))
    assert far.value == pytest.approx(got.value)


def test_the_spread_of_answers_about_one_item():
    # (1, 3) and (5, 5): sums of squares 2 and 0 on 1 + 1 degrees of freedom
    got = answer_spread([[1.0, 3.0], [5.0, 5.0], [9.0]])
    assert (got.items, got.typical, got.largest) == (2, pytest.approx(1.0), 2.0)
    assert answer_spread([[1.0]]) is None


def test_noise_is_of_the_size_it_is_said_to_be_and_stays_within_bounds():
    rng = np.random.default_rng(1)
    errors = [float(KIND.erring("5.0", 1.0, rng)) - 5 for _ in range(2000)]
    assert np.std(errors) == pytest.approx(1.0, abs=0.07)   # four standard errors
    assert all(KIND.meaning(KIND.erring("9.9", 3.0, rng)) is not None for _ in range(100))
    assert KIND.erring("5.0", 0.0, rng) == "5.0"
