"""A look: closed rounds' batches are read once more, and each item's label follows what people say now.

What a look makes of an item:

    its answers give a label                   that label (fewer answers than were asked for will do)
    everybody skips it now                     undecided
    nobody's answer is left, it is on the desk undecided ("withdrawn"), if it had a label; else as it was
    it is gone from the desk                   the answers that were seen still count
    tied, or an answer that is none            as it was
    the answers say what they said before      as it was
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache

from assay.evalcore.annotators.adjudication import Annotation, AnswerTally
from assay.flows.people.annotating import own_answers
from assay.flows.people.ask import reread_round
from assay.flows.people.asked import AskedRound, Asking, People
from assay.flows.record.fold import Fold, in_full
from assay.tasks.desks.desk import Batch, Item, collect_answers
from assay.tasks.effects import retried
from assay.tasks.ledger import layout, record
from assay.tasks.ledger.asked_round import annotators_of, packed_answers, read_answers
from assay.tasks.ledger.checkpoints import LookedAt, find_looks, write_looks
from assay.tasks.ledger.closed_round import Decided
from assay.tasks.ledger.record import Ledger
from assay.tasks.ledger.revisions import RevisedItem, Revision, revised


def labels_now(people: People, asked: AskedRound, decided: Sequence[Decided]) -> dict[str, Decided]:
    """Item -> what it comes to now.

    asked     the round's batches, as they were read once more
    decided   what the round's items came to so far
    """
    tallies, fresh = asked.tallies, {one.item_id: one for one in asked.labels(early=True)}
    now = {}
    for before in decided:
        now[before.item_id] = before
        # nobody was asked about an item whose label was bought before
        if before.item_id in tallies and not say_the_same(
            people.ledger, asked.planned.number, before, fresh[before.item_id]
        ):
            now[before.item_id] = relabelled(
                before, fresh[before.item_id], tallies[before.item_id],
                on_desk=before.item_id in asked.present,
            )
    return now


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
    """Whether the answers behind both say the same: a file that is saved again has new times, and no news."""
    if before.annotations == after.annotations:
        return True
    then, now = (read_answers(ledger, number, one.annotations) for one in (before, after))
    return _said(then) == _said(now)


def _said(answers: Iterable[Annotation]) -> set[tuple[str, int, str, str | None]]:
    return {(a.annotator, a.asking, a.kind, a.label) for a in answers}


# Closed rounds of which the desk says what it said at an earlier look: they are not read from the ledger.
#
# A look at a round is a function of what the desk says, of what the last revision made of its items, and of
# what cannot change any more. That holds of a round
#
# - whose items are all on the desk: of those that are gone, answers seen earlier count;
# - none of whose items can be asked a second time any more, by a process that was held up: what enough people
#   skipped, at any time, was asked twice already. Skips that the ledger does not hold by now lead to no
#   second question: who asks it writes the skips down first, and then makes sure that the round is open
#   (flows.people.ask).
#
# Of such a round it is kept what the desk said, when it changed no label (tasks.ledger.checkpoints). The
# next look reads the desk first. Of all other rounds nothing is kept, and every look reads them.

class Unchanged:
    """What earlier looks at the closed rounds of one evaluation found, and what this one finds."""

    def __init__(self, people: People) -> None:
        self._people = people
        self._before = retried(find_looks)(people.ledger)
        self._found: dict[int, LookedAt] = {}

    def holds(self, number: int, last: Revision | None) -> bool:
        """Whether a round's labels need no look: the desk is read.

        last: the newest revision.
        """
        kept = self._found.get(number) or self._before.rounds.get(number)
        if kept is None:
            return False
        read = [self._read(number, list(kept.items), kept)]
        if kept.again:
            read.append(self._read(number, kept.again, kept, asking=2))
        return _desk_said(read, number, last) == kept.said

    def note(self, asked: AskedRound, last: Revision | None) -> None:
        """A look changed no label of a round, as of this revision: keep that, where it will hold."""
        first, second = asked.first, asked.second
        askings = [first] if second is None else [first, second]
        number = asked.planned.number
        again = () if second is None else tuple(item.item_id for item in second.batch.items)
        if not all(_all_there(one) for one in askings) or self._may_be_asked_again(asked, again):
            return
        self._found[number] = LookedAt(
            items={item.item_id: item.shown for item in first.batch.items}, again=again,
            said=_desk_said([(one.answers, one.present) for one in askings], number, last),
        )

    def keep(self) -> None:
        """Write down what was found."""
        if self._found:
            retried(write_looks)(self._people.ledger, self._before, self._found)

    def _read(
        self, number: int, items: Sequence[str], kept: LookedAt, asking: int = 1
    ) -> tuple[Sequence[Annotation], frozenset[str]]:
        """What the desk says now, and of which items."""
        asked = [Item(item_id=item, shown=kept.items[item]) for item in items]
        collected = collect_answers(
            self._people.desk,
            Batch(evaluation=self._people.ledger.name, round=number, items=asked, asking=asking),
        )
        return collected.annotations, collected.present

    def _may_be_asked_again(self, asked: AskedRound, again: Sequence[str]) -> bool:
        """Whether enough people ever skipped an item that was not asked twice, by all the ledger holds."""
        if not self._people.asks_twice:
            return False
        skips: dict[str, set[str]] = {}
        for one in self._all_answers(asked):
            if one.kind == "skip" and one.asking == 1:
                skips.setdefault(one.item_id, set()).add(one.annotator)
        once = {item.item_id for item in asked.first.batch.items} - set(again)
        return any(len(skips.get(item, ())) >= self._people.annotators for item in once)

    def _all_answers(self, asked: AskedRound) -> list[Annotation]:
        """Those that the desk said now, and all that it ever said."""
        ledger, number = self._people.ledger, asked.planned.number
        there = (layout.annotation.match(key) for key in ledger.keys(layout.annotations(ledger.name, number)))
        named = {found[2] for found in there if found is not None}
        earlier = named - {_name(one) for one in asked.answers}
        return [*asked.answers, *(packed_answers(ledger, number, earlier) if earlier else ())]


def _all_there(asking: Asking) -> bool:
    return all(item.item_id in asking.present for item in asking.batch.items)


def _name(answer: Annotation) -> str:
    return layout.digest(record.encode(answer))


def _desk_said(
    read: Sequence[tuple[Sequence[Annotation], frozenset[str]]], number: int, last: Revision | None
) -> str:
    """A digest of what the desk said of each asking, and of what a revision made of the round's items."""
    revised = [item.decided for item in (last.items if last else ()) if item.round == number]
    return layout.digest(record.to_json({
        "desk": [[sorted(map(_name, answers)), sorted(present)] for answers, present in read],
        "revised": [record.plain(one) for one in revised],
    }))


# Which items of the closed rounds have another label now than they had so far.

def changed_items(
    people: People, folded: Fold, last: Revision | None, unchanged: Unchanged, *, only_gaps: bool
) -> tuple[RevisedItem, ...] | None:
    """The items of the revision after `last`, those of `last` included; None if nothing changed.

    unchanged   what earlier looks found; rounds of which that still holds are not read
    only_gaps   read only rounds that were closed with items unanswered which no later round asked again.
    """
    asked_last = cache(lambda: _asked_last(folded))
    found: dict[tuple[int, str], RevisedItem] = {
        (item.round, item.decided.item_id): replace(item, changed=False, by=())
        for item in (last.items if last else ())
    }
    changed = False
    for number in range(1, folded.state.round + 1):
        if only_gaps and not folded.closed[number - 1].has_gaps:
            continue
        if unchanged.holds(number, last) or not _own(folded, number, asked_last()):
            continue
        closed = in_full(people.ledger, folded.closed[number - 1])
        decided = revised(number, closed.decided or (), last)
        own = [one for one in decided if number >= asked_last().get((one.cell, one.rank), 0)]
        if only_gaps and all(one.came_to != "unanswered" for one in own):
            continue
        asked = reread_round(people, closed.planned, own_answers(people.opened, number))
        now = labels_now(people, asked, decided)
        differing = [one for one in own if now[one.item_id].came_to != one.came_to]
        for before in differing:
            after = now[before.item_id]
            digests = set(before.annotations) ^ set(after.annotations)
            found[number, before.item_id] = RevisedItem(
                round=number, decided=after, changed=True, by=annotators_of(people.ledger, number, digests)
            )
        if differing:
            changed = True
        else:
            unchanged.note(asked, last)
    return tuple(found[place] for place in sorted(found)) if changed else None


def _own(folded: Fold, number: int, asked_last: Mapping[tuple[int, int], int]) -> bool:
    """Whether a round asked anything that no later round asked again."""
    planned = folded.closed[number - 1].planned
    places = ((int(planned.plan.cell[t]), int(planned.plan.rank[t])) for t in planned.asked())
    return any(number >= asked_last.get(place, 0) for place in places)


def _asked_last(folded: Fold) -> Mapping[tuple[int, int], int]:
    """(cell, rank) -> the last round that asked the item, the open one included."""
    rounds = [one.planned for one in folded.closed]
    if folded.open_round:
        rounds.append(folded.open_round)
    return {
        (int(planned.plan.cell[t]), int(planned.plan.rank[t])): planned.number
        for planned in rounds
        for t in planned.asked()
    }
