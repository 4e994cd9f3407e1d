"""How often is a verdict wrong, or an interval, if people extend an evaluation while it is undecided?

    python -m benchmarks.extending --pools balanced,restaurant --repeats 200

The limit is the truth itself, where every verdict is wrong and people have most reason to go on: an
evaluation of F1 stops at 100 labels, is undecided, is extended by 50, and so on, up to eight times. For each
pool and method: the share of runs that end with "ok", and with "breach"; and the share whose intervals after
extensions all cover. Both with the intervals as `evalcore.evaluation.stopping` has them, and left at 95%.
"""

import argparse

import numpy as np

from assay.evalcore.evaluation.stopping import confidence_after
from assay.evalcore.measures.registry import measure
from assay.evalcore.methods.two_classes.base import CountingMethod
from assay.evalcore.replay.pool import LabelledPool
from assay.evalcore.replay.run import ReplayPlan, Trace, simulate
from benchmarks.certify import load
from benchmarks.contenders import contender

FIRST, STEP, MOST = 100, 50, 8
METHODS = "recalibrated,dirichlet-tree,passive"


def intervals(
    how: CountingMethod, data: LabelledPool, repeats: int, *, corrected: bool
) -> tuple[np.ndarray, np.ndarray]:
    """The ends (R, 1 + MOST) of the first interval, and of that after each extension."""
    looks = [FIRST + STEP * k for k in range(MOST + 1)]
    asked = 0.95
    ends = []
    for k in range(MOST + 1) if corrected else (0,):
        confidence = asked if how.holds_at_every_look else confidence_after(asked, k)
        trace: Trace
        (trace,) = simulate(
            how, data, [measure("f1")], ReplayPlan(
                budgets=looks[: k + 1] if corrected else looks, confidence=confidence
            ), repeats=repeats,
        )
        ends.append((trace.lower, trace.upper))
    if not corrected:
        return ends[0]
    lower, upper = (np.column_stack([one[side][:, -1] for one in ends]) for side in (0, 1))
    return lower, upper


def rates(lower: np.ndarray, upper: np.ndarray, truth: float) -> tuple[float, float, float]:
    """Shares of runs that end with ok, and with breach, at the limit `truth`; and whose later intervals all
    cover."""
    ok, breach = lower > truth + 1e-9, upper < truth - 1e-9
    first = np.where((ok | breach).any(axis=1), (ok | breach).argmax(axis=1), 0)
    rows = np.arange(len(lower))
    later = ~(ok | breach)[:, 1:].any(axis=1)
    return float(ok[rows, first].mean()), float(breach[rows, first].mean()), float(later.mean())


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Wrong verdicts of evaluations that are extended.")
    parser.add_argument("--pools", default="balanced,restaurant,threshold-low")
    parser.add_argument("--methods", default=METHODS)
    parser.add_argument("--repeats", type=int, default=200)
    given = parser.parse_args()
    print("| pool | method | wrongly ok | wrongly breach | later intervals all cover | wrongly ok, at 95% "
          "| wrongly breach, at 95% | all cover, at 95% |")
    print("|" + "---|" * 8)
    for name in given.pools.split(","):
        data = load(name)
        truth = float(measure("f1").of_confusion(data.confusion()))
        for written in given.methods.split(","):
            how = contender(written)
            cells = [
                f"{share:.3f}" for corrected in (True, False)
                for share in rates(*intervals(how, data, given.repeats, corrected=corrected), truth)
            ]
            print(f"| {name} | {written} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
