"""What a window says by itself: `python -m benchmarks.single_windows` writes docs/measured/single-windows.md.

Windows are drawn as monitors draw them, the limit at the truth of the stable stream.  First, how often stable
windows have a chance of at most some level, over that level: 1 is exact, less is cautious.  Then how often
falls are called in their first window after 20 quiet ones, and after how many windows on average: by bets
alone, as before, and with the share of the error rate that windows by themselves have.
"""

import argparse
from pathlib import Path

import numpy as np

from assay.evalcore.measures.registry import measure
from assay.evalcore.measures.two_classes import Measure
from assay.evalcore.monitoring.single_window import factor_alone
from assay.evalcore.monitoring.verdicts import ALONE, Promise
from assay.evalcore.reproducible import stream
from assay.evalcore.types import Floats
from benchmarks.monitored_windows import Windows, even_pool, rare_pool, simulate
from benchmarks.monitoring import ERROR_RATE, first_alarm
from benchmarks.pages import write_page

OUT = Path(__file__).parent.parent / "docs" / "measured" / "single-windows.md"
LEVELS = (0.01, 1e-3, 3e-4)
FALLS = (0.03, 0.05, 0.10, 0.20)
STABLE = {"passive": 8000, "stratified": 3000, "static-is": 3000}
WINDOWS = {"passive": 800, "stratified": 400, "recalibrated": 60}
QUIET, STREAMS, LONGEST = 20, 400, 150
PROMISE = Promise(error_rate=ERROR_RATE)


def factors_of(windows: Windows) -> Floats:
    """(W, G + 1) with that of each window alone."""
    alone = factor_alone(windows.chance, PROMISE.level_alone or 0.0)
    return np.concatenate([windows.factors, alone[:, None]], axis=1)


def called(stable: Floats, after: Floats, rng: np.random.Generator) -> tuple[float, float]:
    """The share of streams that are called in the first window of a fall, and the mean delay in windows."""
    quiet = stable[rng.integers(len(stable), size=(STREAMS, QUIET))]
    then = after[rng.integers(len(after), size=(STREAMS, LONGEST))]
    alarm = first_alarm(PROMISE, np.concatenate([quiet, then], axis=1), QUIET)
    return float((alarm == 1).mean()), float(np.minimum(alarm, LONGEST + 1).mean())


def stable_rows() -> list[str]:
    """How often stable windows are surprising."""
    rows = []
    accuracy, f1 = measure("accuracy"), measure("f1")
    for title, what, pool, labels in (
        ("accuracy 0.83", accuracy, even_pool(0.0, accuracy), 100),
        ("accuracy 0.83", accuracy, even_pool(0.0, accuracy, 300), 20),
        ("F1 0.79", f1, even_pool(0.0, f1), 50), ("F1 0.19", f1, rare_pool(0.19, f1), 100),
    ):
        truth = float(what.of_confusion(pool.confusion()))
        for name, count in STABLE.items():
            windows = simulate(name, what, pool, truth, count, labels, pool)
            ratios = (f"{float((windows.chance <= level).mean()) / level:.2f}" for level in LEVELS)
            rows.append(f"| {title} | {labels} | {name} | {count:,} | {' | '.join(ratios)} |")
            print(rows[-1], flush=True)
    return rows


def fall_rows(what: Measure, labels: int) -> list[str]:
    """How soon falls are called."""
    rows, stable_pool = [], even_pool(0.0, what)
    truth = float(what.of_confusion(stable_pool.confusion()))
    for name, count in WINDOWS.items():
        stable = factors_of(simulate(name, what, stable_pool, truth, count, labels, stable_pool))
        for fall in FALLS:
            pool = even_pool(fall, what)
            after = factors_of(simulate(name, what, pool, truth, count, labels, stable_pool))
            rng = stream(5, f"{name}/{what.name}/{labels}/{fall}")
            bets, both = (called(stable[:, :g], after[:, :g], rng) for g in (-1, None))
            rows.append(
                f"| {what.name} | {labels} | {name} | {fall:.2f} | {bets[0]:.2f} → {both[0]:.2f} "
                f"| {bets[1]:.1f} → {both[1]:.1f} |"
            )
            print(rows[-1], flush=True)
    return rows


def main() -> None:
    """Measure, and write the page."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    lines = [
        "# A window by itself", "",
        f"Made by `python -m benchmarks.single_windows`. {ALONE:.2f} of the error rate is spent on windows "
        "by themselves ([how](../explanation/monitoring.md#what-the-evidence-is-made-of)).", "",
        "## Stable windows whose truth lies at the limit", "",
        "Share of windows with a chance of at most 0.01, 0.001 and 0.0003, over that level: 1 is exact, less "
        "is cautious. The last level is expected once in 3,333 windows, so its figures are coarse.", "",
        "| measure | labels | method | windows | 0.01 | 0.001 | 0.0003 |", "|---|---|---|---|---|---|---|",
        *stable_rows(), "",
        "## Falls after 20 quiet windows", "",
        f"Error rate {ERROR_RATE} in {PROMISE.horizon} windows; by bets alone, as before → with windows by "
        f"themselves; {STREAMS} streams put together from "
        + ", ".join(f"{count} windows of {name}" for name, count in WINDOWS.items()) + ".", "",
        "| measure | labels | method | fall | called in its first window | mean delay, windows |",
        "|---|---|---|---|---|---|",
        *fall_rows(measure("accuracy"), 100), *fall_rows(measure("f1"), 100), "",
    ]
    write_page(OUT, "\n".join(lines))


if __name__ == "__main__":
    main()
