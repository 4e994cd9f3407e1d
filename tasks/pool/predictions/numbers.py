"""Numbers: a predicted number lies within the bounds of the labels, what a judge says is any number."""

import numpy as np
import pyarrow as pa

from assay.evalcore.outcomes.base import LARGEST
from assay.evalcore.types import Array, Floats
from assay.tasks.pool.kind import PredictionReader
from assay.tasks.pool.predictions.any_outcome import OutcomePredictions
from assay.tasks.pool.predictions.systems import PredictionsOfSystems
from assay.tasks.spec.pool import System


class NumberPredictions(OutcomePredictions):
    """The number that is predicted."""

    type = pa.float64()

    def predicted_codes(self, rows: PredictionReader, name: str) -> Array:
        numbers, (low, high) = self.judged(rows, name), self._spec.labels.answers.bounds
        rows.refuse(name, (numbers < low) | (numbers > high), f"are not between {low:g} and {high:g}",
                    "these are the bounds under `labels`; widen them, or correct the predictions")
        return numbers

    def judged(self, rows: PredictionReader, name: str) -> Array:
        numbers = rows.numbers(name)
        rows.refuse(name, np.abs(numbers) > LARGEST, f"are beyond ±{LARGEST:g}",
                    "such a number stands for a missing one: drop these rows, or give them a real one")
        return numbers


# Systems that predict a number.

class NumbersOfSystems(PredictionsOfSystems, NumberPredictions):
    """The number that each of several systems predicts."""

    def given(self, rows: PredictionReader, system: System, code: Array) -> Floats:
        """Numbers have no probability."""
        return np.zeros((len(code), 0))
