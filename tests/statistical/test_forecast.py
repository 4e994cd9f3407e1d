"""Forecasts of labels: the same every time, honest about the horizon, and near what really happens."""

from dataclasses import replace

import numpy as np
import pytest
from doubles.pools import synthetic_pool
from doubles.studies import in_a_study
from scipy.stats import binom

from assay.evalcore.errors import BadInput
from assay.evalcore.evaluation.state import Question, before_any_label, observe, plan
from assay.evalcore.forecast.labels_needed import forecast
from assay.evalcore.forecast.play import Goal, plausible_worlds
from assay.evalcore.measures.registry import measure
from assay.evalcore.methods.registry import method
from assay.evalcore.pool.partition import build_partition
from assay.evalcore.pool.strata import Cells
from assay.evalcore.replay.run import ReplayPlan, simulate
from assay.evalcore.reproducible import stream

FALSE_ALARM = 1e-6   # chance that correct code would fail on a fresh seed


def question(pool, name="passive", measure_name="accuracy"):
    how = method(name)
    partition, cell = build_partition(how, pool.score, pool.probability, pool.prediction)
    asked = Question(method=how, cells=partition.cells, measures=(measure(measure_name),), confidence=0.95,
                     seed=3, evaluation="forecast")
    return asked, cell


def after(asked, cell, pool, labels):
    """The state after so many labels of the pool."""
    state = before_any_label(asked)
    order = np.argsort(cell, kind="stable")
    first = np.searchsorted(cell[order], np.arange(asked.cells.n_cells))
    while state.labels < labels:
        drawn = plan(asked, state, 25)
        state = observe(asked, state, drawn, pool.label[order[first[drawn.cell] + drawn.rank]])
    return state


def test_a_goal_is_one_thing():
    with pytest.raises(BadInput, match="2 of them"):
        Goal(half_width=0.1, variance=0.1)


def test_worlds_agree_with_the_labels_there_are():
    one = np.array([0.0])
    cells = Cells(stratum=np.arange(2), prediction=np.array([0, 1]), size=np.array([90, 30]),
                  mean_score=np.array([-1.0, 1.0]), mean_probability=np.array([0.2, 0.7]),
                  log_density=np.repeat(one, 2), n_slots=2)
    labelled = np.array([[5, 1], [2, 6]])
    worlds = plausible_worlds(cells, labelled, cells.size - labelled.sum(axis=1), 50, stream(1, "worlds"))
    assert (worlds.sum(axis=2) == cells.size).all()
    assert (worlds >= labelled).all()
    assert len(np.unique(worlds[:, 1, 1])) > 5


def test_worlds_of_a_warm_evaluation_have_heard_of_the_last_window():
    cells = Cells(stratum=np.arange(2), prediction=np.array([0, 1]), size=np.array([900, 300]),
                  mean_score=np.array([-1.0, 1.0]), mean_probability=np.array([0.2, 0.7]),
                  log_density=np.zeros(2), n_slots=2)
    nothing = np.zeros((2, 2), np.int64)

    def hits(evidence):
        worlds = plausible_worlds(cells, nothing, cells.size, 60, stream(2, "warm"), evidence)
        return np.sort(worlds[:, 1, 1])

    cold, warm = hits(None), hits(np.array([[95.0, 5.0], [70.0, 30.0]]))
    # three in ten of the 300 predicted positives then: most worlds say about as many now, where cold ones
    # expect most of them; a share of the prior ignores the past
    assert abs(np.median(warm) - 90) < 40
    assert np.median(cold) > 150
    assert warm[-1] > 150


def test_a_forecast_repeats_and_counts_on_from_the_labels_there_are():
    pool = synthetic_pool(2000, seed=1)
    asked, cell = question(pool)
    state = after(asked, cell, pool, 150)
    goals = [Goal(half_width=0.05), Goal(threshold=(0.5, None))]
    far, near = forecast(asked, state, goals, 1000, worlds=6)
    assert [far, near] == forecast(asked, state, goals, 1000, worlds=6)
    # accuracy is about 0.8 ± 0.06 at 150 labels: above 0.5 beyond doubt, and ± 0.05 takes about 250
    assert near.labels == 150
    assert near.more == 0
    assert 150 < far.labels < 500
    assert far.low <= far.labels <= far.high


def test_forecasts_under_twelve_names_agree_within_the_error_they_state():
    # the name decides what is drawn, so twelve names are twelve forecasts of one thing; each states its error
    # with 95%: of 24 statements, fewer than 15 would hold once in a million
    pool, goal = synthetic_pool(3000, seed=6), Goal(half_width=0.06)
    asked, _ = question(pool, measure_name="f1")
    named = [replace(asked, evaluation=f"name-{i}") for i in range(12)]
    got = [forecast(one, before_any_label(one), [goal], 400)[0] for one in named]
    far = [np.inf if f.labels is None else f.labels for f in got]
    middle, share = np.median(far), np.mean([f.share for f in got])
    held = sum(
        (f.least or np.inf) <= middle <= (f.most or np.inf) for f in got
    ) + sum(abs(f.share - share) <= f.share_error for f in got)
    assert held >= binom.ppf(FALSE_ALARM, 24, 0.95)
    assert all(f.worlds == 72 or f.share_error <= 0.10 or f.most - f.least <= 0.2 * f.labels for f in got)
    told = []
    begun = before_any_label(asked)
    one = forecast(asked, begun, [goal], 400, played=lambda done, most: told.append((done, most)))[0]
    assert told[-1] == (one.worlds, 72)


def test_what_lies_beyond_the_horizon_is_more_and_never_a_number():
    pool = synthetic_pool(2000, seed=1)
    asked, _ = question(pool)
    (got,) = forecast(asked, before_any_label(asked), [Goal(half_width=0.001)], 120, worlds=6)
    assert (got.labels, got.low, got.high, got.share, got.more) == (None, None, None, 0.0, None)
    assert got.horizon == 120
    # a pool that can be labelled out meets any goal
    small = synthetic_pool(130, seed=2)
    asked, _ = question(small)
    (got,) = forecast(asked, before_any_label(asked), [Goal(half_width=0.001)], 5_000, worlds=6)
    assert got.horizon == 130
    assert got.labels is not None


@pytest.mark.statistical
@pytest.mark.parametrize("name", ["passive", in_a_study("dirichlet-tree")])
def test_forecasts_after_100_labels_hold_what_replays_take(name):
    # 25 replays; the middle 80% of the forecast, widened by a fifth for its twelve worlds and its coarse
    # looks, must hold the replayed labels to the target in at least half of them.  Were the chance 0.8, fewer
    # than 11 of 25 would be seen once in 10⁵; the bound below is the one of FALSE_ALARM.
    pool = synthetic_pool(3000, seed=4)
    asked, cell = question(pool, name, "f1")
    got = forecast(asked, after(asked, cell, pool, 100), [Goal(half_width=0.08)], 1000)[0]
    assert got.low is not None
    assert got.high is not None
    looks = np.arange(100, 1001, 50)
    (trace,) = simulate(
        method(name), pool, [measure("f1")], ReplayPlan(budgets=looks.tolist(), batch_size=50), repeats=25
    )
    met = (trace.upper - trace.lower) / 2 <= 0.08
    took = looks[np.argmax(met[:, :-1] & met[:, 1:], axis=1) + 1]
    inside = int(((took >= got.low / 1.2 - 50) & (took <= got.high * 1.2 + 50)).sum())
    assert inside >= binom.ppf(FALSE_ALARM, 25, 0.8)
