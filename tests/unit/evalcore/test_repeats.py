"""Several answers to one item: beside every subset counted out, and intervals that hold."""

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import binom

from assay.errors import BadInput
from assay.evalcore.repeats import AnsweredItems, repeated_answers, subset_share, within_items
from benchmarks.repeats import FAMILIES, covered

COUNTS = AnsweredItems(right=np.array([0, 1, 3, 5, 2] * 3), answers=np.array([4, 4, 6, 5, 7] * 3))


def by_name(found):
    return {row.measure: row for row in found.measures}


@pytest.mark.parametrize("k", [1, 2, 4])
def test_measures_are_shares_of_the_subsets(k):
    one, every, alike = [], [], []
    for c, n in zip(COUNTS.right, COUNTS.answers, strict=True):
        subsets = [sum(s) for s in combinations([1] * c + [0] * (n - c), k)]
        one.append(np.mean([s > 0 for s in subsets]))
        every.append(np.mean([s == k for s in subsets]))
        alike.append(np.mean([s in (0, k) for s in subsets]))
    found = by_name(repeated_answers(COUNTS, [k]))
    assert found[f"pass@{k}"].value == pytest.approx(np.mean(one))
    if k > 1:
        assert found[f"pass^{k}"].value == pytest.approx(np.mean(every))
        assert found[f"alike@{k}"].value == pytest.approx(np.mean(alike))
    assert all(row.lower <= row.value <= row.upper for row in found.values())


def test_the_variance_of_an_item_s_answers_is_unbiased():
    rng = np.random.default_rng(4)
    right = rng.binomial(5, 0.3, 200_000).astype(float)
    values = within_items(right, np.full(200_000, 5.0))
    error = values.std() / np.sqrt(200_000)
    assert abs(values.mean() - 0.21) < 5 * error
    assert subset_share(np.array([3.0]), np.array([3.0]), 3).tolist() == [1.0]


def test_between_and_within_add_up_and_say_how_many_answers_are_worth_it():
    rng = np.random.default_rng(5)
    p = rng.beta(2, 2, 4000)
    n = np.full(4000, 6)
    found = repeated_answers(AnsweredItems(right=rng.binomial(n, p), answers=n), [1], prices=(2.0, 0.1))
    # of Beta(2, 2): E p(1 - p) = 1/5, V p = 1/20; Cochran: √(20 · 4) = 8.9
    assert found.within == pytest.approx(0.2, abs=0.01)
    assert found.between == pytest.approx(0.05, abs=0.01)
    assert found.share_between == pytest.approx(0.2, abs=0.03)
    assert found.price.answers in (8, 9, 10)
    assert found.price.variance_of_one > 1.5
    alike = AnsweredItems(right=np.array([6] * 6 + [0] * 6), answers=np.full(12, 6))
    settled = repeated_answers(alike, [2], prices=(2.0, 0.1))
    assert (settled.within, settled.price.answers) == (0.0, 1)
    assert by_name(settled)["alike@2"].value == 1.0
    assert by_name(settled)["alike@2"].lower < 0.9, "twelve items do not say that all are alike"


@pytest.mark.parametrize(("asked", "said"), [
    (lambda: repeated_answers(COUNTS, [5]), "k = 5: an item has 4 answers"),
    (lambda: repeated_answers(COUNTS, [0]), "k = 0"),
    (lambda: repeated_answers(COUNTS, [1], prices=(1.0, 0.0)), "an answer more than 0"),
    (lambda: AnsweredItems(right=np.array([2]), answers=np.array([1])), "as many answers"),
    (lambda: AnsweredItems(right=np.array([1] * 9), answers=np.array([2] * 9)), "9 items with answers"),
    (lambda: repeated_answers(AnsweredItems(right=np.ones(12, int), answers=np.ones(12, int)), [1]),
     "one answer"),
])
def test_what_cannot_be_said_is_refused(asked, said):
    with pytest.raises(BadInput, match=said):
        asked()


@pytest.mark.statistical
@pytest.mark.parametrize("name", ["uniform", "hard, a few known by heart"])
def test_intervals_at_four_cover(name):
    assert name in FAMILIES
    runs = 40
    found = covered(name, 100, runs)
    assert set(found) == {"pass@1", "pass@4", "pass^4", "alike@4", "within"}
    for measure, (coverage, _) in found.items():
        # fewer with a chance of one in a hundred thousand, if each covers 94 in 100
        assert coverage * runs >= binom.isf(1 - 1e-5, runs, 0.94), measure


def test_many_answers_do_not_overflow():
    share = subset_share(np.array([1100.0, 550.0, 0.0]), np.array([1100.0] * 3), 500)
    assert share[0] == pytest.approx(1)
    assert 0 <= share[1] < 1e-100
    assert share[2] == 0
