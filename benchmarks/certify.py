"""Certification: pool × measure × budget, for `recalibrated` and for the best published method beside it.

    python -m benchmarks.certify --repeats 100 --pools abt-buy,band --cache certification.jsonl
    python -m benchmarks.certify --repeats 1000 --until 300 --cache certification.jsonl
    python -m benchmarks.certify --write --cache certification.jsonl       # docs/certification.md

Work is cut into cells (pool, method, measures, block of 50 repeats).  A finished cell is a line of the cache:
sums of errors, squared errors, covers and widths, so that a run can stop at any time, go on later with more
repeats, or run in slices on several machines whose caches are joined with `cat`.  All pools advance block by
block, so that what a run leaves unfinished is repeats and not pools; `--until` stops short of the larger
budgets, and the table says R row by row.  A repeat without an estimate counts as the value 0, as a miss and
as width 1.

Coverage is held against 0.93 by a one-sided binomial test: the p-value is the chance of as many misses or
more if the coverage were exactly 0.93.  Over some hundred rows a few of 0.01 come by chance.

The published method named beside each pool is the unbiased one of smallest mean squared error there, chosen
budget by budget: no single method could have chosen so well.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import binom

from benchmarks import certified_table
from benchmarks.real_pools import KINDS as REAL
from benchmarks.real_pools import SAYS, real_pool
from evalcore.families import FAMILIES, pool
from evalcore.measures import Measure, measure
from evalcore.methods.recalibrated import Recalibrated
from evalcore.methods.registry import method
from evalcore.methods.static_is import StaticIS
from evalcore.replay import BLOCK, LabelledPool, Trace, prepare, run_block

BUDGETS = (50, 100, 200, 300, 500, 1000)
DEFENSIVE = "static-is, 10% even"   # the supplied probabilities, with a tenth of the draws spread evenly
UNBIASED = ("passive", "dirichlet-tree", DEFENSIVE, "static-is", "sawade", "bernoulli", "oasis")
REPORT_DRAWS = 600           # a live report takes 2,000: slower, and less noisy than what is certified here
WANTED = 0.93
SUMS = ("n", "error", "squared", "fourth", "covers", "width", "undefined", "wide", "wide_width")
_BEFORE_WIDE = {"wide": "covers", "wide_width": "width"}
OUT = Path(__file__).parent.parent / "docs" / "certification.md"


def load(name: str) -> LabelledPool:
    """A synthetic family, or a real pool."""
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


def run(
    pools: Sequence[str],
    methods: Sequence[str],
    names: Sequence[str],
    repeats: int,
    cache: Path,
    until: int = BUDGETS[-1],
) -> None:
    """Fill the cache; cells that are there already are not run again."""
    done = {_key(line) for line in _lines(cache)}
    measures = [measure(name, 2.0 if name == "fbeta" else None) for name in names]
    data: dict[str, LabelledPool] = {}
    for block in range(-(-repeats // BLOCK)):
        for pool_name, method_name in product(pools, methods):
            key = (pool_name, method_name, "+".join(names), block)
            if key in done:
                continue
            if pool_name not in data:
                data[pool_name] = load(pool_name)
            line = _cell(key, data[pool_name], measures, until)
            with cache.open("a", encoding="utf-8") as out:
                out.write(json.dumps(line) + "\n")
            print(*key, file=sys.stderr, flush=True)


def _cell(
    key: tuple[str, str, str, int], data: LabelledPool, measures: Sequence[Measure], until: int
) -> dict[str, Any]:
    pool_name, method_name, names, block = key
    how = StaticIS(name=DEFENSIVE, epsilon=0.1) if method_name == DEFENSIVE else method(method_name)
    if isinstance(how, Recalibrated):
        how = replace(how, report_draws=REPORT_DRAWS)
    cells, by_label = prepare(how, data)
    budgets = [b for b in BUDGETS if b < cells.n_items and b <= until]
    traces = run_block(
        how, cells, by_label, measures, budgets,
        repeats=BLOCK, batch_size=25, confidence=0.95, seed=1, block=block,
    )
    found = {}
    for trace in traces:
        truth = float(trace.measure.of_confusion(data.confusion()))
        if np.isfinite(truth):
            found[trace.measure.name] = dict(zip(map(str, budgets), sums(trace, truth), strict=True))
    return {"pool": pool_name, "method": method_name, "measures": names, "block": block, "sums": found}


def _lines(cache: Path) -> list[dict[str, Any]]:
    if not cache.exists():
        return []
    return [json.loads(line) for line in cache.read_text(encoding="utf-8").splitlines()]


def _key(line: dict[str, Any]) -> tuple[str, str, str, int]:
    return line["pool"], line["method"], line["measures"], line["block"]


Totals = dict[tuple[str, str, str, int], dict[str, float]]


def totals(cache: Path, names: str) -> Totals:
    """Sums by (pool, method, measure, budget), blocks added up, of runs that asked for these measures."""
    result: Totals = {}
    for line in _lines(cache):
        if line["measures"] != names:
            continue
        for measure_name, by_budget in line["sums"].items():
            for budget, entry in by_budget.items():
                key = (line["pool"], line["method"], measure_name, int(budget))
                so_far = result.setdefault(key, dict.fromkeys(SUMS, 0.0))
                for name in SUMS:
                    # lines from before there was a wide interval: it was the same as the other
                    so_far[name] += entry.get(name, entry[_BEFORE_WIDE.get(name, name)])
    return result


def table(found: Totals, subject: str = "recalibrated") -> str:
    """One row per pool, measure and budget."""
    rows = [
        "| pool | measure | labels | R | MSE | ± | bias | coverage | p | width | wide coverage | wide width "
        "| width / (3.92 RMSE) | undefined | best published | its MSE | its coverage | ratio |",
        "|" + "---|" * 18,
    ]
    for pool_name, method_name, measure_name, budget in found:
        if method_name != subject:
            continue
        own = found[pool_name, method_name, measure_name, budget]
        n = own["n"]
        mse = own["squared"] / n
        se = np.sqrt(max(own["fourth"] / n - mse**2, 0.0) / n)
        best, other = _best(found, pool_name, measure_name, budget)
        ratio = mse / other["mse"] if other and other["mse"] > 0 else float("nan")
        width = own["width"] / n
        cells = [
            pool_name, measure_name, f"{budget}", f"{n:.0f}", f"{mse:.2e}", f"{se:.0e}",
            f"{own['error'] / n:+.3f}", f"{own['covers'] / n:.3f}", f"{_doubt(own):.3f}", f"{width:.3f}",
            f"{own['wide'] / n:.3f}", f"{own['wide_width'] / n:.3f}",
            f"{width / (3.92 * np.sqrt(mse)):.1f}" if mse > 0 else "-", f"{own['undefined'] / n:.2f}",
            best or "-", f"{other['mse']:.2e}" if other else "-",
            f"{other['covers']:.2f}" if other else "-", f"{ratio:.2f}" if np.isfinite(ratio) else "-",
        ]
        rows.append("| " + " | ".join(cells) + " |")
    return "\n".join(rows) + "\n"


def _doubt(own: dict[str, float]) -> float:
    """P(as few covers or fewer) if the coverage were WANTED."""
    return float(binom.cdf(round(own["covers"]), round(own["n"]), WANTED))


def _best(found: Totals, pool_name: str, measure_name: str, budget: int) -> tuple[str, dict[str, float]]:
    best, entry = "", {}
    for name in UNBIASED:
        one = found.get((pool_name, name, measure_name, budget))
        if one and (not entry or one["squared"] / one["n"] < entry["mse"]):
            best, entry = name, {"mse": one["squared"] / one["n"], "covers": one["covers"] / one["n"]}
    return best, entry


def summary(found: Totals, subject: str = "recalibrated") -> str:
    """One row per pool and measure: geometric mean of the ratios, least coverage, largest relative width."""
    kinds = {**REAL, **{name: family.kind for name, family in FAMILIES.items()}}
    rows = [
        "| pool | kind | measure | R | geometric mean of MSE ratios | lowest coverage | smallest p "
        "| lowest wide coverage | width / (3.92 RMSE), geometric mean |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    groups = sorted({(p, m) for p, name, m, _ in found if name == subject})
    for pool_name, measure_name in groups:
        logs, covers, widths, doubts, wide, repeats = [], [], [], [], [], set()
        for budget in BUDGETS:
            own = found.get((pool_name, subject, measure_name, budget))
            if own is None:
                continue
            n, mse = own["n"], own["squared"] / own["n"]
            covers.append(own["covers"] / n)
            wide.append(own["wide"] / n)
            doubts.append(_doubt(own))
            repeats.add(round(n))
            _, other = _best(found, pool_name, measure_name, budget)
            if mse > 0:
                widths.append(own["width"] / n / (3.92 * np.sqrt(mse)))
                if other and other["mse"] > 0:
                    logs.append(np.log(mse / other["mse"]))
        rows.append(
            f"| {pool_name} | {kinds.get(pool_name, '-')} | {measure_name} "
            f"| {'-'.join(map(str, sorted({min(repeats), max(repeats)})))} "
            f"| {f'{np.exp(np.mean(logs)):.2f}' if logs else '-'} | {min(covers):.3f} | {min(doubts):.3f} "
            f"| {min(wide):.3f} "
            f"| {f'{np.exp(np.mean(np.log(widths))):.1f}' if widths else '-'} |"
        )
    return "\n".join(rows) + "\n"


def document(cache: Path) -> str:
    """docs/certification.md from the cache."""
    parts = [
        "# Certification of `recalibrated`\n",
        "Made by `python -m benchmarks.certify` (see there): 95% intervals, batches of 25, fixed seeds. "
        "The ratio is to the unbiased published method with the smallest error at that budget; where that "
        "method says 0 because it found nothing, and the truth is next to 0, the ratio says little. R is the "
        "number of runs of `recalibrated` in that row; published methods have 50. p is the chance of as few "
        "covers if the coverage were 0.93: small values speak against the interval. Further evidence, on "
        "pools nothing was tuned on: docs/unseen.md.\n",
        "## The pools\n",
        "Real, with real labels (`benchmarks.real_pools`):\n",
        "\n".join(f"- **{name}** ({REAL[name]}): {says}" for name, says in SAYS.items()) + "\n",
        "Synthetic (`evalcore.families`):\n",
        "\n".join(f"- **{f.name}** ({f.kind}): {f.says}" for f in FAMILIES.values()) + "\n",
    ]
    for names in dict.fromkeys(line["measures"] for line in _lines(cache)):
        found = totals(cache, names)
        parts += [f"## Asked for: {names}\n", summary(found), "### In full\n", table(found)]
    return "\n".join(parts)


def write_certified(cache: Path, names: Sequence[str]) -> None:
    """evalcore/certified.py, by which `auto` chooses, from the runs that asked for these measures."""
    found = totals(cache, "+".join(names))
    kinds = {**REAL, **{name: family.kind for name, family in FAMILIES.items()}}
    table = certified_table.rows(found, lambda *where: _best(found, *where), kinds)
    measured = {key[3] for key in found if key[1] == "recalibrated"}
    budgets = tuple(b for b in BUDGETS if b in measured) or BUDGETS
    certified_table.OUT.write_text(certified_table.source(table, budgets), encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run cells, or write the tables of a cache."""
    parser = argparse.ArgumentParser(description="Certify `recalibrated` by replay.")
    parser.add_argument("--cache", type=Path, required=True, help="JSON lines of finished cells")
    parser.add_argument("--repeats", type=int, default=100)
    parser.add_argument("--pools", default=",".join([*REAL, *FAMILIES]))
    parser.add_argument("--methods", default=";".join(["recalibrated", *UNBIASED]), help="joined with ;")
    parser.add_argument("--measures", default="f1", help="asked for together; the first drives sampling")
    parser.add_argument("--until", type=int, default=BUDGETS[-1], help="the largest budget of these cells")
    parser.add_argument("--write", action="store_true", help="only write docs/certification.md")
    parser.add_argument("--show", action="store_true", help="print the summary of the cache")
    given = parser.parse_args(arguments)
    names = given.measures.split(",")
    if given.write:
        OUT.write_text(document(given.cache), encoding="utf-8")
        write_certified(given.cache, names)
        return
    if not given.show:
        run(given.pools.split(","), given.methods.split(";"), names, given.repeats, given.cache,
            given.until)
    found = totals(given.cache, "+".join(names))
    print(summary(found))
    print(table(found))


if __name__ == "__main__":
    main()
