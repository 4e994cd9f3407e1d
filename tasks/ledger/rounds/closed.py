"""A closed round as the ledger holds it: what was planned, what its items were closed with, the labels."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from assay.evalcore.evaluation.label_codes import LabelCodes
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
    decided: Sequence[Decided] | None = None   # what it was closed with; None: in brief

    def has_gaps(self, codes: LabelCodes) -> bool:
        """Whether it was closed with items unanswered."""
        return bool((self.labels == codes.unanswered).any())

    def in_brief(self) -> "ClosedRound":
        """Without what people saw and what each item was closed with: what a checkpoint keeps."""
        if self.decided is None:
            return self
        planned = replace(self.planned, shown=[None] * len(self.planned.item_id))
        return ClosedRound(planned=planned, labels=self.labels)

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
