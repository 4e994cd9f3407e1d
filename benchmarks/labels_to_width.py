"""Labels to a half-width: a method beside its rivals on the same pools, and how often intervals cover.

    python -m benchmarks.labels_to_width --repeats 200 --cache labels.jsonl
    python -m benchmarks.labels_to_width --cache labels.jsonl --write

A method is judged by how many labels it needs until the mean half-width of its 95% interval is ±0.10 and
±0.05, beside the best method of the registry whose intervals are honest on that pool, in the same run.
Honest is what covers 0.94 at every number of labels from 50 on, by a binomial test at 1%.  Pools: families
and matchers by lot (`benchmarks.score_families`, `benchmarks.broken_pools`), and named ones.
"""

import argparse
import csv
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import binom

from assay.evalcore.measures.registry import named
from assay.evalcore.methods.registry import method
from assay.evalcore.methods.two_classes.choice import labels_to_trust_nothing
from assay.evalcore.replay import families
from assay.evalcore.replay.pool import LabelledPool
from assay.evalcore.replay.run import ReplayPlan, simulate
from benchmarks.broken_pools import broken_pool, is_broken
from benchmarks.pages import write_page
from benchmarks.score_families import FAMILIES, score_family_pool

OUT = Path(__file__).parent.parent / "docs" / "measured" / "labels.md"
OWN = "score-test"
RIVALS = (
    "passive", "stratified", "stratified-neyman", "stratified-online", "static-is:epsilon=0.1",
    "bernoulli-online",
)
LOOKS = (25, 50, 75, 100, 150, 200, 300, 400, 500)
FROM = 50                     # labels from which on intervals are to cover
HALF_WIDTHS = (0.10, 0.05)
WANTED, ALARM = 0.94, 0.01
NAMED = (
    "balanced", "balanced-weak", "weak", "ties", "small", "inverted", "shuffled", "threshold-low", "band",
    "all-positive",
)
JUDGED = tuple(
    f"{family}-judge-{i}" for family in FAMILIES for i in range(8 if family in ("ties", "few") else 4)
)
MATCHERS = tuple(f"matcher-judge-{i}" for i in range(60))


def pool_of(name: str) -> LabelledPool:
    """A pool by name: of a family or matcher by lot, or one that the replay knows."""
    if name.partition("-")[2].count("-") == 1 and name.partition("-")[0] in FAMILIES:
        return score_family_pool(name)
    return broken_pool(name).pool if is_broken(name) else families.pool(name)


def run_cell(name: str, method_name: str, repeats: int, measure: str = "f1") -> dict[str, Any]:
    """Coverage, half-width and error of one method on one pool, by number of labels."""
    pool, asked = pool_of(name), named(measure)
    looks = [b for b in LOOKS if b <= 0.9 * len(pool.label)]
    truth = float(asked.of_confusion(pool.confusion()))
    trace = simulate(
        method(method_name), pool, [asked], ReplayPlan(budgets=looks, seed=1), repeats=repeats
    )[0]
    covers = (trace.lower <= truth + 1e-9) & (trace.upper >= truth - 1e-9)
    defined = np.isfinite(trace.value)
    value = np.where(defined, trace.value, 0.0)
    positives = int(np.count_nonzero(pool.prediction))
    return {
        "pool": name, "method": method_name, "measure": measure, "repeats": repeats, "looks": looks,
        "truth": truth, "bounds": [
            labels_to_trust_nothing(asked, (len(pool.label) - positives, positives), half_width, 0.95)
            for half_width in HALF_WIDTHS
        ],
        "covers": covers.sum(axis=0).tolist(),
        "half": ((trace.upper - trace.lower) / 2).mean(axis=0).tolist(),
        "error": np.sqrt(((value - truth) ** 2).mean(axis=0)).tolist(),
        "bias": (value - truth).mean(axis=0).tolist(),
    }


def labels_to(row: dict[str, Any], half_width: float) -> float:
    """Labels until the mean half-width is so small, between looks by powers; inf where it is never."""
    looks, half = np.array(row["looks"], np.float64), np.array(row["half"])
    reached = np.flatnonzero(half <= half_width)
    if not len(reached):
        return np.inf
    at = int(reached[0])
    if at == 0 or half[at - 1] <= half[at]:
        return float(looks[at])
    share = np.log(half[at - 1] / half_width) / np.log(half[at - 1] / half[at])
    return float(looks[at - 1] * (looks[at] / looks[at - 1]) ** share)


def is_honest(row: dict[str, Any]) -> bool:
    """Whether no number of labels from FROM on has fewer covers than WANTED explains."""
    return all(
        binom.cdf(covers, row["repeats"], WANTED) >= ALARM
        for labels, covers in zip(row["looks"], row["covers"], strict=True) if labels >= FROM
    )


def rows_of(cache: Path) -> list[dict[str, Any]]:
    """What the cache holds."""
    lines = cache.read_text(encoding="utf-8").splitlines() if cache.exists() else ()
    return [json.loads(line) for line in lines]


def page(found: Sequence[dict[str, Any]]) -> str:
    """The page: a line a pool, the method beside the best honest rival."""
    return "\n".join(["\n".join(_head(found)), *_table(found), ""])


def _head(found: Sequence[dict[str, Any]]) -> Iterator[str]:
    own = [row for row in found if row["method"] == OWN]
    repeats = sorted({row["repeats"] for row in own})
    covers = [
        covers / row["repeats"] for row in own
        for labels, covers in zip(row["looks"], row["covers"], strict=True) if labels >= FROM
    ]
    low = [row["pool"] for row in own if not is_honest(row)]
    yield "# Labels to a half-width\n"
    of_rivals = sorted({row["repeats"] for row in found if row["method"] != OWN})
    yield ("Made by `python -m benchmarks.labels_to_width`: F1, batches of 25, nominal 95%, R = "
           f"{' or '.join(map(str, repeats))}, of rivals {' or '.join(map(str, of_rivals))}. `{OWN}` trusts "
           "nothing but the labels. Beside it stands the honest method of the registry that needs the fewest "
           f"labels on that pool; honest is what covers {WANTED} at every number of labels from {FROM} on, "
           "by a binomial test at 1%. Pools are of lots that nothing was chosen on (`judge`), and the named "
           "ones. –: not within 500 labels, or no rival was run. *: fewer labels than show that nothing "
           "hides, so that the rival covers only because nothing does.\n")
    yield (f"Coverage over {len(covers)} pairs of pool and number of labels: {np.mean(covers):.3f} in the "
           f"mean, {min(covers):.3f} at the least; below {WANTED} by the test: {', '.join(low) or 'none'}.\n")


def _table(found: Sequence[dict[str, Any]]) -> Iterator[str]:
    yield ("| pool | F1 | bound of honesty, ±0.10 and ±0.05 | ±0.10 | best honest | ratio "
           "| ±0.05 | best honest | ratio | least cover | width / 3.92 RMSE, 100 to 500 labels |")
    yield "|---|---|---|---|---|---|---|---|---|---|---|"
    for row in found:
        if row["method"] != OWN:
            continue
        rivals = [r for r in found if r["pool"] == row["pool"] and r["method"] != OWN and is_honest(r)]
        cells = []
        for half_width, bound in zip(HALF_WIDTHS, row["bounds"], strict=True):
            mine = labels_to(row, half_width)
            best, name = min(
                ((labels_to(r, half_width), r["method"]) for r in rivals), default=(np.inf, "none")
            )
            both = np.isfinite(mine) and np.isfinite(best)
            cells += [_whole(mine), f"{_whole(best)} {name if np.isfinite(best) else ''}".strip(),
                      f"{mine / best:.2f}{'*' if bound is None or best < bound else ''}" if both else "–"]
        at = [i for i, labels in enumerate(row["looks"]) if labels >= 100 and row["error"][i] > 0]
        ratio = np.mean([row["half"][i] / 1.96 / row["error"][i] for i in at]) if at else np.nan
        least = min((
            covers / row["repeats"]
            for labels, covers in zip(row["looks"], row["covers"], strict=True) if labels >= FROM
        ), default=np.nan)
        bounds = ", ".join("all" if bound is None else f"{bound:,}" for bound in row["bounds"])
        yield (f"| {row['pool']} | {row['truth']:.3f} | {bounds} | {' | '.join(cells)} | {least:.3f} | "
               f"{'–' if np.isnan(ratio) else f'{ratio:.2f}'} |")


def _whole(labels: float) -> str:
    return f"{labels:.0f}" if np.isfinite(labels) else "–"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run what the cache lacks, or write the page of it."""
    parser = argparse.ArgumentParser(description="Labels to a half-width, beside rivals.")
    parser.add_argument("--cache", type=Path, required=True, help="JSON lines of finished cells")
    parser.add_argument("--repeats", type=int, default=200)
    parser.add_argument("--pools", default=",".join([*NAMED, *JUDGED, *MATCHERS]))
    parser.add_argument("--methods", default=";".join([OWN, *RIVALS]))
    parser.add_argument("--write", action="store_true", help="write the page and its table")
    asked = parser.parse_args(arguments)
    if asked.write:
        found = rows_of(asked.cache)
        write_page(OUT, page(found))
        with OUT.with_suffix(".csv").open("w", newline="", encoding="utf-8") as file:
            table = csv.writer(file, lineterminator="\n")
            table.writerow(["pool", "method", "repeats", "labels", "covers", "half_width", "rmse", "bias"])
            for row in found:
                for i, labels in enumerate(row["looks"]):
                    table.writerow([row["pool"], row["method"], row["repeats"], labels, row["covers"][i],
                                    *(f"{row[name][i]:.5f}" for name in ("half", "error", "bias"))])
        return
    done = {(row["pool"], row["method"]) for row in rows_of(asked.cache)}
    for name in asked.pools.split(","):
        for method_name in asked.methods.split(";"):
            if (name, method_name) not in done:
                cell = run_cell(name, method_name, asked.repeats)
                with asked.cache.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(cell) + "\n")


if __name__ == "__main__":
    main()
