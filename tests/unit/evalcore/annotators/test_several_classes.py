"""More than two classes: agreement against its package, Dawid-Skene and error rates against known truth."""

import krippendorff
import numpy as np
import pytest
from doubles.votes import votes_from
from sklearn.metrics import cohen_kappa_score

from assay.evalcore.annotators.adjudication import Annotation, Votes
from assay.evalcore.annotators.agreement import cohen_kappa, krippendorff_alpha
from assay.evalcore.annotators.answers import ClassAnswers
from assay.evalcore.annotators.error_rates import UNKNOWN, dawid_skene, error_rates
from assay.evalcore.annotators.quality import NOT_CORRECTED, AnsweredRound, annotator_quality
from assay.evalcore.annotators.rules import Rule


def answers(seed: int, k: int, wrong: float = 0.3, missing: float = 0.0, items: int = 60) -> np.ndarray:
    """(people, items) answers 0..k-1 of four people; NaN where somebody did not answer."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(k, size=items)
    said = np.where(rng.random((4, items)) < wrong, rng.integers(k, size=(4, items)), truth).astype(float)
    said[rng.random(said.shape) < missing] = np.nan
    return said


def votes_in(said: np.ndarray, k: int) -> Votes:
    return votes_from([[None if np.isnan(one) else int(one) for one in item] for item in said.T], k)


@pytest.mark.parametrize("level", ["nominal", "ordinal"])
@pytest.mark.parametrize("missing", [0.0, 0.4])
@pytest.mark.parametrize("k", [3, 7])
def test_alpha_is_that_of_its_package_at_each_level(k, missing, level):
    said = answers(k, k, missing=missing)
    theirs = krippendorff.alpha(
        reliability_data=said, level_of_measurement=level, value_domain=list(range(k))
    )
    got = krippendorff_alpha(votes_in(said, k), 0.95, np.random.default_rng(0), level)
    assert got.value == pytest.approx(theirs)
    assert got.lower < got.value < got.upper


def test_cohens_kappa_is_that_of_scikit_learn_with_five_classes():
    first, second = answers(1, 5)[:2].astype(int)
    got = cohen_kappa(first, second, 0.95, n_classes=5)
    assert got.value == pytest.approx(cohen_kappa_score(first, second))


def test_dawid_skene_does_not_depend_on_the_order_of_the_classes():
    votes = votes_in(answers(2, 4), 4)
    turned = np.array([2, 0, 3, 1])
    renamed = Votes(items=votes.items, annotators=votes.annotators, item=votes.item,
                    annotator=votes.annotator, label=turned[votes.label], n_classes=4)
    np.testing.assert_allclose(dawid_skene(renamed).truth[:, turned], dawid_skene(votes).truth, atol=1e-9)


def test_one_person_who_is_right_outweighs_two_who_confuse_the_same_classes():
    # p0 is right; p1 and p2 each call class 2 class 1, and are right on the rest. Gold says so.
    truth = [0, 1, 2] * 20
    rows = [[y, min(y, 1), min(y, 1)] for y in truth]
    known = np.where(np.arange(60) < 45, truth, UNKNOWN)
    assert dawid_skene(votes_from(rows, 3), known).decided().tolist() == truth
    assert votes_from(rows, 3).counts.argmax(axis=1)[2] == 1   # a majority is wrong


def test_a_tie_of_the_best_two_of_three_classes_is_left_open():
    # one vote for 0 and one for 1, from people of whom nothing else is known
    assert dawid_skene(votes_from([[0, 1]], 3)).decided().tolist() == [-1]


@pytest.mark.parametrize("gold", [0, 40])
def test_one_error_rate_a_person_is_found_from_gold_and_from_shared_items(gold):
    rng = np.random.default_rng(5)
    wrong, truth = (0.05, 0.15, 0.4), rng.integers(6, size=300)
    rows = [
        [int((y + rng.integers(1, 6)) % 6) if rng.random() < e else y for e in wrong] for y in truth.tolist()
    ]
    known = np.where(np.arange(300) < gold, truth, UNKNOWN)
    rates = error_rates(votes_from(rows, 6), known, truth * 0, np.random.default_rng(0))
    low, high = np.quantile(rates.draws[:, :, 0], [0.0005, 0.9995], axis=0)
    assert ((low < wrong) & (wrong < high)).all()
    assert (rates.gold, rates.repeated) == (bool(gold), True)


def test_gold_alone_gives_the_beta_posterior():
    # 40 gold answers, 8 wrong: Beta(8.5, 32.5), whose mean is 0.2073; guessing (3/4) is far away
    rows = [[0 if i < 8 else 1] for i in range(40)]
    rates = error_rates(votes_from(rows, 4), np.ones(40, int), np.zeros(40, int), np.random.default_rng(0))
    assert rates.draws.mean() == pytest.approx(0.2073, abs=0.01)


def test_quality_of_three_classes_counts_gold_by_truth_and_corrects_nothing():
    given = {"i1": ("a", "a"), "i2": ("b", "c"), "g1": ("c", "b"), "g2": ("a", "a")}
    said = [
        Annotation(item_id=item, annotation_id=f"{who}-{item}", annotator=who, kind="label", label=word,
                   updated_at="")
        for item, two in given.items() for who, word in zip(("ann", "bob"), two, strict=True)
    ]
    one = AnsweredRound(
        number=1, item_id=("i1", "i2"), prediction=np.array([0, 1]), label=np.array([0, -1]),
        positive=np.zeros(2), stands_for=np.ones(2), again={}, again_alone=False, answers=said,
    )
    rule = Rule(kind=ClassAnswers(codes={"a": 0, "b": 1, "c": 2}), number=1, annotators=2,
                gold={(1, "g1"): 2, (1, "g2"): 0})
    got = annotator_quality([one], rule, None, 0.95, np.random.default_rng(0))
    ann, bob = got.people
    assert (ann.gold.answers, ann.gold.wrong) == ((1, 0, 1), (0, 0, 0))
    assert (bob.gold.answers, bob.gold.wrong) == ((1, 0, 1), (0, 0, 1))
    assert ann.errors is None
    assert 0 < ann.wrong.mean < bob.wrong.mean
    assert (got.correction.reason, got.correction.estimates) == (NOT_CORRECTED, ())
