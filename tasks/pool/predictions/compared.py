"""Several systems: what each of them predicts, and what they say together of each class.

The predictions of an item are kept as S codes of 16 bits in one column, the baseline's first.  Together the
systems give the item one probability of each class, the mean of what each of them gives: its own
probabilities; the logistic function of its score, less its threshold; or CONFIDENCE for what it predicts.
The label model takes that as a guess, and the labels weigh it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from scipy.special import expit

from assay.evalcore.outcome_methods.registry import outcome_method
from assay.evalcore.outcomes.classes import CONFIDENCE
from assay.evalcore.outcomes.items import Items
from assay.evalcore.types import Array, Floats
from assay.tasks.ledger.manifest import PREDICTIONS, PROBABILITIES
from assay.tasks.pool.frozen_tables import FrozenTables, rows_by_cell
from assay.tasks.pool.predictions.any_outcome import probability_in
from assay.tasks.pool.predictions.gathered_items import OutcomeCut, stack_of_spec
from assay.tasks.pool.predictions.packed import PackedColumn, packed
from assay.tasks.pool.predictions.protocol import Gathered, Reading
from assay.tasks.pool.predictions.several_classes import (
    SeveralClassPredictions,
    table_of_classes,
    table_of_confidence,
)
from assay.tasks.spec.evaluation import Spec
from assay.tasks.spec.pool import columns_by_class
from assay.tasks.spec.systems import System


class ComparedPredictions(SeveralClassPredictions):
    """See the top of this module."""

    @property
    def source_columns(self) -> Sequence[str]:
        """Predictions, scores and probabilities of all systems."""
        names = self._spec.labels.names
        columns: list[str] = []
        for system in self._systems.values():
            by_class = columns_by_class(system.probability, names)
            one = [system.probability] if isinstance(system.probability, str) else []
            columns += [name for name in (system.prediction, system.score) if name] + (by_class or one)
        return list(dict.fromkeys(columns))

    @property
    def fields(self) -> Sequence[tuple[str, pa.DataType]]:
        """What the baseline predicts, what all together give each class, and what each predicts."""
        return [
            ("prediction", pa.int16()), (PROBABILITIES, pa.binary(4 * len(self._parts))),
            (PREDICTIONS, pa.binary(2 * len(self._systems))),
        ]

    def other_code(self, value: str) -> int:
        """TRUE means true, with a positive and a negative class."""
        return self._codes.get(value.casefold(), -1) if self._counted else -1

    def arrays(self, rows: Reading) -> list[Array]:
        """See Predictions.arrays."""
        codes = [self._prediction(rows, system) for system in self._systems.values()]
        together = sum(
            self._probability(rows, system, code)
            for system, code in zip(self._systems.values(), codes, strict=True)
        ) / len(codes)
        predictions = np.stack(codes, axis=1)
        return [codes[0], packed(np.asarray(together), "<f4"), packed(predictions, "<i2")]

    def gathered(self) -> Gathered:
        """See Predictions.gathered."""
        return _GatheredSystems(self._spec)

    @property
    def _systems(self) -> Mapping[str, System]:
        return self._spec.pool.compared

    @property
    def _counted(self) -> bool:
        kind = self._spec.labels.outcome
        return kind is not None and kind.counted is not None

    def _prediction(self, rows: Reading, system: System) -> Array:
        """(n,) codes; of two classes the positive one has code 1."""
        if system.prediction is not None:
            return rows.codes(system.prediction).astype(np.int16)
        threshold = system.threshold or 0.0
        if system.score is not None:
            return (rows.numbers(system.score) > threshold).astype(np.int16)
        return (probability_in(rows, str(system.probability)) >= threshold).astype(np.int16)

    def _probability(self, rows: Reading, system: System, code: Array) -> Floats:
        """(n, K) what one system gives each class."""
        k = len(self._parts)
        by_class = columns_by_class(system.probability, self._parts)
        if by_class is not None:
            return table_of_classes(rows, by_class)
        if not self._counted and isinstance(system.probability, str):
            return table_of_confidence(probability_in(rows, system.probability), code, k)
        if isinstance(system.probability, str):
            positive = probability_in(rows, system.probability)
        elif system.score is not None:
            positive = expit(rows.numbers(system.score) - (system.threshold or 0.0))
        else:
            return table_of_confidence(np.full(len(code), CONFIDENCE), code, k)
        return np.stack([1 - positive, positive], axis=1)


class _GatheredSystems(Gathered):
    def __init__(self, spec: Spec) -> None:
        self._spec, self._k = spec, len(spec.labels.names)
        systems = len(spec.pool.compared)
        self._rows = 0
        self._predicted = np.zeros(self._k, np.int64)
        self._differing = np.zeros(systems, np.int64)
        self._probability = PackedColumn(PROBABILITIES, "<f4", self._k)
        self._prediction = PackedColumn(PREDICTIONS, "<i2", systems)

    @property
    def columns(self) -> list[str]:
        """See Gathered.columns."""
        return [PROBABILITIES, PREDICTIONS]

    def add(self, table: pa.Table) -> None:
        """See Gathered.add."""
        self._probability.add(table)
        self._prediction.add(table)
        start, self._rows = self._rows, self._rows + table.num_rows
        new = np.asarray(self._prediction.table(self._rows)[start:])
        self._predicted += np.bincount(new[:, 0], minlength=self._k)
        self._differing += (new != new[:, :1]).sum(axis=0)

    def counts(self) -> dict[str, Any]:
        """See Gathered.counts."""
        names = list(self._spec.pool.compared)[1:]
        return {
            "predicted": tuple(self._predicted.tolist()), "score_range": None,
            "differing": dict(zip(names, self._differing[1:].tolist(), strict=True)),
        }

    def cut(self, method: str, tables: FrozenTables) -> tuple[OutcomeCut, bytes]:
        """See Gathered.cut."""
        items = Items(
            prediction=self._prediction.table(self._rows), probability=self._probability.table(self._rows)
        )
        cut = outcome_method(method).cut(stack_of_spec(self._spec, self._rows), items)
        for column in (self._probability, self._prediction):
            column.close()
        return OutcomeCut(cells=cut.cells), rows_by_cell(cut.cell, cut.cells.n_cells)
