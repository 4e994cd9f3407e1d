"""The draws of a round and their design, of any kind of outcome, and how a design is read back."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from numpy.typing import ArrayLike

from assay.evalcore.design.round import Design
from assay.evalcore.evaluation.state import RoundPlan
from assay.evalcore.outcome_evaluation.state import RoundPlan as OutcomePlan
from assay.evalcore.outcome_methods.state import OutcomeDesign
from assay.evalcore.types import Bools, Floats, Ints


class Drawn(Protocol):
    """The draws of one round. T draws."""

    @property
    def cell(self) -> Ints:
        """(T,)"""
        ...

    @property
    def rank(self) -> Ints:
        """(T,) position of the item inside its cell."""
        ...

    @property
    def ask(self) -> Bools:
        """(T,) the first draw of an item nobody has labelled."""
        ...

    @property
    def probability(self) -> Floats:
        """(T,) of the draw, or of the item to be in the round."""
        ...

    @property
    def census(self) -> bool:
        """All that is left is asked."""
        ...

    @property
    def design(self) -> Any:
        """With `to_columns` and `census`."""
        ...


# the column that only designs of this kind have -> how they are read, and the plan that carries them
_KINDS: Mapping[str, tuple[Callable[[Mapping[str, ArrayLike]], Any], Callable[..., Drawn]]] = {
    "p_unlabelled": (Design.from_columns, RoundPlan),
    "inclusion": (OutcomeDesign.from_columns, OutcomePlan),
}


def design_from(columns: Mapping[str, ArrayLike]) -> Any:
    """A design from its columns. Raises KeyError where they are of no design."""
    return _kind_of(columns)[0](columns)


def drawn_with(design: Any, **draws: Any) -> Drawn:
    """The draws of a round with the design they were made by."""
    return _kind_of(design.to_columns())[1](design=design, **draws)


def _kind_of(
    columns: Mapping[str, ArrayLike],
) -> tuple[Callable[[Mapping[str, ArrayLike]], Any], Callable[..., Drawn]]:
    for column, kind in _KINDS.items():
        if column in columns:
            return kind
    raise KeyError(" or ".join(_KINDS))
