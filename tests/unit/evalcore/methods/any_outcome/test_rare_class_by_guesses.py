"""A very rare class beside common ones that are often confused: the difference estimator is not too sure."""

import numpy as np
import pytest
from doubles.studies import in_a_study

from assay.evalcore.measures.registry import outcome_measure
from assay.evalcore.measures.stack import Stack
from assay.evalcore.methods.any_outcome.recalibrated import Guesses
from assay.evalcore.outcomes.classes import Classes
from assay.evalcore.outcomes.items import Items
from assay.evalcore.replay.pool import OutcomePool
from assay.evalcore.replay.run import ReplayPlan, simulate
from assay.evalcore.reproducible import stream

N, RARE, REPEATS = 30_000, 12, 40


def pool():
    """12 of 30,000 items are of the rare class, nearly all predicted so; the others are of two classes that
    predictions tell apart no better than a coin."""
    rng = stream(0, "a rare class", N, "pool")
    rare = np.arange(N) < RARE
    p = np.where(rare, 0.9, rng.beta(0.2, 40.0, N))
    label, said = (np.where(rng.random(N) < 0.5, 0.0, 1.0) for _ in range(2))
    label, said = np.where(rare, 2.0, label), np.where(rare, 2.0, said)
    said[N - 2:] = 2.0
    return OutcomePool(
        kind=Classes(("this", "that", "rare")), codes=label,
        items=Items(prediction=said[:, None], probability=np.stack([(1 - p) / 2, (1 - p) / 2, p], axis=1)),
    )


@pytest.mark.parametrize(("name", "options"), [in_a_study("f1", {"class": "rare"}), ("macro_f1", {})])
def test_its_interval_holds_the_truth(name, options):
    made = pool()
    stack = Stack(kind=made.kind, measures=(outcome_measure(name, made.kind, N, options=options),))
    (trace,) = simulate(Guesses(), made, stack, ReplayPlan(budgets=(100,)), repeats=REPEATS)
    truth = float(made.truth(stack)[0])
    held = (trace.lower <= truth + 1e-9) & (truth <= trace.upper + 1e-9)
    # of 40 with a chance of 0.93 fewer than 30 hold once in 10,000 times
    assert held.sum() >= 30
