"""Systems that predict a class.

What a system gives each class are its own probabilities; the logistic function of its score, less its
threshold; or CONFIDENCE for what it predicts.
"""

import numpy as np
import pyarrow as pa
from scipy.special import expit

from assay.evalcore.outcomes.classes import CONFIDENCE
from assay.evalcore.types import Array, Floats
from assay.tasks.ledger.manifest import PREDICTIONS
from assay.tasks.pool.predictions.any_outcome import probability_in
from assay.tasks.pool.predictions.compared.systems import PredictionsOfSystems
from assay.tasks.pool.predictions.protocol import Reading
from assay.tasks.pool.predictions.several_classes import (
    SeveralClassPredictions,
    table_of_classes,
    table_of_confidence,
)
from assay.tasks.spec.pool import columns_by_class
from assay.tasks.spec.systems import System


class ClassesOfSystems(PredictionsOfSystems, SeveralClassPredictions):
    """See the top of this module."""

    type = pa.int16()
    column = PREDICTIONS

    def other_code(self, value: str) -> int:
        """TRUE means true, with a positive and a negative class."""
        return self._codes.get(value.casefold(), -1) if self._counted else -1

    @property
    def told(self) -> bool:
        """True."""
        return True

    def predicted(self, rows: Reading, system: System) -> Array:
        """(n,) codes; of two classes the positive one has code 1."""
        if system.prediction is not None:
            return self.said(rows, system.prediction)
        threshold = system.threshold or 0.0
        if system.score is not None:
            return (rows.numbers(system.score) > threshold).astype(np.int16)
        return (probability_in(rows, str(system.probability)) >= threshold).astype(np.int16)

    def given(self, rows: Reading, system: System, code: Array) -> Floats:
        """See PredictionsOfSystems.given."""
        k = len(self._parts)
        by_class = columns_by_class(system.probability, self._parts)
        if by_class is not None:
            return table_of_classes(rows, by_class)
        if not self._counted and isinstance(system.probability, str):
            return table_of_confidence(probability_in(rows, system.probability), code, k)
        if isinstance(system.probability, str):
            positive = probability_in(rows, system.probability)
        elif system.score is not None:
            positive = expit(rows.numbers(system.score) - (system.threshold or 0.0))
        else:
            return table_of_confidence(np.full(len(code), CONFIDENCE), code, k)
        return np.stack([1 - positive, positive], axis=1)

    @property
    def _counted(self) -> bool:
        kind = self._spec.labels.outcome
        return kind is not None and kind.counted is not None
