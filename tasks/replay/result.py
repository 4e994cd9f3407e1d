"""What a replay says: how every method did on every measure, and its JSON."""

from dataclasses import asdict, dataclass
from typing import Any

from assay.evalcore.replay.summary import BudgetSummary


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodResult:
    """How one method did on one measure."""

    method: str
    measure: str
    budgets: tuple[BudgetSummary, ...]
    seconds_per_round: float             # of one evaluation: planning, drawing, learning and estimating
    system: str | None = None            # one of the further systems; None for the pool's own predictions


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

    @property
    def of_systems(self) -> bool:
        """Whether several systems were judged."""
        return any(entry.system is not None for entry in self.methods)

    def to_json(self) -> dict[str, Any]:
        """What `assay replay --json` prints: plain JSON values."""
        return {
            "pool": self.pool,
            "n": self.n,
            "repeats": self.repeats,
            "seed": self.seed,
            "truth": self.truth,
            "methods": [self._method_json(entry) for entry in self.methods],
        }

    def _method_json(self, entry: MethodResult) -> dict[str, Any]:
        return {
            "method": entry.method,
            **({"system": entry.system} if self.of_systems else {}),
            "measure": entry.measure,
            # what a method does not report is left out
            "budgets": [
                {name: x for name, x in asdict(summary).items() if x is not None} for summary in entry.budgets
            ],
            "seconds_per_round": entry.seconds_per_round,
        }


def name_of(measure: str, system: str | None) -> str:
    """`f1`, or `f1 of child` for a further system."""
    return measure if system is None else f"{measure} of {system}"
