"""Many segments, one error rate: which of several alarms to believe.

Segments are looked at all at once, window after window, and their evidence depends on one another.  e-values
need no assumption about that:

    e-BH         the k segments of the largest evidence, k the largest with e_(k) ≥ S/(k α).  Of the segments
                 that are called out at one look, at most a share α is expected to be fine (Wang & Ramdas
                 2022, "False discovery rate control with e-values")
    Bonferroni   every segment is held against S/α: the chance that any of them is called out wrongly, in as
                 many windows as the promise is about, is ≤ α
"""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from assay.evalcore.types import Bools

Correction = Literal["e-bh", "bonferroni"]


def called_out(
    log_evidence: Sequence[float], error_rate: float, correction: Correction, members: int | None = None
) -> Bools:
    """Which of S segments (S,) are in breach, from the logarithms of their evidence.

    members: how many share the error rate, where some are not looked at now; S unless given.
    """
    logs = np.asarray(log_evidence, dtype=np.float64)
    if not len(logs):
        return np.zeros(0, np.bool_)
    price = np.log((members or len(logs)) / error_rate)
    if correction == "bonferroni":
        return np.asarray(logs >= price)
    order = np.argsort(-logs, kind="stable")
    enough = logs[order] >= price - np.log(np.arange(1, len(logs) + 1))
    chosen = np.zeros(len(logs), np.bool_)
    if enough.any():
        chosen[order[: np.flatnonzero(enough)[-1] + 1]] = True
    return chosen
