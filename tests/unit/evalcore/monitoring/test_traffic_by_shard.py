"""Summaries of shards add up to what all rows would have said."""

import numpy as np
import pytest

from assay.evalcore.measures.registry import measure
from assay.evalcore.monitoring.profile import (
    SomeValues,
    Traffic,
    counts_between,
    edges_of,
    expected_from,
    moments_of,
    profile_of,
)

RNG = np.random.default_rng(4)
P = RNG.beta(0.5, 2.0, size=3_000)
PREDICTION = (P > 0.4).astype(np.int8)


@pytest.mark.parametrize("name", ["f1", "accuracy", "precision"])
def test_the_expected_measure_of_shards_is_that_of_all_rows(name):
    whole = profile_of(Traffic(score=P, probability=P, prediction=PREDICTION), measure(name))
    shards = [slice(0, 700), slice(700, 701), slice(701, 3_000)]
    moments = sum(moments_of(P[one], PREDICTION[one]) for one in shards)
    found = expected_from(moments, measure(name))
    assert found == pytest.approx((whole.expected, whole.expected_spread), rel=1e-9)


def test_an_undefined_expected_measure_is_none():
    assert expected_from(moments_of(np.zeros(5), np.zeros(5)), measure("precision")) == (None, 0.0)


def test_edges_of_few_values_are_order_statistics_of_all():
    values = RNG.permutation(400).astype(float)
    edges = edges_of([SomeValues.from_values(values[:30]), SomeValues.from_values(values[30:])], 4)
    assert edges == (99.0, 199.0, 299.0)
    assert counts_between(values, edges).tolist() == [99, 100, 100, 101]


def test_edges_of_tied_values_are_distinct():
    parts = [SomeValues.from_values(values) for values in (np.zeros(10_000), np.ones(10))]
    assert edges_of(parts, 50) == (0.0,)
