"""Which gold a round mixes in, which of its answers are asked again, and the rule that decides its labels.

All of it follows from the ledger: gold and surprising answers are chosen when a round is planned, and its
plan holds them; the rule is the spec's; the answers of closed rounds are those their labels name.
"""

from collections.abc import Mapping, Sequence
from functools import cache

from assay.evalcore.annotators.annotation import Annotation
from assay.evalcore.annotators.gold import gold_of_round
from assay.evalcore.annotators.rules import Rule
from assay.evalcore.annotators.votes import Place
from assay.flows.record.fold import Fold
from assay.flows.record.opened import Opened
from assay.tasks.desks.protocol import Item
from assay.tasks.ledger.rounds.answers import read_answers
from assay.tasks.ledger.rounds.designs import Drawn
from assay.tasks.ledger.rounds.labels import Decided, read_gold_answers, read_labels
from assay.tasks.ledger.rounds.plan import PlannedRound
from assay.tasks.pool.gold import GoldItem, load_gold


def own_answers(opened: Opened, number: int) -> Rule:
    """How the labels of a round are made where each item is decided by its own answers."""
    spec = opened.spec
    return Rule(
        name=spec.rule, annotators=spec.desk.annotators_per_item, kind=spec.labels.answers, number=number
    ).by_item()


class Annotating:
    """The gold, the rule and the closed rounds' answers of one evaluation."""

    def __init__(
        self, opened: Opened, decided: Sequence[Sequence[Decided]] | None = None
    ) -> None:
        """decided: what the items of the closed rounds came to; None: what they were closed with."""
        self._ledger, self._opened, self._decided = opened.ledger, opened, decided
        self._gold: dict[str, GoldItem] | None = None
        # a closed round's answers cannot change
        self.answers_of = cache(self._answers_of)

    @property
    def gold(self) -> Mapping[str, GoldItem]:
        """Gold items by id."""
        if self._gold is None:
            self._gold = load_gold(self._ledger, self._opened.manifest.gold)
        return self._gold

    def rule(self, planned: PlannedRound, before: Sequence[PlannedRound]) -> Rule:
        """How the labels of a round are decided; `before`: the closed rounds."""
        kind = self._opened.spec.labels.answers
        return Rule(
            name=self._opened.spec.rule,
            annotators=self._opened.spec.desk.annotators_per_item,
            kind=kind,
            number=planned.number,
            again={item_id: tuple(map(kind.text, labels)) for item_id, labels in planned.again.items()},
            again_alone=planned.again_alone,
            gold=self.truth([*before, planned]),
            earlier=lambda: {r.number: self.answers_of(r.number) for r in before},
        )

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

    def surprises(
        self, folded: Fold, draws: Drawn, item_id: Sequence[str]
    ) -> dict[str, tuple[int, ...]]:
        """Item -> answers that are to be asked again."""
        again = self._opened.spec.desk.again
        found = self._opened.statistics.surprising(draws, folded.state.labels, again)
        return {item_id[t]: answers for t, answers in found.items()}

    def _answers_of(self, number: int) -> list[Annotation]:
        if self._decided is not None:
            decided = self._decided[number - 1]
        else:
            decided = read_labels(self._ledger, number) or []
        gold = read_gold_answers(self._ledger, number)
        named = [digest for one in decided for digest in one.annotations]
        named += [digest for digests in gold.values() for digest in digests]
        return read_answers(self._ledger, number, named)
