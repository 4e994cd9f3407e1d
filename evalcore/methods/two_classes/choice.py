"""What `auto` means for two classes: the best method that is certified, by the table of how methods did in
replay.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from scipy.special import bdtr

BINARY = "binary"                 # two classes, as a spec's `task` names them
POOLS_OF_RECORD = {BINARY: ("abt-buy", "restaurant")}
MEASURE = "f1"                    # the measure the pools of record are judged by
DEFAULT, CANDIDATES = "dirichlet-tree", ("recalibrated",)
MONITORS = "recalibrated"         # for monitors: docs/monitoring-measured.md has the measurements
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
        if bdtr(covered, self.repeats, LEAST_COVERAGE) < FALSE_ALARM:
            found.append(f"coverage is {self.coverage:.3f} at its lowest, {LEAST_COVERAGE} wanted")
        return found


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


# How methods did in replay, pool by pool: the table by which `auto` chooses.
#
# Written by `python -m benchmarks.certify --write` from 1,000 repeats a pool, budgets 50 to 1,000; not
# to be edited by hand.  docs/certification.md has the same runs in full.

TABLE: tuple[Certified, ...] = (
    Certified(method="recalibrated", pool="abt-buy", kind="rare, working", measure="f1",
              repeats=1000, ratio=0.128, coverage=0.998, width=2.2),
    Certified(method="recalibrated", pool="all-negative", kind="all-negative", measure="f1",
              repeats=1000, ratio=None, coverage=1.0, width=None),
    Certified(method="recalibrated", pool="all-positive", kind="broken", measure="f1",
              repeats=1000, ratio=0.574, coverage=0.963, width=1.26),
    Certified(method="recalibrated", pool="balanced", kind="balanced", measure="f1",
              repeats=1000, ratio=0.57, coverage=0.954, width=1.23),
    Certified(method="recalibrated", pool="balanced-weak", kind="balanced", measure="f1",
              repeats=1000, ratio=0.685, coverage=0.958, width=1.14),
    Certified(method="recalibrated", pool="band", kind="broken", measure="f1",
              repeats=1000, ratio=1.03, coverage=0.934, width=1.16),
    Certified(method="recalibrated", pool="calibrated", kind="calibrated", measure="f1",
              repeats=1000, ratio=0.396, coverage=0.979, width=1.56),
    Certified(method="recalibrated", pool="digits", kind="broken", measure="f1",
              repeats=1000, ratio=0.996, coverage=0.912, width=0.845),
    Certified(method="recalibrated", pool="employment", kind="balanced", measure="f1",
              repeats=1000, ratio=0.474, coverage=0.986, width=1.38),
    Certified(method="recalibrated", pool="febrl", kind="rare, working", measure="f1",
              repeats=1000, ratio=0.432, coverage=0.995, width=1.92),
    Certified(method="recalibrated", pool="governors", kind="balanced", measure="f1",
              repeats=1000, ratio=0.908, coverage=0.975, width=1.51),
    Certified(method="recalibrated", pool="hidden", kind="hidden", measure="f1",
              repeats=1000, ratio=0.728, coverage=1.0, width=0.397),
    Certified(method="recalibrated", pool="inverted", kind="broken", measure="f1",
              repeats=1000, ratio=2.4, coverage=0.985, width=1.6),
    Certified(method="recalibrated", pool="over-confident", kind="rare, working", measure="f1",
              repeats=1000, ratio=0.0857, coverage=0.999, width=2.31),
    Certified(method="recalibrated", pool="perfect", kind="rare, working", measure="f1",
              repeats=1000, ratio=None, coverage=1.0, width=397.0),
    Certified(method="recalibrated", pool="rare", kind="rare, working", measure="f1",
              repeats=1000, ratio=0.0972, coverage=0.999, width=2.65),
    Certified(method="recalibrated", pool="restaurant", kind="rare, working", measure="f1",
              repeats=1000, ratio=0.0068, coverage=1.0, width=26.5),
    Certified(method="recalibrated", pool="shuffled", kind="broken", measure="f1",
              repeats=1000, ratio=0.442, coverage=0.98, width=1.71),
    Certified(method="recalibrated", pool="small", kind="balanced", measure="f1",
              repeats=1000, ratio=0.441, coverage=0.99, width=1.27),
    Certified(method="recalibrated", pool="swapped", kind="broken", measure="f1",
              repeats=1000, ratio=0.608, coverage=0.954, width=1.26),
    Certified(method="recalibrated", pool="threshold-high", kind="broken", measure="f1",
              repeats=1000, ratio=0.441, coverage=0.998, width=2.14),
    Certified(method="recalibrated", pool="threshold-low", kind="broken", measure="f1",
              repeats=1000, ratio=0.453, coverage=0.99, width=1.47),
    Certified(method="recalibrated", pool="ties", kind="rare, working", measure="f1",
              repeats=1000, ratio=0.756, coverage=0.977, width=1.32),
    Certified(method="recalibrated", pool="under-confident", kind="rare, working", measure="f1",
              repeats=1000, ratio=0.402, coverage=0.96, width=1.15),
    Certified(method="recalibrated", pool="weak", kind="balanced", measure="f1",
              repeats=1000, ratio=0.666, coverage=0.974, width=1.39),
)
