"""The revisions recomputed: which labels changed, by whose answers, and what the estimates became."""

from collections.abc import Iterator, Mapping

from assay.evalcore.annotators.rules import decide, tally_of
from assay.evalcore.errors import plural
from assay.flows.people.annotating import own_answers
from assay.flows.people.closing import label_row
from assay.flows.record.fold import Fold
from assay.flows.record.opened import Opened
from assay.flows.revisions import relabelled, revised_annotators, revised_estimate, say_the_same
from assay.flows.verify.checking import UNREADABLE, Checking
from assay.flows.verify.rounds import row_differences
from assay.tasks.ledger import layout
from assay.tasks.ledger import record as codec
from assay.tasks.ledger.asked_round import annotators_of, digests_by_item, read_answers
from assay.tasks.ledger.closed_round import Decided, RevisedItem, Revision, read_revisions, with_revision
from assay.tasks.ledger.findings import Integrity
from assay.tasks.ledger.seals import sealed_by_revision, sealed_in
from assay.tasks.ledger.stores.store import StoreUnreachable


class RevisionsCheck:
    """Recomputes the revisions of one evaluation; what it finds goes into `found`."""

    def __init__(self, opened: Opened, integrity: Integrity, folded: Fold) -> None:
        self.checked = 0   # revisions recomputed in full
        self._opened, self._found, self._folded = opened, integrity, folded
        self._check = Checking(opened, integrity)

    def run(self) -> None:
        """All of them, each from the one before as it is stored; a damaged one ends it. Labels and estimates
        of each are computed again and compared with what is stored."""
        if not self._found.revisions:
            return
        before: Revision | None = None
        name = self._opened.name
        self._check.look_at(layout.revision_labels(name, 1))
        try:
            revisions = [] if self._check.key in self._found.damaged else read_revisions(self._opened.ledger)
            for number in range(1, self._found.revisions + 1):
                self._check.look_at(layout.revision_labels(name, number))
                if self._check.key in self._found.damaged:
                    break
                revision = revisions[number - 1]
                if self._rests_on_damage(revision):
                    break
                self._revision(before, revision)
                before, self.checked = revision, number
        except StoreUnreachable:
            raise
        except UNREADABLE as error:
            self._check.say_unreadable(error)
        if self.checked < self._found.revisions:
            self._found.notes.append(
                f"revision {self.checked + 1} and what follows it could not be recomputed"
            )

    def _rests_on_damage(self, revision: Revision) -> bool:
        """Whether it names an answer that is gone or changed; one that is gone is reported."""
        keys = set(_answer_keys(self._opened.name, revision))
        for key in keys - self._found.keys:
            self._found.add(key, f"is missing; {self._check.key} names it")
        return bool(keys & self._found.damaged)

    def _revision(self, before: Revision | None, revision: Revision) -> None:
        """Recompute one revision, key by key."""
        check, opened, number = self._check, self._opened, revision.number
        check.say([*self._rounds(before, revision), *self._items(before, revision)])
        if check.look_at(layout.revision_seal(opened.name, number)):
            check.say(self._seal(revision))
        check.look_at(layout.revision_estimate(opened.name, number))
        if check.key in self._found.keys:
            check.compare_estimate(codec.plain(revised_estimate(opened, self._folded, revision)))
        if check.look_at(layout.revision_annotators(opened.name, number)):
            record = revised_annotators(opened, self._folded, revision)
            check.compare(None if record is None else codec.plain(record))

    def _rounds(self, before: Revision | None, revision: Revision) -> Iterator[str]:
        minimum = before.rounds if before else 1
        if not minimum <= revision.rounds <= self._folded.state.round:
            yield f"covers {plural(revision.rounds, 'round')}, not {minimum} to {self._folded.state.round}"
        if not revision.changed and (before is None or revision.rounds == before.rounds):
            yield "changes nothing"
        extended = {extension.rounds for extension in self._opened.extensions}
        if before and before.finished and not revision.finished and before.rounds not in extended:
            yield "was made while the evaluation ran, the revision before after it stopped"

    def _items(self, before: Revision | None, revision: Revision) -> Iterator[str]:
        then = self._labels_before(before)
        places = [(item.round, item.decided.item_id) for item in revision.items]
        if places != sorted(set(places)):
            yield "the items are not in order, each once"
        if before and not {(i.round, i.decided.item_id) for i in before.items}.issubset(places):
            yield "lacks items of the revision before"
        for item in revision.items:
            was = then.get((item.round, item.decided.item_id))
            what = f"{item.decided.item_id!r} of round {item.round}"
            if was is None:
                yield f"{what}: was not asked in that round"
                continue
            if item.changed != (was.came_to != item.decided.came_to):
                yield f"{what}: changed is {item.changed}, from {was.came_to} to {item.decided.came_to}"
            digests = set(was.annotations) ^ set(item.decided.annotations) if item.changed else set()
            by = annotators_of(self._opened.ledger, item.round, digests)
            if by != item.by:
                yield f"{what}: changed by {item.by!r}, but the answers are by {by!r}"
            possible = self._possible(was, item) if item.changed else [was]
            if item.decided not in possible:
                yield from row_differences(what, item.decided, possible[0])

    def _labels_before(self, before: Revision | None) -> Mapping[tuple[int, str], Decided]:
        closed = [round_.decided or () for round_ in self._folded.closed]
        return {
            (number, row.item_id): row
            for number, decided in enumerate(with_revision(closed, before), start=1)
            for row in decided
        }

    def _possible(self, was: Decided, item: RevisedItem) -> list[Decided]:
        """What a look may have made of an item, from the answers named, wherever the item was then."""
        opened, row = self._opened, item.decided
        planned = self._folded.closed[item.round - 1].planned
        draw = {planned.item_id[t]: t for t in planned.asked()}[row.item_id]
        rule = own_answers(opened, item.round)
        answers = read_answers(opened.ledger, item.round, row.annotations)
        twice = row.askings == 2
        fresh = label_row(
            planned, draw, decide([row.item_id], answers, rule, early=True)[row.item_id],
            digests_by_item(answers).get(row.item_id, ()), asked_twice=twice,
        )
        if draw in planned.inherited or say_the_same(opened.ledger, item.round, was, fresh):
            return [was]
        tally = tally_of(row.item_id, answers, rule, asked_twice=twice)
        return [relabelled(was, fresh, tally, on_desk=on_desk) for on_desk in (True, False)]

    def _seal(self, revision: Revision) -> Iterator[str]:
        """The seal covers what the revision rests on, and nothing else."""
        name = self._opened.name
        keys = {*sealed_by_revision(name, revision, self._opened.extensions), *_answer_keys(name, revision)}
        people = layout.revision_annotators(name, revision.number)
        sealed = set(sealed_in(self._opened.ledger.get(self._check.key), self._check.key, name))
        keys |= {people} & (self._found.keys | sealed)
        if sealed != keys:
            yield "does not seal what the revision rests on"


def _answer_keys(evaluation: str, revision: Revision) -> Iterator[str]:
    for item in revision.items:
        for digest in item.decided.annotations:
            yield layout.annotation(evaluation, item.round, digest)
