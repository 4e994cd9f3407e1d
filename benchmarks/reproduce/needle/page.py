"""The page, from errors, divergences and claims."""

from collections.abc import Mapping, Sequence

import numpy as np

from assay.evalcore.measures.registry import measure
from assay.evalcore.replay.pool import LabelledPool
from benchmarks.reproduce.needle import claims
from benchmarks.reproduce.needle.curves import EPSILON, THRESHOLDS
from benchmarks.reproduce.needle.runs import (
    BATCH,
    BUDGETS,
    CURVE_BATCH,
    CURVE_BUDGETS,
    POOLS,
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
    lines += [CURVES, *curve_lines(found.curves, found.f1["abt-buy"])]
    coverage = _COVERAGE.format(repeats=found.repeats, error=0.5 / np.sqrt(found.repeats))
    lines += [coverage, *_of_coverage(found)]
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


def curve_lines(drawn: Drawn, f1: Convergence) -> list[str]:
    """What stands below the heading of the curves: how they were made, the table, and the claims."""
    rows = []
    for name, looks in drawn.items():
        errors = [
            f"{at.error.mean():.3g} ± {at.error.std(ddof=1) / np.sqrt(len(at.error)):.1g}"
            + ("" if np.isnan(at.divergence).any() else f", {at.divergence.mean():.2f}")
            for at in looks
        ]
        rms = np.sqrt(looks[-1].error.mean() / (2 * THRESHOLDS))
        rows.append(f"| {name} | {len(looks[0].error):,} | " + " | ".join(errors) + f" | {rms:.3f} |")
    names = " | ".join(f"{labels:,}" for labels in CURVE_BUDGETS)
    heading = f"| | repeats | {names} | a point at {CURVE_BUDGETS[-1]:,} |\n"
    heading += "|---" * (len(CURVE_BUDGETS) + 3) + "|"
    made = _CURVES.format(thresholds=THRESHOLDS, batch=CURVE_BATCH, epsilon=EPSILON)
    return [made, heading, *rows, "", _CLAIMS, *claims.of_curves(drawn, f1)]


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
2021). The paper plots its errors and prints no numbers of them; what it says of its plots is checked below.
By `python -m benchmarks.reproduce.needle`: {repeats} repeats (the paper has 1,000), {batch} newly asked
items a round (the paper does not say). None is by the authors' code ([what is known of it](errata.md)).

| in the paper | here |
|---|---|
| Passive | `passive-with-replacement` |
| Stratified, proportional | `stratified` |
| IS, Remark 4 | `static-is` |
| OASIS | `oasis` |
| Ours-1, 256 blocks below the root | `dirichlet-flat` |
| Ours-8, a binary tree of depth 8 | `dirichlet-tree` |

## Table 3: the pools

The imbalance is the items of the pool over its positives (the paper calls it positives over negatives).
"""
_F1 = """## Figures 2, 3 and 5: F1

Mean squared error of F1 ± its standard error; then mean KL(q* ‖ q), in nats, of the proposal from the best
one. An estimate without a value counts as 0.
"""
_CLAIMS = "What the paper says of these plots, and what is found here:\n"
_ACCURACY = """## Figures 6 and 7: accuracy

OASIS is for F-measures alone. `stratified` has no value before it labelled a predicted positive.
"""
CURVES = "## Figures 4 and 8: a precision-recall curve\n"
_CURVES = """abt-buy on the paper's grid: {thresholds:,} thresholds, four bins a leaf, every method as printed
(`benchmarks.reproduce.needle.curves`; ε₀ = {epsilon:g}, {batch} newly asked items a round). Squared error
summed over precisions and recalls ± its standard error, then the mean KL(q* ‖ q); last, the root of the mean
squared error of one point, which is what figure 4 shows.
"""
_COVERAGE = """## Section 3.3.2: the interval

The paper measures no coverage. That of nominal 95% intervals of F1 by `dirichlet-tree`, with the last
proposal in the variance (`variance=printed`) and with each draw's own (the default; [why](errata.md)):
{repeats} repeats, standard error up to {error:.2f}.
"""
_REST = """## What is not here

- amzn-goog, dblp-acm, safedriver, creditcard and tweets100k are not among our pools, so the exceptions that
  the paper reports (dblp-acm, tweets100k) are not checked. Appendix H has no experiment in the paper.
"""
