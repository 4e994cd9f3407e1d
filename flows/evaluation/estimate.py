"""After a round is closed: its estimates, how the people did, and its seal."""

import logging
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from assay.evalcore.history import with_one_more
from assay.evalcore.plurals import plural
from assay.flows.people.annotating import Annotating
from assay.flows.people.quality import annotators_record, one_person_still
from assay.flows.record.fold import Fold
from assay.flows.record.opened import Opened
from assay.tasks import events
from assay.tasks.effects.calls import effect, retried
from assay.tasks.ledger import layout
from assay.tasks.ledger.owner import Ledger
from assay.tasks.ledger.rounds.annotators import write_annotators
from assay.tasks.ledger.rounds.estimate import RoundEstimate, write_estimate
from assay.tasks.ledger.seals import seal_rounds
from assay.tasks.ledger.times import ensure_closed, write_closed

_log = logging.getLogger("assay.advance")
OnRound = Callable[[RoundEstimate], None]


def estimate_round(opened: Opened, folded: Fold, now: datetime, on_round: OnRound | None) -> Fold:
    """Write the estimates of the round just closed and call `on_round`; returns the fold with them."""
    known = _write_estimate(opened.ledger, folded.estimate(opened.statistics, opened.segments))
    write_closed(opened.ledger, known.round, now)
    events.round_closed(opened.ledger.store.url, opened.name, known)
    _log.info("%s: round %d closed, %s", opened.name, known.round, plural(known.labels, "label"))
    if on_round:
        on_round(known)
    return replace(folded, looks=with_one_more(folded.looks, known))


def seal_closed_rounds(opened: Opened, annotating: Annotating, folded: Fold, now: datetime) -> None:
    """Put the time, the annotators' record and the seal of the last closed round, unless they are there.

    The process that wrote its estimate may have crashed before it wrote these. `now` is the time then.
    """
    ensure_closed(opened.ledger, folded.state.round, now)
    _write_annotators(opened, annotating, folded)
    seal_rounds(opened.ledger, folded.state.round, opened.extensions)


@retried
def _write_annotators(opened: Opened, annotating: Annotating, folded: Fold) -> None:
    ledger, number = opened.ledger, folded.state.round
    written = (layout.seal, layout.annotators)
    if number == 0 or any(ledger.exists(key(ledger.name, number)) for key in written):
        return
    if one_person_still(opened, annotating, folded):
        return
    record = annotators_record(opened, annotating, folded)
    if record is not None:
        write_annotators(ledger, record)


@effect("write-estimate")
def _write_estimate(ledger: Ledger, estimate: RoundEstimate) -> RoundEstimate:
    return write_estimate(ledger, estimate)
