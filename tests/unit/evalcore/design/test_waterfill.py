"""Water-filling: against worked examples, a convex solver, bisection, and the rule that makes it optimal."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq, minimize

from assay.evalcore.design.draws import predicted_error, waterfill


def one(h, items, labels):
    return waterfill(np.array([h], float), np.array([items]), np.array([labels]))[0]


def test_nothing_saturated_means_shares_in_proportion():
    # H = 1 + 2 + 3 + 4 = 10, b = 2: π = h · 2/10
    assert one([1, 2, 3, 4], [1, 1, 1, 1], 2) == pytest.approx([0.2, 0.4, 0.6, 0.8])


def test_the_saturated_are_certain_and_the_rest_share_what_is_left():
    # b = 3 of h = 10, 1, 1, 1, 1: 10 · 3/14 > 1, so the first is certain; the others share 2: 1 · 2/4
    assert one([10, 1, 1, 1, 1], [1] * 5, 3) == pytest.approx([1, 0.5, 0.5, 0.5, 0.5])


def test_saturating_one_can_saturate_the_next():
    # b = 3 of 8, 4, 1, 1: the first is certain, then 4 · 2/6 > 1, then 1 · 1/2
    assert one([8, 4, 1, 1], [1] * 4, 3) == pytest.approx([1, 1, 0.5, 0.5])


def test_the_weights_after_the_saturated_are_those_of_the_corrected_line_13():
    # M = 12 labels for 20 items: j - 1 are saturated, and h_r (M - (j - 1))/(H - S_{j-1}) is left for others
    h = np.array([30.0, 20, 15, *np.linspace(6, 1, 17)])
    pi = one(h, [1] * 20, 12)
    j = int((pi == 1).sum())
    assert pi.sum() == pytest.approx(12)
    tail = h[j:]
    assert pi[j:] == pytest.approx(tail * (12 - j) / tail.sum())


def printed_algorithm_3(h, labels):
    """Algorithm 3 of Yilmaz et al. (2021), line by line as it is printed; h in falling order."""
    total, so_far, b = h.sum(), 0.0, np.zeros(len(h))
    if labels * h[0] <= total:
        return labels * h / total
    for j in range(1, len(h) + 1):
        so_far += h[j - 1]
        if h[j - 1] * (labels - j) / (total - so_far) <= 1:
            b[: j - 1] = 1
            b[j - 1 :] = h[j - 1 :] * (labels - j) / (total - so_far)
            return b
    raise AssertionError("no j")


@pytest.mark.parametrize(
    ("h", "labels", "sum_of_b"),
    [
        ([4.0, 1, 1], 2, 1.0),                                # b = (1, 0, 0): two items are never drawn
        ([10.0, 4, 3, 2, 1], 3, 8 / 3),
        ([30.0, 20, 15, *np.linspace(6, 1, 17)], 12, 11.897),
    ],
)
def test_the_printed_line_13_does_not_spend_the_labels(h, labels, sum_of_b):
    printed, ours = printed_algorithm_3(np.array(h), labels), one(h, [1] * len(h), labels)
    assert printed.sum() == pytest.approx(sum_of_b, abs=5e-4)
    assert ours.sum() == pytest.approx(labels)
    with np.errstate(divide="ignore"):
        assert (np.array(h) ** 2 / ours).sum() < (np.array(h) ** 2 / printed).sum()


def test_as_many_labels_as_items_make_all_certain_and_items_without_influence_get_none():
    assert one([3, 1, 2], [1, 1, 1], 3) == pytest.approx([1, 1, 1])
    assert one([3, 1, 2], [1, 1, 1], 9) == pytest.approx([1, 1, 1])
    assert one([3, 0, 2], [1, 5, 1], 4) == pytest.approx([1, 0, 1])
    assert one([0, 0], [2, 2], 1) == pytest.approx([0, 0])
    # j = N: all but the smallest saturated, and one label left for it
    assert one([1e9, 1e9, 1], [1, 1, 1], 3) == pytest.approx([1, 1, 1])


def test_the_convex_solver_agrees():
    rng = np.random.default_rng(5)
    for _ in range(10):
        h, u = rng.gamma(0.6, size=6) + 0.02, rng.integers(1, 6, 6)
        b = float(rng.uniform(0.2, 0.9) * u.sum())
        solved = minimize(
            lambda x, h=h, u=u: (u * h**2 / x).sum(),
            np.full(6, b / u.sum()),
            jac=lambda x, h=h, u=u: -u * h**2 / x**2,
            bounds=[(1e-6, 1.0)] * 6,
            constraints={"type": "eq", "fun": lambda x, u=u, b=b: (u * x).sum() - b},
            method="SLSQP",
            options={"maxiter": 1000, "ftol": 1e-14},
        )
        assert one(h, u, b) == pytest.approx(solved.x, abs=2e-4)


@settings(max_examples=200, deadline=None)
@given(
    cells=st.lists(st.tuples(st.floats(1e-12, 1e12), st.integers(0, 1000)), min_size=1, max_size=40),
    share=st.floats(0.001, 0.999),
)
def test_bisection_on_the_water_level_agrees(cells, share):
    h, u = np.array([c[0] for c in cells]), np.array([c[1] for c in cells])
    b = share * u.sum()
    pi = one(h, u, b)
    assert ((pi >= 0) & (pi <= 1)).all()
    assert (u * pi).sum() == pytest.approx(b, rel=1e-9)
    if u.sum() == 0:
        return

    def over(log_level):
        return (u * np.minimum(1.0, h * np.exp(log_level))).sum() - b

    level = np.exp(brentq(over, -80, 80, xtol=1e-13))
    at = u > 0
    assert pi[at] == pytest.approx(np.minimum(1, h * level)[at], rel=1e-6, abs=1e-300)


def test_repeats_do_not_touch_each_other():
    rng = np.random.default_rng(1)
    h, u, b = rng.gamma(0.5, size=(20, 9)), rng.integers(0, 9, (20, 9)), rng.integers(1, 20, 20)
    together = waterfill(h, u, b)
    for r in range(20):
        assert np.array_equal(together[r], waterfill(h[r : r + 1], u[r : r + 1], b[r : r + 1])[0])


def test_a_cell_of_many_items_is_as_many_cells_of_one():
    h, u = np.array([5.0, 2.0, 0.5]), np.array([3, 10, 40])
    spread = one(np.repeat(h, u), np.ones(53, int), 12)
    assert np.repeat(one(h, u, 12), u) == pytest.approx(spread)


def test_the_predicted_error_is_zero_when_all_are_certain_and_infinite_when_one_is_impossible():
    h, u = np.array([[2.0, 1.0]]), np.array([[3, 5]])
    # 3 · 4 (1/0.5 - 1) + 5 · 1 (1/0.25 - 1) = 12 + 15
    assert predicted_error(h, u, np.array([[0.5, 0.25]])) == pytest.approx([27])
    assert predicted_error(h, u, np.array([[1.0, 1.0]])) == pytest.approx([0])
    assert np.isinf(predicted_error(h, u, np.array([[1.0, 0.0]]))[0])
