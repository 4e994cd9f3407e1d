"""The estimates that count now: those of the newest revision, and how they moved."""

from dataclasses import dataclass

from assay.tasks.ledger.owner import Ledger
from assay.tasks.ledger.revisions import Revision, last_revision, read_revised_estimate
from assay.tasks.ledger.rounds.estimate import RoundEstimate
from assay.tasks.ledger.rounds.labels import read_labels
from assay.tasks.report.data import Moved, of_what


@dataclass(frozen=True, slots=True, kw_only=True)
class Reissued:
    """The newest revision, as far as a standing needs it."""

    number: int
    known: RoundEstimate
    items: int             # whose labels are not those of the closing


def estimates_moved(before: RoundEstimate | None, after: RoundEstimate) -> tuple[Moved, ...]:
    """How the estimates of the whole pool moved: from the labels of the closing to the revised labels."""
    if before is None or before.round != after.round:
        return ()
    return tuple(
        Moved(
            measure=b.measure, of=of_what(b.system, b.versus, b.of_class), value_before=b.value,
            value=a.value, lower_before=b.lower, lower=a.lower, upper_before=b.upper, upper=a.upper,
        )
        for b, a in zip(before.estimates, after.estimates, strict=True)
    )


def reissued_at(ledger: Ledger, known: RoundEstimate | None) -> Reissued | None:
    """The newest revision, if its estimates are those after the same round as `known`; else None."""
    last = last_revision(ledger)
    if last is None or known is None or last.rounds != known.round:
        return None
    estimate = read_revised_estimate(ledger, last.number)
    return None if estimate is None else Reissued(
        number=last.number, known=estimate, items=len(_differing(ledger, last))
    )


def _differing(ledger: Ledger, revision: Revision) -> list[str]:
    """Items whose label in a revision is not the one their round was closed with."""
    closed: dict[int, dict[str, float | str]] = {}
    for item in revision.items:
        if item.round not in closed:
            decided = read_labels(ledger, item.round) or []
            closed[item.round] = {one.item_id: one.came_to for one in decided}
    return [
        item.decided.item_id for item in revision.items
        if closed[item.round].get(item.decided.item_id) != item.decided.came_to
    ]
