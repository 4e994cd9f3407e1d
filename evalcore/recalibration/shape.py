"""What the label model knows of a pool before any label: arrays over its C cells, in rising score.

Of the scores only their order, their shape and the decision boundary are used, and of the predictions how
many are positive (where there are both kinds); a score that is over-confident, or on no scale at all, loses
nothing.
"""

from dataclasses import dataclass

import numpy as np

from assay.evalcore.pool.cells import Cells
from assay.evalcore.types import Floats, Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PoolShape:
    """The cells of a pool as the label model sees them."""

    size: Floats         # (C,) items N_c
    predicted: Floats    # (C,) 1.0 where the prediction is positive
    score: Floats        # (C,) mean score minus decision boundary, z_c
    density: Floats      # (C,) log pool density at z_c minus that at the boundary, l_c
    place: Floats        # (C,) index of the cell over the number of cells, t_c in [0, 1)
    log_rank: Floats     # (C,) log of the rank, counted from the top score, of the cell's middle item
    log_odds: Floats     # (C,) logit of the mean supplied probability
    n_items: float       # N
    positives: float     # the scale of rarity: predicted positives, or where all are predicted alike Σ p
    votes: Floats | None = None   # (C,) share of further systems and judges that say the class


def pool_shape(cells: Cells) -> PoolShape:
    """Derive the shape from the cells."""
    size = cells.size.astype(np.float64)
    above = np.cumsum(size[::-1])[::-1] - size
    # np.interp wants a rising abscissa; cells of one stratum may come in either order of mean score
    order = np.argsort(cells.mean_score, kind="stable")
    probability = np.clip(cells.mean_probability, 1e-7, 1 - 1e-7)
    positives, boundary = _scale(cells, probability, above + size / 2, order)
    at_boundary = np.interp(boundary, cells.mean_score[order], cells.log_density[order])
    return PoolShape(
        size=size,
        predicted=cells.prediction.astype(np.float64),
        score=cells.mean_score - boundary,
        density=cells.log_density - at_boundary,
        place=np.arange(cells.n_cells) / cells.n_cells,
        log_rank=np.log(np.maximum(above + size / 2, 1.0)),
        log_odds=np.log(probability) - np.log1p(-probability),
        n_items=float(cells.n_items),
        positives=positives,
    )


def _scale(cells: Cells, probability: Floats, rank: Floats, order: Ints) -> tuple[float, float]:
    """How many positives to expect, and the score where they would begin, measured from the boundary."""
    if 0 < cells.predicted_positives < cells.n_items:
        return float(cells.predicted_positives), 0.0
    # a system that calls everything alike does not say how many are positive; its probabilities may
    most = max(cells.n_items / 2, 1.0)
    positives = float(np.clip((cells.size * probability).sum(), 1.0, most))
    return positives, float(np.interp(-positives, -rank[order], cells.mean_score[order]))
