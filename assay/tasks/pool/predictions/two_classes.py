"""A positive and a negative class: a score, a probability and a prediction of each item.

Score and probability are finite numbers, not too large; a probability lies within [0, 1]. Where only one is
given the other follows from it: score = logit(probability), clipped at 1e-12; probability = expit(score -
threshold). A prediction alone is a score of two values: ½ where it is positive, -½ where it is not. The
prediction is a class name, 0/1 or a boolean; or score > threshold, probability >= threshold.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import scipy

from assay.evalcore.methods.registry import method as find
from assay.evalcore.monitoring.profile import (
    SCORE_BINS,
    Beside,
    Binned,
    Profile,
    Traffic,
    TrafficTally,
    counts_between,
    expected_from,
    expected_of,
    moments_of,
    profile_of,
    scores_like,
    with_what_is_beside,
)
from assay.evalcore.outcomes.items import Items
from assay.evalcore.pool.partition import Partition
from assay.evalcore.pool.strata import log_odds
from assay.evalcore.types import Array, Floats
from assay.tasks.arrow import numbers_of
from assay.tasks.ledger.manifest import PROBABILITIES, system_columns
from assay.tasks.pool.cells_by_shard import NUMBERS, cut_by_features, cut_by_score, cut_by_systems
from assay.tasks.pool.frozen import packed_bytes
from assay.tasks.pool.kind import (
    CellRows,
    PoolToCut,
    PredictionCounts,
    PredictionReader,
    Predictions,
    Tallying,
    Watching,
    cut_columns,
    rows_by_part,
)
from assay.tasks.pool.predictions.any_outcome import probability_in
from assay.tasks.pool.predictions.gathered import (
    GatheredNumbers,
    OutcomeCut,
    cut_items,
    outcome_kind_of,
    packed,
)
from assay.tasks.spec.evaluation import Spec


class TwoClassPredictions(Predictions):
    """A prediction, a score and a probability of the positive class."""

    @property
    def source_columns(self) -> Sequence[str]:
        """The columns of the source that are read: score, probability, prediction, features and further
        systems, as far as the spec names them."""
        pool = self._spec.pool
        roles = [pool.score, pool.probability_column, pool.prediction, *(pool.features or ()), *self._systems]
        return [name for name in roles if name is not None]

    @property
    def fields(self) -> Sequence[tuple[str, pa.DataType]]:
        """The columns of a part: score and probability as 64-bit floats, and the prediction, 1 where it is
        positive."""
        return [("score", pa.float64()), ("probability", pa.float64()), ("prediction", pa.int8())]

    @property
    def cut_fields(self) -> Sequence[tuple[str, pa.DataType]]:
        """The columns that decide cells and nothing later: the features, and the predictions of further
        systems, one byte each."""
        systems = system_columns(self._spec.pool.systems)
        return [*super().cut_fields, *((name, pa.int8()) for name in systems)]

    @property
    def no_class(self) -> tuple[str, str]:
        positive, negative = self._spec.labels.offered
        return (f"are neither {positive!r} nor {negative!r}",
                "a prediction is a class name as under `labels`, 0/1 or true/false; correct either")

    @property
    def method(self) -> str:
        """The name of the method that the spec chose for two classes."""
        return self._spec.chosen_method.name

    def method_for(self, predicted: tuple[int, ...]) -> str:
        """The spec's, `auto` with what it means for so many predictions."""
        return self._spec.choice_of(predicted).method

    @property
    def ranked(self) -> str | None:
        """The column `score`, where it alone decides the cells of all rows; None where features, further
        systems or known outcomes decide too."""
        by_score = find(self.method).feature_tree is None and not self._systems
        return "score" if by_score and self._spec.outcomes is None else None

    def arrays(self, rows: PredictionReader) -> list[Array]:
        score, probability = self._scores(rows)
        return [
            score, probability, self._prediction(rows, score, probability).astype(np.int8),
            *self.features(rows),
            *(rows.codes(name).astype(np.int8) for name in self._systems),
        ]

    @property
    def counted_columns(self) -> list[str]:
        return ["score", "prediction"]

    def counts(self, table: pa.Table) -> PredictionCounts:
        score = numbers_of(table.column("score"))
        positive = np.count_nonzero(numbers_of(table.column("prediction")))
        return PredictionCounts(
            predicted=(table.num_rows - int(positive), int(positive)),
            score_range=(float(score.min()), float(score.max())),
        )

    def cut(self, method: str, pool: PoolToCut) -> tuple[Any, CellRows]:
        """The pool cut for this method, by features, by the predictions of systems, or by score, and the
        rows of its cells. Items whose outcome is known are in no cell."""
        chosen, spec_pool = find(method), self._spec.pool
        if chosen.feature_tree is not None:
            return cut_by_features(chosen, pool, cut_columns(self._spec))
        if spec_pool.systems:
            return cut_by_systems(pool, system_columns(spec_pool.systems))
        return cut_by_score(chosen, pool)

    def watching(self) -> Watching:
        return WatchedScores(self._spec)

    def tallying(self) -> Tallying | None:
        return TalliedScores(self._spec)

    def cut_from_json(self, data: Mapping[str, object]) -> Partition:
        return Partition.from_json(data)

    @property
    def _systems(self) -> list[str]:
        return [str(system.prediction) for system in (self._spec.pool.systems or {}).values()]

    def _prediction(self, rows: PredictionReader, score: Floats, probability: Floats) -> Array:
        """(n,) 1 where an item is predicted positive."""
        pool = self._spec.pool
        if pool.threshold is None:
            return rows.codes(str(pool.prediction))
        return score > pool.threshold if pool.score else probability >= pool.threshold

    def _scores(self, rows: PredictionReader) -> tuple[Floats, Floats]:
        """Score and probability."""
        pool = self._spec.pool
        if pool.score is None and pool.probability is None:
            alone = rows.codes(str(pool.prediction)) - 0.5
            return alone, scipy.special.expit(alone)
        if pool.score is None:
            probability = self._probability(rows)
            return log_odds(probability), probability
        score = rows.number_column(pool.score)
        if pool.probability is None:
            return score, scipy.special.expit(score - (pool.threshold or 0.0))
        return score, self._probability(rows)

    def _probability(self, rows: PredictionReader) -> Floats:
        return probability_in(rows, str(self._spec.pool.probability),
                              "a probability is; if this is a score, name it under `score` instead")


class WatchedScores(Watching):
    """What the profile of a window is made of: its scores.

    The predictions of a window with a positive and a negative class, read for its profile: in one place, or
    by shard.
    """

    def __init__(self, spec: Spec) -> None:
        super().__init__()
        self._measure = spec.measures[0]
        self._numbers: dict[str, list[Array]] = {name: [] for name in NUMBERS}

    def add(self, rows: pa.RecordBatch) -> None:
        super().add(rows)
        for name, chunks in self._numbers.items():
            chunks.append(numbers_of(rows.column(name)).copy())

    def profile(self, beside: Beside, like: Profile | None) -> Profile:
        joined = {name: np.concatenate(chunks) for name, chunks in self._numbers.items()}
        traffic = Traffic(
            **joined, features=beside.features, segments=beside.segments, missing=beside.missing,
            columns=beside.columns, copies=beside.copies,
        )
        return profile_of(traffic, self._measure, like)


class TalliedScores(Tallying):
    """The tally of a large window of two classes, shard by shard: counts of scores between edges, and the
    moments of probability and prediction from which the expected measure follows."""

    column, bins = "score", SCORE_BINS

    def __init__(self, spec: Spec) -> None:
        self._measure = spec.measures[0]

    def tally_rows(self, rows: pa.Table, edges: Sequence[float]) -> TrafficTally:
        score, probability, prediction = (numbers_of(rows.column(name)) for name in NUMBERS)
        return TrafficTally(scores=counts_between(score, edges), moments=moments_of(probability, prediction))

    def profile(self, tally: TrafficTally, edges: tuple[float, ...]) -> Profile:
        rows = int(tally.scores.sum())
        expected, spread = expected_from(tally.moments, self._measure)
        return Profile(
            rows=rows, scores=Binned(edges=edges, counts=tuple(tally.scores.tolist())),
            predicted=float(tally.moments[1, 0]) / rows, expected=expected, expected_spread=spread,
        )


class ScoredPredictions(TwoClassPredictions):
    """Prediction, score and both probabilities, as any kind of outcome keeps them.

    A positive and a negative class whose statistics are those of any classes: with curves, clusters or
    weights.

    Prediction, score and probability are read as above. Kept are the code of the prediction, the
    probabilities of both classes as floats of 32 bits, and the score where the pool has one.
    """

    @property
    def fields(self) -> Sequence[tuple[str, pa.DataType]]:
        """The code of the prediction, the probabilities of both classes, and the score where there is one."""
        score = [("score", pa.float64())] if self._spec.pool.score else []
        return [("prediction", pa.int16()), (PROBABILITIES, pa.binary(8)), *score]

    @property
    def method(self) -> str:
        """The method that the spec asks for, by the name that it has for any kind of outcome."""
        return self._spec.choice.method

    def method_for(self, predicted: tuple[int, ...]) -> str:
        """The spec's, `auto` with what it means for so many predictions."""
        return self._spec.choice_of(predicted).method

    @property
    def ranked(self) -> str | None:
        """Always None: the cut is that of any kind of outcome, which asks for no ranks of all rows."""
        return None

    def arrays(self, rows: PredictionReader) -> list[Array]:
        score, probability = self._scores(rows)
        prediction = self._prediction(rows, score, probability).astype(np.int16)
        probabilities = packed(np.stack([1 - probability, probability], axis=1), "<f4")
        return [prediction, probabilities, *([score] if self._spec.pool.score else []), *self.features(rows)]

    @property
    def counted_columns(self) -> list[str]:
        return ["prediction"]

    def counts(self, table: pa.Table) -> PredictionCounts:
        codes = numbers_of(table.column("prediction"))
        return PredictionCounts(predicted=rows_by_part(outcome_kind_of(self._spec), codes))

    def cut(self, method: str, pool: PoolToCut) -> tuple[Any, CellRows]:
        return cut_items(self._spec, method, pool, scored=True)

    def watching(self) -> Watching:
        return WatchedProbabilities(self._spec)

    def tallying(self) -> Tallying | None:
        """None: what measures of any classes expect of a window is no function of its moments."""
        return None

    def cut_from_json(self, data: Mapping[str, object]) -> Any:
        return OutcomeCut.from_json(data)


class WatchedProbabilities(Watching):
    """What a window's scores and predictions are, and what its probabilities expect of the first measure.

    The score is the logit of the probability where the pool has none.
    """

    def __init__(self, spec: Spec) -> None:
        super().__init__()
        self._spec = spec
        self._prediction: list[Array] = []
        self._probability: list[Array] = []
        self._score: list[Array] = []
        self._extra = GatheredNumbers(spec)

    def add(self, rows: pa.RecordBatch) -> None:
        super().add(rows)
        self._extra.add(rows)
        probabilities = np.frombuffer(packed_bytes(rows.column(PROBABILITIES)), "<f4").reshape(-1, 2)
        self._prediction.append(numbers_of(rows.column("prediction")).astype(np.float64))
        self._probability.append(probabilities.copy())
        self._score.append(
            numbers_of(rows.column("score")).copy() if self._spec.pool.score
            else log_odds(probabilities[:, 1].astype(np.float64))
        )

    def profile(self, beside: Beside, like: Profile | None) -> Profile:
        items = Items(
            prediction=np.concatenate(self._prediction)[:, None],
            probability=np.concatenate(self._probability),
            **self._extra.fields(),
        )
        measure = self._spec.measure[0].outcome_measure(outcome_kind_of(self._spec), len(items))
        expected, spread = expected_of(measure, items)
        profile = Profile(
            rows=self._rows, scores=scores_like(np.concatenate(self._score), like),
            predicted=float(items.prediction.mean()), expected=expected, expected_spread=spread,
        )
        return with_what_is_beside(profile, beside, like)
