"""Fields of structures, called `structure.field`: `output.label`, `output.scores.spam`."""

import re
from collections.abc import Collection, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc


def leaves(schema: pa.Schema) -> list[str]:
    """The columns, with the fields of a structure in its place."""
    return [name for field in schema for name in _leaves(field, "")]


def every_name(schema: pa.Schema) -> list[str]:
    """The columns, structures among them, and the fields of structures."""
    names = schema.names
    known = set(names)
    return [*names, *(name for name in leaves(schema) if name not in known)]


def picked(batch: pa.RecordBatch, columns: Sequence[str]) -> pa.RecordBatch:
    """These columns of a batch, in the order asked; a field of a missing structure is missing."""
    places = {name: place for place, name in enumerate(batch.schema.names)}
    return pa.RecordBatch.from_arrays([_column(batch, places, name) for name in columns], names=list(columns))


def is_within(path: str, columns: Collection[str]) -> bool:
    """Whether a Parquet column, by its path in the schema, belongs to one of these. Quick for a set."""
    return path in columns or any(path[: dot.start()] in columns for dot in re.finditer(r"\.", path))


def _leaves(field: pa.Field, before: str) -> list[str]:
    name = before + field.name
    if not pa.types.is_struct(field.type):
        return [name]
    return [found for inner in field.type.fields for found in _leaves(inner, f"{name}.")]


def _column(batch: pa.RecordBatch, places: Mapping[str, int], name: str) -> pa.Array:
    if name in places:
        return batch.column(places[name])
    structure, _, fields = name.partition(".")
    while structure not in places:      # a column may have a dot in its own name
        more, _, fields = fields.partition(".")
        structure = f"{structure}.{more}"
    return pc.struct_field(batch.column(places[structure]), fields.split("."))
