"""docs/measured/certification.md: what the cells of a certification add up to.

Coverage is held against 0.93 by a one-sided binomial test: the p-value is the chance of as many misses or
more if the coverage were exactly 0.93.  Over some hundred rows a few of 0.01 come by chance.  The published
method named beside each pool is the unbiased one of smallest mean squared error there, chosen budget by
budget: no single method could have chosen so well.
"""

import csv
import json
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import binom

from assay.evalcore.replay.families import FAMILIES
from benchmarks.contenders import SUBJECTS, UNBIASED
from benchmarks.half_widths import Needs, Row, every_row, table
from benchmarks.real_pools import KINDS as REAL
from benchmarks.real_pools import SAYS

BUDGETS = (50, 100, 200, 300, 500, 1000)
WANTED, FALSE_ALARM = 0.93, 0.01
SUMS = ("n", "error", "squared", "fourth", "covers", "width", "undefined", "wide", "wide_width")
KIND_OF = {**REAL, **{name: family.kind for name, family in FAMILIES.items()}}

Totals = dict[tuple[str, str, str, int], dict[str, float]]


def lines(cache: Path) -> list[dict[str, Any]]:
    """The finished cells of a cache; none where there is no such file."""
    if not cache.exists():
        return []
    finished, _, _ = cache.read_text(encoding="utf-8").rpartition("\n")
    return [json.loads(line) for line in finished.splitlines()]


def drop_unfinished_line(cache: Path) -> None:
    """Cut off what a killed run wrote of its last line, so that the next line begins on its own."""
    if cache.exists():
        data = cache.read_bytes()
        with cache.open("r+b") as out:
            out.truncate(data.rfind(b"\n") + 1)


def totals(cache: Path, names: str) -> Totals:
    """Sums by (pool, method, measure, budget), blocks added up, of runs that asked for these measures.

    Of a block that was run twice the last line counts.
    """
    last: dict[tuple[str, str, str, int, int], dict[str, float]] = {}
    for line in lines(cache):
        if line["measures"] == names:
            for measure_name, by_budget in line["sums"].items():
                for budget, entry in by_budget.items():
                    last[line["pool"], line["method"], measure_name, int(budget), line["block"]] = entry
    result: Totals = {}
    for (*where, _), entry in last.items():
        so_far = result.setdefault(tuple(where), dict.fromkeys(SUMS, 0.0))
        for name in SUMS:
            so_far[name] += entry[name]
    return result


def full(found: Totals, asked: str, subject: str) -> list[dict[str, str]]:
    """One row per pool, measure and budget, as text; empty where a figure does not exist."""
    rows = []
    for pool_name, method_name, measure_name, budget in found:
        if method_name != subject:
            continue
        own = found[pool_name, method_name, measure_name, budget]
        n = own["n"]
        mse = own["squared"] / n
        se = np.sqrt(max(own["fourth"] / n - mse**2, 0.0) / n)
        name, other = best(found, pool_name, measure_name, budget)
        ratio = mse / other["mse"] if other and other["mse"] > 0 else float("nan")
        width = own["width"] / n
        rows.append({
            "asked_for": asked, "method": subject, "pool": pool_name, "kind": KIND_OF.get(pool_name, ""),
            "measure": measure_name, "labels": f"{budget}", "repeats": f"{n:.0f}",
            "mse": f"{mse:.3e}", "mse_standard_error": f"{se:.1e}", "bias": f"{own['error'] / n:+.4f}",
            "coverage": f"{own['covers'] / n:.3f}", "p_of_so_few_at_0.93": f"{_doubt(own):.4f}",
            "width": f"{width:.4f}", "wide_coverage": f"{own['wide'] / n:.3f}",
            "wide_width": f"{own['wide_width'] / n:.4f}",
            "width_over_3.92_rmse": f"{width / (3.92 * np.sqrt(mse)):.2f}" if mse > 0 else "",
            "undefined": f"{own['undefined'] / n:.3f}", "best_published": name,
            "its_mse": f"{other['mse']:.3e}" if other else "",
            "its_coverage": f"{other['covers']:.3f}" if other else "",
            "ratio": f"{ratio:.3f}" if np.isfinite(ratio) else "",
        })
    return rows


def _doubt(own: dict[str, float], covers: str = "covers") -> float:
    """P(as few covers or fewer) if the coverage were WANTED."""
    return float(binom.cdf(round(own[covers]), round(own["n"]), WANTED))


def best(found: Totals, pool_name: str, measure_name: str, budget: int) -> tuple[str, dict[str, float]]:
    """The unbiased published method of smallest error, its `mse` and `covers`; ("", {}) if none was run."""
    chosen, entry = "", {}
    for name in UNBIASED:
        one = found.get((pool_name, name, measure_name, budget))
        if one and (not entry or one["squared"] / one["n"] < entry["mse"]):
            chosen, entry = name, {"mse": one["squared"] / one["n"], "covers": one["covers"] / one["n"]}
    return chosen, entry


def narrowing(cache: Path, needs: Needs) -> dict[str, list[Row]]:
    """Every method's labels to the half-widths, by the measures that were asked for together."""
    hidden = [name for name, kind in KIND_OF.items() if kind == "hidden"]
    return {
        names: every_row(totals(cache, names), needs, hidden)
        for names in dict.fromkeys(line["measures"] for line in lines(cache))
    }


def summary(found: Totals, reached: Sequence[Row], subject: str) -> str:
    """One row per pool and measure: geometric means of the ratios and relative widths, least coverage, and
    labels to the half-widths with the coverage held there.
    """
    to = {(row.pool, row.measure): row.reached for row in reached if row.method == subject}
    told = [
        "| pool | kind | measure | R | geometric mean of MSE ratios | lowest coverage | smallest p "
        "| lowest wide coverage | width / (3.92 RMSE), geometric mean | labels to ±0.10 (coverage) "
        "| to ±0.05 |",
        "|" + "---|" * 11,
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
            _, other = best(found, pool_name, measure_name, budget)
            if mse > 0:
                widths.append(own["width"] / n / (3.92 * np.sqrt(mse)))
                if other and other["mse"] > 0:
                    logs.append(np.log(mse / other["mse"]))
        told.append(
            f"| {pool_name} | {KIND_OF.get(pool_name, '-')} | {measure_name} "
            f"| {'-'.join(map(str, sorted({min(repeats), max(repeats)})))} "
            f"| {f'{np.exp(np.mean(logs)):.2f}' if logs else '-'} | {min(covers):.3f} | {min(doubts):.3f} "
            f"| {min(wide):.3f} "
            f"| {f'{np.exp(np.mean(np.log(widths))):.1f}' if widths else '-'} "
            "| " + " | ".join("{} ({})".format(*one.columns()) for one in to[pool_name, measure_name]) + " |"
        )
    return "\n".join(told) + "\n"


def doubtful(found: Totals, subject: str) -> str:
    """Where coverage is below WANTED by the binomial test at 1%; hidden positives by the wide interval."""
    rows = 0
    told = []
    for (pool_name, method_name, measure_name, budget), own in found.items():
        if method_name != subject:
            continue
        rows += 1
        covers = "wide" if KIND_OF.get(pool_name) == "hidden" else "covers"
        if _doubt(own, covers) < FALSE_ALARM:
            told.append(f"{pool_name}, {measure_name}, {budget} labels: {own[covers] / own['n']:.3f}")
    where = "; ".join(told) if told else "nowhere"
    return (
        f"Coverage below {WANTED} by a binomial test at {FALSE_ALARM:.0%}, over {rows:,} rows of pool, "
        f"measure and budget (by the wide interval where positives hide): {where}.\n"
    )


def document(cache: Path, reached: Mapping[str, Sequence[Row]]) -> str:
    """docs/measured/certification.md from the cache.

    reached: labels to half-widths, by what was asked for together.
    """
    parts = [
        "# Certification\n",
        f"Made by `python -m benchmarks.certify` (see there), version {version('assay-evaluation')}: 95% "
        "intervals, batches of 25, fixed seeds. `auto` reports `score-test`, which trusts nothing but the "
        "labels, or, where positives are too rare for that, `recalibrated`, which trusts the score. "
        "The ratio is to the unbiased published method with the smallest error at that budget; it says "
        "little where that method found nothing and the truth is next to 0. R: runs, "
        f"fewest and most over budgets. p: the chance of as few covers if the coverage were {WANTED}. Labels "
        "to a half-width: where half the mean width has come down to it for good, with the coverage there; "
        "an asterisk where that is below what the method is held to (0.94 for the two, 0.93 for "
        "published ones; binomial, 1%), so that its labels are not to be compared. The "
        "[oracle](../how-to/replay.md) is the stratified design that knows the true rate of every cell. "
        "Where positives hide, the wide interval counts, and labels are told to its half-width. In full: "
        "[every row](certification.csv), [every method's labels](certification-half-widths.csv); pools that "
        "nothing was tuned on: [labels to a half-width](labels.md), [unseen](unseen.md).\n",
        "## The pools\n",
        "Real ones with real labels (`benchmarks.real_pools`), and synthetic ones "
        "(`assay.evalcore.replay.families`).\n",
        "| pool | kind | what it is |\n|---|---|---|\n" + "\n".join([
            *(f"| {name} | {REAL[name]}, real | {says} |" for name, says in SAYS.items()),
            *(f"| {family.name} | {family.kind} | {family.says} |" for family in FAMILIES.values()),
        ]) + "\n",
    ]
    for names in dict.fromkeys(line["measures"] for line in lines(cache)):
        found = totals(cache, names)
        methods = {method_name for _, method_name, _, _ in found}
        for subject in (subject for subject in SUBJECTS if subject in methods):
            parts += [
                f"## {names.replace('+', ', ')}: `{subject}`\n", doubtful(found, subject),
                summary(found, reached[names], subject),
                "Labels to a half-width:\n", table(reached[names], subject),
            ]
    return "\n".join(parts)


def write_csv(cache: Path, path: Path) -> None:
    """Every row in full."""
    rows = [
        row
        for names in dict.fromkeys(line["measures"] for line in lines(cache))
        for subject in SUBJECTS
        for row in full(totals(cache, names), names, subject)
    ]
    with path.open("w", encoding="utf-8", newline="") as out:
        writer = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
