"""Recycled samples: who asks what, what it saves, and precision and recall worked by hand."""

import numpy as np
import pytest

from assay.evalcore.errors import BadInput
from assay.evalcore.recycled import (
    Overlaps,
    RateEstimate,
    RecycledPlan,
    plan_recycled,
    precisions,
    recalls,
    simple_rate,
)


def two_systems(only_child, only_parent, both, neither=0):
    """Atoms in the order 00, 01, 10, 11 of (parent, child)."""
    member = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], np.bool_)
    return Overlaps(member=member, size=np.array([neither, only_child, only_parent, both]))


def made_plan(overlaps, option, sample, ask):
    return RecycledPlan(
        overlaps=overlaps, option=option, sample=np.array(sample), ask=np.array(ask, np.int64)
    )


def test_every_system_gets_its_whole_sample_from_its_own_positives():
    overlaps = two_systems(300, 500, 200, neither=9000)
    plan = plan_recycled(overlaps, [100, 80], "exact", np.random.default_rng(1))
    assert plan.sample.sum(axis=1).tolist() == [100, 80]
    assert (plan.sample[~overlaps.member.T] == 0).all()
    assert (plan.ask == plan.sample.max(axis=0)).all()
    assert plan.separate == 180
    assert plan.labels + plan.recycled == 180
    assert plan.saved == pytest.approx(plan.recycled / 180)


def test_a_child_inside_its_parent_costs_only_what_the_parent_s_sample_lacks():
    # the child is the whole parent: all of it is recycled
    plan = plan_recycled(two_systems(0, 0, 400), [50, 50], "exact", np.random.default_rng(2))
    assert (plan.labels, plan.recycled) == (50, 50)
    # no overlap: nothing is
    plan = plan_recycled(two_systems(400, 400, 0), [50, 50], "exact", np.random.default_rng(2))
    assert (plan.labels, plan.recycled) == (100, 0)


def test_samples_are_cut_to_what_a_system_calls_positive():
    plan = plan_recycled(two_systems(0, 30, 10), [100, 100], "exact", np.random.default_rng(3))
    assert plan.sample.sum(axis=1).tolist() == [40, 10]
    assert plan.labels == 40


def test_precisions_by_hand_with_either_option():
    overlaps = two_systems(only_child=100, only_parent=300, both=100)
    labels = [[], [1, 0, 1, 1, 0], [1, 1, 0, 0], [1, 1, 1, 0, 1, 1]]
    plan = made_plan(overlaps, "exact", [[0, 0, 4, 4], [0, 5, 0, 6]], [0, 5, 4, 6])
    parent, child = precisions(plan, labels)
    # the parent's sample is the first 4 of each of its atoms: 2 + 3 of 8; the child's is 3 + 5 of 11
    assert parent.value == pytest.approx(5 / 8)
    assert child.value == pytest.approx(8 / 11)
    # (1 - n/N) p (1 - p) / (n - 1)
    assert parent.variance == pytest.approx((1 - 8 / 400) * (5 / 8) * (3 / 8) / 7)
    parent, child = precisions(made_plan(overlaps, "all", plan.sample, plan.ask), labels)
    # all labels, atoms by their share of the system: ¾ · 2/4 + ¼ · 5/6, and ½ · 3/5 + ½ · 5/6
    assert parent.value == pytest.approx(0.75 * 0.5 + 0.25 * 5 / 6)
    assert child.value == pytest.approx(0.5 * 0.6 + 0.5 * 5 / 6)
    assert parent.labels == 10


def test_the_wrong_number_of_labels_is_refused():
    plan = made_plan(two_systems(5, 5, 5), "exact", [[0, 0, 2, 1], [0, 1, 0, 2]], [0, 1, 2, 2])
    with pytest.raises(BadInput, match="labels of its atoms"):
        precisions(plan, [[], [1], [1], [0, 1]])


def test_a_census_is_exact_and_a_rate_of_one_from_a_sample_is_not():
    census, sample = simple_rate(7, 10, 10), simple_rate(10, 10, 100)
    assert (census.value, census.lower, census.upper) == (0.7, 0.7, 0.7)
    assert sample.value == 1.0
    assert sample.lower < 0.9


def test_recall_follows_from_precisions_and_one_false_omission_rate():
    overlaps = two_systems(only_child=100, only_parent=300, both=100, neither=9500)

    def known(value, variance, labels):
        return RateEstimate(value=value, lower=0.0, upper=1.0, variance=variance, labels=labels)

    precision = [known(0.8, 4e-4, 100), known(0.5, 9e-4, 80)]
    omission = known(0.01, 1e-6, 300)
    parent, child = recalls(overlaps, precision, omission)
    # the parent's 400 positives hold 320 true ones, the 9,600 others 96: 416 in all
    assert parent.value == pytest.approx(320 / 416)
    assert child.value == pytest.approx(0.5 * 200 / 416)
    # Var: (1 - r)² Var T + r² Var F over 416² for the parent
    r, var_t, var_f = 320 / 416, 400**2 * 4e-4, 9600**2 * 1e-6
    assert parent.variance == pytest.approx(((1 - r) ** 2 * var_t + r**2 * var_f) / 416**2)
    r = 100 / 416
    assert child.variance == pytest.approx((200**2 * 9e-4 + r**2 * (var_t + var_f)) / 416**2)


def test_recall_without_a_known_positive_is_not_known():
    overlaps = two_systems(10, 10, 0, neither=100)
    nothing = simple_rate(0, 5, 10)
    for estimate in recalls(overlaps, [nothing, nothing], simple_rate(0, 20, 110)):
        assert estimate.value is None
        assert (estimate.lower, estimate.upper) == (0.0, 1.0)
