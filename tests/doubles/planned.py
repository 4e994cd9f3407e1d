"""The plan of a small round, for tests of what a round leaves in the ledger."""

import numpy as np

from assay.evalcore.design.round import CountedDesign, RoundPlan
from assay.tasks.ledger.asked_round import PlannedRound


def design(p=0.1 + 0.2):
    return CountedDesign(
        replacement=True,
        size=np.array([[5, 3]]), left=np.array([[4, 3]]),
        unlabelled=np.array([[p, 1 / 3]]), labelled=np.array([[[0.0, 1e-300], [0.1, 0.2]]]),
        model=np.array([[0.5, 0.25]]), gradient=np.array([[-1.0, 2.0]]), census=np.array([False]),
    )


def a_plan(p=0.1 + 0.2):
    # four draws: an item asked, the same again, one labelled earlier, another asked
    plan = RoundPlan(
        cell=np.array([0, 0, 1, 1]), rank=np.array([2, 2, 0, 1]),
        ask=np.array([True, False, False, True]), probability=np.array([p, p, 0.1, 1 / 3]),
        census=False, design=design(p),
    )
    return PlannedRound(
        number=2, plan=plan, item_id=["a", "a", "b", "ü"], prediction=np.array([0, 0, 1, 1]),
        known=[None, None, 1, None], segments=[{"region": "north"}] * 4,
        shown=[{"text": "says\n\"this\""}, None, None, {"text": ""}],
    )
