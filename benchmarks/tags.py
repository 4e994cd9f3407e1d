"""Micro and macro F1 of tags: errors against appendix D in Python, intervals against `passive`.

`python -m benchmarks.tags` writes docs/measured/tags.md (a minute).  Every cell of the first table is RUNS
evaluations of one pool; appendix D in Python (`benchmarks.reproduce.tags_of_appendix_d`) has OF_PYTHON, each
with a coin for every item and as many labels on average.  The second table has pools whose errors are rare
and large: sets of tags that nothing predicted.
"""

import argparse
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np

from assay.evalcore.measures.registry import outcome_measure
from assay.evalcore.measures.stack import Stack
from assay.evalcore.methods.any_outcome.score_strata import meaning_of_rows
from assay.evalcore.methods.registry import outcome_method
from assay.evalcore.outcomes.items import Items
from assay.evalcore.outcomes.tags import Tags
from assay.evalcore.replay.families import outcome_family_pool
from assay.evalcore.replay.pool import OutcomePool
from assay.evalcore.replay.run import BudgetSummary, ReplayPlan, simulate, summarise
from assay.evalcore.reproducible import stream
from assay.tasks.replay.outcome_pool import OutcomeColumns, read_outcome_pool
from benchmarks.outcomes import pool_path
from benchmarks.rare_errors import FAMILIES
from benchmarks.reproduce import tags_of_appendix_d as python_form

OUT = Path(__file__).parent.parent / "docs" / "measured" / "tags.md"
RUNS, OF_PYTHON = 200, 2_000
BUDGETS = (100, 200, 300)
METHODS = (
    "recalibrated", "bernoulli:form=printed", "bernoulli:form=printed:unseen=true", "bernoulli", "passive",
)
MEASURES = ("micro_f1", "macro_f1_of_means", "macro_f1")
# share of the items with an unseen set, and how many of the 28 tags such a set has
SETS = ((0.01, 3), (0.01, 6), (0.01, 12), (0.02, 12), (0.005, 28))


def pools() -> Iterator[tuple[str, OutcomePool]]:
    """The pools by name."""
    yield "12 tags, seen through noise", outcome_family_pool("tags")
    yield "goemotions-tags", read_outcome_pool(
        pool_path("goemotions-tags"), OutcomeColumns(outcome="tags", probability="p_")
    )
    for rate in (0.005, 0.02, 0.05):
        name = f"8 tags, {rate:.1%} of the items wrong"
        yield name, FAMILIES["tags"].draw(stream(0, "tags", 10_000, f"{rate}"), 10_000, rate)


def unseen_sets(share: float, size: int, n: int = 5_000) -> OutcomePool:
    """One tag of 28 is predicted of every item and right, but for a share of items that have `size` tags."""
    rng = stream(0, "unseen sets", size, f"{share}")
    bits = 2.0 ** np.arange(28)
    prediction = bits[rng.integers(0, 28, n)]
    codes = prediction.copy()
    for i in rng.choice(n, round(share * n), replace=False):
        codes[i] = bits[rng.choice(28, size, replace=False)].sum()
    return OutcomePool(
        kind=Tags(tuple(f"tag {k}" for k in range(28))), codes=codes,
        items=Items(prediction=prediction[:, None]),
    )


def of_method(pool: OutcomePool, measure: str, method: str, runs: int) -> list[BudgetSummary]:
    """What a method comes to at each budget."""
    stack = Stack(kind=pool.kind, measures=(outcome_measure(measure, pool.kind, len(pool.items)),))
    trace, *_ = simulate(
        outcome_method(meaning_of_rows(method, stack, pool.items)), pool, stack,
        ReplayPlan(budgets=BUDGETS, seed=1), repeats=runs
    )
    return summarise(trace, float(pool.truth(stack)[0]), BUDGETS)


def of_python(pool: OutcomePool, measure: str, runs: int) -> list[tuple[float, float]]:
    """Squared error of appendix D in Python at each budget, and the share of runs without an estimate.

    As everywhere, such a run counts as the value 0.
    """
    predicted, label = pool.kind.phi(pool.items.prediction[:, 0]) > 0, pool.kind.phi(pool.codes)
    supplied = pool.items.probability
    believed = python_form.softened(predicted.astype(np.float64) if supplied is None else supplied)
    micro = measure == "micro_f1"
    squares = (python_form.micro_squares if micro else partial(python_form.macro_squares, printed=True))(
        predicted, believed
    )
    estimate = python_form.estimate_micro if micro else python_form.estimate_macro
    hits, said, there = (predicted * label).sum(axis=0), predicted.sum(axis=0), label.sum(axis=0)
    truth = float((python_form.micro_f if micro else python_form.macro_f1)(hits, said, there))
    found, rng = [], stream(0, "tags/python", 0, measure)
    for budget in BUDGETS:
        b = python_form.chances(squares, budget)
        values = np.empty(runs)
        for i in range(runs):
            drawn = rng.random(len(b)) < b
            values[i] = estimate(predicted[drawn], label[drawn], b[drawn]).value
        error = np.where(np.isfinite(values), values, 0.0) - truth
        found.append((float((error**2).mean()), float((~np.isfinite(values)).mean())))
    return found


def rows(runs: int, of_it: int) -> Iterator[str]:
    """The lines of the first table."""
    for name, pool in pools():
        for measure in MEASURES:
            if measure != "macro_f1":
                told = [f"{mse:.1e}" + (f" ({gone:.0%} none)" if gone else "")
                        for mse, gone in of_python(pool, measure, of_it)]
                yield f"| {name} | {measure} | appendix D in Python | " + " | ".join(told) + " |"
            for method in METHODS:
                told = [f"{at.mse:.1e} · {at.coverage:.2f} · {at.width:.3f}"
                        for at in of_method(pool, measure, method, runs)]
                yield f"| {name} | {measure} | {method} | " + " | ".join(told) + " |"


def unseen_rows(runs: int) -> Iterator[str]:
    """The lines of the second."""
    for share, size in SETS:
        pool = unseen_sets(share, size)
        for method in ("recalibrated", "passive"):
            told = [f"{at.coverage:.2f} · {at.width:.3f}" for at in of_method(pool, "micro_f1", method, runs)]
            yield f"| {share:.1%} | {size} | {method} | " + " | ".join(told) + " |"


def page(runs: int, of_it: int) -> Iterator[str]:
    """The lines of the page."""
    budgets = " | ".join(map(str, BUDGETS))
    yield "# Tags: micro and macro F1\n"
    yield "Made by `python -m benchmarks.tags`; do not edit.\n"
    yield (f"Mean squared error · coverage of the 95% interval · its mean width, of {runs} evaluations at "
           f"each number of labels; appendix D of Yilmaz et al. (2021) in Python: the error of {of_it:,} "
           "samples. The standard error of a coverage of 0.95 is "
           f"{np.sqrt(0.95 * 0.05 / runs):.3f}, that of a squared error about {np.sqrt(2 / runs):.0%} of it. "
           "`macro_f1_of_means` is the macro F1 of the paper, `macro_f1` that of scikit-learn. A run without "
           "an estimate counts as the value 0.\n")
    yield f"| pool | measure | method | {budgets} |"
    yield "| --- " * (3 + len(BUDGETS)) + "|"
    yield from rows(runs, of_it)
    yield "\n## Unseen sets of tags\n"
    yield ("Micro F1 where one tag of 28 is predicted of every item, and right, but for a share of the items "
           "that have a set of tags of another size. Coverage · width.\n")
    yield f"| of the items | tags they have | method | {budgets} |"
    yield "| --- " * (3 + len(BUDGETS)) + "|"
    yield from unseen_rows(runs)


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--of-python", type=int, default=OF_PYTHON)
    parser.add_argument("--out", type=Path, default=OUT)
    asked = parser.parse_args()
    with asked.out.open("w", encoding="utf-8") as out:
        for line in page(asked.runs, asked.of_python):
            print(line, file=out, flush=True)


if __name__ == "__main__":
    main()
