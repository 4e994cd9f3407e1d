"""The predictions of a window of any kind of outcome, read for its profile."""

import numpy as np
import pyarrow as pa

from assay.evalcore.monitoring.traffic.expected import expected_of
from assay.evalcore.monitoring.traffic.profile import Beside, Profile, scores_like, with_what_is_beside
from assay.evalcore.outcomes.items import Items
from assay.evalcore.types import Floats
from assay.tasks.arrow import numbers_of
from assay.tasks.pool.predictions.gathered_items import RowsSoFar, outcome_kind_of
from assay.tasks.pool.predictions.mergeable_counts import rows_by_part
from assay.tasks.pool.predictions.protocol import Watching
from assay.tasks.spec.evaluation import Spec


class WatchedItems(Watching):
    """What the probabilities expect of the measure, and how often each class or tag is predicted.

    With classes, scores are the probability of the predicted one.
    """

    def __init__(self, spec: Spec) -> None:
        super().__init__()
        self._spec, self._said = spec, RowsSoFar(spec)
        self._predicted = np.zeros(len(outcome_kind_of(spec).parts), np.int64)

    def add(self, rows: pa.RecordBatch) -> None:
        """See Watching.add."""
        super().add(rows)
        self._said.add(pa.Table.from_batches([rows]))
        if self._spec.pool.prediction is not None:
            predicted = rows_by_part(outcome_kind_of(self._spec), numbers_of(rows.column("prediction")))
            self._predicted += np.array(predicted, np.int64)

    def profile(self, beside: Beside, like: Profile | None) -> Profile:
        """See Watching.profile."""
        items, names = self._said.items(), self._spec.labels.names
        kind = outcome_kind_of(self._spec)
        expected, spread = expected_of(self._spec.measure[0].of(kind, len(items)), items)
        scored = items.probability is not None and items.systems and not self._spec.labels.answers.several
        said = Profile(
            rows=self._rows, expected=expected, expected_spread=spread,
            scores=scores_like(_confidence(items), like) if scored else None,
            classes=dict(zip(names, self._predicted.tolist(), strict=True)) if items.systems else {},
        )
        self._said.close()
        return with_what_is_beside(said, beside, like)


def _confidence(items: Items) -> Floats:
    """(n,) the probability of the predicted class."""
    return np.concatenate([
        np.take_along_axis(piece.probability, piece.prediction[:, :1].astype(np.int64), axis=1)[:, 0]
        for _, piece in items.chunks() if piece.probability is not None
    ])
