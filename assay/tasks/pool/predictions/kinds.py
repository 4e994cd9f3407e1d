"""One question, by its kind of labels: classes of equal standing, grades and preferences; numbers; tags; and
one class of several against the rest.

**Classes.**  The probabilities of an item are numbers within [0, 1] with a sum of 1, as far as they are
rounded (`assay.tasks.sources.chances`). One column alone holds the confidence in the prediction: the rest is
shared by the other classes.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import scipy

from assay.evalcore.methods.one_of_several import against_the_rest
from assay.evalcore.outcomes.base import LARGEST_OUTCOME
from assay.evalcore.outcomes.class_names import ClassReader
from assay.evalcore.outcomes.classes import GUESSED_CLASS_PROBABILITY
from assay.evalcore.outcomes.tags import GUESSED_TAG_PROBABILITY
from assay.evalcore.types import Array, Floats
from assay.tasks.ledger.manifest import PREDICTIONS
from assay.tasks.pool.kind import PredictionReader
from assay.tasks.pool.predictions.any_outcome import OutcomePredictions, probability_in
from assay.tasks.pool.predictions.gathered import outcome_kind_of
from assay.tasks.pool.predictions.systems import PredictionsOfSystems
from assay.tasks.pool.predictions.two_classes import TwoClassPredictions
from assay.tasks.sources.chances import RowSums
from assay.tasks.spec.pool import System, columns_by_class


class SeveralClassPredictions(OutcomePredictions):
    """Predictions of one of several classes: the code of the predicted class in 16 bits, and the probability
    of each class."""

    type = pa.int16()

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
        values = rows.number_column(name)
        rows.refuse(name, (values < grades[0]) | (values > grades[-1]),
                    f"are not between the grades {grades[0]:g} and {grades[-1]:g}",
                    "a judge says a grade or what lies between two; correct the column, or the grades")
        return np.asarray(np.interp(values, grades, np.arange(len(grades))))

    def probabilities(self, rows: PredictionReader, predicted: Array | None) -> Array:
        """The probabilities (n, K), K classes, each row with sum 1: from a column for each class, or from
        one confidence in the predicted class, whose rest the others share."""
        if self._columns is not None:
            return table_of_classes(rows, self._columns)
        if predicted is None:
            raise ValueError("a confidence is confidence in a prediction")
        sure = probability_in(rows, str(self._spec.pool.probability_column))
        return table_of_confidence(sure, predicted, len(self._parts))


def no_class_among(names: Sequence[str]) -> tuple[str, str]:
    """What is wrong with values that are none of these classes, and the remedy."""
    head = ", ".join(map(repr, names[:5])) + (", ..." if len(names) > 5 else "")
    return (f"are none of the {len(names)} classes ({head})",
            "a prediction is a class name as under `labels`; correct either")


def table_of_classes(rows: PredictionReader, columns: Sequence[str]) -> Array:
    """The supplied probabilities (n, K), K classes, divided by their sums. Raises BadInput, which lists
    rows, where a sum is not 1 as far as the numbers are rounded."""
    for k, name in enumerate(columns):
        supplied = probability_in(rows, name)
        if not k:
            table, sums = np.empty((len(supplied), len(columns)), np.float32), RowSums(len(supplied))
        table[:, k] = supplied
        sums.add(supplied)
    rows.refuse(columns[0], ~sums.are_one(), "begin rows whose probabilities do not sum to 1",
                "correct these columns, or leave the probabilities out")
    table /= sums.total[:, None].astype(np.float32)
    return table


def table_of_confidence(supplied: Array, code: Array, k: int) -> Array:
    """(n, K) the confidence (n,) for the predicted class, the rest shared by the others."""
    table = np.repeat(((1 - supplied) / (k - 1))[:, None], k, axis=1)
    table[np.arange(len(code)), code] = supplied
    return table


class ClassesOfSystems(PredictionsOfSystems, SeveralClassPredictions):
    """Predictions of one of several classes by each of several systems, with what each system gives each
    class.

    Systems that predict a class.

    What a system gives each class are its own probabilities; the logistic function of its score, less its
    threshold; or GUESSED_CLASS_PROBABILITY for what it predicts.
    """

    type = pa.int16()
    column = PREDICTIONS

    @property
    def gives_probabilities(self) -> bool:
        """Always True: what a system gives each class is known, at least as a fixed confidence in what it
        predicts."""
        return True

    def predicted(self, rows: PredictionReader, system: System) -> Array:
        """(n,) codes; of two classes the positive one has code 1."""
        if system.prediction is not None:
            return self.predicted_codes(rows, system.prediction)
        threshold = system.threshold or 0.0
        if system.score is not None:
            return (rows.number_column(system.score) > threshold).astype(np.int16)
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
            positive = scipy.special.expit(rows.number_column(system.score) - (system.threshold or 0.0))
        else:
            return table_of_confidence(np.full(len(code), GUESSED_CLASS_PROBABILITY), code, k)
        return np.stack([1 - positive, positive], axis=1)

    @property
    def _counted(self) -> bool:
        kind = self._spec.labels.outcome
        return kind is not None and kind.counted is not None


class NumberPredictions(OutcomePredictions):
    """Predictions of a number, a float of 64 bits, within the bounds of the labels."""

    type = pa.float64()

    def predicted_codes(self, rows: PredictionReader, name: str) -> Array:
        numbers, (low, high) = self.judged(rows, name), self._spec.labels.answers.bounds
        rows.refuse(name, (numbers < low) | (numbers > high), f"are not between {low:g} and {high:g}",
                    "these are the bounds under `labels`; widen them, or correct the predictions")
        return numbers

    def judged(self, rows: PredictionReader, name: str) -> Array:
        numbers = rows.number_column(name)
        rows.refuse(name, np.abs(numbers) > LARGEST_OUTCOME, f"are beyond ±{LARGEST_OUTCOME:g}",
                    "such a number stands for a missing one: drop these rows, or give them a real one")
        return numbers


class NumbersOfSystems(PredictionsOfSystems, NumberPredictions):
    """Predictions of a number by each of several systems; they come without probabilities."""

    def given(self, rows: PredictionReader, system: System, code: Array) -> Floats:
        """An empty table, (n, 0), as numbers have no probabilities."""
        return np.zeros((len(code), 0))


class TagPredictions(OutcomePredictions):
    """Predictions of tags: a mask of 64 bits, 0 where a row has no tag, and the probability of each tag."""

    type = pa.int64()

    missing_code = 0

    def code_of(self, value: str) -> int:
        """The mask of the tags; no tag where the text is empty."""
        return super().code_of(value) if value.strip() else self.missing_code

    @property
    def no_class(self) -> tuple[str, str]:
        head = ", ".join(map(repr, self._parts[:5])) + (", ..." if len(self._parts) > 5 else "")
        return (f"are no tags out of {head}",
                'tags are joined by "|" and named as under `labels`; correct either')

    def predicted_codes(self, rows: PredictionReader, name: str) -> Array:
        return rows.codes(name).astype(np.int64)


class TagsOfSystems(PredictionsOfSystems, TagPredictions):
    """Predictions of tags by each of several systems, with what each gives each tag where any system has
    probabilities.

    Systems that predict tags.

    What a system gives each tag is its own probability, or GUESSED_TAG_PROBABILITY for what it predicts.
    Nothing is kept of it where no system has probabilities.
    """

    @property
    def gives_probabilities(self) -> bool:
        """Whether at least one of the systems has probabilities of tags; nothing of them is kept otherwise.
        """
        return any(system.probability is not None for system in self._systems.values())

    def given(self, rows: PredictionReader, system: System, code: Array) -> Floats:
        columns = columns_by_class(system.probability, self._parts)
        if columns is not None:
            return np.stack([probability_in(rows, name) for name in columns], axis=1)
        bits = outcome_kind_of(self._spec).phi(code.astype(np.float64))
        return np.where(bits > 0, GUESSED_TAG_PROBABILITY, 1 - GUESSED_TAG_PROBABILITY)


class OneClassPredictions(TwoClassPredictions):
    """The prediction, score and probability of one class against the rest.

    One class of several against the rest: what methods of two classes read of the pool.

    A prediction is the name of a class; it is positive where it is the class that is asked for. The
    probability is that class's own column, or what the confidence in the prediction leaves to it, which all
    other classes share alike. The score is its log-odds. Without probabilities the prediction is a score of
    two values.
    """

    @property
    def source_columns(self) -> Sequence[str]:
        """The columns of the source that are read: the prediction, the column of the class's probability or
        of the confidence, features, and further systems."""
        pool = self._spec.pool
        roles = [pool.prediction, self._column, *(pool.features or ()), *self._systems]
        return [name for name in roles if name is not None]

    def code_of(self, value: str) -> int:
        """The code of a class name: 1 for the class that is asked for, 0 for all others, -1 for a text that
        is no class."""
        labels = self._spec.labels
        name = ClassReader(labels.answers.choices).read(value)
        return -1 if name is None else labels.codes[name]

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
        probability = None if name is None else probability_in(rows, name)
        if probability is not None and self._spec.pool.probability_column is not None:
            other_classes = len(self._spec.labels.answers.choices) - 1
            probability = np.where(predicted == 1, probability, (1 - probability) / other_classes)
        scores = against_the_rest(1, predicted, probability)
        return scores.score, scores.probability
