"""What to simulate: methods, measures, budgets and repeats."""

import re
from dataclasses import dataclass
from math import inf

from assay.evalcore.errors import BadArgument
from assay.evalcore.measures.base import Measure
from assay.evalcore.measures.registry import measure

_WRITTEN = re.compile(r"(?P<name>[\w -]+)(?:\((?P<beta>[0-9.]+)\))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayRequest:
    """What to simulate on a labelled pool."""

    methods: tuple[str, ...]
    # as they are written: macro_f1, f1(cat), fbeta(2).  Of two classes the first drives the sampling, or all
    # do (capability `serves_all`); of other outcomes all do
    measures: tuple[str, ...]
    budgets: tuple[int, ...]             # rising numbers of distinct labelled items
    repeats: int                         # evaluations of each method
    seed: int = 1
    batch_size: int = 25
    confidence: float = 0.95
    # names of the systems: of two classes of further ones, for methods that judge several; of other outcomes
    # of all, as their predictions are ordered
    systems: tuple[str, ...] = ()
    audit: int = 0                       # labels of the largest budget that are spread evenly
    people: int = 1                      # annotators who answer about each item, where they differ
    half_widths: tuple[float, ...] = (0.10, 0.05)   # to which labels are told, as shares of a measure's range
    divergence: bool = False             # tell how far the proposals are from the best one

    def check(self) -> None:
        """Raises BadArgument for what makes no sense on any pool.

        Budgets, the batch size and the number of people are checked where they are used.
        """
        if self.repeats < 1:
            raise BadArgument("repeats", f"must be at least 1, got {self.repeats}")
        if not 0 < self.confidence < 1:
            raise BadArgument("confidence", f"must lie between 0 and 1, got {self.confidence:g}")
        for argument in ("methods", "measures", "half_widths"):
            given = getattr(self, argument)
            if not given:
                raise BadArgument(argument, "name at least one")
            if len(set(given)) < len(given):
                raise BadArgument(argument, "the same one is named twice")
        if not all(0 < h < inf for h in self.half_widths):
            raise BadArgument("half_widths", f"must be positive numbers, got {list(self.half_widths)}")


def measure_of_two_classes(written: str) -> Measure:
    """From `f1`, or `fbeta(2)`. Raises BadArgument, UnknownName or BadInput."""
    found = _WRITTEN.fullmatch(written)
    if found is None:
        raise BadArgument("measures", f"{written!r} is not the name of a measure; write f1, or fbeta(2)")
    beta = found["beta"]
    try:
        return measure(found["name"], None if beta is None else float(beta))
    except ValueError:
        raise BadArgument("measures", f"{written!r}: {beta!r} is not a number; write fbeta(2)") from None
