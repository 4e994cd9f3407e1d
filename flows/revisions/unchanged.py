"""Closed rounds of which the desk says what it said at an earlier look: they are not read from the ledger.

A look at a round is a function of what the desk says, of what the last revision made of its items, and of
what cannot change any more. That holds of a round

- whose items are all on the desk: of those that are gone, answers seen earlier count;
- none of whose items can be asked a second time any more, by a process that was held up: what enough people
  skipped, at any time, was asked twice already. Skips that the ledger does not hold by now lead to no second
  question: who asks it writes the skips down first, and then makes sure that the round is open
  (flows.people.ask).

Of such a round it is kept what the desk said, when it changed no label (tasks.ledger.checkpoints.looks). The
next look reads the desk first. Of all other rounds nothing is kept, and every look reads them.
"""

from collections.abc import Sequence

from assay.evalcore.annotators.annotation import Annotation
from assay.flows.people.asked import AskedRound, Asking
from assay.flows.people.context import People
from assay.tasks.desks.effects import collect_answers
from assay.tasks.desks.protocol import Batch, Item
from assay.tasks.effects.calls import retried
from assay.tasks.ledger import codec, layout
from assay.tasks.ledger.checkpoints.looks import LookedAt, find_looks, write_looks
from assay.tasks.ledger.revisions import Revision
from assay.tasks.ledger.rounds.answers import packed_answers


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
        return _said(read, number, last) == kept.said

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
            said=_said([(one.answers, one.present) for one in askings], number, last),
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
    return layout.digest(codec.encode(answer))


def _said(
    read: Sequence[tuple[Sequence[Annotation], frozenset[str]]], number: int, last: Revision | None
) -> str:
    """A digest of what the desk said of each asking, and of what a revision made of the round's items."""
    revised = [item.decided for item in (last.items if last else ()) if item.round == number]
    return layout.digest(codec.to_json({
        "desk": [[sorted(map(_name, answers)), sorted(present)] for answers, present in read],
        "revised": [codec.plain(one) for one in revised],
    }))
