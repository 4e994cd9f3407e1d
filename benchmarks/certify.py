"""Certification: pool × measure × budget, what `auto` reports beside published methods.

    python -m benchmarks.certify --repeats 100 --pools abt-buy,band --cache certification.jsonl
    python -m benchmarks.certify --repeats 1000 --until 300 --cache certification.jsonl
    python -m benchmarks.certify --repeats 1000 --methods recalibrated --budgets 50,100,150 --cache c.jsonl
    python -m benchmarks.certify --write --cache certification.jsonl       # docs/measured/certification.md

Work is cut into cells (pool, method, measures, block of 50 repeats), as many at a time as there are
processors.  A finished cell is a line of the cache: sums of errors, squared errors, covers and widths, so
that a run can be killed at any time, go on later with more repeats or budgets, or run in slices on several
machines whose caches are joined with `cat`.  All pools advance block by block, so that what a run leaves
unfinished is repeats and not pools; `--until` stops short of the larger budgets, and the table says R row by
row.  A cell that was run for other budgets is run again, and its last line counts, budget by budget.  A
repeat without an estimate counts as the value 0, as a miss and as width 1.

What the cells add up to is in `benchmarks.certification_doc`.
"""

import argparse
import json
import os
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from assay.evalcore.measures.registry import usual
from assay.evalcore.replay.families import FAMILIES, pool
from assay.evalcore.replay.pool import LabelledPool, prepared
from assay.evalcore.replay.run import REPEATS_OF_STREAM, ReplayPlan, Trace, run_block
from benchmarks.broken_pools import broken_pool, is_broken
from benchmarks.certification_doc import (
    BUDGETS,
    REAL,
    SUMS,
    document,
    doubtful,
    drop_unfinished_line,
    lines,
    narrowing,
    summary,
    totals,
    write_csv,
)
from benchmarks.contenders import NARROW, SUBJECTS, UNBIASED, contender
from benchmarks.half_widths import Needs, oracle_needs, table
from benchmarks.half_widths import write_csv as write_half_widths
from benchmarks.pages import write_page
from benchmarks.real_pools import real_pool

OUT = Path(__file__).parent.parent / "docs" / "measured" / "certification.md"


@lru_cache(maxsize=4)    # a process works on one pool after the other
def load(name: str) -> LabelledPool:
    """A synthetic family, a broken pool by lot, or a real pool."""
    if is_broken(name):
        return broken_pool(name).pool
    return pool(name) if name in FAMILIES else real_pool(name)


def sums(trace: Trace, truth: float) -> list[dict[str, float]]:
    """One dictionary of SUMS for each budget."""
    result = []
    for j in range(trace.value.shape[1]):
        value, lower, upper = trace.value[:, j], trace.lower[:, j], trace.upper[:, j]
        missing = ~np.isfinite(value)
        error = np.where(missing, 0.0, value) - truth
        covers = ~missing & (lower <= truth + 1e-9) & (truth <= upper + 1e-9)
        width = np.where(missing, 1.0, upper - lower)
        wide, wide_width = covers, width
        if trace.wide_lower is not None and trace.wide_upper is not None:
            low, high = trace.wide_lower[:, j], trace.wide_upper[:, j]
            wide = ~missing & (low <= truth + 1e-9) & (truth <= high + 1e-9)
            wide_width = np.where(missing, 1.0, high - low)
        each = (
            np.ones(len(value)), error, error**2, error**4, covers, width, missing, wide, wide_width
        )
        result.append({name: float(np.sum(x)) for name, x in zip(SUMS, each, strict=True)})
    return result


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One block of repeats of one method on one pool."""

    pool: str
    method: str
    measures: tuple[str, ...]
    block: int
    budgets: tuple[int, ...]

    @property
    def key(self) -> tuple[str, str, str, int]:
        """Which cell it is, whatever its budgets."""
        return self.pool, self.method, "+".join(self.measures), self.block


def run(
    pools: Sequence[str],
    methods: Sequence[str],
    names: Sequence[str],
    repeats: int,
    cache: Path,
    budgets: Sequence[int] = BUDGETS,
    processes: int | None = None,
) -> None:
    """Fill the cache; cells that are there already, with these budgets, are not run again.

    processes: by default as many as there are processors.  What is written does not depend on it, but for the
    order of the lines.
    """
    drop_unfinished_line(cache)
    done = {(*_key(line), budget) for line in lines(cache) for budget in line.get("budgets", ())}
    cells = [
        Cell(pool=pool_name, method=how, measures=tuple(names), block=block, budgets=tuple(budgets))
        for block in range(-(-repeats // REPEATS_OF_STREAM))
        for pool_name, how in product(pools, methods)
    ]
    missing = [cell for cell in cells if not all((*cell.key, b) in done for b in budgets)]
    for line in _run_all(missing, processes or len(os.sched_getaffinity(0))):
        with cache.open("a", encoding="utf-8") as out:
            out.write(json.dumps(line) + "\n")
        print(*_key(line), file=sys.stderr, flush=True)


def _run_all(cells: Sequence[Cell], processes: int) -> Iterator[dict[str, Any]]:
    """The lines of the cells, in whatever order they come."""
    if processes == 1 or len(cells) < 2:
        yield from map(run_cell, cells)
        return
    executor = ProcessPoolExecutor(min(processes, len(cells)), mp_context=get_context("spawn"))
    try:
        for future in as_completed([executor.submit(run_cell, cell) for cell in cells]):
            yield future.result()
    finally:
        # after an error or an interruption nothing more is started
        executor.shutdown(cancel_futures=True)


def run_cell(cell: Cell) -> dict[str, Any]:
    """The line of one cell; linear algebra is held to one thread, or it would fight other cells for cores."""
    how = contender(cell.method)
    data = load(cell.pool)
    measures = [usual(name) for name in cell.measures]
    ready = prepared(how, data, measures)
    budgets = [b for b in cell.budgets if b < ready.n_items]
    with threadpool_limits(limits=1):
        traces = run_block(
            how, ready, ReplayPlan(budgets=budgets), repeats=REPEATS_OF_STREAM, block=cell.block
        )
    found = {}
    for measure, trace in zip(measures, traces, strict=True):
        truth = float(measure.of_confusion(data.confusion()))
        if np.isfinite(truth):
            found[measure.name] = dict(zip(map(str, budgets), sums(trace, truth), strict=True))
    name, how_named, named, block = cell.key
    return {
        "pool": name, "method": how_named, "measures": named, "block": block,
        "budgets": list(cell.budgets), "sums": found,
    }


def _key(line: dict[str, Any]) -> tuple[str, str, str, int]:
    return line["pool"], line["method"], line["measures"], line["block"]


def needs(cache: Path) -> Needs:
    """The oracle's labels on every pool of a cache, for every measure that has a value there."""
    asked: dict[str, set[str]] = {}
    for line in lines(cache):
        asked.setdefault(line["pool"], set()).update(line["sums"])
    return {
        (name, measure): by_target
        for name, measures in asked.items()
        for measure, by_target in oracle_needs(load(name), sorted(measures)).items()
    }


def write(cache: Path, names: Sequence[str]) -> None:
    """docs/measured/certification.md and .csv, from `names`."""
    reached = narrowing(cache, needs(cache))
    write_page(OUT, document(cache, reached))
    write_csv(cache, OUT.with_suffix(".csv"))
    write_half_widths(reached, OUT.with_name("certification-half-widths.csv"))


def main(arguments: Sequence[str] | None = None) -> None:
    """Run cells, or write the tables of a cache."""
    parser = argparse.ArgumentParser(description="Certify what `auto` reports, by replay.")
    parser.add_argument("--cache", type=Path, required=True, help="JSON lines of finished cells")
    parser.add_argument("--repeats", type=int, default=100)
    parser.add_argument("--pools", default=",".join([*REAL, *FAMILIES]))
    parser.add_argument("--methods", default=";".join([*SUBJECTS, *UNBIASED, *NARROW]),
                        help="joined with ;")
    parser.add_argument("--measures", default="f1", help="asked for together; the first drives sampling")
    parser.add_argument("--budgets", default=",".join(map(str, BUDGETS)), help="rising")
    parser.add_argument("--until", type=int, help="leave out the budgets beyond this one")
    parser.add_argument("--processes", type=int, help="at a time; by default one for each processor")
    parser.add_argument("--write", action="store_true", help="only write the tables")
    parser.add_argument("--show", action="store_true", help="print the summary of the cache")
    given = parser.parse_args(arguments)
    names = given.measures.split(",")
    if given.write:
        write(given.cache, names)
        return
    if not given.show:
        budgets = [b for b in map(int, given.budgets.split(",")) if given.until is None or b <= given.until]
        run(given.pools.split(","), given.methods.split(";"), names, given.repeats, given.cache,
            budgets, given.processes)
    together = "+".join(names)
    found, reached = totals(given.cache, together), narrowing(given.cache, needs(given.cache))
    for subject in SUBJECTS:
        print(doubtful(found, subject), summary(found, reached.get(together, []), subject),
              table(reached.get(together, []), subject), sep="\n")


if __name__ == "__main__":
    main()
