"""A closed round as the ledger holds it: what was planned, what its items were closed with, the labels."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from assay.evalcore.evaluation.labelled_round import LabelledRound, Segments
from assay.evalcore.evaluation.state import RoundPlan
from assay.evalcore.types import Array, Ints
from assay.tasks.ledger.rounds.labels import Decided
from assay.tasks.ledger.rounds.plan import PlannedRound


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ClosedRound:
    """A round and the labels of its draws; some have none (`LabelCodes`)."""

    planned: PlannedRound
    labels: Array  # (T,)
    decided: Sequence[Decided] = ()  # what it was closed with

    def labelled(self, segments: Segments) -> LabelledRound:
        """As the statistics of two classes take it; segments: the columns of the pool and their values."""
        return LabelledRound(
            plan=cast(RoundPlan, self.planned.plan),
            prediction=np.asarray(self.planned.prediction, np.int64),
            label=self.labels,
            new=np.array([label is None for label in self.planned.known], np.bool_),
            segment=self.places(segments),
        )

    def places(self, segments: Segments) -> dict[str, Ints]:
        """Column -> (T,) which of the column's values each draw's item has, counted from 0."""
        index = {column: {value: i for i, value in enumerate(values)} for column, values in segments.items()}
        return {
            column: np.array([of[item[column]] for item in self.planned.segments], np.int64)
            for column, of in index.items()
        }
