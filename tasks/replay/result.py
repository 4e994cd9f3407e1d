"""What a replay says: how every method did on every measure, and its JSON."""

from dataclasses import asdict, dataclass
from typing import Any

from assay.evalcore.replay.labels_to import LabelsTo
from assay.evalcore.replay.summary import BudgetSummary
from assay.tasks.replay.printed import MethodJson, OracleJson, ReplayJson


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
    """What a stratified sample needs that knows the rate of every cell: see `evalcore.replay.oracle`."""

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
