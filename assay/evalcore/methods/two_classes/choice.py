"""What `auto` means for two classes: the best method that is certified, by the table and by nothing else."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, lgamma, log

BINARY = "binary"                 # two classes, as a spec's `task` names them
POOLS_OF_RECORD = {BINARY: ("abt-buy", "restaurant")}
MEASURE = "f1"                    # the measure the pools of record are judged by
DEFAULT, CANDIDATES = "dirichlet-tree", ("recalibrated",)
MONITORS = "recalibrated"         # for monitors: docs/measured/monitoring.md has the measurements
LEAST_REPEATS, LEAST_COVERAGE, FALSE_ALARM = 1000, 0.94, 0.01
WORKING, BALANCED, CALIBRATED, BROKEN = "rare, working", "balanced", "calibrated", "broken"
LARGEST_RATIO = {WORKING: 0.3, BALANCED: 1.0, CALIBRATED: 1.0, BROKEN: 1.2}


@dataclass(frozen=True, slots=True, kw_only=True)
class Certified:
    """What replays of one method on one pool said about one measure."""

    method: str
    pool: str
    kind: str                # of pool: which part of the bar it is held against
    measure: str
    repeats: int             # the fewest behind any budget
    ratio: float | None      # geometric mean over budgets of MSE / MSE of the best published method
    coverage: float          # the lowest of any budget; where positives hide, of the wide interval
    width: float | None      # geometric mean over budgets of mean width / (3.92 RMSE); None where RMSE is 0
    outcome: str = BINARY    # what the pool's labels are, as a spec's `task` names it

    def failings(self) -> list[str]:
        """Where it is below the bar, in words; empty when it has passed."""
        found = []
        if self.repeats < LEAST_REPEATS:
            found.append(f"measured in {self.repeats:,} repeats of the {LEAST_REPEATS:,} it takes")
        most = LARGEST_RATIO.get(self.kind)
        if most is not None and (self.ratio is None or self.ratio > most):
            said = "cannot be told" if self.ratio is None else f"is {self.ratio:.2f}"
            found.append(f"squared error over the best published method's {said}, at most {most} wanted")
        covered = round(self.coverage * self.repeats)
        if _chance_of_as_few(covered, self.repeats) < FALSE_ALARM:
            found.append(f"coverage is {self.coverage:.3f} at its lowest, {LEAST_COVERAGE} wanted")
        return found


def _chance_of_as_few(covered: int, repeats: int) -> float:
    """The binomial chance of so few covers at LEAST_COVERAGE; without SciPy, as each command asks for it."""
    def log_choose(k: int) -> float:
        return lgamma(repeats + 1) - lgamma(k + 1) - lgamma(repeats - k + 1)

    held, missed = log(LEAST_COVERAGE), log(1 - LEAST_COVERAGE)
    return sum(exp(log_choose(k) + k * held + (repeats - k) * missed) for k in range(covered + 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A method and why it was chosen."""

    method: str
    reason: str


def choose(table: Sequence[Certified], outcome: str = BINARY) -> Choice:
    """The first candidate that has passed on every pool of record of this outcome, else the default."""
    held_back = []
    of_record = POOLS_OF_RECORD[outcome]
    for name in CANDIDATES:
        rows = {
            row.pool: row for row in table
            if (row.method, row.measure, row.outcome) == (name, MEASURE, outcome)
        }
        against = [
            f"{pool}: {'; '.join(rows[pool].failings()) if pool in rows else 'not measured'}"
            for pool in of_record
            if pool not in rows or rows[pool].failings()
        ]
        if not against:
            least = min(rows[pool].coverage for pool in of_record)
            ratios = " and ".join(f"{rows[pool].ratio:.2f} ({pool})" for pool in of_record)
            return Choice(
                method=name,
                reason=f"in replays of labelled pools {name}'s squared error was {ratios} of the best "
                f"published method's, and its intervals held the truth in {least:.1%} or more",
            )
        held_back.append(f"{name} has not passed the bar on every pool of record ({'. '.join(against)})")
    return Choice(method=DEFAULT, reason=f"{DEFAULT} is the default while {'; '.join(held_back)}")
