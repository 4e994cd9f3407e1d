"""Stop an evaluation, and come back to one that has stopped."""

import logging
from collections.abc import Callable
from datetime import datetime

from assay.evalcore.evaluation.stopping import StopReason
from assay.flows.alerts.verdicts import raise_verdicts
from assay.flows.people.context import People
from assay.flows.record.finished import forget_finished, write_finished
from assay.flows.record.fold import Fold, read_fold
from assay.flows.record.opened import Opened
from assay.flows.record.standing import current_standing, read_history, verdict_on
from assay.flows.revisions.revise import catch_up, look_again, nothing_new, nothing_to_complete
from assay.tasks import events
from assay.tasks.effects.calls import effect, retried
from assay.tasks.ledger import layout
from assay.tasks.ledger.checkpoints.monitor import forget_if_settled
from assay.tasks.ledger.ending import Ending, enter_index, leave_index, write_ending
from assay.tasks.ledger.owner import Ledger
from assay.tasks.ledger.revisions import last_revision
from assay.tasks.ledger.rounds.estimate import RoundEstimate
from assay.tasks.ledger.seals import seal_ending
from assay.tasks.ledger.times import ensure_closed

_log = logging.getLogger("assay.advance")


def stop(opened: Opened, folded: Fold, reason: StopReason, now: datetime) -> Ending:
    """Write why the evaluation stopped; returns the ending under the key."""
    known = folded.looks[-1]
    ending = _write_ending(
        opened.ledger,
        Ending(
            stopped_by=reason, verdict=verdict_on(opened, known), rounds=known.round, labels=known.labels,
            undecided=known.undecided,
        ),
        len(opened.extensions),
    )
    seal_ending(opened.ledger, ending.rounds, opened.extensions)
    # before it leaves the index: if this is cut off, a sweep comes back to it
    raise_verdicts(opened, folded.looks, ending, now)
    _leave(opened)
    events.evaluation_finished(opened.ledger.store.url, opened.name, known, ending)
    _log.info("%s: finished (%s)", opened.name, ending.stopped_by)
    return ending


def finish_again(
    opened: Opened, ending: Ending, people: Callable[[], People] | None, now: Callable[[], datetime]
) -> None:
    """Complete whatever a crash may have cut short after the ending was written.

    people: read the batches of its closed rounds once more, in case answers changed; None: do not.
    """
    ensure_closed(opened.ledger, ending.rounds, now())
    seal_ending(opened.ledger, ending.rounds, opened.extensions)
    if people is not None and nothing_to_complete(opened, ending.rounds):
        _alert_and_leave(opened, ending, now())
        if nothing_new(people(), ending.rounds):
            return
    folded = None
    if people is not None or last_revision(opened.ledger) is not None:
        folded = read_fold(opened.ledger, opened.statistics)
        catch_up(opened, folded, finished=True)
    _alert_and_leave(opened, ending, now())
    if people is not None and folded is not None:
        retried(enter_index)(opened.ledger)   # a look that is cut short is carried through by a sweep
        before = last_revision(opened.ledger)
        if look_again(people(), folded, finished=True) != before:
            retried(forget_if_settled)(opened.ledger.store, opened.name)
        _alert_and_leave(opened, ending, now())


def _alert_and_leave(opened: Opened, ending: Ending, now: datetime) -> None:
    """Raise the alerts that are due, and only then leave the index: after a crash, a sweep repeats both."""
    if opened.spec.limit is not None:
        raise_verdicts(opened, _history(opened.ledger), ending, now)
    _leave(opened)


def _leave(opened: Opened) -> None:
    """Keep what it came to, and leave the index of open ones; unless somebody has extended it meanwhile."""
    write_finished(opened.ledger, retried(current_standing)(opened))
    retried(leave_index)(opened.ledger)
    if retried(opened.ledger.exists)(layout.extension(opened.name, len(opened.extensions) + 1)):
        reopen(opened.ledger)


@retried
def reopen(ledger: Ledger) -> None:
    """Put an evaluation that was extended into the index of open ones, and take it out of the finished."""
    enter_index(ledger)
    forget_finished(ledger)


@retried
def _history(ledger: Ledger) -> list[RoundEstimate]:
    return read_history(ledger)


@effect("write-ending")
def _write_ending(ledger: Ledger, ending: Ending, extensions: int) -> Ending:
    return write_ending(ledger, ending, extensions)
