"""Several systems: what each of them predicts, and what they say together.

The predictions of an item are kept as S codes in one column, the baseline's first.  Together the systems may
give the item one probability of each class or tag.  The label model takes that as a guess, beside what judges
say, and the labels weigh them.  Where a measure is of probabilities, what each system gives each class is
kept beside it.
"""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import ClassVar

import numpy as np
import pyarrow as pa

from assay.evalcore.measures.registry import needs_probability
from assay.evalcore.outcomes.items import Items
from assay.evalcore.types import Array, Floats
from assay.tasks.ledger.manifest import (
    BESIDE,
    BY_SYSTEM,
    JUDGES,
    PREDICTED_NUMBERS,
    PREDICTIONS,
    PROBABILITIES,
)
from assay.tasks.pool.frozen import packed_bytes
from assay.tasks.pool.kind import CellRows, PoolToCut, PredictionCounts, PredictionReader, rows_by_part
from assay.tasks.pool.predictions.any_outcome import OutcomePredictions
from assay.tasks.pool.predictions.gathered import (
    PACKED,
    GatheredClusters,
    GatheredNumbers,
    OutcomeCut,
    PackedColumn,
    columns_beside_guesses,
    cut_gathered,
    outcome_kind_of,
    packed,
)
from assay.tasks.spec.evaluation import Spec
from assay.tasks.spec.pool import System, columns_by_class

KEPT = {PREDICTIONS: "<i2", PREDICTED_NUMBERS: "<f8"}   # how codes of predictions are kept, by column


def of_probabilities(spec: Spec) -> bool:
    """Whether a measure of the spec needs the probabilities that each system gives each class."""
    kind = outcome_kind_of(spec)
    return any(needs_probability(kind, choice.name) for choice in spec.measure)


def codes_by_system(rows: pa.RecordBatch, systems: int) -> Array:
    """The codes (n, S) of what each of S systems predicts in checked rows, the baseline's first."""
    [name] = [name for name in KEPT if name in rows.schema.names]
    return np.frombuffer(packed_bytes(rows.column(name)), KEPT[name]).reshape(-1, systems)


class PredictionsOfSystems(OutcomePredictions):
    """Predictions of several systems: a kind of labels says what one predicts, and what is kept of it."""

    column: ClassVar[str] = PREDICTED_NUMBERS   # the predictions of all systems: a key of KEPT

    @property
    def source_columns(self) -> Sequence[str]:
        """Predictions, scores and probabilities of all systems, and what judges say."""
        columns: list[str] = []
        for system in self._systems.values():
            by_class = columns_by_class(system.probability, self._parts)
            single = [system.probability] if isinstance(system.probability, str) else []
            columns += [name for name in (system.prediction, system.score) if name] + (by_class or single)
        pool = self._spec.pool
        return list(dict.fromkeys([*columns, *pool.judges, *pool.beside, *(pool.features or ())]))

    @property
    def fields(self) -> Sequence[tuple[str, pa.DataType]]:
        """What the baseline predicts, what all together give each class, and what each says."""
        return [("prediction", self.type), *(
            (name, pa.binary(np.dtype(dtype).itemsize * width)) for name, dtype, width in self._packed()
        )]

    def arrays(self, rows: PredictionReader) -> list[Array]:
        codes = [self.predicted(rows, system) for system in self._systems.values()]
        probabilities = [
            self.given(rows, system, code)
            for system, code in zip(self._systems.values(), codes, strict=True)
        ] if self.gives_probabilities else []
        tables = {self.column: np.stack(codes, axis=1)}
        if probabilities:
            tables |= {
                PROBABILITIES: np.asarray(sum(probabilities) / len(codes)),
                BY_SYSTEM: np.concatenate(probabilities, axis=1),
            }
        if self._spec.pool.judges:
            tables[JUDGES] = self.judges(rows)
        if self._spec.pool.beside:
            tables[BESIDE] = self.beside(rows)
        arrays = (packed(tables[name], dtype) for name, dtype, _ in self._packed())
        return [codes[0], *arrays, *self.features(rows)]

    @property
    def counted_columns(self) -> list[str]:
        return [self.column]

    def counts(self, table: pa.Table) -> PredictionCounts:
        packed = packed_bytes(table.column(self.column).combine_chunks())
        codes = np.frombuffer(packed, KEPT[self.column]).reshape(table.num_rows, -1)
        differing = (codes != codes[:, :1]).sum(axis=0).tolist()
        return PredictionCounts(
            predicted=rows_by_part(outcome_kind_of(self._spec), codes[:, 0]),
            differing=dict(zip(list(self._systems)[1:], differing[1:], strict=True)),
        )

    def cut(self, method: str, pool: PoolToCut) -> tuple[OutcomeCut, CellRows]:
        gather = partial(SystemsSoFar, self._spec, self.column, list(self._packed()))
        return cut_gathered(self._spec, method, pool, gather)

    def predicted(self, rows: PredictionReader, system: System) -> Array:
        """The codes (n,) of what one system predicts, from its own column."""
        return self.predicted_codes(rows, str(system.prediction))

    @property
    def gives_probabilities(self) -> bool:
        """Whether the systems say how probable each class or tag is; here they do not."""
        return False

    @abstractmethod
    def given(self, rows: PredictionReader, system: System, code: Array) -> Floats:
        """(n, K) what one system, which predicts code (n,), gives each class or tag."""

    @property
    def _systems(self) -> Mapping[str, System]:
        return self._spec.pool.compared

    def _packed(self) -> Iterator[tuple[str, str, int]]:
        """Name, type and length of what is kept of an item in one column."""
        k, s = len(self._parts), len(self._systems)
        if self.gives_probabilities:
            yield PROBABILITIES, "<f4", k
        yield self.column, KEPT[self.column], s
        if of_probabilities(self._spec):
            yield BY_SYSTEM, "<f4", s * k
        if self._spec.pool.judges:
            yield JUDGES, PACKED[JUDGES], len(self._spec.pool.judges)
        if self._spec.pool.beside:
            yield BESIDE, PACKED[BESIDE], len(self._spec.pool.beside)


class SystemsSoFar:
    """Predictions and probabilities of all systems, of the rows read so far."""

    def __init__(
        self, spec: Spec, codes: str, packed: Sequence[tuple[str, str, int]], clusters: Sequence[str] = ()
    ) -> None:
        """codes: the column of the predictions of all systems; packed: name, type and length of what is kept
        of an item in one column; clusters: those that have the first numbers."""
        self._clusters, self._codes, self._rows = GatheredClusters(spec, clusters), codes, 0
        self._numbers = GatheredNumbers(spec)
        self._spreads = spec.pool.spread is not None
        self._wide = {name: PackedColumn(name, dtype, width) for name, dtype, width in packed}

    @property
    def columns(self) -> list[str]:
        """The columns that are taken. The id, where nothing is said: the rows have to be counted."""
        return [*self._wide, *self._clusters.columns, *self._numbers.columns] or ["item_id"]

    def add(self, table: pa.Table) -> None:
        """Take the predictions, probabilities, judges, clusters and numbers of the next rows of the pool."""
        self._rows += table.num_rows
        self._clusters.add(table)
        self._numbers.add(table)
        for column in self._wide.values():
            column.add(table)

    def items(self) -> Items:
        """The items of all rows taken so far, with a column of codes for each system; wide columns are
        memory maps of temporary files."""
        wide = {name: column.table(self._rows) for name, column in self._wide.items()}
        return Items(
            prediction=wide.get(self._codes, np.zeros((self._rows, 0))),
            probability=wide.get(PROBABILITIES), judge=wide.get(JUDGES),
            by_system=wide.get(BY_SYSTEM), cluster=self._clusters.table(), **self._numbers.fields(),
            **columns_beside_guesses(wide.get(BESIDE), spreads=self._spreads),
        )

    def close(self) -> None:
        """Free the memory and files of the rows that were taken."""
        for column in self._wide.values():
            column.close()
