"""Numbers: a predicted number lies within the bounds of the labels, what a judge says is any number."""

import pyarrow as pa

from assay.evalcore.types import Array
from assay.tasks.pool.predictions.any_outcome import OutcomePredictions
from assay.tasks.pool.predictions.protocol import Reading


class NumberPredictions(OutcomePredictions):
    """See the top of this module."""

    type = pa.float64()

    def said(self, rows: Reading, name: str) -> Array:
        """See OutcomePredictions.said."""
        numbers, (low, high) = rows.numbers(name), self._spec.labels.answers.bounds
        rows.refuse(name, (numbers < low) | (numbers > high), f"are not between {low:g} and {high:g}",
                    "these are the bounds under `labels`; widen them, or correct the predictions")
        return numbers

    def judged(self, rows: Reading, name: str) -> Array:
        """See OutcomePredictions.judged."""
        return rows.numbers(name)
