"""What a round costs as the pool grows: planning, observing and estimating, for 10⁴ to 10⁷ items."""

import time
from collections.abc import Callable

import numpy as np
from scipy.special import expit

from assay.evalcore.evaluation.estimates import estimates
from assay.evalcore.evaluation.state import Question, before_any_label, observe, plan
from assay.evalcore.measures.registry import measure
from assay.evalcore.methods.two_classes.dirichlet import DirichletTreeMethod
from assay.evalcore.pool.partition import build_partition
from assay.evalcore.pool.strata import csf_edges

SIZES = (10**4, 10**5, 10**6, 10**7)
ROUNDS = 20


class SameStrata(DirichletTreeMethod):
    """256 strata whatever N: the histogram rule alone would cut small pools more coarsely."""

    def edges(self, scores, positives):
        """256 strata of equal cumulative √frequency over 4,096 bins."""
        return csf_edges(scores, 256, n_bins=4096), 256


def pool(n_items: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rare positives with high scores: (score, prediction, label)."""
    rng = np.random.default_rng(7)
    label = (rng.random(n_items) < 1e-3).astype(np.int64)
    score = np.where(label == 1, rng.normal(2, 2, n_items), rng.normal(-5, 1.5, n_items))
    return score, (score > 0).astype(np.int64), label


def one_size(n_items: int) -> tuple[int, float, float, float]:
    """(cells, seconds to cut the pool, median and largest seconds of a round)."""
    score, prediction, label = pool(n_items)
    m = SameStrata()
    start = time.perf_counter()
    partition, cell = build_partition(m, score, expit(score), prediction)
    cut = time.perf_counter() - start
    order = np.argsort(cell, kind="stable")
    offset = np.cumsum(partition.cells.size) - partition.cells.size
    asked = (measure("f1"),)
    question = Question(
        method=m, cells=partition.cells, measures=asked, confidence=0.95, seed=1, evaluation="bench"
    )
    state, seconds = before_any_label(question), []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        p = plan(question, state, 50)
        planned = time.perf_counter()
        labels = label[order[offset[p.cell] + p.rank]]
        answered = time.perf_counter()
        state = observe(question, state, p, labels)
        estimates(question, state)
        seconds.append(planned - start + time.perf_counter() - answered)
    return partition.cells.n_cells, cut, float(np.median(seconds)), float(np.max(seconds))


def table() -> str:
    """Seconds a round against N, and the ratio to the smallest pool of the same run."""
    lines = [
        "## A round's cost does not grow with the pool\n",
        f"`dirichlet-tree`, 256 strata, F1, batches of 50, {ROUNDS} rounds: plan, observe, estimate. "
        "Cutting the pool into cells happens once, when it is frozen.\n",
        "| N | cells | cutting, s | round, median s | round, largest s | median against N = 10⁴ |",
        "|---|---|---|---|---|---|",
    ]
    return "\n".join(lines + by_size(one_size, digits=(2, 3, 3), median=1)) + "\n"


def by_size(
    one_size: Callable[[int], tuple[int, float, float, float]], digits: tuple[int, int, int], median: int
) -> list[str]:
    """A row for each size: its cells, three times in seconds, and the median's ratio to the smallest pool's.

    digits: of each time; median: which of the three it is.
    """
    found = [(n_items, *one_size(n_items)) for n_items in SIZES]
    smallest = found[0][2:][median]
    return [
        " | ".join([
            f"| {n_items:,}", f"{cells}", *(f"{x:.{d}f}" for x, d in zip(times, digits, strict=True)),
            f"{times[median] / smallest:.2f} |",
        ])
        for n_items, cells, *times in found
    ]
