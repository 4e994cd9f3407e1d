"""Forecasts and prices of classes: beside what replays take, and before anything can be said."""

import numpy as np
import pytest

from assay.evalcore.evaluation.price_tag import pull_variances, random_labels
from assay.evalcore.evaluation.state import Question, before_any_label, observe, plan
from assay.evalcore.evaluation.stopping import StoppingRule
from assay.evalcore.forecast.labels_needed import outlook
from assay.evalcore.measures.registry import outcome_measure
from assay.evalcore.measures.stack import Stack
from assay.evalcore.methods.registry import outcome_method
from assay.evalcore.replay.families import outcome_family_pool as pool
from assay.evalcore.replay.run import ReplayPlan, simulate


class Asked:
    """An evaluation of a family's pool, as far as it is labelled."""

    def __init__(self, family, measure, labels, method="recalibrated"):
        self.pool = pool(family)
        one = outcome_measure(measure, self.pool.kind, len(self.pool.items))
        self.stack, self.method = Stack(kind=self.pool.kind, measures=(one,)), outcome_method(method)
        cut = self.method.cut(self.stack, self.pool.items)
        self.question = Question(
            method=self.method, measures=self.stack, cells=cut.cells, confidence=0.95, seed=3, evaluation="x"
        )
        self.state = before_any_label(self.question)
        members = [np.flatnonzero(cut.cell == c) for c in range(cut.cells.n_cells)]
        while self.state.labels < labels:
            planned = plan(self.question, self.state, 50)
            rows = np.array([members[c][r] for c, r in zip(planned.cell, planned.rank, strict=True)])
            self.state = observe(
                self.question, self.state, planned, self.pool.codes[rows], self.pool.items.at(rows)
            )

    def ahead(self, half_width=None, budget=2000, limits=None):
        rule = StoppingRule(budget=budget, half_width=half_width, variance=None)
        return outlook(self.question, self.state, rule, 25, limits)


@pytest.mark.parametrize(("family", "measure", "labels"), [
    ("calibrated", "accuracy", 0), ("calibrated", "macro_f1", 100), ("tags", "micro_f1", 100),
    ("useless-judge", "mean", 100),
])
def test_a_forecast_is_within_a_factor_of_what_replays_take(family, measure, labels):
    asked = Asked(family, measure, labels)
    (found,) = simulate(
        asked.method, asked.pool, asked.stack, ReplayPlan(budgets=[300], batch_size=50), repeats=6
    )
    reached = float((found.upper - found.lower)[:, 0].mean() / 2)
    target = asked.ahead(half_width=reached).target
    assert 300 / 1.5 < target.labels - 25 < 300 * 1.5
    assert target.low <= target.labels <= target.high
    assert target.labels_now == labels


def test_a_price_is_what_random_sampling_takes_for_the_same_half_width():
    asked = Asked("calibrated", "accuracy", 200)
    passive = Asked("calibrated", "accuracy", 0, method="passive")
    (found,) = simulate(
        passive.method, passive.pool, passive.stack, ReplayPlan(budgets=[200], batch_size=50), repeats=6
    )
    reached = float((found.upper - found.lower)[:, 0].mean() / 2)
    told, why = random_labels(float(pull_variances(asked.question, asked.state)[0]), reached, 5000, 0.95)
    assert why is None
    assert 200 / 1.5 < told < 200 * 1.5


def test_a_verdict_far_off_comes_before_one_nearby_and_waits_for_a_label():
    asked = Asked("calibrated", "accuracy", 100)
    far, near = (asked.ahead(limits=(limit, None)).verdict for limit in (0.2, 0.6))
    assert far.labels <= (near.labels or np.inf)
    assert Asked("calibrated", "accuracy", 0).ahead(limits=(0.2, None)) is None


def test_beyond_the_horizon_no_number_is_told():
    target = Asked("calibrated", "accuracy", 50).ahead(half_width=0.001, budget=200).target
    assert (target.labels, target.share, target.horizon) == (None, 0.0, 200)


def test_before_any_label_nothing_is_said_of_numbers():
    assert Asked("regression", "mae", 0).ahead(half_width=0.1) is None


@pytest.mark.parametrize(("variance", "half_width", "said"), [
    (0.0, 0.1, "no error yet"), (np.nan, 0.1, "no error yet"), (0.2, np.inf, "no interval"),
])
def test_why_there_is_no_price(variance, half_width, said):
    assert said in random_labels(variance, half_width, 100, 0.95)[1]
