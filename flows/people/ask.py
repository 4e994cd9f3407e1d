"""Ask: what is due of an open round is posted, and what people said is read.

Items that everybody skipped are asked a second time, when nothing else of the round is open: a batch of its
own, posted and read under the same rules as the first one (flows.people.post, flows.people.collect). Every
call may be repeated at any time, by several at once and after any crash: the ledger's `posts/` keys record
what was posted, so that it is not posted again.
"""

from collections.abc import Sequence

from assay.evalcore.annotators.rules import Rule
from assay.flows.people.asked import AskedRound, Asking
from assay.flows.people.batches import first_batch, second_batch
from assay.flows.people.collect import collect
from assay.flows.people.context import People
from assay.flows.people.post import post_lost, post_new
from assay.tasks.desks.protocol import Batch, Item
from assay.tasks.ledger.rounds.labels import is_closed
from assay.tasks.ledger.rounds.plan import PlannedRound


def ask(people: People, planned: PlannedRound, rule: Rule, gold: Sequence[Item] = ()) -> AskedRound:
    """Post what is due of a round, and read what was answered.

    rule: how answers become labels. gold: the gold items of the round; they are asked like the others, and
    their answers become no labels.
    """
    batch = first_batch(people.ledger.name, planned, gold, people.opened.spec.seed)
    if not batch.items:
        first = Asking(
            batch=batch, attempts=0, posts_of_round=(), answers=(), tallies={}, present=frozenset()
        )
        return AskedRound(planned=planned, rule=rule, asks_twice=people.asks_twice, first=first)
    mixed_in = frozenset(item.item_id for item in gold)
    first = _post_and_collect(people, batch, rule, gold=mixed_in)
    twice = _asked_twice(first)
    if people.asks_twice and not first.unsettled:
        skipped = {i for i, tally in first.tallies.items() if tally.status == "skipped"} - mixed_in
        # who asks again has written the skips down, and only then finds the round open: looks count on it
        if skipped - twice and not is_closed(people.ledger, planned.number):
            twice |= skipped
    again = second_batch(people.ledger.name, planned, twice)
    return AskedRound(
        planned=planned, rule=rule, asks_twice=people.asks_twice, first=first,
        second=_post_and_collect(people, again, rule, labelled=_labelled(first)) if twice else None,
    )


def reread_round(people: People, planned: PlannedRound, rule: Rule) -> AskedRound:
    """Read a closed round's batches once more, gold apart. Nothing is posted."""
    first = collect(people, first_batch(people.ledger.name, planned), rule)
    again = second_batch(people.ledger.name, planned, _asked_twice(first))
    second = collect(people, again, rule, labelled=_labelled(first)) if again.items else None
    return AskedRound(
        planned=planned, rule=rule, asks_twice=people.asks_twice, first=first, second=second
    )


def _post_and_collect(
    people: People, batch: Batch, rule: Rule, *, gold: frozenset[str] = frozenset(),
    labelled: frozenset[str] = frozenset(),
) -> Asking:
    """One asking: post what never was, read the desk, post again what was lost."""
    post_new(people, batch)
    asking = collect(people, batch, rule, gold=gold, labelled=labelled)
    if post_lost(people, asking):
        asking = collect(people, batch, rule, gold=gold, labelled=labelled)
    return asking


def _asked_twice(first: Asking) -> set[str]:
    """Items that were posted a second time already."""
    return {item_id for post in first.posts_of_round if post.asking > 1 for item_id in post.items}


def _labelled(first: Asking) -> frozenset[str]:
    return frozenset(item_id for item_id, tally in first.tallies.items() if tally.status == "labelled")
