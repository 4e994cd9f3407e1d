"""The columns of a pool: their names, their types, and which of them are segments."""

import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence

import pyarrow as pa

from assay.tasks.connectors.response import Plain
from assay.tasks.connectors.responses.survey import FEW, Seen

ID = "item_id"
_ITEMS_PER_VALUE = 5      # that a segment needs, on average


def judge_names(kind: str, names: Collection[str]) -> dict[str, str]:
    """`judge`, where there is one of them; `judge_` and its name, where there are several."""
    if len(names) == 1:
        return {next(iter(names)): kind}
    return unlike({name: f"{kind}_{plain_name(name)}" for name in names})


def plain_name(name: str) -> str:
    """A name of letters, digits and underscores, in lower case."""
    return re.sub(r"[^0-9a-z]+", "_", name.lower()).strip("_") or "unnamed"


def unlike(columns: Mapping[str, str], taken: Collection[str] = ()) -> dict[str, str]:
    """The same, with a number after names that are taken."""
    given = {name.lower() for name in taken}
    result = {}
    for name, column in columns.items():
        made, number = column, 2
        while made.lower() in given:
            made, number = f"{column}_{number}", number + 1
        given.add(made.lower())
        result[name] = made
    return result


def type_of(seen: Seen) -> pa.DataType:
    """Of the values of a column."""
    if seen.kinds == {bool}:
        return pa.bool_()
    if seen.kinds == {int}:
        return pa.int64()
    return pa.float64() if seen.kinds and seen.kinds <= {int, float} else pa.string()


def fitting(value: Plain, type: pa.DataType) -> Plain:
    """A value as a column of this type takes it."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return None
    if pa.types.is_string(type):
        return str(value).lower() if isinstance(value, bool) else str(value)
    if pa.types.is_boolean(type):
        return value if isinstance(value, bool) else None
    if pa.types.is_integer(type):
        return value if isinstance(value, int) and abs(value) < 2**63 else None
    return float(value)


def divides(seen: Seen, rows: int) -> bool:
    """Whether a column splits the pool into a few segments."""
    few = 2 <= len(seen.values) <= FEW and not seen.more
    return few and rows > _ITEMS_PER_VALUE * len(seen.values) and not any(
        isinstance(value, float) and not value.is_integer() for value in seen.values
    )


def batches(
    rows: Iterator[Mapping[str, Plain]], schema: pa.Schema, size: int = 2_000
) -> Iterator[pa.RecordBatch]:
    """Rows as record batches; a key that a row lacks is missing."""
    held: list[Mapping[str, Plain]] = []
    for row in rows:
        held.append(row)
        if len(held) == size:
            yield _batch(held, schema)
            held = []
    if held:
        yield _batch(held, schema)


def _batch(rows: Sequence[Mapping[str, Plain]], schema: pa.Schema) -> pa.RecordBatch:
    columns = [
        pa.array([fitting(row.get(field.name), field.type) for row in rows], field.type) for field in schema
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)
