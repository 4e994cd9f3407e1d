"""Methods for any kind of outcome on real pools: `python -m benchmarks.outcomes [--repeats R] [--pools a,b]`.

Rewrites the tables of docs/measured/outcomes.md, below its line MARK.  Pools are read from ASSAY_POOLS.
"""

import argparse
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from assay.evalcore.measures.measure import difference
from assay.evalcore.measures.registry import outcome_measure
from assay.evalcore.measures.stack import Stack
from assay.evalcore.methods.any_outcome.score_strata import meaning_of_rows
from assay.evalcore.methods.registry import outcome_method
from assay.evalcore.outcomes.classes import Classes
from assay.evalcore.outcomes.items import Items
from assay.evalcore.outcomes.numbers import Numbers
from assay.evalcore.replay.pool import OutcomePool
from assay.evalcore.replay.run import ReplayPlan, simulate
from assay.evalcore.reproducible import stream
from assay.evalcore.types import Floats
from assay.tasks.replay.outcome_pool import OutcomeColumns, read_outcome_pool
from benchmarks.pages import rewrite

MARK = "<!-- below: made by python -m benchmarks.outcomes -->"
OUT = Path(__file__).parent.parent / "docs" / "measured" / "outcomes.md"
BUDGETS = (50, 100, 200, 300, 500, 1000)
LEAST = 1e-7
GEOMETRIC = 500     # the geometric mean is over budgets up to this


@dataclass(frozen=True)
class Case:
    """One measure on one pool."""

    title: str
    pool: OutcomePool
    measure: str
    methods: tuple[str, ...]
    reference: str           # the row that errors are compared with
    versus: bool = False     # the difference of the second system from the first
    budgets: tuple[int, ...] = BUDGETS


def pool_path(name: str) -> str:
    return f"{os.environ['ASSAY_POOLS']}/{name}.parquet"


def _classes() -> Iterator[Case]:
    methods = ("recalibrated", "stratified-neyman", "bernoulli", "passive")
    for name, prefix in (
        ("goemotions-classes", "p_"), ("card-choice-multiclass", "probability_"),
        ("employment-ma", "probability"),
    ):
        pool = read_outcome_pool(pool_path(name), OutcomeColumns(outcome="classes", probability=prefix))
        if name == "employment-ma":     # `probability` is that of class 1, not the confidence
            column = pq.read_table(pool_path(name), columns=["probability"])["probability"].to_numpy()
            one = np.array([part == "1" for part in pool.kind.parts])
            table = np.where(one, column[:, None], 1 - column[:, None])
            pool = OutcomePool(kind=pool.kind, codes=pool.codes,
                               items=Items(prediction=pool.items.prediction, probability=table))
        for measure in ("accuracy", "macro_f1"):
            yield Case(name, pool, measure, methods, "stratified-neyman")


def _trees() -> Iterator[Case]:
    methods = ("dirichlet-tree", "dirichlet-tree-stochastic", "recalibrated", "static-is", "passive")
    for name, prefix in (("goemotions-classes", "p_"), ("card-choice-multiclass", "probability_")):
        pool = read_outcome_pool(pool_path(name), OutcomeColumns(outcome="classes", probability=prefix))
        for measure in ("accuracy", "macro_f1"):
            yield Case(f"{name}, Dirichlet trees", pool, measure, methods, "passive",
                       budgets=(50, 100, 200, 500))


def _tags() -> Iterator[Case]:
    pool = read_outcome_pool(pool_path("goemotions-tags"), OutcomeColumns(outcome="tags", probability="p_"))
    for measure in ("micro_f1", "macro_f1", "jaccard"):
        yield Case("goemotions-tags", pool, measure, ("recalibrated", "bernoulli", "passive"), "bernoulli")


def _grades() -> Iterator[Case]:
    for dimension in ("coherence", "consistency"):
        names = pq.read_schema(pool_path("summeval")).names
        judges = tuple(name for name in names if name.startswith(f"judge_{dimension}"))
        read = OutcomeColumns(outcome="number", label=f"human_{dimension}", predictions=(), judges=judges)
        pool = read_outcome_pool(pool_path("summeval"), read)
        judge = pool.items.judge
        best = max(range(len(judges)), key=lambda j: abs(np.corrcoef(judge[:, j], pool.codes)[0, 1]))
        useless = stream(1, "useless judge").permutation(judge[:, best])[:, None]
        kind = Numbers(1.0, 5.0)
        for title, columns in (
            (f"summeval {dimension}, six judges", judge),
            (f"summeval {dimension}, the best judge", judge[:, [best]]),
            (f"summeval {dimension}, a useless judge", useless),
        ):
            items = Items(prediction=np.zeros((len(pool.codes), 0)), judge=columns)
            graded = OutcomePool(kind=kind, codes=pool.codes, items=items)
            reference = "passive" if "useless" in title else "ppi++"
            yield Case(title, graded, "mean", ("recalibrated", "passive", "ppi++"), reference)


def _numbers() -> Iterator[Case]:
    pool = read_outcome_pool(pool_path("governors-regression"), OutcomeColumns(outcome="number"))
    for measure in ("mae", "rmse", "r2", "bias"):
        yield Case("governors-regression", pool, measure, ("recalibrated", "passive"), "passive")


def _systems() -> Iterator[Case]:
    """Right or wrong answers of two models: the label is a coin, and a wrong answer its other side."""
    table = pq.read_table(pool_path("fourteen-systems"))
    label = stream(1, "coin").integers(0, 2, table.num_rows).astype(np.float64)
    for one, other in (("gpt5", "gpt5_1"), ("gemma3_12b", "claude45_opus")):
        error = np.stack([table[f"error_{name}"].to_numpy() for name in (one, other)], axis=1)
        prediction = np.where(error > 0.5, 1 - label[:, None], label[:, None])
        pool = OutcomePool(kind=Classes(("heads", "tails")), codes=label, items=Items(prediction=prediction))
        yield Case(f"fourteen-systems, {other} against {one}", pool, "accuracy",
                   ("recalibrated", "passive", "two evaluations"), "two evaluations", versus=True)


def _compared(
    pool: OutcomePool, predictions: Sequence[Floats], by_system: Floats | None = None
) -> OutcomePool:
    items = Items(
        prediction=np.stack(predictions, axis=1), probability=pool.items.probability, by_system=by_system
    )
    return OutcomePool(kind=pool.kind, codes=pool.codes, items=items)


def _other_systems() -> Iterator[Case]:
    """Two systems of numbers, of tags, and of probabilities."""
    methods = ("recalibrated", "passive", "two evaluations")
    pool = read_outcome_pool(pool_path("governors-regression"), OutcomeColumns(outcome="number"))
    said = pool.items.prediction[:, 0]
    drawn = _compared(pool, [said, 50 + 0.95 * (said - 50)])
    for measure in ("mae", "mse", "rmse", "r2", "within"):
        yield Case("governors-regression, drawn to 50 against as published", drawn, measure, methods,
                   "two evaluations", versus=True)
    noisy = _compared(pool, [said, said + stream(1, "noise").normal(size=len(said))])
    yield Case("governors-regression, with noise against as published", noisy, "mae", methods,
               "two evaluations", versus=True)
    judged = read_outcome_pool(pool_path("summeval"), OutcomeColumns(
        outcome="number", label="human_coherence",
        predictions=("judge_coherence_gpt-4_rts", "judge_coherence_gpt-3.5-turbo_rts"),
    ))
    graded = OutcomePool(kind=Numbers(1.0, 5.0), codes=judged.codes, items=judged.items)
    for measure in ("mae", "rmse"):
        yield Case("summeval coherence, gpt-3.5 against gpt-4", graded, measure, methods, "two evaluations",
                   versus=True)
    tags = read_outcome_pool(pool_path("goemotions-tags"), OutcomeColumns(outcome="tags", probability="p_"))
    table = np.asarray(tags.items.probability)
    bits = 2.0 ** np.arange(table.shape[1])
    several = _compared(tags, [tags.items.prediction[:, 0], (table > 0.5) @ bits])
    for measure in ("micro_f1", "macro_f1", "jaccard", "hamming"):
        yield Case("goemotions-tags, over 0.5 against over 0.3", several, measure, methods, "two evaluations",
                   versus=True)
    read = OutcomeColumns(outcome="classes", probability="p_")
    classes = read_outcome_pool(pool_path("goemotions-classes"), read)
    given = np.asarray(classes.items.probability, np.float64)
    sharp = given**1.5 / (given**1.5).sum(axis=1, keepdims=True)
    both = _compared(classes, [classes.items.prediction[:, 0]] * 2, np.concatenate([given, sharp], axis=1))
    for measure in ("brier", "log_loss"):
        yield Case("goemotions-classes, sharper probabilities against as they are", both, measure, methods,
                   "two evaluations", versus=True)


def _stack(case: Case) -> Stack:
    n = len(case.pool.items)
    measure = outcome_measure(case.measure, case.pool.kind, n)
    if case.versus:
        measure = difference(outcome_measure(case.measure, case.pool.kind, n, system=1), measure)
    return Stack(kind=case.pool.kind, measures=(measure,))


def _ppi(case: Case, budgets: tuple[int, ...], repeats: int) -> tuple[Floats, Floats]:
    """Errors (R, budgets) and coverage of PPI++ with the best single judge, simple random samples.

    Angelopoulos, Duchi & Zrnic (2023), with the finite-population correction.
    """
    judge, y = case.pool.items.judge, case.pool.codes
    f = judge[:, np.argmax(np.abs(np.nan_to_num([np.corrcoef(column, y)[0, 1] for column in judge.T])))]
    rng, n_items = stream(1, "ppi"), len(y)
    errors, covers = np.zeros((repeats, len(budgets))), np.zeros((repeats, len(budgets)))
    for r in range(repeats):
        order = rng.permutation(n_items)
        for j, n in enumerate(budgets):
            a, b = y[order[:n]], f[order[:n]]
            weight = np.cov(a, b)[0, 1] / max(b.var(ddof=1), 1e-12)
            errors[r, j] = a.mean() + weight * (f.mean() - b.mean()) - y.mean()
            se = np.sqrt((a - weight * b).var(ddof=2) / n * (1 - n / n_items))
            covers[r, j] = abs(errors[r, j]) <= 1.96 * se
    return errors, covers


def _halves(case: Case, budgets: tuple[int, ...], repeats: int) -> Floats:
    """Errors (R, budgets) of two simple random samples of half the labels, one for each system."""
    kind, items, rng = case.pool.kind, case.pool.items, stream(1, "halves")
    phi, found = kind.phi(case.pool.codes), []
    for s in range(2):
        one = Stack(kind=kind, measures=(outcome_measure(case.measure, kind, len(items), system=s),))
        losses = one.item_losses(items, phi)
        found.append((one, losses, one.known(items).mean(axis=0), one.known_sizes(items)))
    errors = np.zeros((repeats, len(budgets)))
    for r in range(repeats):
        orders = [rng.permutation(len(items)) for _ in range(2)]
        for j, n in enumerate(budgets):
            for sign, order, (one, loss, known, sizes) in zip((-1, 1), orders, found, strict=True):
                value, truth = (
                    one.value(np.concatenate([mean, known]), sizes)[0]
                    for mean in (loss[order[: n // 2]].mean(axis=0), loss.mean(axis=0))
                )
                errors[r, j] += sign * (value - truth)
    return errors


def rows(case: Case, repeats: int) -> Iterator[str]:
    """The rows of a case."""
    stack = _stack(case)
    truth = float(case.pool.truth(stack)[0])
    budgets = tuple(b for b in case.budgets if b < len(case.pool.items))
    found: dict[str, tuple[Floats, Floats | None, Floats | None]] = {}
    for name in case.methods:
        if name == "ppi++":
            errors, covers = _ppi(case, budgets, repeats)
            found[name] = ((errors**2).mean(axis=0), covers.mean(axis=0), None)
        elif name == "two evaluations":
            found[name] = ((_halves(case, budgets, repeats) ** 2).mean(axis=0), None, None)
        else:
            trace = simulate(
                outcome_method(meaning_of_rows(name, stack, case.pool.items)), case.pool, stack,
                ReplayPlan(budgets=budgets, batch_size=50), repeats=repeats,
            )[0]
            value, lower, upper = np.nan_to_num(trace.value), trace.lower, trace.upper
            covers = (lower <= truth + 1e-9) & (truth <= upper + 1e-9) & np.isfinite(trace.value)
            found[name] = (
                ((value - truth) ** 2).mean(axis=0), covers.mean(axis=0), (upper - lower).mean(axis=0)
            )
    counted = [j for j, b in enumerate(budgets) if b <= GEOMETRIC]
    reference = _log_error(found[case.reference][0][counted])
    for name, (mse, coverage, width) in found.items():
        cells = {
            budgets[j]: f"{mse[j]:.1e}" + ("" if coverage is None else f" · {coverage[j]:.3f}")
            + ("" if width is None else f" · {width[j]:.2f}")
            for j in range(len(budgets))
        }
        ratio = np.exp(_log_error(mse[counted]) - reference)
        yield (f"| {case.title}, {case.measure} | {truth:.4f} | {name} | "
               + " | ".join(cells.get(b, "") for b in BUDGETS) + f" | {ratio:.2f} × {case.reference} |")


def _log_error(mse: Floats) -> float:
    return float(np.log(np.maximum(mse, LEAST)).mean())


CASES = {
    "classes": _classes, "trees": _trees, "tags": _tags, "grades": _grades, "numbers": _numbers,
    "systems": _systems, "other-systems": _other_systems,
}


def main() -> None:
    """Run the cases asked for; all of them rewrite the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=200)
    parser.add_argument("--pools", default=",".join(CASES))
    given = parser.parse_args()
    lines = [
        f"Squared error · coverage of the 95% interval · mean width, by labels; {given.repeats} repeats, "
        "batches of 50. Last: squared error over the reference's, geometric mean over budgets up to "
        f"{GEOMETRIC} (0 counted as {LEAST:g}).\n",
        "| pool, measure | truth | method | " + " | ".join(f"{b:,}" for b in BUDGETS) + " | error |",
        "|---" * (len(BUDGETS) + 4) + "|",
    ]
    print("\n".join(lines), flush=True)
    for name in given.pools.split(","):
        for case in CASES[name]():
            for line in rows(case, given.repeats):
                print(line, flush=True)
                lines.append(line)
    if given.pools == ",".join(CASES):
        rewrite(OUT, "\n".join(lines), MARK)


if __name__ == "__main__":
    main()
