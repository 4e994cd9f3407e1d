"""docs/measured/unseen.md: what the pools by lot (`benchmarks.unseen`) add up to."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.stats import binom

from assay.evalcore.replay.run import LabelsTo, falls_short
from assay.evalcore.types import Floats
from benchmarks.contenders import DEFENSIVE, NARROW, contender
from benchmarks.half_widths import HALF_WIDTHS, narrowed

BUDGETS = (50, 100, 200, 300, 500, 1000)
# the error of F1 is held beside that of the first three, labels to a half-width beside all
LEAST_ERROR = ("passive", DEFENSIVE, "dirichlet-tree")
BESIDE = (*LEAST_ERROR, *NARROW)
WANTED = 0.93


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
            best = min(methods[m]["f1"][budget]["squared"] for m in LEAST_ERROR if budget in methods[m]["f1"])
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


def half_width_table(lines: Sequence[dict[str, Any]]) -> str:
    """Labels of F1 to each half-width, by method: pools that got there, coverage, two ratios of labels."""
    beside = [line for line in lines if len(line["methods"]) > 1 and line.get("oracle")]
    repeats = [next(iter(line["methods"]["recalibrated"]["f1"].values()))["n"] for line in beside]
    told = [
        "| half-width | method | got there | coverage there | x oracle | recalibrated / it | over pools |",
        "|" + "---|" * 7,
    ]
    for i, target in enumerate(HALF_WIDTHS):
        reached = [{name: to[i] for name, to in _to_half_widths(line).items()} for line in beside]
        for name in dict.fromkeys(name for found in reached for name in found):
            ran = [(found[name], n) for found, n in zip(reached, repeats, strict=True) if name in found]
            there = [(one, n) for one, n in ran if one.labels is not None]
            multiples = [one.times_oracle for one, _ in there if one.times_oracle and not one.at_most]
            rivals = [_own_over(found["recalibrated"], found[name]) for found in reached if name in found]
            known = [ratio for ratio in rivals if ratio is not None]
            told.append(
                f"| {target:g} | {name} | {len(there)} of {len(ran)} | {_pooled(name, there)} "
                f"| {f'{np.median(multiples):.2f}' if multiples else '-'} "
                f"| {f'{np.exp(np.mean(np.log(known))):.2f}' if known else '-'} | {len(known)} |"
            )
    return "\n".join(told) + "\n"


def _own_over(own: LabelsTo, other: LabelsTo) -> float | None:
    """The ratio of labels; None unless both got there between two budgets."""
    if own.labels is None or other.labels is None or own.at_most or other.at_most:
        return None
    return own.labels / other.labels


def _to_half_widths(line: dict[str, Any]) -> dict[str, tuple[LabelsTo, ...]]:
    """Labels of F1 to the half-widths on one pool, by method."""
    needs = {float(target): labels for target, labels in line["oracle"]["f1"].items()}
    return {
        name: tuple(narrowed({int(b): sums for b, sums in by_measure["f1"].items()}, name, needs))
        for name, by_measure in line["methods"].items() if "f1" in by_measure
    }


def _pooled(name: str, there: Sequence[tuple[LabelsTo, float]]) -> str:
    """The share of all intervals that covered; there: of each pool with the number of its repeats."""
    if not there:
        return "-"
    repeats = sum(n for _, n in there)
    coverage = sum((one.coverage or 0.0) * n for one, n in there) / repeats
    short = falls_short(coverage, round(repeats), contender(name).least_coverage(0.95))
    return f"{coverage:.3f}{'*' if short else ''}"


def worst(lines: Sequence[dict[str, Any]], several: int = 25) -> str:
    """The pools whose intervals failed most often, each with its lowest measure and budget."""
    found = []
    for line in lines:
        of_pool = []
        for name, budgets in line["methods"]["recalibrated"].items():
            if name == "seconds":
                continue
            lowest = min(budgets.items(), key=lambda item: item[1]["covers"] / item[1]["n"])
            entry = lowest[1]
            of_pool.append((
                entry["covers"] / entry["n"],
                f"{by_line(entry)} at {lowest[0]} {name}, pool {line['pool']}, batch {line['batch']}, "
                f"{line['kind']}: {line['says']}",
            ))
        found.append(min(of_pool))
    return "\n".join(text for _, text in sorted(found)[:several])


def document(lines: Sequence[dict[str, Any]]) -> str:
    """docs/measured/unseen.md from the cache."""
    beside = [line for line in lines if len(line["methods"]) > 1]
    several = round(np.mean([line["methods"]["recalibrated"]["f1"]["50"]["n"] for line in lines]))
    return "\n".join([
        "# `recalibrated` on pools drawn by lot\n",
        "Does the method work on pools that nobody chose, and that nothing was tuned on? Made by "
        f"`python -m benchmarks.unseen` on {len(lines)} pools (`benchmarks.lottery`, "
        f"numbers {min(x['pool'] for x in lines)} to {max(x['pool'] for x in lines)}, which were used for "
        f"nothing else): about {several} repeats each, batches of 10, 25, 50 or 100, nominal 95%. Cells: "
        "coverage / that of the wide interval, w mean width; a star where coverage is below 0.93 (binomial, "
        "p < 0.01). Every fourth pool goes to 1,000 labels, the others to 300.\n",
        "## F1, by kind of pool\n", coverage_table(lines, "kind", "f1"),
        "## All measures asked for, by kind of pool\n", coverage_table(lines, "kind"),
        "## By measure, whichever measure drove the sampling\n", coverage_table(lines, "measure"),
        "## F1, by batch size\n", coverage_table(lines, "batch", "f1"),
        "## Error of F1 beside the best of three published methods\n",
        f"{len(beside)} of the pools: MSE divided by the smallest MSE of {'; '.join(LEAST_ERROR)}, with the "
        "same scores at the same budget, geometric mean over pools. The smallest of three noisy errors is "
        "too small, so the ratios are too large. Errors below 0.002 count as 0.002.\n",
        ratio_table(lines),
        "## Labels of F1 to a half-width\n",
        "On how many of those pools half the mean width came down to ± for good; the coverage there, an "
        "asterisk where it is below what the method is held to (0.94 for `recalibrated`, 0.93 for published "
        "ones; binomial, 1%), so that its labels are not to be compared; the labels over the "
        "[oracle's](../how-to/replay.md), median over pools where the method got there between two budgets; "
        "the labels of `recalibrated` over the method's, geometric mean where both did.\n",
        half_width_table(lines),
        "## Where intervals failed most often\n",
        *(f"- {row}" for row in worst(lines, 5).splitlines()), "",
    ])


