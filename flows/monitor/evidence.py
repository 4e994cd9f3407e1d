"""Reading the evidence in the finished evaluations of a window."""

from collections.abc import Sequence
from dataclasses import dataclass

from assay.evalcore.monitoring.evidence.sample import WindowSample
from assay.flows.record.fold import Fold, fold
from assay.flows.record.opened import Opened, open_evaluation
from assay.flows.record.reissued import reissued_at
from assay.flows.revisions.recompute import revised_fold
from assay.tasks.effects.calls import retried
from assay.tasks.ledger import layout
from assay.tasks.ledger.monitors import SupportingEvaluation
from assay.tasks.ledger.owner import Ledger
from assay.tasks.ledger.revisions import last_revision
from assay.tasks.ledger.rounds.closed import ClosedRound
from assay.tasks.ledger.rounds.estimate import RoundEstimate


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PartEvidence:
    """One finished evaluation of a window."""

    part: SupportingEvaluation             # for the record of the verdict
    sample: WindowSample
    pool: int              # items in the window
    interval: str          # the kind of interval of its estimates
    dependent: bool        # they rest on a label model that took labels of an earlier evaluation


@retried
def is_finished(ledger: Ledger) -> bool:
    """Whether an evaluation has ended and its ending is sealed."""
    return ledger.exists(layout.final_seal(ledger.name))


@retried
def revision_of(ledger: Ledger) -> int:
    """How often the labels of an evaluation were corrected since its rounds were closed."""
    last = last_revision(ledger)
    return last.number if last else 0


@retried
def read_evidence_part(ledger: Ledger) -> PartEvidence:
    """Read what a finished evaluation says, by its newest revision."""
    opened = open_evaluation(ledger.store, ledger.name)
    folded = fold(ledger, opened.statistics)
    known = folded.looks[-1]
    reissued, revision = reissued_at(ledger, known), last_revision(ledger)
    if reissued is None or revision is None:
        return _part(opened, folded, folded.closed, known, revision=0)
    now = revised_fold(opened, folded, revision).closed
    return _part(opened, folded, now, reissued.known, revision=reissued.number)


def _part(
    opened: Opened, folded: Fold, closed: Sequence[ClosedRound], known: RoundEstimate, revision: int
) -> PartEvidence:
    """closed: the rounds, with the labels of now."""
    found = (*known.estimates, *known.segments)
    sample = opened.statistics.window_sample(closed, found, opened.segments)
    return PartEvidence(
        part=SupportingEvaluation(
            evaluation=opened.name, revision=revision, labels=known.labels,
            bought=known.labels - folded.reused,
        ),
        sample=sample,
        pool=opened.manifest.rows,
        interval=known.estimates[0].interval,
        dependent=opened.manifest.inherited is not None and sample.dependent,
    )
