"""How often a window is called ok whose measure is not within its limit: `python -m benchmarks.wrong_ok`.

Windows of 50 labels, drawn and bet on as in a monitor, each begun cold. The truth lies exactly at the floor,
so that every ok is wrong; at most 2.5% is allowed.

    interval    ok where the 95% interval lies above the floor
    evidence    ok where moreover the window's draws alone show it: bets that the measure is above the floor
                have made 1/0.025 of 1
    ok, 0.05 and 0.1 above   how often each calls a window ok whose truth lies so far above its floor
"""

import argparse
from collections.abc import Sequence

import numpy as np

from assay.evalcore.measures.registry import measure
from assay.evalcore.measures.two_classes import Measure
from assay.evalcore.monitoring.betting import mixed
from assay.evalcore.replay.pool import LabelledPool
from assay.evalcore.reproducible import stream
from assay.evalcore.types import Floats
from benchmarks.monitored_windows import Windows, against, even_pool, rare_pool, simulate_against

METHODS = {
    "recalibrated": 200, "passive": 4000, "passive-with-replacement": 2000, "stratified": 2000,
    "stratified-neyman": 2000, "static-is": 2000, "sawade": 2000, "oasis": 1000,
    "dirichlet-tree:depth=4": 400,
}
LABELS, MISSED = 50, 0.025
ABOVE = (0.0, 0.05, 0.1)
ACCURACY, F1 = measure("accuracy"), measure("f1")


def easy_pool(items: int = 4000) -> LabelledPool:
    """An accuracy of about 0.95, most of it far from the threshold."""
    rng = stream(7, "wrong ok")
    p = rng.beta(0.08, 0.12, items)
    label = (rng.random(items) < p).astype(np.int64)
    return LabelledPool(score=p, probability=p, prediction=(p > 0.5).astype(np.int64), label=label)


POOLS = (
    ("accuracy 0.95", ACCURACY, easy_pool()),
    ("accuracy 0.83", ACCURACY, even_pool(0.0, ACCURACY)),
    ("accuracy 0.83, less than told", ACCURACY, even_pool(0.08, ACCURACY)),
    ("F1 0.8", F1, even_pool(0.0, F1)),
    ("F1 0.19, rare", F1, rare_pool(0.19, F1)),
)


def shares(found: Sequence[Windows], floors: Sequence[float]) -> tuple[Floats, Floats]:
    """By floor: the share called ok by the interval, and by the evidence too."""
    by_interval, by_both = [], []
    for one, floor in zip(found, floors, strict=True):
        inside = one.lower >= floor - 1e-12
        by_interval.append(inside.mean())
        by_both.append((inside & (mixed(one.factors) >= -np.log(MISSED))).mean())
    return np.array(by_interval), np.array(by_both)


def row(title: str, what: Measure, data: LabelledPool, name: str, count: int) -> str:
    """Of one pool and method."""
    truth = float(what.of_confusion(data.confusion()))
    floors = [truth - above for above in ABOVE]
    found = simulate_against(name, what, data, against(floors, "above"), count, LABELS)
    by_interval, by_both = shares(found, floors)
    cells = [f"{a:.3f}, {b:.3f}" for a, b in zip(by_interval, by_both, strict=True)]
    return f"| {title}, {truth:.3f} | {name} | {count} | {found[0].covers():.3f} | {' | '.join(cells)} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Windows called ok that are not.")
    parser.add_argument("--methods", default=",".join(METHODS))
    asked = parser.parse_args()
    print("| pool, truth | method | windows | covers | wrong ok: interval, evidence too | ok, 0.05 above "
          "| ok, 0.1 above |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for title, what, data in POOLS:
        for name in asked.methods.split(","):
            print(row(title, what, data, name, METHODS[name]), flush=True)


if __name__ == "__main__":
    main()
