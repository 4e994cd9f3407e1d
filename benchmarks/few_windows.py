"""What a delay is worth that was measured on few windows: `python -m benchmarks.few_windows`.

docs/measured/monitoring.md has a delay of 49.6 windows for `recalibrated` on cards, from 2 repeats of each of
6 windows.  Here are windows like those, in any number: 3,000 items, a third positive, calibrated
probabilities, F1 0.73, the floor a little below it; then predictions are turned round at random until F1 is
lower by 0.05.  Streams are put together from all windows, and from 12 of them, again and again.
"""

import argparse

import numpy as np
from scipy.special import logit

from assay.evalcore.measures.registry import measure
from assay.evalcore.monitoring.verdicts import Promise
from assay.evalcore.replay.pool import LabelledPool
from assay.evalcore.reproducible import stream
from assay.evalcore.types import Floats
from benchmarks.monitored_windows import simulate
from benchmarks.monitoring import ERROR_RATE, first_alarm
from benchmarks.real_streams import LABELS, LONGEST, QUIET, worse

COUNTS = {"passive": 300, "recalibrated": 60}
FEW, SUBSETS, STREAMS = 12, 60, 100
NUMBERS = (5190,)
BELOW = 0.008            # the floor of cards is so much below the F1 of a typical window
PROMISE = Promise(error_rate=ERROR_RATE)


def look_alike(number: int, items: int = 3000) -> LabelledPool:
    """A window like those of cards."""
    rng = stream(7, f"cards look-alike/{number}")
    p = np.clip(rng.beta(0.3, 0.62, items), 1e-9, 1 - 1e-9)
    label = (rng.random(items) < p).astype(np.int64)
    return LabelledPool(
        score=logit(p), probability=p, prediction=(p > 0.5).astype(np.int64), label=label)


def delays(quiet: Floats, after: Floats, streams: int, rng: np.random.Generator) -> Floats:
    """Windows (S,) to the alarm; quiet, after (W, G): factors of windows to choose from."""
    rows = rng.integers(len(quiet), size=(streams, QUIET)), rng.integers(len(after), size=(streams, LONGEST))
    found = first_alarm(PROMISE, np.concatenate([quiet[rows[0]], after[rows[1]]], axis=1), QUIET)
    return np.minimum(found, LONGEST + 1)


def row_of(number: int, name: str) -> str:
    """One method on one look-alike."""
    what, pool = measure("f1"), look_alike(number)
    truth = float(what.of_confusion(pool.confusion()))
    floor, rng = truth - BELOW, stream(3, f"few windows/{number}/{name}")
    changed = worse(pool, what, truth - 0.05)
    quiet = simulate(name, what, pool, floor, COUNTS[name] // 2, LABELS, pool).factors
    after = simulate(name, what, changed, floor, COUNTS[name], LABELS, pool).factors
    few = [
        delays(quiet, after[rng.choice(len(after), FEW, replace=False)], STREAMS, rng).mean()
        for _ in range(SUBSETS)
    ]
    best = int(after.mean(axis=0).argmax())
    return " | ".join([
        f"| {number}, F1 {truth:.3f}", name, f"{after[:, best].mean():.2f} ± {after[:, best].std():.2f}",
        f"{delays(quiet, after, 1000, rng).mean():.1f}",
        *(f"{x:.0f}" for x in np.quantile(few, [0.1, 0.5, 0.9])), f"{np.max(few):.0f} |",
    ])


def main() -> None:
    """Print the table; docs/measured/monitoring.md has it."""
    parser = argparse.ArgumentParser(description="Delays from few windows.")
    parser.add_argument("--methods", nargs="+", default=list(COUNTS), choices=list(COUNTS))
    chosen = parser.parse_args().methods
    print("| look-alike | method | log evidence of a window | delay | from 12 windows: 10% | half | 90% | "
          "longest |\n|" + "---|" * 8)
    for number in NUMBERS:
        for name in chosen:
            print(row_of(number, name), flush=True)


if __name__ == "__main__":
    main()
