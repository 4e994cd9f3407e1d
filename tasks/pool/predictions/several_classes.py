"""Classes of equal standing: the predicted class of each item, and probabilities where they are supplied.

The probabilities of an item are numbers within [0, 1] with a sum of 1, to a hundredth; they are kept as K
floats of 32 bits in one column. One column alone holds the confidence in the prediction: the rest is shared
by the other classes. While the pool is read they are kept in a temporary file, so memory does not grow with
K.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from tempfile import TemporaryFile
from typing import Any
from weakref import finalize

import numpy as np
import pyarrow as pa

from assay.evalcore.monitoring.traffic.expected import expected_of
from assay.evalcore.monitoring.traffic.profile import (
    Beside,
    Profile,
    scores_like,
    with_what_is_beside,
)
from assay.evalcore.outcome_measures.comparing import leading, side_by_side
from assay.evalcore.outcome_measures.stack import Stack
from assay.evalcore.outcome_methods.cells import OutcomeCells
from assay.evalcore.outcome_methods.registry import outcome_method
from assay.evalcore.outcomes.base import OutcomeKind
from assay.evalcore.outcomes.items import Items
from assay.evalcore.types import Array, Floats, JsonObject
from assay.tasks.ledger.manifest import PROBABILITIES
from assay.tasks.pool.frozen import packed_bytes
from assay.tasks.pool.frozen_tables import FrozenTables, rows_by_cell
from assay.tasks.pool.predictions.packed import packed
from assay.tasks.pool.predictions.protocol import Gathered, Predictions, Reading, Watching
from assay.tasks.spec.evaluation import Spec

_SUM = 0.01    # how far from 1 the sum of an item's probabilities may be: rounded ones are taken


def kind_of(spec: Spec) -> OutcomeKind:
    """What people answer."""
    kind = spec.labels.outcome
    if kind is None:
        raise ValueError("a positive and a negative class have measures of their own")
    return kind


def stack_of_spec(spec: Spec, pool_size: int) -> Stack:
    """The measures of a spec for a pool of so many items; the first drives the sampling.

    Where systems are compared, every measure of each of them, and its differences from the baseline.
    """
    kind = kind_of(spec)
    systems = range(len(spec.pool.compared) or 1)
    measures = side_by_side([[choice.of(kind, pool_size, s) for s in systems] for choice in spec.measure])
    return Stack(kind=kind, measures=measures, drive=leading(measures))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OutcomeCut:
    """A pool in cells, for any kind of outcome."""

    cells: OutcomeCells

    def to_json(self) -> JsonObject:
        """Nested lists; floats keep every bit through JSON's shortest form."""
        return {name: values.tolist() for name, values in self.cells.to_arrays().items()}

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> "OutcomeCut":
        """The inverse of `to_json`."""
        return OutcomeCut(cells=OutcomeCells.from_arrays({
            name: np.asarray(data[name], type) for name, type in _TYPES.items()
        }))


_TYPES = {
    "size": np.int64, "guess": np.float64, "spread": np.float64, "relevant": np.bool_, "told": np.float64,
    "said": np.float64, "known_sizes": np.int64, "first": np.float64,
}


class SeveralClassPredictions(Predictions):
    """See the top of this module."""

    def __init__(self, spec: Spec) -> None:
        super().__init__(spec)
        labels = spec.labels
        self._names = labels.names
        self._codes = {spelling: labels.codes[name] for spelling, name in labels.spellings.items()}
        self._columns = spec.pool.probability_columns(labels.names)

    @property
    def source_columns(self) -> Sequence[str]:
        """The prediction, and the probabilities there are."""
        pool = self._spec.pool
        confidence = [pool.probability_column] if pool.probability_column else []
        return [str(pool.prediction), *(self._columns or confidence)]

    @property
    def fields(self) -> Sequence[tuple[str, pa.DataType]]:
        """The code of the predicted class, and the probabilities where there are any."""
        supplied = self._spec.pool.probability is not None
        probabilities = [(PROBABILITIES, pa.binary(4 * len(self._names)))] if supplied else []
        return [("prediction", pa.int16()), *probabilities]

    @property
    def codes(self) -> Mapping[str, int]:
        """The class names, and other spellings of grades."""
        return self._codes

    @property
    def no_class(self) -> tuple[str, str]:
        """See Predictions.no_class."""
        some = ", ".join(map(repr, self._names[:5])) + (", ..." if len(self._names) > 5 else "")
        return (f"are none of the {len(self._names)} classes ({some})",
                "a prediction is a class name as under `labels`; correct either")

    @property
    def method(self) -> str:
        """The spec's."""
        return outcome_method(self._spec.method).written

    def arrays(self, rows: Reading) -> list[Array]:
        """See Predictions.arrays."""
        pool = self._spec.pool
        code = rows.codes(str(pool.prediction)).astype(np.int16)
        if pool.probability is None:
            return [code]
        if self._columns is None:
            sure = probability_in(rows, str(pool.probability_column))
            table = table_of_confidence(sure, code, len(self._names))
        else:
            table = table_of_classes(rows, self._columns)
        return [code, packed(table, "<f4")]

    def gathered(self) -> Gathered:
        """See Predictions.gathered."""
        return _Gathered(self._spec)

    def watching(self) -> Watching:
        """See Predictions.watching."""
        return _Watching(self._spec)

    def cut_from_json(self, data: Mapping[str, Any]) -> OutcomeCut:
        """See Predictions.cut_from_json."""
        return OutcomeCut.from_json(data)


def table_of_classes(rows: Reading, columns: Sequence[str]) -> Array:
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


def probability_in(rows: Reading, name: str) -> Array:
    """A column (n,) of numbers within [0, 1]."""
    numbers = rows.numbers(name)
    rows.refuse(name, (numbers < 0) | (numbers > 1), "are not within [0, 1]",
                "a probability is; correct the column, or leave pool.probability out")
    return numbers


class _Rows:
    """The predictions of the rows read so far; their probabilities are in a temporary file."""

    def __init__(self, spec: Spec) -> None:
        self._k = len(spec.labels.names)
        self.predicted = np.zeros(self._k, np.int64)
        self._codes: list[Array] = []
        # it has to outlive this method
        self.file = TemporaryFile() if spec.pool.probability is not None else None   # noqa: SIM115
        if self.file:
            finalize(self, self.file.close)

    def add(self, codes: Array, packed: Sequence[pa.FixedSizeBinaryArray]) -> None:
        """Take the codes of some rows, and their probabilities."""
        self._codes.append(codes)
        self.predicted += np.bincount(codes, minlength=self._k)
        if self.file:
            for chunk in packed:
                self.file.write(packed_bytes(chunk))

    def items(self) -> Items:
        """All of them."""
        codes = np.concatenate(self._codes)
        probability = None
        if self.file:
            self.file.flush()
            probability = np.memmap(self.file, "<f4", "r", shape=(len(codes), self._k))
        return Items(prediction=codes.astype(np.float64)[:, None], probability=probability)

    def close(self) -> None:
        """Free them."""
        self._codes.clear()
        if self.file:
            self.file.close()


class _Watching(Watching):
    """Scores are the probability of the predicted class."""

    def __init__(self, spec: Spec) -> None:
        super().__init__()
        self._spec, self._said = spec, _Rows(spec)

    def add(self, rows: pa.RecordBatch) -> None:
        """See Watching.add."""
        super().add(rows)
        packed = [rows.column(PROBABILITIES)] if self._said.file else []
        self._said.add(np.array(rows.column("prediction")), packed)

    def profile(self, beside: Beside, like: Profile | None) -> Profile:
        """See Watching.profile."""
        items, names = self._said.items(), self._spec.labels.names
        expected, spread = expected_of(self._spec.measure[0].of(kind_of(self._spec), len(items)), items)
        said = Profile(
            rows=self._rows, expected=expected, expected_spread=spread,
            scores=None if items.probability is None else scores_like(_confidence(items), like),
            classes=dict(zip(names, self._said.predicted.tolist(), strict=True)),
        )
        self._said.close()
        return with_what_is_beside(said, beside, like)


def _confidence(items: Items) -> Floats:
    """(n,) the probability of the predicted class."""
    return np.concatenate([
        np.take_along_axis(piece.probability, piece.prediction[:, :1].astype(np.int64), axis=1)[:, 0]
        for _, piece in items.chunks() if piece.probability is not None
    ])


class _Gathered(Gathered):
    def __init__(self, spec: Spec) -> None:
        self._spec, self._said = spec, _Rows(spec)

    @property
    def columns(self) -> list[str]:
        """See Gathered.columns."""
        return ["prediction", *([PROBABILITIES] if self._said.file else [])]

    def add(self, table: pa.Table) -> None:
        """See Gathered.add."""
        packed = table.column(PROBABILITIES).chunks if self._said.file else []
        self._said.add(np.array(table.column("prediction")), packed)

    def counts(self) -> dict[str, Any]:
        """See Gathered.counts."""
        return {"predicted": tuple(self._said.predicted.tolist()), "score_range": None}

    def cut(self, method: str, tables: FrozenTables) -> tuple[OutcomeCut, bytes]:
        """See Gathered.cut."""
        items = self._said.items()
        cut = outcome_method(method).cut(stack_of_spec(self._spec, len(items)), items)
        self._said.close()
        return OutcomeCut(cells=cut.cells), rows_by_cell(cut.cell, cut.cells.n_cells)
