"""Does stopping at a target half-width break coverage?  Looks after every second batch, up to a budget.

    python -m benchmarks.stopping --pools abt-buy,balanced --repeats 200

The rule is the one of `evalcore.evaluation.stopping`: at least 100 labels, and the target met at two looks
in a row; with `--least` and `--looks` other ones.
For each pool, method and target: how often the intervals of all looks covered the truth at once, the share of
runs that stopped before the budget, their mean labels, and how often the interval then covered.
"""

import argparse
from dataclasses import replace

import numpy as np

from assay.evalcore.measures.registry import measure
from assay.evalcore.methods.method import LOOKS_IN_A_ROW, MIN_LABELS
from assay.evalcore.methods.registry import method
from assay.evalcore.methods.two_classes.recalibrated import Recalibrated
from assay.evalcore.replay.run import ReplayPlan, simulate
from benchmarks.certify import load
from benchmarks.contenders import REPORT_DRAWS

TARGETS = (0.05, 0.10)
EVERY, BUDGET = 50, 1000
METHODS = "recalibrated,recalibrated:anytime=true"


def stops(half_width: np.ndarray, target: float, in_a_row: int = LOOKS_IN_A_ROW) -> np.ndarray:
    """Index (R,) of the look at which each run stops, or -1."""
    met = (half_width > 0) & (half_width <= target)
    run = met.copy()
    for back in range(1, in_a_row):
        run[:, back:] &= met[:, :-back]
        run[:, :back] = False
    return np.where(run.any(axis=1), run.argmax(axis=1), -1)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Coverage at the stopping time.")
    parser.add_argument("--pools", default="abt-buy,restaurant,balanced")
    parser.add_argument("--methods", default=METHODS)
    parser.add_argument("--repeats", type=int, default=200)
    parser.add_argument("--least", type=int, default=MIN_LABELS, help="labels before which no target is met")
    parser.add_argument("--looks", type=int, default=LOOKS_IN_A_ROW, help="looks in a row")
    parser.add_argument("--every", type=int, default=EVERY, help="labels between two looks")
    given = parser.parse_args()
    f1 = measure("f1")
    print("| pool | method | covered at all looks | target half-width | runs that stopped | mean labels "
          "| coverage when stopped |")
    print("|" + "---|" * 7)
    for name in given.pools.split(","):
        data = load(name)
        looks = np.array([n for n in range(given.least, BUDGET + 1, given.every) if n < len(data.label)])
        truth = float(f1.of_confusion(data.confusion()))
        for written in given.methods.split(","):
            how = method(written)
            if isinstance(how, Recalibrated):
                how = replace(how, report_draws=REPORT_DRAWS)
            (trace,) = simulate(how, data, [f1], ReplayPlan(budgets=looks.tolist()), repeats=given.repeats)
            covers = (trace.lower <= truth + 1e-9) & (truth <= trace.upper + 1e-9)
            for target in TARGETS:
                at = stops((trace.upper - trace.lower) / 2, target, given.looks)
                done = np.flatnonzero(at >= 0)
                rest = "- | -"
                if len(done):
                    rest = f"{looks[at[done]].mean():.0f} | {covers[done, at[done]].mean():.3f}"
                print(f"| {name} | {written} | {covers.all(axis=1).mean():.3f} | {target:.2f} "
                      f"| {len(done) / given.repeats:.2f} | {rest} |", flush=True)


if __name__ == "__main__":
    main()
