"""When an item is settled: what its answers, of both times it was asked, come to.

    labelled    people agree on a class, the first time or the second
    skipped     people cannot decide it: everybody skipped it, it was asked once more, and skipped again
    deleted     somebody removed it from the desk, twice
    withdrawn   whoever answered took the answer back after the round was closed
    unanswered  the round was closed before anybody answered

An item that everybody skipped is asked again once, as a question of its own, when nothing else of its round
is open. A label given to the first question counts even then: people may change their minds. Otherwise the
answers to the second question decide, and what they cannot decide is recorded as undecided.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from assay.evalcore.annotators.adjudication import Outcome
from assay.evalcore.annotators.annotation import Annotation
from assay.evalcore.annotators.gold import shuffled
from assay.evalcore.annotators.rules import Rule, settle
from assay.tasks.desks.protocol import Batch, Item
from assay.tasks.ledger.rounds.labels import Decided, NoLabel
from assay.tasks.ledger.rounds.plan import PlannedRound
from assay.tasks.ledger.rounds.posts import Post, removed_on_purpose

SETTLED = ("labelled", "skipped")


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """One asking of a round, as its desk and its ledger have it now."""

    batch: Batch
    posts: Sequence[Post]                # of this asking
    answers: Sequence[Annotation]        # those judged
    outcomes: Mapping[str, Outcome]
    present: frozenset[str]              # items now on the desk

    @property
    def absent(self) -> set[str]:
        """Items that are on no desk and have no answer that settles them."""
        return {item_id for item_id, outcome in self.outcomes.items() if outcome.status == "absent"}

    @property
    def removed(self) -> set[str]:
        """Absent items that somebody meant to remove: settled, without a label."""
        return self.absent & removed_on_purpose(self.posts)

    @property
    def unsettled(self) -> dict[str, Outcome]:
        """Items people still have to answer."""
        removed = self.removed
        return {
            item_id: outcome
            for item_id, outcome in self.outcomes.items()
            if outcome.status not in SETTLED and item_id not in removed
        }


def first_batch(evaluation: str, planned: PlannedRound, gold: Sequence[Item] = (), seed: int = 0) -> Batch:
    """Everything a round asks, and the gold items mixed in among it."""
    items = _items(planned)
    if gold:
        by_id = {item.item_id: item for item in (*items, *gold)}
        order = shuffled(list(by_id), seed=seed, evaluation=evaluation, number=planned.number)
        items = [by_id[item_id] for item_id in order]
    return Batch(evaluation=evaluation, round=planned.number, items=items)


def batch_again(evaluation: str, planned: PlannedRound, again: Collection[str]) -> Batch:
    """The second asking of these items of a round, in the order of the plan."""
    items = [item for item in _items(planned) if item.item_id in again]
    return Batch(evaluation=evaluation, round=planned.number, items=items, asking=2)


def to_ask_again(first: Mapping[str, Outcome], gold: Collection[str] = ()) -> set[str]:
    """The items whose first asking calls for a second; gold that everybody skipped has said what it can."""
    return {i for i, outcome in first.items() if outcome.status == "skipped" and i not in gold}


def outcome_of(first: Outcome, second: Outcome | None) -> Outcome:
    """What the two askings of an item come to; `second` is None unless it was asked again."""
    return first if second is None or first.status == "labelled" else second


def outcomes_by_asking(
    item_ids: Iterable[str], answers: Sequence[Annotation], rule: Rule, gold: Sequence[str] = (),
    deleted: Collection[str] = (),
) -> dict[str, Outcome]:
    """The outcome of every item of a closed round, from answers to either asking.

    deleted: items that were on no desk any more. Nothing else is known of any desk.
    """
    ids = list(item_ids)
    again = [i for i in ids if any(a.asking == 2 and a.item_id == i for a in answers)]
    there = {*ids, *gold} - set(deleted)
    first = settle(rule, ids, gold, [a for a in answers if a.asking == 1], there)
    second = settle(rule, again, (), [a for a in answers if a.asking == 2], there)
    return {item_id: outcome_of(first[item_id], second.get(item_id)) for item_id in ids}


def decide(
    planned: PlannedRound,
    classes: Mapping[str, int],
    outcomes: Mapping[str, Outcome],
    digests: Mapping[str, tuple[str, ...]],
    again: Collection[str] = (),
    removed: Collection[str] = (),
    *,
    early: bool = False,
) -> list[Decided]:
    """What a round is closed with, in the order of the plan.

    classes: class name -> 0 or 1. digests: item -> names of its answers in the ledger. again: items that were
    asked twice. removed: items somebody meant to remove. early: the round is closed with what is there.
    """
    rows = []
    for t in planned.asked():
        item_id = planned.item_id[t]
        if t in planned.inherited:
            rows.append(_reused(planned, t))
            continue
        outcome = as_closed_early(outcomes[item_id]) if early else outcomes[item_id]
        label, reason = label_and_reason(outcome, classes)
        if early and reason == "deleted" and item_id not in removed:
            reason = "unanswered"
        rows.append(
            Decided(
                item_id=item_id,
                cell=int(planned.plan.cell[t]),
                rank=int(planned.plan.rank[t]),
                label=label,
                reason=reason,
                annotations=digests.get(item_id, ()),
                askings=2 if item_id in again else 1,
                share=share_of(outcome, classes),
            )
        )
    return rows


def plain_rule(rule: Rule) -> Rule:
    """The majority of the same people: for answers that are not, or no longer, those of a whole round."""
    return Rule(annotators=rule.annotators, classes=rule.classes, number=rule.number)


def as_closed_early(outcome: Outcome) -> Outcome:
    """Where an item stands when nobody is waited for any more: fewer votes than were asked for will do."""
    best = [label for label, votes in outcome.votes.items() if votes == max(outcome.votes.values())]
    if outcome.status in SETTLED or len(best) != 1:
        return outcome
    return replace(outcome, status="labelled", label=best[0], needs=0)


def label_and_reason(
    outcome: Outcome, classes: Mapping[str, int]
) -> tuple[int | None, NoLabel | None]:
    """The label of a settled item, or why it has none."""
    if outcome.label is not None:
        return classes.get(outcome.label), None
    return None, "skipped" if outcome.status == "skipped" else "deleted"


def share_of(outcome: Outcome, classes: Mapping[str, int]) -> float | None:
    """The share of an item's answers that name the positive class; None for an item without a label."""
    votes = {classes[name]: n for name, n in outcome.votes.items() if name in classes}
    return None if outcome.label is None or not votes else votes.get(1, 0) / sum(votes.values())


def _reused(planned: PlannedRound, t: int) -> Decided:
    """An item that showed the same before, under the same id: its label stands, and nobody is asked."""
    return Decided(
        item_id=planned.item_id[t], cell=int(planned.plan.cell[t]), rank=int(planned.plan.rank[t]),
        label=planned.inherited[t], reason="reused", annotations=(),
    )


def _items(planned: PlannedRound) -> list[Item]:
    return [Item(item_id=planned.item_id[t], shown=planned.shown[t] or {}) for t in planned.to_people()]
