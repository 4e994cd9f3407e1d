"""Tags: several tags joined by bars or listed, none where a row has no value; a probability of each tag."""

import numpy as np
import pyarrow as pa

from assay.evalcore.outcomes.tags import CONFIDENCE
from assay.evalcore.types import Array, Floats
from assay.tasks.pool.kind import PredictionReader
from assay.tasks.pool.predictions.any_outcome import OutcomePredictions, probability_in
from assay.tasks.pool.predictions.gathered import outcome_kind_of
from assay.tasks.pool.predictions.systems import PredictionsOfSystems
from assay.tasks.spec.pool import System, columns_by_class


class TagPredictions(OutcomePredictions):
    """The tags that are predicted, and the probability of each."""

    type = pa.int64()

    missing_code = 0

    def other_code(self, value: str) -> int:
        """The mask of the tags; no tag where the text is empty."""
        answers = self._spec.labels.answers
        tags = answers.spelled(value) if value.strip() else answers.empty
        return -1 if tags is None else int(answers.code(tags))

    @property
    def no_class(self) -> tuple[str, str]:
        some = ", ".join(map(repr, self._parts[:5])) + (", ..." if len(self._parts) > 5 else "")
        return (f"are no tags out of {some}",
                'tags are joined by "|" and named as under `labels`; correct either')

    def predicted_codes(self, rows: PredictionReader, name: str) -> Array:
        return rows.codes(name).astype(np.int64)


# Systems that predict tags.
#
# What a system gives each tag is its own probability, or CONFIDENCE for what it predicts. Nothing is kept of
# it where no system has probabilities.

class TagsOfSystems(PredictionsOfSystems, TagPredictions):
    """The same of each of several systems."""

    @property
    def told(self) -> bool:
        """Whether one of the systems has probabilities."""
        return any(system.probability is not None for system in self._systems.values())

    def given(self, rows: PredictionReader, system: System, code: Array) -> Floats:
        columns = columns_by_class(system.probability, self._parts)
        if columns is not None:
            return np.stack([probability_in(rows, name) for name in columns], axis=1)
        bits = outcome_kind_of(self._spec).phi(code.astype(np.float64))
        return np.where(bits > 0, CONFIDENCE, 1 - CONFIDENCE)
