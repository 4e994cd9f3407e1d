"""What it costs to read what people see of 50 items of a pool of 10^8 rows.

    python -m benchmarks.large_pools.shown /path/of/a/folder [--whole]

One file of ten million rows with two texts (about 40 and 200 bytes; 2 GB, kept once written) in row groups of
a million, under ten names. With --whole, every row group concerned is read from its start instead.
"""

import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from assay.tasks.sources.files.listing import file_at
from assay.tasks.sources.parquet.rows import parquet_batches
from assay.tasks.sources.reader import read_rows

COLUMNS = ["item_id", "title", "text"]
GROUP, GROUPS, NAMES, ITEMS = 1_000_000, 10, 10, 50


def write_file(path: Path) -> None:
    """Rows with random words; nothing is done where the file is there."""
    if path.exists():
        return
    rng = np.random.default_rng(3)
    letters = [rng.integers(97, 123, rng.integers(2, 10)) for _ in range(5000)]
    words = pa.array([bytes(word.astype(np.uint8)).decode() for word in letters])
    unfinished = path.with_suffix(".unfinished")
    many_words = (5, 30)      # of title and text
    schema = pa.schema([(name, pa.string()) for name in COLUMNS])
    with pq.ParquetWriter(unfinished, schema, compression="snappy") as out:
        for group in range(GROUPS):
            number = pa.array(np.arange(group * GROUP, (group + 1) * GROUP)).cast(pa.string())
            texts = []
            for many in many_words:
                picks = [words.take(pa.array(rng.integers(0, len(words), GROUP))) for _ in range(many)]
                texts.append(pc.binary_join_element_wise(*picks, number, " "))
            out.write_table(pa.Table.from_arrays([number, *texts], schema=schema), GROUP)
    unfinished.rename(path)


def main(folder: Path, whole: bool) -> None:
    """Print seconds and processor seconds of three rounds."""
    folder.mkdir(parents=True, exist_ok=True)
    write_file(folder / "0.parquet")
    for name in range(1, NAMES):
        (folder / f"{name}.parquet").unlink(missing_ok=True)
        (folder / f"{name}.parquet").symlink_to("0.parquet")
    for seed in range(3):
        rows = np.sort(np.random.default_rng(seed).choice(NAMES * GROUPS * GROUP, ITEMS, replace=False))
        start, used = time.perf_counter(), time.process_time()
        for name in range(NAMES):
            wanted = [int(row) % (GROUPS * GROUP) for row in rows if row // (GROUPS * GROUP) == name]
            path = str(folder / f"{name}.parquet")
            if whole:
                for _ in parquet_batches(file_at(path), COLUMNS, wanted):
                    pass
            else:
                read_rows(path, wanted, COLUMNS)
        print(f"{time.perf_counter() - start:.2f} s, processor {time.process_time() - used:.2f} s")


if __name__ == "__main__":
    main(Path(sys.argv[1]), "--whole" in sys.argv)
