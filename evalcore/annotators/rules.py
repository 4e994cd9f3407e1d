"""From answers to labels: the rules that join several answers, and what becomes of the items of a round."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from assay.evalcore.annotators.adjudication import Annotation, Answer, AnswerTally, Place, adjudicate
from assay.evalcore.annotators.answers import AnswerKind, RuleName

# The rules that make labels of answers: a majority, a median or a mean, or Dawid-Skene.
#
# `majority`, and of numbers `median` and `mean`, decide each item by its own answers. With k = 1 a surprising
# answer is asked again of a second person, once it is known that at least two people answer (a single person
# could not be asked again), or in any case (`again_alone`).
#
# `dawid-skene` decides the items of a round together, once all of them have their k answers. It fits the
# answers of all rounds so far and of gold, and labels only the items of the round that is being closed.
# Closed rounds keep the labels they were closed with, although a later fit may give others (`disagreements`
# names those). They change only by a revision.

@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rule:
    """How the labels of one round are decided."""

    name: RuleName = "majority"
    annotators: int = 1                                       # k
    kind: AnswerKind                                          # what people answer
    number: int                                               # the round
    again: Mapping[str, Collection[str]] = field(default_factory=dict)   # item -> surprising answers
    again_alone: bool = False                                 # even while only one person is known
    gold: Mapping[Place, float] = field(default_factory=dict)   # gold items of this round and before -> code
    earlier: Callable[[], Mapping[int, Sequence[Answer]]] = dict   # closed rounds' answers, gold too
    people_before: Callable[[], Collection[str]] | None = None     # who answered then; None: from `earlier`

    def by_item(self) -> "Rule":
        """The rule of the same people that decides each item by its own answers: for a round of which not all
        answers are there."""
        name = self.kind.rules[0] if self.weighed else self.name
        return Rule(name=name, annotators=self.annotators, kind=self.kind, number=self.number)

    @property
    def weighed(self) -> bool:
        """Items are decided together."""
        return self.name == "dawid-skene"

    def joined(self, votes: Mapping[str, int]) -> str | None:
        """The label that votes about one item give; None for a tie, or without votes."""
        return self.kind.joined(votes, self.name)


def settle(
    rule: Rule, items: Sequence[str], gold: Sequence[str], answers: Iterable[Answer],
    present: Collection[str] | None = None, elsewhere: Collection[str] = (),
) -> dict[str, AnswerTally]:
    """The tally of every item asked and of every gold item of the round.

    items       asked in the round
    gold        mixed in; a gold item with a tie waits for nobody
    present     items now on the desk; None where that is not known
    elsewhere   items that another asking decides: Dawid-Skene does not wait for their answers to this one
    """
    answers = list(answers)
    weighed = rule.weighed
    again = rule.again if rule.again and _asked_again(rule, items, answers) else {}
    tallies = adjudicate(
        items, answers, rule.joined, annotators=rule.annotators, present=present, again=again,
        ties_wait=not weighed,
    )
    tallies |= adjudicate(
        gold, answers, rule.joined, annotators=rule.annotators, present=present, ties_wait=False
    )
    labelled = [item for item in items if tallies[item].status == "labelled"]
    awaited = {*items, *gold} - set(elsewhere)
    if not weighed or not labelled or any(tallies[item].status == "waiting" for item in awaited):
        return tallies
    decided = rule.kind.weighed({**rule.earlier(), rule.number: answers}, rule.gold)
    for item in labelled:
        label = decided[(rule.number, item)]
        tallies[item] = (
            replace(tallies[item], status="waiting", label=None, needs=1) if label is None
            else replace(tallies[item], label=label)
        )
    return tallies


def _asked_again(rule: Rule, items: Collection[str], answers: Sequence[Answer]) -> bool:
    """Whether surprising answers are asked again now: there must be somebody else to ask."""
    if rule.again_alone:
        return True
    people = {answer.annotator for answer in answers if answer.item_id in items}
    if len(people) == 1 and any(answer.item_id in rule.again for answer in answers):
        before = rule.people_before
        people.update(earlier_annotators(rule.earlier(), rule.gold) if before is None else before())
    return len(people) > 1


def earlier_annotators(answers: Mapping[int, Iterable[Answer]], gold: Collection[Place]) -> set[str]:
    """Everybody who answered about an item that was asked."""
    return {
        answer.annotator
        for number, of_round in answers.items()
        for answer in of_round
        if (number, answer.item_id) not in gold
    }


def disagreements(decided: Mapping[Place, str | None], labels: Mapping[Place, str]) -> list[Place]:
    """Items that a later fit decides otherwise than `labels` does; where it is tied it decides nothing."""
    return [
        place for place, label in decided.items()
        if place in labels and label is not None and labels[place] != label
    ]


# What becomes of the items of a round: the label that people's answers give, or why there is none.
#
#     a label      enough people answered and agree, the first time the item was asked or the second
#     skipped      everybody skipped it, it was asked once more, and everybody skipped it again
#     deleted      somebody removed it from the desk on purpose
#     unanswered   the round was closed early, and its answers give no label
#     (neither)    people still have to answer it: the round is open
#
# An item that everybody skipped is asked a second time, as a question of its own (`asks_twice`). A label
# given to the first question counts even then, because people may change their minds; otherwise the second
# question decides. When a round is closed early, fewer answers than were asked for will do: each item is
# decided by its own answers, whatever the rule.

SETTLED = ("labelled", "skipped")   # statuses of tallies that wait for nobody


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What became of one item; with neither a label nor a reason it is still open."""

    label: float | None = None     # its code: of a class 0..K-1
    reason: Literal["skipped", "deleted", "unanswered"] | None = None   # why there is no label
    share: float | None = None     # of two classes, of its votes that name the positive one

    @property
    def is_open(self) -> bool:
        """Whether people still have to answer the item."""
        return self.label is None and self.reason is None


def decide(
    items: Sequence[str], answers: Sequence[Annotation], rule: Rule, *, removed: Collection[str] = (),
    asks_twice: bool = True, early: bool = False,
) -> dict[str, Decision]:
    """What became of every item that people were asked about, in the order of `items`.

    answers      to both askings of the round; those about gold tell Dawid-Skene whom to believe
    removed      items that somebody removed from the desk on purpose
    asks_twice   what everybody skipped is asked a second time
    early        the round is closed with the answers there are: each item's own decide
    """
    rule = rule.by_item() if early else rule
    on_desk = set(items) - set(removed)
    to_first, to_second = ([a for a in answers if a.asking == asking] for asking in (1, 2))
    twice = {a.item_id for a in to_second}.intersection(items)   # answered a second time
    first = settle(rule, items, (), to_first, on_desk, elsewhere=twice)
    labelled = {item for item, tally in first.items() if tally.status == "labelled"}
    second = settle(rule, sorted(twice), (), to_second, on_desk, elsewhere=labelled)
    return {
        item: _decision(
            deciding_tally(first[item], second.get(item)), rule, removed=item in removed, early=early,
            asked_twice=item in twice, skips_decide=early or item in twice or not asks_twice,
        )
        for item in items
    }


def deciding_tally(first: AnswerTally, second: AnswerTally | None) -> AnswerTally:
    """Which of an item's two tallies decides; `second` is None unless it was asked twice."""
    return first if second is None or first.status == "labelled" else second


def tally_of(item: str, answers: Sequence[Annotation], rule: Rule, *, asked_twice: bool) -> AnswerTally:
    """The tally that decides one item, from answers to either asking; where the item is now is not known."""
    first, second = (
        settle(rule, [item], (), [a for a in answers if a.asking == asking])[item] for asking in (1, 2)
    )
    return deciding_tally(first, second if asked_twice else None)


def _decision(
    tally: AnswerTally, rule: Rule, *, removed: bool, early: bool, asked_twice: bool,
    skips_decide: bool,
) -> Decision:
    name = tally.label
    if early and tally.status not in SETTLED:
        name = rule.joined(tally.votes)
    if name is not None and rule.kind.meaning(name) == name:
        return Decision(label=rule.kind.code(name), share=_share(tally, rule))
    skipped = tally.status == "skipped"
    if removed and not (skipped and asked_twice):
        return Decision(reason="deleted")
    if skipped and skips_decide:
        return Decision(reason="skipped")
    return Decision(reason="unanswered" if early else None)


def _share(tally: AnswerTally, rule: Rule) -> float | None:
    """Of two classes, the share of an item's votes that name the positive one; None without votes."""
    if not rule.kind.two_codes or not tally.votes:
        return None
    positive = sum(n for name, n in tally.votes.items() if rule.kind.code(name) == 1)
    return positive / sum(tally.votes.values())
