"""How often a monitor cries wolf, and how soon it notices: `python -m benchmarks.monitoring`.

Windows of 100 labels are simulated with the methods' own code on a synthetic pool whose quality is known
exactly: probabilities are calibrated, and labels are turned round at random until the measure has dropped by
0.02, 0.05 or 0.10. The limit lies exactly at the stable stream's true value, the hardest stream there is to
leave alone; a monitor whose floor lies lower alarms less often, and notices drops counted from its floor.

    false alarms   per 1,000 windows of a stable stream, over STREAMS streams of 1,000 windows
    delay          windows from the drop to the first alarm, after QUIET stable ones: median, and the share of
                   streams that had none within LONGEST

Streams are put together from the simulated windows at random, with replacement.
"""

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from assay.evalcore.design.draws import simulate_labels
from assay.evalcore.measures.base import Measure
from assay.evalcore.measures.registry import measure
from assay.evalcore.methods.base import Method, draw_round
from assay.evalcore.methods.exact import with_exact_values
from assay.evalcore.methods.registry import method
from assay.evalcore.monitoring.betting import (
    bet_against,
    interval_log_factors,
    interval_surprise,
    round_log_factors,
)
from assay.evalcore.monitoring.lifetime import Life, Test, step
from assay.evalcore.randomness import stream
from assay.evalcore.replay.pool import LabelledPool, prepare
from assay.evalcore.types import Floats

OUT = Path(__file__).parent.parent / "docs" / "monitoring-measured.md"
LABELS, BATCH = 100, 25
ERROR_RATE = 0.05
DROPS = (0.0, 0.02, 0.05, 0.10)
STREAMS, WINDOWS = 20, 1000
QUIET, LONGEST, RUNS = 20, 150, 100
AT_ONCE = 250
METHODS = {"passive": 2000, "static-is": 2000, "dirichlet-tree:depth=4": 500}
MEASURES = ("accuracy", "f1")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Windows:
    """W simulated windows of one stream."""

    value: Floats      # (W,)
    lower: Floats      # (W,)
    upper: Floats      # (W,)
    draws: Floats      # (W, G) log factors from the draws
    interval: Floats   # (W, G) log factors from the interval
    surprise: Floats   # (W, G) -log p from the interval, for alpha-spending
    covers: float      # share of intervals that cover the truth


def pool(drop: float, what: Measure, items: int = 8000) -> LabelledPool:
    """The stable pool, or one whose measure is lower by `drop`."""
    rng = stream(7, "monitoring pool")
    p = rng.beta(0.35, 0.5, items)
    label = (rng.random(items) < p).astype(np.int64)
    prediction = (p > 0.5).astype(np.int64)
    order = rng.permutation(items)

    def turned(n: int) -> LabelledPool:
        y = label.copy()
        y[order[:n]] = 1 - y[order[:n]]
        return LabelledPool(score=p, probability=p, prediction=prediction, label=y)

    goal = float(what.of_confusion(turned(0).confusion())) - drop
    low, high = 0, items // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if what.of_confusion(turned(middle).confusion()) > goal else (low, middle)
    return turned(high if drop else 0)


def simulate(how: Method, what: Measure, drop: float, count: int) -> Windows:
    """`count` windows of LABELS labels, by the method's own code."""
    limit = float(what.of_confusion(pool(0.0, what).confusion()))
    data = pool(drop, what)
    truth = float(what.of_confusion(data.confusion()))
    cells, by_label = prepare(how, data)
    bet = bet_against(what, limit, "below")
    assert bet is not None
    parts = []
    for block in range(-(-count // AT_ONCE)):
        rng = stream(1, f"monitoring/{how.name}/{what.name}/{drop}", block)
        state = how.start(cells, [what], AT_ONCE)
        said: Floats = np.zeros(1)
        for _ in range(LABELS // BATCH):
            before = state.labelled
            design, draws = draw_round(how, state, np.full(AT_ONCE, BATCH), rng)
            outcome = simulate_labels(draws, by_label - before, rng)
            said = said + round_log_factors(bet, cells, design, before, outcome)
            state = how.observe(state, design, outcome, np.zeros_like(state.excluded))
        (e,) = with_exact_values(state, how.estimate(state, 0.95, rng))
        parts.append((e.value, e.lower, e.upper, said))
    value, lower, upper, draws = (np.concatenate(column) for column in zip(*parts, strict=True))
    ends = list(zip(value, lower, upper, strict=True))
    interval = np.array([interval_log_factors(*end, 0.95, limit, "below") for end in ends])
    surprise = np.array([interval_surprise(*end, 0.95, limit, "below") for end in ends])
    covers = float(((lower <= truth) & (truth <= upper)).mean())
    return Windows(value=value, lower=lower, upper=upper, draws=draws, interval=interval,
                   surprise=surprise, covers=covers)


Rule = Callable[[Windows, Windows, np.ndarray, int], list[int]]


def lifetime(test: Test, kind: str) -> Rule:
    """A rule of `evalcore.monitoring.lifetime` on one kind of evidence; the places of its alarms."""

    def alarms(quiet: Windows, after: Windows, index: np.ndarray, change: int) -> list[int]:
        factors = [getattr(quiet if i < change else after, kind) for i in range(len(index))]
        found, life = [], None
        for i, row in enumerate(index):
            life = life or Life.new(test, factors[i].shape[1])
            life, evidence = step(test, life, factors[i][row], ERROR_RATE)
            if evidence >= -np.log(ERROR_RATE):
                found.append(i)
                life = None
        return found

    return alarms


def naive(quiet: Windows, after: Windows, index: np.ndarray, change: int) -> list[int]:
    """Alarm where the interval excludes the last value, from above."""
    found, last = [], None
    for i, row in enumerate(index):
        here = quiet if i < change else after
        if last is not None and here.upper[row] < last:
            found.append(i)
        last = here.value[row]
    return found


RULES: dict[str, Rule] = {
    "e-process, draws": lifetime("e-process", "draws"),
    "alpha-spending, draws": lifetime("alpha-spending", "draws"),
    "cusum, draws": lifetime("cusum", "draws"),
    "e-process, interval": lifetime("e-process", "interval"),
    "alpha-spending, interval": lifetime("alpha-spending", "surprise"),
    "interval excludes last value": naive,
}


def measured(rule: Rule, windows: dict[float, Windows], rng: np.random.Generator) -> list[str]:
    """One row: false alarms per 1,000 windows, streams with any, then the delay for each drop."""
    stable = windows[0.0]
    n = len(stable.value)
    alarms = [len(rule(stable, stable, rng.integers(n, size=WINDOWS), WINDOWS)) for _ in range(STREAMS)]
    row = [f"{np.mean(alarms):.2f}", f"{np.mean(np.array(alarms) > 0):.2f}"]
    for drop in DROPS[1:]:
        after = windows[drop]
        delays = []
        for _ in range(RUNS):
            index = np.concatenate(
                [rng.integers(n, size=QUIET), rng.integers(len(after.value), size=LONGEST)]
            )
            seen = [i - QUIET + 1 for i in rule(stable, after, index, QUIET) if i >= QUIET]
            delays.append(min(seen, default=LONGEST + 1))
        missed = np.mean(np.array(delays) > LONGEST)
        median = float(np.median(delays))
        row.append(f"{f'> {LONGEST}' if median > LONGEST else f'{median:.0f}'} ({missed:.0%})")
    return row


def table() -> str:
    """All of it, as Markdown."""
    lines = [
        "# Monitoring, measured", "",
        f"Made by `python -m benchmarks.monitoring` (`make monitoring`): windows of {LABELS} labels, error "
        f"rate {ERROR_RATE}, the limit at the stable stream's true value. False alarms are counted over "
        f"{STREAMS} streams of {WINDOWS:,} stable windows. A delay is the median number of windows from the "
        f"drop to the alarm over {RUNS} streams; in brackets, the share of streams without an alarm within "
        f"{LONGEST} windows.",
        "",
    ]
    for what in map(measure, MEASURES):
        for name, count in METHODS.items():
            windows = {drop: simulate(method(name), what, drop, count) for drop in DROPS}
            value = float(what.of_confusion(pool(0.0, what).confusion()))
            lines += [
                f"## {what.name} {value:.3f}, {name}", "",
                f"Nominal 95% intervals cover {windows[0.0].covers:.1%} of stable windows and "
                f"{windows[DROPS[-1]].covers:.1%} after a drop of {DROPS[-1]:.2f}.", "",
                "| rule | false alarms per 1,000 windows | streams with any | "
                + " | ".join(f"delay, drop {drop:.2f}" for drop in DROPS[1:]) + " |",
                "| --- |" + " --- |" * (2 + len(DROPS[1:])),
            ]
            for said, rule in RULES.items():
                rng = stream(3, f"{what.name}/{name}/{said}")
                lines.append(f"| {said} | " + " | ".join(measured(rule, windows, rng)) + " |")
                print(lines[-1], flush=True)
            lines.append("")
            OUT.write_text("\n".join(lines), encoding="utf-8")     # what is done stands, whatever comes
    return "\n".join(lines)


def main() -> None:
    """Print the tables and write them to docs/."""
    argparse.ArgumentParser(description="False alarms and delays of a monitor.").parse_args()
    OUT.write_text(table(), encoding="utf-8")
    print(OUT.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
