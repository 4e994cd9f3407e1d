"""What people see of 50 items: what keeping it costs at the freeze, and reading it in a round.

    python -m benchmarks.large_pools.shown FOLDER [MILLIONS OF ROWS, 10 unless said]

One file with two texts (about 40 and 200 bytes; 2 GB for ten million rows, kept once written) in row groups
of a million. It is frozen with both texts shown and with none, and the texts of 50 rows are read: from the
ledger, and from the source, where every row group concerned is decoded up to the row.
"""

import shutil
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from assay.tasks.ledger import open_store
from assay.tasks.ledger.manifest import Manifest
from assay.tasks.pool.freeze import freeze_pool
from assay.tasks.pool.frozen import FrozenRow
from assay.tasks.pool.shown import shown_of
from assay.tasks.sources.reader import read_rows
from assay.tasks.spec.evaluation import Spec

TEXTS, COLUMNS = ["title", "text"], ["item_id", "score", "title", "text"]
GROUP, ITEMS, ROUNDS = 1_000_000, 50, 3
Result = TypeVar("Result")


def write_file(path: Path, groups: int) -> None:
    """Rows with random words; nothing is done where the file is there."""
    if path.exists():
        return
    rng = np.random.default_rng(3)
    letters = [rng.integers(97, 123, rng.integers(2, 10)) for _ in range(5000)]
    words = pa.array([bytes(word.astype(np.uint8)).decode() for word in letters])
    unfinished = path.with_suffix(".unfinished")
    many_words = (5, 30)      # of title and text
    types = dict.fromkeys(COLUMNS, pa.string()) | {"score": pa.float64()}
    schema = pa.schema([(name, types[name]) for name in COLUMNS])
    with pq.ParquetWriter(unfinished, schema, compression="snappy") as out:
        for group in range(groups):
            number = pa.array(np.arange(group * GROUP, (group + 1) * GROUP)).cast(pa.string())
            texts = []
            for many in many_words:
                picks = [words.take(pa.array(rng.integers(0, len(words), GROUP))) for _ in range(many)]
                texts.append(pc.binary_join_element_wise(*picks, number, " "))
            columns = [number, pa.array(rng.normal(size=GROUP)), *texts]
            out.write_table(pa.Table.from_arrays(columns, schema=schema), GROUP)
    unfinished.rename(path)


def frozen(path: Path, ledger: Path, display: list[str]) -> Manifest:
    """The file frozen anew, with these columns shown."""
    shutil.rmtree(ledger, ignore_errors=True)
    spec = Spec.from_json({
        "name": "shown", "seed": 7, "store": str(ledger), "method": "dirichlet-tree", "measure": ["f1"],
        "pool": {
            "source": str(path), "id": "item_id", "score": "score", "threshold": 0.0, "display": display,
        },
        "labels": {"positive": "yes", "negative": "no"}, "budget": {"labels": 1000}, "batch_size": ITEMS,
        "desk": {"kind": "simulated", "labels": "none.csv"},
    })
    return freeze_pool(spec, open_store(str(ledger)))


def timed(what: str, work: Callable[[], Result]) -> Result:
    """Print what a piece of work takes, and give what it gives."""
    start, used = time.perf_counter(), time.process_time()
    found = work()
    print(f"{what}: {time.perf_counter() - start:.2f} s, processor {time.process_time() - used:.2f} s")
    return found


def main(folder: Path, millions: int) -> None:
    """Print seconds and bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    path, ledger = folder / f"texts-{millions}.parquet", folder / "ledger"
    write_file(path, millions)
    for display in ([], TEXTS):
        manifest = timed(f"freeze, {len(display)} texts", partial(frozen, path, ledger, display))
        files = [file for file in ledger.rglob("*") if file.is_file()]
        print(f"  {sum(file.stat().st_size for file in files) / millions / GROUP:.0f} bytes a row")
    store = open_store(str(ledger))
    for seed in range(ROUNDS):
        rows = np.sort(np.random.default_rng(seed).choice(millions * GROUP, ITEMS, replace=False)).tolist()
        items = [
            FrozenRow(row=row, item_id=str(row), segments={}, source_file=0, source_row=row) for row in rows
        ]
        timed("50 items from the ledger", partial(shown_of, store, manifest, TEXTS, items))
    timed("50 items from the source", partial(read_rows, str(path), rows, ["item_id", *TEXTS]))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 10)
