"""What an audit does where positives hide: `python -m benchmarks.audit`.

F1 by `recalibrated`, a budget of 300 or 1,000 labels, of which so many are spread evenly.  Pools: the family
`hidden`, pools by lot whose kind is hidden, and four in which 30% of the positives are moved among the low
scores: over a wide range, into one narrow lump, or over all of them.
"""

import argparse
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from assay.evalcore.measures.registry import measure
from assay.evalcore.methods.two_classes.recalibrated import Recalibrated
from assay.evalcore.replay import families
from assay.evalcore.replay.pool import LabelledPool
from assay.evalcore.replay.run import ReplayPlan, simulate, summarise
from assay.evalcore.reproducible import stream
from benchmarks.lottery import draw

F1 = measure("f1")
AUDITS = {300: (0, 50, 100, 200), 1000: (0, 50, 100, 200, 500)}
BY_LOT = (6, 30, 51, 56, 59, 71, 76, 85, 99, 103)


@dataclass(frozen=True, slots=True, kw_only=True)
class Low:
    """A pool of n items in which some positives score like the lowest negatives."""

    n: int
    positives: int
    hidden: int
    between: tuple[float, float]   # quantiles of the negatives' scores among which they hide

    def draw(self, seed: int) -> LabelledPool:
        """The pool: positives N(1, 1.3), negatives N(-4, 1.4), predicted positive above 0."""
        rng = stream(seed, "benchmarks/audit")
        label = (np.arange(self.n) < self.positives).astype(np.int64)
        score = np.where(label == 1, rng.normal(1, 1.3, self.n), rng.normal(-4, 1.4, self.n))
        low, high = np.quantile(score[label == 0], self.between)
        score[: self.hidden] = rng.uniform(low, high, self.hidden)
        return LabelledPool(
            score=score, probability=expit(score), prediction=(score > 0).astype(np.int64), label=label
        )


LOW = {
    "1%, low": Low(n=20_000, positives=200, hidden=60, between=(0.05, 0.4)),
    "5%, low": Low(n=20_000, positives=1_000, hidden=300, between=(0.05, 0.4)),
    "3%, lump": Low(n=10_000, positives=300, hidden=90, between=(0.18, 0.22)),
    "5%, anywhere": Low(n=20_000, positives=1_000, hidden=300, between=(0.02, 0.98)),
}


def rows(name: str, pool: LabelledPool, budget: int, repeats: int) -> list[str]:
    """A table row for each size of audit."""
    truth = float(F1.of_confusion(pool.confusion()))
    result = []
    for audit in AUDITS[budget]:
        if budget > len(pool.label):
            continue
        how = Recalibrated().audited(audit / budget)
        (trace,) = simulate(
            how, pool, [F1], ReplayPlan(budgets=[budget], batch_size=50, seed=3), repeats=repeats
        )
        (at,) = summarise(trace, truth, [budget])
        result.append(
            f"| {name} | {budget:,} | {audit} | {at.mse:.1e} ± {at.mse_se:.0e} | {at.coverage:.3f} | "
            f"{at.width:.3f} | {at.coverage_wide:.3f} | {at.width_wide:.3f} |"
        )
    return result


def main() -> None:
    """Print the table, a pool at a time."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=40)
    parser.add_argument("--budgets", default="300,1000")
    parser.add_argument("--only", default="", help="part of the names of the pools to run")
    chosen = parser.parse_args()
    pools = {"hidden": families.pool("hidden")}
    pools |= {name: low.draw(i) for i, (name, low) in enumerate(LOW.items())}
    pools |= {f"lot {i}": draw(i).pool for i in BY_LOT}
    pools = {name: pool for name, pool in pools.items() if chosen.only in name}
    print("| pool | labels | audit | MSE | coverage | width | wide coverage | wide width |")
    print("|---|---|---|---|---|---|---|---|")
    for budget in map(int, chosen.budgets.split(",")):
        for name, pool in pools.items():
            print("\n".join(rows(name, pool, budget, chosen.repeats)), flush=True)


if __name__ == "__main__":
    main()
