"""`recalibrated` on hundreds of pools that nothing was tuned on (`benchmarks.lottery`).

    python -m benchmarks.unseen --pools 0-299 --cache unseen.jsonl
    python -m benchmarks.unseen --write --cache unseen.jsonl               # docs/measured/unseen.md

Each pool gets a few repeats with batches of 10, 25, 50 or 100 and its own asking: F1 alone, or one of the
measures with all the others beside it.  No single pool is measured well; all together show where intervals
fail, and what the error is beside that of published methods with the same scores.
"""

import argparse
import json
import sys
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from assay.evalcore.measures.registry import usual
from assay.evalcore.measures.two_classes import Measure
from assay.evalcore.methods.two_classes.recalibrated import Recalibrated
from assay.evalcore.replay.pool import prepared
from assay.evalcore.replay.run import ReplayPlan, Trace, run_block
from assay.evalcore.reproducible import stream
from benchmarks.contenders import contender
from benchmarks.half_widths import oracle_needs
from benchmarks.lottery import draw
from benchmarks.pages import write_page
from benchmarks.unseen_doc import (
    BESIDE,
    BUDGETS,
    coverage_table,
    document,
    half_width_table,
    ratio_table,
    worst,
)

# in the order in which docs/measured/unseen.md was drawn
MEASURES = ("accuracy", "precision", "recall", "f1", "fbeta", "specificity", "balanced_accuracy", "mcc")
FULL, SHORT = 4, 300         # every fourth pool is run to the largest budget, the others to this one
SUMS = ("n", "squared", "error", "covers", "wide", "width", "undefined")
OUT = Path(__file__).parent.parent / "docs" / "measured" / "unseen.md"


def asked(index: int) -> tuple[int, list[Measure]]:
    """Batch size and measures of pool `index`."""
    rng = stream(7, f"lottery/{index}/asking")
    batch = int(rng.choice([10, 25, 50, 100]))
    every = [usual(name) for name in MEASURES]
    f1 = [m for m in every if m.name == "f1"]
    if rng.random() < 0.5:
        return batch, f1
    if rng.random() < 0.5:
        return batch, f1 + [m for m in every if m.name != "f1"]
    order = rng.permutation(len(every))
    return batch, [every[i] for i in order]


def run(index: int, repeats: int, beside: bool, budgets: Sequence[int] = BUDGETS) -> dict[str, Any]:
    """One pool: sums by method, measure and budget."""
    ticket = draw(index)
    batch, measures = asked(index)
    line: dict[str, Any] = {
        "pool": index, "kind": ticket.kind, "says": ticket.says, "batch": batch,
        "asked": [m.name for m in measures], "methods": {}, "oracle": {},
    }
    if np.isfinite(usual("f1").of_confusion(ticket.pool.confusion())):
        needs = oracle_needs(ticket.pool, ["f1"])["f1"]
        line["oracle"]["f1"] = {str(target): labels for target, labels in needs.items()}
    hows = [contender("recalibrated")]
    if beside and measures[0].name == "f1":
        hows += [contender(name) for name in BESIDE]
    for how in hows:
        start = time.time()
        own = isinstance(how, Recalibrated)
        of_method = measures if own else measures[:1]
        ready = prepared(how, ticket.pool, of_method)
        most = budgets[-1] if index % FULL == 0 else SHORT
        at = [b for b in budgets if b < ready.n_items and b <= most]
        traces = run_block(how, ready, ReplayPlan(budgets=at, batch_size=batch, seed=3), repeats=repeats)
        line["methods"][how.name] = {
            m.name: dict(zip(map(str, at), _sums(t, truth), strict=True))
            for m, t in zip(of_method, traces, strict=True)
            if np.isfinite(truth := float(m.of_confusion(ticket.pool.confusion())))
        }
        line["methods"][how.name]["seconds"] = round(time.time() - start, 2)
    return line


def _sums(trace: Trace, truth: float) -> list[dict[str, float]]:
    result = []
    for j in range(trace.value.shape[1]):
        value, lower, upper = trace.value[:, j], trace.lower[:, j], trace.upper[:, j]
        missing = ~np.isfinite(value)
        error = np.where(missing, 0.0, value) - truth
        covers = ~missing & (lower <= truth + 1e-9) & (truth <= upper + 1e-9)
        wide = covers
        if trace.wide_lower is not None and trace.wide_upper is not None:
            low, high = trace.wide_lower[:, j], trace.wide_upper[:, j]
            wide = ~missing & (low <= truth + 1e-9) & (truth <= high + 1e-9)
        width = np.where(missing, 1.0, upper - lower)
        each = (np.ones(len(value)), error**2, error, covers, covers | wide, width, missing)
        result.append({name: float(np.sum(x)) for name, x in zip(SUMS, each, strict=True)})
    return result


def _lines(cache: Path) -> list[dict[str, Any]]:
    if not cache.exists():
        return []
    return [json.loads(line) for line in cache.read_text(encoding="utf-8").splitlines()]


def main() -> None:
    """Run pools, show the cache, or write docs/measured/unseen.md."""
    parser = argparse.ArgumentParser(description="Many pools, few repeats.")
    parser.add_argument("--pools", default="0-99")
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--alone", action="store_true", help="without the published methods")
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--write", action="store_true", help="only write docs/measured/unseen.md")
    given = parser.parse_args()
    if given.write:
        write_page(OUT, document(_lines(given.cache)))
        return
    if not given.show:
        first, last = map(int, given.pools.split("-"))
        done = {line["pool"] for line in _lines(given.cache)}
        warnings.simplefilter("error")
        for index in range(first, last + 1):
            if index in done:
                continue
            try:
                line = run(index, given.repeats, not given.alone)
            except Exception as error:                # the next pool is worth running all the same
                print("FAILED", index, draw(index).says, repr(error), file=sys.stderr, flush=True)
                continue
            with given.cache.open("a", encoding="utf-8") as out:
                out.write(json.dumps(line) + "\n")
    lines = _lines(given.cache)
    print(coverage_table(lines, "kind", "f1"))
    print(coverage_table(lines, "kind"))
    print(coverage_table(lines, "measure"))
    print(coverage_table(lines, "batch", "f1"))
    print(ratio_table(lines))
    print(half_width_table(lines))
    print(worst(lines))


if __name__ == "__main__":
    main()
