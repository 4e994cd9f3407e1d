"""One shard's work by three engines: processor seconds in one process and one thread.

    python -m benchmarks.large_pools.engines FOLDER

Each reads ids and scores of the Parquet files in a folder (see `pool.write_pool`), checks that no id is
missing, empty or long and that every score is a finite number, hashes each id to 64 bits and counts scores in
4,096 bins. DuckDB and Polars are not needed by Assay: install them to run this. The hashes differ between
engines; Polars and DuckDB may change theirs with a version.
"""

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

for _name in ("POLARS_MAX_THREADS", "OMP_NUM_THREADS"):
    os.environ[_name] = "1"

import numpy as np  # noqa: E402

from assay.tasks.arrow import lengths_of, numbers_of  # noqa: E402
from assay.tasks.pool.duplicate_ids import id_hashes  # noqa: E402
from assay.tasks.sources.reader import open_source  # noqa: E402

LOW, HIGH, BINS, LONGEST, REPEATS = -64.0, 64.0, 4096, 1000, 5


def scan(folder: Path) -> int:
    """Only reading, by PyArrow."""
    return sum(batch.columns.num_rows for batch in open_source(str(folder)).batches(["item_id", "score"]))


def ours(folder: Path) -> int:
    """PyArrow reads; the rest is NumPy."""
    hashes, counts = [], np.zeros(BINS, np.int64)
    for batch in open_source(str(folder)).batches(["item_id", "score"]):
        ids, score = batch.columns.column(0), numbers_of(batch.columns.column(1))
        lengths = lengths_of(ids)
        if lengths.min() == 0 or lengths.max() > LONGEST or not np.isfinite(score).all():
            raise ValueError("a bad row")
        hashes.append(id_hashes(ids))
        place = ((score - LOW) * (BINS / (HIGH - LOW))).astype(np.int64)
        counts += np.bincount(np.clip(place, 0, BINS - 1), minlength=BINS)
    return len(np.concatenate(hashes)) if counts.sum() else 0


def by_duckdb(folder: Path) -> int:
    """All steps in SQL; hashes come back as Arrow."""
    import duckdb

    with duckdb.connect(config={"threads": 1}) as database:
        database.execute(f"""
            create temp table pass as select hash(item_id) h, score, item_id is null or item_id = ''
                or strlen(item_id) > {LONGEST} or not isfinite(score) bad
            from read_parquet('{folder}/*.parquet')""")
        if database.execute("select count(*) from pass where bad or bad is null").fetchall() != [(0,)]:
            raise ValueError("a bad row")
        database.execute(f"""
            select least(greatest(floor((score - {LOW}) * {BINS / (HIGH - LOW)}), 0), {BINS - 1}) b, count(*)
            from pass group by b""").fetchall()
        return len(database.execute("select h from pass").fetchnumpy()["h"])


def by_polars(folder: Path) -> int:
    """All steps as expressions of a lazy frame."""
    import polars as pl

    score, ids = pl.col("score"), pl.col("item_id")
    place = ((score - LOW) * (BINS / (HIGH - LOW))).floor().clip(0, BINS - 1).cast(pl.Int32)
    frame = pl.scan_parquet(f"{folder}/*.parquet").select(
        ids.hash().alias("h"), place.alias("b"),
        (ids.is_null() | (ids.str.len_bytes() == 0) | (ids.str.len_bytes() > LONGEST)
         | ~score.is_finite()).alias("bad"),
    ).collect(engine="streaming")
    if frame["bad"].any():
        raise ValueError("a bad row")
    frame.group_by("b").len()
    return len(frame["h"].to_numpy())


def main(folder: Path) -> None:
    """Print a table; runs of the engines alternate."""
    engines: dict[str, Callable[[Path], int]] = {
        "PyArrow, reading only": scan, "PyArrow and NumPy": ours, "DuckDB": by_duckdb, "Polars": by_polars,
    }
    taken: dict[str, list[float]] = {name: [] for name in engines}
    rows = 0
    for _ in range(REPEATS):
        for name, engine in engines.items():
            start = time.process_time()
            rows = engine(folder)
            taken[name].append(time.process_time() - start)
    print("| engine | processor µs a row |\n| --- | ---: |")
    for name, seconds in taken.items():
        print(f"| {name} | {min(seconds) / rows * 1e6:.3f} |")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
