"""The row `oracle`: what a stratified sample needs whose designer knows the true rate of every cell.

Cells are sampled separately without replacement, n_c of N_c items (Cochran 1977, chapters 5 and 5A).  The
measure is linearised at the truth; g_c is what one more positive in cell c adds to it (J(R) times the change
of the loss, over N).  With S_c² = p_c (1 - p_c) N_c / (N_c - 1) the standard error is

    SE² = Σ N_c² g_c² S_c² (1/n_c - 1/N_c),        and the width 2 z SE: 3.92 SE at 95%.

The n_c that minimise it, Σ n_c = b, are Neyman's, n_c ∝ N_c |g_c| S_c, none beyond N_c; what a full cell
cannot take goes to the others in the same proportion (`evalcore.design.waterfill`).  Parts of a label count,
so no whole n_c do better.

It is a yardstick and no law: nobody knows the rates, and cells whose labels are all alike cost it nothing;
finer cells, or a label model that is right, can do with fewer labels.  Here "oracle" means a designer who
knows the rates; in the papers on importance sampling it means whoever gives the labels.

    C   cells;  N   items of the pool;  b   labels
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtri

from assay.evalcore.design.waterfill import predicted_error, waterfill
from assay.evalcore.errors import BadInput
from assay.evalcore.measures import totals
from assay.evalcore.measures.base import Measure
from assay.evalcore.methods.registry import method
from assay.evalcore.pool.cells import Cells
from assay.evalcore.replay.pool import LabelledPool, prepare
from assay.evalcore.types import Floats, Ints

# whose cells the oracle samples, whatever methods are replayed: else multiples of it could not be compared
CELLS_OF = "recalibrated"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Oracle:
    """The stratified design that knows the rates, for one measure of one pool."""

    measure: Measure
    size: Ints           # (C,) items N_c
    spread: Floats       # (C,) |g_c| S_c
    confidence: float    # of the interval whose width is reported

    def allocation(self, labels: int) -> Floats:
        """n_c (C,), with parts of labels; `labels` in all, or fewer where no more are of use."""
        inclusion = waterfill(self.spread[None], self.size[None], np.array([labels]))[0]
        return np.asarray(inclusion * self.size)

    def standard_error(self, by_cell: Floats) -> float:
        """SE of the linearised measure with by_cell (C,) labels, at most N_c each.

        Infinite where a cell that matters has none.
        """
        error = predicted_error(self.spread[None], self.size[None], (by_cell / self.size)[None])
        return float(np.sqrt(error[0]))

    def half_width(self, labels: int) -> float:
        """z SE under the best allocation of so many labels."""
        z = float(ndtri(0.5 + self.confidence / 2))
        return z * self.standard_error(self.allocation(labels))

    def labels_to(self, half_width: float) -> int:
        """The smallest number of labels with at most this half-width, from 0 to N."""
        everything = range(int(self.size.sum()) + 1)
        return bisect_left(everything, True, key=lambda labels: self.half_width(labels) <= half_width)


def oracle(measure: Measure, cells: Cells, by_label: Ints, confidence: float = 0.95) -> Oracle:
    """The oracle of these cells; by_label (C, 2): items of each cell by true label.

    Raises BadInput where the measure has no value or no gradient at the truth.
    """
    size, positives = cells.size, by_label[:, 1].astype(np.float64)
    chosen = cells.prediction.astype(np.float64)
    missed, hits = totals.by_prediction(positives[None], chosen)[0]
    items = totals.by_prediction(size[None].astype(np.float64), chosen)
    at = np.array([hits]), np.array([missed]), items
    slope = totals.gradient(measure, *at)[0]
    if not np.isfinite(totals.value(measure, *at)[0]):
        raise BadInput(f"{measure.name} has no value on this pool: {measure.undefined_when}")
    rate = positives / size
    variance = rate * (1 - rate) * size / np.maximum(size - 1, 1)
    return Oracle(
        measure=measure,
        size=size,
        spread=np.abs(slope[cells.prediction]) * np.sqrt(variance),
        confidence=confidence,
    )


def oracles(
    pool: LabelledPool, measures: Sequence[Measure], confidence: float = 0.95, system: int = 0
) -> list[Oracle]:
    """The oracle of each measure on the cells of `CELLS_OF`; none where annotators differ.

    system: 0 for the pool's own predictions, else which further system.  Where annotators differ an item has
    no one label, and the formula does not hold.  Raises BadInput where a measure has no value.
    """
    if pool.label_probability is not None:
        return []
    prediction = pool.prediction if system == 0 or pool.systems is None else pool.systems[:, system - 1]
    cells, by_label = prepare(method(CELLS_OF), replace(pool, prediction=prediction, systems=None))
    return [oracle(measure, cells, by_label, confidence) for measure in measures]
