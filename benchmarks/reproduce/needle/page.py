"""The page, from errors, divergences and claims."""

from collections.abc import Mapping, Sequence

import numpy as np

from assay.evalcore.measures.registry import measure
from assay.evalcore.replay.pool import LabelledPool
from benchmarks.reproduce.needle import claims
from benchmarks.reproduce.needle.runs import (
    BATCH,
    BUDGETS,
    CURVE_BATCH,
    CURVE_BUDGETS,
    CURVE_METHODS,
    POOLS,
    THRESHOLDS,
    Convergence,
    Drawn,
    Everything,
)


def page(found: Everything) -> str:
    """The document."""
    lines = [_HEAD.format(repeats=found.repeats, batch=BATCH), *_pools(found.pools), _F1]
    for name in found.pools:
        lines += [f"### {name}, F1\n", *_table(found.f1[name])]
    lines += [_CLAIMS, *claims.of_f1(found.f1), _ACCURACY]
    for name in found.pools:
        lines += [f"### {name}, accuracy\n", *_table(found.accuracy[name])]
    lines += [_CLAIMS, *claims.of_accuracy(found.accuracy)]
    of = _CURVES.format(repeats=found.curve_repeats, thresholds=THRESHOLDS, batch=CURVE_BATCH)
    lines += [of, *_of_curves(found.curves)]
    coverage = _COVERAGE.format(repeats=found.repeats, error=0.5 / np.sqrt(found.repeats))
    lines += [_CLAIMS, *claims.of_curves(found.curves, found.f1["abt-buy"]), coverage, *_of_coverage(found)]
    return "\n".join([*lines, "", _REST])


def _pools(pools: Mapping[str, LabelledPool]) -> list[str]:
    rows = [
        "| | items, printed | ours | imbalance, printed | ours | F1, printed | ours |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, pool in pools.items():
        size, ratio, printed = POOLS[name]
        n, positives = len(pool.label), int(pool.label.sum())
        value = float(measure("f1").of_confusion(pool.confusion()))
        rows.append(
            f"| {name} | {size:,} | {n:,} | {ratio:,} | {n / positives:,.0f} | {printed} | {value:.4f} |"
        )
    return [*rows, ""]


def _table(found: Convergence) -> list[str]:
    """Error and divergence, a row a method."""
    rows = [
        f"| {name} | " + " | ".join(
            f"{at.mse:.1e} ± {at.mse_se:.0e}" + ("" if at.divergence is None else f", {at.divergence:.2f}")
            for at in several
        ) + " |"
        for name, several in found.by_method.items()
    ]
    return [_headings(BUDGETS), *rows, ""]


def _of_curves(drawn: Drawn) -> list[str]:
    rows = [
        f"| {name}, `{CURVE_METHODS[name]}` | " + " | ".join(f"{error:.3g}" for error in errors) + " |"
        for name, errors in drawn.items()
    ]
    return [_headings(CURVE_BUDGETS), *rows, ""]


def _of_coverage(found: Everything) -> list[str]:
    rows = []
    for name, printed in found.covered.items():
        ours = [at.coverage for at in found.f1[name].by_method["Ours-8"]]
        for called, several in (("the last proposal (printed)", printed), ("each draw's own (ours)", ours)):
            rows.append(f"| {name}, {called} | " + " | ".join(f"{x:.2f}" for x in several) + " |")
    return [_headings(BUDGETS), *rows]


def _headings(budgets: Sequence[int]) -> str:
    names = " | ".join(f"{labels:,}" for labels in budgets)
    return f"| | {names} |\n" + "|---" * (len(budgets) + 1) + "|"


_HEAD = """# Adaptive importance sampling

*Needle in a Haystack: Label-Efficient Evaluation under Extreme Class Imbalance* (Marchant & Rubinstein
2021). Figures called printed are in the paper. The paper plots its errors and prints no numbers of them;
what it says of its plots is checked below. Everything else is ours, by `python -m
benchmarks.reproduce.needle`: {repeats} repeats for each method (the paper has 1,000), {batch} newly asked
items in a round (the paper does not say).

| in the paper | here |
|---|---|
| Passive | `passive-with-replacement` |
| Stratified, proportional | `stratified` |
| IS, Remark 4 | `static-is` |
| OASIS | `oasis` |
| Ours-1, 256 blocks below the root | `dirichlet-flat` |
| Ours-8, a binary tree of depth 8 | `dirichlet-tree` |

Where the numbers are from. None was made by the authors' code ([what is known of it](errata.md)).

| | in the paper | here |
|---|---|---|
| Table 3 | printed | counted in the same two pools |
| Figures 2, 3, 5, 6, 7 | plotted | a reconstruction: registered methods by `evalcore.replay` |
| Figures 4, 8 | plotted | a reconstruction by `assay.replay`, with fewer thresholds |
| Section 3.3.2 | no experiment | ours |

## Table 3: the pools

The imbalance is the items of the pool over its positives (the paper calls it positives over negatives).
"""
_F1 = """## Figures 2, 3 and 5: F1

Mean squared error of F1 ± its standard error; then the mean of KL(q* ‖ q), in nats, the distance of the
proposal from the best one. A stratified sample has no proposal. An estimate without a value counts as 0.
"""
_CLAIMS = "What the paper says of these plots, and what is found here:\n"
_ACCURACY = """## Figures 6 and 7: accuracy

OASIS is for F-measures alone. `stratified` has no value before it has labelled an item that is predicted
positive; at small budgets that makes its error.
"""
_CURVES = """## Figures 4 and 8: a precision-recall curve

abt-buy, by `assay.replay(..., measures={{"name": "pr_curve", "at": [...]}})`. Figure 4 draws 100 estimated
curves at 5,000 labels, and figure 8 goes so far; here it ends at 1,000, after some minutes. A curve is one
vector measure (Example 1), here of {thresholds:,} thresholds in place of 1,024, which `pr_curve` takes, but a
replay of 53,753 items then holds several gigabytes. They are spaced evenly from the
lowest score to the highest. Each entry is the squared error summed over all precisions and recalls, which
grows with their number; means of {repeats} repeats, with {batch} newly asked items in a round. An estimate
without a value counts as 0.

For curves these methods draw without replacement, and cut the pool by expected influence and not by the grid
of thresholds; `dirichlet-tree:printed=true` draws with replacement. `assay replay --divergence` tells the
divergence of `dirichlet-tree` and `dirichlet-flat` (Ours-1) beside a curve; this table was made before it
did, and leaves both out.
"""
_COVERAGE = """## Section 3.3.2: the interval

The paper measures no coverage. This is how often the nominal 95% interval of F1 covers, by `dirichlet-tree`,
with the last proposal in its variance as printed (`variance=printed`) and with the one each draw was
made with (the default). Of {repeats} repeats a coverage has a standard error of up to {error:.2f}. The
[errata page](errata.md) has the reason.
"""
_REST = """## Figures by hand

Example 1, Tables 1 and 2, Proposition 1 and Examples 4 and 5 are unit tests with numbers worked out by hand
(`test_generalized_measures.py`, `test_several_measures.py`, `test_divergence.py`: tests/unit/evalcore).

## What is not here

- amzn-goog, dblp-acm, safedriver, creditcard and tweets100k: their scores are not among our pools. So the
  exceptions that the paper reports (dblp-acm, tweets100k) are not checked.
- Appendix H, the stochastic oracle, has no experiment in the paper.

## Where paper and code differ

The [errata page](errata.md) lists misprints, corrections and choices. In these tables the branches of the
tree of depth 8 have posterior means, and not the modes of eq. 11, which can be negative for a rare class.
"""
