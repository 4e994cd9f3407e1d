"""Coverage and width of design-based intervals where errors are rare, on pools drawn by lot.

`python -m benchmarks.rare_errors` writes docs/measured/rare-errors.md (half an hour on two processors).
Every cell of the table is RUNS evaluations: of pools drawn by lot from a stated family, EACH of every pool.
"Without" is the same interval, of the same draws, without what no label has shown
(`evalcore.methods.any_outcome.unseen_errors`).  Pools whose errors are common show what it costs where
nothing is rare.
"""

import argparse
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import numpy as np

from assay.evalcore.measures.measure import side_by_side
from assay.evalcore.measures.registry import outcome_measure
from assay.evalcore.measures.stack import Stack
from assay.evalcore.methods.any_outcome.unseen_errors import Unseen
from assay.evalcore.methods.registry import outcome_method
from assay.evalcore.outcomes.classes import Classes
from assay.evalcore.outcomes.items import Items
from assay.evalcore.outcomes.numbers import Numbers
from assay.evalcore.outcomes.tags import Tags
from assay.evalcore.replay.pool import OutcomePool
from assay.evalcore.replay.run import ReplayPlan, simulate
from assay.evalcore.reproducible import stream
from assay.evalcore.types import Bools, Floats, Ints

OUT = Path(__file__).parent.parent / "docs" / "measured" / "rare-errors.md"
RUNS, EACH = 300, 50              # evaluations of a cell, and of each of its pools
BUDGETS = (25, 50, 100, 200, 500)
SIZES = (100, 1_000, 10_000, 100_000)
RATES = (0.001, 0.005, 0.02, 0.05)
COMMON = (10_000, 0.25)          # what errors that are no longer rare look like
NOMINAL = 0.95
WIDENED = Unseen.widened

Draw = Callable[[np.random.Generator, int, float], OutcomePool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """Pools of N items, a share of which is predicted wrong (or differs from the rest)."""

    says: str
    draw: Draw
    measures: tuple[str, ...]
    methods: tuple[str, ...] = ("recalibrated", "passive")
    largest: int = 10_000        # pools beyond it say the same and take long


def wrong_items(rng: np.random.Generator, n: int, rate: float, odds: Floats | None = None) -> Bools:
    """Exactly so many of n items, at least one; odds (n,): how they lie."""
    wrong = np.zeros(n, np.bool_)
    wrong[rng.choice(n, max(1, round(rate * n)), replace=False, p=odds)] = True
    return wrong


def _named(k: int) -> Classes:
    return Classes(tuple(f"class {i}" for i in range(k)))


def _predicted(rng: np.random.Generator, n: int, k: int) -> Ints:
    return np.asarray(rng.choice(k, n, p=rng.dirichlet(np.full(k, 2.0))))


def _other(rng: np.random.Generator, prediction: Ints, wrong: Bools, k: int) -> Floats:
    """The prediction, or another class where it is wrong."""
    return np.where(wrong, (prediction + rng.integers(1, k, len(wrong))) % k, prediction).astype(np.float64)


def _alone(rng: np.random.Generator, n: int, rate: float) -> OutcomePool:
    prediction = _predicted(rng, n, 10)
    return OutcomePool(
        kind=_named(10), items=Items(prediction=prediction[:, None].astype(np.float64)),
        codes=_other(rng, prediction, wrong_items(rng, n, rate), 10),
    )


def _with_probabilities(rng: np.random.Generator, n: int, rate: float) -> OutcomePool:
    """Right, over-confident or shuffled probabilities, by lot."""
    prediction, odds = _predicted(rng, n, 10), rng.gamma(0.5, 1.0, n)
    odds = odds / odds.sum()
    wrong = wrong_items(rng, n, rate, odds)
    chance = odds * wrong.sum()
    told = [chance, chance**2, rng.permutation(chance)][rng.integers(3)]
    probability = np.repeat(np.clip(told, 1e-7, 0.6)[:, None] / 9, 10, axis=1)
    probability[np.arange(n), prediction] = 1 - np.clip(told, 1e-7, 0.6)
    return OutcomePool(
        kind=_named(10), codes=_other(rng, prediction, wrong, 10),
        items=Items(prediction=prediction[:, None].astype(np.float64), probability=probability),
    )


def _tags(rng: np.random.Generator, n: int, rate: float) -> OutcomePool:
    """8 tags; one of them is wrong of a wrong item."""
    bits = rng.random((n, 8)) < np.linspace(0.4, 0.1, 8)
    powers, wrong = 2 ** np.arange(8), wrong_items(rng, n, rate)
    prediction = bits @ powers
    return OutcomePool(
        kind=Tags(tuple(f"tag {i}" for i in range(8))),
        items=Items(prediction=prediction[:, None].astype(np.float64)),
        codes=np.where(wrong, prediction ^ powers[rng.integers(0, 8, n)], prediction).astype(np.float64),
    )


def _grade(rng: np.random.Generator, n: int, rate: float) -> OutcomePool:
    """Fives; a share is anything else.  A judge that is of no use."""
    wrong = wrong_items(rng, n, rate)
    kind = Classes(tuple("12345"), values=(1.0, 2.0, 3.0, 4.0, 5.0))
    return OutcomePool(
        kind=kind, codes=np.where(wrong, rng.integers(0, 4, n), 4).astype(np.float64),
        items=Items(prediction=np.zeros((n, 0)), judge=rng.integers(0, 5, (n, 1)).astype(np.float64)),
    )


def _graded(rng: np.random.Generator, n: int, rate: float) -> OutcomePool:
    """Predicted grades, the wrong ones off by anything."""
    prediction = rng.choice(5, n, p=rng.dirichlet(np.full(5, 2.0)))
    kind = Classes(tuple("12345"), values=(1.0, 2.0, 3.0, 4.0, 5.0))
    return OutcomePool(
        kind=kind, codes=_other(rng, prediction, wrong_items(rng, n, rate), 5),
        items=Items(prediction=prediction[:, None].astype(np.float64)),
    )


def _numbers(rng: np.random.Generator, n: int, rate: float) -> OutcomePool:
    """Predictions that are exact but for a share with exponential errors; no bounds are known."""
    prediction = rng.gamma(2.0, 2.0, n)
    error = rng.exponential(size=n) * rng.choice([-1, 1], n) * wrong_items(rng, n, rate)
    return OutcomePool(kind=Numbers(), items=Items(prediction=prediction[:, None]), codes=prediction + error)


def _two_systems(rng: np.random.Generator, n: int, rate: float) -> OutcomePool:
    """Two systems, each wrong of its own items."""
    label = _predicted(rng, n, 10)
    said = [_other(rng, label, wrong_items(rng, n, rate), 10) for _ in range(2)]
    return OutcomePool(
        kind=_named(10), items=Items(prediction=np.stack(said, axis=1)), codes=label.astype(np.float64)
    )


DESIGNS = ("recalibrated", "passive", "stratified", "stratified-neyman", "bernoulli", "static-is")
FAMILIES = {
    "classes": Family(says="10 classes, predictions alone", draw=_alone, measures=("accuracy", "macro_f1"),
                      largest=100_000),
    "probabilities": Family(says="10 classes with probabilities", draw=_with_probabilities,
                            measures=("accuracy", "macro_f1"), methods=DESIGNS),
    "tags": Family(says="8 tags", draw=_tags, measures=("micro_f1",)),
    "fives": Family(says="grades, nearly all alike", draw=_grade, measures=("mean",)),
    "grades": Family(says="predicted grades", draw=_graded, measures=("mae", "within")),
    "numbers": Family(says="predicted numbers", draw=_numbers, measures=("mae",)),
    "systems": Family(says="two systems, their difference", draw=_two_systems, measures=("accuracy",)),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """What intervals were at each budget."""

    coverage: Floats
    width: Floats
    before: Floats         # coverage and width without what no label has shown
    before_width: Floats
    budgets: tuple[int, ...]


def stack_of(pool: OutcomePool, measure: str) -> Stack:
    """The measure of a pool; of two systems, their difference."""
    size, systems = len(pool.items), pool.items.systems
    made = [outcome_measure(measure, pool.kind, size, system=s) for s in range(max(systems, 1))]
    return Stack(kind=pool.kind, measures=side_by_side([made])[:1] if systems > 1 else tuple(made))


def covering(lower: Floats, upper: Floats, truth: float) -> Bools:
    """(R, budgets) whether intervals hold the truth."""
    slack = 1e-9 * max(abs(truth), 1.0)
    return np.asarray((lower - slack <= truth) & (truth <= upper + slack))


def cell(
    family: Family, measure: str, method: str, *, size: int, rate: float, runs: int = RUNS
) -> Cell:
    """The intervals of one method on pools of one family."""
    budgets = tuple(b for b in BUDGETS if b < size)
    found: dict[str, list[Bools | Floats]] = {name: [] for name in ("coverage", "width", "before", "narrow")}
    for number in range(runs // EACH):
        pool = family.draw(stream(number, f"rare/{family.says}/{measure}", size, f"{rate}"), size, rate)
        stack = stack_of(pool, measure)
        truth = float(pool.truth(stack)[0])
        bare: list[tuple[Floats, Floats]] = []

        def widened(
            self: Unseen, value: Floats, lower: Floats, upper: Floats, confidence: Floats,
            bare: list[tuple[Floats, Floats]] = bare,
        ) -> tuple[Floats, Floats]:
            bare.append((lower[:, 0], upper[:, 0]))
            return WIDENED(self, value, lower, upper, confidence)

        with patch.object(Unseen, "widened", widened):
            trace, *_ = simulate(
                outcome_method(method), pool, stack, ReplayPlan(budgets=budgets, seed=number), repeats=EACH
            )
        lower, upper = trace.lower, trace.upper
        # a method whose interval needs no bound of unseen errors never asks for one: it is as it was before
        narrow = [np.stack(ends, axis=1) for ends in zip(*bare, strict=True)] or [lower, upper]
        found["coverage"].append(covering(lower, upper, truth))
        found["before"].append(covering(narrow[0], narrow[1], truth))
        found["width"].append(upper - lower)
        found["narrow"].append(narrow[1] - narrow[0])
    means = {name: np.concatenate(rows).mean(axis=0) for name, rows in found.items()}
    return Cell(
        coverage=means["coverage"], width=means["width"], before=means["before"],
        before_width=means["narrow"], budgets=budgets,
    )


def cells() -> Iterator[tuple[str, str, str, int, float]]:
    """Family, measure, method, size and rate of every row."""
    for name, family in FAMILIES.items():
        for measure in family.measures:
            for method in family.methods:
                largest = family.largest if measure == family.measures[0] else 10_000
                for size in (n for n in SIZES if n <= largest):
                    rates = RATES[:2] if size > 10_000 else RATES
                    yield from ((name, measure, method, size, rate) for rate in rates if rate * size >= 0.99)
                yield name, measure, method, *COMMON


def row(asked: tuple[tuple[str, str, str, int, float], int]) -> str:
    """One line of the table: at each budget coverage and width, without it → with it."""
    (name, measure, method, size, rate), runs = asked
    found = cell(FAMILIES[name], measure, method, size=size, rate=rate, runs=runs)
    told = [
        f"{a:.2f} → {b:.2f}, {c:.3g} → {d:.3g}"
        for a, b, c, d in zip(found.before, found.coverage, found.before_width, found.width, strict=True)
    ]
    told += ["" for _ in range(len(BUDGETS) - len(told))]
    return f"| {name} | {measure} | {method} | {size:,} | {rate:.1%} | " + " | ".join(told) + " |"


def page(runs: int, processes: int) -> Iterator[str]:
    """The lines of the page."""
    deviation = np.sqrt(NOMINAL * (1 - NOMINAL) / runs)
    yield "# Where errors are rare\n"
    yield "Made by `python -m benchmarks.rare_errors`; do not edit.\n"
    yield (f"Nominal {NOMINAL:.0%}. Each cell: coverage and mean width of {runs} evaluations, {EACH} of each "
           f"of {runs // EACH} pools drawn by lot, without → with what no label has shown. The Monte Carlo "
           f"standard error of a coverage of 0.95 is {deviation:.3f}; runs of one pool share its truth. In "
           "the last row of each block a quarter of the predictions is wrong: what the bound costs where "
           "nothing is rare.\n")
    yield from (f"- **{name}**: {family.says}" for name, family in FAMILIES.items())
    yield ""
    yield "| pools | measure | method | items | wrong | " + " | ".join(map(str, BUDGETS)) + " |"
    yield "| --- " * (5 + len(BUDGETS)) + "|"
    with ProcessPoolExecutor(processes) as pool:
        yield from pool.map(row, [(one, runs) for one in cells()])


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--out", type=Path, default=OUT)
    asked = parser.parse_args()
    with asked.out.open("w", encoding="utf-8") as out:
        for line in page(asked.runs, asked.processes):
            print(line, file=out, flush=True)


if __name__ == "__main__":
    main()
