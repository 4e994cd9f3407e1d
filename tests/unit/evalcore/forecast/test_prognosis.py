"""What a pool would cost before anything of it is labelled."""

from dataclasses import replace

import numpy as np
import pytest
from doubles.pools import synthetic_pool

from assay.evalcore.errors import AssayError
from assay.evalcore.estimators.random_sampling import chance_undefined, random_sampling_equivalent
from assay.evalcore.forecast.play import Forecast, Goal
from assay.evalcore.forecast.prognosis import Cost, PoolColumns, Prognosis, Wanted, prognosis
from assay.evalcore.measures.registry import measure
from assay.evalcore.methods.two_classes.choice import Choice

PASSIVE = Choice(method="passive", reason="of the test")


def columns(pool, *, labelled=True):
    return PoolColumns(
        score=pool.score, probability=pool.probability, prediction=pool.prediction,
        confusion=pool.confusion() if labelled else None, supplied=True,
    )


def a_cost(labels, random_labels, horizon=500):
    ahead = Forecast(
        goal=Goal(half_width=0.1), labels=labels, low=labels, high=labels, horizon=horizon, share=1.0,
        labels_now=0, worlds=24,
    )
    return Cost(forecast=ahead, random_labels=random_labels)


def of_costs(*costs, method="dirichlet-tree"):
    return Prognosis(
        method=Choice(method=method, reason=""), measure="f1", costs=costs, undefined_at_100=0.0, methods=()
    )


def test_where_labels_are_known_random_sampling_is_told_from_their_table():
    pool = synthetic_pool(600, seed=2)
    got = prognosis(columns(pool), PASSIVE, Wanted(half_widths=(0.1, 0.05), budget=200))
    f1, table = measure("f1"), pool.confusion()
    for cost, half_width in zip(got.costs, (0.1, 0.05), strict=True):
        expected = random_sampling_equivalent(f1, table, 600, 1, 0.95, half_width).labels_needed
        assert cost.random_labels == expected
        assert cost.forecast.goal.half_width == half_width
    assert got.undefined_at_100 == pytest.approx(chance_undefined(f1, table / 600, 600, 100))
    assert (got.measure, got.method) == ("f1", PASSIVE)


def test_without_labels_plausible_worlds_stand_for_them_and_the_answer_is_always_the_same():
    pool = synthetic_pool(400, seed=2)
    wanted = Wanted(half_widths=(0.1,), budget=150)
    first, again = (prognosis(columns(pool, labelled=False), PASSIVE, wanted) for _ in range(2))
    assert first == again
    assert first.costs[0].random_labels is not None


def test_nothing_is_played_on_without_a_half_width():
    got = prognosis(columns(synthetic_pool(200)), PASSIVE, Wanted(half_widths=()))
    assert got.costs == ()
    assert not got.random_does_as_well


def test_where_nothing_is_predicted_positive_accuracy_is_forecast():
    pool = synthetic_pool(200)
    none = replace(pool, prediction=np.zeros_like(pool.prediction))
    assert prognosis(columns(none), PASSIVE, Wanted(half_widths=())).measure == "accuracy"


def test_a_pool_the_method_cannot_be_used_on_is_refused():
    with pytest.raises(AssayError):
        prognosis(
            columns(synthetic_pool(200)), Choice(method="no-such-method", reason=""), Wanted(half_widths=())
        )


def test_random_sampling_does_as_well_only_where_it_never_needs_more():
    assert of_costs(a_cost(200, 200), a_cost(400, 390)).random_does_as_well
    assert not of_costs(a_cost(200, 150), a_cost(400, 401)).random_does_as_well
    assert not of_costs(a_cost(200, None)).random_does_as_well
    # beyond the horizon the method takes more than 500
    assert of_costs(a_cost(None, 500)).random_does_as_well
    assert not of_costs(a_cost(None, 501)).random_does_as_well
    assert not of_costs(a_cost(200, 100), method="passive").random_does_as_well
