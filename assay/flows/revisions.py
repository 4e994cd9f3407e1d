"""Revisions: what happens to an evaluation when people change their answers after a round was closed.

A *look* reads the batches of closed rounds once more, and each item's label follows what people say now:

    its answers give a label                   that label (fewer answers than were asked for will do)
    everybody skips it now                     undecided
    nobody's answer is left, it is on the desk undecided ("withdrawn"), if it had a label; else as it was
    it is gone from the desk                   the answers that were seen still count
    tied, or an answer that is none            as it was
    the answers say what they said before      as it was

An answer that was edited, taken back, or given late changes the item's label. The changes become
`revisions/<n>/`, and the estimates are reissued with them. Nothing written before is changed: rounds keep the
labels they were closed with, their plans and estimates, and every later plan keeps the probabilities it was
drawn with. Plans and the rule that stops use the labels as rounds were closed; what is reported, and the
verdict, use the newest revision.

Where a round was closed before an item was answered, and a later round asks the item again, only the
answers to the later round count.

Revisions are numbered. The process that writes a number first has written that revision; the others look
again before they write the next one. A revision that was interrupted is completed by the next process, from
its labels.
"""

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache

from assay.evalcore.annotators.adjudication import Annotation, AnswerTally
from assay.evalcore.annotators.quality import AnnotatorQuality
from assay.evalcore.design.round import ClosedDraws
from assay.evalcore.errors import plural
from assay.evalcore.evaluation.round_estimate import RoundEstimate
from assay.evalcore.evaluation.state import counted, revised_state
from assay.evalcore.types import Floats
from assay.flows.people.annotating import Annotating, annotators_record, own_answers
from assay.flows.people.ask import reread_round
from assay.flows.people.closing import AskedRound, Asking, People
from assay.flows.record.fold import Fold, in_full, not_begun
from assay.flows.record.opened import Opened
from assay.tasks.desks.desk import Batch, Item, collect_answers
from assay.tasks.effects import retried
from assay.tasks.ledger import layout, record
from assay.tasks.ledger.asked_round import annotators_of, packed_answers, read_answers
from assay.tasks.ledger.checkpoints import LookedAt, find_looks, write_looks
from assay.tasks.ledger.closed_round import (
    ClosedRound,
    Decided,
    RevisedItem,
    Revision,
    codes_of,
    last_revision,
    read_revised_estimate,
    reissued,
    revised,
    shares_of_draws,
    with_revision,
    write_revised_annotators,
    write_revised_estimate,
    write_revision,
)
from assay.tasks.ledger.log import ensure_logged
from assay.tasks.ledger.record import Ledger
from assay.tasks.ledger.seals import seal_revision


def labels_now(people: People, round_: AskedRound, decided: Sequence[Decided]) -> dict[str, Decided]:
    """Item -> what it comes to now.

    round_     the round's batches, as they were read once more
    decided   what the round's items came to so far
    """
    tallies, fresh = round_.tallies, {row.item_id: row for row in round_.labels(early=True)}
    labels = {}
    for before in decided:
        labels[before.item_id] = before
        # nobody was asked about an item whose label was bought before
        if before.item_id in tallies and not say_the_same(
            people.ledger, round_.planned.number, before, fresh[before.item_id]
        ):
            labels[before.item_id] = relabelled(
                before, fresh[before.item_id], tallies[before.item_id],
                on_desk=before.item_id in round_.present,
            )
    return labels


def relabelled(before: Decided, fresh: Decided, tally: AnswerTally, *, on_desk: bool) -> Decided:
    """What an item comes to whose answers changed.

    before    what it came to so far
    fresh     what its answers of now give when the round is closed with what is there
    tally     of these answers
    on_desk   whether the item is on the desk now
    """
    if fresh.label is not None and (on_desk or before.reason != "withdrawn"):
        return fresh
    if tally.status == "skipped":
        return replace(fresh, reason="skipped")
    if not tally.answers and on_desk and before.label is not None:
        return replace(fresh, reason="withdrawn")
    return before


def say_the_same(ledger: Ledger, number: int, before: Decided, after: Decided) -> bool:
    """Whether the answers behind both say the same: a file that is saved again has new times, and no news.
    What counts is who said which label of which item."""
    if before.annotations == after.annotations:
        return True
    then, new_answers = (read_answers(ledger, number, row.annotations) for row in (before, after))
    return _said(then) == _said(new_answers)


def _said(answers: Iterable[Annotation]) -> set[tuple[str, int, str, str | None]]:
    return {(a.annotator, a.asking, a.kind, a.label) for a in answers}


class Unchanged:
    """What earlier looks at the closed rounds of one evaluation found, and what this one finds.

    Closed rounds of which the desk says what it said at an earlier look: they are not read from the ledger.

    A look at a round is a function of what the desk says, of what the last revision made of its items, and of
    what cannot change any more. That holds of a round

    - whose items are all on the desk: of those that are gone, answers seen earlier count;
    - none of whose items can be asked a second time any more, by a process that was held up: what enough
        people
      skipped, at any time, was asked twice already. Skips that the ledger does not hold by now lead to no
      second question: who asks it writes the skips down first, and then makes sure that the round is open
      (flows.people.ask).

    Of such a round it is kept what the desk said, when it changed no label (tasks.ledger.checkpoints). The
    next look reads the desk first. Of all other rounds nothing is kept, and every look reads them.
    """

    def __init__(self, people: People) -> None:
        self._people = people
        self._before = retried(find_looks)(people.ledger)
        self._found: dict[int, LookedAt] = {}

    def holds(self, number: int, revision: Revision | None) -> bool:
        """Whether a round's labels need no look: the desk is read.

        revision: the newest revision.
        """
        memo = self._found.get(number) or self._before.rounds.get(number)
        if memo is None:
            return False
        read = [self._read(number, list(memo.items), memo)]
        if memo.again:
            read.append(self._read(number, memo.again, memo, asking=2))
        return _desk_said(read, number, revision) == memo.said

    def note(self, round_: AskedRound, revision: Revision | None) -> None:
        """A look changed no label of a round, as of this revision: keep that, where it will hold. The next
        look then reads nothing of that round at the desk."""
        first_asking, second_asking = round_.first, round_.second
        askings = [first_asking] if second_asking is None else [first_asking, second_asking]
        number = round_.planned.number
        repeats = () if second_asking is None else tuple(item.item_id for item in second_asking.batch.items)
        if not all(_all_there(asking) for asking in askings) or self._may_be_asked_again(round_, repeats):
            return
        self._found[number] = LookedAt(
            items={item.item_id: item.shown for item in first_asking.batch.items}, again=repeats,
            said=_desk_said([(asking.answers, asking.present) for asking in askings], number, revision),
        )

    def keep(self) -> None:
        """Write down which rounds this look found unchanged, so that the next look need not read them in
        full; nothing is written where it found none."""
        if self._found:
            retried(write_looks)(self._people.ledger, self._before, self._found)

    def _read(
        self, number: int, items: Sequence[str], memo: LookedAt, asking: int = 1
    ) -> tuple[Sequence[Annotation], frozenset[str]]:
        """What the desk says now, and of which items."""
        batch_items = [Item(item_id=item, shown=memo.items[item]) for item in items]
        collected = collect_answers(
            self._people.desk,
            Batch(evaluation=self._people.ledger.name, round=number, items=batch_items, asking=asking),
        )
        return collected.annotations, collected.present

    def _may_be_asked_again(self, round_: AskedRound, repeats: Sequence[str]) -> bool:
        """Whether enough people ever skipped an item that was not asked twice, by all the ledger holds."""
        if not self._people.asks_twice:
            return False
        skips: dict[str, set[str]] = {}
        for answer in self._all_answers(round_):
            if answer.kind == "skip" and answer.asking == 1:
                skips.setdefault(answer.item_id, set()).add(answer.annotator)
        once = {item.item_id for item in round_.first.batch.items} - set(repeats)
        return any(len(skips.get(item, ())) >= self._people.annotators for item in once)

    def _all_answers(self, round_: AskedRound) -> list[Annotation]:
        """Those that the desk said now, and all that it ever said."""
        ledger, number = self._people.ledger, round_.planned.number
        hits = (layout.annotation.match(key) for key in ledger.keys(layout.annotations(ledger.name, number)))
        names = {match[2] for match in hits if match is not None}
        earlier = names - {_name(answer) for answer in round_.answers}
        return [*round_.answers, *(packed_answers(ledger, number, earlier) if earlier else ())]


def _all_there(asking: Asking) -> bool:
    return all(item.item_id in asking.present for item in asking.batch.items)


def _name(answer: Annotation) -> str:
    return layout.digest(record.encode(answer))


def _desk_said(
    read: Sequence[tuple[Sequence[Annotation], frozenset[str]]], number: int, revision: Revision | None
) -> str:
    """A digest of what the desk said of each asking, and of what a revision made of the round's items."""
    revised = [item.decided for item in (revision.items if revision else ()) if item.round == number]
    return layout.digest(record.to_json({
        "desk": [[sorted(map(_name, answers)), sorted(present)] for answers, present in read],
        "revised": [record.plain(row) for row in revised],
    }))


def changed_items(
    people: People, folded: Fold, revision: Revision | None, unchanged: Unchanged, *, only_gaps: bool
) -> tuple[RevisedItem, ...] | None:
    """The items of the revision after `revision`, those of `revision` included; None if nothing changed.

    unchanged   what earlier looks found; rounds of which that still holds are not read
    only_gaps   read only rounds that were closed with items unanswered which no later round asked again.
    """
    asked_last = cache(lambda: _asked_last(folded))
    items: dict[tuple[int, str], RevisedItem] = {
        (item.round, item.decided.item_id): replace(item, changed=False, by=())
        for item in (revision.items if revision else ())
    }
    changed = False
    for number in range(1, folded.state.round + 1):
        if only_gaps and not folded.closed[number - 1].has_gaps:
            continue
        if unchanged.holds(number, revision) or not _own(folded, number, asked_last()):
            continue
        closed = in_full(people.ledger, folded.closed[number - 1])
        decided = revised(number, closed.decided or (), revision)
        own_rows = [row for row in decided if number >= asked_last().get((row.cell, row.rank), 0)]
        if only_gaps and all(row.came_to != "unanswered" for row in own_rows):
            continue
        round_ = reread_round(people, closed.planned, own_answers(people.opened, number))
        labels = labels_now(people, round_, decided)
        differing = [row for row in own_rows if labels[row.item_id].came_to != row.came_to]
        for before in differing:
            after = labels[before.item_id]
            digests = set(before.annotations) ^ set(after.annotations)
            items[number, before.item_id] = RevisedItem(
                round=number, decided=after, changed=True, by=annotators_of(people.ledger, number, digests)
            )
        if differing:
            changed = True
        else:
            unchanged.note(round_, revision)
    return tuple(items[place] for place in sorted(items)) if changed else None


def _own(folded: Fold, number: int, asked_last: Mapping[tuple[int, int], int]) -> bool:
    """Whether a round asked anything that no later round asked again."""
    planned = folded.closed[number - 1].planned
    places = ((int(planned.plan.cell[t]), int(planned.plan.rank[t])) for t in planned.asked())
    return any(number >= asked_last.get(place, 0) for place in places)


def _asked_last(folded: Fold) -> Mapping[tuple[int, int], int]:
    """(cell, rank) -> the last round that asked the item, the open one included."""
    rounds = [round_.planned for round_ in folded.closed]
    if folded.open_round:
        rounds.append(folded.open_round)
    return {
        (int(planned.plan.cell[t]), int(planned.plan.rank[t])): planned.number
        for planned in rounds
        for t in planned.asked()
    }


_log = logging.getLogger("assay.revising")
TRIES = 10   # looks, while others write revisions at the same time


def catch_up(opened: Opened, folded: Fold, *, finished: bool) -> Revision | None:
    """Finish the last revision if it was cut short, and reissue it if rounds closed since; the newest.

    folded     the closed rounds, all of them estimated and sealed
    finished   the evaluation has stopped
    """
    revision = retried(last_revision)(opened.ledger)
    if revision is None:
        return None
    _complete(opened, folded, revision)
    if revision.rounds < folded.state.round:
        revision = write_revision(opened.ledger, reissued(revision, folded.state.round, finished))
        _complete(opened, folded, revision)
    return revision


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
        revision = catch_up(opened, folded, finished=finished)
        items = changed_items(people, folded, revision, unchanged, only_gaps=only_gaps)
        unchanged.keep()
        if items is None:
            return revision
        number = revision.number + 1 if revision else 1
        new_revision = Revision(number=number, rounds=folded.state.round, finished=finished, items=items)
        written = write_revision(opened.ledger, new_revision)
        _complete(opened, folded, written)
        if written == new_revision:
            changed = plural(len(new_revision.changed), "label")
            _log.info("%s: revision %d, %s changed", opened.name, number, changed)
            return written
    return catch_up(opened, folded, finished=finished)


def nothing_to_complete(opened: Opened, rounds: int) -> bool:
    """Whether `catch_up` has nothing to do after so many rounds: it need not be called."""
    revision = retried(last_revision)(opened.ledger)
    return revision is None or (
        revision.rounds == rounds
        and retried(read_revised_estimate)(opened.ledger, revision.number) is not None
        and retried(opened.ledger.exists)(layout.revision_seal(opened.name, revision.number))
    )


def nothing_new(people: People, rounds: int) -> bool:
    """Whether the desk says of all closed rounds what it said when a look found nothing to revise.

    The rounds are not read. False may mean that it is not known.
    """
    unchanged, revision = Unchanged(people), retried(last_revision)(people.ledger)
    return all(unchanged.holds(number, revision) for number in range(1, rounds + 1))


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
    else:
        ensure_logged(ledger, layout.revision_seal(opened.name, number))


def revised_fold(opened: Opened, folded: Fold, revision: Revision) -> Fold:
    """What is known with a revision's labels, after the rounds it covers; `folded`: as rounds were closed.
    Rounds after those keep no part in it, and the fold that is given is not changed."""
    statistics = opened.statistics
    closed = [in_full(opened.ledger, round_) for round_ in folded.closed[: revision.rounds]]
    effective = with_revision([round_.decided or () for round_ in closed], revision)
    rounds = _answered_now(closed, effective)
    labelled = not_begun(statistics).labelled
    for decided in effective:
        labelled = counted(statistics.kind, labelled, codes_of(decided))
    return Fold(
        state=revised_state(statistics.question, rounds),
        labelled=labelled,
        last_asked=len(effective[-1]),
        closed=tuple(
            ClosedRound(planned=round_.planned, labels=draws.code)
            for round_, draws in zip(closed, rounds, strict=True)
        ),
        as_if=statistics.revised_as_if(rounds),
    )


def revised_estimate(opened: Opened, folded: Fold, revision: Revision) -> RoundEstimate:
    """The estimates after the last round a revision covers, with its labels: computed, not read."""
    statistics = opened.as_of(revision.rounds).statistics
    look = revised_fold(opened, folded, revision).estimate(statistics, opened.segments)
    estimates, systems, segments = (
        tuple(replace(row, revision=revision.number) for row in rows)
        for rows in (look.estimates, look.systems, look.segments)
    )
    return replace(look, estimates=estimates, systems=systems, segments=segments)


def revised_annotators(opened: Opened, folded: Fold, revision: Revision) -> AnnotatorQuality | None:
    """How the people do by the answers of now; None if there is nothing to say, as with a round's record.

    Answers to gold are those the rounds were closed with: a look does not read gold again.
    """
    closed = [in_full(opened.ledger, round_) for round_ in folded.closed[: revision.rounds]]
    annotating = Annotating(opened, with_revision([round_.decided or () for round_ in closed], revision))
    then = opened.as_of(revision.rounds)
    record = annotators_record(then, annotating, revised_fold(opened, folded, revision))
    return None if record is None else replace(record, revision=revision.number)


def _answered_now(
    closed: Sequence[ClosedRound], effective: Sequence[Sequence[Decided]]
) -> list[ClosedDraws]:
    """The rounds with the labels of now, draws of items labelled earlier included."""
    label: dict[tuple[int, int], float] = {}
    for decided in effective:
        label |= {(row.cell, row.rank): row.code for row in decided if row.reason != "unanswered"}
    return [
        round_.answered(shares_of_draws(round_.planned, decided), _labels_now(round_, decided, label))
        for round_, decided in zip(closed, effective, strict=True)
    ]


def _labels_now(
    round_: ClosedRound, decided: Sequence[Decided], label: Mapping[tuple[int, int], float]
) -> Floats:
    own_labels = {(d.cell, d.rank): d.code for d in decided}
    labels = round_.labels.copy()
    plan = round_.planned.plan
    for t, (cell, rank, known_label) in enumerate(
        zip(plan.cell.tolist(), plan.rank.tolist(), round_.planned.known, strict=True)
    ):
        labels[t] = own_labels[cell, rank] if known_label is None else label[cell, rank]
    return labels
