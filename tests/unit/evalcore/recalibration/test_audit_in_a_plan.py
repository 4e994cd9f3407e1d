"""The part of a batch that is spread evenly, whatever the model says."""

import numpy as np
import pytest

from assay.evalcore.measures.by_group import of_predictions
from assay.evalcore.measures.registry import measure
from assay.evalcore.methods.registry import method
from assay.evalcore.methods.two_classes.recalibrated import Recalibrated
from assay.evalcore.recalibration.planning import audited_cells
from assay.evalcore.replay.families import pool
from assay.evalcore.replay.pool import prepared_cells

F1 = measure("f1")


def proposed(spread, size, name="over-confident", measures=(F1,)):
    """The cells of a family of pools, and the first design of so many labels."""
    how = Recalibrated(spread=spread)
    cells, _ = prepared_cells(how, pool(name))
    return cells, how.propose(how.start(cells, measures, 1), np.array([size]))


@pytest.mark.parametrize(("spread", "size"), [(0.2, 50), (0.5, 25), (0.9, 110)])
def test_every_predicted_negative_has_at_least_its_even_share(spread, size):
    cells, design = proposed(spread, size)
    pi, negative = design.unlabelled[0], cells.prediction == 0
    floor = spread * size / cells.size[negative].sum()
    # virtual steps take their share of what the steps before left: π ≥ 1 - Π (1 - share of the step)
    assert pi[negative].min() >= floor * (1 - floor)
    assert (cells.size * pi).sum() == pytest.approx(size)
    assert pi.max() <= 1


def test_without_an_audit_some_item_has_less():
    cells, design = proposed(0.0, 50)
    negative = cells.prediction == 0
    assert design.unlabelled[0][negative].min() < 0.3 * 50 / cells.size[negative].sum()


def test_a_batch_that_is_all_audit_is_a_random_sample_of_the_predicted_negatives():
    cells, design = proposed(1.0, 60)
    negative = cells.prediction == 0
    even = 60 / cells.size[negative].sum()
    assert design.unlabelled[0] == pytest.approx(np.where(negative, even, 0.0))


def test_an_audit_larger_than_what_it_is_about_leaves_the_rest_to_the_search():
    cells, design = proposed(1.0, 295, "small")      # 300 items, most of them predicted negative
    negative = cells.prediction == 0
    assert design.unlabelled[0][negative] == pytest.approx(1.0)
    assert (cells.size * design.unlabelled[0]).sum() == pytest.approx(295)


def test_where_only_predicted_positives_matter_the_audit_is_of_them():
    predicted = np.array([0.0, 1.0])
    precision = measure("precision")
    both = [precision, F1]
    for asked, audited in (([F1], [True, False]), ([precision], [False, True]), (both, [True, False])):
        assert audited_cells(of_predictions(asked, predicted), predicted).tolist() == audited
    # with nothing predicted negative there is nowhere else to look
    assert audited_cells(of_predictions([F1], np.ones(2)), np.ones(2)).tolist() == [True, True]


def test_the_audit_is_a_setting_of_the_method_and_is_told_in_the_report():
    how = method("recalibrated:spread=0.25")
    assert how.spread == 0.25
    usual = method("recalibrated").sampling_note
    assert "The chance of every item was stored before anyone was asked." in usual
    assert how.sampling_note == (
        usual + " 25% of every batch was an audit for positives that the score does not show: drawn evenly "
        "from the items they may hide among, whatever the model says of them."
    )
    assert method("recalibrated").audited(0.25).spread == 0.25
