"""Which items of the closed rounds have another label now than they had so far."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache

from assay.flows.people.annotating import own_answers
from assay.flows.people.ask import reread_round
from assay.flows.people.context import People
from assay.flows.record.fold import Fold, in_full
from assay.flows.revisions.look import labels_now
from assay.flows.revisions.unchanged import Unchanged
from assay.tasks.ledger.revisions import RevisedItem, Revision, revised
from assay.tasks.ledger.rounds.answers import annotators_of


def changed_items(
    people: People, folded: Fold, last: Revision | None, unchanged: Unchanged, *, only_gaps: bool
) -> tuple[RevisedItem, ...] | None:
    """The items of the revision after `last`, those of `last` included; None if nothing changed.

    unchanged   what earlier looks found; rounds of which that still holds are not read
    only_gaps   read only rounds that were closed with items unanswered which no later round asked again.
    """
    asked_last = cache(lambda: _asked_last(folded))
    found: dict[tuple[int, str], RevisedItem] = {
        (item.round, item.decided.item_id): replace(item, changed=False, by=())
        for item in (last.items if last else ())
    }
    changed = False
    for number in range(1, folded.state.round + 1):
        if only_gaps and not folded.closed[number - 1].has_gaps:
            continue
        if unchanged.holds(number, last) or not _own(folded, number, asked_last()):
            continue
        closed = in_full(people.ledger, folded.closed[number - 1])
        decided = revised(number, closed.decided or (), last)
        own = [one for one in decided if number >= asked_last().get((one.cell, one.rank), 0)]
        if only_gaps and all(one.came_to != "unanswered" for one in own):
            continue
        asked = reread_round(people, closed.planned, own_answers(people.opened, number))
        now = labels_now(people, asked, decided)
        differing = [one for one in own if now[one.item_id].came_to != one.came_to]
        for before in differing:
            after = now[before.item_id]
            digests = set(before.annotations) ^ set(after.annotations)
            found[number, before.item_id] = RevisedItem(
                round=number, decided=after, changed=True, by=annotators_of(people.ledger, number, digests)
            )
        if differing:
            changed = True
        else:
            unchanged.note(asked, last)
    return tuple(found[place] for place in sorted(found)) if changed else None


def _own(folded: Fold, number: int, asked_last: Mapping[tuple[int, int], int]) -> bool:
    """Whether a round asked anything that no later round asked again."""
    planned = folded.closed[number - 1].planned
    places = ((int(planned.plan.cell[t]), int(planned.plan.rank[t])) for t in planned.asked())
    return any(number >= asked_last.get(place, 0) for place in places)


def _asked_last(folded: Fold) -> Mapping[tuple[int, int], int]:
    """(cell, rank) -> the last round that asked the item, the open one included."""
    rounds = [one.planned for one in folded.closed]
    if folded.open_round:
        rounds.append(folded.open_round)
    return {
        (int(planned.plan.cell[t]), int(planned.plan.rank[t])): planned.number
        for planned in rounds
        for t in planned.asked()
    }
