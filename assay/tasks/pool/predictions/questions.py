"""Several questions: what the pool says for each of them, side by side.

The predictions of all questions are kept as codes in one column, their probabilities in another, their judges
in a third: those of the first question, then those of the second (`evalcore.outcomes.questions`).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from assay.evalcore.json_values import JsonObject
from assay.evalcore.methods.any_outcome.shared_reading import CellsOfQuestions
from assay.evalcore.methods.registry import method_of_questions, outcome_method
from assay.evalcore.outcomes.items import PoolWeights
from assay.evalcore.outcomes.score_grid import Grid
from assay.evalcore.types import Array, Floats
from assay.tasks.ledger.manifest import BESIDE, JUDGES, PREDICTED_NUMBERS, PROBABILITIES
from assay.tasks.pool.kind import CellRows, PoolToCut, PredictionCounts, PredictionReader, Predictions
from assay.tasks.pool.predictions.any_outcome import OutcomePredictions
from assay.tasks.pool.predictions.gathered import PACKED, OutcomeCut, cut_gathered, packed
from assay.tasks.pool.predictions.kinds import (
    ClassesOfSystems,
    NumberPredictions,
    SeveralClassPredictions,
    TagPredictions,
)
from assay.tasks.pool.predictions.systems import SystemsSoFar
from assay.tasks.spec.evaluation import Spec
from assay.tasks.spec.labels.questions import QuestionEntry, QuestionList

_BY_TASK: Mapping[str, type[OutcomePredictions]] = {
    "multiclass": SeveralClassPredictions, "number": NumberPredictions, "tags": TagPredictions,
}


def questions_of(spec: Spec) -> QuestionList:
    """What is asked.  Raises TypeError for a spec with one question."""
    if not isinstance(spec.labels, QuestionList):
        raise TypeError("this spec asks one question")
    return spec.labels


def spec_of_question(spec: Spec, entry: QuestionEntry) -> Spec:
    """The spec as if this were its only question, for reading the columns of the pool."""
    fields = entry.of_pool
    if entry.system is not None:
        fields = {**dict.fromkeys(fields), "judge": entry.judge, "systems": {entry.name: entry.system},
               "baseline": entry.name}
    pool = spec.pool.model_copy(update={**fields, "task": entry.answer.task, "covariates": None})
    measures = tuple(choice for choice in spec.measure if choice.question == entry.name)
    return spec.model_copy(update={"labels": entry.answer, "pool": pool, "measure": measures})


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class QuestionsCut:
    """A pool in cells, with what they are to each question."""

    cells: CellsOfQuestions
    grids: Mapping[int, Grid] = field(default_factory=dict)   # none: no measure is made of scores
    weights: PoolWeights | None = None
    expected_by_segment: Mapping[str, Floats] = field(default_factory=dict)   # of one question

    def to_json(self) -> JsonObject:
        """The cut as JSON values: the cells of each question in the form of `OutcomeCut.to_json`, and the
        sums of weights where there are any."""
        questions = [OutcomeCut(cells=cells).to_json() for cells in self.cells.each]
        return {"questions": questions} | ({} if self.weights is None else {"weights": asdict(self.weights)})

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> "QuestionsCut":
        """The cut that `to_json` wrote. Raises KeyError, TypeError or ValueError where the values are none.
        """
        cells = tuple(OutcomeCut.from_json(question).cells for question in data["questions"])
        weights = PoolWeights(**data["weights"]) if "weights" in data else None
        return QuestionsCut(cells=CellsOfQuestions(each=cells), weights=weights)


class QuestionPredictions(Predictions):
    """The predictions for several questions, side by side: codes of all questions in one packed column,
    their probabilities in another, their judges in a third."""

    def __init__(self, spec: Spec) -> None:
        super().__init__(spec)
        self._each = [_Columns(spec, entry) for entry in questions_of(spec).questions]

    @property
    def source_columns(self) -> Sequence[str]:
        """The columns of the source that are read for any of the questions, and those beside the guesses;
        each once."""
        columns = [name for reader in self._each for name in reader.source_columns]
        return list(dict.fromkeys([*columns, *self._spec.pool.beside]))

    @property
    def fields(self) -> Sequence[tuple[str, pa.DataType]]:
        """The packed columns of a part, each of fixed bytes an item: codes, probabilities, judges and what
        is beside them, of those that there are."""
        return [(name, pa.binary(np.dtype(dtype).itemsize * width)) for name, dtype, width in self.packed()]

    @property
    def method(self) -> str:
        """The method that the spec asks for, by the name that it has for several questions."""
        return outcome_method(method_of_questions(self._spec.method)).written

    def arrays(self, rows: PredictionReader) -> list[Array]:
        parts = [reader.read_columns(rows) for reader in self._each]
        tables = {
            PREDICTED_NUMBERS: [code[:, None] for code, _, _ in parts if code is not None],
            PROBABILITIES: [p for _, p, _ in parts if p is not None],
            JUDGES: [judge for _, _, judge in parts if judge is not None],
            BESIDE: [np.stack([rows.number_column(name) for name in self._spec.pool.beside], axis=1)]
            if self._spec.pool.beside else [],
        }
        return [
            packed(np.concatenate(tables[name], axis=1), dtype) for name, dtype, _ in self.packed()
        ]

    @property
    def counted_columns(self) -> list[str]:
        return ["item_id"]

    def counts(self, table: pa.Table) -> PredictionCounts:
        return PredictionCounts(predicted=())

    def cut(self, method: str, pool: PoolToCut) -> tuple[QuestionsCut, CellRows]:
        gather = partial(SystemsSoFar, self._spec, PREDICTED_NUMBERS, list(self.packed()))
        cut, rows = cut_gathered(self._spec, method, pool, gather)
        cells: Any = cut.cells
        return QuestionsCut(cells=cells, weights=cut.weights), rows

    def cut_from_json(self, data: Mapping[str, object]) -> QuestionsCut:
        return QuestionsCut.from_json(data)

    def packed(self) -> Iterator[tuple[str, str, int]]:
        """Name, type and length of what is kept of an item in one column."""
        outcomes = [reader.entry.outcome for reader in self._each]
        for name, dtype, width in (
            (PREDICTED_NUMBERS, "<f8", sum(outcome.predicts for outcome in outcomes)),
            (PROBABILITIES, "<f4", sum(outcome.kind.width for outcome in outcomes if outcome.probabilities)),
            (JUDGES, PACKED[JUDGES], sum(outcome.judges for outcome in outcomes)),
            (BESIDE, PACKED[BESIDE], len(self._spec.pool.beside)),
        ):
            if width:
                yield name, dtype, width


class _Columns:
    """The columns of one question."""

    def __init__(self, spec: Spec, entry: QuestionEntry) -> None:
        alone, self.entry = spec_of_question(spec, entry), entry
        of_system = entry.system is not None
        self._reader = (ClassesOfSystems if of_system else _BY_TASK[entry.answer.task])(alone)
        self.source_columns = self._reader.source_columns

    def read_columns(self, rows: PredictionReader) -> tuple[Floats | None, Floats | None, Floats | None]:
        """The codes (n,), the probabilities (n, K) and the judges (n, J), of those that there are."""
        entry, reader = self.entry, self._reader
        view = rows.read_as(reader)
        code: Any = None
        probabilities: Any = None
        if entry.system is not None and isinstance(reader, ClassesOfSystems):
            code = reader.predicted(view, entry.system)
            probabilities = reader.given(view, entry.system, code) if entry.outcome.probabilities else None
        else:
            code = reader.predicted_codes(view, entry.prediction) if entry.prediction is not None else None
            probabilities = reader.probabilities(view, code) if entry.probability is not None else None
        judges = reader.judges(view) if entry.judges else None
        return (None if code is None else np.asarray(code, np.float64)), probabilities, judges
