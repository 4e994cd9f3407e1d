"""What a window says by itself: `python -m benchmarks.single_windows` writes docs/measured/single-windows.md.

Windows are drawn as monitors draw them, the limit at the truth of the stable stream.  First, how often stable
windows have a chance of at most some level, over that level: 1 is exact, less is cautious.  Of "broken" ones
the labels of the pool were turned round, so that its score is far off, and the limit is at its truth.  Then
how often falls are called in their first window after 20 quiet ones, and after how many windows on average:
by bets alone, as in version 1.0.0, and with the share of the error rate that windows by themselves have.

Last, the most that can be had.  Whoever keeps the promise spends at most ERROR_RATE/HORIZON_WINDOWS on a
window, in the mean over the windows of a horizon; and whatever is concluded from draws with known chances q
of a cell is called at most as often as by the most powerful test of its rates r₁ after the fall against the
rates r₀ that keep the limit and are nearest to them (`benchmarks.evidence_limit`).  The sum of log r₁/r₀ over
the draws is distributed as its Fourier transform says, on a grid; ties at the level are broken by lot.

    C   cells
"""

import argparse
from pathlib import Path

import numpy as np

from assay.evalcore.measures.registry import measure
from assay.evalcore.measures.two_classes import Measure
from assay.evalcore.monitoring.betting import worth
from assay.evalcore.monitoring.single_window import factor_alone
from assay.evalcore.monitoring.verdicts import ALONE, HORIZON_WINDOWS, Promise
from assay.evalcore.replay.pool import prepared_cells
from assay.evalcore.reproducible import stream
from assay.evalcore.types import Floats
from benchmarks.evidence_limit import Rates, closest
from benchmarks.monitored_windows import Windows, even_pool, monitored, rare_pool, simulate
from benchmarks.monitoring import ERROR_RATE, first_alarm
from benchmarks.pages import write_page

OUT = Path(__file__).parent.parent / "docs" / "measured" / "single-windows.md"
LEVELS = (0.01, 1e-3, 1.25e-4)
FALLS = (0.03, 0.05, 0.10, 0.20)
AUTO = "score-test"       # what `auto` means on these pools
SINGLY = f"{AUTO}:one-at-a-time=true"
STABLE = {"passive": 6000, AUTO: 12_000, "stratified": 2000, "static-is": 2000}
WINDOWS = {SINGLY: 800, "passive": 800, "stratified": 800, "recalibrated": 60}
STABLE_EACH = 5           # times as many stable windows, but of `recalibrated`
QUIET, STREAMS, LONGEST = 20, 2000, 150
ENOUGH = 10_000           # windows, without which the share of streams with an alarm is left out
PROMISE = Promise(error_rate=ERROR_RATE)
LABELS_BOUND = (50, 75, 100, 125, 150, 200)
_STEP, _GRID = 0.005, 1 << 16     # of the log likelihood ratio


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
    """How often stable windows are surprising, and streams of HORIZON_WINDOWS of them have an alarm."""
    rows = []
    accuracy, f1 = measure("accuracy"), measure("f1")
    for title, what, pool, labels, before in (
        ("accuracy 0.83", accuracy, even_pool(0.0, accuracy), 100, None),
        ("accuracy 0.63, broken", accuracy, even_pool(0.2, accuracy), 100, even_pool(0.0, accuracy)),
        ("accuracy 0.83", accuracy, even_pool(0.0, accuracy, 300), 20, None),
        ("F1 0.79", f1, even_pool(0.0, f1), 50, None),
        ("F1 0.59, broken", f1, even_pool(0.2, f1), 100, even_pool(0.0, f1)),
        ("F1 0.19", f1, rare_pool(0.19, f1), 100, None),
    ):
        truth = float(what.of_confusion(pool.confusion()))
        for name, count in STABLE.items():
            windows = simulate(name, what, pool, truth, count, labels, before or pool)
            ratios = (f"{float((windows.chance <= level).mean()) / level:.2f}" for level in LEVELS)
            rng = stream(6, f"{name}/{title}/{labels}")
            drawn = rng.integers(count, size=(1000, HORIZON_WINDOWS))
            alarm = first_alarm(PROMISE, factors_of(windows)[drawn])
            called_wrongly = f"{float((alarm <= HORIZON_WINDOWS).mean()):.3f}" if count >= ENOUGH else "–"
            rows.append(
                f"| {title} | {labels} | {name} | {count:,} | {' | '.join(ratios)} | {called_wrongly} |"
            )
            print(rows[-1], flush=True)
    return rows


def fall_rows(what: Measure, labels: int) -> list[str]:
    """How soon falls are called."""
    rows, stable_pool = [], even_pool(0.0, what)
    truth = float(what.of_confusion(stable_pool.confusion()))
    for name, count in WINDOWS.items():
        each = 1 if name == "recalibrated" else STABLE_EACH
        stable = factors_of(simulate(name, what, stable_pool, truth, each * count, labels, stable_pool))
        for fall in FALLS:
            pool = even_pool(fall, what)
            after = factors_of(simulate(name, what, pool, truth, count, labels, stable_pool))
            rng = stream(5, f"{name}/{what.name}/{labels}/{fall}")
            bets, both = (called(stable[:, :g], after[:, :g], rng) for g in (-1, None))
            rows.append(
                f"| {what.name} | {labels} | {name.partition(':')[0]} | {fall:.2f} "
                f"| {bets[0]:.2f} → {both[0]:.2f} "
                f"| {bets[1]:.1f} → {both[1]:.1f} |"
            )
            print(rows[-1], flush=True)
    return rows


def most_powerful(known: Rates, size: Floats, chance: Floats, labels: int, levels: list[float]) -> Floats:
    """The power at each level of the most powerful test of r₁ that keeps the limit, with so many draws.

    size, chance (C,): items of each cell, and q of a draw.
    """
    null = closest(known, size[None], chance[None], np.zeros(1))[0][0]
    drawn = chance > 0
    r1, r0, q = (np.clip(rates, 1e-9, 1 - 1e-9)[drawn] for rates in (known.rate, null, chance))
    steps = [np.round(np.log(a / b) / _STEP) for a, b in ((r1, r0), (1 - r1, 1 - r0))]
    turn = -2j * np.pi * np.fft.rfftfreq(_GRID)

    def distribution(rate: Floats) -> Floats:
        each = sum(
            share * (y * np.exp(turn * up) + (1 - y) * np.exp(turn * down))
            for share, y, up, down in zip(q, rate, *steps, strict=True)
        )
        place = np.arange(_GRID)
        order = np.argsort(np.where(place >= _GRID // 2, _GRID - place, -place), kind="stable")
        return np.cumsum(np.maximum(np.fft.irfft(each**labels, _GRID), 0.0)[order])

    false, power = distribution(r0), distribution(r1)
    return np.interp(levels, false, power)


def bound_rows(what: Measure, fall: float) -> list[str]:
    """The most that draws may reach by a level, with the draws of AUTO before any label."""
    stable, after = even_pool(0.0, what), even_pool(fall, what)
    cells, by_label = prepared_cells(monitored("stratified"), after)
    value = worth(what, float(what.of_confusion(stable.confusion())), "below", cells)
    if value is None:
        raise ValueError(f"{what.name} cannot be watched")
    known = Rates(rate=by_label[:, 1] / np.maximum(cells.size, 1), value=value)
    size = cells.size.astype(np.float64)
    pull, rate = size * np.abs(value[:, 1] - value[:, 0]), cells.mean_probability
    neyman = pull * np.sqrt(rate * (1 - rate))
    both = pull / pull.sum() + neyman / neyman.sum()
    levels = [PROMISE.level_alone or 0.0, ERROR_RATE / HORIZON_WINDOWS]
    rows = []
    for labels in LABELS_BOUND:
        shares = [
            most_powerful(known, size, q / q.sum(), labels, levels) for q in (size, pull, neyman, both)
        ]
        best = np.max(shares, axis=0)
        rows.append(
            f"| {what.name} | {fall:.2f} | {labels} | {shares[-1][0]:.2f} | {best[0]:.2f} | {best[1]:.2f} |"
        )
        print(rows[-1], flush=True)
    return rows


def main() -> None:
    """Measure, and write the page."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    accuracy, f1 = measure("accuracy"), measure("f1")
    bounds = [*bound_rows(accuracy, 0.2), *bound_rows(f1, 0.2)]
    lines = [
        "# A window by itself", "",
        f"Made by `python -m benchmarks.single_windows`. {ALONE[PROMISE.alone]:.2f} of the error rate is "
        "spent on windows by themselves ([how](../explanation/monitoring.md#what-the-evidence-is-made-of)). "
        f"`{AUTO}` is what `auto` means here.", "",
        "## The most that can be had", "",
        f"Falls by 0.20 called in their first window by the most powerful test. \"Here\": at the level that "
        f"a window by itself has ({PROMISE.level_alone:.3g}), with the draws of `{AUTO}`; \"of any draws\" "
        f"tried; \"of any monitor\": with all of the error rate ({ERROR_RATE / HORIZON_WINDOWS:.3g} a "
        "window).", "",
        "| measure | fall | labels | here | of any draws | of any monitor |", "|---|---|---|---|---|---|",
        *bounds, "",
        "## Stable windows whose truth lies at the limit", "",
        "Share of windows with a chance of at most 0.01, 0.001 and 0.000125, over that level: 1 is exact, "
        "less is cautious. The last is what an alarm takes, and is expected in 1.5 of 12,000 windows, so its "
        f"figures are coarse. Last: share of 1,000 streams of {HORIZON_WINDOWS} of these windows with a "
        "false "
        f"breach, of which {ERROR_RATE} is allowed.", "",
        "| measure | labels | method | windows | 0.01 | 0.001 | 0.000125 | false breach |",
        "|---|---|---|---|---|---|---|---|",
        *stable_rows(), "",
        "## Falls after 20 quiet windows", "",
        f"Error rate {ERROR_RATE} in {PROMISE.horizon} windows; by bets alone, as before → with windows by "
        f"themselves; {STREAMS:,} streams put together from "
        + ", ".join(f"{count} windows of {name.partition(':')[0]}" for name, count in WINDOWS.items())
        + f" after the fall, and {STABLE_EACH} times as many before it, but of `recalibrated`.", "",
        "| measure | labels | method | fall | called in its first window | mean delay, windows |",
        "|---|---|---|---|---|---|",
        *fall_rows(accuracy, 100), *fall_rows(f1, 100), "",
    ]
    write_page(OUT, "\n".join(lines))


if __name__ == "__main__":
    main()
