"""The array types of this package by what they hold, what is said beside an estimate."""

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Bools: TypeAlias = NDArray[np.bool_]
Texts: TypeAlias = NDArray[np.str_]
Array: TypeAlias = NDArray[Any]

Diagnostic: TypeAlias = int | float | bool | str | None      # one number or word about an estimate
ONE_LABEL = "share_of_one_label"   # a diagnostic: one label makes this share of the variance, above half
UNSEEN = "unseen_share"   # one of measures without bounds: so much of the pool may differ from all labels
DiagnosticArrays: TypeAlias = Mapping[str, Floats | Ints | Bools | Texts]   # name -> (R,), one a repeat

# what an interval takes without being shown: nothing; or the score, that positives do not hide where it is
# low
Trust: TypeAlias = Literal["nothing", "score"]
POSTERIOR_AND_DESIGN, CONFIDENCE_SEQUENCE = "posterior and design", "confidence sequence"
TRUSTING_INTERVALS = (POSTERIOR_AND_DESIGN, CONFIDENCE_SEQUENCE)   # kinds that take the score without proof
