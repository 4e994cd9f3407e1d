"""The predictions of a window with a positive and a negative class, read for its profile: in one place, or by
shard.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from assay.evalcore.monitoring.traffic.by_shard import TrafficTally, counts_between, expected_from, moments_of
from assay.evalcore.monitoring.traffic.profile import SCORE_BINS, Beside, Binned, Profile, Traffic, profile_of
from assay.evalcore.types import Array
from assay.tasks.arrow import numbers_of
from assay.tasks.pool.cutting.cells_by_shard import NUMBERS
from assay.tasks.pool.predictions.protocol import Tallying, Watching
from assay.tasks.spec.evaluation import Spec


class WatchedScores(Watching):
    """See the top of this module."""

    def __init__(self, spec: Spec) -> None:
        super().__init__()
        self._measure = spec.measures[0]
        self._numbers: dict[str, list[Array]] = {name: [] for name in NUMBERS}

    def add(self, rows: pa.RecordBatch) -> None:
        """See Watching.add."""
        super().add(rows)
        for name, chunks in self._numbers.items():
            chunks.append(numbers_of(rows.column(name)).copy())

    def profile(self, beside: Beside, like: Profile | None) -> Profile:
        """See Watching.profile."""
        joined = {name: np.concatenate(chunks) for name, chunks in self._numbers.items()}
        traffic = Traffic(
            **joined, features=beside.features, segments=beside.segments, missing=beside.missing,
            columns=beside.columns,
        )
        return profile_of(traffic, self._measure, like)


class TalliedScores(Tallying):
    """See the top of this module."""

    column, bins = "score", SCORE_BINS

    def __init__(self, spec: Spec) -> None:
        self._measure = spec.measures[0]

    def tally(self, rows: pa.Table, edges: Sequence[float]) -> TrafficTally:
        """See Tallying.tally."""
        score, probability, prediction = (numbers_of(rows.column(name)) for name in NUMBERS)
        return TrafficTally(scores=counts_between(score, edges), moments=moments_of(probability, prediction))

    def profile(self, tally: TrafficTally, edges: tuple[float, ...]) -> Profile:
        """See Tallying.profile."""
        rows = int(tally.scores.sum())
        expected, spread = expected_from(tally.moments, self._measure)
        return Profile(
            rows=rows, scores=Binned(edges=edges, counts=tuple(tally.scores.tolist())),
            predicted=float(tally.moments[1, 0]) / rows, expected=expected, expected_spread=spread,
        )
