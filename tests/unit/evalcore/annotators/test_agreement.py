"""Agreement: worked by hand, against other libraries, and undefined where there is nothing to agree on.

evalcore takes numpy and scipy only, so the libraries are of the tests: scikit-learn and statsmodels for two
people and for Fleiss' kappa of complete tables, `krippendorff` for alpha with votes missing.
"""

import krippendorff
import numpy as np
import pytest
from doubles.votes import simulated_votes, votes_from
from scipy.stats import norm
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats import inter_rater

from assay.evalcore.annotators.agreement import agreements, cohen_kappa, fleiss_kappa, krippendorff_alpha


def test_cohens_kappa_worked_by_hand():
    # table [[20, 5], [10, 15]]: p_o = 35/50 = 0.7; margins 25/50, 30/50, so p_e = 0.5·0.6 + 0.5·0.4 = 0.5;
    # κ = 0.2/0.5 = 0.4
    first = np.repeat([0, 0, 1, 1], [20, 5, 10, 15])
    second = np.repeat([0, 1, 0, 1], [20, 5, 10, 15])
    got = cohen_kappa(first, second, 0.95)
    assert (got.value, got.agreed, got.items) == (pytest.approx(0.4), pytest.approx(0.7), 50)
    # Fleiss, Cohen and Everitt: Σ p_ii (1 − (p_i. + p_.i)·0.6)² = 0.4·(1 − 1.1·0.6)² + 0.3·(1 − 0.9·0.6)²
    # = 0.4·0.1156 + 0.3·0.2116 = 0.10972; 0.36·Σ p_ij (p_.i + p_j.)²: p_01 (0.6 + 0.5)² and p_10 (0.4 + 0.5)²
    # = 0.36·(0.1·1.21 + 0.2·0.81) = 0.10188; minus (0.4 − 0.5·0.6)² = 0.01; /(50·0.25) = 0.016128
    half = 1.959964 * np.sqrt(0.2016 / 12.5)
    assert got.upper - got.value == pytest.approx(half, rel=1e-5)


@pytest.mark.parametrize("seed", range(5))
def test_cohens_kappa_is_that_of_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    first = (rng.random(60) < 0.4).astype(int)
    second = np.where(rng.random(60) < 0.2, 1 - first, first)
    assert cohen_kappa(first, second, 0.9).value == pytest.approx(cohen_kappa_score(first, second))


def random_answers(seed: int, missing: float = 0.0) -> np.ndarray:
    """(people, items) answers 0 or 1, each wrong once in five times; NaN where somebody did not answer."""
    rng = np.random.default_rng(seed)
    truth = rng.random(40) < 0.4
    answers = np.where(rng.random((4, 40)) < 0.2, ~truth, truth).astype(float)
    answers[rng.random(answers.shape) < missing] = np.nan
    return answers


def votes_in(answers: np.ndarray):
    return votes_from([[None if np.isnan(one) else int(one) for one in item] for item in answers.T])


@pytest.mark.parametrize("seed", range(5))
def test_cohens_kappa_and_its_interval_are_those_of_statsmodels(seed):
    first, second = random_answers(seed)[:2].astype(int)
    table = np.zeros((2, 2))
    np.add.at(table, (first, second), 1)
    theirs = inter_rater.cohens_kappa(table)
    got = cohen_kappa(first, second, 0.9)
    assert got.value == pytest.approx(theirs.kappa)
    assert (got.upper - got.lower) / 2 == pytest.approx(norm.ppf(0.95) * theirs.std_kappa)


@pytest.mark.parametrize("seed", range(5))
def test_fleiss_kappa_is_that_of_statsmodels_where_everybody_answered(seed):
    answers = random_answers(seed)
    theirs = inter_rater.fleiss_kappa(inter_rater.aggregate_raters(answers.T.astype(int))[0])
    assert fleiss_kappa(votes_in(answers), 0.95).value == pytest.approx(theirs)


@pytest.mark.parametrize("missing", [0.0, 0.3, 0.6])
@pytest.mark.parametrize("seed", range(5))
def test_krippendorffs_alpha_is_that_of_its_package_with_votes_missing(seed, missing):
    answers = random_answers(seed, missing)
    theirs = krippendorff.alpha(reliability_data=answers, level_of_measurement="nominal")
    got = krippendorff_alpha(votes_in(answers), 0.95, np.random.default_rng(seed))
    assert got.value == pytest.approx(theirs)


def test_fleiss_kappa_worked_by_hand():
    # four items, three votes each: positives 3, 0, 2, 1; agreement per item 1, 1, 1/3, 1/3: mean 2/3;
    # p_1 = 6/12 = 1/2, so p_e = 1/2 and κ = (2/3 − 1/2)/(1/2) = 1/3
    got = fleiss_kappa(votes_from([[1, 1, 1], [0, 0, 0], [1, 1, 0], [1, 0, 0]]), 0.95)
    assert got.value == pytest.approx(1 / 3)


def test_krippendorffs_alpha_worked_by_hand():
    # the same table: coincidences o_01 + o_10 = Σ 2 n_0 n_1 / (3 − 1) = 2 + 2 = 4 of n = 12; n_0 = n_1 = 6;
    # α = 1 − 11·4 / (2·36) = 1 − 44/72
    votes = votes_from([[1, 1, 1], [0, 0, 0], [1, 1, 0], [1, 0, 0]])
    got = krippendorff_alpha(votes, 0.95, np.random.default_rng(0))
    assert got.value == pytest.approx(1 - 44 / 72)
    assert got.lower <= got.value <= got.upper


def test_missing_votes_only_leave_their_pairs_out():
    # the third annotator saw nothing that pairs with others there: items with one vote do not count
    whole = votes_from([[1, 1], [0, 0], [1, 0], [0, 0]])
    more = votes_from([[1, 1, None], [0, 0, None], [1, 0, None], [0, 0, None], [None, None, 1]])
    rng = np.random.default_rng
    assert krippendorff_alpha(more, 0.95, rng(0)).value == krippendorff_alpha(whole, 0.95, rng(0)).value
    assert fleiss_kappa(more, 0.95).value == fleiss_kappa(whole, 0.95).value


def test_one_class_only_is_undefined_and_says_so():
    for got in agreements(votes_from([[0, 0], [0, 0], [0, 0]]), 0.95, np.random.default_rng(0)):
        assert (got.value, got.lower, got.upper, got.agreed) == (None, None, None, 1.0)
        assert got.undefined_reason == "all votes are of one class"


def test_no_shared_item_is_undefined_and_pairs_without_one_are_left_out():
    got = agreements(votes_from([[0, None], [None, 1]]), 0.95, np.random.default_rng(0))
    assert [a.statistic for a in got] == ["fleiss-kappa", "krippendorff-alpha"]
    assert all(a.undefined_reason == "no item was answered by two people" for a in got)


def test_everybody_agreeing_always_is_one_without_an_interval():
    # no disagreement was seen: the variance is 0, which is ignorance
    got = cohen_kappa(np.array([0, 1, 0, 1]), np.array([0, 1, 0, 1]), 0.95)
    assert (got.value, got.lower, got.interval) == (pytest.approx(1.0), None, "none")


@pytest.mark.statistical
def test_the_intervals_of_kappa_and_alpha_cover():
    # two people who err on 10% of both classes, half positives: p_o = 0.82, p_e = 0.5, κ = α = 0.64 in the
    # limit; 400 runs of 150 items. At a true coverage of 92% (small samples) more than 60 misses of 400 have
    # a chance below 1e-5.
    rng = np.random.default_rng(7)
    misses = {"cohen-kappa": 0, "fleiss-kappa": 0}
    for _ in range(400):
        truth = (rng.random(150) < 0.5).astype(int)
        votes = simulated_votes(rng, truth, [[0.1, 0.1]] * 2, 2)
        table = votes.label.reshape(150, 2)[:, np.argsort(votes.annotator[:2])]
        for got in (cohen_kappa(table[:, 0], table[:, 1], 0.95), fleiss_kappa(votes, 0.95)):
            misses[got.statistic] += not got.lower <= 0.64 <= got.upper
    assert max(misses.values()) <= 60
