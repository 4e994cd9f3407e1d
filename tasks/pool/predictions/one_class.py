"""One class of several against the rest: what methods of two classes read of the pool.

A prediction is the name of a class; it is positive where it is the class that is asked for. The probability
is that class's own column, or what the confidence in the prediction leaves to it, which all other classes
share alike. The score is its log-odds. Without probabilities the prediction is a score of two values.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from assay.evalcore.methods.one_of_several import against_the_rest
from assay.evalcore.types import Floats
from assay.tasks.pool.kind import PredictionReader
from assay.tasks.pool.predictions.any_outcome import probability_in
from assay.tasks.pool.predictions.classes import no_class_among
from assay.tasks.pool.predictions.two_classes import TwoClassPredictions


class OneClassPredictions(TwoClassPredictions):
    """The prediction, score and probability of one class against the rest."""

    @property
    def source_columns(self) -> Sequence[str]:
        """The prediction, the probability, features and further systems."""
        pool = self._spec.pool
        roles = [pool.prediction, self._column, *(pool.features or ()), *self._systems]
        return [name for name in roles if name is not None]

    @property
    def codes(self) -> Mapping[str, int]:
        """1 of the class, 0 of all others."""
        labels = self._spec.labels
        return {name: labels.codes[name] for name in labels.answers.choices}

    def other_code(self, value: str) -> int:
        """-1: classes have no other spellings."""
        return -1

    @property
    def no_class(self) -> tuple[str, str]:
        return no_class_among(self._spec.labels.answers.choices)

    @property
    def _column(self) -> str | None:
        """That of the class's probability, or of the confidence; None without either."""
        pool, labels = self._spec.pool, self._spec.labels
        columns = pool.probability_columns(labels.answers.choices)
        if columns is None:
            return pool.probability_column
        return dict(zip(labels.answers.choices, columns, strict=True))[labels.offered[0]]

    def _scores(self, rows: PredictionReader) -> tuple[Floats, Floats]:
        predicted, name = rows.codes(str(self._spec.pool.prediction)), self._column
        given = None if name is None else probability_in(rows, name)
        if given is not None and self._spec.pool.probability_column is not None:
            others = len(self._spec.labels.answers.choices) - 1
            given = np.where(predicted == 1, given, (1 - given) / others)
        found = against_the_rest(1, predicted, given)
        return found.score, found.probability
