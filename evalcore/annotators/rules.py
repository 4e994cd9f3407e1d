"""The rules that make labels of answers: a majority, or Dawid-Skene.

`majority` decides every item by itself. With k = 1 a surprising answer takes a second person, once two people
are known to answer at all (one person alone would wait for ever), or in any case (`again_alone`).

`dawid-skene` decides the items of a round together, once all of them
have their k answers, by a fit to the answers of all rounds so far and of gold. It labels the items of the
round that is being closed and no others: closed rounds keep the labels they were closed with, though a later
fit may see them otherwise (`disagreements` says where). Such labels change by a revision only.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from assay.evalcore.annotators.adjudication import Answer, Outcome, adjudicate
from assay.evalcore.annotators.dawid_skene import UNKNOWN, DawidSkene, dawid_skene
from assay.evalcore.annotators.votes import Place, Votes, votes_of
from assay.evalcore.types import Ints

RuleName = Literal["majority", "dawid-skene"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rule:
    """How the labels of one round are decided."""

    name: RuleName = "majority"
    annotators: int = 1                                       # k
    classes: Mapping[str, int]                                # class name -> 0 or 1
    number: int                                               # the round
    again: Mapping[str, Collection[str]] = field(default_factory=dict)   # item -> surprising classes
    again_alone: bool = False                                 # even while nobody else is known to answer
    gold: Mapping[Place, int] = field(default_factory=dict)   # gold items of this round and before -> truth
    earlier: Callable[[], Mapping[int, Sequence[Answer]]] = dict   # closed rounds' answers, gold too


def settle(
    rule: Rule, items: Sequence[str], gold: Sequence[str], answers: Iterable[Answer],
    present: Collection[str] | None = None,
) -> dict[str, Outcome]:
    """The outcome of every item asked and of every gold item of the round.

    items   asked in the round       gold   mixed in; their ties are nobody's business
    """
    answers = list(answers)
    weighed = rule.name == "dawid-skene"
    again = rule.again if rule.again and _asked_again(rule, items, answers) else {}
    outcomes = adjudicate(
        items, answers, annotators=rule.annotators, present=present, again=again, ties_wait=not weighed
    )
    outcomes |= adjudicate(gold, answers, annotators=rule.annotators, present=present, ties_wait=False)
    if not weighed or any(outcomes[item].status == "waiting" for item in (*items, *gold)):
        return outcomes
    votes, fitted = fit_rounds(rule, {**rule.earlier(), rule.number: answers})
    decided = dict(zip(votes.items, fitted.decided().tolist(), strict=True))
    names = {label: name for name, label in rule.classes.items()}
    for item in items:
        if outcomes[item].status == "labelled":
            label = decided[(rule.number, item)]
            outcomes[item] = (
                replace(outcomes[item], status="waiting", label=None, needs=1) if label < 0
                else replace(outcomes[item], label=names[label])
            )
    return outcomes


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
    """Items whose label (`labels`) this fit sees otherwise; ties are no disagreement."""
    decided = zip(votes.items, fitted.decided().tolist(), strict=True)
    return [place for place, label in decided if place in labels and label >= 0 and labels[place] != label]
