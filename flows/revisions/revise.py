"""Revisions: what happens to an evaluation when people change their answers after a round was closed.

A *look* reads the batches of closed rounds once more (flows.revisions.look). An answer that was edited, taken
back, or given late changes the item's label. The changes become `revisions/<n>/`, and the estimates are
reissued with them. Nothing written before is changed: rounds keep the labels they were closed with, their
plans and estimates, and every later plan keeps the probabilities it was drawn with. Plans and the rule that
stops use the labels as rounds were closed; what is reported, and the verdict, use the newest revision.

Where a round was closed before an item was answered, and a later round asks the item again, only the
answers to the later round count.

Revisions are numbered. The process that writes a number first has written that revision; the others look
again before they write the next one. A revision that was interrupted is completed by the next process, from
its labels.
"""

import logging

from assay.evalcore.plurals import plural
from assay.flows.people.context import People
from assay.flows.record.fold import Fold
from assay.flows.record.opened import Opened
from assay.flows.revisions.changes import changed_items
from assay.flows.revisions.recompute import revised_annotators, revised_estimate
from assay.flows.revisions.unchanged import Unchanged
from assay.tasks.effects.calls import retried
from assay.tasks.ledger import layout
from assay.tasks.ledger.revisions import (
    Revision,
    last_revision,
    read_revised_estimate,
    reissued,
    write_revised_annotators,
    write_revised_estimate,
    write_revision,
)
from assay.tasks.ledger.seals import seal_revision

_log = logging.getLogger("assay.revising")
TRIES = 10   # looks, while others write revisions at the same time


def catch_up(opened: Opened, folded: Fold, *, finished: bool) -> Revision | None:
    """Finish the last revision if it was cut short, and reissue it if rounds closed since; the newest.

    folded     the closed rounds, all of them estimated and sealed
    finished   the evaluation has stopped
    """
    last = retried(last_revision)(opened.ledger)
    if last is None:
        return None
    _complete(opened, folded, last)
    if last.rounds < folded.state.round:
        last = write_revision(opened.ledger, reissued(last, folded.state.round, finished))
        _complete(opened, folded, last)
    return last


def look_again(
    people: People, folded: Fold, *, finished: bool, only_gaps: bool = False
) -> Revision | None:
    """Read the closed rounds' batches; the newest revision, written if anything changed.

    only_gaps   read only rounds that were closed with items unanswered which no later round asked again

    The others as in `catch_up`.
    """
    opened = people.opened
    unchanged = Unchanged(people)
    for _ in range(TRIES):
        last = catch_up(opened, folded, finished=finished)
        items = changed_items(people, folded, last, unchanged, only_gaps=only_gaps)
        unchanged.keep()
        if items is None:
            return last
        number = last.number + 1 if last else 1
        mine = Revision(number=number, rounds=folded.state.round, finished=finished, items=items)
        written = write_revision(opened.ledger, mine)
        _complete(opened, folded, written)
        if written == mine:
            changed = plural(len(mine.changed), "label")
            _log.info("%s: revision %d, %s changed", opened.name, number, changed)
            return written
    return catch_up(opened, folded, finished=finished)


def nothing_to_complete(opened: Opened, rounds: int) -> bool:
    """Whether `catch_up` has nothing to do after so many rounds: it need not be called."""
    last = retried(last_revision)(opened.ledger)
    return last is None or (
        last.rounds == rounds
        and retried(read_revised_estimate)(opened.ledger, last.number) is not None
        and retried(opened.ledger.exists)(layout.revision_seal(opened.name, last.number))
    )


def nothing_new(people: People, rounds: int) -> bool:
    """Whether the desk says of all closed rounds what it said when a look found nothing to revise.

    The rounds are not read. False may mean that it is not known.
    """
    unchanged, last = Unchanged(people), retried(last_revision)(people.ledger)
    return all(unchanged.holds(number, last) for number in range(1, rounds + 1))


def _complete(opened: Opened, folded: Fold, revision: Revision) -> None:
    """Write what follows from a revision's labels, as far as it is not there."""
    ledger, number = opened.ledger, revision.number
    if read_revised_estimate(ledger, number) is None:
        write_revised_estimate(ledger, number, revised_estimate(opened, folded, revision))
    if not ledger.exists(layout.revision_seal(opened.name, number)):
        record = revised_annotators(opened, folded, revision)
        if record is not None:
            write_revised_annotators(ledger, number, record)
        seal_revision(ledger, revision)
