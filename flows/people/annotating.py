"""Which gold a round mixes in, which of its answers are asked again, and the rule that decides its labels.

All of it follows from the ledger: gold and surprising answers are chosen when a round is planned, and its
plan holds them; the rule is the spec's; the answers of closed rounds are those their labels name.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache

from assay.evalcore.annotators.annotation import Annotation
from assay.evalcore.annotators.gold import gold_of_round
from assay.evalcore.annotators.rules import Rule
from assay.evalcore.annotators.votes import Place
from assay.evalcore.history import with_one_more
from assay.flows.record.fold import Fold
from assay.flows.record.opened import Opened
from assay.tasks.desks.protocol import Item
from assay.tasks.ledger.owner import Ledger
from assay.tasks.ledger.rounds.answers import RoundAnswers, packed_answers
from assay.tasks.ledger.rounds.labels import Decided, read_gold_answers, read_labels
from assay.tasks.ledger.rounds.plan import PlannedRound
from assay.tasks.pool.gold import GoldItem, load_gold

ReadAnswers = Callable[[Ledger, int, Iterable[str]], list[Annotation]]


def own_answers(opened: Opened, number: int) -> Rule:
    """How the labels of a round are made where each item is decided by its own answers."""
    spec = opened.spec
    return Rule(
        name=spec.rule, annotators=spec.desk.annotators_per_item, kind=spec.labels.answers, number=number
    ).by_item()


class Annotating:
    """The gold, the rule and the closed rounds' answers of one evaluation."""

    def __init__(
        self, opened: Opened, decided: Sequence[Sequence[Decided]] | None = None, *,
        known: Sequence[RoundAnswers] = (), people: Sequence[Sequence[str]] = (),
        read: ReadAnswers = packed_answers,
    ) -> None:
        """What is not known is read.

        decided   what the items of the closed rounds came to; None: what they were closed with
        known     everybody's answers in the first rounds
        people    who answered in each of the first rounds
        """
        self._ledger, self._opened, self._decided = opened.ledger, opened, decided
        self._answered, self._people, self._read = known, list(people), read
        self._gold: dict[str, GoldItem] | None = None
        # a closed round's answers cannot change
        self.answers_of = cache(self._answers_of)

    @property
    def gold(self) -> Mapping[str, GoldItem]:
        """Gold items by id."""
        if self._gold is None:
            self._gold = load_gold(self._ledger, self._opened.manifest.gold)
        return self._gold

    @property
    def known(self) -> Sequence[RoundAnswers]:
        """Everybody's answers in the rounds that were asked for, from the first on."""
        return self._answered

    @property
    def people(self) -> tuple[tuple[str, ...], ...]:
        """Who answered, of each round that was asked for."""
        return tuple(map(tuple, self._people))

    def company(self, folded: Fold, number: int) -> set[str]:
        """Everybody who answered about an item of the pool in the rounds before this one."""
        for closed in folded.closed[len(self._people) : number - 1]:
            gold = closed.planned.gold
            answers = self.answers_of(closed.planned.number)
            self._people.append(sorted({one.annotator for one in answers if one.item_id not in gold}))
        return {name for names in self._people[: number - 1] for name in names}

    def answered(self, folded: Fold) -> Sequence[RoundAnswers]:
        """Everybody's answers in all closed rounds."""
        for number in range(len(self._answered) + 1, folded.state.round + 1):
            of_round = RoundAnswers(number=number, answers=self.answers_of(number))
            self._answered = with_one_more(self._answered, of_round)
        return self._answered

    def rule(self, planned: PlannedRound, folded: Fold) -> Rule:
        """How the labels of a round are decided; `folded`: the closed rounds before it."""
        # without gold there is no reason to read earlier rounds
        closed = folded.closed if self._opened.manifest.gold else ()
        before = [one.planned for one in closed if one.planned.number < planned.number]
        kind = self._opened.spec.labels.answers
        return Rule(
            name=self._opened.spec.rule,
            annotators=self._opened.spec.desk.annotators_per_item,
            kind=kind,
            number=planned.number,
            again={item_id: tuple(map(kind.text, labels)) for item_id, labels in planned.again.items()},
            again_alone=planned.again_alone,
            gold=self.truth([*before, planned]),
            earlier=lambda: self.earlier(folded, planned.number),
            people_before=lambda: self.company(folded, planned.number),
        )

    def earlier(self, folded: Fold, number: int) -> dict[int, Sequence[Annotation]]:
        """The answers of the closed rounds before this one."""
        return {one.number: one.answers for one in self.answered(folded) if one.number < number}

    def truth(self, rounds: Sequence[PlannedRound]) -> dict[Place, float]:
        """(round, item) -> label of the gold mixed into these rounds."""
        return {(r.number, item): self.gold[item].label for r in rounds for item in r.gold}

    def gold_items(self, planned: PlannedRound) -> list[Item]:
        """The gold of a round as people see it."""
        return [Item(item_id=item, shown=self.gold[item].shown) for item in planned.gold]

    def choose(self, folded: Fold, asked: Sequence[str]) -> tuple[str, ...]:
        """The gold to mix into the next round; `asked`: the ids it asks."""
        gold = self._opened.spec.desk.gold
        if gold is None:
            return ()
        closed = [r.planned for r in folded.closed]
        taken = {*asked, *(r.item_id[t] for r in closed for t in r.asked())}
        return gold_of_round(
            list(self.gold), rate=gold.rate, asked=len(asked), used=sum(len(r.gold) for r in closed),
            taken=taken, seed=self._opened.spec.seed, evaluation=self._opened.name,
            number=folded.state.round + 1,
        )

    def surprises(self, folded: Fold, planned: PlannedRound) -> dict[str, tuple[int, ...]]:
        """Item -> answers that are to be asked again; unless it is asked for, of two classes alone."""
        desk, statistics = self._opened.spec.desk, self._opened.statistics
        if statistics.classes_stand_equal and desk.ask_again is None:
            return {}
        found = statistics.surprising(folded.state, planned, desk.again)
        return {planned.item_id[t]: answers for t, answers in found.items()}

    def _answers_of(self, number: int) -> list[Annotation]:
        if self._decided is not None:
            decided = self._decided[number - 1]
        else:
            decided = read_labels(self._ledger, number) or []
        gold = read_gold_answers(self._ledger, number)
        named = [digest for one in decided for digest in one.annotations]
        named += [digest for digests in gold.values() for digest in digests]
        return self._read(self._ledger, number, named)
