"""What a replay is asked and what it says: the request, how each method did on each measure, the JSON."""

import re
from dataclasses import asdict, dataclass
from math import inf
from typing import Any, NotRequired

from typing_extensions import TypedDict

from assay.evalcore.errors import BadArgument
from assay.evalcore.measures.registry import measure
from assay.evalcore.measures.two_classes import Measure
from assay.evalcore.replay.labels_to import LabelsTo
from assay.evalcore.replay.run import BudgetSummary

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


# The JSON of a replay: its keys and what they hold.

_OfClass = TypedDict("_OfClass", {"class": NotRequired[str]})


class BudgetJson(TypedDict):
    """How a method did at one budget, over the repeats."""

    labels: int                      # the budget
    labels_mean: float               # labels bought
    mse: float                       # mean squared error
    mse_se: float                    # standard error of that mean
    bias: float
    undefined: float                 # share of repeats without an estimate
    coverage: float                  # share of intervals that hold the truth
    width: float                     # mean width of the intervals
    coverage_wide: NotRequired[float]  # of the wide interval; only of methods that report one
    width_wide: NotRequired[float]
    divergence: NotRequired[float]   # how far proposals are from the best one; only where asked for


class LabelsToJson(TypedDict):
    """When the interval of a method has come down to a half-width."""

    half_width: float
    labels: int | None               # at which it is reached; null if it is not
    at_most: bool                    # reached at the smallest budget already, which labels is then
    more_than: int | None            # the largest budget, if it is not reached by then
    coverage: float | None           # at the first budget at or beyond
    covers: bool | None              # that coverage is not below what the method is held to, by a test
    oracle: int | None               # labels the oracle needs to the same half-width
    times_oracle: float | None       # labels as a multiple of the oracle's


class MethodJson(_OfClass):
    """How one method did on one measure."""

    method: str
    measure: str
    system: NotRequired[str | None]  # only with several systems
    versus: NotRequired[str]         # only of a difference
    at: NotRequired[float]           # the threshold, of a point of a curve
    budgets: list[BudgetJson]
    seconds_per_round: float
    least_coverage: float            # what its intervals are held to
    labels_to: list[LabelsToJson]    # one for each half-width asked for


class OracleBudgetJson(TypedDict):
    """The oracle at one budget."""

    labels: int
    width: float


class OracleLabelsJson(TypedDict):
    """The oracle at one half-width."""

    half_width: float
    labels: int                      # 0 where the rates alone tell the measure


class OracleJson(TypedDict):
    """What a stratified sample needs that knows the rate of every cell."""

    measure: str
    system: NotRequired[str | None]  # only with several systems
    cells_of: str                    # the method whose cells it samples
    cells: int
    budgets: list[OracleBudgetJson]
    labels_to: list[OracleLabelsJson]


class ReplayJson(TypedDict):
    """How methods did on a labelled pool."""

    pool: str
    n: int                           # its items
    repeats: int                     # evaluations that were simulated for each method
    seed: int
    truth: dict[str, float]          # measure, or "measure of system" -> its value on the pool
    audit: NotRequired[int]          # labels of the largest budget that were spread evenly; only with some
    methods: list[MethodJson]
    oracle: list[OracleJson]         # empty where annotators differ


# The results.

@dataclass(frozen=True, slots=True, kw_only=True)
class MethodResult:
    """How one method did on one measure."""

    method: str
    measure: str
    budgets: tuple[BudgetSummary, ...]
    seconds_per_round: float             # of one evaluation: planning, drawing, learning and estimating
    least_coverage: float                # what its intervals are held to
    labels_to: tuple[LabelsTo, ...]      # one for each half-width asked for
    truth: float                         # the value on the pool
    system: str | None = None            # one of the further systems; None for the pool's own predictions
    versus: str | None = None            # the system it is compared with, for a difference
    of_class: str | None = None          # the class or tag, of a measure with a number for each
    at: float | None = None              # the threshold, of a point of a curve

    @property
    def of(self) -> str:
        """What is measured: `f1`, `f1(cat) of child`, `recall at 0.5`, `accuracy of child versus adult`."""
        named = self.measure if self.of_class is None else f"{self.measure}({self.of_class})"
        named += "" if self.at is None else f" at {self.at:g}"
        name = name_of(named, self.system)
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
    """What a stratified sample needs that knows the rate of every cell: see `evalcore.replay.labels_to`."""

    measure: str
    cells_of: str                        # the method whose cells it samples
    cells: int                           # how many they are
    budgets: tuple[OracleBudget, ...]
    labels_to: tuple[OracleLabels, ...]  # one for each half-width asked for
    system: str | None = None            # as in `MethodResult`


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayResult:
    """A whole replay."""

    pool: str
    n: int
    repeats: int
    seed: int
    confidence: float
    truth: dict[str, float]              # by measure; of a further system by "measure of system"
    methods: tuple[MethodResult, ...]
    oracle: tuple[OracleResult, ...]     # by system and measure; empty where annotators differ
    audit: int = 0                       # labels of the largest budget that were spread evenly

    @property
    def of_systems(self) -> bool:
        """Whether several systems were judged."""
        return any(entry.system is not None for entry in self.methods)

    def to_json(self) -> ReplayJson:
        """What `assay replay --json` prints: plain JSON values."""
        told: ReplayJson = {
            "pool": self.pool,
            "n": self.n,
            "repeats": self.repeats,
            "seed": self.seed,
            "truth": self.truth,
            "methods": [self._method_json(entry) for entry in self.methods],
            "oracle": [self._oracle_json(entry) for entry in self.oracle],
        }
        if self.audit:
            told["audit"] = self.audit
        return told

    def _method_json(self, entry: MethodResult) -> MethodJson:
        told: Any = {
            "method": entry.method,
            **({"system": entry.system} if self.of_systems else {}),
            "measure": entry.measure,
            **({"versus": entry.versus} if entry.versus is not None else {}),
            **({"class": entry.of_class} if entry.of_class is not None else {}),
            **({"at": entry.at} if entry.at is not None else {}),
            # what a method does not report is left out
            "budgets": [
                {name: x for name, x in asdict(summary).items() if x is not None} for summary in entry.budgets
            ],
            "seconds_per_round": entry.seconds_per_round,
            "least_coverage": entry.least_coverage,
            "labels_to": [reached.to_json() for reached in entry.labels_to],
        }
        made: MethodJson = told
        return made

    def _oracle_json(self, entry: OracleResult) -> OracleJson:
        told: Any = asdict(entry)
        system = told.pop("system")
        made: OracleJson = ({"system": system} if self.of_systems else {}) | told
        return made


def name_of(measure: str, system: str | None) -> str:
    """`f1`, or `f1 of child` for a further system."""
    return measure if system is None else f"{measure} of {system}"
