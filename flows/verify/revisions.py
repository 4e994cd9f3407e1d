"""The revisions recomputed: which labels changed, by whose answers, and what the estimates became."""

from collections.abc import Iterator
from dataclasses import asdict

from assay.evalcore.annotators.annotation import Annotation
from assay.evalcore.annotators.rules import Rule
from assay.flows.people.settling import as_closed_early, outcomes_by_asking, share_of
from assay.flows.record.fold import Fold
from assay.flows.record.opened import Opened
from assay.flows.revisions.recompute import revised_annotators, revised_fold
from assay.flows.verify.rounds import UNREADABLE, as_far_as
from assay.tasks.ledger import codec, layout
from assay.tasks.ledger.checks.differences import in_one_sentence, same_number, value_differences
from assay.tasks.ledger.checks.findings import Integrity
from assay.tasks.ledger.revisions import RevisedItem, Revision, read_revisions, with_revision
from assay.tasks.ledger.rounds.answers import annotators_of
from assay.tasks.ledger.seals import sealed_by_revision, sealed_in
from assay.tasks.ledger.stores.protocol import StoreUnreachable


class RevisionsCheck:
    """Recomputes the revisions of one evaluation; what it finds goes into `found`."""

    def __init__(self, opened: Opened, found: Integrity, folded: Fold) -> None:
        self._ledger, self._opened, self._found, self._folded = opened.ledger, opened, found, folded
        self.checked = 0   # revisions recomputed in full

    def run(self) -> None:
        """All of them, each from the one before as it is stored; a damaged one ends it."""
        name = self._opened.name
        before: Revision | None = None
        key = layout.revision_labels(name, 1)
        try:
            for number in range(1, self._found.revisions + 1):
                key = layout.revision_labels(name, number)
                if key in self._found.damaged:
                    break
                if number == 1:
                    all_of_them = read_revisions(self._ledger)
                revision = all_of_them[number - 1]
                if self._answers_are_damaged(revision):
                    break
                self._say(key, [*self._rounds(before, revision), *self._items(before, revision)])
                key = layout.revision_seal(name, number)
                self._say(key, self._sealed(revision))
                key = layout.revision_estimate(name, number)
                self._say(key, self._estimate(revision))
                key = layout.revision_annotators(name, number)
                self._say(key, self._annotators(revision))
                before, self.checked = revision, number
        except StoreUnreachable:
            raise
        except UNREADABLE as error:
            self._found.add(key, f"cannot be recomputed: {type(error).__name__}: {error}")
        if self.checked < self._found.revisions:
            self._found.notes.append(
                f"revision {self.checked + 1} and what follows it could not be recomputed"
            )

    def _answers_are_damaged(self, revision: Revision) -> bool:
        named = set(_answers(self._opened.name, revision))
        for key in named - self._found.keys:
            labels = layout.revision_labels(self._opened.name, revision.number)
            self._found.add(key, f"is missing; {labels} names it")
        return bool(named & self._found.damaged)

    def _rounds(self, before: Revision | None, revision: Revision) -> Iterator[str]:
        least = before.rounds if before else 1
        if not least <= revision.rounds <= self._folded.state.round:
            yield f"covers {revision.rounds} rounds, not {least} to {self._folded.state.round}"
        if not revision.changed and (before is None or revision.rounds == before.rounds):
            yield "changes nothing"
        if before and before.finished and not revision.finished:
            yield "was made while the evaluation ran, the revision before after it stopped"

    def _items(self, before: Revision | None, revision: Revision) -> Iterator[str]:
        closed = [one.decided for one in self._folded.closed]
        then = {
            (number, one.item_id): one
            for number, decided in enumerate(with_revision(closed, before), start=1)
            for one in decided
        }
        places = [(item.round, item.decided.item_id) for item in revision.items]
        if places != sorted(set(places)):
            yield "the items are not in order, each once"
        if before and not {(i.round, i.decided.item_id) for i in before.items}.issubset(places):
            yield "lacks items of the revision before"
        for item in revision.items:
            was = then.get((item.round, item.decided.item_id))
            what = f"{item.decided.item_id!r} of round {item.round}"
            if was is None or (was.cell, was.rank) != (item.decided.cell, item.decided.rank):
                yield f"{what}: was not asked in that round, or not under this cell and rank"
                continue
            if item.changed != (was.code != item.decided.code):
                yield f"{what}: changed is {item.changed}, from {was.code} to {item.decided.code}"
            if not item.changed and was != item.decided:
                yield f"{what}: is not as the revision before has it"
            digests = set(was.annotations) ^ set(item.decided.annotations) if item.changed else set()
            by = annotators_of(self._ledger, item.round, digests)
            if by != item.by:
                yield f"{what}: changed by {item.by!r}, but the answers are by {by!r}"
            yield from self._label(what, item)

    def _label(self, what: str, item: RevisedItem) -> Iterator[str]:
        """The label decided once more, from the answers it names."""
        one = item.decided
        answers = []
        for digest in one.annotations:
            key = layout.annotation(self._opened.name, item.round, digest)
            answer = Annotation(**codec.from_json(self._ledger.get(key), key))
            if answer.item_id != one.item_id:
                yield f"{what}: names an answer about {answer.item_id!r}"
            answers.append(answer)
        people = self._opened.spec.desk.annotators_per_item
        rule = Rule(annotators=people, classes=self._opened.classes, number=item.round)
        outcome = as_closed_early(outcomes_by_asking([one.item_id], answers, rule)[one.item_id])
        label = None if outcome.label is None else self._opened.classes.get(outcome.label)
        share = share_of(outcome, self._opened.classes)
        if one.share is not None and (share is None or not same_number(one.share, share)):
            yield f"{what}: share {one.share!r} of positive answers, but they give {share!r}"
        elif one.label != label:
            yield f"{what}: label {one.label!r}, but its answers give {label!r}"
        elif label is None and one.reason not in ("skipped", "deleted", "withdrawn", "unanswered"):
            yield f"{what}: has neither a label nor a reason"

    def _estimate(self, revision: Revision) -> Iterator[str]:
        key = layout.revision_estimate(self._opened.name, revision.number)
        if key not in self._found.keys:
            return
        closed = self._folded.closed[: revision.rounds]
        computed = revised_fold(self._opened, closed, revision).estimate(
            self._opened.question, self._opened.segments
        )
        stored = codec.from_json(self._ledger.get(key), key)
        plain = codec.from_json(codec.to_json(asdict(computed)), key)
        yield from value_differences(stored, as_far_as(stored, plain))

    def _annotators(self, revision: Revision) -> Iterator[str]:
        """How the people do, recomputed; revisions of before this was recorded have none."""
        key = layout.revision_annotators(self._opened.name, revision.number)
        if key not in self._found.keys - self._found.damaged:
            return
        closed = self._folded.closed[: revision.rounds]
        computed = revised_annotators(self._opened, closed, revision)
        if computed is None:
            yield "should not be there"
            return
        stored = codec.from_json(self._ledger.get(key), key)
        yield from value_differences(stored, codec.from_json(codec.to_json(asdict(computed)), key))

    def _sealed(self, revision: Revision) -> Iterator[str]:
        """The seal covers what the revision rests on, and nothing else."""
        name = self._opened.name
        key = layout.revision_seal(name, revision.number)
        if key in self._found.keys - self._found.damaged:
            wanted = {*sealed_by_revision(name, revision), *_answers(name, revision)}
            people = layout.revision_annotators(name, revision.number)
            sealed = set(sealed_in(self._ledger.get(key), key, name))
            wanted |= {people} & (self._found.keys | sealed)
            if sealed != wanted:
                yield "does not seal what the revision rests on"

    def _say(self, key: str, wrong: Iterator[str] | list[str]) -> None:
        listed = list(wrong)
        if listed:
            self._found.add(key, in_one_sentence(listed))


def _answers(evaluation: str, revision: Revision) -> Iterator[str]:
    for item in revision.items:
        for digest in item.decided.annotations:
            yield layout.annotation(evaluation, item.round, digest)
