"""Cutting a pool: edges, assignment, cells, and their way through JSON."""

import json

import numpy as np
import pytest

from assay.evalcore.errors import BadInput
from assay.evalcore.pool.partition import Partition, decision_boundary, partition_by
from assay.evalcore.pool.strata import ScoresInMemory, assign, csf_edges


def test_csf_edges_by_hand():
    # histogram of 4 bins over [0, 4]: counts 9, 4, 1, 1, so cumulative roots 3, 5, 6, 7; two strata need one
    # step at 3.5, which is reached in the second bin: the edge is its lower end, 1
    scores = np.concatenate([np.linspace(0, 0.9, 9), [1.1, 1.2, 1.3, 1.4], [2.5], [4.0]])
    assert csf_edges(ScoresInMemory(scores), 2, n_bins=4).tolist() == [1.0]


def test_an_edge_belongs_to_the_stratum_above_it():
    assert assign(np.array([1.0, 2.0]), np.array([0.5, 1.0, 1.5, 2.0, 9.0])).tolist() == [0, 1, 1, 2, 2]


@pytest.mark.parametrize(
    "scores",
    [np.zeros(10), np.array([3.0]), np.r_[np.zeros(99), 1e300], np.repeat([0.0, 1.0, 2.0, 3.0, 4.0], 50)],
    ids=["constant", "single", "one far away", "five distinct"],
)
def test_awkward_scores_still_make_strata(scores):
    edges = csf_edges(ScoresInMemory(scores), 256)
    assert np.all(np.diff(edges) > 0)
    strata = assign(edges, scores)
    assert strata.max(initial=0) <= len(edges)


def test_five_distinct_scores_make_five_strata():
    scores = np.repeat([0.0, 1.0, 2.0, 3.0, 4.0], 50)
    assert len(np.unique(assign(csf_edges(ScoresInMemory(scores), 256), scores))) == 5


def test_the_decision_boundary_lies_between_the_last_positive_and_the_first_negative():
    scores = ScoresInMemory(np.array([-2.0, -1.0, 0.5, 3.0]))
    assert decision_boundary(scores, 2) == pytest.approx(-0.25)
    assert decision_boundary(scores, 0) == 3.0
    assert decision_boundary(scores, 4) == -2.0


def test_cells_count_items_by_stratum_and_prediction():
    scores = np.array([-1.0, -0.5, 0.5, 1.0, 2.0])
    prediction = np.array([0, 1, 0, 1, 1])
    probability = np.array([0.1, 0.2, 0.4, 0.6, 0.8])
    partition, cell = partition_by(np.array([0.0]), scores, probability, prediction)
    cells = partition.cells
    assert cells.stratum.tolist() == [0, 0, 1, 1]
    assert cells.prediction.tolist() == [0, 1, 0, 1]
    assert cells.size.tolist() == [1, 1, 1, 2]
    assert cell.tolist() == [0, 1, 2, 3, 3]
    assert cells.mean_probability == pytest.approx([0.1, 0.2, 0.4, 0.7])
    assert cells.predicted_positives == 3


def test_a_partition_survives_json_to_the_last_bit():
    rng = np.random.default_rng(5)
    scores = rng.normal(size=300)
    edges = csf_edges(ScoresInMemory(scores), 16)
    partition, _ = partition_by(edges, scores, rng.random(300), (scores > 0.3).astype(int))
    again = Partition.from_json(json.loads(json.dumps(partition.to_json())))
    assert np.array_equal(again.edges, partition.edges)
    for name in ("stratum", "prediction", "size", "mean_score", "mean_probability", "log_density"):
        assert np.array_equal(getattr(again.cells, name), getattr(partition.cells, name)), name


def test_an_empty_pool_is_refused():
    with pytest.raises(BadInput, match="empty"):
        partition_by(np.empty(0), np.empty(0), np.empty(0), np.empty(0))


def test_scores_that_rounding_alone_sets_apart_are_not_cut():
    assert len(csf_edges(ScoresInMemory(np.array([2.0, 2.0, np.nextafter(2.0, 3.0)])), 10)) == 0
