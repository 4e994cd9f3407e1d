"""Columns of Arrow as arrays of NumPy and back, over the same memory.

`np.asarray(column)`, `pa.array(values)` and Arrow's functions with a Python value import pandas where it is
installed, which takes longer than freezing a million rows.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from assay.evalcore.types import Array, Bools, Ints

_NUMBERS: dict[pa.DataType, np.dtype[np.generic]] = {
    pa.int8(): np.dtype("<i1"), pa.int16(): np.dtype("<i2"), pa.int32(): np.dtype("<i4"),
    pa.int64(): np.dtype("<i8"), pa.uint8(): np.dtype("<u1"), pa.float32(): np.dtype("<f4"),
    pa.float64(): np.dtype("<f8"),
}


def numbers_of(column: pa.Array | pa.ChunkedArray) -> Array:
    """(n,) the numbers of a column; not to be written to. Missing ones are as NumPy has them."""
    if isinstance(column, pa.ChunkedArray):
        chunks = column.chunks
        if len(chunks) == 1:
            return numbers_of(chunks[0])
        return np.concatenate([np.empty(0, _NUMBERS.get(column.type)), *map(numbers_of, chunks)])
    dtype = _NUMBERS.get(column.type)
    if dtype is None or column.null_count:
        return np.asarray(column)
    values = column.buffers()[1]
    if values is None:
        return np.empty(0, dtype)
    return np.frombuffer(values, dtype, len(column), column.offset * dtype.itemsize)


def column_of(values: Array, type: pa.DataType) -> pa.Array:
    """A column of numbers (n,), or of n values of so many bytes each; none is missing."""
    dtype = _NUMBERS.get(type)
    held: Array = np.ascontiguousarray(values, values.dtype if dtype is None else dtype)
    if held.itemsize * 8 != type.bit_width:
        raise ValueError(f"values of {held.itemsize} bytes are no column of {type}")
    if not len(held):
        return pa.nulls(0, type)
    return pa.Array.from_buffers(type, len(held), [None, pa.py_buffer(held.view(np.uint8))])


def mask_of(values: Bools) -> pa.BooleanArray:
    """A column of Arrow (n,) of the same booleans, none of them missing."""
    bits = np.packbits(values, bitorder="little")
    return pa.Array.from_buffers(pa.bool_(), len(values), [None, pa.py_buffer(bits)])


def yes_of(column: pa.BooleanArray) -> Bools:
    """(n,) the values of a column of yes and no; what is missing is either."""
    bits = np.frombuffer(column.buffers()[1] or b"", np.uint8)
    yes = np.unpackbits(bits, count=column.offset + len(column), bitorder="little")
    return np.asarray(yes[column.offset :] == 1)


def column_from(values: Sequence[Any] | Array, type: pa.DataType | None = None) -> pa.Array:
    """A column of numbers, yes and no, texts, or lists of these; None is missing.

    Without a type it is that of the values.
    """
    if type is None:
        if not isinstance(values, np.ndarray):
            return pa.array(values)
        type = pa.string() if values.dtype.kind == "U" else pa.from_numpy_dtype(values.dtype)
    if pa.types.is_string(type):
        return texts_of(list(map(str, values)) if isinstance(values, np.ndarray) else values)
    mask = np.array([value is not None for value in values], np.bool_)
    validity = None if mask.all() else pa.py_buffer(np.packbits(mask, bitorder="little"))
    if pa.types.is_list(type):
        ends = np.cumsum([0, *(0 if value is None else len(value) for value in values)], dtype=np.int32)
        inner = column_from([entry for value in values for entry in value or ()], type.value_type)
        return pa.Array.from_buffers(type, len(mask), [validity, pa.py_buffer(ends)], children=[inner])
    entries = values if validity is None else [0 if value is None else value for value in values]
    column = mask_of(np.asarray(entries, np.bool_)) if pa.types.is_boolean(type) \
        else column_of(np.asarray(entries, _NUMBERS[type]), type)
    return pa.Array.from_buffers(type, len(mask), [validity, column.buffers()[1]])


def texts_of(values: Sequence[str | None]) -> pa.StringArray:
    """A column of Arrow (n,) of these texts, in which None is a missing value."""
    written = [b"" if value is None else value.encode() for value in values]
    ends = np.cumsum([0, *map(len, written)], dtype=np.int32)
    mask = np.packbits(np.array([value is not None for value in values], np.bool_), bitorder="little")
    buffers = (pa.py_buffer(part) for part in (mask, ends, b"".join(written)))
    return pa.Array.from_buffers(pa.string(), len(written), [*buffers])


def ends_of(texts: pa.StringArray) -> Ints:
    """(n + 1,) where each of n texts begins in the bytes of all, and where the last one ends."""
    offsets = texts.buffers()[1] if len(texts) else None
    if offsets is None:
        return np.zeros(len(texts) + 1, np.int32)
    return np.frombuffer(offsets, "<i4", len(texts) + 1, 4 * texts.offset)


def lengths_of(texts: pa.StringArray) -> Ints:
    """(n,) bytes of each text, in 32 bits; 0 where it is missing."""
    lengths: Ints = np.diff(ends_of(texts))
    if texts.null_count:
        lengths[missing_of(texts)] = 0
    return lengths


def missing_of(column: pa.Array) -> Bools:
    """(n,) whether each value of a column is missing, as its bitmap says; in a column without a type all
    are."""
    if not column.null_count:
        return np.zeros(len(column), np.bool_)
    bits = column.buffers()[0]
    if bits is None:            # of a column without a type
        return np.ones(len(column), np.bool_)
    mask = np.unpackbits(np.frombuffer(bits, np.uint8), count=column.offset + len(column), bitorder="little")
    return np.asarray(mask[column.offset :] == 0)


def value_counts(column: pa.Array | pa.ChunkedArray) -> Counter[str]:
    """How many rows of a column of texts hold each value."""
    return Counter({entry["values"]: entry["counts"] for entry in pc.value_counts(column).to_pylist()})


def filled(texts: pa.StringArray) -> pa.StringArray:
    """The column with the empty text for each missing value; the column itself where none is missing."""
    return pc.fill_null(texts, "") if texts.null_count else texts
