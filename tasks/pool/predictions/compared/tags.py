"""Systems that predict tags.

What a system gives each tag is its own probability, or CONFIDENCE for what it predicts. Nothing is kept of it
where no system has probabilities.
"""

import numpy as np

from assay.evalcore.outcomes.tags import CONFIDENCE
from assay.evalcore.types import Array, Floats
from assay.tasks.pool.predictions.any_outcome import probability_in
from assay.tasks.pool.predictions.compared.systems import PredictionsOfSystems
from assay.tasks.pool.predictions.gathered_items import outcome_kind_of
from assay.tasks.pool.predictions.protocol import Reading
from assay.tasks.pool.predictions.tags import TagPredictions
from assay.tasks.spec.pool import columns_by_class
from assay.tasks.spec.systems import System


class TagsOfSystems(PredictionsOfSystems, TagPredictions):
    """See the top of this module."""

    @property
    def told(self) -> bool:
        """Whether one of the systems has probabilities."""
        return any(system.probability is not None for system in self._systems.values())

    def given(self, rows: Reading, system: System, code: Array) -> Floats:
        """See PredictionsOfSystems.given."""
        columns = columns_by_class(system.probability, self._parts)
        if columns is not None:
            return np.stack([probability_in(rows, name) for name in columns], axis=1)
        bits = outcome_kind_of(self._spec).phi(code.astype(np.float64))
        return np.where(bits > 0, CONFIDENCE, 1 - CONFIDENCE)
