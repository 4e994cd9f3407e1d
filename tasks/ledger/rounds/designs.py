"""How the design of a round is read back, whatever people answer."""

from collections.abc import Callable, Mapping

from numpy.typing import ArrayLike

from assay.evalcore.design.round import AnyDesign, Design
from assay.evalcore.outcome_methods.state import OutcomeDesign

# the column that only designs of this kind have -> how they are read
_KINDS: Mapping[str, Callable[[Mapping[str, ArrayLike]], AnyDesign]] = {
    "p_unlabelled": Design.from_columns,
    "inclusion": OutcomeDesign.from_columns,
}


def design_from(columns: Mapping[str, ArrayLike]) -> AnyDesign:
    """A design from its columns. Raises KeyError where they are of no design."""
    for column, read in _KINDS.items():
        if column in columns:
            return read(columns)
    raise KeyError(" or ".join(_KINDS))
