"""Fields of structures, called `structure.field`: `output.label`, `output.scores.spam`."""

from collections.abc import Iterable, Sequence

import pyarrow as pa
import pyarrow.compute as pc


def leaves(schema: pa.Schema) -> list[str]:
    """The columns, with the fields of a structure in its place."""
    return [name for field in schema for name in _leaves(field, "")]


def every_name(schema: pa.Schema) -> list[str]:
    """The columns, structures among them, and the fields of structures."""
    return [*schema.names, *(name for name in leaves(schema) if name not in schema.names)]


def picked(batch: pa.RecordBatch, columns: Sequence[str]) -> pa.RecordBatch:
    """These columns of a batch, in the order asked; a field of a missing structure is missing."""
    return pa.RecordBatch.from_arrays([_column(batch, name) for name in columns], names=list(columns))


def is_within(path: str, columns: Iterable[str]) -> bool:
    """Whether a Parquet column, by its path in the schema, belongs to one of these."""
    return any(path == name or path.startswith(f"{name}.") for name in columns)


def _leaves(field: pa.Field, before: str) -> list[str]:
    name = before + field.name
    if not pa.types.is_struct(field.type):
        return [name]
    return [found for inner in field.type.fields for found in _leaves(inner, f"{name}.")]


def _column(batch: pa.RecordBatch, name: str) -> pa.Array:
    if name in batch.schema.names:
        return batch.column(name)
    structure, _, fields = name.partition(".")
    while structure not in batch.schema.names:      # a column may have a dot in its own name
        more, _, fields = fields.partition(".")
        structure = f"{structure}.{more}"
    return pc.struct_field(batch.column(structure), fields.split("."))
