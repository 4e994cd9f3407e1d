"""What people were asked in a round and what they have said: the values that closing and waiting go by."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.evalcore.annotators.adjudication import AnswerTally
from assay.evalcore.annotators.annotation import Annotation
from assay.evalcore.annotators.decisions import SETTLED, decide, deciding_tally
from assay.evalcore.annotators.rules import Rule
from assay.flows.people.labels import gold_answers, label_rows
from assay.tasks.desks.protocol import Batch
from assay.tasks.ledger.rounds.labels import Decided
from assay.tasks.ledger.rounds.plan import PlannedRound
from assay.tasks.ledger.rounds.posts import Post, removed_on_purpose


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Asking:
    """The first or the second asking of a round, as the desk and the ledger had it when they were read."""

    batch: Batch
    attempts: int                        # to post anything of the round, counted before the desk was read
    posts_of_round: Sequence[Post]       # the attempts, read after the desk
    answers: Sequence[Annotation]        # those that count
    tallies: Mapping[str, AnswerTally]         # of its items, gold included
    present: frozenset[str]              # items on the desk

    @property
    def posts(self) -> list[Post]:
        """The attempts of this asking."""
        return [post for post in self.posts_of_round if post.asking == self.batch.asking]

    @property
    def absent(self) -> set[str]:
        """Items that are not on the desk and that no answer settles."""
        return {item_id for item_id, tally in self.tallies.items() if tally.status == "absent"}

    @property
    def removed(self) -> set[str]:
        """Absent items that somebody meant to remove."""
        return self.absent & removed_on_purpose(self.posts)

    @property
    def unsettled(self) -> dict[str, AnswerTally]:
        """Items people still have to answer."""
        removed = self.removed
        return {
            item_id: tally for item_id, tally in self.tallies.items()
            if tally.status not in SETTLED and item_id not in removed
        }


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AskedRound:
    """A round that people were asked about."""

    planned: PlannedRound
    rule: Rule
    asks_twice: bool                     # what everybody skipped is asked a second time
    first: Asking
    second: Asking | None = None

    @property
    def answers(self) -> list[Annotation]:
        """To both askings."""
        return [*self.first.answers, *(self.second.answers if self.second else ())]

    @property
    def present(self) -> frozenset[str]:
        """Items on the desk, from either asking."""
        return self.first.present | (self.second.present if self.second else frozenset())

    @property
    def tallies(self) -> dict[str, AnswerTally]:
        """Of each item, gold included, the tally that decides."""
        later = self.second.tallies if self.second else {}
        return {item: deciding_tally(tally, later.get(item)) for item, tally in self.first.tallies.items()}

    @property
    def open_in_first(self) -> dict[str, AnswerTally]:
        """Items that wait for answers to the first asking."""
        return self._open_in(self.first)

    @property
    def open_in_second(self) -> dict[str, AnswerTally]:
        """Items that wait for answers to the second asking."""
        return self._open_in(self.second) if self.second else {}

    @property
    def gold_answers(self) -> dict[str, tuple[str, ...]]:
        """Gold item -> names of the answers about it."""
        return gold_answers(self.planned.gold, self.first.answers)

    @property
    def is_open(self) -> bool:
        """Whether people still have to answer anything."""
        return bool(self.open_in_first or self.open_in_second)

    def labels(self, *, early: bool = False) -> list[Decided]:
        """What the items come to; early: with the answers there are, instead of those still awaited."""
        answers = self.answers
        decisions = decide(
            [self.planned.item_id[t] for t in self.planned.to_people()], answers, self.rule,
            removed=self._removed,
            asks_twice=self.asks_twice, early=early,
        )
        return label_rows(self.planned, decisions, answers, self.second.tallies if self.second else ())

    @property
    def _removed(self) -> set[str]:
        """Items removed on purpose from the last asking they are in."""
        if self.second is None:
            return self.first.removed
        return self.first.removed - self.second.tallies.keys() | self.second.removed

    def _open_in(self, asking: Asking) -> dict[str, AnswerTally]:
        decides = self.tallies
        return {item: tally for item, tally in asking.unsettled.items() if decides[item] is tally}
