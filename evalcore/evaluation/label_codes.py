"""How the labels of a round stand in an array: of which type, and what stands for no label."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.evalcore.evaluation import nonresponse, state
from assay.evalcore.outcomes import codes
from assay.evalcore.types import Array, Bools


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelCodes:
    """Codes of labels, and the two codes below them that stand for none."""

    type: type[Any]
    undecided: float    # people could not decide
    unanswered: float   # nobody answered

    def array(self, labels: Sequence[float]) -> Array:
        """Codes (n,) as an array."""
        return np.array(labels, self.type)

    def is_label(self, labels: Array) -> Bools:
        """(n,) whether each is a label."""
        return np.asarray(labels > max(self.undecided, self.unanswered))


TWO_CLASSES = LabelCodes(type=np.int64, undecided=state.UNDECIDED, unanswered=nonresponse.UNANSWERED)
ANY_OUTCOME = LabelCodes(type=np.float64, undecided=codes.UNDECIDED, unanswered=codes.UNANSWERED)
