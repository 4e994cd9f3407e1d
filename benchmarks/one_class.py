"""One class against the rest, however it is asked: `python -m benchmarks.one_class`.

Writes docs/measured/one-class.md (about half an hour on one processor).  Three questions:

    hard predictions   where evaluations stop whose pool has predictions and no score, and what intervals hold
                       there: real pools, and pools by lot (`lottery`) with every score thrown away
    beside F1          squared error, coverage and width of F1 alone, and beside a curve; and of the curve
    one of many        F1 of one class of 28 against the evaluation that asks it as two classes
"""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.special import expit

from assay.evalcore.measures.registry import measure, outcome_measure
from assay.evalcore.measures.stack import Stack
from assay.evalcore.methods.any_outcome.registry import outcome_method
from assay.evalcore.methods.two_classes.registry import method
from assay.evalcore.outcomes.classes import Classes
from assay.evalcore.outcomes.items import Items
from assay.evalcore.outcomes.score_grid import grids
from assay.evalcore.replay.pool import LabelledPool, OutcomePool
from assay.evalcore.replay.run import Trace, simulate
from assay.tasks.replay.labelled_pool import read_labelled_pool
from assay.tasks.replay.outcome_pool import OutcomeColumns, read_outcome_pool
from benchmarks import lottery
from benchmarks.reproduce.pools import pool_file, write_page

OUT = Path(__file__).parent.parent / "docs" / "measured" / "one-class.md"
POOLS = ("abt-buy", "restaurant")
LOOKS = tuple(range(25, 301, 25))
TARGET = 0.05
LOTS, EACH, FIRST = 40, 5, 9_000      # pools by lot, evaluations of each, and the first of them
LARGEST = 60_000
RARE = ("gratitude", "remorse", "annoyance")
_TINY = 1e-9


def stopped(pool: LabelledPool, repeats: int, seed: int = 1) -> tuple[float, float, float]:
    """Coverage where evaluations of the predictions alone stop, the share that stops on target, and width."""
    alone = pool.prediction - 0.5
    hard = replace(pool, score=alone, probability=np.asarray(expit(alone)), unsure=True)
    f1 = measure("f1")
    truth = float(f1.of_confusion(hard.confusion()))
    (trace,) = simulate(method("recalibrated"), hard, [f1], LOOKS, repeats=repeats, seed=seed)
    met = ((trace.upper - trace.lower) / 2 <= TARGET) & (np.array(LOOKS) >= 100)
    twice = met[:, 1:] & met[:, :-1]
    at = np.where(twice.any(axis=1), twice.argmax(axis=1) + 1, len(LOOKS) - 1)[:, None]
    lower, upper = (np.take_along_axis(end, at, axis=1) for end in (trace.lower, trace.upper))
    covered = (lower <= truth + _TINY) & (truth <= upper + _TINY)
    return float(covered.mean()), float(twice.any(axis=1).mean()), float((upper - lower).mean())


def by_lot() -> Iterator[lottery.Ticket]:
    """Pools whose F1 exists, of at most LARGEST items, with both predictions."""
    index = FIRST
    while True:
        ticket = lottery.draw(index)
        index += 1
        predicted = ticket.pool.confusion().sum(axis=1)
        if len(ticket.pool.label) <= LARGEST and predicted.min() > 0:
            yield ticket


def _hard(repeats: int) -> Iterator[str]:
    yield "| pool | evaluations | coverage at the stop | stopped on target | mean width |"
    yield "| --- | --- | --- | --- | --- |"
    for name in POOLS:
        covered, met, width = stopped(read_labelled_pool(pool_file(name)), repeats)
        yield f"| {name} | {repeats} | {covered:.3f} | {met:.2f} | {width:.2f} |"
    tickets = by_lot()
    found = np.array([stopped(next(tickets).pool, EACH, seed=n) for n in range(LOTS)])
    covered, met, width = found.mean(axis=0)
    yield (f"| {LOTS} by lot | {LOTS * EACH} | {covered:.3f} (lowest {found[:, 0].min():.1f}) | {met:.2f} | "
           f"{width:.2f} |")


def _figures(trace: Trace, truth: float) -> str:
    """Squared error, coverage and width at each budget."""
    told = []
    for b in range(trace.value.shape[1]):
        value, lower, upper = trace.value[:, b], trace.lower[:, b], trace.upper[:, b]
        covered = ((lower <= truth + _TINY) & (truth <= upper + _TINY)).mean()
        told.append(f"{np.nanmean((value - truth) ** 2):.1e} · {covered:.2f} · {(upper - lower).mean():.3f}")
    return " | ".join(told)


def _as_any(name: str) -> OutcomePool:
    pool = read_labelled_pool(pool_file(name))
    return OutcomePool(
        kind=Classes(("negative", "positive"), positive="positive"), codes=pool.label.astype(np.float64),
        items=Items(prediction=pool.prediction.astype(np.float64)[:, None], score=pool.score[:, None]),
    )


def _beside(repeats: int, budgets: Sequence[int]) -> Iterator[str]:
    yield "| pool | asked | of it | " + " | ".join(f"{b} labels" for b in budgets) + " |"
    yield "| --- | --- | --- |" + " --- |" * len(budgets)
    for name in POOLS:
        pool = _as_any(name)
        made, n = grids(pool.kind, pool.items), len(pool.codes)
        f1, area = (outcome_measure(one, pool.kind, n, grids=made) for one in ("f1", "roc_auc"))
        for asked, measures in (("F1", (f1,)), ("F1 and ROC AUC", (f1, area))):
            stack = Stack(kind=pool.kind, measures=measures)
            traces = simulate(outcome_method("recalibrated"), pool, stack, budgets, repeats=repeats)
            for one, trace, truth in zip(measures, traces, pool.truth(stack).tolist(), strict=True):
                yield f"| {name} | {asked} | {one.title} | {_figures(trace, truth)} |"


def _of_many(repeats: int, budgets: Sequence[int]) -> Iterator[str]:
    many = read_outcome_pool(pool_file("goemotions-classes"), OutcomeColumns(
        outcome="classes", probability="p_",
    ))
    yield "| class | share | asked as | " + " | ".join(f"{b} labels" for b in budgets) + " |"
    yield "| --- | --- | --- |" + " --- |" * len(budgets)
    for name in RARE:
        k, n = many.kind.parts.index(name), len(many.codes)
        p = np.asarray(many.items.probability)[:, k]
        two = OutcomePool(
            kind=Classes(("other", name), positive=name), codes=(many.codes == k).astype(np.float64),
            items=Items(
                prediction=(many.items.prediction == k).astype(np.float64),
                probability=np.stack([1 - p, p], axis=1),
            ),
        )
        for asked, pool, options in (("one of 28", many, {"class": name}), ("two classes", two, {})):
            stack = Stack(kind=pool.kind, measures=(
                outcome_measure("f1", pool.kind, n, options=options),
            ))
            (trace,) = simulate(outcome_method("recalibrated"), pool, stack, budgets, repeats=repeats)
            yield (f"| {name} | {(many.codes == k).mean():.1%} | {asked} | "
                   f"{_figures(trace, float(pool.truth(stack)[0]))} |")


def page(repeats: int) -> str:
    """All of it."""
    lines = [
        "# One class against the rest",
        "",
        f"Made by `python -m benchmarks.one_class --repeats {repeats}`: `recalibrated`, nominal 95%.",
        "",
        "## Predictions without a score",
        "",
        f"F1, looks every 25 labels, ±{TARGET} at two looks in a row from 100 labels on, budget {LOOKS[-1]}.",
        "",
        *_hard(repeats),
        "",
        "## F1 beside a curve",
        "",
        f"Squared error · coverage · width; {repeats} evaluations.",
        "",
        *_beside(repeats, (100, 300)),
        "",
        "## One class of 28",
        "",
        f"F1: squared error · coverage · width; {repeats} evaluations.",
        "",
        *_of_many(repeats, (50, 100, 300, 1_000)),
        "",
    ]
    return "\n".join(lines)


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repeats", type=int, default=200)
    given = parser.parse_args()
    write_page(OUT, lambda: page(given.repeats), *POOLS, "goemotions-classes")


if __name__ == "__main__":
    main()
