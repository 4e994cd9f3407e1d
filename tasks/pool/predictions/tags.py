"""Tags: several tags joined by bars or listed, none where a row has no value; a probability of each tag."""

import numpy as np
import pyarrow as pa

from assay.evalcore.types import Array
from assay.tasks.pool.predictions.any_outcome import OutcomePredictions
from assay.tasks.pool.predictions.protocol import Reading


class TagPredictions(OutcomePredictions):
    """See the top of this module."""

    type = pa.int64()

    missing_code = 0

    def other_code(self, value: str) -> int:
        """The mask of the tags; no tag where the text is empty."""
        answers = self._spec.labels.answers
        tags = answers.spelled(value) if value.strip() else answers.empty
        return -1 if tags is None else int(answers.code(tags))

    @property
    def no_class(self) -> tuple[str, str]:
        """See Predictions.no_class."""
        some = ", ".join(map(repr, self._parts[:5])) + (", ..." if len(self._parts) > 5 else "")
        return (f"are no tags out of {some}",
                'tags are joined by "|" and named as under `labels`; correct either')

    def said(self, rows: Reading, name: str) -> Array:
        """See OutcomePredictions.said."""
        return rows.codes(name).astype(np.int64)
