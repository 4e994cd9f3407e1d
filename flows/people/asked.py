"""What people were asked in a round and what they have said: the values that closing and waiting go by.

The rows of labels.parquet are made here, one for each item a round asked, in the order of the plan. Closing a
round and verifying it make them by the same function from the same values, so `verify` only has to compare.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from assay.evalcore.annotators.adjudication import Annotation, AnswerTally
from assay.evalcore.annotators.rules import SETTLED, Decision, Rule, decide, deciding_tally
from assay.flows.record.opened import Opened
from assay.tasks.desks.desk import Batch, Desk
from assay.tasks.ledger.asked_round import PlannedRound, Post, digests_by_item, removed_on_purpose
from assay.tasks.ledger.closed_round import Decided
from assay.tasks.ledger.record import Ledger


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class People:
    """The people who answer for one evaluation: the desk they work at, and the clock."""

    opened: Opened
    desk: Desk
    now: Callable[[], datetime]
    repost_after: timedelta    # see flows.people.ask

    @property
    def ledger(self) -> Ledger:
        """The evaluation's."""
        return self.opened.ledger

    @property
    def annotators(self) -> int:
        """People asked per item."""
        return self.opened.spec.desk.annotators_per_item

    @property
    def asks_twice(self) -> bool:
        """Whether items that everybody skipped are asked a second time."""
        return self.opened.spec.skipped != "set-aside"


def label_rows(
    planned: PlannedRound, decisions: Mapping[str, Decision], answers: Sequence[Annotation],
    asked_twice: Collection[str],
) -> list[Decided]:
    """What every item of a round came to.

    decisions     of the items people were asked about; a label bought by an earlier evaluation needs none
    answers       the answers they rest on
    asked_twice   items that were asked twice
    """
    digests = digests_by_item(answers)
    return [
        _reused_row(planned, t) if t in planned.inherited else label_row(
            planned, t, decisions[planned.item_id[t]], digests.get(planned.item_id[t], ()),
            asked_twice=planned.item_id[t] in asked_twice,
        )
        for t in planned.asked()
    ]


def label_row(
    planned: PlannedRound, t: int, decision: Decision, annotations: tuple[str, ...], *, asked_twice: bool
) -> Decided:
    """What the item of draw t came to; annotations: names of the answers about it."""
    return Decided(
        item_id=planned.item_id[t], cell=int(planned.plan.cell[t]), rank=int(planned.plan.rank[t]),
        label=decision.label, reason=decision.reason, annotations=annotations,
        askings=2 if asked_twice else 1, share=decision.share,
    )


def _reused_row(planned: PlannedRound, t: int) -> Decided:
    """An item that showed the same before, under the same id: its label stands, and nobody is asked."""
    return Decided(
        item_id=planned.item_id[t], cell=int(planned.plan.cell[t]), rank=int(planned.plan.rank[t]),
        label=planned.inherited[t], reason="reused", annotations=(),
    )


def gold_answers(gold: Collection[str], answers: Sequence[Annotation]) -> dict[str, tuple[str, ...]]:
    """Gold item -> names of the answers about it, where there are any."""
    digests = digests_by_item(answers)
    return {item_id: digests[item_id] for item_id in sorted(gold) if item_id in digests}


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
