"""Errors and coverage of `passive` and `dirichlet-tree` on the pools of record, beside what other code gave.

The column `authors' code` is what Marchant & Rubinstein's activeeval ("Ours-8") gave with their settings:
K = 256 strata, depth 8, batches of 50.  Their paper plots its errors and prints none.  Whose code gave the
figures of `passive` was not recorded.
"""

import os
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from scipy.special import expit

from assay.evalcore.measures.registry import measure
from assay.evalcore.methods.registry import method
from assay.evalcore.methods.two_classes.base import CountingMethod
from assay.evalcore.methods.two_classes.dirichlet import DirichletTreeMethod
from assay.evalcore.pool.strata import csf_edges
from assay.evalcore.replay.pool import LabelledPool
from assay.evalcore.replay.run import ReplayPlan, simulate, summarise

BUDGETS = [50, 100, 200, 300, 500, 1000, 2000]
REPEATS = 300
REFERENCE = {
    ("abt-buy", "passive"): ["3.5e-1", "3.5e-1", "3.4e-1", "3.3e-1", "3.1e-1", "2.7e-1", "1.9e-1"],
    ("restaurant", "passive"): ["8.0e-1", "7.9e-1", "7.7e-1", "–", "7.2e-1", "6.2e-1", "–"],
    ("abt-buy", "dirichlet-tree"): ["1.3e-1", "7.8e-2", "3.2e-2", "2.0e-2", "1.2e-2", "4.6e-3", "1.8e-3"],
    ("restaurant", "dirichlet-tree"): ["1.2e-2", "6.2e-3", "2.2e-3", "–", "5.6e-4", "1.7e-4", "–"],
}


class FineHistogram(DirichletTreeMethod):
    """The same method cut from 1,024 histogram bins, the fallback of the authors' code on sparse scores."""

    def edges(self, scores, positives):
        """256 strata of equal cumulative √frequency over 1,024 bins."""
        return csf_edges(scores, 256, n_bins=1024), 256


def load(name: str) -> LabelledPool | None:
    """A pool of record, or None where it is absent."""
    path = Path(os.environ.get("ASSAY_POOLS", "../shared/pools")) / f"{name}.parquet"
    if not path.exists():
        return None
    d = pq.read_table(path, columns=["score", "prediction", "label"]).to_pydict()
    score = np.array(d["score"], float)
    prediction, label = np.array(d["prediction"]), np.array(d["label"])
    return LabelledPool(score=score, probability=expit(score), prediction=prediction, label=label)


def table() -> str:
    """One block per pool and method."""
    lines = [
        "## Errors of F1 on the pools of record\n",
        f"{REPEATS} repeats, batches of 50, probabilities expit(score). Standard errors behind ±. A repeat "
        "without an estimate counts as 0, as a miss and as width 1. The papers plot their errors and print "
        "none: the column beside ours is what the authors' code (activeeval) gave on these pools. Whose code "
        "gave those of `passive` was not recorded.\n",
    ]
    methods: list[tuple[str, CountingMethod]] = [
        ("passive", method("passive")),
        ("dirichlet-tree", method("dirichlet-tree")),
        ("dirichlet-tree, 1,024 bins", FineHistogram()),
    ]
    for name in ("abt-buy", "restaurant"):
        pool = load(name)
        if pool is None:
            lines.append(f"{name}: skipped, not in the pools folder (`ASSAY_POOLS`).\n")
            continue
        truth = float(measure("f1").of_confusion(pool.confusion()))
        lines += [
            f"### {name}: N = {len(pool.label):,}, {int(pool.label.sum())} positive, F1 = {truth:.4f}\n",
            "| method | labels | MSE | authors' code | undefined | coverage of 95% | width "
            "| seconds, in all |",
            "|---|---|---|---|---|---|---|---|",
        ]
        for label, m in methods:
            start = time.perf_counter()
            (trace,) = simulate(
                m, pool, [measure("f1")], ReplayPlan(budgets=BUDGETS, batch_size=50, seed=1), repeats=REPEATS
            )
            seconds = time.perf_counter() - start
            reference = REFERENCE[name, label.split(",")[0]]
            for row, known in zip(summarise(trace, truth, BUDGETS), reference, strict=True):
                lines.append(
                    f"| {label} | {row.labels} | {row.mse:.2e} ± {row.mse_se:.0e} | {known} | "
                    f"{row.undefined:.2f} | {row.coverage:.2f} | {row.width:.2f} | {seconds:.0f} |"
                )
        lines.append("")
    return "\n".join(lines)
