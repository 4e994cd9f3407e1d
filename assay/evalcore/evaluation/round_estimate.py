"""What is known after a round: the estimates of the pool, of its segments and of further systems, and what
stopping depends on besides."""

from dataclasses import dataclass
from math import inf

from assay.evalcore.estimators.joint_region import JointRegion
from assay.evalcore.evaluation.best import BestSystem
from assay.evalcore.evaluation.estimate import MeasureEstimate
from assay.evalcore.evaluation.stopping import Look


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundEstimate:
    """The estimates after a round, one for each measure, and what else stopping depends on."""

    round: int
    asked: int           # items newly asked in this round
    labels: int          # distinct items labelled so far
    positives: int | None   # of them in the positive class; None where classes stand equal
    undecided: int       # distinct items that people could not decide so far
    exhausted: bool      # nothing is left whose label could change a measure
    estimates: tuple[MeasureEstimate, ...]
    segments: tuple[MeasureEstimate, ...] = ()  # the same by segment, where the spec names any
    joint: JointRegion | None = None     # of several measures, where the method gives them one
    systems: tuple[MeasureEstimate, ...] = ()    # the same of further systems, where the spec names any
    unanswered: int = 0  # items so far whose round was closed before they were answered
    counts: tuple[int, ...] = ()         # labels by class, where classes stand equal
    leading: int = 1                     # how many of the estimates are of the first measure
    also_leading: tuple[int, ...] = ()   # of several questions: places of those that a target is of
    outcomes_seen: bool | None = None    # where classes stand equal: those that the first measure needs
    best: BestSystem | None = None       # where the best of several systems is asked for

    @property
    def rows(self) -> tuple[MeasureEstimate, ...]:
        """All of them: of the whole pool, first measure first, of further systems, by segment. Reports and
        JSON have this order."""
        return (*self.estimates, *self.systems, *self.segments)

    @property
    def _of_target(self) -> tuple[MeasureEstimate, ...]:
        return (*self.estimates[: self.leading], *(self.estimates[place] for place in self.also_leading))

    def look(self) -> Look:
        """As the stopping rule sees it: by the first measure, of several numbers the least known. It counts
        labels, and says whether both outcomes were seen."""
        return Look(
            labels=self.labels,
            estimate=max(self._of_target, key=_width),
            both_outcomes=bool(self.outcomes_seen) if self.positives is None
            else 0 < self.positives < self.labels,
            exhausted=self.exhausted,
            named=self.best is not None and self.best.winner is not None,
            others=tuple(row for row in self.estimates if row.segment is None),
        )


def _width(estimate: MeasureEstimate) -> float:
    has_interval = estimate.value is not None and estimate.lower is not None and estimate.upper is not None
    return estimate.upper - estimate.lower if has_interval else inf   # type: ignore[operator]
