"""Which measures a plan serves: those that say so, whatever their order."""

from dataclasses import replace

import numpy as np
import pytest

from assay.evalcore.measures.registry import measure
from assay.evalcore.measures.two_classes import driving
from assay.evalcore.methods.two_classes.recalibrated import Recalibrated
from assay.evalcore.replay.families import pool
from assay.evalcore.replay.pool import prepared_cells

PRECISION, RECALL = measure("precision"), measure("recall")
CELLS, _ = prepared_cells(Recalibrated(), pool("over-confident"))


def inclusion(*measures):
    how = Recalibrated()
    return how.propose(how.start(CELLS, measures, 1), np.array([50])).unlabelled[0]


def drives(one):
    return replace(one, drives=True)


def missed(pi):
    """The labels that go to predicted negatives: they alone tell recall, and tell nothing of precision."""
    return float((CELLS.size * pi)[CELLS.prediction == 0].sum())


def test_without_a_word_the_first_drives():
    assert driving((PRECISION, RECALL)) == [0]
    assert driving((replace(PRECISION, drives=False), drives(RECALL))) == [1]
    np.testing.assert_array_equal(inclusion(drives(PRECISION), RECALL), inclusion(PRECISION, RECALL))


def test_recall_that_drives_is_served_wherever_it_is_listed():
    second, first = inclusion(PRECISION, drives(RECALL)), inclusion(RECALL, PRECISION)
    np.testing.assert_allclose(second, first)
    assert missed(second) > 5 * missed(inclusion(PRECISION, RECALL))


def test_several_that_drive_are_all_served_in_any_order():
    one = inclusion(drives(PRECISION), drives(RECALL))
    np.testing.assert_allclose(one, inclusion(drives(RECALL), drives(PRECISION)))
    assert missed(inclusion(PRECISION, RECALL)) < missed(one) < 50
    assert (CELLS.size * one).sum() == pytest.approx(50)
