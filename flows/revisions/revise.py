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
from collections.abc import Mapping, Sequence
from dataclasses import replace

from assay.evalcore.annotators.quality import AnnotatorQuality
from assay.evalcore.design.round import ClosedDraws
from assay.evalcore.errors import plural
from assay.evalcore.evaluation.rounds import revised_state
from assay.evalcore.types import Floats
from assay.flows.people.annotating import Annotating, annotators_record
from assay.flows.people.asked import People
from assay.flows.record.fold import Fold, in_full, not_begun
from assay.flows.record.opened import Opened
from assay.flows.revisions.look import Unchanged, changed_items
from assay.tasks.effects import retried
from assay.tasks.ledger import layout
from assay.tasks.ledger.closed_round import ClosedRound, Decided, RoundEstimate, shares_of_draws
from assay.tasks.ledger.revisions import (
    Revision,
    last_revision,
    read_revised_estimate,
    reissued,
    with_revision,
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


# What a revision comes to: everything that is computed once labels have changed, from the ledger alone.

def revised_fold(opened: Opened, folded: Fold, revision: Revision) -> Fold:
    """What is known with a revision's labels, after the rounds it covers; `folded`: as rounds were closed."""
    statistics = opened.statistics
    closed = [in_full(opened.ledger, one) for one in folded.closed[: revision.rounds]]
    effective = with_revision([one.decided or () for one in closed], revision)
    rounds = _answered_now(closed, effective)
    labelled = not_begun(statistics).labelled
    for decided in effective:
        labelled = statistics.counted(labelled, decided)
    return Fold(
        state=revised_state(statistics.question, rounds),
        labelled=labelled,
        last_asked=len(effective[-1]),
        closed=tuple(
            ClosedRound(planned=one.planned, labels=now.code)
            for one, now in zip(closed, rounds, strict=True)
        ),
        as_if=statistics.revised_as_if(rounds),
    )


def revised_estimate(opened: Opened, folded: Fold, revision: Revision) -> RoundEstimate:
    """The estimates after the last round a revision covers, with its labels: computed, not read."""
    statistics = opened.as_of(revision.rounds).statistics
    found = revised_fold(opened, folded, revision).estimate(statistics, opened.segments)
    estimates, systems, segments = (
        tuple(replace(one, revision=revision.number) for one in several)
        for several in (found.estimates, found.systems, found.segments)
    )
    return replace(found, estimates=estimates, systems=systems, segments=segments)


def revised_annotators(opened: Opened, folded: Fold, revision: Revision) -> AnnotatorQuality | None:
    """How the people do by the answers of now; None if there is nothing to say, as with a round's record.

    Answers to gold are those the rounds were closed with: a look does not read gold again.
    """
    closed = [in_full(opened.ledger, one) for one in folded.closed[: revision.rounds]]
    annotating = Annotating(opened, with_revision([one.decided or () for one in closed], revision))
    then = opened.as_of(revision.rounds)
    record = annotators_record(then, annotating, revised_fold(opened, folded, revision))
    return None if record is None else replace(record, revision=revision.number)


def _answered_now(
    closed: Sequence[ClosedRound], effective: Sequence[Sequence[Decided]]
) -> list[ClosedDraws]:
    """The rounds with the labels of now, draws of items labelled earlier included."""
    label: dict[tuple[int, int], float] = {}
    for decided in effective:
        label |= {(one.cell, one.rank): one.code for one in decided if one.reason != "unanswered"}
    return [
        one.answered(shares_of_draws(one.planned, decided), _labels_now(one, decided, label))
        for one, decided in zip(closed, effective, strict=True)
    ]


def _labels_now(
    one: ClosedRound, decided: Sequence[Decided], label: Mapping[tuple[int, int], float]
) -> Floats:
    own = {(d.cell, d.rank): d.code for d in decided}
    now = one.labels.copy()
    plan = one.planned.plan
    for t, (cell, rank, known) in enumerate(
        zip(plan.cell.tolist(), plan.rank.tolist(), one.planned.known, strict=True)
    ):
        now[t] = own[cell, rank] if known is None else label[cell, rank]
    return now
