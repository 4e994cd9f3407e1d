"""Forecast and fact: how many labels a target was forecast to take, and how many it took.

    python -m benchmarks.forecasts --pools abt-buy,restaurant,balanced --methods dirichlet-tree

For every pool, method and target: the forecast before any label and after 100 labels, and the labels at
which replays stopped (median and middle 80%), looking after every second batch.
"""

import argparse

import numpy as np

from assay.evalcore.evaluation.state import Question, State, before_any_label, observe, plan
from assay.evalcore.forecast.labels_needed import forecast
from assay.evalcore.forecast.play import Forecast, Goal
from assay.evalcore.measures.registry import measure
from assay.evalcore.methods.method import MIN_LABELS
from assay.evalcore.methods.registry import method
from assay.evalcore.pool.partition import build_partition
from assay.evalcore.replay.pool import LabelledPool
from assay.evalcore.replay.run import ReplayPlan, simulate
from benchmarks.certify import load
from benchmarks.stopping import EVERY, stops

TARGETS = (0.05, 0.10, 0.15)
HORIZON = 1500


def after(question: Question, data: LabelledPool, cell: np.ndarray, labels: int) -> State:
    """A live evaluation of the pool after so many labels."""
    state = before_any_label(question)
    order = np.argsort(cell, kind="stable")
    first = np.searchsorted(cell[order], np.arange(question.cells.n_cells))
    while state.labels < labels and not state.exhausted:
        round_plan = plan(question, state, 25)
        items = order[first[round_plan.cell] + round_plan.rank]
        state = observe(question, state, round_plan, data.label[items])
    return state


def said(f: Forecast) -> str:
    """`420 (300 to more)`."""
    low, mid, high = ("more" if x is None else f"{x:,}" for x in (f.low, f.labels, f.high))
    return f"{mid} ({low} to {high})"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Forecasts of labels against what they turned out to be.")
    parser.add_argument("--pools", default="abt-buy,restaurant,balanced")
    parser.add_argument("--methods", default="dirichlet-tree;recalibrated", help="joined with ;")
    parser.add_argument("--repeats", type=int, default=20)
    given = parser.parse_args()
    f1 = measure("f1")
    print("| pool | method | target | forecast before any label | after 100 labels | what it took |")
    print("|---|---|---|---|---|---|", flush=True)
    for pool_name in given.pools.split(","):
        data = load(pool_name)
        looks = np.array([n for n in range(MIN_LABELS, HORIZON + 1, EVERY) if n < len(data.label)])
        for name in given.methods.split(";"):
            how = method(name)
            partition, cell = build_partition(how, data.score, data.probability, data.prediction)
            question = Question(method=how, cells=partition.cells, measures=(f1,), confidence=0.95, seed=1,
                                evaluation=f"forecast/{pool_name}")
            goals = [Goal(half_width=t) for t in TARGETS]
            before = forecast(question, before_any_label(question), goals, HORIZON)
            later = forecast(question, after(question, data, cell, 100), goals, HORIZON)
            (trace,) = simulate(
                how.for_forecast(), data, [f1], ReplayPlan(budgets=looks.tolist()), repeats=given.repeats
            )
            for j, target in enumerate(TARGETS):
                at = stops((trace.upper - trace.lower) / 2, target)
                took = np.sort(np.where(at >= 0, looks[at], np.inf))
                low, mid, high = (took[int(q * len(took))] for q in (0.1, 0.5, 0.9))
                told = ["more" if np.isinf(x) else f"{x:.0f}" for x in (low, mid, high)]
                print(f"| {pool_name} | {name} | {target:.2f} | {said(before[j])} | {said(later[j])} "
                      f"| {told[1]} ({told[0]} to {told[2]}) |", flush=True)


if __name__ == "__main__":
    main()
