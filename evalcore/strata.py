"""Where to cut a pool by score.

Every function returns the interior edges, strictly increasing; stratum k holds the items with
`edges[k-1] <= score < edges[k]`.  Ties never straddle an edge, so fewer strata than asked for can come out.
"""

import numpy as np

from evalcore.errors import BadInput
from evalcore.types import Floats, Ints


def csf_edges(scores: Floats, n_strata: int) -> Floats:
    """Cumulative square-root-frequency edges (Dalenius & Hodges 1959): equal steps of Σ √frequency.

    Frequencies come from a Freedman-Diaconis histogram of the scores (N,), refined to at least four bins a
    stratum where the scores are too few or too tied for that rule, and capped at 2**20 bins, where heavy
    tails would ask for an absurd number.

    Returns (n_strata - 1,) edges or fewer.  Raises BadInput for n_strata < 1 or no scores.
    """
    if n_strata < 1 or len(scores) == 0:
        raise BadInput(f"cannot cut {len(scores)} scores into {n_strata} strata")
    low, high = float(scores.min()), float(scores.max())
    if n_strata == 1 or low == high:
        return np.empty(0)
    counts, bin_edges = np.histogram(scores, bins=_n_bins(scores, n_strata), range=(low, high))
    cumulative = np.cumsum(np.sqrt(counts))
    steps = cumulative[-1] / n_strata * np.arange(1, n_strata)
    # the bin in which the cumulative curve reaches each step: the edge is put at that bin's lower end
    reached = np.searchsorted(cumulative, steps, side="left")
    edges = np.unique(bin_edges[reached])
    return np.asarray(edges[edges > low], dtype=np.float64)


def _n_bins(scores: Floats, n_strata: int) -> int:
    q1, q3 = np.quantile(scores, [0.25, 0.75])
    width = 2 * (q3 - q1) / len(scores) ** (1 / 3)
    spread = float(scores.max() - scores.min())
    wanted = int(np.ceil(spread / width)) if width > spread * 2.0**-20 else 0
    return max(wanted, 4 * n_strata)


def assign(edges: Floats, scores: Floats) -> Ints:
    """The stratum (N,) of each score."""
    return np.searchsorted(edges, scores, side="right").astype(np.int64)


def log_density(sorted_scores: Floats, positions: Ints) -> Floats:
    """Log of the pool's density in score at some ranks, from a window of neighbours.

    The window reaches max(6, 8% of the rank distance to the nearer end) ranks to each side, so it is narrow
    where items are few, which is where the density matters.

    sorted_scores (N,) ascending; positions (C,) ranks.  Returns (C,), in log items⁻¹ per unit of score.
    """
    last = len(sorted_scores) - 1
    reach = np.maximum(6, (0.08 * np.minimum(positions, last - positions)).astype(np.int64))
    lower, upper = np.clip(positions - reach, 0, last), np.clip(positions + reach, 0, last)
    span = sorted_scores[upper] - sorted_scores[lower]
    smallest = max(float(sorted_scores[-1] - sorted_scores[0]), 1.0) * 1e-9  # all ties: dense, not infinite
    share = np.maximum(upper - lower, 1) / len(sorted_scores)
    return np.asarray(np.log(share / np.maximum(span, smallest)), dtype=np.float64)
