"""Replay of any kind of outcome."""

import numpy as np
import pytest
from doubles.studies import in_a_study

from assay.evalcore.errors import BadArgument
from assay.evalcore.measures.registry import outcome_measure
from assay.evalcore.measures.stack import Stack
from assay.evalcore.methods.registry import OUTCOME_METHODS
from assay.evalcore.replay.families import OUTCOME_FAMILIES as FAMILIES
from assay.evalcore.replay.families import outcome_family_pool as pool
from assay.evalcore.replay.run import ReplayPlan, simulate


def _stack(drawn, *names):
    measures = tuple(outcome_measure(name, drawn.kind, len(drawn.items)) for name in names)
    return Stack(kind=drawn.kind, measures=measures)


def test_the_same_seed_gives_the_same_trace_and_counts_labels():
    drawn = pool("judged")
    stack = _stack(drawn, "mean")
    method = OUTCOME_METHODS["recalibrated"]
    one, other = (simulate(
        method, drawn, stack, ReplayPlan(budgets=(30, 70), seed=4), repeats=60
    )[0] for _ in range(2))
    np.testing.assert_array_equal(one.value, other.value)
    assert (one.labels == [30, 70]).all()
    assert one.value.shape == (60, 2)


@pytest.mark.parametrize("budgets", [(), (0,), (50, 50), (10**6,)])
def test_budgets_that_make_no_sense(budgets):
    drawn = pool("judged")
    with pytest.raises(BadArgument):
        simulate(
            OUTCOME_METHODS["passive"], drawn, _stack(drawn, "mean"), ReplayPlan(budgets=budgets), repeats=2
        )


# R = 200: with a true coverage of 0.95 fewer than 0.895 covered has a chance below 0.1%, and a true ratio of
# squared errors of 0.9 (judged) or 0.8 (the rest) to come out above 1 about as little
@pytest.mark.parametrize(
    ("family", "measure"),
    [in_a_study("judged", "mean"), ("noisy", "macro_f1"), in_a_study("tags", "micro_f1")],
)
def test_recalibrated_beats_a_random_sample_and_covers(family, measure):
    drawn = pool(family)
    stack = _stack(drawn, measure)
    truth = drawn.truth(stack)[0]
    errors = {}
    for name in ("recalibrated", "passive"):
        (trace,) = simulate(
            OUTCOME_METHODS[name], drawn, stack, ReplayPlan(budgets=(100,), batch_size=50), repeats=200
        )
        errors[name] = ((trace.value - truth) ** 2).mean()
        if name == "recalibrated":
            covered = (trace.lower <= truth) & (truth <= trace.upper)
            assert covered.mean() >= 0.895
    assert errors["recalibrated"] < errors["passive"]


@pytest.mark.study
def test_a_useless_judge_costs_next_to_nothing():
    drawn = pool("useless-judge")
    stack = _stack(drawn, "mean")
    truth = drawn.truth(stack)[0]
    mse = {}
    for name in ("recalibrated", "passive"):
        (trace,) = simulate(
            OUTCOME_METHODS[name], drawn, stack, ReplayPlan(budgets=(100,), batch_size=50), repeats=400
        )
        mse[name] = ((trace.value - truth) ** 2).mean()
    # the standard error of a ratio of two independent mean squares of 400 is about 10%
    assert mse["recalibrated"] < 1.3 * mse["passive"]


def test_every_family_draws_a_pool_with_a_value():
    for name, family in FAMILIES.items():
        drawn = pool(name)
        assert np.isfinite(drawn.truth(_stack(drawn, *family.measures))).all(), name
