"""Win rate and shares of preferences, which need no prediction."""

import numpy as np
import pytest

from assay.evalcore.errors import BadInput
from assay.evalcore.measures.registry import outcome_measure
from assay.evalcore.outcomes.classes import preferences
from assay.evalcore.outcomes.items import Items

KIND = preferences("new", "old", "tie")
NOTHING = Items(prediction=np.zeros((5, 0)))
PHI = KIND.phi(np.array([0.0, 0.0, 1.0, 2.0, 2.0]))


def test_the_win_rate_counts_ties_half():
    found = outcome_measure("win_rate", KIND, 5)
    found.losses[0].needs(NOTHING)
    assert found.of_pool(NOTHING, PHI) == pytest.approx([(2 + 0.5 * 2) / 5])


def test_shares_are_of_each_outcome_or_of_one():
    assert outcome_measure("rate", KIND, 5).of_pool(NOTHING, PHI) == pytest.approx([0.4, 0.2, 0.4])
    one = outcome_measure("rate", KIND, 5, options={"class": "tie"})
    assert (one.parts, one.of_pool(NOTHING, PHI)[0]) == (("tie",), pytest.approx(0.4))
    with pytest.raises(BadInput, match="'draw' is none of new, old, tie"):
        outcome_measure("rate", KIND, 5, options={"class": "draw"})


def test_without_ties_there_are_two_outcomes():
    assert preferences("new", "old", None).values == (1.0, 0.0)
