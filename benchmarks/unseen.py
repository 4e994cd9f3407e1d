"""`recalibrated` on hundreds of pools that nothing was tuned on (`benchmarks.lottery`).

    python -m benchmarks.unseen --pools 0-299 --cache unseen.jsonl
    python -m benchmarks.unseen --write --cache unseen.jsonl               # docs/unseen.md

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
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import binom

from assay.evalcore.measures.base import Measure
from assay.evalcore.measures.registry import usual
from assay.evalcore.methods.importance.static_is import StaticIS
from assay.evalcore.methods.recalibrated import Recalibrated
from assay.evalcore.methods.registry import method
from assay.evalcore.randomness import stream
from assay.evalcore.replay.pool import LabelledPool, prepare
from assay.evalcore.replay.run import run_block
from assay.evalcore.replay.trace import Trace
from assay.evalcore.types import Floats
from benchmarks.certification_doc import DEFENSIVE
from benchmarks.lottery import draw

BUDGETS = (50, 100, 200, 300, 500, 1000)
REPORT_DRAWS = 600
# in the order in which docs/unseen.md was drawn
MEASURES = ("accuracy", "precision", "recall", "f1", "fbeta", "specificity", "balanced_accuracy", "mcc")
BESIDE = ("passive", DEFENSIVE, "dirichlet-tree")
WANTED = 0.93
FULL, SHORT = 4, 300         # every fourth pool is run to the largest budget, the others to this one
SUMS = ("n", "squared", "error", "covers", "wide", "width", "undefined")
OUT = Path(__file__).parent.parent / "docs" / "unseen.md"


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
        "asked": [m.name for m in measures], "methods": {},
    }
    hows: list[Any] = [replace(Recalibrated(), report_draws=REPORT_DRAWS)]
    if beside and measures[0].name == "f1":
        hows += [StaticIS(name=DEFENSIVE, epsilon=0.1) if m == DEFENSIVE else method(m) for m in BESIDE]
    for how in hows:
        start = time.time()
        cells, by_label = prepare(how, ticket.pool)
        most = budgets[-1] if index % FULL == 0 else SHORT
        at = [b for b in budgets if b < cells.n_items and b <= most]
        own = isinstance(how, Recalibrated)
        traces = run_block(
            how, cells, by_label, measures if own else measures[:1], at,
            repeats=repeats, batch_size=batch, confidence=0.95, seed=3,
        )
        line["methods"][how.name] = {
            t.measure.name: dict(zip(map(str, at), _sums(t, ticket.pool), strict=True)) for t in traces
            if np.isfinite(t.measure.of_confusion(ticket.pool.confusion()))
        }
        line["methods"][how.name]["seconds"] = round(time.time() - start, 2)
    return line


def _sums(trace: Trace, pool: LabelledPool) -> list[dict[str, float]]:
    truth = float(trace.measure.of_confusion(pool.confusion()))
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


def by_line(entry: dict[str, float]) -> str:
    """What one entry of the sums says, for the list of the worst."""
    covers, wide, error, undefined = (entry[x] / entry["n"] for x in ("covers", "wide", "error", "undefined"))
    return f"{covers:.2f} wide {wide:.2f} bias {error:+.3f} undefined {undefined:.2f}"


def coverage_table(lines: Sequence[dict[str, Any]], by: str = "kind", only: str = "") -> str:
    """Coverage by kind (or measure) and budget, pools pooled: covered share, and the wide interval's."""
    totals: dict[tuple[str, int], Floats] = {}
    for line in lines:
        for name, budgets in line["methods"]["recalibrated"].items():
            if name == "seconds" or (only and name != only):
                continue
            group = line["kind"] if by == "kind" else name if by == "measure" else str(line["batch"])
            for budget, entry in budgets.items():
                so_far = totals.setdefault((group, int(budget)), np.zeros(5))
                n = entry["n"]
                so_far += [n, entry["covers"], entry["wide"], entry["width"], entry["undefined"]]
    rows = [f"| {by} | " + " | ".join(f"{b}" for b in BUDGETS) + " |", "|---" * (len(BUDGETS) + 1) + "|"]
    for group in sorted({g for g, _ in totals}):
        cells = []
        for budget in BUDGETS:
            if (group, budget) not in totals:
                cells.append("-")
                continue
            n, covers, wide, width, undefined = totals[group, budget]
            star = "*" if binom.cdf(covers, n, WANTED) < 0.01 else ""
            note = f" ({undefined / n:.2f} undefined)" if undefined / n >= 0.005 else ""
            cells.append(f"{covers / n:.3f}{star} / {wide / n:.3f} w {width / n:.2f}{note}")
        rows.append(f"| {group} | " + " | ".join(cells) + " |")
    return "\n".join(rows) + "\n"


def ratio_table(lines: Sequence[dict[str, Any]]) -> str:
    """Geometric mean over pools of MSE over the smallest of the published ones', by kind and budget."""
    logs: dict[tuple[str, int], list[float]] = {}
    for line in lines:
        methods = line["methods"]
        if len(methods) == 1:
            continue
        for budget, own in methods["recalibrated"].get("f1", {}).items():
            best = min(methods[m]["f1"][budget]["squared"] for m in BESIDE if budget in methods[m]["f1"])
            # errors below 0.002 are nobody's trouble, and ratios of nothing to nothing are noise
            floor = own["n"] * 4e-6
            value = np.log(max(own["squared"], floor) / max(best, floor))
            logs.setdefault((line["kind"], int(budget)), []).append(value)
    rows = ["| kind | pools | " + " | ".join(f"{b}" for b in BUDGETS) + " | all |", "|---" * 9 + "|"]
    for kind in sorted({k for k, _ in logs}):
        cells = [f"{np.exp(np.mean(logs[kind, b])):.2f}" if (kind, b) in logs else "-" for b in BUDGETS]
        every = [x for (k, _), several in logs.items() if k == kind for x in several]
        rows.append(f"| {kind} | {len(logs[kind, 50])} | " + " | ".join(cells)
                    + f" | {np.exp(np.mean(every)):.2f} |")
    return "\n".join(rows) + "\n"


def worst(lines: Sequence[dict[str, Any]], several: int = 25) -> str:
    """The (pool, measure, budget) whose intervals failed most often."""
    found = []
    for line in lines:
        for name, budgets in line["methods"]["recalibrated"].items():
            if name == "seconds":
                continue
            lowest = min(budgets.items(), key=lambda item: item[1]["covers"] / item[1]["n"])
            entry = lowest[1]
            found.append((
                entry["covers"] / entry["n"],
                f"{by_line(entry)} at {lowest[0]} {name}, pool {line['pool']}, batch {line['batch']}, "
                f"{line['kind']}: {line['says']}",
            ))
    return "\n".join(text for _, text in sorted(found)[:several])


def document(lines: Sequence[dict[str, Any]]) -> str:
    """docs/unseen.md from the cache."""
    beside = [line for line in lines if len(line["methods"]) > 1]
    several = round(np.mean([line["methods"]["recalibrated"]["f1"]["50"]["n"] for line in lines]))
    return "\n".join([
        "# `recalibrated` on pools nobody chose\n",
        f"Made by `python -m benchmarks.unseen` on {len(lines)} pools drawn by lot (`benchmarks.lottery`, "
        f"numbers {min(x['pool'] for x in lines)} to {max(x['pool'] for x in lines)}, looked at for nothing "
        "else): "
        f"about {several} repeats each, in batches of 10, 25, 50 or 100, nominal 95% intervals. A cell says "
        "coverage / coverage of the wide interval, w mean width; a star marks coverage significantly below "
        "0.93 (binomial, p < 0.01). Every fourth pool goes to 1,000 labels, the others to 300.\n",
        "## F1, by kind of pool\n", coverage_table(lines, "kind", "f1"),
        "## All measures asked for, by kind of pool\n", coverage_table(lines, "kind"),
        "## By measure, whichever drove the sampling\n", coverage_table(lines, "measure"),
        "## F1, by batch size\n", coverage_table(lines, "batch", "f1"),
        "## Error of F1 beside the best of three published methods\n",
        f"{len(beside)} of the pools, geometric means over pools of MSE over the smallest MSE of "
        f"{', '.join(BESIDE)} with the same scores at the same budget. The smallest of three noisy errors is "
        "too small, so the ratios are too large. Errors below 0.002 count as 0.002.\n",
        ratio_table(lines),
        "## Where intervals failed most often\n",
        *(f"- {row}" for row in worst(lines, 12).splitlines()), "",
    ])


def main() -> None:
    """Run pools, show the cache, or write docs/unseen.md."""
    parser = argparse.ArgumentParser(description="Many pools, few repeats.")
    parser.add_argument("--pools", default="0-99")
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--alone", action="store_true", help="without the published methods")
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--write", action="store_true", help="only write docs/unseen.md")
    given = parser.parse_args()
    if given.write:
        OUT.write_text(document(_lines(given.cache)), encoding="utf-8")
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
    print(worst(lines))


if __name__ == "__main__":
    main()
