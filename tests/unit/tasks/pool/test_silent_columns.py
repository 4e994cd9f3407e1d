"""Columns that say nothing are told from those that say something, however their rows come in batches."""

import pyarrow as pa
import pytest

from assay.tasks.pool.silent_columns import are_equal_weights, are_single_items, is_one_stratum


def batches(*values):
    return iter([pa.array(batch) for batch in values])


@pytest.mark.parametrize(("values", "equal"), [
    ([[1.0, 1.0], [1.0]], True), ([[2], [2]], True), ([["0.5", "0.5"]], True),
    ([[0.0, 0.0], [1.0, 1.0]], False), ([[0.0, 0.0]], False), ([[1.0], [2.0]], False),
    ([[1.0, None]], False), ([[float("inf")] * 2], False), ([[float("nan")] * 2], False), ([["x"]], False),
])
def test_weights_are_equal_where_all_are_the_same_number_above_0(values, equal):
    assert are_equal_weights(batches(*values)) is equal


def test_a_batch_without_rows_says_nothing():
    assert are_equal_weights(iter([pa.array([], pa.float64()), pa.array([1.0, 1.0])]))
    assert not are_equal_weights(iter([pa.array([], pa.float64())]))


@pytest.mark.parametrize(("values", "single"), [
    ([["a", "b"], ["c"]], True), ([["a"], ["a"]], False), ([["a", None]], False), ([["a"]], False),
])
def test_clusters_are_items_where_no_name_comes_twice(values, single):
    assert are_single_items(batches(*values)) is single


@pytest.mark.parametrize(("values", "alone"), [
    ([["a", "a"], ["a"]], True), ([["a"], ["b"]], False), ([["a", None]], False), ([["", ""]], False),
])
def test_strata_say_nothing_where_there_is_one(values, alone):
    assert is_one_stratum(batches(*values)) is alone
