"""Labels to a half-width: how many a method needs until its interval is narrow enough, and an oracle.

The half-width at a budget is half the mean width over repeats, a repeat without an estimate counting as
width 1 (as in `evalcore.replay.run`).  The labels to a target are those at which it has fallen to the
target for good: after the last budget whose half-width is above it.  Between that budget and the next it
follows a straight line in the logarithms of both, as c/√labels does.  The lower end of that line is taken as
at least a tenth of the target, because an interval that closes altogether has no logarithm.

A narrow interval is worth nothing if it misses, so the coverage at the first budget at or beyond is told too,
and held against what the method is held to by a one-sided binomial test.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import scipy

from assay.evalcore.design.inclusion import predicted_error, waterfill
from assay.evalcore.errors import BadInput
from assay.evalcore.measures import two_classes
from assay.evalcore.measures.two_classes import Measure
from assay.evalcore.methods.registry import method
from assay.evalcore.methods.two_classes.choice import FALSE_ALARM
from assay.evalcore.pool.cells import Cells
from assay.evalcore.printed import key_as
from assay.evalcore.replay.pool import LabelledPool, prepared_cells
from assay.evalcore.types import Floats, Ints

# The row `oracle`: what a stratified sample needs whose designer knows the true rate of every cell.
#
# Cells are sampled separately without replacement, n_c of N_c items (Cochran 1977, chapters 5 and 5A).  The
# measure is linearised at the truth; g_c is what one more positive in cell c adds to it (J(R) times the
# change of the loss, over N).  With S_c² = p_c (1 - p_c) N_c / (N_c - 1) the standard error is
#
#     SE² = Σ N_c² g_c² S_c² (1/n_c - 1/N_c),        and the width 2 z SE: 3.92 SE at 95%.
#
# The n_c that minimise it, Σ n_c = b, are Neyman's, n_c ∝ N_c |g_c| S_c, none beyond N_c; what a full cell
# cannot take goes to the others in the same proportion (`evalcore.design.inclusion`).  Parts of a label
# count, so no whole n_c do better.
#
# It is a yardstick and no law: nobody knows the rates, and cells whose labels are all alike cost it nothing;
# finer cells, or a label model that is right, can do with fewer labels.  Here "oracle" means a designer who
# knows the rates; in the papers on importance sampling it means whoever gives the labels.
#
#     C   cells;  N   items of the pool;  b   labels

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
        z = float(scipy.special.ndtri(0.5 + self.confidence / 2))
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
    missed, hits = two_classes.by_prediction(positives[None], chosen)[0]
    items = two_classes.by_prediction(size[None].astype(np.float64), chosen)
    at = np.array([hits]), np.array([missed]), items
    slope = two_classes.slopes_by_prediction(measure, *at)[0]
    if not np.isfinite(two_classes.of_totals(measure, *at)[0]):
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
    cells, by_label = prepared_cells(method(CELLS_OF), replace(pool, prediction=prediction, systems=None))
    return [oracle(measure, cells, by_label, confidence) for measure in measures]


_FLOOR = 0.1    # of the target: the lowest end of a line


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelsTo:
    """When the interval of a method has come down to a half-width."""

    half_width: float         # the target, in units of the measure
    labels: int | None        # labels at which it is reached; None if it is not
    at_most: bool             # reached at the smallest budget already, which `labels` is then
    more_than: int | None     # the largest budget, if it is not reached by then
    coverage: float | None    # at the first budget at or beyond `labels`; None if it is not reached
    covers: bool | None       # that coverage is not below what the method is held to, by the test
    oracle: int | None = None  # labels the oracle needs to the same half-width; None without one

    also_printed: ClassVar = {"times_oracle": key_as()}

    @property
    def times_oracle(self) -> float | None:
        """`labels` as a multiple of the oracle's; None if either is missing, or the oracle needs no label."""
        return self.labels / self.oracle if self.labels is not None and self.oracle else None

    def columns(self) -> tuple[str, str, str]:
        """Labels, coverage and multiple as in tables; an asterisk where the interval does not cover."""
        mark = "*" if self.covers is False else ""
        number = self.more_than if self.labels is None else self.labels
        sign = "> " if self.labels is None else "≤ " if self.at_most else ""
        times = f"{sign}{number / self.oracle:.2f}{mark}" if number and self.oracle else "-"
        coverage = "-" if self.coverage is None else f"{self.coverage:.3f}{mark}"
        return f"{sign}{number:,}{mark}", coverage, times


def labels_to(
    half_width: float,
    budgets: Sequence[int],
    widths: Sequence[float],
    coverage: Sequence[float],
    *,
    repeats: Sequence[int],
    least_coverage: float,
    oracle: int | None = None,
) -> LabelsTo:
    """When half the mean width has come down to a half-width.

    budgets (B,) rising; widths, coverage, repeats (B,): at each the mean width, the covered share, and the
    number of repeats behind them.  least_coverage: what the interval is held to.  oracle: labels that the
    oracle needs.
    """
    halves = np.asarray(widths, np.float64) / 2
    above = np.flatnonzero(halves > half_width)
    reached = int(above[-1]) + 1 if len(above) else 0
    if reached == len(budgets):
        return LabelsTo(
            half_width=half_width, labels=None, at_most=False, more_than=budgets[-1], coverage=None,
            covers=None, oracle=oracle,
        )
    labels = budgets[0]
    if reached:
        before, after = budgets[reached - 1], budgets[reached]
        start, end = np.log(halves[reached - 1]), np.log(max(halves[reached], _FLOOR * half_width))
        share = (start - np.log(half_width)) / (start - end)
        labels = round(before * (after / before) ** float(share))
    return LabelsTo(
        half_width=half_width,
        labels=labels,
        at_most=reached == 0,
        more_than=None,
        coverage=coverage[reached],
        covers=not falls_short(coverage[reached], repeats[reached], least_coverage),
        oracle=oracle,
    )


def falls_short(coverage: float, repeats: int, least: float) -> bool:
    """Whether so few covers would come up less often than `FALSE_ALARM` if the coverage were `least`."""
    return bool(scipy.special.bdtr(round(coverage * repeats), repeats, least) < FALSE_ALARM)
