"""What a virtual planning step and a report of `recalibrated` cost as the pool grows, 10⁴ to 10⁷ items."""

import time

import numpy as np
from scipy.special import expit

from assay.evalcore.evaluation.estimates import estimates
from assay.evalcore.evaluation.state import Question, before_any_label, observe, plan
from assay.evalcore.measures.registry import measure
from assay.evalcore.methods.two_classes.recalibrated import Recalibrated
from assay.evalcore.pool.partition import build_partition
from benchmarks.rounds import by_size, pool

# no larger than a virtual step (`evalcore.recalibration.planning.virtual_step`), so that a plan is one
BATCHES = (10,) * 10 + (25,) * 8 + (50,) * 4


def one_size(n_items: int) -> tuple[int, float, float, float]:
    """(cells, median and largest seconds of a planning step, median seconds of a report)."""
    score, prediction, label = pool(n_items)
    how = Recalibrated()
    partition, cell = build_partition(how, score, expit(score), prediction)
    order = np.argsort(cell, kind="stable")
    offset = np.cumsum(partition.cells.size) - partition.cells.size
    question = Question(
        method=how, cells=partition.cells, measures=(measure("f1"),), confidence=0.95, seed=1,
        evaluation="bench",
    )
    state = before_any_label(question)
    planning, reporting = [], []
    for size in BATCHES:
        start = time.perf_counter()
        p = plan(question, state, size)
        planning.append(time.perf_counter() - start)
        state = observe(question, state, p, label[order[offset[p.cell] + p.rank]])
        start = time.perf_counter()
        estimates(question, state)
        reporting.append(time.perf_counter() - start)
    told = float(np.median(planning)), float(np.max(planning)), float(np.median(reporting))
    return partition.cells.n_cells, *told


def table() -> str:
    """Seconds a step against N, and the ratio to the smallest pool of the same run."""
    lines = [
        "## A planning step of `recalibrated` does not grow with the pool\n",
        f"F1, {len(BATCHES)} batches of one virtual step each (10, 25 and 50 labels), planned and drawn; the "
        "report takes 2,000 posterior draws. One process.\n",
        "| N | cells | step, median s | step, largest s | report, median s | step against N = 10⁴ |",
        "|---|---|---|---|---|---|",
    ]
    return "\n".join(lines + by_size(one_size, digits=(3, 3, 3), median=0)) + "\n"
