"""What is known after a round: `rounds/0001/estimate.json`, the estimates and what stopping depends on, and
`rounds/0001/annotators.json`, how the people who label do.

The estimates reissued with revised labels (`tasks.ledger.revisions`) are the same record.
"""

from dataclasses import dataclass, replace
from math import inf

from assay.evalcore.annotators.quality import AnnotatorQuality
from assay.evalcore.estimators.joint_region import JointRegion
from assay.evalcore.evaluation.estimate import MeasureEstimate, withheld
from assay.evalcore.evaluation.stopping import Look
from assay.tasks.ledger import layout, record
from assay.tasks.ledger.record import Ledger, find_bytes, find_record, put_record


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
    outcomes_seen: bool | None = None    # where classes stand equal: those that the first measure needs

    @property
    def rows(self) -> tuple[MeasureEstimate, ...]:
        """All of them: of the whole pool, first measure first, of further systems, by segment."""
        return (*self.estimates, *self.systems, *self.segments)

    def look(self) -> Look:
        """As the stopping rule sees it: by the first measure, of several numbers the least known."""
        return Look(
            labels=self.labels,
            estimate=max(self.estimates[: self.leading], key=_width),
            both_outcomes=bool(self.outcomes_seen) if self.positives is None
            else 0 < self.positives < self.labels,
            exhausted=self.exhausted,
        )


def _width(estimate: MeasureEstimate) -> float:
    known = estimate.value is not None and estimate.lower is not None and estimate.upper is not None
    return estimate.upper - estimate.lower if known else inf   # type: ignore[operator]


def write_estimate(ledger: Ledger, estimate: RoundEstimate) -> RoundEstimate:
    """Put the estimates of a closed round; returns those under the key."""
    key = layout.estimate(ledger.name, estimate.round)
    return decode_estimate(ledger.put(key, record.encode(estimate)), key)


def read_estimate(ledger: Ledger, number: int) -> RoundEstimate | None:
    """The estimates after a round, or None."""
    return find_estimate(ledger, layout.estimate(ledger.name, number))


def find_estimate(ledger: Ledger, key: str) -> RoundEstimate | None:
    """The estimates under a key, or None."""
    blob = find_bytes(ledger, key)
    return None if blob is None else decode_estimate(blob, key)


def decode_estimate(blob: bytes, key: str) -> RoundEstimate:
    """The estimates in the bytes of an estimate.json, as they are reported. Raises DamagedRecord."""
    known = record.decode(RoundEstimate, blob, key)
    if known.positives is None:
        return known
    positives = known.positives
    estimates, segments, systems = (
        tuple(withheld(one, positives) for one in several)
        for several in (known.estimates, known.segments, known.systems)
    )
    return replace(known, estimates=estimates, segments=segments, systems=systems)


# How the people who label do: `rounds/0001/annotators.json`, where there is something to say.
#
# Revisions have a record of the same kind (`tasks.ledger.revisions`).

def write_annotators(ledger: Ledger, quality: AnnotatorQuality) -> AnnotatorQuality:
    """Put how people did up to a round; returns the record under the key."""
    return put_record(ledger, layout.annotators(ledger.name, quality.round), quality)


def read_annotators(ledger: Ledger, number: int) -> AnnotatorQuality | None:
    """How people did up to a round, or None."""
    return find_record(ledger, layout.annotators(ledger.name, number), AnnotatorQuality)
