"""Stop an evaluation, come back to one that has stopped, and extend it: buy more labels for it.

For an extension labels, design and seed stay: the next round is drawn as if the evaluation had not stopped.
What was asked for is written once, `extensions/0001/extension.json`, and the evaluation is open again. The
number is the whole budget, so the same request made twice, or by two at once, extends once.

    stopped because      it can be extended
    budget spent         to a larger budget; a target that was set goes on counting
    target met           to any budget above what was asked so far; the target no longer stops it
    nothing left to ask  no: every label that matters is known

Whoever extends because of what the result was has more than one chance to be misled, so later intervals are
wider (`evalcore.evaluation.stopping`).
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from assay.evalcore.errors import BadInput, plural
from assay.evalcore.evaluation.round_estimate import RoundEstimate
from assay.evalcore.evaluation.stopping import StopReason
from assay.flows.alerts import raise_verdicts
from assay.flows.people.closing import People
from assay.flows.record.finished import forget_finished, write_finished
from assay.flows.record.fold import Fold, read_fold
from assay.flows.record.opened import Opened, open_evaluation, utc_now
from assay.flows.record.standing import current_standing, read_history, verdict_on
from assay.flows.revisions import catch_up, look_again, nothing_new, nothing_to_complete
from assay.tasks import events
from assay.tasks.effects import effect, retried
from assay.tasks.ledger import layout
from assay.tasks.ledger.checkpoints import forget_if_settled
from assay.tasks.ledger.closed_round import last_revision
from assay.tasks.ledger.life import (
    Ending,
    Extension,
    ensure_closed,
    enter_index,
    leave_index,
    read_ending,
    write_ending,
    write_extension,
)
from assay.tasks.ledger.monitors import window_of
from assay.tasks.ledger.record import Ledger
from assay.tasks.ledger.seals import seal_ending
from assay.tasks.ledger.stores.store import Store

_log = logging.getLogger("assay.advance")


def stop(opened: Opened, folded: Fold, reason: StopReason, moment: datetime) -> Ending:
    """Write why the evaluation stopped; returns the ending under the key."""
    look = folded.looks[-1]
    ending = _write_ending(
        opened.ledger,
        Ending(
            stopped_by=reason, verdict=verdict_on(opened, look), rounds=look.round, labels=look.labels,
            undecided=look.undecided,
        ),
        len(opened.extensions),
    )
    seal_ending(opened.ledger, ending.rounds, opened.extensions)
    # before it leaves the index: if this is cut off, a sweep comes back to it
    raise_verdicts(opened, folded.looks, ending, moment)
    _leave(opened)
    events.evaluation_finished(opened.ledger.store.url, opened.name, look, ending)
    _log.info("%s: finished (%s)", opened.name, ending.stopped_by)
    return ending


def finish_again(
    opened: Opened, ending: Ending, people: Callable[[], People] | None, clock: Callable[[], datetime]
) -> None:
    """Complete whatever a crash may have cut short after the ending was written.

    people: read the batches of its closed rounds once more, in case answers changed; None: do not.
    """
    ensure_closed(opened.ledger, ending.rounds, clock())
    seal_ending(opened.ledger, ending.rounds, opened.extensions)
    if people is not None and nothing_to_complete(opened, ending.rounds):
        _alert_and_leave(opened, ending, clock())
        if nothing_new(people(), ending.rounds):
            return
    folded = None
    if people is not None or last_revision(opened.ledger) is not None:
        folded = read_fold(opened.ledger, opened.statistics)
        catch_up(opened, folded, finished=True)
    _alert_and_leave(opened, ending, clock())
    if people is not None and folded is not None:
        retried(enter_index)(opened.ledger)   # a look that is cut short is carried through by a sweep
        before = last_revision(opened.ledger)
        if look_again(people(), folded, finished=True) != before:
            retried(forget_if_settled)(opened.ledger.store, opened.name)
        _alert_and_leave(opened, ending, clock())


def _alert_and_leave(opened: Opened, ending: Ending, moment: datetime) -> None:
    """Raise the alerts that are due, and only then leave the index: after a crash, a sweep repeats both."""
    if opened.spec.limit is not None:
        raise_verdicts(opened, _history(opened.ledger), ending, moment)
    _leave(opened)


def _leave(opened: Opened) -> None:
    """Keep what it came to, and leave the index of open ones; unless somebody has extended it meanwhile."""
    write_finished(opened.ledger, retried(current_standing)(opened))
    retried(leave_index)(opened.ledger)
    if retried(opened.ledger.exists)(layout.extension(opened.name, len(opened.extensions) + 1)):
        reopen(opened.ledger)


@retried
def reopen(ledger: Ledger) -> None:
    """Put an evaluation that was extended into the index of open ones, and take it out of the finished.
    Whoever advances the store then finds it again."""
    enter_index(ledger)
    forget_finished(ledger)


@retried
def _history(ledger: Ledger) -> list[RoundEstimate]:
    return read_history(ledger)


@effect("write-ending", shown=lambda ledger, ending, extensions: f"finish {ledger.name}: {ending.stopped_by}")
def _write_ending(ledger: Ledger, ending: Ending, extensions: int) -> Ending:
    return write_ending(ledger, ending, extensions)


_extend_log = logging.getLogger("assay.extend")
_LONGEST_REASON = 1000   # characters of a reason, and of a name


class CannotExtend(BadInput):
    """An evaluation cannot be given more labels; the message says why, and what can be done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Extended:
    """An extension that stands in the ledger, and whether this call put it there; it is not new where the
    same budget had been asked for before."""

    extension: Extension
    anew: bool      # this call made it; else the same was asked for before


def extend(
    store: Store, name: str, labels: int, *, by: str = "", reason: str = "",
    clock: Callable[[], datetime] = utc_now,
) -> Extended:
    """Give a finished evaluation a budget of `labels` in all, those bought so far included.

    by, reason    who asks for it, and why: for the record

    Nobody is asked yet: `advance` plans the next round. Raises UnknownEvaluation, CannotExtend.
    """
    opened = open_evaluation(store, name)
    _refuse_window(opened)
    ending = retried(read_ending)(opened.ledger, len(opened.extensions))
    before = opened.extensions[-1] if opened.extensions else None
    if before is not None and before.labels == labels:
        if ending is None:
            reopen(opened.ledger)   # the call that wrote it may have been cut off
        return Extended(extension=before, anew=False)
    if ending is None:
        raise CannotExtend(
            f"evaluation {name!r} has not finished: it goes on to {plural(opened.rule.budget, 'label')}; "
            "extend it when it has stopped"
        )
    extension, winner = _extended(opened, ending, labels, by, reason, clock)
    if winner.labels != labels:
        raise CannotExtend(
            f"somebody else extended evaluation {name!r} to {plural(winner.labels, 'label')} at the same "
            "moment; that stands"
        )
    _extend_log.info("%s: extended from %d to %d labels", name, winner.labels_before, winner.labels)
    return Extended(extension=winner, anew=winner == extension)


def buy_further(
    store: Store, name: str, number: int, labels: int, *, clock: Callable[[], datetime] = utc_now
) -> None:
    """Give a monitor's evaluation so many further labels, as its extension of this number; once. An extension
    that is there already changes nothing.

    Raises UnknownEvaluation, CannotExtend.
    """
    opened = open_evaluation(store, name)
    if len(opened.extensions) >= number:
        if retried(read_ending)(opened.ledger, len(opened.extensions)) is None:
            reopen(opened.ledger)   # the call that wrote it may have been cut off
        return
    ending = retried(read_ending)(opened.ledger, len(opened.extensions))
    if ending is None or len(opened.extensions) != number - 1:
        raise CannotExtend(f"evaluation {name!r} has not finished before its follow-up {number}")
    count = read_fold(opened.ledger, opened.statistics).asked
    _extended(opened, ending, min(count + labels, opened.manifest.rows), "", "follow-up", clock)


def _extended(
    opened: Opened, ending: Ending, labels: int, by: str, reason: str, clock: Callable[[], datetime]
) -> tuple[Extension, Extension]:
    """Write an extension; what was wanted, and what stands in the ledger."""
    finish_again(opened, ending, None, clock)
    extension = _wanted(opened, ending, labels, by, reason, clock())
    retried(enter_index)(opened.ledger)   # first: of an extension that is written, every sweep must know
    winner = _write(opened.ledger, extension)
    reopen(opened.ledger)
    return extension, winner


def _wanted(
    opened: Opened, ending: Ending, labels: int, by: str, reason: str, at: datetime
) -> Extension:
    """The extension that is asked for. Raises CannotExtend."""
    name, rows = opened.name, opened.manifest.rows
    if ending.stopped_by == "pool":
        raise CannotExtend(f"evaluation {name!r} cannot be extended: every label that matters is known")
    if opened.spec.target.best_of is not None:
        raise CannotExtend(
            f"evaluation {name!r} cannot be extended: it names the best system with an error that is spread "
            "over the looks of its budget. Begin another with a larger budget; it stops when one is known"
        )
    count = read_fold(opened.ledger, opened.statistics).asked
    if labels <= count:
        raise CannotExtend(
            f"labels: {labels} is not more than the {count} that evaluation {name!r} has asked for; give the "
            f"new budget in all, as in {count + 50}"
        )
    if labels > rows:
        raise CannotExtend(f"labels: {labels} is more than the pool of {name!r} holds; give at most {rows}")
    for what, text in (("by", by), ("reason", reason)):
        if len(text) > _LONGEST_REASON:
            raise CannotExtend(f"{what}: {len(text)} characters are too many; give at most {_LONGEST_REASON}")
    revision = retried(last_revision)(opened.ledger)
    return Extension(
        number=len(opened.extensions) + 1,
        rounds=ending.rounds,
        revisions=0 if revision is None else revision.number,
        labels_before=opened.rule.budget,
        labels=labels,
        beyond_target=ending.stopped_by in ("half_width", "variance"),
        by=by.strip(),
        reason=reason.strip(),
        at=at,
    )


@retried
def _refuse_window(opened: Opened) -> None:
    """Raises CannotExtend for an evaluation that a monitor opened."""
    owner = window_of(opened.ledger.store, opened.name)
    if owner is not None:
        monitor, window = owner
        raise CannotExtend(
            f"evaluation {opened.name!r} belongs to window {window} of monitor {monitor!r}, whose verdict "
            "counts its labels as they are. The monitor itself buys more where a verdict needs them: see "
            "follow_ups and sizing in its spec"
        )


@effect("write-extension")
def _write(ledger: Ledger, extension: Extension) -> Extension:
    return write_extension(ledger, extension)
