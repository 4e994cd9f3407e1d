"""The summary of a window's predictions."""

import numpy as np
import pytest

from assay.evalcore.errors import BadInput
from assay.evalcore.measures.registry import measure
from assay.evalcore.monitoring.profile import (
    MOST_VALUES,
    OTHER,
    Binned,
    Traffic,
    expected_measure,
    profile_of,
)


def test_the_expected_accuracy_is_the_mean_confidence():
    # predicted 1 at 0.9 and 0.7, 0 at 0.2: expected right 0.9 + 0.7 + 0.8 of 3
    p = np.array([0.9, 0.7, 0.2])
    traffic = Traffic(score=np.zeros(3), probability=p, prediction=np.array([1, 1, 0]))
    assert expected_measure(traffic, measure("accuracy")) == pytest.approx(0.8)
    # expected TP 1.6, FP 0.4, FN 0.2: F1 = 3.2/3.8
    assert expected_measure(traffic, measure("f1")) == pytest.approx(3.2 / 3.8)


def test_bins_hold_equal_shares_and_keep_their_edges():
    first = Binned.from_values(np.arange(100.0), 4)
    assert first.counts == (25, 25, 25, 25)
    assert Binned.from_values(np.array([0.0, 0.0, 99.0]), 4, first.edges).counts == (2, 0, 0, 1)
    assert Binned.from_values(np.full(7, 2.0), 4).counts == (0, 7), "an item on an edge belongs above it"


def test_a_later_profile_has_the_edges_of_the_earlier_one_and_rare_values_count_as_one():
    rng = np.random.default_rng(1)

    def traffic(shift, values):
        score = rng.standard_normal(500) + shift
        return Traffic(
            score=score, probability=1 / (1 + np.exp(-score)), prediction=(score > 0).astype(int),
            features={"age": score * 3}, segments={"town": values}, missing={"town": 5},
        )

    first = profile_of(traffic(0.0, {"a": 499, "b": 1}), measure("f1"))
    later = profile_of(traffic(5.0, {f"{i:04d}": 1 for i in range(500)}), measure("f1"), first)
    assert later.scores.edges == first.scores.edges
    assert later.features["age"].edges == first.features["age"].edges
    assert sum(later.scores.counts) == 500
    assert later.segments["town"][OTHER] == 500 - MOST_VALUES
    assert first.missing == {"town": 0.01}


def test_a_ragged_window_is_refused():
    with pytest.raises(BadInput, match="do not describe one window"):
        Traffic(score=np.zeros(3), probability=np.zeros(2), prediction=np.zeros(3))
