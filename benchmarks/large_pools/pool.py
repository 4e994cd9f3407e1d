"""Predictions of any number, in Parquet files of four million rows, and who is positive."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

FILE_ROWS = 4_000_000
GROUP_ROWS = 1_000_000
COLUMNS = ("item_id", "score")
SHOWN = ("title", "text")
_EVERY = 500             # one item of so many is positive


def write_pool(folder: Path, rows: int, shown: bool = False) -> Path:
    """A folder of files with ids and scores, and with two texts where asked; kept once written."""
    here = folder / f"{'shown' if shown else 'narrow'}-{rows}"
    done = here / "_SUCCESS"
    if done.exists():
        return here
    here.mkdir(parents=True, exist_ok=True)
    for number, first in enumerate(range(0, rows, FILE_ROWS)):
        last = min(first + FILE_ROWS, rows)
        with pq.ParquetWriter(here / f"part-{number:05d}.parquet", _schema(shown), compression="zstd") as out:
            for start in range(first, last, GROUP_ROWS):
                out.write_table(_rows(start, min(start + GROUP_ROWS, last), shown), GROUP_ROWS)
    done.touch()
    return here


def is_positive(item_id: str) -> bool:
    """What a person would say of an item."""
    return int(item_id[1:]) % _EVERY == 0


def _rows(start: int, stop: int, shown: bool) -> pa.Table:
    number = np.arange(start, stop)
    rng = np.random.default_rng([7, start])
    positive = number % _EVERY == 0
    score = np.where(positive, rng.normal(2, 2, len(number)), rng.normal(-5, 1.5, len(number)))
    texts = pa.array(number).cast(pa.string())
    columns = [_after("m", texts), pa.array(score)]
    if shown:
        columns += [_after("message ", texts), _after("what it says: ", texts)]
    return pa.Table.from_arrays(columns, schema=_schema(shown))


def _after(word: str, texts: pa.StringArray) -> pa.StringArray:
    return pc.binary_join_element_wise(word, texts, "")


def _schema(shown: bool) -> pa.Schema:
    texts = [(name, pa.string()) for name in (SHOWN if shown else ())]
    return pa.schema([("item_id", pa.string()), ("score", pa.float64()), *texts])
