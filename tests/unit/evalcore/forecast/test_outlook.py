"""What an evaluation waits for, and how many labels that is likely to take."""

from dataclasses import replace

import numpy as np
from doubles.pools import synthetic_pool

from assay.evalcore.evaluation.state import Question, before_any_label
from assay.evalcore.evaluation.stopping import StoppingRule
from assay.evalcore.forecast import labels_needed as module
from assay.evalcore.forecast.labels_needed import forecast, outlook
from assay.evalcore.forecast.play import Goal
from assay.evalcore.measures.registry import measure
from assay.evalcore.methods.registry import method
from assay.evalcore.pool.partition import build_partition


def a_question():
    pool = synthetic_pool(300, seed=4)
    how = method("passive")
    partition, _ = build_partition(how, pool.score, pool.probability, pool.prediction)
    return Question(
        method=how, cells=partition.cells, measures=(measure("accuracy"),), confidence=0.95, seed=1,
        evaluation="outlook",
    )


QUESTION = a_question()
START = before_any_label(QUESTION)


def test_target_and_verdict_are_forecast_as_goals_of_their_own():
    rule = StoppingRule(budget=200, half_width=0.05)
    got = outlook(QUESTION, START, rule, 25, (0.5, None))
    goals = [Goal(half_width=0.05), Goal(threshold=(0.5, None))]
    assert [got.target, got.verdict] == forecast(QUESTION, START, goals, 200, batch_size=25)
    assert got.budget == 200


def test_a_threshold_alone_and_a_target_alone():
    alone = outlook(QUESTION, START, StoppingRule(budget=150), 25, (None, 0.99))
    assert alone.target is None
    assert alone.verdict.goal == Goal(threshold=(None, 0.99))
    target = outlook(QUESTION, START, StoppingRule(budget=150, variance=0.001), 25)
    assert target.target.goal == Goal(variance=0.001)
    assert target.verdict is None


def test_without_a_goal_or_a_label_to_ask_there_is_nothing_to_forecast():
    assert outlook(QUESTION, START, StoppingRule(budget=150), 25) is None
    everything = replace(START, inner=replace(START.inner, excluded=QUESTION.cells.size[None]))
    assert everything.exhausted
    assert outlook(QUESTION, everything, StoppingRule(budget=150, half_width=0.1), 25) is None


def test_a_model_that_cannot_be_fitted_leaves_the_evaluation_without_a_forecast(monkeypatch):
    def fails(*_args, **_kwargs):
        raise np.linalg.LinAlgError

    monkeypatch.setattr(module, "forecast", fails)
    assert outlook(QUESTION, START, StoppingRule(budget=150, half_width=0.1), 25) is None
