"""Systems that predict a number."""

import numpy as np

from assay.evalcore.types import Array, Floats
from assay.tasks.pool.predictions.compared.systems import PredictionsOfSystems
from assay.tasks.pool.predictions.numbers import NumberPredictions
from assay.tasks.pool.predictions.protocol import Reading
from assay.tasks.spec.systems import System


class NumbersOfSystems(PredictionsOfSystems, NumberPredictions):
    """See the top of this module."""

    def given(self, rows: Reading, system: System, code: Array) -> Floats:
        """Numbers have no probability."""
        return np.zeros((len(code), 0))
