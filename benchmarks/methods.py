"""Every method of the registry on the pools of record: errors, coverage and widths at 50 to 2,000 labels.

    python -m benchmarks.methods --repeats 300 --cache methods.jsonl     # docs/measured/methods.md

A finished (pool, method, block of repeats) is a line of the cache, so the study can stop and go on.  The
column of references holds what the authors' code, or a reconstruction from a paper, gave for the mean squared
error of F1, and SOURCE says which; where it is empty none is known.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from assay.evalcore.measures.registry import measure
from assay.evalcore.methods.registry import method, method_names
from assay.evalcore.replay.pool import prepared
from assay.evalcore.replay.run import REPEATS_OF_STREAM, ReplayPlan, run_block
from benchmarks.pages import write_page
from benchmarks.replay import BUDGETS, load

OUT = Path(__file__).parent.parent / "docs" / "measured" / "methods.md"
SLOW = {"recalibrated": 100}  # repeats, where a block takes minutes
SOURCE = {   # whose code gave the references
    "passive": "not recorded", "sawade": "rebuilt", "bernoulli": "rebuilt", "acis-pooled": "rebuilt",
    "oasis": "authors", "dirichlet-flat": "authors", "static-is": "authors", "dirichlet-tree": "authors",
    "recalibrated": "prototype",
}
REFERENCE = {
    ("abt-buy", "passive"): (3.5e-1, 3.5e-1, 3.4e-1, 3.3e-1, 3.1e-1, 2.7e-1, 1.9e-1),
    ("abt-buy", "sawade"): (1.4e-1, 1.4e-1, 1.2e-1, 1.1e-1, 8.1e-2, 4.4e-2, 2.1e-2),
    ("abt-buy", "bernoulli"): (1.4e-1, 1.4e-1, 1.3e-1, 1.2e-1, 9.9e-2, 6.1e-2, 3.0e-2),
    ("abt-buy", "oasis"): (1.7e-1, 1.7e-1, 1.6e-1, 1.4e-1, 8.9e-2, 3.4e-2, 1.2e-2),
    ("abt-buy", "dirichlet-flat"): (1.4e-1, 1.2e-1, 7.8e-2, 5.2e-2, 2.9e-2, 1.1e-2, 4.2e-3),
    ("abt-buy", "static-is"): (1.4e-1, 1.2e-1, 8.0e-2, 5.7e-2, 3.4e-2, 1.8e-2, 9.0e-3),
    ("abt-buy", "dirichlet-tree"): (1.3e-1, 7.8e-2, 3.2e-2, 2.0e-2, 1.2e-2, 4.6e-3, 1.8e-3),
    ("abt-buy", "acis-pooled"): (1.6e-2, 6.0e-3, 2.4e-3, 1.1e-3, 3.5e-4, 6.6e-5, 0.0),
    ("abt-buy", "recalibrated"): (4.7e-3, 1.8e-3, 2.1e-3, 2.7e-3, 2.1e-3, 1.0e-3, 4.1e-4),
    ("restaurant", "passive"): (8.0e-1, 7.9e-1, 7.7e-1, None, 7.2e-1, 6.2e-1, None),
    ("restaurant", "sawade"): (1.2e-2, 1.1e-2, 1.3e-2, None, 1.4e-2, 9.9e-3, None),
    ("restaurant", "bernoulli"): (5.0e-3, 8.8e-3, 1.0e-2, None, 1.2e-2, 1.2e-2, None),
    ("restaurant", "static-is"): (8.4e-3, 9.9e-3, 8.5e-3, None, 7.5e-3, 4.4e-3, None),
    ("restaurant", "dirichlet-tree"): (1.2e-2, 6.2e-3, 2.2e-3, None, 5.6e-4, 1.7e-4, None),
    ("restaurant", "dirichlet-flat"): (4.3e-3, 7.0e-3, 1.3e-2, None, 6.0e-3, 2.3e-3, None),
    ("restaurant", "oasis"): (2.6e-2, 4.6e-2, 5.1e-2, None, 3.7e-2, 1.0e-2, None),
    ("restaurant", "acis-pooled"): (5.7e-3, 3.1e-3, 1.2e-3, None, 2.7e-4, 3.3e-5, None),
    ("restaurant", "recalibrated"): (7.2e-4, 7.4e-4, 2.4e-4, None, None, None, None),
}
NOTES = """\
The papers print no figure. `reference` is what somebody's code gave on these pools: *authors* (activeeval
for Marchant & Rubinstein 2021, oasis for OASIS), *rebuilt* from the paper's text (`acis-pooled` with
choices that are not the paper's), or *prototype*, an earlier version of our own. Of `passive` it was not
recorded.

Where a difference from the reference is large, it has a cause:

- **Bins.** `dirichlet-tree`, `dirichlet-flat` and `oasis` cut the score from the histogram rule's own bins;
  the authors' code fell back to 1,024 on abt-buy. With these the reference errors come back: for the tree
  ([benchmarks.md](benchmarks.md)), for `dirichlet-flat` (1.3e-1 to 4.6e-3 at 50 to 2,000 labels, R = 200),
  and mostly for `oasis`, which renews its proposal every round here and every draw there.
- **A variance of zero.** `bernoulli` and `sawade` report the whole range; the reconstructions counted a miss.
  So counted, `bernoulli` covers 0.00, 0.00, 0.20 and 0.56 at 50, 100, 300 and 1,000 labels on abt-buy (0.00,
  0.00, 0.23 and 0.57 rebuilt).
- **`acis`** is Algorithm 1 of Poms et al. (2021) as printed; a budget of 50 ends inside an iteration
  ([low-shot validation](papers/low-shot.md)). **`acis-pooled`** reports the whole range once everything above
  its cut is labelled: its coverage of 1.00 there means nothing.
- **`topk`, `gmm`, `herding`, `isotonic`, `platt`** report no interval.
- **`recalibrated`** is in [certification.md](certification.md).

Partitions, estimators, several systems and answers, and what a replay costs:
[settings](settings.md#what-a-replay-costs).

## Two methods in detail

**`dirichlet-flat`** takes modes, as the paper's M-step: one count of each class less per stratum. On
restaurant its error rises up to 200 labels and falls afterwards, as the authors'. At 50 and 100 labels one
run in a hundred carries 52% and 27% of the squared error: averages of 200 runs lie between 4.1e-3 and
1.7e-2 and between 8.0e-3 and 2.0e-2. The authors' 4.3e-3 lies at the lower end, their 7.0e-3 just below.

**`stratified-online`** loses coverage at 2,000 labels. On restaurant all five missed positives lie in one
cell of 111 items, which gets 19 of 2,000 labels. Half of the runs (R = 400) find none of the five; 39% of
those cover, 100% of the others (abt-buy: 63% and 99%). The variance of a cell without a positive is
smoothed towards the rate of the bulk, nearly 0. A share of the labels by √size helps little (10%, 30%, 60%:
0.71, 0.76, 0.84 on restaurant, 0.75, 0.84, 0.84 on abt-buy); smoothing towards the supplied probabilities
covers 1.00 at nearly the full width.
"""
Line = dict[str, Any]


def run(repeats: int, cache: Path, wanted: list[str]) -> None:
    """Fill the cache with the blocks it lacks."""
    done = {(line["pool"], line["method"], line["block"]) for line in lines(cache)}
    for pool_name in ("abt-buy", "restaurant"):
        pool = load(pool_name)
        if pool is None:
            print(f"{pool_name}: not in the pools folder (ASSAY_POOLS), skipped", file=sys.stderr)
            continue
        for name in wanted:
            how = method(name)
            ready = prepared(how, pool, [measure("f1")])
            for block in range(-(-SLOW.get(name, repeats) // REPEATS_OF_STREAM)):
                if (pool_name, name, block) in done:
                    continue
                (trace,) = run_block(
                    how,
                    ready,
                    ReplayPlan(budgets=BUDGETS, batch_size=50),
                    repeats=REPEATS_OF_STREAM,
                    block=block,
                )
                truth = float(measure("f1").of_confusion(pool.confusion()))
                missing = ~np.isfinite(trace.value)
                covers = ~missing & (trace.lower <= truth + 1e-9) & (truth <= trace.upper + 1e-9)
                line = {
                    "pool": pool_name, "method": name, "block": block, "truth": truth,
                    "error": (np.where(missing, 0.0, trace.value) - truth).tolist(),
                    "covers": covers.tolist(),
                    "width": np.where(missing, 1.0, trace.upper - trace.lower).tolist(),
                }
                with cache.open("a", encoding="utf-8") as out:
                    out.write(json.dumps(line) + "\n")
                print(pool_name, name, block, file=sys.stderr, flush=True)


def lines(cache: Path) -> list[Line]:
    """Finished blocks."""
    if not cache.exists():
        return []
    return [json.loads(line) for line in cache.read_text(encoding="utf-8").splitlines()]


def document(found: list[Line], wanted: list[str]) -> str:
    """docs/measured/methods.md."""
    parts = [
        "# Every method, side by side\n",
        "Mean squared error of F1 over repeats on the two pools of record, with batches of 50 and "
        "probabilities expit(score). A repeat without an estimate counts as 0, as a miss and as width 1. "
        "`in z` is the difference from the reference in combined standard errors; the reference's standard "
        "error is taken to be as large as ours. Made by `make certify`.\n",
        NOTES,
    ]
    for pool_name in ("abt-buy", "restaurant"):
        parts += [
            f"## {pool_name}\n",
            "| method | labels | R | MSE | ± | reference | from | in z | coverage of 95% | width |",
            "|---|---|---|---|---|---|---|---|---|---|",
        ]
        for name in wanted:
            mine = [line for line in found if (line["pool"], line["method"]) == (pool_name, name)]
            parts += rows(pool_name, name, mine) if mine else []
        parts.append("")
    return "\n".join(parts)


def rows(pool_name: str, name: str, mine: list[Line]) -> list[str]:
    """The rows of one method on one pool."""
    error = np.concatenate([line["error"] for line in mine])
    covers = np.concatenate([line["covers"] for line in mine])
    width = np.concatenate([line["width"] for line in mine])
    known = REFERENCE.get((pool_name, name), (None,) * len(BUDGETS))
    result = []
    for j, (budget, theirs) in enumerate(zip(BUDGETS, known, strict=True)):
        squared = error[:, j] ** 2
        mse, se = float(squared.mean()), float(squared.std(ddof=1) / np.sqrt(len(squared)))
        z = "" if theirs is None or se == 0 else f"{(mse - theirs) / (np.sqrt(2) * se):+.1f}"
        result.append(
            f"| `{name}` | {budget} | {len(squared)} | {mse:.2e} | {se:.0e} "
            f"| {'' if theirs is None else f'{theirs:.1e}'} | {'' if theirs is None else SOURCE[name]} | {z} "
            f"| {covers[:, j].mean():.2f} | {width[:, j].mean():.2f} |"
        )
    return result


def main() -> None:
    """Run what is missing, then write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=300)
    parser.add_argument("--cache", type=Path, default=Path(".cache/methods.jsonl"))
    parser.add_argument("--methods", default=",".join(n for n in method_names() if n != "auto"))
    given = parser.parse_args()
    given.cache.parent.mkdir(parents=True, exist_ok=True)
    wanted = given.methods.split(",")
    run(given.repeats, given.cache, wanted)
    write_page(OUT, document(lines(given.cache), wanted))


if __name__ == "__main__":
    main()
