"""Columns of Arrow as arrays of NumPy and back."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from assay.evalcore.types import Array
from assay.tasks.arrow import (
    column_from,
    column_of,
    ends_of,
    filled,
    lengths_of,
    missing_of,
    numbers_of,
    texts_of,
)

TYPES = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64()]


@pytest.mark.parametrize("type", TYPES)
def test_numbers_come_back_as_they_went(type: pa.DataType) -> None:
    column = column_of(np.arange(7)[::2], type)
    assert column.equals(pa.array([0, 2, 4, 6], type))
    for some in (column, column.slice(1, 2), column.slice(4), pa.chunked_array([column, column.slice(3)])):
        assert numbers_of(some).tolist() == some.to_pylist()
        assert numbers_of(some).dtype == np.asarray(some).dtype


@pytest.mark.parametrize("values", [[], ["a"], [None], ["x", "", None, "äß", "y" * 40] * 3])
def test_texts_are_those_of_arrow(values: list[str | None]) -> None:
    assert texts_of(values).equals(pa.array(values, pa.string()))
    texts_of(values).validate(full=True)


def test_no_rows_and_no_chunks() -> None:
    assert len(column_of(np.empty(0), pa.float64())) == 0
    assert numbers_of(pa.chunked_array([], pa.int16())).dtype == np.int16
    assert ends_of(pa.array([], pa.string())).tolist() == [0]


def test_bytes_of_one_width() -> None:
    values = np.array([b"ab", b"c\x00"], "V2")
    assert column_of(values, pa.binary(2)).to_pylist() == [b"ab", b"c\x00"]
    with pytest.raises(ValueError, match="2 bytes"):
        column_of(values, pa.binary(3))


def test_missing_numbers_are_as_numpy_has_them() -> None:
    assert np.isnan(numbers_of(pa.array([1.5, None]))).tolist() == [False, True]


def test_texts_by_their_bytes() -> None:
    texts = pa.array(["x", "", None, "äß", "yz"] * 3).slice(2, 11)
    assert lengths_of(texts).tolist() == [len((text or "").encode()) for text in texts.to_pylist()]
    assert missing_of(texts).tolist() == [text is None for text in texts.to_pylist()]
    assert filled(texts).to_pylist() == [text or "" for text in texts.to_pylist()]
    assert missing_of(pa.nulls(2)).all()


@pytest.mark.parametrize(("values", "type"), [
    ([None, 3, -1], pa.int16()), ([None, 1.5, float("nan")], pa.float64()), ([True, None, False], pa.bool_()),
    ([None, [1, 2], []], pa.list_(pa.int64())), ([(0.5,), None, (1.25, 2)], pa.list_(pa.float32())),
    ([["a"], [], ["b", "c"]], pa.list_(pa.string())), ([None, None], pa.float64()), ([], pa.int64()),
])
def test_columns_with_what_is_missing_are_those_of_arrow(values: list[Any], type: pa.DataType) -> None:
    column = column_from(values, type)
    assert str(column) == str(pa.array(values, type))
    column.validate(full=True)


@pytest.mark.parametrize("values", [
    np.arange(3), np.arange(3) / 2, np.array([True, False]), np.array(["a", "ß"]),
])
def test_arrays_are_columns_of_their_own_type(values: Array) -> None:
    assert column_from(values).equals(pa.array(values))
