"""What results of earlier systems are worth: `python -m benchmarks.earlier_runs [--repeats R]`.

Each of the fourteen systems of the pool is the new one in turn, the thirteen others are the earlier ones; a
population of hundreds of systems is made.  Rewrites docs/measured/earlier-runs.md below its line MARK.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from assay.evalcore.earlier_systems import fit_factors, most_telling
from assay.evalcore.measures.registry import outcome_measure
from assay.evalcore.measures.stack import Stack
from assay.evalcore.methods.registry import outcome_method
from assay.evalcore.outcomes.classes import Classes
from assay.evalcore.outcomes.items import Items
from assay.evalcore.replay.pool import OutcomePool
from assay.evalcore.replay.run import ReplayPlan, simulate
from assay.evalcore.reproducible import stream
from assay.evalcore.types import Floats
from benchmarks.outcomes import pool_path
from benchmarks.pages import rewrite

MARK = "<!-- below: made by python -m benchmarks.earlier_runs -->"
OUT = Path(__file__).parent.parent / "docs" / "measured" / "earlier-runs.md"
BUDGETS = (50, 100, 200)
KIND = Classes(("correct", "incorrect"))
FOLDS, RIDGE, LEAST = 10, 1.0, 0.1
MADE_ITEMS, MADE_SYSTEMS, MADE_NEW = 2_000, 300, 2


def by_judges(results: Floats) -> Items:
    """Earlier results as judges; the new system is guessed to be right where most were."""
    share = results.mean(axis=1)
    return Items(prediction=(share < 0.5).astype(np.float64)[:, None], judge=1 - results)


def by_factors(results: Floats) -> Items:
    """The factor model's probability beside the judges, as `assay import --earlier` writes them."""
    right = fit_factors(results).of_new_system()
    kept = results[:, np.sort(most_telling(results))]
    return Items(
        prediction=(right < 0.5).astype(np.float64)[:, None], judge=1 - kept,
        probability=np.column_stack([right, 1 - right]),
    )


def worth(right: Floats, items: Items, repeats: int) -> tuple[Floats, Floats]:
    """Effective labels as a multiple of those of a random sample, and whether intervals cover, by budget."""
    n = len(right)
    stack = Stack(kind=KIND, measures=(outcome_measure("rate", KIND, n, options={"class": "correct"}),))
    pool = OutcomePool(kind=KIND, codes=1 - right, items=items)
    truth = float(right.mean())
    trace = simulate(
        outcome_method("guesses"), pool, stack, ReplayPlan(budgets=BUDGETS, batch_size=25), repeats=repeats
    )[0]
    mse = ((trace.value - truth) ** 2).mean(axis=0)
    random = np.array([right.var(ddof=1) * (1 / b - 1 / n) for b in BUDGETS])
    covers = (trace.lower <= truth + 1e-9) & (truth <= trace.upper + 1e-9)
    return random / mse, covers.mean(axis=0)


def limits(right: Floats, results: Floats) -> tuple[float, float, float]:
    """What nobody can have: functions of earlier results, cross-fitted to all labels of the new system.

    A linear one (logistic), one with all products of two systems, and the linear one with the best chances.
    """
    pairs = [results[:, i] * results[:, j] for i in range(results.shape[1]) for j in range(i)]
    fold = stream(1, "folds").integers(0, FOLDS, len(right))
    linear = _cross_fitted(results, right, fold, RIDGE)
    products = _cross_fitted(np.column_stack([results, *pairs]), right, fold, 10 * RIDGE)
    spread = np.maximum(np.sqrt(linear * (1 - linear)), LEAST)
    chosen = spread.mean() * ((right - linear) ** 2 / spread).mean()
    return (
        float(right.var() / ((right - linear) ** 2).mean()),
        float(right.var() / ((right - products) ** 2).mean()), float(right.var() / chosen),
    )


def _cross_fitted(x: Floats, y: Floats, fold: np.ndarray, ridge: float) -> Floats:
    design, found = np.column_stack([np.ones(len(y)), x - x.mean(axis=0)]), np.zeros(len(y))
    penalty = np.diag([1e-9, *np.full(x.shape[1], ridge)])
    for k in range(FOLDS):
        use, b = fold != k, np.zeros(design.shape[1])
        for _ in range(30):
            p = 1 / (1 + np.exp(-np.clip(design[use] @ b, -30, 30)))
            curve = (design[use] * (p * (1 - p))[:, None]).T @ design[use] + penalty
            b = b + np.linalg.solve(curve, design[use].T @ (y[use] - p) - penalty @ b)
        found[~use] = 1 / (1 + np.exp(-np.clip(design[~use] @ b, -30, 30)))
    return found


def made_systems() -> Floats:
    """Right or wrong (items, systems): three abilities, of which the first is what most systems differ in."""
    rng = stream(1, "earlier systems")
    item = rng.normal(size=(MADE_ITEMS, 3)) * (2.0, 1.0, 0.7)
    slope = np.column_stack([rng.normal(1.2, 0.3, MADE_SYSTEMS), rng.normal(0, 0.8, (MADE_SYSTEMS, 2))])
    chance = 1 / (1 + np.exp(-(item @ slope.T + rng.normal(0.3, 0.6, MADE_SYSTEMS))))
    return (rng.random(chance.shape) < chance).astype(np.float64)


def rows(repeats: int) -> Iterator[str]:
    """The page's tables."""
    table = pq.read_table(pool_path("fourteen-systems"))
    names = [name for name in table.column_names if name.startswith("error_")]
    right = 1 - np.column_stack([table[name].to_numpy().astype(np.float64) for name in names])
    yield from _table("Fourteen systems, 2,000 questions", right, list(range(len(names))),
                      [name.removeprefix("error_") for name in names], repeats)
    made = made_systems()
    yield from _table(f"{MADE_SYSTEMS} systems that are made, {MADE_ITEMS:,} questions", made,
                      list(range(MADE_NEW)), [f"made {j + 1}" for j in range(MADE_NEW)], repeats)


def _table(title: str, right: Floats, new: list[int], names: list[str], repeats: int) -> Iterator[str]:
    budgets = " / ".join(map(str, BUDGETS))
    yield f"\n**{title}.** Effective labels and coverage at {budgets} labels.\n"
    yield "| new system | judges | factor model and judges | limit: linear | pairs | best chances |"
    yield "|---|---|---|---|---|---|"
    found: list[tuple[Floats, Floats, Floats, Floats, tuple[float, float, float]]] = []
    for j, name in zip(new, names, strict=True):
        others = np.delete(right, j, axis=1)
        judged = others[:, np.sort(most_telling(others))] if others.shape[1] > 20 else others
        plain = worth(right[:, j], by_judges(judged), repeats)
        both = worth(right[:, j], by_factors(others), repeats)
        found.append((*plain, *both, limits(right[:, j], judged)))
        yield _row(name, found[-1])
    inverse = [np.mean([1 / one[k] for one in found], axis=0) for k in (0, 2)]
    mean = [np.mean([one[k] for one in found], axis=0) for k in (1, 3)]
    most = tuple(float(1 / np.mean([1 / one[4][k] for one in found])) for k in range(3))
    yield _row("**all** (harmonic mean)", (1 / inverse[0], mean[0], 1 / inverse[1], mean[1], most))


def _row(name: str, found: tuple[Floats, Floats, Floats, Floats, tuple[float, ...]]) -> str:
    cells = [
        " / ".join(f"{x:.1f}" for x in found[k]) + " · " + " / ".join(f"{x:.3f}" for x in found[k + 1])
        for k in (0, 2)
    ]
    return f"| {name} | " + " | ".join([*cells, *(f"{x:.2f}" for x in found[4])]) + " |"


def main() -> None:
    """Rewrite the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=200)
    repeats = parser.parse_args().repeats
    lines = [f"{repeats} repeats, batches of 25, method `guesses`."]
    for line in rows(repeats):
        print(line, flush=True)
        lines.append(line)
    rewrite(OUT, "\n".join(lines), MARK)


if __name__ == "__main__":
    main()
