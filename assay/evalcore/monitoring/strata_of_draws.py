"""The draws of a window by strata, for what they say alone: the total of v of each stratum, draw by draw.

A window's cells are cut into strata before its first label: those whose v has the same largest value belong
together (in two classes: the predictions), and they are cut along the v that is expected, so that each
stratum is to have about DRAWS_OF_STRATUM draws.  Of a draw j of item i in stratum h,

    Z_j = Σ_labelled in h v + Σ_unlabelled in h m + (v_i − m_i) Q_h/q_i,     Q_h the sum of q over the latter

has the total of v over h for its mean, given the draws before it and that h was drawn from.  With one
stratum Z is N times the X that bets are on (`evalcore.monitoring.betting`).

    R   repeats;  C   cells;  T   draws, in order;  H   strata
"""

from dataclasses import dataclass, replace

import numpy as np

from assay.evalcore.monitoring.betting import Expected, before_each_draw
from assay.evalcore.types import Floats, Ints

DRAWS_OF_STRATUM = 25   # that a stratum is to have, about
MOST_STRATA = 8      # cut by what is expected
_ALIKE_DIGITS = 9   # digits in which two expected values are alike


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DrawsByStratum:
    """All single draws of a window so far, in order, and the strata that they are of."""

    strata: int           # how many the cells are to be cut into; more where largest values differ
    stratum: Ints         # (R, C) of each cell; (R, 0) before the first round of single draws
    labelled: Floats      # (R, C) Σ v of the labelled items of each cell
    most: Floats          # (R, H) the largest total that a stratum may have, as of the newest round
    drawn: Ints           # (R, T) the stratum of each draw, −1 where there was none
    total: Floats         # (R, T) Z
    bound: Floats         # (R, T) and the largest value that it could take

    @staticmethod
    def new(repeats: int, cells: int, strata: int) -> "DrawsByStratum":
        """Before the first draw, of a window of so many cells."""
        return DrawsByStratum(
            strata=strata, stratum=np.zeros((repeats, 0), np.int64), labelled=np.zeros((repeats, cells)),
            most=np.zeros((repeats, 0)), drawn=np.zeros((repeats, 0), np.int64),
            total=np.zeros((repeats, 0)), bound=np.zeros((repeats, 0)),
        )

    def with_labelled(self, cell: Ints, value: Floats) -> "DrawsByStratum":
        """With v (R, T) of items of these cells (R, T) counted as labelled; cell −1: no item. R counts
        repeats and T items; what was there stays as it is."""
        labelled, rows = self.labelled.copy(), np.arange(len(value))[:, None]
        np.add.at(labelled, (rows, np.maximum(cell, 0)), np.where(cell >= 0, value, 0.0))
        return replace(self, labelled=labelled)

    def with_round(
        self, prediction: Expected, weight: Floats, open_items: Ints, cell: Ints, value: Floats
    ) -> "DrawsByStratum":
        """With the draws of a round; the arguments are those of `betting.bet_on_round`."""
        items, reachable = open_items.astype(np.float64), weight > 0
        mean = np.where(reachable | (prediction.variance <= 0), prediction.mean, prediction.best)
        stratum = self.stratum if self.stratum.shape[1] else strata_of_cells(
            prediction, items * weight, self.strata
        )
        at = np.arange(len(items))[:, None], np.maximum(cell, 0)
        drawn = np.where(cell >= 0, stratum[at], -1)
        w = np.where(cell >= 0, weight[at], 1.0)
        total, bound = np.full(cell.shape, np.nan), np.zeros(cell.shape)
        most = np.zeros((len(items), int(stratum.max(initial=0)) + 1))
        for h in range(most.shape[1]):
            inside, here = stratum == h, drawn == h
            n = np.where(inside, items, 0.0)
            known = np.where(inside, self.labelled, 0.0).sum(axis=1)
            most[:, h] = known + (n * prediction.best).sum(axis=1)
            beyond = np.where(here, value - mean[at], 0.0)
            base = before_each_draw(known + (n * mean).sum(axis=1), beyond)
            mass = np.maximum(before_each_draw((n * weight).sum(axis=1), np.where(here, -w, 0.0)), 0.0)
            with np.errstate(divide="ignore", invalid="ignore"):
                upward = np.where(reachable & (n > 0), (prediction.best - mean) / weight, -np.inf).max(axis=1)
            highest = base + np.where(np.isfinite(upward), upward, 0.0)[:, None] * mass
            drawn_total = np.minimum(base + beyond * np.maximum(mass / w, 1.0), highest)
            total, bound = np.where(here, drawn_total, total), np.where(here, highest, bound)
        grown = replace(
            self, stratum=stratum, most=most, drawn=np.concatenate([self.drawn, drawn], axis=1),
            total=np.concatenate([self.total, total], axis=1),
            bound=np.concatenate([self.bound, bound], axis=1),
        )
        return grown.with_labelled(cell, value)

    def first(self, count: int | None) -> "DrawsByStratum":
        """With the first draws alone, as many as `count`; all where it is None. Follow-ups come after them,
        and are left out so."""
        return replace(
            self, drawn=self.drawn[:, :count], total=self.total[:, :count], bound=self.bound[:, :count]
        )


def strata_for(draws: int) -> int:
    """How many strata a window of so many draws has."""
    return int(np.clip(draws // DRAWS_OF_STRATUM, 1, MOST_STRATA))


def strata_of_cells(prediction: Expected, mass: Floats, strata: int) -> Ints:
    """(R, C) the stratum of each cell; mass (R, C): the share of the draws that it is to have, unscaled.

    Cells whose v has the same largest value are a part of their own, unless there are more such values than
    strata.
    """
    scale = np.maximum(np.abs(prediction.best).max(axis=1, keepdims=True), 1e-300)
    mean = np.round(np.broadcast_to(prediction.mean, mass.shape) / scale, _ALIKE_DIGITS)
    best = np.round(np.broadcast_to(prediction.best, mass.shape) / scale, _ALIKE_DIGITS)
    order = np.lexsort((mean, best), axis=-1)
    mass, best = (np.take_along_axis(x, order, axis=1) for x in (mass, best))
    total = np.maximum(mass.sum(axis=1, keepdims=True), 1e-300)
    part = np.cumsum(np.diff(best, axis=1, prepend=best[:, :1]) > 0, axis=1)
    part = np.where(part[:, -1:] >= strata, 0, part)
    number, first = np.zeros(mass.shape, np.int64), np.zeros((len(mass), 1), np.int64)
    for p in range(int(part.max(initial=0)) + 1):
        own = np.where(part == p, mass, 0.0)
        of_part = own.sum(axis=1, keepdims=True)
        cuts = np.maximum(np.round(strata * np.round(of_part / total, _ALIKE_DIGITS)), 1).astype(np.int64)
        place = (np.cumsum(own, axis=1) - own / 2) / np.maximum(of_part, 1e-300)
        at = np.minimum(np.floor(np.round(place * cuts, _ALIKE_DIGITS)).astype(np.int64), cuts - 1)
        number = np.where(part == p, first + at, number)
        first = first + cuts
    stratum = np.zeros(mass.shape, np.int64)
    np.put_along_axis(stratum, order, number, axis=1)
    return stratum
