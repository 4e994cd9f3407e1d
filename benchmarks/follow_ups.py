"""How often is a window called ok that lies below its floor, where inconclusive windows buy further labels?

    python -m benchmarks.follow_ups --windows 400

Real monitors, run by the flow in a memory store: days alternate between an F1 of about 0.78 and one that is
just below the floor of 0.57, so that every second window is as hard as can be and its label model starts
from a better day. Each day has 1,500 items; windows get 100 labels, and follow-ups at most 100 each.
Of the windows at the limit it counts how many were called ok by their first labels alone, and in the end;
how often the interval of 95% (or wider, as the verdict says) holds the truth; and whether the labels that
the verdict names are those that were bought, without those that came from earlier windows.
"""

import argparse
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
from doubles.stream import FIRST, after, monitor_data, write_day

from assay.evalcore.types import Array, Floats
from assay.flows.monitor.history import read_monitor_history
from assay.flows.monitor.tick import tick
from assay.flows.monitor.versions import register
from assay.tasks.ledger.stores.store import MemoryStore
from assay.tasks.report.history.record import HistoryRow
from assay.tasks.spec.monitor import MonitorSpec

ITEMS, LABELS, DAYS = 1500, 100, 20
FLOOR, GOOD = 0.57, 0.78


def a_day(rng: np.random.Generator, target: float) -> tuple[Floats, Array]:
    """Log odds and labels whose F1 at probability 1/2 is the largest that does not exceed the target."""
    logit = 2.5 * rng.standard_normal(ITEMS) - 1.5
    label = rng.random(ITEMS) < 1 / (1 + np.exp(-logit))
    called = logit > 0
    wrong_first = rng.permutation(np.flatnonzero(called & label))
    for item in wrong_first:
        if f1(called, label) <= target:
            break
        label[item] = False
        # what is lost there is found elsewhere, so that positives stay as many
        label[rng.choice(np.flatnonzero(~called & ~label))] = True
    return logit, label


def f1(called: Array, label: Array) -> float:
    """Of predictions and labels."""
    return float(2 * (called & label).sum() / (called.sum() + label.sum()))


@dataclass(frozen=True, kw_only=True)
class AtTheLimit:
    """A window whose truth is just below the floor."""

    first_ok: bool        # by its first labels alone
    ok: bool
    breach: bool
    covers: bool
    followed: bool        # it bought follow-ups
    labels: int           # that the verdict names
    bought: int
    width: float
    error: float


def windows(method: str, follow_ups: int, seed: int) -> Iterator[AtTheLimit]:
    """The windows of one stream that lie at the limit."""
    rng = np.random.default_rng([seed, 34])
    with tempfile.TemporaryDirectory() as made:
        folder, truth = Path(made), {}
        for d in range(DAYS):
            logit, label = a_day(rng, FLOOR if d % 2 else GOOD)
            day = FIRST + timedelta(days=d)
            truth[str(day)] = f1(logit > 0, label)
            write_day(folder, day, logit, label)
        data: dict[str, Any] = monitor_data(
            folder, follow_ups=follow_ups, monthly_labels=10**6, quiet_labels=LABELS, signal_rate=1e-6,
        ) | {"name": f"alternating-{seed}", "method": method, "measure": "f1",
             "threshold": {"min": FLOOR}, "budget": {"labels": LABELS}}
        del data["target"]
        store = MemoryStore()
        register(store, MonitorSpec.from_data(data, origin="the benchmark"))
        tick(store, data["name"], moment=after(DAYS))
        history = read_monitor_history(store, data["name"])
    for row in history.rows[1::2]:
        first = next(one for one in history.verdicts if one.window == row.window)
        yield _counted(row, first.overall.verdict == "ok", truth[row.window])


def _counted(row: HistoryRow, first_ok: bool, truth: float) -> AtTheLimit:
    if row.overall is None:
        raise AssertionError(f"window {row.window} has no verdict")
    m = row.overall.measured
    if m.value is None or m.lower is None or m.upper is None:
        raise AssertionError(f"window {row.window} has no interval")
    return AtTheLimit(
        first_ok=first_ok, ok=row.state == "ok", breach=row.state == "breach",
        covers=m.lower - 1e-9 <= truth <= m.upper + 1e-9, followed=len(row.openings) > 1, labels=m.labels,
        bought=row.bought, width=m.upper - m.lower, error=m.value - truth,
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Wrong verdicts of windows that buy follow-ups.")
    parser.add_argument("--windows", type=int, default=400)
    parser.add_argument("--methods", default="recalibrated,dirichlet-tree,passive")
    parser.add_argument("--follow-ups", default="2")
    asked = parser.parse_args()
    print("| method | follow-ups | windows | wrong ok, first labels | wrong ok | breach | followed | covers "
          "| covers, followed | labels | bought | width | mean error | RMSE |")
    print("|" + " --- |" * 14)
    for method in asked.methods.split(","):
        for most in map(int, asked.follow_ups.split(",")):
            rows: list[AtTheLimit] = []
            for seed in range(1, 1 + -(-asked.windows * 2 // DAYS)):
                rows += windows(method, most, seed)
            print(_line(method, most, rows), flush=True)


def _line(method: str, most: int, rows: list[AtTheLimit]) -> str:
    def share(name: str, among: list[AtTheLimit] = rows) -> str:
        return f"{np.mean([getattr(one, name) for one in among]):.3f}" if among else "-"

    further = [one for one in rows if one.followed]
    rmse = float(np.sqrt(np.mean([one.error**2 for one in rows])))
    return (
        f"| {method} | {most} | {len(rows)} | {share('first_ok')} | {share('ok')} | {share('breach')} | "
        f"{share('followed')} | {share('covers')} | {share('covers', further)} | "
        f"{np.mean([one.labels for one in rows]):.0f} | {np.mean([one.bought for one in rows]):.0f} | "
        f"{share('width')} | {share('error')} | {rmse:.3f} |"
    )


if __name__ == "__main__":
    main()
