"""Labelled items with their weights, as CSV or Parquet.

    item_id, label, prediction
    score, probability            with a positive and a negative class
    probability:CLASS             of each class, where the pool has one
    system:NAME                   what each of the systems that are compared predicts
    probability:NAME:CLASS        what it gives each class, where a measure needs it
    segment:COLUMN, shown:COLUMN  as text
    cell, stratum, round          where the item was drawn, and in which round it was labelled
    draw_probability, probability_kind   of the draw that bought the label
    sample_weight                 items of the pool that it stands for
    evaluation, revision, seed, pool_items, pool_digest   the same in every row

In CSV, text that a spreadsheet would run or rewrite is written as in batches on the folder desk
(`tasks.desks.folder.csv_cells`); numbers are numbers, and what is missing is empty.
"""

import io
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.evalcore.errors import BadInput
from assay.tasks.desks.folder.csv_cells import to_cell, write_csv

Columns = Mapping[str, Sequence[Any]]   # of one length; a column holds text, or numbers, and None


def as_csv(columns: Columns) -> bytes:
    """A file with a heading line."""
    return write_csv([to_cell(name) for name in columns], (
        [to_cell(v) if isinstance(v, str) else v for v in row] for row in zip(*columns.values(), strict=True)
    )).encode()


def as_parquet(columns: Columns) -> bytes:
    """A file with the same columns."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    sink = io.BytesIO()
    table = pa.table({name: list(values) for name, values in columns.items()})
    pq.write_table(table, sink, compression="zstd")
    return sink.getvalue()


FORMATS: Mapping[str, Callable[[Columns], bytes]] = {"csv": as_csv, "parquet": as_parquet}


def format_for(format: str | None, out: Path | None) -> str:
    """The format asked for, or that of the file's name; csv unless said. Raises BadInput for another name."""
    suffix = out.suffix.removeprefix(".").lower() if out is not None else ""
    if format is None and suffix and suffix not in FORMATS:
        raise BadInput(f"--out {out}: is neither .csv nor .parquet; say which with --format")
    return format or suffix or "csv"
