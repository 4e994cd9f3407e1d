"""Freezing runs no Python code for each row: a pool four times as long costs a few calls more, by batch."""

import sys
import threading
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from doubles.specs import a_spec

from assay.tasks.ledger.stores.store import MemoryStore
from assay.tasks.pool.freeze_shards import FrozenRows
from assay.tasks.pool.shards import one_after_the_other
from assay.tasks.sources.reader import open_source

ROWS = 10_000
SHOWN = ["text", "number", "whole", "tiny", "flag", "when"]


def write(path: Path, rows: int) -> None:
    number = np.arange(rows)
    table = pa.table({
        "item_id": number, "score": np.sin(number), "prediction": number % 2,
        "region": pa.array(["north", "south"]).take(pa.array(number % 2)),
        "text": pa.array(number).cast(pa.string()), "number": np.cos(number), "whole": number * 1e9,
        "tiny": number * 1e-9, "flag": number % 3 == 0, "when": pa.array(number).cast(pa.timestamp("s")),
    })
    if path.suffix == ".parquet":
        pq.write_table(table, path)
    else:
        pacsv.write_csv(table, path)


def calls(path: Path) -> int:
    """Python functions that run, and functions of C that they call, while a file is frozen."""
    spec, counted = a_spec(str(path), segments=["region"], display=SHOWN), 0

    def note(frame, event, argument) -> None:
        nonlocal counted
        counted += event in ("call", "c_call")

    sys.setprofile(note)
    threading.setprofile(note)
    try:
        frozen = FrozenRows(spec, MemoryStore(), open_source(spec.pool.source), one_after_the_other)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    assert frozen.rows in (ROWS, 4 * ROWS)
    return counted


@pytest.mark.parametrize("format", ["parquet", "csv"])
def test_calls_do_not_grow_with_rows(tmp_path, format):
    few, many = tmp_path / f"few.{format}", tmp_path / f"many.{format}"
    write(few, ROWS)
    write(many, 4 * ROWS)
    calls(few)      # what is imported and cached once
    assert calls(many) - calls(few) < ROWS / 5
