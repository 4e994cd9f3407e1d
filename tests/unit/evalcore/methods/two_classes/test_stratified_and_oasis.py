"""Stratified sampling and OASIS on three cells, worked by hand."""

from dataclasses import replace

import numpy as np
import pytest

from assay.evalcore.estimators.importance import WeightSums
from assay.evalcore.measures.registry import measure
from assay.evalcore.methods.registry import method
from assay.evalcore.methods.two_classes.oasis import Oasis
from assay.evalcore.methods.two_classes.stratified import Stratified
from assay.evalcore.pool.strata import Cells


def three_cells():
    """Stratum 0: 60 predicted negatives. Stratum 1: 30 negatives and 10 positives."""
    return Cells(
        stratum=np.array([0, 1, 1]), prediction=np.array([0, 0, 1]), size=np.array([60, 30, 10]),
        mean_score=np.array([-2.0, -0.5, 1.0]), mean_probability=np.array([0.1, 0.2, 0.8]),
        log_density=np.zeros(3), n_slots=2,
    )


def test_proportional_allocation_gives_every_item_the_same_chance():
    m = Stratified()
    state = m.start(three_cells(), [measure("accuracy")], 1)
    assert m.propose(state, np.array([20])).unlabelled[0] == pytest.approx([0.2, 0.2, 0.2])


def test_neyman_allocation_follows_the_spread_of_the_cells():
    # accuracy: every label pulls alike, so n_c ∝ N_c √(p (1 - p)) = 60 · 0.3, 30 · 0.4, 10 · 0.4.  Labels of
    # both kinds in every cell leave nothing unseen, so none of the labels are spread evenly
    m = Stratified(allocation="neyman")
    state = m.start(three_cells(), [measure("accuracy")], 1)
    state = replace(state, labelled=np.array([[[2, 1], [1, 1], [1, 1]]]))
    design = m.propose(state, np.array([27]))
    assert design.left[0] * design.unlabelled[0] + [3, 2, 2] == pytest.approx([18, 12, 4], abs=1e-6)


def test_what_no_label_has_shown_asks_for_labels_everywhere():
    # without a label nobody knows what the cells that should be sure are
    m = Stratified(allocation="neyman")
    cells = replace(three_cells(), mean_probability=np.array([1e-6, 0.5, 0.5]))
    state = m.start(cells, [measure("accuracy")], 1)
    design = m.propose(state, np.array([20]))
    assert 4 < (design.left[0] * design.unlabelled[0])[0] < 20


def test_a_round_makes_up_for_the_cells_that_lag_behind():
    # 20 labels in proportion are 12, 6, 2; with 15, 5 and 0 there, the round of 10 that leads to 30, which
    # are 18, 9, 3 in proportion, is 3, 4, 3
    m = Stratified()
    state = m.start(three_cells(), [measure("accuracy")], 1)
    state = replace(state, labelled=np.array([[[15, 0], [5, 0], [0, 0]]]))
    design = m.propose(state, np.array([10]))
    assert design.left[0] * design.unlabelled[0] == pytest.approx([3, 4, 3])


def test_the_online_allocation_learns_from_the_labels():
    # cell 0 turned out pure, cell 1 mixed, and supplied probabilities count for OWN = 16 labels
    m = Stratified(allocation="online")
    state = m.start(three_cells(), [measure("accuracy")], 1)
    state = replace(state, labelled=np.array([[[10, 0], [5, 5], [0, 0]]]))
    design = m.propose(state, np.array([4]))
    assert design.model[0] == pytest.approx([(16 * 0.1) / 26, (5 + 16 * 0.2) / 26, 0.8])
    before = m.propose(m.start(three_cells(), [measure("accuracy")], 1), np.array([24]))
    assert design.unlabelled[0, 1] * 30 + 10 > before.unlabelled[0, 1] * 30


def test_the_stratified_estimate_by_hand():
    # p̂ = 0, 2/5, 3/4: TP = 3 + 6 · 3/4 = 7.5 of 10; misses 0 + (2 + 25 · 2/5) = 12; recall 7.5/19.5
    m = Stratified()
    state = m.start(three_cells(), [measure("recall"), measure("precision")], 1)
    state = replace(state, labelled=np.array([[[6, 0], [3, 2], [1, 3]]]))
    recall, precision = m.estimate(state, 0.95, np.random.default_rng(0))
    assert recall.value[0] == pytest.approx(7.5 / 19.5)
    assert precision.value[0] == pytest.approx(0.75)
    # of the 6 unlabelled predicted positives.  Squares found: 0, 1.2, 0.75; expected by the probabilities:
    # 0.09, 0.16, 0.16 a label, 0.1155 in the mean of the 85 unlabelled items, which counts for 12 labels
    average = (54 * 0.09 + 25 * 0.16 + 6 * 0.16) / 85
    scale = (1.95 + 12 * average) / (6 * 0.09 + 5 * 0.16 + 4 * 0.16 + 12 * average)
    spread = (0.75 + 3 * 0.16 * scale) / (3 + 3)
    assert precision.variance[0] == pytest.approx(6 * (6 / 4 + 1) * spread / 10**2)
    assert precision.lower[0] < 0.75 < precision.upper[0] <= 1


def test_a_cell_without_labels_takes_the_rate_of_its_like():
    # only cell 1 of the predicted negatives is labelled: its 1/4 stands for all 90 of them
    m = Stratified()
    state = m.start(three_cells(), [measure("recall")], 1)
    state = replace(state, labelled=np.array([[[0, 0], [3, 1], [0, 10]]]))
    (recall,) = m.estimate(state, 0.95, np.random.default_rng(0))
    assert recall.value[0] == pytest.approx(10 / (10 + 60 / 4 + 1 + 26 / 4))


def test_a_prediction_nobody_labelled_leaves_the_measure_undefined():
    m = Stratified()
    state = m.start(three_cells(), [measure("recall"), measure("precision")], 1)
    state = replace(state, labelled=np.array([[[0, 0], [0, 0], [2, 2]]]))
    recall, precision = m.estimate(state, 0.95, np.random.default_rng(0))
    assert np.isnan(recall.value[0])
    assert precision.value[0] == pytest.approx(0.5)


def test_oasis_believes_the_prior_less_with_every_draw():
    # stratum 1 holds 30 items of 0.2 and 10 of 0.8: prior 0.35.  After 4 draws, one positive, the prior is
    # worth 1/4 of a draw: (0.35/4 + 1)/(1/4 + 4)
    m = Oasis()
    state = m.start(three_cells(), [measure("f1")], 1)
    assert m.positive_rate(state)[0] == pytest.approx([0.1, 0.35])
    state = replace(state, drawn=np.array([[[0, 0], [3, 1]]]))
    assert m.positive_rate(state)[0] == pytest.approx([0.1, (0.35 / 4 + 1) / 4.25])


def test_oasis_draws_strata_by_the_formula_of_its_paper():
    m = Oasis(epsilon=0.01)
    state = m.start(three_cells(), [measure("f1")], 1)
    design = m.propose(state, np.array([5]))
    share, predicted, rate = np.array([0.6, 0.4]), np.array([0.0, 0.25]), np.array([0.1, 0.35])
    # α = 1/2; F from the prior: hits 0.4 · 0.25 · 0.35, positives 0.6 · 0.1 + 0.4 · 0.35
    hits, positives, called = 0.4 * 0.25 * 0.35, 0.2, 0.1
    f = hits / (0.5 * called + 0.5 * positives)
    v = share * (
        (1 - predicted) * 0.5 * f * np.sqrt(rate)
        + predicted * np.sqrt(0.25 * f**2 * (1 - rate) + (1 - f) ** 2 * rate)
    )
    q = 0.01 * share + 0.99 * v / v.sum()
    assert design.unlabelled[0] == pytest.approx([q[0] / 60, q[1] / 40, q[1] / 40])


def test_oasis_uses_its_running_estimate_once_there_is_one():
    m = Oasis()
    state = m.start(three_cells(), [measure("recall")], 1)
    weight = np.array([[[0.0, 3.0], [0.0, 1.0]]])                  # misses 3, hits 1: recall 1/4
    sums = replace(WeightSums.none(1), weight=weight, say=np.array([4.0]), draws=np.array([4]))
    design = m.propose(replace(state, sums=sums), np.array([5]))
    share, predicted, rate = np.array([0.6, 0.4]), np.array([0.0, 0.25]), np.array([0.1, 0.35])
    v = share * np.sqrt(rate) * ((1 - predicted) * 0.25 + predicted * 0.75)
    q = 0.001 * share + 0.999 * v / v.sum()
    assert design.unlabelled[0] == pytest.approx([q[0] / 60, q[1] / 40, q[1] / 40])


def test_an_allocation_in_a_setting_is_said_of_as_the_method_of_its_own_name():
    for allocation in ("neyman", "online"):
        setting, own_name = method(f"stratified:allocation={allocation}"), method(f"stratified-{allocation}")
        assert setting.interval_note == own_name.interval_note
        assert setting.capabilities == own_name.capabilities
        assert setting.written == f"stratified:allocation={allocation}"
