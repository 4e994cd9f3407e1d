"""How often a monitor is wrong, and how soon it notices: `python -m benchmarks.monitoring`.

Windows are simulated with the methods' own code, drawn and bet on as in a monitor, on pools whose truth is
known.  The limit lies exactly at the stable stream's true value, the hardest stream there is to leave alone.

    false breach   share of streams of 200 stable windows with an alarm
    covers         of nominal 95% intervals, in stable windows and after the drop
    wrong ok       share of windows whose interval lies above a limit that the truth just misses
    delay          windows from the drop to the first alarm, after 20 and after 1,000 stable ones: mean
    CUSUM          on the windows' estimates, told the size of the drop and the spread of a stable window;
                   its threshold is tuned to an alarm in 5% of the streams of 200 stable windows

Streams are put together from the simulated windows at random, with replacement.
"""

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from assay.evalcore.measures.registry import measure
from assay.evalcore.monitoring.betting import EFFECTS
from assay.evalcore.monitoring.verdicts import HORIZON_WINDOWS, Life, Promise, Test, step
from assay.evalcore.replay.pool import LabelledPool
from assay.evalcore.reproducible import stream
from assay.evalcore.types import Floats
from benchmarks.monitored_windows import Windows, even_pool, rare_pool, simulate
from benchmarks.pages import read_page, write_page

OUT = Path(__file__).parent.parent / "docs" / "measured" / "monitoring.md"
KEPT = "## What falls short"     # from here on the file is not made by this module
ERROR_RATE = 0.05
TESTS: tuple[Test, ...] = ("e-detector", "e-process", "alpha-spending", "cusum")
STREAMS, RUNS, LONGEST = 2000, 400, 150
METHODS = {"passive": 1000, "stratified": 600, "static-is": 600, "dirichlet-tree:depth=4": 200,
           "recalibrated": 120}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Setting:
    """A stable stream, what becomes of it, and how many labels a window gets."""

    title: str
    measure: str
    stable: Callable[[], LabelledPool]
    after: Callable[[], LabelledPool]
    labels: int = 100
    floor: float | None = None    # for the delay, where it is not the stable value


ACCURACY, F1 = measure("accuracy"), measure("f1")
SETTINGS = (
    Setting(
        title="Accuracy 0.83 falls by 0.05; calibrated probabilities", measure="accuracy",
        stable=lambda: even_pool(0.0, ACCURACY), after=lambda: even_pool(0.05, ACCURACY),
    ),
    Setting(
        title="The same, log odds halved", measure="accuracy",
        stable=lambda: even_pool(0.0, ACCURACY, sharpness=0.5),
        after=lambda: even_pool(0.05, ACCURACY, sharpness=0.5),
    ),
    Setting(
        title="F1 0.19 falls to 0.10, the floor of the delay at 0.15; a twentieth predicted positive",
        measure="f1", stable=lambda: rare_pool(0.19, F1), after=lambda: rare_pool(0.10, F1), floor=0.15,
    ),
    Setting(
        title="Small windows: 20 labels of 300 items, accuracy falls by 0.15", measure="accuracy",
        stable=lambda: even_pool(0.0, ACCURACY, 300), after=lambda: even_pool(0.15, ACCURACY, 300), labels=20,
    ),
)


def first_alarm(promise: Promise, windows: Floats, quiet: int = 0) -> Floats:
    """(S,) windows after the first `quiet` ones to the first alarm; infinite where there is none.

    windows (S, W, G): the factors of S streams.  An alarm in a quiet window begins a stream anew.
    """
    n, length, effects = windows.shape
    new = Life.new(promise.test, min(effects, len(EFFECTS)))
    life = Life(windows=0, wealth=np.broadcast_to(new.wealth, (n, len(new.wealth))).copy())
    found = np.full(n, np.inf)
    for w in range(length):
        life, evidence = step(promise, life, windows[:, w])
        alarm = evidence >= -np.log(promise.error_rate)
        if w < quiet:
            life.wealth[alarm] = new.wealth
        else:
            found = np.where(alarm & np.isinf(found), w - quiet + 1, found)
    return found


def false_breaches(promise: Promise, stable: Windows, rng: np.random.Generator) -> float:
    """The share of streams of HORIZON_WINDOWS stable windows with an alarm."""
    rows = rng.integers(len(stable.value), size=(STREAMS, HORIZON_WINDOWS))
    return float((first_alarm(promise, stable.factors[rows]) <= HORIZON_WINDOWS).mean())


def delay(
    promise: Promise, stable: Windows, after: Windows, quiet: int, rng: np.random.Generator
) -> tuple[float, float]:
    """Mean number of windows to the alarm after `quiet` stable ones, and the share of streams that had none
    within LONGEST."""
    before = stable.factors[rng.integers(len(stable.value), size=(RUNS, quiet))]
    then = after.factors[rng.integers(len(after.value), size=(RUNS, LONGEST))]
    found = first_alarm(promise, np.concatenate([before, then], axis=1), quiet)
    return float(np.minimum(found, LONGEST + 1).mean()), float(np.isinf(found).mean())


def tuned_cusum(stable: Windows, after: Windows, floor: float, rng: np.random.Generator) -> float:
    """The mean delay of a CUSUM on estimates, tuned to ERROR_RATE on the stable stream."""
    at = min(floor, stable.truth)
    drift = at - after.truth

    def steps(windows: Windows, size: tuple[int, int]) -> Floats:
        value = np.nan_to_num(windows.value, nan=at)[rng.integers(len(windows.value), size=size)]
        return np.asarray(at - value - drift / 2)

    score, peak = np.zeros(2000), np.zeros(2000)
    # the hardest stream: its truth at the limit
    for x in (steps(stable, (HORIZON_WINDOWS, 2000)) + (stable.truth - at)):
        score = np.maximum(score + x, 0.0)
        peak = np.maximum(peak, score)
    threshold = float(np.quantile(peak, 1 - ERROR_RATE))
    score, seen = np.zeros(1000), np.full(1000, LONGEST + 1)
    for k, x in enumerate(steps(after, (LONGEST, 1000))):
        score = np.maximum(score + x, 0.0)
        seen = np.where((seen > LONGEST) & (score >= threshold), k + 1, seen)
    return float(seen.mean())


def rows_of(setting: Setting, name: str, count: int) -> list[str]:
    """The rows of one method in one setting: one for each test."""
    what, stable_pool = measure(setting.measure), setting.stable()
    truth = float(what.of_confusion(stable_pool.confusion()))
    floor = truth if setting.floor is None else setting.floor
    at_truth = simulate(name, what, stable_pool, truth, count, setting.labels, stable_pool)
    stable = at_truth if floor == truth else simulate(
        name, what, stable_pool, floor, count, setting.labels, stable_pool)
    after = simulate(name, what, setting.after(), floor, count, setting.labels, stable_pool)
    rng = stream(3, f"{setting.title}/{name}")
    best = tuned_cusum(stable, after, floor, rng)
    wrong = float((at_truth.lower > truth).mean())
    rows = []
    for test in TESTS:
        promise = Promise(error_rate=ERROR_RATE, test=test)
        soon, late = (delay(promise, stable, after, quiet, rng) for quiet in (20, 1000))
        rows.append(" | ".join([
            f"| {name}", test, f"{false_breaches(promise, at_truth, rng):.3f}",
            f"{at_truth.covers():.3f}, {after.covers():.3f}", f"{wrong:.3f}",
            *(f"{mean:.1f}" + (f" ({missed:.0%} never)" if missed else "") for mean, missed in (soon, late)),
            f"{best:.1f} |",
        ]))
        print(rows[-1], flush=True)
    return rows


def main() -> None:
    """Print the tables and write them to docs/."""
    parser = argparse.ArgumentParser(description="False breaches and delays of a monitor.")
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(METHODS))
    chosen = parser.parse_args().methods
    lines = [
        "# Monitoring, measured", "",
        f"Made by `python -m benchmarks.monitoring` (`make monitoring`): error rate {ERROR_RATE} in "
        f"{HORIZON_WINDOWS} windows, 100 labels a window unless said otherwise; the truth lies exactly at "
        f"the limit. False breaches of {STREAMS} streams of {HORIZON_WINDOWS} stable windows, delays "
        f"over {RUNS} ({LONGEST + 1} where none came within {LONGEST} windows). Windows simulated: "
        + ", ".join(f"{METHODS[name]:,} of {name}" for name in chosen)
        + "; warm where a method can.", "",
    ]
    _, heading, after = read_page(OUT).partition(KEPT)
    for setting in SETTINGS:
        print(setting.title, flush=True)
        lines += [
            f"## {setting.title}", "",
            "| method | test | false breach | covers, after the drop | wrong ok | delay after 20 | "
            "after 1,000 | tuned CUSUM |",
            "| --- |" + " --- |" * 7,
        ]
        for name in chosen:
            lines += rows_of(setting, name, METHODS[name])
            # what is done stands, whatever comes
            write_page(OUT, "\n".join([*lines, "", heading + after]))
        lines.append("")
    write_page(OUT, "\n".join([*lines, heading + after]))


if __name__ == "__main__":
    main()
