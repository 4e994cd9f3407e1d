"""Judges against labels: figures with weights, what a judge explains, and what an evaluation saved."""

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from assay.evalcore.measures.registry import outcome_measure
from assay.evalcore.outcomes.classes import Classes
from assay.evalcore.outcomes.items import Items
from assay.evalcore.outcomes.numbers import Numbers
from assay.evalcore.weighted.judges import Judge, JudgedPool, figures_of_judges
from assay.evalcore.weighted.sample import WeightedSample

RNG = np.random.default_rng(5)
N, POOL = 200, 2000
KIND = Classes(("no", "yes"))
GRADES = Classes(("1", "2", "3"), (1.0, 2.0, 3.0))
WEIGHT = 1 + 18 * RNG.random(N)
LABEL = RNG.integers(0, 2, N).astype(float)
GUESS = np.where(RNG.random(N) < 0.2, 1 - LABEL, LABEL)


def a_sample(label, exact=False):
    n = len(label)
    none, weight = np.zeros(n, np.int64), WEIGHT[:n]
    return WeightedSample(
        cell=none, rank=np.arange(n), round=none + 1, draw=np.arange(n), label=label, probability=1 / weight,
        weight=weight, factor=weight * (weight - 1), group=none - 1, reached=np.array([True]), exact=exact,
    )


def a_judge(kind, codes, name="judge"):
    return Judge(name=name, codes=codes, phi=kind.phi(codes))


def report(kind, label, *judges, prediction=None, variance=1e-3, first="accuracy", positive=None, **more):
    items = Items(prediction=(GUESS if prediction is None else prediction)[:, None])
    pool = JudgedPool(
        kind=kind, sample=a_sample(label, more.pop("exact", False)), items=items, size=POOL, positive=positive
    )
    return figures_of_judges(
        pool, judges, leading=outcome_measure(first, kind, POOL), variance=variance,
        random_labels=more.pop("random_labels", None), confidence=0.95,
    )


def test_the_figures_of_two_classes_weigh_every_label():
    found = report(KIND, LABEL, a_judge(KIND, GUESS), positive="yes")
    agreement, sensitivity, false_alarms, kappa = found.judges[0].figures
    yes, no = LABEL == 1, LABEL == 0
    assert agreement.value == pytest.approx(WEIGHT[LABEL == GUESS].sum() / WEIGHT.sum())
    assert sensitivity.value == pytest.approx(WEIGHT[yes & (GUESS == 1)].sum() / WEIGHT[yes].sum())
    assert false_alarms.value == pytest.approx(WEIGHT[no & (GUESS == 1)].sum() / WEIGHT[no].sum())
    assert kappa.value == pytest.approx(cohen_kappa_score(LABEL, GUESS, sample_weight=WEIGHT))
    for figure in found.judges[0].figures:
        assert figure.lower < figure.value < figure.upper
    assert [f.figure for f in found.judges[0].figures] == [
        "agreement", "true_positive_rate", "false_positive_rate", "kappa"
    ]


def test_grades_have_weighted_kappa_and_numbers_a_correlation():
    label = RNG.integers(0, 3, N).astype(float)
    guess = np.clip(label + RNG.integers(-1, 2, N), 0, 2)
    figures = report(GRADES, label, a_judge(GRADES, guess), prediction=guess).judges[0].figures
    assert figures[-1].figure == "weighted_kappa"
    assert figures[-1].value == pytest.approx(
        cohen_kappa_score(label, guess, weights="quadratic", sample_weight=WEIGHT)
    )
    kind, y = Numbers(), RNG.normal(size=N)
    x = y + RNG.normal(size=N)
    (figure,) = report(kind, y, a_judge(kind, x), prediction=x, first="mean").judges[0].figures
    cov = np.cov(np.stack([x, y]), aweights=WEIGHT, ddof=0)
    assert figure.figure == "correlation"
    assert figure.value == pytest.approx(cov[0, 1] / np.sqrt(cov[0, 0] * cov[1, 1]))


def test_a_judge_explains_as_much_as_it_knows():
    useless = RNG.integers(0, 2, N).astype(float)
    other = np.where(RNG.random(N) < 0.1, 1 - LABEL, LABEL)
    several = (LABEL, other, useless, GUESS)
    found = report(KIND, LABEL, *(a_judge(KIND, codes) for codes in several))
    perfect, fair, nothing, same = (judge.explains for judge in found.judges)
    assert same == 0, "who agrees with the system on every item knows nothing of its errors"
    assert perfect == pytest.approx(1.0)
    assert nothing < 0.05
    assert nothing < fair < 1


def test_what_was_saved_is_against_a_random_sample_of_the_same_variance():
    accuracy = WEIGHT[LABEL == GUESS].sum() / WEIGHT.sum()
    scatter = accuracy * (1 - accuracy)
    needed = scatter / (2e-4 + scatter / POOL)
    found = report(KIND, LABEL, a_judge(KIND, GUESS), variance=2e-4)
    assert found.random_labels == round(needed)
    assert found.saved == pytest.approx(1 - N / round(needed))
    assert found.saved_at_most == pytest.approx(1 - 100 / round(needed))
    assert report(KIND, LABEL, a_judge(KIND, GUESS), variance=2e-2).saved < 0, "it cost labels"
    assert report(KIND, LABEL, a_judge(KIND, GUESS), random_labels=400).saved == 0.5
    for missing, why in (({"variance": None}, "do not tell"), ({"exact": True}, "is known")):
        found = report(KIND, LABEL, a_judge(KIND, GUESS), **missing)
        assert (found.saved, found.random_labels) == (None, None)
        assert why in found.reason


@pytest.mark.parametrize(("n", "most"), [(60, 2 / 3), (99, 1 - 99 / 180), (100, 4 / 9), (150, 4 / 9)])
def test_the_most_that_could_be_saved_is_never_less_than_what_was_saved(n, most):
    # below 100 labels no target is met: a judge that never errs would have bought these labels too
    found = report(
        KIND, LABEL[:n], a_judge(KIND, GUESS[:n]), prediction=GUESS[:n], random_labels=180
    )
    assert found.saved == pytest.approx(1 - n / 180)
    assert found.saved_at_most == pytest.approx(most)
    assert found.saved_at_most >= found.saved
