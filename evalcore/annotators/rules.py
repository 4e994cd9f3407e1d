"""The rules that make labels of answers: a majority, a median or a mean, or Dawid-Skene.

`majority`, and of numbers `median` and `mean`, decide each item by its own answers. With k = 1 a surprising
answer is asked again of a second person, once it is known that at least two people answer (a single person
could not be asked again), or in any case (`again_alone`).

`dawid-skene` decides the items of a round together, once all of them have their k answers. It fits the
answers of all rounds so far and of gold, and labels only the items of the round that is being closed.
Closed rounds keep the labels they were closed with, although a later fit may give others (`disagreements`
names those). They change only by a revision.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from assay.evalcore.annotators.adjudication import Answer, AnswerTally, adjudicate
from assay.evalcore.annotators.answers.base import AnswerKind, RuleName
from assay.evalcore.annotators.votes import Place


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
    people_before: Callable[[], Collection[str]] | None = None     # see `company`; None: from `earlier`

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
        people.update(company(rule.earlier(), rule.gold) if before is None else before())
    return len(people) > 1


def company(answers: Mapping[int, Iterable[Answer]], gold: Collection[Place]) -> set[str]:
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
