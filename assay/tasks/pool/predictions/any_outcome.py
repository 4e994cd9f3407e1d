"""Any labels but a positive and a negative class: what the pool predicts of an item, and what judges say.

The prediction and each judge are columns of what people may answer: a class, a number, or tags joined by
bars. Probabilities are of each class or each tag. All are optional, as far as no measure needs them.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from assay.evalcore.monitoring.profile import Beside, Profile, expected_of, scores_like, with_what_is_beside
from assay.evalcore.outcomes.items import SILENT, Items
from assay.evalcore.types import Array, Floats
from assay.tasks.arrow import numbers_of
from assay.tasks.ledger.manifest import BESIDE, JUDGES, PROBABILITIES
from assay.tasks.pool.kind import (
    CellRows,
    PoolToCut,
    PredictionCounts,
    PredictionReader,
    Predictions,
    Watching,
    rows_by_part,
)
from assay.tasks.pool.predictions.gathered import (
    PACKED,
    OutcomeCut,
    RowsSoFar,
    cut_items,
    outcome_kind_of,
    packed,
)
from assay.tasks.sources.chances import within_0_and_1
from assay.tasks.spec.evaluation import Spec


class OutcomePredictions(Predictions):
    """Predictions of any kind of outcome: a kind of labels says how a column is read, and its type."""

    type: pa.DataType    # of the column of predictions

    def __init__(self, spec: Spec) -> None:
        super().__init__(spec)
        self._parts = spec.labels.names
        self._columns = spec.pool.probability_columns(self._parts)

    @property
    def source_columns(self) -> Sequence[str]:
        """The columns of the source that are read: prediction, probabilities, judges, what is beside them,
        and features, as far as the spec names them; each once."""
        pool = self._spec.pool
        single = [pool.prediction, pool.probability_column]
        columns = [*(name for name in single if name is not None), *(self._columns or ()), *pool.judges]
        return list(dict.fromkeys([*columns, *pool.beside, *(pool.features or ())]))

    @property
    def fields(self) -> Sequence[tuple[str, pa.DataType]]:
        """Of the prediction, the probabilities, the judges and what is beside them, those that there are."""
        pool = self._spec.pool
        fields = (
            ("prediction", self.type, pool.prediction is not None),
            (PROBABILITIES, pa.binary(4 * len(self._parts)), pool.probability is not None),
            (JUDGES, pa.binary(8 * len(pool.judges)), bool(pool.judges)),
            (BESIDE, pa.binary(8 * len(pool.beside)), bool(pool.beside)),
        )
        return [(name, type) for name, type, present in fields if present]

    @property
    def method(self) -> str:
        """The method that the spec asks for, by the name that it has for any kind of outcome."""
        return self._spec.choice.method

    def method_for(self, predicted: tuple[int, ...]) -> str:
        """The spec's, `auto` with what it means for so many predictions."""
        return self._spec.choice_of(predicted).method

    def arrays(self, rows: PredictionReader) -> list[Array]:
        pool = self._spec.pool
        arrays: list[Array] = []
        predicted = None if pool.prediction is None else self.predicted_codes(rows, pool.prediction)
        if predicted is not None:
            arrays.append(predicted)
        if pool.probability is not None:
            arrays.append(packed(self.probabilities(rows, predicted), PACKED[PROBABILITIES]))
        if pool.judges:
            arrays.append(packed(self.judges(rows), PACKED[JUDGES]))
        if pool.beside:
            arrays.append(packed(self.beside(rows), PACKED[BESIDE]))
        return arrays + self.features(rows)

    @abstractmethod
    def predicted_codes(self, rows: PredictionReader, name: str) -> Array:
        """The codes (n,) of a column of predictions, as the kind of labels reads it. Raises BadInput for
        values that are no answer."""

    def judged(self, rows: PredictionReader, name: str) -> Array:
        """The codes (n,) of what one judge says, read as predictions are; a kind of labels may allow a judge
        more."""
        return self.predicted_codes(rows, name)

    def judges(self, rows: PredictionReader) -> Floats:
        """(n, J) the codes of all judges; SILENT where one says nothing."""
        columns = []
        for name in self._spec.pool.judges:
            gaps = rows.gaps(name) if self.missing_code < 0 else None    # else no value says something
            if gaps is None or not gaps.any():
                columns.append(self.judged(rows, name).astype(np.float64))
                continue
            codes = 0.0 if gaps.all() else self.judged(rows.bridged(name, gaps), name)
            columns.append(np.where(gaps, SILENT, codes))
        return np.stack(columns, axis=1)

    def beside(self, rows: PredictionReader) -> Floats:
        """The columns beside the guesses, (n, X), X columns: the covariates, and last the spread of the
        prediction, where there is one. Raises BadInput for a spread that is not above 0."""
        pool = self._spec.pool
        columns = [rows.number_column(name) for name in pool.beside]
        if pool.spread is not None:
            rows.refuse(pool.spread, columns[-1] <= 0, "are not above 0",
                        "the spread of a prediction is a positive number, in any unit; correct the column")
        return np.stack(columns, axis=1)

    def probabilities(self, rows: PredictionReader, predicted: Array | None) -> Array:
        """The probabilities (n, K), K classes or tags, from the columns that the spec names, each within [0,
        1]."""
        columns = self._columns or []
        return np.stack([probability_in(rows, name) for name in columns], axis=1).astype(np.float32)

    @property
    def counted_columns(self) -> list[str]:
        """The id, where nothing is predicted: the rows have to be there."""
        return ["item_id" if self._spec.pool.prediction is None else "prediction"]

    def counts(self, table: pa.Table) -> PredictionCounts:
        kind = outcome_kind_of(self._spec)
        if self._spec.pool.prediction is None:
            return PredictionCounts(predicted=(0,) * len(kind.parts))
        return PredictionCounts(predicted=rows_by_part(kind, numbers_of(table.column("prediction"))))

    def cut(self, method: str, pool: PoolToCut) -> tuple[OutcomeCut, CellRows]:
        return cut_items(self._spec, method, pool)

    def watching(self) -> Watching:
        return WatchedItems(self._spec)

    def cut_from_json(self, data: Mapping[str, object]) -> OutcomeCut:
        return OutcomeCut.from_json(data)


def probability_in(
    rows: PredictionReader, name: str,
    remedy: str = "a probability is; correct the column, or leave the probability out",
) -> Array:
    """A column (n,) of numbers within [0, 1]; remedy: for one that is not."""
    numbers, outside = within_0_and_1(rows.number_column(name))
    rows.refuse(name, outside, "are not within [0, 1]", remedy)
    return numbers


class WatchedItems(Watching):
    """What the probabilities expect of the measure, and how often each class or tag is predicted.

    With classes, scores are the probability of the predicted one.
    """

    def __init__(self, spec: Spec) -> None:
        super().__init__()
        self._spec, self._said = spec, RowsSoFar(spec)
        self._predicted = np.zeros(len(outcome_kind_of(spec).parts), np.int64)

    def add(self, rows: pa.RecordBatch) -> None:
        super().add(rows)
        self._said.add(pa.Table.from_batches([rows]))
        if self._spec.pool.prediction is not None:
            predicted = rows_by_part(outcome_kind_of(self._spec), numbers_of(rows.column("prediction")))
            self._predicted += np.array(predicted, np.int64)

    def profile(self, beside: Beside, like: Profile | None) -> Profile:
        items, names = self._said.items(), self._spec.labels.names
        kind = outcome_kind_of(self._spec)
        expected, spread = expected_of(self._spec.measure[0].outcome_measure(kind, len(items)), items)
        scored = items.probability is not None and items.systems and not self._spec.labels.answers.several
        profile = Profile(
            rows=self._rows, expected=expected, expected_spread=spread,
            scores=scores_like(_confidence(items), like) if scored else None,
            classes=dict(zip(names, self._predicted.tolist(), strict=True)) if items.systems else {},
        )
        self._said.close()
        return with_what_is_beside(profile, beside, like)


def _confidence(items: Items) -> Floats:
    """(n,) the probability of the predicted class."""
    return np.concatenate([
        np.take_along_axis(piece.probability, piece.prediction[:, :1].astype(np.int64), axis=1)[:, 0]
        for _, piece in items.chunks() if piece.probability is not None
    ])
