"""What is known after a round: `rounds/0001/estimate.json`, the estimates and what stopping depends on.

The estimates reissued with revised labels (`tasks.ledger.revisions`) are the same record.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from assay.evalcore.evaluation.estimates import Estimate
from assay.evalcore.evaluation.stopping import Look
from assay.evalcore.evaluation.unfound import withheld
from assay.tasks.ledger import codec, layout
from assay.tasks.ledger.owner import Ledger
from assay.tasks.ledger.record import find_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceTag:
    """What stands beside an estimate of the whole pool (evalcore.evaluation.price_tag)."""

    random_labels: int | None           # labels random sampling would have needed
    random_labels_reason: str | None    # why there is no such number
    no_positive_found: bool             # among all labels
    unlabelled_share: float             # of the pool's items, in cells where nobody labelled anything
    unseen_bound: int | None            # the most positives that are unseen by the draws alone
    unseen_items: int                   # unlabelled items that bound is about
    unseen_bound_reason: str | None     # why there is no bound
    wide_lower: float | None            # the interval under the wide contamination prior
    wide_upper: float | None
    wide_announced: bool | None         # whether it reaches further than the interval
    regime: str | None                  # what a method with a model of the labels says of it
    broken_chance: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class JointRegion:
    """{ G : (G - center)ᵀ shape⁻¹ (G - center) ≤ 1 } of M measures (evalcore.estimators.joint_region)."""

    measures: tuple[str, ...]
    center: tuple[float, ...]               # (M,)
    shape: tuple[tuple[float, ...], ...]    # (M, M)
    reach: tuple[float, ...]                # (M,) how far it extends from its center along each measure
    rank: int                               # dimensions in which it has any extent
    confidence: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Ends:
    """A value and the ends of its interval."""

    value: float | None
    lower: float | None
    upper: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sensitivity:
    """One measure if all undecided items were of one class."""

    measure: str
    all_negative: Ends
    all_positive: Ends


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseRate:
    """Of the rounds that were closed with items unanswered (evalcore.evaluation.nonresponse)."""

    response_rate: float     # items answered, of all asked in any round
    unanswered: int          # items asked in vain
    rounds: int              # closed early
    cells: int               # whose answers stand for unanswered items
    collapsed: int           # that were joined with neighbours
    assumption: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundEstimate:
    """The estimates after a round, one for each measure, and what else stopping depends on."""

    round: int
    asked: int           # items newly asked in this round
    labels: int          # distinct items labelled so far
    positives: int       # of them in the positive class
    undecided: int       # distinct items that people could not decide so far
    exhausted: bool      # nothing is left whose label could change a measure
    estimates: tuple[Estimate, ...]
    segments: tuple[Estimate, ...] = ()  # the same by segment, where the spec names any
    joint: JointRegion | None = None     # of several measures, where the method gives them one
    systems: tuple[Estimate, ...] = ()   # the same of the pool's further systems, where the spec names any
    unanswered: int = 0  # items so far whose round was closed before they were answered
    sensitivity: tuple[Sensitivity, ...] = ()   # by measure, where items are undecided

    def look(self) -> Look:
        """As the stopping rule sees it: by the first measure."""
        return Look(
            labels=self.labels,
            estimate=self.estimates[0],
            both_outcomes=0 < self.positives < self.labels,
            exhausted=self.exhausted,
        )


def write_estimate(ledger: Ledger, estimate: RoundEstimate) -> RoundEstimate:
    """Put the estimates of a closed round; the ones that stand."""
    key = layout.estimate(ledger.name, estimate.round)
    return decode_estimate(ledger.put(key, codec.encode(estimate)), key)


def read_estimate(ledger: Ledger, number: int) -> RoundEstimate | None:
    """The estimates after a round, or None."""
    return find_estimate(ledger, layout.estimate(ledger.name, number))


def find_estimate(ledger: Ledger, key: str) -> RoundEstimate | None:
    """The estimates under a key, or None."""
    blob = find_bytes(ledger, key)
    return None if blob is None else decode_estimate(blob, key)


def decode_estimate(blob: bytes, key: str) -> RoundEstimate:
    """The estimates in the bytes of an estimate.json, as they are reported. Raises DamagedRecord."""
    known = codec.decode(RoundEstimate, blob, key)
    estimates, segments, systems = (
        tuple(_reported(one, known.positives, key) for one in several)
        for several in (known.estimates, known.segments, known.systems)
    )
    return replace(known, estimates=estimates, segments=segments, systems=systems)


# The core still hands these over as plain JSON values.

def price_tag_of(estimate: Estimate, key: str = "price_tag") -> PriceTag | None:
    """What stands beside an estimate; None for a segment or a further system. Raises DamagedRecord."""
    tag = dict(estimate.price_tag)
    return codec.decode(PriceTag, codec.to_json(tag), key) if tag else None


def response_rate_of(estimate: Estimate, key: str = "nonresponse") -> ResponseRate | None:
    """How many answered; None where nothing went unanswered. Raises DamagedRecord."""
    said = estimate.diagnostics.get("nonresponse")
    return None if said is None else codec.decode(ResponseRate, codec.to_json(said), key)


def joint_region_of(said: Mapping[str, Any] | None) -> JointRegion | None:
    """A joint region as the core says it."""
    return None if said is None else codec.decode(JointRegion, codec.to_json(said), "joint_region")


def _reported(estimate: Estimate, positives: int, key: str) -> Estimate:
    price_tag_of(estimate, key)       # raises DamagedRecord
    response_rate_of(estimate, key)   # here too
    return withheld(estimate, positives)
