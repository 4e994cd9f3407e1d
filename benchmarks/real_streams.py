"""Monitors on streams of real predictions with real labels: `python -m benchmarks.real_streams`.

    employment    48 pieces of the file in its order, 2015 to 2018; the predictions of the 36th and the 37th
                  piece are far worse
    cards         "upmarket card" or not, 20 windows in order of time; from November on it is worse
    governors     forecasts of who wins, 26 windows of two days each

Every window is drawn, estimated and bet on several times with the methods' own code, LABELS labels each, warm
from the window before it as in a monitor.  Streams are put together in the order of the file; each window is
one of its repeats at random.

    false breach   the limit of each window is its own true value, the hardest there is; the file's windows
                   are gone through again and again until there are 200.  Share of streams with an alarm
    covers         of nominal 95% intervals, over all windows and repeats
    wrong ok       share of windows whose interval lies above their own true value: so many would be called ok
                   if the truth just missed the floor
    ok below       of windows whose true value is below the floor, the share called ok
    halved, fell   windows to the alarm after 20 quiet ones, when predictions are turned round at random until
                   the measure is half of what it was, or lower by 0.05
    own change     streams that call a breach in the windows after the stream's own change, and how many
                   windows that takes

The floor is the lower quarter of the true values before the change.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from assay.evalcore.measures.registry import measure
from assay.evalcore.measures.two_classes import Measure
from assay.evalcore.monitoring.verdicts import HORIZON_WINDOWS, Promise
from assay.evalcore.replay.pool import LabelledPool
from assay.evalcore.reproducible import stream
from assay.evalcore.types import Floats, Ints
from benchmarks.monitored_windows import Windows, against, lowered, simulate, simulate_against
from benchmarks.monitoring import first_alarm
from benchmarks.real_pools import columns_of, logit_pool, real_pool

PROMISE = Promise(error_rate=0.05)
LABELS, CHANGED, STREAMS, LONGEST, QUIET = 100, 6, 2000, 100, 20
METHODS = {"passive": 40, "recalibrated": 4}   # repeats of a window; of one made worse half as many
TITLES = ("employment", "cards", "governors")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Stream:
    """Windows in order of time, and what happens to them by themselves."""

    title: str
    measure: str
    windows: Sequence[LabelledPool]
    change: tuple[int, int] | None = None   # the first and the last window of the stream's own change

    @property
    def steady(self) -> int:
        """How many windows there are before the change."""
        return len(self.windows) if self.change is None else self.change[0]


def cut(pool: LabelledPool, pieces: int) -> list[LabelledPool]:
    """The pool in pieces of nearly the same size, in its order."""
    edges = np.linspace(0, len(pool.label), pieces + 1).astype(int)
    return [part(pool, np.arange(a, b)) for a, b in pairwise(edges)]


def part(pool: LabelledPool, rows: Ints) -> LabelledPool:
    """Some items of a pool."""
    return LabelledPool(
        score=pool.score[rows], probability=pool.probability[rows], prediction=pool.prediction[rows],
        label=pool.label[rows],
    )


def streams() -> list[Stream]:
    """The real streams."""
    employment = cut(real_pool("employment"), 48)
    prediction, label, p = columns_of(
        "card-choice-multiclass", "prediction", "label", "probability_upmarket_card")
    cards = cut(logit_pool(p, prediction == "upmarket_card", label == "upmarket_card"), 20)   # sorted by time
    (day,) = columns_of("governors-regression", "forecast_date")
    governors = cut(part(real_pool("governors"), np.argsort(day, kind="stable")), 26)
    return [
        Stream(title="employment", measure="accuracy", windows=employment, change=(35, 36)),
        Stream(title="employment", measure="f1", windows=employment, change=(35, 36)),
        Stream(title="cards", measure="f1", windows=cards, change=(10, 19)),
        Stream(title="governors", measure="accuracy", windows=governors),
        Stream(title="governors", measure="f1", windows=governors),
    ]


def worse(pool: LabelledPool, what: Measure, goal: float) -> LabelledPool:
    """The pool, with predictions turned round at random until the measure is at most `goal`."""
    order = stream(7, "predictions turned round").permutation(len(pool.label))
    return lowered(pool, what, goal, "prediction", order)


def chained(windows: Sequence[Windows], at: Ints, rng: np.random.Generator) -> Floats:
    """(S, W, G) log factors of streams made of the windows `at` (S, W), each one of its repeats at random."""
    factors = np.stack([window.factors for window in windows])
    return np.asarray(factors[at, rng.integers(factors.shape[1], size=at.shape)])


def delay(found: Floats) -> str:
    """The mean number of windows to an alarm."""
    never = float(np.isinf(found).mean())
    return f"{np.minimum(found, LONGEST + 1).mean():.1f}" + (f" ({never:.0%} never)" if never else "")


def row_of(one: Stream, name: str) -> str:
    """What one method does on one stream."""
    what, rng = measure(one.measure), stream(3, f"{one.title}/{one.measure}/{name}")
    truths = [float(what.of_confusion(window.confusion())) for window in one.windows]
    floor = float(np.quantile(truths[:one.steady], 0.25))
    at_truth, at_floor = [], []
    for w, window in enumerate(one.windows):
        before = one.windows[w - 1] if w else None
        hard, usual = simulate_against(name, what, window, against([truths[w], floor]), METHODS[name],
                                       LABELS, before)
        at_truth.append(hard)
        at_floor.append(usual)
    start = rng.integers(len(truths), size=(STREAMS, 1))
    alarm = first_alarm(
        PROMISE, chained(at_truth, (start + np.arange(HORIZON_WINDOWS)) % len(truths), rng)
    )
    below = [window for window in at_floor if window.truth < floor]
    return " | ".join([
        f"| {one.title}, {what.name}", name, f"{floor:.3f}", f"{(alarm <= HORIZON_WINDOWS).mean():.3f}",
        f"{np.mean([window.covers() for window in at_truth]):.3f}",
        f"{np.mean([(window.lower > window.truth).mean() for window in at_truth]):.3f}",
        f"{np.mean([(window.lower >= floor).mean() for window in below]):.3f}",
        *(delay(changed(one, name, what, floor, at_floor, fall, rng)) for fall in ((0.5, 0.0), (1.0, 0.05))),
        own_change(one, at_floor, rng) + " |",
    ])


def changed(
    one: Stream, name: str, what: Measure, floor: float, quiet: Sequence[Windows],
    fall: tuple[float, float], rng: np.random.Generator,
) -> Floats:
    """(S,) windows to the alarm when the measure falls: to a share of what it was, less so much.

    The windows before are the quiet ones in order; those after are some of them, made worse.
    """
    share, less = fall
    chosen = np.linspace(1, one.steady - 1, CHANGED).astype(int)
    after = [
        simulate(
            name, what, worse(one.windows[w], what, share * quiet[w].truth - less), floor,
            METHODS[name] // 2, LABELS, one.windows[w - 1],
        )
        for w in chosen
    ]
    start = rng.integers(one.steady, size=(STREAMS, 1))
    before = chained(quiet, (start + np.arange(QUIET)) % one.steady, rng)
    then = chained(after, rng.integers(CHANGED, size=(STREAMS, LONGEST)), rng)
    return first_alarm(PROMISE, np.concatenate([before, then], axis=1), QUIET)


def own_change(one: Stream, windows: Sequence[Windows], rng: np.random.Generator) -> str:
    """How many streams call the change that is in the file, and after how many windows."""
    if one.change is None:
        return "none"
    first, last = one.change
    at = np.broadcast_to(np.arange(last + 1), (STREAMS, last + 1))
    found = first_alarm(PROMISE, chained(windows, at, rng), first)
    called = np.isfinite(found)
    after = f", after {found[called].mean():.1f} of {last - first + 1}" if called.any() else ""
    return f"{called.mean():.0%}{after}"


def main() -> None:
    """Print the table; docs/measured/monitoring.md has it."""
    parser = argparse.ArgumentParser(description="Monitors on real streams.")
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--streams", nargs="+", default=list(TITLES), choices=TITLES)
    given = parser.parse_args()
    chosen = given.methods
    print("| stream | method | floor | false breach | covers | wrong ok | ok below | halved | fell 0.05 | "
          "own change |\n| --- |" + " --- |" * 9)
    for one in streams():
        if one.title not in given.streams:
            continue
        for name in chosen:
            print(row_of(one, name), flush=True)


if __name__ == "__main__":
    main()
