"""Appendix D of Yilmaz et al. (2021) against sums over all label sets and finite differences, and by hand."""

from itertools import product

import numpy as np
import pytest

from benchmarks.reproduce.tags_of_appendix_d import (
    chances,
    estimate_macro,
    estimate_micro,
    macro_f1,
    macro_squares,
    micro_f,
    micro_squares,
    outcomes,
    slopes,
    softened,
)

RNG = np.random.default_rng(4)
P = RNG.uniform(0.05, 0.9, (7, 3))
PREDICTED = P > 0.4


def mean_over_label_sets(p, square):
    """Σ over the 2^K label sets of an item of its chance times square(labels)."""
    return sum(
        np.prod(np.where(v, p, 1 - p)) * square(np.array(v, float)) for v in product((0, 1), repeat=len(p))
    )


def test_softening_by_hand():
    assert softened(np.array([1.0, 0.5, 0.0])).tolist() == pytest.approx([0.95, 0.5, 0.05])


def test_micro_f1_by_hand():
    # two tags: 3 hits of 5 predicted and 4 true, 1 hit of 1 predicted and 2 true: 2 · 4 / (6 + 6)
    hits, predicted, true = np.array([3.0, 1]), np.array([5.0, 1]), np.array([4.0, 2])
    assert micro_f(hits, predicted, true) == pytest.approx(8 / 12)
    assert micro_f(hits, predicted, true, alpha=1.0) == pytest.approx(4 / 6)
    # mean precision (3/5 + 1)/2 = .8, mean recall (3/4 + 1/2)/2 = .625; their harmonic mean
    assert macro_f1(hits, predicted, true) == pytest.approx(2 * 0.8 * 0.625 / 1.425)


@pytest.mark.parametrize("alpha", [0.5, 0.2])
def test_equations_95_to_97_are_the_mean_square_over_all_label_sets(alpha):
    f = PREDICTED.astype(float)
    value = (f * P).sum() / (alpha * f + (1 - alpha) * P).sum()
    for n in range(len(P)):
        def square(v, n=n):
            hit, below = (f[n] * v).sum(), (alpha * f[n] + (1 - alpha) * v).sum()
            return (hit - value * below) ** 2
        assert micro_squares(PREDICTED, P, alpha)[n] == pytest.approx(mean_over_label_sets(P[n], square))


def test_the_slopes_of_macro_f1_agree_with_finite_differences():
    at = [RNG.uniform(0.1, 0.4, 4) for _ in range(3)]

    def value(a, b, c):
        return float(macro_f1(a, a + b, a + c))

    for which, by in enumerate(slopes(*at)):
        for k in range(4):
            up, down = [x.copy() for x in at], [x.copy() for x in at]
            up[which][k] += 1e-6
            down[which][k] -= 1e-6
            assert by[k] == pytest.approx((value(*up) - value(*down)) / 2e-6, rel=1e-6)
    # F does not change when all counts double
    assert sum((x * by).sum() for x, by in zip(at, slopes(*at), strict=True)) == pytest.approx(0, abs=1e-12)


def test_macro_deviations_are_the_mean_square_over_all_label_sets_and_as_printed_without_products():
    by = slopes(*(x.mean(axis=0) for x in outcomes(PREDICTED, P)))
    ours, printed = macro_squares(PREDICTED, P), macro_squares(PREDICTED, P, printed=True)
    for n in range(len(P)):
        def each(v, n=n):
            f = PREDICTED[n].astype(float)
            return f * v * by[0] + f * (1 - v) * by[1] + (1 - f) * v * by[2]
        assert ours[n] == pytest.approx(mean_over_label_sets(P[n], lambda v, each=each: each(v).sum() ** 2))
        assert printed[n] == pytest.approx(
            mean_over_label_sets(P[n], lambda v, each=each: (each(v) ** 2).sum())
        )
    assert not np.allclose(ours, printed)


def test_what_the_products_make_of_the_variance():
    # two tags that always come together, with known labels: (2 ψ)² and not 2 ψ²
    known = (RNG.random((60, 1)) < 0.5).astype(float)
    twice, said = np.repeat(known, 2, axis=1), np.repeat(RNG.random((60, 1)) < 0.5, 2, axis=1)
    printed = macro_squares(said, twice, printed=True)
    assert macro_squares(said, twice) == pytest.approx(2 * printed)
    # six independent tags whose probabilities are right
    rng = np.random.default_rng(1)
    p = rng.beta(0.3, 2, (300, 6))
    ratio = macro_squares(p > 0.4, p).sum() / macro_squares(p > 0.4, p, printed=True).sum()
    assert ratio == pytest.approx(1.009, abs=5e-4)


def test_one_tag_has_no_products():
    one = PREDICTED[:, :1], P[:, :1]
    assert macro_squares(*one) == pytest.approx(macro_squares(*one, printed=True))


def test_all_labels_give_the_exact_measures_and_no_variance():
    label = (RNG.random(P.shape) < P).astype(float)
    label[0] = PREDICTED[0] = True
    b = chances(micro_squares(PREDICTED, P), len(P))
    assert b.tolist() == [1] * len(P)
    f = PREDICTED.astype(float)
    totals = [(f * label).sum(axis=0), f.sum(axis=0), label.sum(axis=0)]
    for estimate, exact in [(estimate_micro, micro_f), (estimate_macro, macro_f1)]:
        found = estimate(PREDICTED, label, b)
        assert found.value == pytest.approx(float(exact(*totals)))
        assert found.variance == 0


@pytest.mark.parametrize("estimate", [estimate_micro, estimate_macro])
def test_the_variance_is_that_of_repeated_draws(estimate):
    rng = np.random.default_rng(8)
    label = (rng.random((500, 3)) < 0.4).astype(float)
    predicted = label.astype(bool) ^ (rng.random((500, 3)) < 0.2)
    b = rng.uniform(0.3, 1, 500)
    found = []
    for _ in range(1500):
        s = rng.random(500) < b
        found.append(estimate(predicted[s], label[s], b[s]))
    values, variances = np.array([(e.value, e.variance) for e in found]).T
    # a variance of 1,500 draws has a standard error of √(2/1500) = 3.7%: 4.9 of them, and 5% for curvature
    assert variances.mean() == pytest.approx(values.var(), rel=0.23)
    exact = estimate(predicted, label, np.ones(500)).value
    assert abs(values.mean() - exact) < 4.9 * values.std() / np.sqrt(1500) + 2 * values.var() / exact


def test_items_with_more_in_them_are_likelier_to_be_drawn_and_the_labels_are_spent():
    b = chances(micro_squares(PREDICTED, P), 3)
    assert b.sum() == pytest.approx(3)
    assert (np.diff(b[np.argsort(micro_squares(PREDICTED, P))]) >= 0).all()
