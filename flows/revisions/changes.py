"""Which items of the closed rounds have another label now than they had so far."""

from collections.abc import Mapping
from dataclasses import replace

from assay.flows.people.context import People
from assay.flows.record.fold import Fold, in_full
from assay.flows.revisions.look import labels_now
from assay.tasks.ledger.revisions import RevisedItem, Revision, revised
from assay.tasks.ledger.rounds.answers import annotators_of


def changed_items(
    people: People, folded: Fold, last: Revision | None, *, only_gaps: bool
) -> tuple[RevisedItem, ...] | None:
    """The items of the revision after `last`, those of `last` included; None if nothing changed.

    only_gaps: read only rounds that were closed with items unanswered which no later round asked again.
    """
    asked_last = _asked_last(folded)
    found: dict[tuple[int, str], RevisedItem] = {
        (item.round, item.decided.item_id): replace(item, changed=False, by=())
        for item in (last.items if last else ())
    }
    changed = False
    for in_brief in folded.closed:
        if only_gaps and not in_brief.has_gaps(people.opened.statistics.codes):
            continue
        closed = in_full(people.ledger, in_brief)
        number = closed.planned.number
        decided = revised(number, closed.decided or (), last)
        own = [one for one in decided if number >= asked_last.get((one.cell, one.rank), 0)]
        if not own or (only_gaps and all(one.came_to != "unanswered" for one in own)):
            continue
        now = labels_now(people, closed.planned, decided)
        for before in own:
            after = now[before.item_id]
            if after.came_to != before.came_to:
                changed = True
                digests = set(before.annotations) ^ set(after.annotations)
                found[number, before.item_id] = RevisedItem(
                    round=number, decided=after, changed=True,
                    by=annotators_of(people.ledger, number, digests),
                )
    return tuple(found[place] for place in sorted(found)) if changed else None


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
