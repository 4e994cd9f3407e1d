"""Columns of a labelled pool as arrays, every value checked; errors name the file, the column, the rows."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from assay.evalcore.errors import BadInput
from assay.evalcore.types import Array, Floats
from assay.tasks.sources.values import as_numbers, as_text


def one_array(chunks: Sequence[pa.Array]) -> pa.Array:
    """The chunks of a column as one array: text where their types differ, and never a dictionary."""
    if len({str(chunk.type) for chunk in chunks}) > 1:
        chunks = [as_text(chunk) for chunk in chunks]
    joined = pa.concat_arrays(list(chunks)) if chunks else pa.array([], pa.string())
    return joined.cast(joined.type.value_type) if pa.types.is_dictionary(joined.type) else joined


def numbers(path: str, name: str, values: pa.Array) -> Floats:
    """A column of finite numbers."""
    found, good = as_numbers(values)
    bad = ~good | ~np.isfinite(found)
    if bad.any():
        first = as_text(values.slice(int(np.argmax(bad)), 1))[0].as_py()
        shown = "is empty" if first is None else f"holds {first!r}, which is not a finite number"
        raise BadInput(f"{path}, column {name!r}: row {_rows(bad)} {shown}; every item needs a number")
    return found


def chances(path: str, name: str, values: pa.Array) -> Floats:
    """A column of numbers between 0 and 1."""
    chance = numbers(path, name, values)
    outside = ~((chance >= 0) & (chance <= 1))
    if outside.any():
        first = chance[np.argmax(outside)]
        remedy = "; if these are scores, call the column 'score'" if name == "probability" else ""
        raise BadInput(
            f"{path}, column {name!r}: row {_rows(outside)}: {first:g} is not between 0 and 1{remedy}"
        )
    return chance


def words(path: str, name: str, values: pa.Array) -> Array:
    """A column of text without gaps."""
    text = as_text(values)
    if text.null_count:
        empty = np.asarray(text.is_null())
        raise BadInput(f"{path}, column {name!r}: empty in row {_rows(empty)}; every item needs one")
    return np.array(text.to_pylist(), dtype=np.str_)


def check_ids(path: str, values: pa.Array) -> None:
    """Raise BadInput unless every item has an id of its own."""
    ids = as_text(values)
    if ids.null_count:
        empty = np.asarray(ids.is_null())
        raise BadInput(f"{path}, column 'item_id': empty in row {_rows(empty)}; give every item an id")
    if pc.count_distinct(ids).as_py() < len(ids):
        counts = ids.value_counts()
        twice = counts.filter(pc.greater(counts.field("counts"), 1))[0].as_py()["values"]
        rows = _rows(np.asarray(pc.equal(ids, twice)))
        raise BadInput(f"{path}, column 'item_id': {twice!r} is in rows {rows}; each item may occur once")


def _rows(bad: Array, most: int = 3) -> str:
    """The first of these rows as people count them, from 1."""
    where = np.flatnonzero(bad)
    shown = ", ".join(str(i + 1) for i in where[:most])
    return shown if len(where) <= most else f"{shown} and {len(where) - most} more"
