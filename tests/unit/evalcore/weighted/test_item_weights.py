"""Weights by kind of design, on a pool small enough to work by hand; and the mean of what they estimate."""

from dataclasses import replace

import numpy as np
import pytest
from doubles.pools import synthetic_pool
from doubles.rounds import a_round, four_items
from sklearn.metrics import f1_score

from assay.evalcore.errors import BadInput
from assay.evalcore.evaluation.state import LabelledRound, Question, before_any_label, observe, plan
from assay.evalcore.measures.registry import measure
from assay.evalcore.methods.registry import METHODS, method
from assay.evalcore.outcomes.items import Items
from assay.evalcore.pool.partition import build_partition
from assay.evalcore.weighted.sample import weighted_by

CELLS = four_items()


def test_a_draw_stands_for_one_over_its_chance_and_an_item_for_all_its_draws():
    first = a_round([1, 1], [1, 1], 0.25)
    again = replace(first.plan, rank=np.array([0, 0]), ask=np.array([True, False]))
    sample = weighted_by("draws", CELLS, [replace(first, plan=again, new=np.array([True, True]))])
    assert sample.weight.tolist() == [4.0], "two draws of two, each 1/(2 · 0.25)"
    assert sample.factor.tolist() == [2 * (2.0**2 + 2.0**2)]


def test_an_item_of_an_early_round_counts_once_for_every_later_one():
    one = a_round([1], [1], 0.5, replacement=False)
    two = a_round([0], [0], 0.25, replacement=False)
    sample = weighted_by("rounds", CELLS, [one, two])
    assert sample.weight.tolist() == [0.5 * 2 + 0.5, 0.5 * 4]
    assert sample.factor.tolist() == [0.25 * 2 * 1, 0.25 * 4 * 3]
    assert sample.round.tolist() == [1, 2]


def test_pooled_chances_are_those_of_any_round():
    one = a_round([1], [1], 0.5, replacement=False, unlabelled=[0.5, 0.5])
    two = a_round([0], [0], 0.25, replacement=False, unlabelled=[0.25, 0.25])
    sample = weighted_by("pooled", CELLS, [one, two])
    assert sample.weight == pytest.approx([1 / 0.625] * 2)


def test_the_items_of_a_cell_share_it_and_a_cell_without_labels_has_neighbours():
    sample = weighted_by("cells", CELLS, [a_round([1], [1], 0.5, replacement=False)])
    assert sample.weight.tolist() == [4.0], "its own other item, and the two predicted negative"
    both = weighted_by("cells", CELLS, [a_round([0, 1], [0, 1], 0.5, replacement=False)])
    assert both.weight.tolist() == [2.0, 2.0]


def test_what_all_is_asked_of_weighs_one():
    census = a_round([1, 0], [1, 0], 1.0, replacement=False, census=True)
    sample = weighted_by("rounds", CELLS, [a_round([1], [1], 0.5, replacement=False), census])
    assert sample.exact
    assert set(sample.weight) == {1.0}
    assert not sample.factor.any()


def test_a_search_of_the_top_has_no_weights():
    assert {name for name, one in METHODS.items() if one.capabilities.weighting == "none"} == {
        "acis", "acis-pooled", "topk", "gmm", "herding", "isotonic", "platt"
    }
    with pytest.raises(BadInput, match="not drawn with known"):
        weighted_by("none", CELLS, [a_round([1], [1])])


def drawn(pool, name, repeats, budget=60, batch=30):
    """Weighted samples of so many evaluations of a pool, and the rows of their items."""
    how = method(name)
    partition, cell = build_partition(how, pool.score, pool.probability, pool.prediction)
    order, cells = np.argsort(cell, kind="stable"), partition.cells
    offset = np.cumsum(cells.size) - cells.size
    for seed in range(repeats):
        question = Question(
            method=how, cells=cells, measures=(measure("f1"),), confidence=0.95, seed=seed, evaluation="t"
        )
        state, rounds, known = before_any_label(question), [], set()
        while state.labels < budget:
            p = plan(question, state, min(batch, budget - state.labels))
            rows = order[offset[p.cell] + p.rank]
            new = np.array([row not in known for row in rows.tolist()])
            known |= set(rows.tolist())
            rounds.append(LabelledRound(
                plan=p, items=Items(prediction=pool.prediction[rows, None].astype(float)),
                code=pool.label[rows].astype(float), new=new, segment={},
            ))
            state = observe(question, state, p, pool.label[rows])
        sample = weighted_by(how.capabilities.weighting, cells, rounds)
        yield sample, order[offset[sample.cell] + sample.rank]


@pytest.mark.parametrize("name", ["stratified", "static-is", "bernoulli", "bernoulli-online"])
def test_what_scikit_learn_makes_of_the_weights_is_right_on_average(name):
    pool, repeats = synthetic_pool(300, seed=4), 40
    predicted = pool.score > 1.1   # another threshold than the one the items were drawn for
    truth = f1_score(pool.label, predicted)
    found, total = [], []
    for sample, rows in drawn(pool, name, repeats):
        y, f = pool.label[rows], predicted[rows]
        found.append(f1_score(y, f, sample_weight=sample.weight, zero_division=0))
        total.append(sample.weight.sum())
    # a ratio of two estimates is off by about its variance; four standard errors: one false alarm in 10^4
    assert abs(np.mean(found) - truth) < 4 * np.std(found) / np.sqrt(repeats) + 0.02
    assert abs(np.mean(total) - 300) < 4 * np.std(total) / np.sqrt(repeats) + 1e-6
