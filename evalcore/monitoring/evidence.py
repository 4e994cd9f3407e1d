"""What one evaluation of a window says to a monitor: an estimate, and evidence that it is beyond a limit.

Where single draws say what they stand for (`evalcore.evaluation.labelled_round`), the evidence is made of the
draws and is right whatever the interval is worth.  Under other designs, after labels were revised, and where
items went unanswered, the interval is all there is, and it is taken at its word
(`evalcore.monitoring.betting` says what that means).

    T   draws of one round;  C cells;  G shares of the betting grid
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from assay.evalcore.evaluation.estimates import Estimate
from assay.evalcore.evaluation.labelled_round import Chances, LabelledRound, Segments, chances_of
from assay.evalcore.evaluation.state import UNDECIDED
from assay.evalcore.measures.base import Measure
from assay.evalcore.monitoring import betting
from assay.evalcore.monitoring.verdicts import Limit, Measured
from assay.evalcore.pool.cells import Cells
from assay.evalcore.types import Floats, Ints


@dataclass(frozen=True, kw_only=True, eq=False)
class WindowSample:
    """A finished evaluation of a window: one sample of its items, independent of its other samples."""

    measure: Measure                 # the one that is watched
    cells: Cells
    confidence: float                # of the intervals
    estimates: Sequence[Estimate]    # of the pool and of its segments
    rounds: Sequence[LabelledRound]
    segments: Segments
    revised: bool = False            # labels changed after their rounds were closed

    @cached_property
    def places(self) -> Mapping[str, tuple[str, int]]:
        """Every segment ("column=value"): its column, and which of the column's values it is."""
        return {
            f"{column}={value}": (column, i)
            for column, values in self.segments.items() for i, value in enumerate(values)
        }

    def measured(self, segment: str | None) -> Measured:
        """The estimate of the pool (None), or of a segment ("column=value")."""
        found = (e for e in self.estimates if e.measure == self.measure.name and e.segment == segment)
        e = next(found, None)
        if e is None:
            return Measured(value=None, lower=None, upper=None, confidence=self.confidence, labels=0)
        return Measured(
            value=e.value, lower=e.lower, upper=e.upper, confidence=e.confidence, labels=e.labels,
            exact=e.interval == "exact",
        )

    def speaks_by_draws(self, limit: Limit) -> bool:
        """Whether the evidence against this limit is made of draws, and not of the interval."""
        return self.chances is not None and self._bet(limit) is not None

    def log_factors(self, limit: Limit, segment: str | None) -> Floats:
        """(G,) the evidence that the measure is beyond the limit; zeros where nothing can be said."""
        measured = self.measured(segment)
        if measured.exact:
            if measured.value is None:
                return np.zeros(len(betting.SHARES))
            return betting.known_log_factors(measured.value, limit.value, limit.side)
        bet = self._bet(limit)
        if bet is not None and self.chances is not None:
            return self._from_draws(bet, segment, weighted=self.chances == "weighted")
        return from_interval(measured, limit)

    @cached_property
    def chances(self) -> Chances | None:
        """How likely single draws were; None where draws alone are no evidence."""
        if self.revised or any(one.gaps for one in self.rounds):
            return None
        return chances_of(self.rounds)

    def _bet(self, limit: Limit) -> betting.Bet | None:
        return betting.bet_against(self.measure, limit.value, limit.side)

    def _from_draws(self, bet: betting.Bet, segment: str | None, *, weighted: bool) -> Floats:
        """(G,) every round against the largest value that a draw of it could have had."""
        if segment is not None and weighted:
            # X is averaged over the whole pool, of which the segment is this share
            column, i = self.places[segment]
            share = list(self.segments[column].values())[i] / self.cells.n_items
            bet = replace(bet, constant=bet.constant * share)
        labelled: Ints = np.zeros((1, self.cells.n_cells, 2), np.int64)
        total: Floats = np.zeros(len(betting.SHARES))
        for one in self.rounds:
            plan = one.plan
            if not plan.census:
                bound = betting.largest_gain(bet, self.cells, plan.design, labelled)[0]
                total = total + betting.log_factors(self._values(bet, one, segment, weighted=weighted), bound)
            asked = plan.ask & (one.label != UNDECIDED)
            np.add.at(labelled[0], (plan.cell[asked], one.label[asked]), 1)
        return total

    def _values(
        self, bet: betting.Bet, one: LabelledRound, segment: str | None, *, weighted: bool
    ) -> Floats:
        """X (T,) of every draw of a round; draws outside the segment count 0."""
        decided = one.label != UNDECIDED
        y = np.where(decided, one.label, 0)
        weight = 1 / (self.cells.n_items * one.plan.probability) if weighted else 1.0
        inside = self._inside(one, segment)
        value_of = inside * weight * bet.table[one.prediction, y]
        constant = bet.constant if weighted else bet.constant * inside
        return np.where(decided, constant + value_of, betting.undecided_value(bet))

    def _inside(self, one: LabelledRound, segment: str | None) -> Floats:
        """(T,) 1 for draws in the segment, or for all where there is none."""
        if segment is None:
            return np.ones(len(one.label))
        column, i = self.places[segment]
        return np.asarray(one.segment[column] == i, dtype=np.float64)


def from_interval(measured: Measured, limit: Limit) -> Floats:
    """(G,) what an interval says; zeros where there is none."""
    if measured.value is None or measured.lower is None or measured.upper is None:
        return np.zeros(len(betting.TILTS))
    return betting.interval_log_factors(
        measured.value, measured.lower, measured.upper, measured.confidence, limit.value, limit.side
    )


def surprise(measured: Measured, limit: Limit) -> Floats:
    """(G,) −log p of an interval; zeros where there is none."""
    if measured.value is None or measured.lower is None or measured.upper is None:
        return np.zeros(len(betting.TILTS))
    return betting.interval_surprise(
        measured.value, measured.lower, measured.upper, measured.confidence, limit.value, limit.side
    )
