"""Columns of the chances with which labelled rows were drawn, or of the items that each stands for."""

import numpy as np
import pyarrow as pa

from assay.evalcore.errors import BadInput
from assay.evalcore.types import Floats

FAR = 3.0   # weights whose sum is further from the pool's size than this factor are not of that pool


def stands_for(values: pa.Array, column: str, pool_size: int, *, by_name: bool) -> Floats:
    """The items of the pool that each labelled row stands for (n,).

    by_name: whether the column's name says what it holds; else whether its values are chances, at most 1.
    """
    try:
        numbers = np.asarray(values.cast(pa.float64()).to_numpy(zero_copy_only=False))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise BadInput(f"column {column!r}: holds {values.type} values, and weights are numbers") from None
    by_chance = column.endswith("probability") if by_name else bool(np.all(numbers <= 1))
    good = (numbers > 0) & (numbers <= 1) if by_chance else numbers >= 1
    if not len(numbers) or not np.all(good):
        what = "is a chance above 0 and at most 1" if by_chance else "is a number of items, 1 or more"
        if by_name and not by_chance:
            what += " (of chances the name ends in `probability`)"
        example = f"; row {int(np.flatnonzero(~good)[0]) + 1} is not" if len(numbers) else "; there is no row"
        raise BadInput(f"column {column!r}: every value {what}{example}")
    weights: Floats = 1 / numbers if by_chance else numbers
    if len(numbers) > pool_size or not 1 / FAR < float(weights.sum()) / pool_size < FAR:
        raise BadInput(
            f"pool_size is {pool_size:,}, but {len(numbers):,} rows stand for {weights.sum():,.0f} items; "
            "give that of the pool they were drawn from"
        )
    return weights
