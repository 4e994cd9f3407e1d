"""The evidence of a window of a positive and a negative class: see `evalcore.monitoring.evidence.sample`.

    T   draws of one round;  C cells;  G effects of the betting grid;  K   values of a measure
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from assay.evalcore.evaluation.labelled_round import LabelledRound, chances_of
from assay.evalcore.evaluation.nonresponse import UNANSWERED
from assay.evalcore.measures.base import Measure
from assay.evalcore.monitoring import betting
from assay.evalcore.monitoring.betting import Side
from assay.evalcore.monitoring.evidence.sample import WindowSample
from assay.evalcore.pool.cells import Cells
from assay.evalcore.types import Bools, Floats


@dataclass(frozen=True, kw_only=True, eq=False)
class TwoClassSample(WindowSample):
    """See WindowSample."""

    measure: Measure                 # the one that is watched
    cells: Cells
    rounds: Sequence[LabelledRound]  # with the labels of now

    @property
    def watched(self) -> str:
        """See WindowSample."""
        return self.measure.name

    @property
    def bounds(self) -> tuple[float, float]:
        """See WindowSample."""
        return self.measure.bounds

    @property
    def bets(self) -> bool:
        """See WindowSample."""
        drawn = any(one.one_at_a_time for one in self.rounds)
        return drawn and self.measure.margin(0.5) is not None

    @property
    def dependent(self) -> bool:
        """Where single draws do not say what they stand for, the estimates rest on the label model."""
        return chances_of(self.rounds) is None

    def from_draws(self, values: Floats, side: Side, segment: str | None) -> Floats:
        """See WindowSample."""
        tables = [betting.worth(self.measure, x, side, self.cells) for x in values.tolist()]
        value = np.stack([table for table in tables if table is not None])          # (K, C, 2)
        account = betting.Account.new(len(values))
        for one in self.rounds:
            if one.one_at_a_time:
                account = self._bet(account, value, one, segment)
            else:
                new = self._counted(value, one, segment).sum(axis=1)
                account = replace(account, labelled=account.labelled + new)
        return account.factors

    def _bet(
        self, account: betting.Account, value: Floats, one: LabelledRound, segment: str | None
    ) -> betting.Account:
        """The account after a round whose items were drawn one at a time."""
        design, n_values = one.plan.design, len(value)
        said = betting.expected(value, design.model, self._share(segment))
        cell = one.plan.cell[one.plan.ask]
        counted = self._counted(value, one, segment)
        gaps = one.label[one.plan.ask] == UNANSWERED
        counted[:, gaps] = said.best[:, cell[gaps]]
        after = betting.bet_on_round(
            account, said,
            np.broadcast_to(betting.draw_weights(design), said.mean.shape),
            np.broadcast_to(design.left, said.mean.shape),
            np.broadcast_to(cell, (n_values, len(cell))), counted,
        )
        # an unanswered item goes back to the unlabelled ones
        return replace(after, labelled=after.labelled - counted[:, gaps].sum(axis=1))

    def _counted(self, value: Floats, one: LabelledRound, segment: str | None) -> Floats:
        """v (K, T) of the items asked in a round; 0 where undecided, unanswered or outside the segment."""
        asked = one.plan.ask
        label = one.label[asked]
        v = value[:, one.plan.cell[asked], np.maximum(label, 0)]
        counts = (label >= 0) & self._inside(one, segment)[asked]
        return np.where(counts, v, 0.0)

    def _share(self, segment: str | None) -> float:
        """The share of the window's items that count."""
        if segment is None:
            return 1.0
        column, i = self.places[segment]
        return list(self.segments[column].values())[i] / self.cells.n_items

    def _inside(self, one: LabelledRound, segment: str | None) -> Bools:
        """(T,) whether a draw's item is in the segment; all are where there is none."""
        if segment is None:
            return np.ones(len(one.label), np.bool_)
        column, i = self.places[segment]
        return np.asarray(one.segment[column] == i)
