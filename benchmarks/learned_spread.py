"""Numbers and grades, where labels tell how far errors spread: `python -m benchmarks.learned_spread`.

Writes docs/measured/learned-spread.md (about four minutes on one processor).  Pools drawn by lot from stated
families are what the method was chosen on; the real pools, read from ASSAY_POOLS, are what it is judged on.
"Before" is the same method with an allocation, and intervals, that take errors to spread as was guessed.
"""

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import numpy as np

from assay.evalcore.measures.registry import outcome_measure
from assay.evalcore.measures.stack import Stack
from assay.evalcore.methods.any_outcome.baselines import Sampled
from assay.evalcore.methods.any_outcome.recalibrated import Guesses
from assay.evalcore.methods.registry import outcome_method
from assay.evalcore.outcomes.classes import Classes
from assay.evalcore.outcomes.items import Items
from assay.evalcore.outcomes.numbers import Numbers
from assay.evalcore.replay.pool import OutcomePool
from assay.evalcore.replay.run import BudgetSummary, ReplayPlan, labels_to, simulate, summarise
from assay.evalcore.reproducible import stream
from assay.evalcore.types import Floats
from assay.tasks.replay.outcome_pool import OutcomeColumns, read_outcome_pool
from benchmarks.outcomes import pool_path
from benchmarks.pages import read_page, write_page

OUT = Path(__file__).parent.parent / "docs" / "measured" / "learned-spread.md"
BUDGETS = (50, 100, 150, 200, 300, 500)
SHOWN = (50, 100, 200, 500)
AIM_AT = 200           # the target is the half-width of `passive` at so many labels
ITEMS = 4_000
LOTS = 4               # pools of a family
BEFORE = "before"
FEW = ("passive", "stratified-neyman", BEFORE, "auto")
GRADES = Classes(tuple("12345"), values=(1.0, 2.0, 3.0, 4.0, 5.0))
RATED = Numbers(1.0, 5.0)


def numbered(
    y: Floats, *, prediction: Floats | None = None, judge: Floats | None = None, kind: Numbers | None = None
) -> OutcomePool:
    """Numbers with one prediction, or none, and judges (N,) or (N, J)."""
    said = np.zeros((len(y), 0)) if prediction is None else prediction[:, None]
    judges = None if judge is None else judge.reshape(len(y), -1)
    return OutcomePool(kind=kind or Numbers(), codes=y, items=Items(prediction=said, judge=judges))


def graded(y: Floats, prediction: Floats) -> OutcomePool:
    """Grades 1 to 5."""
    codes, said = (np.clip(np.round(one), 1, 5) - 1 for one in (y, prediction))
    return OutcomePool(kind=GRADES, codes=codes, items=Items(prediction=said[:, None]))


# Families, drawn by lot.

def _with_errors(spread: Callable[[np.random.Generator, Floats], Floats], tails: float) -> "Draw":
    """Predictions from 0 to 10; errors are t with so many degrees of freedom, times a spread."""
    def draw(rng: np.random.Generator) -> OutcomePool:
        f = rng.uniform(0, 10, ITEMS)
        return numbered(f + spread(rng, f) * rng.standard_t(tails, ITEMS), prediction=f)

    return draw


def _band(rng: np.random.Generator, f: Floats) -> Floats:
    return np.where((f > rng.uniform(2, 4)) & (f < rng.uniform(4.5, 6)), 3.0, 0.3)


def _tent(rng: np.random.Generator, f: Floats) -> Floats:
    return np.asarray(np.maximum(2.5 - abs(f - rng.uniform(3, 7)), 0.1))


def _prices(rng: np.random.Generator) -> OutcomePool:
    f = np.exp(2 + rng.standard_normal(ITEMS))
    return numbered(f * np.exp(0.3 * rng.standard_normal(ITEMS)), prediction=f)


def _proportional(rng: np.random.Generator) -> OutcomePool:
    f = rng.gamma(2.0, 2.0, ITEMS)
    y = f * (1 + 0.1 * rng.standard_t(4, ITEMS)) + 0.3 * rng.standard_normal(ITEMS)
    return numbered(y, prediction=f)


def _useless(rng: np.random.Generator) -> OutcomePool:
    return numbered(rng.gamma(2.0, 1.0, ITEMS), prediction=rng.standard_normal(ITEMS))


def _rated(rng: np.random.Generator, centre: float) -> tuple[Floats, Floats]:
    """Means of three people's grades, and another's grade."""
    quality = centre + 0.9 * rng.standard_normal(ITEMS)
    y = np.clip(np.round(3 * (quality + 0.4 * rng.standard_normal(ITEMS))) / 3, 1, 5)
    return y, np.clip(np.round(0.8 * quality + 0.6 + 0.7 * rng.standard_normal(ITEMS)), 1, 5)


def _grades(rng: np.random.Generator) -> OutcomePool:
    y, said = _rated(rng, 3.2)
    return numbered(y, prediction=said, kind=RATED)


def _ceiling(rng: np.random.Generator) -> OutcomePool:
    y, said = _rated(rng, 4.6)
    return numbered(y, judge=said, kind=RATED)


def _mostly_exact(rng: np.random.Generator) -> OutcomePool:
    """Errors are exponential, of the fewer items the higher the prediction."""
    f = rng.uniform(0, 10, ITEMS)
    wrong = rng.random(ITEMS) < 0.2 * np.exp(-0.3 * f)
    return numbered(f - wrong * rng.exponential(2.0, ITEMS), prediction=f)


def _mostly_fives(rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Fives, but for a share that depends on a grade which is most often 5 as well."""
    said = rng.choice(5, ITEMS, p=rng.dirichlet([1.0, 1.0, 2.0, 4.0, 12.0]))
    low = rng.random(ITEMS) < np.array([0.6, 0.45, 0.3, 0.15, 0.05])[said]
    return np.where(low, rng.integers(1, 5, ITEMS), 5).astype(np.float64), said + 1.0


def _fives(rng: np.random.Generator) -> OutcomePool:
    y, said = _mostly_fives(rng)
    return numbered(y, prediction=said, kind=RATED)


def _fives_as_grades(rng: np.random.Generator) -> OutcomePool:
    return graded(*_mostly_fives(rng))


def _classes(rng: np.random.Generator) -> OutcomePool:
    return graded(*_rated(rng, 3.2))


def _classes_useless(rng: np.random.Generator) -> OutcomePool:
    y, said = _rated(rng, 3.2)
    return graded(y, rng.permutation(said))


Draw = Callable[[np.random.Generator], OutcomePool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """One distribution of pools."""

    says: str
    draw: Draw
    measures: tuple[str, ...]


FAMILIES: Mapping[str, Family] = {
    "alike": Family(says="errors spread alike, normal", measures=("mae", "bias"),
                    draw=_with_errors(lambda rng, f: np.ones(len(f)), 100.0)),
    "band": Family(says="ten times the spread in a band of predictions", measures=("mae", "bias"),
                   draw=_with_errors(_band, 100.0)),
    "tent": Family(says="most spread in the middle, t with 5 degrees of freedom", measures=("mae", "mse"),
                   draw=_with_errors(_tent, 5.0)),
    "proportional": Family(says="errors in proportion to gamma predictions, t with 4 degrees of freedom",
                           measures=("mae", "bias"), draw=_proportional),
    "prices": Family(says="log-normal predictions, errors by a factor", measures=("mae", "bias"),
                     draw=_prices),
    "useless": Family(says="gamma outcomes, predictions of no use", measures=("mae", "bias"), draw=_useless),
    "rated": Family(says="numbers 1 to 5, predicted in whole ones", measures=("mae", "mse", "bias"),
                    draw=_grades),
    "ceiling": Family(says="numbers 1 to 5, many of them 5, one judge", measures=("mean",), draw=_ceiling),
    "mostly exact": Family(says="most predictions exact, some off by an exponential error",
                           measures=("mae", "bias"), draw=_mostly_exact),
    "fives": Family(says="numbers 1 to 5, most of them 5, predicted so", draw=_fives,
                    measures=("mae", "mse", "bias", "mean")),
    "fives as grades": Family(says="the same as grades", measures=("mae", "bias"), draw=_fives_as_grades),
    "grades": Family(says="grades 1 to 5 with predictions",
                     measures=("mae", "mse", "bias", "accuracy", "macro_f1"), draw=_classes),
    "grades, useless": Family(says="the same, predictions of no use", measures=("mae", "bias"),
                              draw=_classes_useless),
}


# Real pools.

def _summeval(dimension: str) -> Iterator[tuple[str, OutcomePool, tuple[str, ...]]]:
    table = read_outcome_pool(pool_path("summeval"), OutcomeColumns(
        outcome="number", label=f"human_{dimension}", predictions=(), judges=tuple(
            f"judge_{dimension}_{name}" for name in (
                "gpt-3.5-turbo_mcq", "gpt-3.5-turbo_rts", "gpt-4_rts", "llama-2-13b_rts",
                "llama-2-70b_rts", "llama-2-7b_rts",
            )),
    ))
    judge, y = np.asarray(table.items.judge), table.codes
    order = np.argsort([-abs(np.corrcoef(column, y)[0, 1]) for column in judge.T])
    best, title = judge[:, order[0]], f"summeval {dimension}"
    shuffled = stream(1, "useless judge").permutation(best)
    yield f"{title}, a prediction", numbered(y, prediction=best, kind=RATED), ("mae", "mse", "bias")
    yield (f"{title}, a prediction and two judges",
           numbered(y, prediction=best, judge=judge[:, order[1:3]], kind=RATED), ("mae",))
    yield f"{title}, one judge", numbered(y, judge=best, kind=RATED), ("mean",)
    yield f"{title}, six judges", numbered(y, judge=judge, kind=RATED), ("mean",)
    yield f"{title}, a useless prediction", numbered(y, prediction=shuffled, kind=RATED), ("mae", "bias")
    yield f"{title}, a useless judge", numbered(y, judge=shuffled, kind=RATED), ("mean",)
    yield f"{title}, rounded to grades", graded(y, best), ("mae", "mse", "bias", "mean")
    yield f"{title}, rounded to grades, a useless prediction", graded(y, shuffled), ("mae", "bias")


def real_pools() -> Iterator[tuple[str, OutcomePool, tuple[str, ...]]]:
    """Title, pool and measures."""
    pool = read_outcome_pool(pool_path("governors-regression"), OutcomeColumns(outcome="number"))
    yield "governors-regression", pool, ("mae", "rmse", "bias")
    for dimension in ("coherence", "consistency"):
        yield from _summeval(dimension)


# How methods did.

def found_by(name: str, pool: OutcomePool, measure: str, repeats: int, seed: int) -> list[BudgetSummary]:
    """Error, coverage and width of one method at each budget."""
    stack = Stack(kind=pool.kind, measures=(outcome_measure(measure, pool.kind, len(pool.codes)),))
    guessed = patch.object(Guesses, "pull_spread", Sampled.pull_spread)
    with guessed if name == BEFORE else nullcontext():
        method = outcome_method("auto" if name == BEFORE else name)
        trace = simulate(method, pool, stack, ReplayPlan(budgets=BUDGETS, seed=seed), repeats=repeats)[0]
        return summarise(trace, float(pool.truth(stack)[0]), BUDGETS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One method on one pool, or several: errors and half-widths are geometric means."""

    method: str
    error: Floats        # (budgets,) root of the mean squared error
    half: Floats
    coverage: Floats
    repeats: int


def rows(pools: Sequence[OutcomePool], measure: str, methods: Sequence[str], repeats: int) -> list[Row]:
    """Every method on the same pools."""
    made = []
    for name in methods:
        found = [found_by(name, one, measure, repeats, seed) for seed, one in enumerate(pools, 1)]
        table = np.array([[(s.mse, s.width, s.coverage) for s in summaries] for summaries in found])
        made.append(Row(
            method=name, error=np.exp(np.log(table[..., 0]).mean(axis=0) / 2),
            half=np.exp(np.log(table[..., 1]).mean(axis=0)) / 2, coverage=table[..., 2].mean(axis=0),
            repeats=repeats * len(pools),
        ))
    return made


def labels_of(row: Row, target: float) -> tuple[int, bool]:
    """Labels to the target; the largest budget, and False, where it is not reached."""
    found = labels_to(
        target, BUDGETS, (2 * row.half).tolist(), row.coverage.tolist(), repeats=[row.repeats] * len(BUDGETS),
        least_coverage=0.93,
    )
    return (BUDGETS[-1], False) if found.labels is None else (found.labels, True)


def head() -> Iterator[str]:
    """The head of a table of pools."""
    yield "\n| pool, measure | method | " + " | ".join(f"{b}" for b in SHOWN) + " | target | labels to it |"
    yield "|---" * (len(SHOWN) + 4) + "|"


def lines(title: str, made: Sequence[Row]) -> Iterator[str]:
    """The rows of one pool and measure; the first is `passive`."""
    first = made[0]
    target = float(first.half[BUDGETS.index(AIM_AT)])
    at = [BUDGETS.index(b) for b in SHOWN]
    for row in made:
        cells = [
            f"{row.error[j] / first.error[j]:.2f} · {row.coverage[j]:.3f} · {row.half[j]:.3g}" for j in at
        ]
        labels, reached = labels_of(row, target)
        yield (f"| {title} | {row.method} | " + " | ".join(cells)
               + f" | ±{target:.3g} | {'' if reached else '> '}{labels} |")


def summary(tables: Sequence[Sequence[Row]]) -> Iterator[str]:
    """Over all tables: geometric means, and the worst."""
    yield "\n| | " + " | ".join(f"{b}" for b in SHOWN) + " |"
    yield "|---" * (len(SHOWN) + 1) + "|"
    at = [BUDGETS.index(b) for b in SHOWN]
    for name in FEW[1:]:
        chosen = [next(row for row in made if row.method == name) for made in tables]
        error, half = (
            np.array([getattr(row, what) / getattr(made[0], what) for row, made in zip(
                chosen, tables, strict=True)])[:, at]
            for what in ("error", "half")
        )
        coverage = np.array([row.coverage for row in chosen])[:, at]
        for says, values in (
            ("error over passive, geometric mean", np.exp(np.log(error).mean(axis=0))),
            ("the largest", error.max(axis=0)),
            ("half-width over passive, geometric mean", np.exp(np.log(half).mean(axis=0))),
        ):
            yield f"| {name}: {says} | " + " | ".join(f"{v:.2f}" for v in values) + " |"
        for says, values in (("coverage, mean", coverage.mean(axis=0)), ("the least", coverage.min(axis=0))):
            yield f"| {name}: {says} | " + " | ".join(f"{v:.3f}" for v in values) + " |"


def page(repeats: int) -> Iterator[str]:
    """The lines of the page."""
    yield "# Where labels tell how far errors spread\n"
    yield "Made by `python -m benchmarks.learned_spread`; do not edit.\n"
    yield (f"Nominal 95%, batches of 25, {repeats} evaluations a row. Cells: root mean squared error over "
           f"that of `passive` (Monte Carlo standard error {1 / np.sqrt(repeats):.2f}) · coverage "
           f"({np.sqrt(0.0475 / repeats):.3f} at 0.95) · mean half-width. The target is the half-width of "
           f"`passive` at {AIM_AT} labels. `before` takes errors to spread as was guessed: of numbers alike "
           "everywhere, where `bernoulli` and `static-is` draw evenly and `stratified` is "
           "`stratified-neyman`. The families `mostly exact` and `fives` came after a first version covered "
           "0.89 on summeval consistency.")
    real = []
    yield "\n## Real pools: judged on"
    yield from head()
    for title, pool, measures in real_pools():
        for measure in measures:
            real.append(rows([pool], measure, FEW, repeats))
            yield from lines(f"{title}, {measure}", real[-1])
    yield "\n### All real pools"
    yield from summary(real)
    drawn = []
    yield f"\n## Families, {LOTS} pools of {ITEMS:,} items drawn by lot: chosen on\n"
    yield "| family | what it is |\n|---|---|"
    yield from (f"| {name} | {family.says} |" for name, family in FAMILIES.items())
    yield from head()
    for name, family in FAMILIES.items():
        pools = [family.draw(stream(lot, f"learned spread/{name}")) for lot in range(LOTS)]
        for measure in family.measures:
            drawn.append(rows(pools, measure, FEW, repeats // LOTS))
            yield from lines(f"{name}, {measure}", drawn[-1])
    yield "\n### All families"
    yield from summary(drawn)


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=200)
    parser.add_argument("--out", type=Path, default=OUT)
    asked = parser.parse_args()
    with asked.out.open("w", encoding="utf-8") as out:
        for line in page(asked.repeats):
            print(line, file=out, flush=True)
    write_page(asked.out, read_page(asked.out))


if __name__ == "__main__":
    main()
