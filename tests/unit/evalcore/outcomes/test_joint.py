"""Items grouped by what several systems predict of them together."""

import numpy as np

from assay.evalcore.outcomes.items import MOST_JOINT_GROUPS, Items, OneShard, by_mean, joint_predictions


def joint_groups(prediction, spread):
    joint = joint_predictions(OneShard(Items(prediction=prediction)))
    group = joint.group_numbers(prediction)
    sizes, totals = (np.bincount(group, weights=w, minlength=joint.groups) for w in (None, spread))
    return by_mean(sizes, totals)[group]


def test_each_frequent_joint_prediction_is_a_group_in_the_order_of_its_spread():
    prediction = np.array([[0, 0], [0, 1], [1, 0], [0, 0], [0, 1], [1, 1]], float)
    spread = np.array([0.0, 0.5, 0.4, 0.0, 0.7, 0.1])
    # means of the spread: (0, 0) 0, (0, 1) 0.6, (1, 0) 0.4, (1, 1) 0.1; the group of the rest is empty
    group = joint_groups(prediction, spread)
    assert group[0] == group[3] < group[5] < group[2] < group[1] == group[4]


def test_what_is_rare_is_one_group():
    rng = np.random.default_rng(1)
    prediction = rng.integers(0, 5, (3000, 8)).astype(float)
    prediction[:1000] = 1.0
    group = joint_groups(prediction, rng.random(3000))
    assert len(np.unique(group)) == MOST_JOINT_GROUPS + 1
    assert len(np.unique(group[:1000])) == 1
