"""The two rules that make labels of answers: a majority, or Dawid-Skene.

`majority` decides each item by its own answers. With k = 1 a surprising answer is asked again of a second
person, once it is known that at least two people answer (a single person could not be asked again), or in any
case (`again_alone`).

`dawid-skene` decides the items of a round together, once all of them have their k answers. It fits the
answers of all rounds so far and of gold, and labels only the items of the round that is being closed.
Closed rounds keep the labels they were closed with, although a later fit may give others (`disagreements`
names those). They change only by a revision.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from assay.evalcore.annotators.adjudication import Answer, Tally, adjudicate
from assay.evalcore.annotators.agreement import Level
from assay.evalcore.annotators.dawid_skene import UNKNOWN, DawidSkene, dawid_skene
from assay.evalcore.annotators.votes import Place, Votes, votes_of
from assay.evalcore.types import Ints

RuleName = Literal["majority", "dawid-skene"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rule:
    """How the labels of one round are decided."""

    name: RuleName = "majority"
    annotators: int = 1                                       # k
    classes: Mapping[str, int]                                # class name -> 0..K-1
    level: Level = "nominal"                                  # by which agreement is measured
    number: int                                               # the round
    again: Mapping[str, Collection[str]] = field(default_factory=dict)   # item -> surprising classes
    again_alone: bool = False                                 # even while only one person is known
    gold: Mapping[Place, int] = field(default_factory=dict)   # gold items of this round and before -> truth
    earlier: Callable[[], Mapping[int, Sequence[Answer]]] = dict   # closed rounds' answers, gold too

    def majority(self) -> "Rule":
        """The majority of the same people, item by item: for a round of which not all answers are there."""
        return Rule(
            annotators=self.annotators, classes=self.classes, level=self.level, number=self.number
        )


def settle(
    rule: Rule, items: Sequence[str], gold: Sequence[str], answers: Iterable[Answer],
    present: Collection[str] | None = None, elsewhere: Collection[str] = (),
) -> dict[str, Tally]:
    """The tally of every item asked and of every gold item of the round.

    items       asked in the round
    gold        mixed in; a gold item with a tie waits for nobody
    present     items now on the desk; None where that is not known
    elsewhere   items that another asking decides: Dawid-Skene does not wait for their answers to this one
    """
    answers = list(answers)
    weighed = rule.name == "dawid-skene"
    again = rule.again if rule.again and _asked_again(rule, items, answers) else {}
    tallies = adjudicate(
        items, answers, annotators=rule.annotators, present=present, again=again, ties_wait=not weighed
    )
    tallies |= adjudicate(gold, answers, annotators=rule.annotators, present=present, ties_wait=False)
    labelled = [item for item in items if tallies[item].status == "labelled"]
    awaited = {*items, *gold} - set(elsewhere)
    if not weighed or not labelled or any(tallies[item].status == "waiting" for item in awaited):
        return tallies
    votes, fitted = fit_rounds(rule, {**rule.earlier(), rule.number: answers})
    decided = dict(zip(votes.items, fitted.decided().tolist(), strict=True))
    names = {label: name for name, label in rule.classes.items()}
    for item in labelled:
        label = decided[(rule.number, item)]
        tallies[item] = (
            replace(tallies[item], status="waiting", label=None, needs=1) if label < 0
            else replace(tallies[item], label=names[label])
        )
    return tallies


def _asked_again(rule: Rule, items: Collection[str], answers: Sequence[Answer]) -> bool:
    """Whether surprising answers are asked again now: there must be somebody else to ask."""
    if rule.again_alone:
        return True
    people = {answer.annotator for answer in answers if answer.item_id in items}
    if len(people) == 1 and any(answer.item_id in rule.again for answer in answers):
        people |= company(rule.earlier(), rule.gold)
    return len(people) > 1


def company(answers: Mapping[int, Iterable[Answer]], gold: Collection[Place]) -> set[str]:
    """Everybody who answered about an item that was asked."""
    return {
        answer.annotator
        for number, of_round in answers.items()
        for answer in of_round
        if (number, answer.item_id) not in gold
    }


def fit_rounds(rule: Rule, answers: Mapping[int, Iterable[Answer]]) -> tuple[Votes, DawidSkene]:
    """Dawid-Skene over these rounds, the truth of gold given."""
    votes = votes_of(answers, rule.classes)
    return votes, dawid_skene(votes, truth_of(votes, rule.gold))


def truth_of(votes: Votes, gold: Mapping[Place, int]) -> Ints:
    """(I,) the known truth of gold items, UNKNOWN of the others."""
    return np.array([gold.get(place, UNKNOWN) for place in votes.items], np.int64)


def disagreements(votes: Votes, fitted: DawidSkene, labels: Mapping[Place, int]) -> list[Place]:
    """Items to which this fit gives another label than `labels` does; where it is tied it gives none."""
    decided = zip(votes.items, fitted.decided().tolist(), strict=True)
    return [place for place, label in decided if place in labels and label >= 0 and labels[place] != label]
