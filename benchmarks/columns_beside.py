"""What columns beside predictions and judges are worth: `python -m benchmarks.columns_beside`.

Covariates, how uncertain a predicted number is, a judge that says nothing of some items and one between two
grades. Each on pools by lot, with the column and without it: error, coverage and width at some budgets.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from assay.evalcore.measures.registry import outcome_measure
from assay.evalcore.measures.stack import Stack
from assay.evalcore.methods.registry import outcome_method
from assay.evalcore.outcomes.base import OutcomeKind
from assay.evalcore.outcomes.classes import Classes
from assay.evalcore.outcomes.items import SILENT, Items
from assay.evalcore.outcomes.numbers import Numbers
from assay.evalcore.replay.pool import OutcomePool
from assay.evalcore.replay.run import ReplayPlan, simulate

N, BUDGETS, REPEATS, POOLS = 3_000, (50, 100, 200, 400), 100, 8
GRADES: OutcomeKind = Classes(("1", "2", "3", "4", "5"), values=(1.0, 2.0, 3.0, 4.0, 5.0))


def _graded(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Grades as codes, what decides them besides a judge, and the judge's guess as a number of 0 to 4."""
    system, length = rng.integers(0, 2, N).astype(float), rng.normal(size=N)
    weight = rng.uniform(0.2, 0.6, 2)
    quality = 2.5 + rng.normal(size=N)
    truth = quality + weight[0] * (2 * system - 1) - weight[1] * length + rng.normal(0, 0.5, N)
    judge = quality + rng.normal(0, rng.uniform(0.3, 0.8), N)
    return np.clip(np.round(truth), 0, 4), np.stack([system, length], axis=1), np.clip(judge, 0, 4)


def with_covariates(rng: np.random.Generator) -> tuple[OutcomePool, OutcomePool, str]:
    """A mean grade, a judge, and the system and length that the judge does not look at."""
    codes, beside, judge = _graded(rng)
    items = Items(prediction=np.zeros((N, 0)), judge=np.round(judge)[:, None])
    return _both(GRADES, items, replace(items, covariate=beside), codes, "mean")


def between_grades(rng: np.random.Generator) -> tuple[OutcomePool, OutcomePool, str]:
    """A mean grade, and a judge that says 3.5 where it means that, or rounds it."""
    codes, _, judge = _graded(rng)
    items = Items(prediction=np.zeros((N, 0)), judge=np.floor(judge + 0.5)[:, None])
    return _both(GRADES, items, replace(items, judge=np.round(2 * judge)[:, None] / 2), codes, "mean")


def with_gaps(rng: np.random.Generator) -> tuple[OutcomePool, OutcomePool, str]:
    """A mean grade, and a judge that says nothing of three items in ten, mostly bad ones; or no judge."""
    codes, _, judge = _graded(rng)
    silent = rng.random(N) < np.where(codes < 2, 0.6, 0.2)
    said = np.where(silent, SILENT, np.round(judge))
    items = Items(prediction=np.zeros((N, 0)))
    return _both(GRADES, items, replace(items, judge=said[:, None]), codes, "mean")


def numbers_with_covariates(rng: np.random.Generator) -> tuple[OutcomePool, OutcomePool, str]:
    """The bias of predicted numbers that leave out something known of the items."""
    codes, beside, judge = _graded(rng)
    truth = codes + rng.normal(0, 0.3, N)
    items = Items(prediction=judge[:, None])
    return _both(Numbers(), items, replace(items, covariate=beside), truth, "bias")


def uncertain_numbers(rng: np.random.Generator) -> tuple[OutcomePool, OutcomePool, str]:
    """The absolute error of predicted numbers that say how uncertain they are."""
    deviation = np.exp(rng.normal(0, rng.uniform(0.6, 1.0), N))
    predicted = rng.normal(10, 3, N)
    truth = predicted + deviation * rng.normal(size=N)
    items = Items(prediction=predicted[:, None])
    said = deviation * np.exp(rng.normal(0, 0.3, N))
    return _both(Numbers(), items, replace(items, deviation=said[:, None]), truth, "mae")


def useless_columns(rng: np.random.Generator) -> tuple[OutcomePool, OutcomePool, str]:
    """The same where the columns have nothing to do with the errors."""
    predicted = rng.normal(10, 3, N)
    items = Items(prediction=predicted[:, None])
    noise = replace(items, covariate=rng.normal(size=(N, 3)), deviation=np.exp(rng.normal(0, 0.7, (N, 1))))
    return _both(Numbers(), items, noise, predicted + rng.normal(size=N), "mae")


def _both(
    kind: OutcomeKind, without: Items, given: Items, codes: np.ndarray, measure: str
) -> tuple[OutcomePool, OutcomePool, str]:
    return (
        OutcomePool(kind=kind, items=without, codes=codes), OutcomePool(kind=kind, items=given, codes=codes),
        measure,
    )


FAMILIES: Mapping[str, Callable[[np.random.Generator], tuple[OutcomePool, OutcomePool, str]]] = {
    "mean grade with a judge: system and length as covariates": with_covariates,
    "bias of numbers: system and length as covariates": numbers_with_covariates,
    "absolute error of numbers: `spread`, about right": uncertain_numbers,
    "absolute error: three covariates and a `spread` of no use": useless_columns,
    "mean grade: a judge that says nothing of some items, beside none": with_gaps,
    "mean grade: a judge of 3.5, beside one that rounds": between_grades,
}


def _figures(pool: OutcomePool, measure: str, seed: int) -> np.ndarray:
    """(budgets, 3) squared error, coverage and width of one pool."""
    asked = outcome_measure(measure, pool.kind, len(pool.items))
    stack = Stack(kind=pool.kind, measures=(asked,))
    truth = pool.truth(stack)[0]
    (trace,) = simulate(
        outcome_method("recalibrated"), pool, stack, ReplayPlan(
            budgets=list(BUDGETS), batch_size=25, seed=seed
        ), repeats=REPEATS
    )
    covered = (trace.lower - 1e-9 <= truth) & (truth <= trace.upper + 1e-9)
    square, width = (trace.value - truth) ** 2, trace.upper - trace.lower
    return np.stack([one.mean(axis=0) for one in (square, covered, width)], axis=1)


def table() -> str:
    """In Markdown: with the column (without it)."""
    lines = ["| pools by lot | labels | squared error | ratio | coverage | width |", "|---" * 6 + "|"]
    for number, (name, family) in enumerate(FAMILIES.items()):
        found = []
        for pool in range(POOLS):
            without, given, measure = family(np.random.default_rng([31, number, pool]))
            found.append([_figures(one, measure, pool) for one in (without, given)])
        mean = np.mean(found, axis=0)
        for budget, bare, said in zip(BUDGETS, *mean, strict=True):
            lines.append(
                f"| {name if budget == BUDGETS[0] else ''} | {budget} | {said[0]:.1e} ({bare[0]:.1e}) | "
                f"{said[0] / bare[0]:.2f} | {said[1]:.2f} ({bare[1]:.2f}) | {said[2]:.3f} ({bare[2]:.3f}) |"
            )
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
