"""Intervals that know of the windows before: `python -m benchmarks.tracked_windows`.

    lot     streams of shares by lot: steady, drifting, jumping, noisy, with seasons, sliding, alternating.
            The settings of `evalcore.monitoring.tracking` were chosen on such streams (seed 7)
    real    the streams of `benchmarks.real_streams`, on which nothing was chosen.  Each window is drawn and
            estimated several times by the methods' own code; streams take one repeat of each window at random

Every window from the third on counts.  "Wrong ok": the truth exactly at the floor, so that every ok is wrong.
The share called ok with the floor 0.05 below the truth: by the window's own interval, and by either.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from assay.evalcore.measures.registry import measure
from assay.evalcore.monitoring.tracking import (
    FEWEST_WINDOWS,
    OwnDraws,
    Tracked,
    mean_of_draws,
    narrows,
    track,
)
from assay.evalcore.reproducible import stream
from assay.evalcore.types import Bools, Floats
from benchmarks.monitored_windows import Windows, against, simulate_against
from benchmarks.real_streams import LABELS, Stream, streams

KINDS = ("steady", "drift", "jumps", "noise", "season", "slide", "alternating", "rare errors")
WINDOWS, LAST, Z = 30, 4, 3.92
ABOVE = 0.05   # the floor, for windows that are fine
NEARER = 1.645 / 1.96   # of the reach of a window's own interval, when it may miss twice as often
AWAY = 0.1     # of the values at which the bets of a real window are looked at


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One window of one stream."""

    truth: float
    value: float      # the window's own estimate
    half: float       # and half of its interval's width
    own: OwnDraws
    tracked: Tracked
    mean: tuple[float, float, float]    # of the last windows: truth, value, half-width


def seen_windows(
    truths: Sequence[float], owns: Sequence[OwnDraws], told: Sequence[tuple[float, float]]
) -> list[Seen]:
    """All windows of a stream that have an interval with those before; told: each one's estimate and half."""
    found = []
    for w in range(FEWEST_WINDOWS - 1, len(owns)):
        tracked = track(owns[:w + 1], 0.95, (0.0, 1.0))
        if tracked is None:
            continue
        last = slice(max(w + 1 - LAST, 0), w + 1)
        n = len(owns[last])
        value, half = mean_of_draws(owns[last], [1 / n] * n, 0.95)
        found.append(Seen(
            truth=truths[w], value=told[w][0], half=told[w][1], own=owns[w], tracked=tracked,
            mean=(float(np.mean(truths[last])), value, half),
        ))
    return found


def figures(seen: Sequence[Seen]) -> str:
    """Cells of the table."""
    truth = np.array([one.truth for one in seen])
    low, high = (np.array([getattr(one.tracked, end) for one in seen]) for end in ("lower", "upper"))
    own = np.array([one.own.value for one in seen])
    value = np.array([one.value for one in seen])
    at, mean, half = np.array([one.mean for one in seen]).T
    tracked = np.array([one.tracked.value for one in seen])
    error = float(np.sqrt(np.mean((tracked - truth) ** 2)))
    half_own = np.array([one.half for one in seen])
    alone = value - half_own >= truth - ABOVE
    enough = np.array([narrows(one.tracked, one.own) for one in seen])
    nearer = value - NEARER * half_own
    either = alone | (enough & _shown(low, own, nearer, truth - ABOVE))
    wrong = enough & (low > truth) & _shown(low, own, nearer, truth)
    return " | ".join([
        f"{np.sqrt(np.mean((value - truth) ** 2)):.4f}", f"{2 * np.mean([one.half for one in seen]):.3f}",
        f"{np.mean(own - truth):+.4f}", f"{error:.4f}", f"{np.mean(high - low):.3f}",
        f"{np.mean((low <= truth) & (truth <= high)):.3f}", f"{np.mean(high - low) / Z / error:.2f}",
        f"{wrong.mean():.3f}", f"{alone.mean():.2f}, {either.mean():.2f}",
        f"{np.mean(abs(mean - at) <= half):.3f}", f"{2 * half.mean():.3f}",
    ])


def _shown(low: Floats, own: Floats, nearer: Floats, floor: Floats) -> Bools:
    """Whether a window is ok by the windows before, at each of these floors; nearer: the lower end of its own
    interval at twice the risk."""
    return np.asarray((low >= floor) & (own >= floor) & (nearer >= floor))


def lot(kind: str, count: int, seed: int) -> list[Seen]:
    """Streams of shares by lot."""
    rng, found = stream(seed, f"streams by lot/{kind}"), []
    for _ in range(count):
        labels = int(rng.choice([25, 50, 100, 200]))
        truth = truths_by_lot(kind, rng)
        hits = rng.binomial(labels, truth)
        value = hits / labels
        # with the variance that a label model expects mixed in, as in the draws of a monitor
        usual = float(np.mean(truth * (1 - truth)))
        variance = np.maximum(value * (1 - value), (labels * value * (1 - value) + 10 * usual) / (labels + 9))
        error = np.sqrt(variance / labels)
        half = scipy.special.stdtrit(labels - 1, 0.975) * error
        owns = [
            OwnDraws(value=v, error=e, draws=labels)
            for v, e in zip(value.tolist(), error.tolist(), strict=True)
        ]
        found += seen_windows(truth.tolist(), owns, list(zip(value.tolist(), half.tolist(), strict=True)))
    return found


def truths_by_lot(kind: str, rng: np.random.Generator) -> Floats:
    """(WINDOWS,) the true values of a stream."""
    w, base = np.arange(WINDOWS), rng.uniform(0.6, 0.95)
    match kind:
        case "steady":
            found = base + rng.normal(0, 0.003, WINDOWS)
        case "drift":
            found = base + np.cumsum(rng.normal(0, rng.choice([0.002, 0.005, 0.01, 0.02]), WINDOWS))
        case "jumps":
            found = np.full(WINDOWS, base)
            for at in np.flatnonzero(rng.random(WINDOWS) < 0.05):
                found[at:] = base - rng.uniform(-0.1, 0.3)
        case "noise":
            found = base + rng.normal(0, rng.choice([0.01, 0.02, 0.04]), WINDOWS)
        case "season":
            found = base + 0.05 * np.sin(w * 2 * np.pi / rng.integers(5, 30))
        case "slide":
            found = base - np.maximum(w - WINDOWS // 2, 0) * 0.01
        case "alternating":
            found = base - 0.1 * (w % 2)
        case _:
            found = np.full(WINDOWS, rng.uniform(0.97, 0.995))
    return np.clip(found, 0.02, 0.997)


def owns_of(three: Sequence[Windows], at: Sequence[float]) -> tuple[Floats, Floats]:
    """(W,) the value and the error of the draws of each repeat, from their bets on three limits."""
    mean = np.stack([one.mean for one in three])
    slope = (mean[2] - mean[0]) / (at[2] - at[0])
    value = at[1] - mean[1] / slope
    # the variance of a draw is a square in the limit
    x = (value - at[1]) / (at[2] - at[1])
    variance = np.stack([one.variance for one in three])
    found = (variance[1] + x * (variance[2] - variance[0]) / 2
             + x**2 * ((variance[2] + variance[0]) / 2 - variance[1]))
    return value, np.sqrt(np.maximum(found, 0.0) / three[0].told) / abs(slope)


def real(one: Stream, name: str, repeats: int, count: int) -> list[Seen]:
    """`count` streams put together of the repeats of each window."""
    what, rng = measure(one.measure), stream(3, f"tracked/{one.title}/{one.measure}/{name}")
    truths, drawn = [], []
    for w, window in enumerate(one.windows):
        truth = float(what.of_confusion(window.confusion()))
        at = [truth - AWAY, truth, truth + AWAY]
        three = simulate_against(
            name, what, window, against(at), repeats, LABELS, one.windows[w - 1] if w else None
        )
        truths.append(truth)
        drawn.append((three[1], *owns_of(three, at)))
    found = []
    for _ in range(count):
        owns, told = [], []
        for window, value, error in drawn:
            r = int(rng.integers(repeats))
            owns.append(OwnDraws(value=float(value[r]), error=float(error[r]), draws=int(window.told[r])))
            told.append((float(window.value[r]), float(window.upper[r] - window.lower[r]) / 2))
        found += seen_windows(truths, owns, told)
    return found


TITLES = ("estimate RMSE", "its interval", "draws lean", "tracked RMSE", "tracked interval", "covers",
          "of 3.92 RMSE", "wrong ok",
          f"ok {ABOVE} above: alone, either", f"mean of {LAST} covers", "its interval")


def main() -> None:
    """Print the tables; docs/measured/monitoring.md has them."""
    parser = argparse.ArgumentParser(description="Intervals that know of the windows before.")
    parser.add_argument("--lot", type=int, default=100, help="streams of each kind by lot; 0: none")
    parser.add_argument("--seed", type=int, default=11)
    parser.add_argument("--methods", nargs="*", default=["passive", "recalibrated"])
    parser.add_argument("--repeats", nargs="*", type=int, default=[100, 3])
    parser.add_argument("--streams", type=int, default=100)
    parser.add_argument("--only", nargs="*", default=None, help="titles of real streams")
    given = parser.parse_args()
    print(f"| stream | method | {' | '.join(TITLES)} |\n|{' --- |' * (len(TITLES) + 2)}")
    for kind in KINDS if given.lot else ():
        print(f"| {kind} | even draws | {figures(lot(kind, given.lot, given.seed))} |", flush=True)
    for name, repeats in zip(given.methods, given.repeats, strict=True):
        for one in streams():
            if given.only is None or f"{one.title}/{one.measure}" in given.only:
                said = figures(real(one, name, repeats, given.streams))
                print(f"| {one.title}, {one.measure} | {name} | {said} |", flush=True)


if __name__ == "__main__":
    main()
