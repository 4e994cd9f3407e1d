"""Classes of equal standing, grades and preferences.

The probabilities of an item are numbers within [0, 1] with a sum of 1, to a hundredth. One column alone holds
the confidence in the prediction: the rest is shared by the other classes.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import scipy

from assay.evalcore.outcomes.classes import CONFIDENCE
from assay.evalcore.types import Array, Floats
from assay.tasks.ledger.manifest import PREDICTIONS
from assay.tasks.pool.kind import PredictionReader
from assay.tasks.pool.predictions.any_outcome import OutcomePredictions, probability_in
from assay.tasks.pool.predictions.systems import PredictionsOfSystems
from assay.tasks.spec.evaluation import Spec
from assay.tasks.spec.pool import System, columns_by_class

_SUM = 0.01    # how far from 1 the sum of an item's probabilities may be: rounded ones are taken


class SeveralClassPredictions(OutcomePredictions):
    """The class that is predicted, and the probability of each."""

    type = pa.int16()

    def __init__(self, spec: Spec) -> None:
        super().__init__(spec)
        labels = spec.labels
        self._codes = {spelling: labels.codes[name] for spelling, name in labels.spellings.items()}

    @property
    def codes(self) -> Mapping[str, int]:
        """The class names, and other spellings of grades."""
        return self._codes

    @property
    def no_class(self) -> tuple[str, str]:
        return no_class_among(self._parts)

    def predicted_codes(self, rows: PredictionReader, name: str) -> Array:
        return rows.codes(name).astype(np.int16)

    def judged(self, rows: PredictionReader, name: str) -> Array:
        """Of grades a judge may say what lies between two: its code does too."""
        kind, ordered = self._spec.labels.outcome, self._spec.labels.answers.ordered
        grades = kind.grades if ordered and kind is not None else None
        if grades is None:
            return self.predicted_codes(rows, name)
        values = rows.numbers(name)
        rows.refuse(name, (values < grades[0]) | (values > grades[-1]),
                    f"are not between the grades {grades[0]:g} and {grades[-1]:g}",
                    "a judge says a grade or what lies between two; correct the column, or the grades")
        return np.asarray(np.interp(values, grades, np.arange(len(grades))))

    def probabilities(self, rows: PredictionReader, predicted: Array | None) -> Array:
        """(n, K) that sum to 1."""
        if self._columns is not None:
            return table_of_classes(rows, self._columns)
        if predicted is None:
            raise ValueError("a confidence is confidence in a prediction")
        sure = probability_in(rows, str(self._spec.pool.probability_column))
        return table_of_confidence(sure, predicted, len(self._parts))


def no_class_among(names: Sequence[str]) -> tuple[str, str]:
    """What is wrong with values that are none of these classes, and the remedy."""
    some = ", ".join(map(repr, names[:5])) + (", ..." if len(names) > 5 else "")
    return (f"are none of the {len(names)} classes ({some})",
            "a prediction is a class name as under `labels`; correct either")


def table_of_classes(rows: PredictionReader, columns: Sequence[str]) -> Array:
    """(n, K) the supplied probabilities, made to sum to 1."""
    first = probability_in(rows, columns[0])
    table, total = np.empty((len(first), len(columns)), np.float32), np.zeros(len(first))
    for k, name in enumerate(columns):
        supplied = probability_in(rows, name)
        table[:, k] = supplied
        total += supplied
    rows.refuse(columns[0], np.abs(total - 1) > _SUM, "begin rows whose probabilities do not sum to 1",
                "correct the columns of pool.probability, or leave it out")
    table /= total[:, None].astype(np.float32)
    return table


def table_of_confidence(supplied: Array, code: Array, k: int) -> Array:
    """(n, K) the confidence (n,) for the predicted class, the rest shared by the others."""
    table = np.repeat(((1 - supplied) / (k - 1))[:, None], k, axis=1)
    table[np.arange(len(code)), code] = supplied
    return table


# Systems that predict a class.
#
# What a system gives each class are its own probabilities; the logistic function of its score, less its
# threshold; or CONFIDENCE for what it predicts.

class ClassesOfSystems(PredictionsOfSystems, SeveralClassPredictions):
    """The same of each of several systems."""

    type = pa.int16()
    column = PREDICTIONS

    def other_code(self, value: str) -> int:
        """TRUE means true, with a positive and a negative class."""
        return self._codes.get(value.casefold(), -1) if self._counted else -1

    @property
    def told(self) -> bool:
        """True."""
        return True

    def predicted(self, rows: PredictionReader, system: System) -> Array:
        """(n,) codes; of two classes the positive one has code 1."""
        if system.prediction is not None:
            return self.predicted_codes(rows, system.prediction)
        threshold = system.threshold or 0.0
        if system.score is not None:
            return (rows.numbers(system.score) > threshold).astype(np.int16)
        return (probability_in(rows, str(system.probability)) >= threshold).astype(np.int16)

    def given(self, rows: PredictionReader, system: System, code: Array) -> Floats:
        k = len(self._parts)
        by_class = columns_by_class(system.probability, self._parts)
        if by_class is not None:
            return table_of_classes(rows, by_class)
        if not self._counted and isinstance(system.probability, str):
            return table_of_confidence(probability_in(rows, system.probability), code, k)
        if isinstance(system.probability, str):
            positive = probability_in(rows, system.probability)
        elif system.score is not None:
            positive = scipy.special.expit(rows.numbers(system.score) - (system.threshold or 0.0))
        else:
            return table_of_confidence(np.full(len(code), CONFIDENCE), code, k)
        return np.stack([1 - positive, positive], axis=1)

    @property
    def _counted(self) -> bool:
        kind = self._spec.labels.outcome
        return kind is not None and kind.counted is not None
