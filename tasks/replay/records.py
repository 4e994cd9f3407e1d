"""What a replay is asked and what it says: the request, and how each method did on each measure."""

import re
from dataclasses import dataclass, field
from math import inf
from typing import Any

from assay.evalcore.errors import BadArgument
from assay.evalcore.measures.registry import measure
from assay.evalcore.measures.two_classes import Measure
from assay.evalcore.printed import HIDDEN, IF_ANY, key_as, printed
from assay.evalcore.replay.run import BudgetSummary, LabelsTo

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
    drive: tuple[str, ...] = ()          # of several questions, those that the choice of items serves
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


# The results, which are printed as they are.

@dataclass(frozen=True, slots=True, kw_only=True)
class MethodResult:
    """How one method did on one measure."""

    method: str
    system: str | None = field(default=None, metadata=key_as(several=True))   # None: the pool's own
    measure: str
    question: str | None = field(default=None, metadata=IF_ANY)   # of several that are asked of an item
    versus: str | None = field(default=None, metadata=IF_ANY)   # the system it is compared with
    of_class: str | None = field(default=None, metadata=key_as("class", if_any=True))   # or tag
    at: float | None = field(default=None, metadata=IF_ANY)     # the threshold, of a point of a curve
    budgets: tuple[BudgetSummary, ...]
    seconds_per_round: float             # of one evaluation: planning, drawing, learning and estimating
    least_coverage: float                # what its intervals are held to
    labels_to: tuple[LabelsTo, ...]      # one for each half-width asked for
    truth: float = field(metadata=HIDDEN)    # the value on the pool

    @property
    def of(self) -> str:
        """What is measured: `f1`, `f1(cat) of child`, `recall at 0.5`, `accuracy of child versus adult`."""
        named = self.measure if self.of_class is None else f"{self.measure}({self.of_class})"
        named += "" if self.at is None else f" at {self.at:g}"
        name = name_of(named, self.system or self.question)
        return name if self.versus is None else f"{name} versus {self.versus}"


@dataclass(frozen=True, slots=True, kw_only=True)
class OracleBudget:
    """The oracle at one budget."""

    labels: int
    width: float                         # not cut to the measure's range


@dataclass(frozen=True, slots=True, kw_only=True)
class OracleLabels:
    """The oracle at one half-width."""

    half_width: float
    labels: int                          # 0 where the rates alone tell the measure


@dataclass(frozen=True, slots=True, kw_only=True)
class OracleResult:
    """What a stratified sample needs that knows the rate of every cell."""

    system: str | None = field(default=None, metadata=key_as(several=True))   # None: the pool's own
    measure: str
    cells_of: str                        # the method whose cells it samples
    cells: int                           # how many they are
    budgets: tuple[OracleBudget, ...]
    labels_to: tuple[OracleLabels, ...]  # one for each half-width asked for


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayResult:
    """A whole replay."""

    pool: str
    n: int                               # its items
    repeats: int                         # evaluations that were simulated for each method
    seed: int
    confidence: float = field(metadata=HIDDEN)
    truth: dict[str, float]              # measure, or "measure of system" -> its value on the pool
    methods: tuple[MethodResult, ...]
    oracle: tuple[OracleResult, ...]     # by system and measure; empty where annotators differ
    audit: int = field(default=0, metadata=IF_ANY)   # labels of the largest budget that were spread evenly

    @property
    def of_systems(self) -> bool:
        """Whether several systems were judged."""
        return any(entry.system is not None for entry in self.methods)

    def to_json(self) -> dict[str, Any]:
        """What `assay replay --json` prints: plain JSON values."""
        told: dict[str, Any] = printed(self)
        if not self.of_systems:
            for entry in (*told["methods"], *told["oracle"]):
                del entry["system"]
        return told


def name_of(measure: str, system: str | None) -> str:
    """`f1`, or `f1 of child` for a further system."""
    return measure if system is None else f"{measure} of {system}"
