"""Pools like the two on which `recalibrated` falls short of its coverage: digits, and inverted scores.

    like digits     700 to 3,000 items, 6% to 16% positive, a weak score, 0.45 to 0.9 as many predicted
                    positive, so that more than half of the positives lie below the threshold
    like inverted   10,000 to 40,000 items, 2% to 6% positive, with lower scores than the others, 0.5 to 1
                    times as many predicted positive; every measure is asked for, specificity is judged
"""

from collections.abc import Iterator

import numpy as np
from scipy.special import expit

from assay.evalcore.randomness import stream
from assay.evalcore.replay.pool import LabelledPool
from benchmarks.lottery import Ticket

DIGITS, INVERTED = "like digits", "like inverted"
FIRST = 5170


def look_alikes(each: int) -> Iterator[tuple[int, str, Ticket]]:
    """`each` pools of both kinds, in turn: number, group and pool."""
    for index in range(FIRST, FIRST + 2 * each):
        group = DIGITS if index % 2 == 0 else INVERTED
        yield index, group, Ticket(kind=group, says=group, pool=_pool(group, index))


def _pool(group: str, index: int) -> LabelledPool:
    rng = stream(7, f"look-alike/{index}")
    digits = group == DIGITS
    n = int(np.exp(rng.uniform(*np.log((700, 3_000) if digits else (10_000, 40_000)))))
    positives = round(n * rng.uniform(*((0.06, 0.16) if digits else (0.02, 0.06))))
    apart = rng.uniform(1.0, 1.6) if digits else -rng.uniform(0.7, 1.5)
    label = (np.arange(n) < positives).astype(np.int64)
    score = rng.normal(apart * label, np.where(label == 1, rng.uniform(0.9, 1.4), 1.0))
    count = round(positives * rng.uniform(*((0.45, 0.9) if digits else (0.5, 1.0))))
    score = (score - np.partition(score, n - count)[n - count]) * rng.uniform(0.7, 1.5) + 1e-9
    return LabelledPool(
        score=score, probability=expit(score), prediction=(score > 0).astype(np.int64), label=label
    )
