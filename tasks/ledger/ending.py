"""Why an evaluation ended: `ending.json`."""

from dataclasses import dataclass

from assay.evalcore.evaluation.stopping import StopReason, Verdict
from assay.tasks.ledger import layout
from assay.tasks.ledger.owner import Ledger
from assay.tasks.ledger.record import find_record, put_record


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """Why it ended, and with what."""

    stopped_by: StopReason
    verdict: Verdict | None     # None without a threshold
    rounds: int                 # closed
    labels: int                 # distinct items with a label
    undecided: int              # distinct items people could not decide


def write_ending(ledger: Ledger, ending: Ending) -> Ending:
    """Put why the evaluation ended; the ending that stands."""
    return put_record(ledger, layout.ending(ledger.name), ending)


def read_ending(ledger: Ledger) -> Ending | None:
    """Why the evaluation ended, or None if it goes on."""
    return find_record(ledger, layout.ending(ledger.name), Ending)
