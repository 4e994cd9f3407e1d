"""Whom to trust: which gold a round mixes in, which of its answers are asked again, the rule that decides its
labels, and how the people who label do.

All of it follows from the ledger: gold and surprising answers are chosen when a round is planned, and its
plan holds them; the rule is the spec's; the answers of closed rounds are those their labels name.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache

from assay.evalcore.annotators.adjudication import Annotation, Place
from assay.evalcore.annotators.quality import (
    AnnotatorQuality,
    AnsweredRound,
    annotator_quality,
    classes_of,
    numbered,
)
from assay.evalcore.annotators.rules import (
    Rule,
    earlier_annotators,
    gold_in_round,
    gold_in_turn,
    items_behind_draws,
)
from assay.evalcore.evaluation.state import with_one_more
from assay.evalcore.outcomes.base import is_outcome
from assay.evalcore.reproducible import stream
from assay.flows.record.fold import Fold
from assay.flows.record.opened import Opened
from assay.tasks.desks.desk import Item
from assay.tasks.ledger.asked_round import PlannedRound, RoundAnswers, packed_answers
from assay.tasks.ledger.closed_round import ClosedRound, Decided, read_gold_answers, read_labels
from assay.tasks.ledger.record import Ledger
from assay.tasks.pool.known_answers import GoldItem, load_gold

ReadAnswers = Callable[[Ledger, int, Iterable[str]], list[Annotation]]


def own_answers(opened: Opened, number: int) -> Rule:
    """How the labels of a round are made where each item is decided by its own answers. The rule says how
    many people answer, and how answers that differ are decided."""
    spec = opened.spec
    return Rule(
        name=spec.rule, annotators=spec.desk.annotators_per_item, kind=spec.labels.answers, number=number
    ).by_item()


class Annotating:
    """The gold, the rule and the closed rounds' answers of one evaluation."""

    def __init__(
        self, opened: Opened, decided: Sequence[Sequence[Decided]] | None = None, *,
        answers: Sequence[RoundAnswers] = (), people: Sequence[Sequence[str]] = (),
        read: ReadAnswers = packed_answers,
    ) -> None:
        """What is not known is read.

        decided   what the items of the closed rounds came to; None: what they were closed with
        answers     everybody's answers in the first rounds
        people    who answered in each of the first rounds
        """
        self._ledger, self._opened, self._decided = opened.ledger, opened, decided
        self._answered, self._people, self._read = answers, list(people), read
        self._gold: dict[str, GoldItem] | None = None
        # a closed round's answers cannot change
        self.answers_of = cache(self._answers_of)

    @property
    def gold(self) -> Mapping[str, GoldItem]:
        """The gold items by id, each with its known label and what people are shown. They are read from the
        ledger once, when they are first needed."""
        if self._gold is None:
            self._gold = load_gold(self._ledger, self._opened.manifest.gold)
        return self._gold

    @property
    def known(self) -> Sequence[RoundAnswers]:
        """Everybody's answers in the rounds that were asked for, from the first on."""
        return self._answered

    @property
    def people(self) -> tuple[tuple[str, ...], ...]:
        """For each round that was asked for so far, from the first on, the sorted names of the people who
        answered about an item of the pool; gold does not count."""
        return tuple(map(tuple, self._people))

    def earlier_annotators(self, folded: Fold, number: int) -> set[str]:
        """Everybody who answered about an item of the pool in the rounds before this one."""
        for closed in folded.closed[len(self._people) : number - 1]:
            gold = closed.planned.gold
            answers = self.answers_of(closed.planned.number)
            self._people.append(sorted({a.annotator for a in answers if a.item_id not in gold}))
        return {name for names in self._people[: number - 1] for name in names}

    def answered(self, folded: Fold) -> Sequence[RoundAnswers]:
        """All answers to each closed round, from the first on, one RoundAnswers each. What has been read is
        kept, since a closed round's answers cannot change."""
        for number in range(len(self._answered) + 1, folded.state.round + 1):
            of_round = RoundAnswers(number=number, answers=self.answers_of(number))
            self._answered = with_one_more(self._answered, of_round)
        return self._answered

    def rule(self, planned: PlannedRound, folded: Fold) -> Rule:
        """How the labels of a round are decided; `folded`: the closed rounds before it."""
        # without gold there is no reason to read earlier rounds
        closed = folded.closed if self._opened.manifest.gold else ()
        before = [round_.planned for round_ in closed if round_.planned.number < planned.number]
        kind = self._opened.spec.labels.answers
        return Rule(
            name=self._opened.spec.rule,
            annotators=self._opened.spec.desk.annotators_per_item,
            kind=kind,
            number=planned.number,
            again={
                item_id: tuple(text for code in labels for text in kind.texts(code))
                for item_id, labels in planned.again.items()
            },
            again_alone=planned.again_alone,
            gold=self.truth([*before, planned]),
            earlier=lambda: self.earlier(folded, planned.number),
            people_before=lambda: self.earlier_annotators(folded, planned.number),
        )

    def earlier(self, folded: Fold, number: int) -> dict[int, Sequence[Annotation]]:
        """The answers to the closed rounds before the one of this number, by number of their round. Error
        rates of people are learned from these as well."""
        return {round_.number: round_.answers for round_ in self.answered(folded) if round_.number < number}

    def truth(self, rounds: Sequence[PlannedRound]) -> dict[Place, float]:
        """(round, item) -> label of the gold mixed into these rounds."""
        return {(r.number, item): self.gold[item].label for r in rounds for item in r.gold}

    def gold_items(self, planned: PlannedRound) -> list[Item]:
        """The gold items mixed into a round as people see them: id and shown fields, without the known label.
        They look like any other item of the round, so nobody knows them."""
        return [Item(item_id=item, shown=self.gold[item].shown) for item in planned.gold]

    def choose(self, folded: Fold, item_ids: Sequence[str]) -> tuple[str, ...]:
        """The gold to mix into the next round; `item_ids`: the ids it asks."""
        spec, name = self._opened.spec, self._opened.name
        gold = spec.desk.gold
        if gold is None or not item_ids:
            return ()
        closed = [r.planned for r in folded.closed]
        taken = {*item_ids, *(r.item_id[t] for r in closed for t in r.asked())}
        used = sum(len(r.gold) for r in closed)
        in_turn = gold_in_turn(list(self.gold), used, taken, seed=spec.seed, evaluation=name)
        size = gold_in_round(
            gold.rate, len(item_ids), seed=spec.seed, evaluation=name, number=folded.state.round + 1
        )
        return tuple(in_turn[:size])

    def surprises(self, folded: Fold, planned: PlannedRound) -> dict[str, tuple[int, ...]]:
        """Item -> answers that are to be asked again; unless it is asked for, of two classes alone. None of
        labels that were there before."""
        desk, statistics = self._opened.spec.desk, self._opened.statistics
        asked_for = desk.ask_again is not None or not statistics.classes_stand_equal
        if planned.plan.design.held or not asked_for or desk.again.when == "never":
            return {}
        draws = statistics.surprising(
            folded.state, planned.plan, planned.items, desk.again.chance, desk.again.moves
        )
        return {planned.item_id[t]: answers for t, answers in draws.items()}

    def _answers_of(self, number: int) -> list[Annotation]:
        if self._decided is not None:
            decided = self._decided[number - 1]
        else:
            decided = read_labels(self._ledger, number) or []
        gold = read_gold_answers(self._ledger, number)
        names = [digest for row in decided for digest in row.annotations]
        names += [digest for digests in gold.values() for digest in digests]
        return self._read(self._ledger, number, names)


def annotators_record(opened: Opened, annotating: Annotating, folded: Fold) -> AnnotatorQuality | None:
    """What is to be written after the last closed round; None if there is nothing to say.

    How the people who label do, and what their errors do to the numbers: `rounds/<n>/annotators.json`.

    Written with each closed round where there is something to say: several people answer each item, gold is
    mixed in, or more than one person has answered. It rests on the answers that the labels of the closed
    rounds name, so it can be computed again at any time and comes out the same. People appear under the
    desk's names of them, which are numbers and digests; reports use names of their own.
    """
    answers = {round_.number: round_.answers for round_ in annotating.answered(folded)}
    desk = opened.spec.desk
    rule = annotating.rule(folded.closed[-1].planned, folded)
    alone = len(earlier_annotators(answers, rule.gold)) < 2
    if desk.annotators_per_item == 1 and desk.gold is None and alone:
        return None
    labels = [_labels(opened, closed) for closed in folded.closed]
    texts = {answer.label for group in answers.values() for answer in group if answer.label is not None}
    results = {label for group in labels for label in group if label is not None}
    numbers = rule.kind.numbering(texts | results | {rule.kind.text(code) for code in rule.gold.values()})
    return annotator_quality(
        [
            _answered(opened, closed, own_labels, answers[closed.planned.number], numbers)
            for closed, own_labels in zip(folded.closed, labels, strict=True)
        ],
        rule,
        opened.statistics.correctable(folded.state),
        opened.confidence,
        stream(opened.spec.seed, opened.name, folded.state.round, "annotators"),
        numbers,
    )


def one_person_still(opened: Opened, annotating: Annotating, folded: Fold) -> bool:
    """Whether nobody but one person has answered yet, so that there is nothing to say.

    True only where one person answers each item and no gold is mixed in.
    """
    desk = opened.spec.desk
    if desk.annotators_per_item > 1 or desk.gold is not None:
        return False
    return len(annotating.earlier_annotators(folded, folded.state.round + 1)) < 2


def _labels(opened: Opened, closed: ClosedRound) -> list[str | None]:
    """What each item that a round asked about came to, as people write it."""
    codes, kind = closed.labels[closed.planned.asked()], opened.spec.labels.answers
    is_label = is_outcome(codes).tolist()
    return [kind.text(code) if flag else None for code, flag in zip(codes.tolist(), is_label, strict=True)]


def _answered(
    opened: Opened, closed: ClosedRound, labels: Sequence[str | None], answers: Sequence[Annotation],
    numbers: Mapping[str, int],
) -> AnsweredRound:
    planned, statistics = closed.planned, opened.statistics
    positions, by_class = planned.asked(), opened.spec.labels.answers.error_rates
    predicted = planned.prediction if by_class else None
    return AnsweredRound(
        number=planned.number,
        item_id=tuple(planned.item_id[t] for t in positions),
        prediction=classes_of(None if predicted is None else predicted[positions], len(positions)),
        label=numbered(labels, numbers),
        positive=statistics.chance_of_positive(planned.plan)[positions],
        stands_for=items_behind_draws(planned.plan)[positions],
        again=planned.again,
        again_alone=planned.again_alone,
        answers=answers,
    )
