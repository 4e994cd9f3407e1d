"""What an interval covers where an evaluation stops on its target, and how often `ok` is wrong at the limit.

    python -m benchmarks.at_the_stop --lot choose --repeats 200      the rules beside each other
    python -m benchmarks.at_the_stop --rows --cache rows.jsonl       `auto` for rows of any outcome
    python -m benchmarks.at_the_stop --cache stops.jsonl --rows-cache rows.jsonl --write   the page

A look comes with every batch of 25 labels.  A rule is the least number of labels before the target may be
met, and at how many looks in a row it has to be.  The truth lies exactly at the limit, so that an `ok` at the
stop, or at the last look of runs that do not stop, is wrong.
"""

import argparse
import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import binom

from assay.evalcore.measures.registry import named
from assay.evalcore.methods.method import LOOKS_IN_A_ROW, MIN_LABELS
from assay.evalcore.methods.registry import method, outcome_method
from assay.evalcore.replay.run import ReplayPlan, Trace, simulate
from assay.evalcore.types import Ints
from benchmarks.any_outcome import PoolQuestion, by_lot
from benchmarks.labels_to_width import ALARM, OWN, WANTED, pool_of, rows_of
from benchmarks.pages import write_page
from benchmarks.score_families import FAMILIES
from benchmarks.stopping import stops

OUT = Path(__file__).parent.parent / "docs" / "measured" / "at-the-stop.md"
TARGETS = (0.10, 0.05)
RULES = ((25, 1), (50, 1), (50, 2), (100, 1), (100, 2))    # least labels, looks in a row
USUAL = (MIN_LABELS, LOOKS_IN_A_ROW)
BATCH, BUDGET, ROWS_BUDGET = 25, 500, 400
MOST_WRONG = 0.035
OFTEN = 20      # stops of a pool below which it says nothing


def run_pool(name: str, repeats: int) -> dict[str, Any]:
    """Stops, covers at the stop, labels at it and wrong `ok` on one pool, by target and rule."""
    pool, asked = pool_of(name), named("f1")
    looks = np.arange(BATCH, min(BUDGET, int(0.9 * len(pool.label))) + 1, BATCH)
    truth = float(asked.of_confusion(pool.confusion()))
    trace = simulate(
        method(OWN), pool, [asked], ReplayPlan(budgets=looks.tolist(), seed=2), repeats=repeats
    )[0]
    return {"pool": name, "repeats": repeats, "truth": truth, "rules": by_rule(trace, looks, truth)}


def run_question(asked: PoolQuestion, repeats: int) -> dict[str, Any]:
    """The same of one measure of rows, by what `auto` means for it; targets in its own unit."""
    stack = asked.stack
    looks = np.arange(BATCH, min(ROWS_BUDGET, int(0.9 * len(asked.pool.codes))) + 1, BATCH)
    (truth,) = asked.pool.truth(stack)
    chosen = outcome_method(asked.meant("auto"), asked.pool.kind)
    plan = ReplayPlan(budgets=looks.tolist(), batch_size=BATCH, seed=2)
    (trace,) = simulate(chosen, asked.pool, stack, plan, repeats=repeats)
    return {
        "pool": f"{asked.pool_name}, {asked.measure}", "repeats": repeats, "truth": float(truth),
        "rules": by_rule(trace, looks, float(truth), asked.unit),
    }


def by_rule(trace: Trace, looks: Ints, truth: float, unit: float = 1.0) -> list[dict[str, Any]]:
    """Stops, covers at the stop, labels at it and wrong `ok`, by target (in this unit) and rule."""
    half = (trace.upper - trace.lower) / 2 / unit
    repeats = len(half)
    covers = (trace.lower <= truth + 1e-9) & (trace.upper >= truth - 1e-9)
    results = []
    for target in TARGETS:
        for least, in_a_row in RULES:
            late = looks >= least
            at = stops(np.where(late, half, np.inf), target, in_a_row)
            rows = np.flatnonzero(at >= 0)
            end = np.where(at >= 0, at, len(looks) - 1)
            above = trace.lower[np.arange(repeats), end] > truth + 1e-9
            results.append({
                "target": target, "least": least, "looks": in_a_row, "stopped": len(rows),
                "covers": int(covers[rows, at[rows]].sum()),
                "labels": float(looks[at[rows]].mean()) if len(rows) else None, "wrong_ok": int(above.sum()),
            })
    return results


def rule_table(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    """A line for every target and rule, over all pools."""
    yield ("| target | least labels | looks in a row | stops | covered at the stop | least on a pool "
           "| pools below 0.94 by test | mean labels | wrong `ok` | most on a pool |")
    yield "|" + "---|" * 10
    for k, rule in enumerate(rows[0]["rules"]):
        of_rule = [(row, row["rules"][k]) for row in rows]
        stopped = [(row, cell) for row, cell in of_rule if cell["stopped"] >= OFTEN]
        if not stopped:
            continue
        total = sum(cell["stopped"] for _, cell in stopped)
        covers = sum(cell["covers"] for _, cell in stopped)
        low = [
            row["pool"] for row, cell in stopped
            if binom.cdf(cell["covers"], cell["stopped"], WANTED) < ALARM
        ]
        labels = np.mean([cell["labels"] for _, cell in stopped])
        wrong = [cell["wrong_ok"] / row["repeats"] for row, cell in of_rule]
        yield (f"| {rule['target']:.2f} | {rule['least']} | {rule['looks']} | {total:,} "
               f"| {covers / total:.3f} | {min(cell['covers'] / cell['stopped'] for _, cell in stopped):.3f} "
               f"| {', '.join(low) or 'none'} of {len(stopped)} | {labels:.0f} "
               f"| {np.mean(wrong):.3f} | {max(wrong):.3f} |")


def question_table(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    """A line for every question of rows: its stops by the usual rule."""
    yield "| pool, measure | ±0.10: stops | covered | labels | wrong `ok` | ±0.05: stops | covered | labels |"
    yield "|" + "---|" * 8
    for row in rows:
        wide, narrow = (
            next(cell for cell in row["rules"]
                 if (cell["target"], cell["least"], cell["looks"]) == (target, *USUAL)) for target in TARGETS
        )
        cells = [str(wide["stopped"]), *_at_stop(wide), f"{wide['wrong_ok'] / row['repeats']:.3f}",
                 str(narrow["stopped"]), *_at_stop(narrow)]
        yield f"| {row['pool']} | {' | '.join(cells)} |"


def _at_stop(cell: dict[str, Any]) -> tuple[str, str]:
    if cell["stopped"] < OFTEN:
        return "–", "–"
    return f"{cell['covers'] / cell['stopped']:.3f}", f"{cell['labels']:.0f}"


def page(rows: Sequence[dict[str, Any]], of_rows: Sequence[dict[str, Any]]) -> str:
    """The page; rows: of two classes along a score, of_rows: of any outcome."""
    repeats = sorted({row["repeats"] for row in rows})
    return "\n".join([
        "# At the stop\n",
        f"Made by `python -m benchmarks.at_the_stop`: F1 by `{OWN}`, a look with every batch of {BATCH} "
        f"labels up to {BUDGET}, nominal 95%, R = {' or '.join(map(str, repeats))}, {len(rows)} pools of "
        "families by lot that nothing was chosen on (`judge`). The truth lies exactly at the limit, so every "
        f"`ok` is wrong; at most {MOST_WRONG:.1%} is allowed. Pools with fewer than {OFTEN} stops are left "
        "out of the columns of stops; below 0.94 by a binomial test at 1%.\n",
        *rule_table(rows), "",
        "## Rows of any outcome\n",
        f"`auto` on {len(of_rows)} questions of the lot of any-outcome.md, "
        f"R = {' or '.join(map(str, sorted({row['repeats'] for row in of_rows})))}, up to {ROWS_BUDGET} "
        "labels; then each by the usual rule.\n",
        *rule_table(of_rows), "", *question_table(of_rows), "",
    ])


def main() -> None:
    """Run the pools that the cache lacks, and print or write the page."""
    parser = argparse.ArgumentParser(description="Coverage and wrong verdicts at the stop.")
    parser.add_argument("--lot", default="judge", choices=("choose", "judge"))
    parser.add_argument("--number", type=int, default=4, help="pools of each family")
    parser.add_argument("--repeats", type=int, default=200)
    parser.add_argument("--rows", action="store_true", help="rows of any outcome in place of a score")
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--rows-cache", type=Path, help="what --rows wrote, for the page")
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    rows = rows_of(asked.cache)
    done = {row["pool"] for row in rows}
    families = (f"{family}-{asked.lot}-{i}" for family in FAMILIES for i in range(asked.number))
    todo: Iterator[tuple[str, Callable[[], dict[str, Any]]]] = (
        (f"{question.pool_name}, {question.measure}", partial(run_question, question, asked.repeats))
        for question in by_lot(asked.lot, asked.number)
    ) if asked.rows else ((name, partial(run_pool, name, asked.repeats)) for name in families)
    for name, run in todo:
        if name not in done:
            rows.append(run())
            with asked.cache.open("a", encoding="utf-8") as file:
                file.write(json.dumps(rows[-1]) + "\n")
    if asked.write:
        write_page(OUT, page(rows, rows_of(asked.rows_cache)))
    else:
        print("\n".join(rule_table(rows)))


if __name__ == "__main__":
    main()
