"""A positive and a negative class whose statistics are those of any classes: with curves, or clusters.

Prediction, score and probability are read as with two classes (`two_classes`). Kept are the code of the
prediction, the probabilities of both classes as floats of 32 bits, and the score where the pool has one.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from assay.evalcore.outcome_methods.registry import outcome_method
from assay.evalcore.types import Array
from assay.tasks.arrow import numbers_of
from assay.tasks.ledger.manifest import PROBABILITIES
from assay.tasks.pool.cutting.cell_rows import CellRows
from assay.tasks.pool.cutting.pool_to_cut import PoolToCut
from assay.tasks.pool.predictions.gathered_items import OutcomeCut, cut_items, outcome_kind_of
from assay.tasks.pool.predictions.mergeable_counts import PredictionCounts, rows_by_part
from assay.tasks.pool.predictions.packed import packed
from assay.tasks.pool.predictions.protocol import Reading
from assay.tasks.pool.predictions.two_classes import TwoClassPredictions


class ScoredPredictions(TwoClassPredictions):
    """See the top of this module."""

    @property
    def fields(self) -> Sequence[tuple[str, pa.DataType]]:
        """The code of the prediction, the probabilities of both classes, and the score where there is one."""
        score = [("score", pa.float64())] if self._spec.pool.score else []
        return [("prediction", pa.int16()), (PROBABILITIES, pa.binary(8)), *score]

    @property
    def cut_fields(self) -> Sequence[tuple[str, pa.DataType]]:
        """None."""
        return ()

    @property
    def method(self) -> str:
        """The spec's."""
        return outcome_method(self._spec.method).written

    @property
    def ranked(self) -> str | None:
        """Nothing: the cut is that of any kind of labels."""
        return None

    def arrays(self, rows: Reading) -> list[Array]:
        """See Predictions.arrays."""
        score, probability = self._scores(rows)
        prediction = self._prediction(rows, score, probability).astype(np.int16)
        both = packed(np.stack([1 - probability, probability], axis=1), "<f4")
        return [prediction, both, *([score] if self._spec.pool.score else [])]

    @property
    def counted_columns(self) -> list[str]:
        """See Predictions.counted_columns."""
        return ["prediction"]

    def counts(self, table: pa.Table) -> PredictionCounts:
        """See Predictions.counts."""
        codes = numbers_of(table.column("prediction"))
        return PredictionCounts(predicted=rows_by_part(outcome_kind_of(self._spec), codes))

    def cut(self, method: str, pool: PoolToCut) -> tuple[Any, CellRows]:
        """See Predictions.cut."""
        return cut_items(self._spec, method, pool, scored=True)

    def cut_from_json(self, data: Mapping[str, Any]) -> Any:
        """See Predictions.cut_from_json."""
        return OutcomeCut.from_json(data)
