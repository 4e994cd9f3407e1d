"""What people wait for: processor seconds of whole commands, beside an earlier checkout.

    PYTHONPATH=tests:. python -m benchmarks.waiting EARLIER [--repeats 6] [--rows 10000000]

EARLIER is the folder of another checkout.  Both run by turns, each time as a new process whose compiled
modules are there; of each the least processor time (user and system) counts, which other work on the machine
moves least.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import yaml
from doubles.small_pool import spec_json, write_small_pool

ROOT = Path(__file__).parent.parent
COMMAND = ("-m", "assay.flows.cli.entry")
EVALUATE = """
import sys, time, pyarrow.csv, assay
mails = pyarrow.csv.read_csv("mails.csv")
asked = dict(outcome=["spam", "ham"], prediction="prediction", score="score", measures=["f1"], oracle="truth",
             method="recalibrated", budget=200)
assay.evaluate(mails, seed=1, **asked)
start = time.process_time()
assay.evaluate(mails, seed=3, **asked)
sys.stdout.write(str(time.process_time() - start))
"""


def files(folder: Path, rows: int) -> None:
    """An evaluation that waits for people, and files that are examined."""
    write_small_pool(folder)
    spec = spec_json(folder / "predictions.csv", folder / "labels.csv", budget={"labels": 200})
    spec["desk"] = {"kind": "folder", "path": "desk"}
    (folder / "spec.yaml").write_text(yaml.safe_dump(spec))
    pacsv.write_csv(_mails(800), folder / "small.csv")
    pacsv.write_csv(_mails(10_000), folder / "mails.csv")
    pq.write_table(_mails(rows).drop_columns(["truth"]), folder / "large.parquet", row_group_size=1 << 20)


def _mails(rows: int) -> pa.Table:
    rng = np.random.default_rng(0)
    spam = rng.random(rows) < 0.05
    score = np.where(spam, rng.normal(1, 1, rows), rng.normal(-2, 1, rows))
    names = pa.array(["ham", "spam"])
    return pa.table({
        "item_id": pa.array(np.arange(rows)).cast(pa.string()), "score": score,
        "prediction": names.take(pa.array((score > 0).astype(np.int64))),
        "truth": names.take(pa.array(spam.astype(np.int64))),
    })


def spent(checkout: Path, folder: Path, arguments: Sequence[str]) -> tuple[float, float, str]:
    """Processor seconds and seconds of one process of a checkout, and what it printed."""
    environment: Mapping[str, str] = {
        **os.environ, "PYTHONPATH": str(checkout), "PYTHONPYCACHEPREFIX": str(folder / "compiled"),
        "OPENBLAS_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "",
    }
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    ran = subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    seconds, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    if ran.returncode not in (0, 4, 5):
        raise RuntimeError(f"{arguments}: {ran.stderr[-1000:]}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, seconds, ran.stdout


def table(earlier: Path, folder: Path, repeats: int) -> str:
    """Markdown: the least processor seconds and seconds of each, and the ratio."""
    whole = {
        "`import assay; assay.evaluate`": ("-c", "import assay; assay.evaluate"),
        "`assay status NAME`": (*COMMAND, "status", "small"),
        "`assay advance NAME`, nothing due": (*COMMAND, "advance", "small"),
        "`assay doctor FILE`, 800 rows": (*COMMAND, "doctor", "small.csv", "--positive", "spam"),
        "`assay doctor FILE`, the large file": (*COMMAND, "doctor", "large.parquet"),
        "`assay.evaluate`, 200 labels, second call": ("-c", EVALUATE),
    }
    folders = {one: folder / name for one, name in ((earlier, "earlier"), (ROOT, "now"))}
    for checkout, there in folders.items():
        for command in (("begin", "spec.yaml"), ("advance", "small")):
            spent(checkout, there, (*COMMAND, *command))
    lines = ["| | before, processor s | now | now / before | before, s | now |"]
    lines.append("|---|---:|---:|---:|---:|---:|")
    for what, arguments in whole.items():
        taken: dict[Path, list[tuple[float, float]]] = {one: [] for one in folders}
        for _ in range(repeats):
            for checkout, there in folders.items():
                used, seconds, printed = spent(checkout, there, arguments)
                used = float(printed) if arguments[1] == EVALUATE else used
                taken[checkout].append((used, seconds))
        (a, a_wall), (b, b_wall) = (tuple(map(min, zip(*taken[one], strict=True))) for one in folders)
        lines.append(f"| {what} | {a:.2f} | {b:.2f} | {b / a:.2f} | {a_wall:.2f} | {b_wall:.2f} |")
        sys.stderr.write(lines[-1] + "\n")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("earlier", type=Path)
    parser.add_argument("--repeats", type=int, default=6)
    parser.add_argument("--rows", type=int, default=10**7, help="of the large file")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        for name in ("earlier", "now"):
            (Path(scratch) / name).mkdir()
            files(Path(scratch) / name, given.rows)
        sys.stdout.write(table(given.earlier.absolute(), Path(scratch), given.repeats))


if __name__ == "__main__":
    main()
