"""Collect: read what people said.

1. Every read is a full read of the batch. Whether anybody answered is never taken from the desk's counters:
   those of Label Studio lag behind its answers, and stay behind for good after a lost update.
2. Answers are copied into the ledger as soon as they are seen. Of an item that is on the desk, only what
   the desk says now counts. Of an item that is gone from the desk, the answers seen before still count.
3. When everything that an attempt to post carried has been seen on the desk, `posts/0001.arrived.json`
   records it.
4. A round that was posted more than once is read again when the next one closes: a late import may have made
   copies since, and copies nobody has answered are removed before they cost somebody's time.
"""

import logging
from collections.abc import Collection, Sequence
from dataclasses import replace

from assay.evalcore.annotators.annotation import Annotation
from assay.evalcore.annotators.rules import Rule, settle
from assay.evalcore.plurals import plural
from assay.flows.people.asked import Asking
from assay.flows.people.batches import first_batch
from assay.flows.people.context import People
from assay.tasks.desks.effects import collect_answers
from assay.tasks.desks.protocol import Batch, Collected, DeskError, Item
from assay.tasks.ledger.rounds.answers import store_answers, stored_answers
from assay.tasks.ledger.rounds.plan import PlannedRound
from assay.tasks.ledger.rounds.posts import Post, mark_arrived, read_posts

_log = logging.getLogger("assay.asking")


def collect(
    people: People, batch: Batch, rule: Rule, *, gold: Collection[str] = (), labelled: Collection[str] = ()
) -> Asking:
    """Read the desk in full, keep what was read, and count it.

    gold       gold items among the batch
    labelled   items of a second asking that the first one has labelled
    """
    attempts = len(read_posts(people.ledger, batch.round))   # see post_new
    collected = collect_answers(people.desk, batch)
    if collected.copies_removed:
        _log.info("%s, round %d: removed %s from the desk", people.ledger.name, batch.round,
                  plural(collected.copies_removed, "untouched copy", "untouched copies"))
    store_answers(people.ledger, batch.round, collected.annotations)
    posts = _posts_with_arrival(people, batch, collected)
    answers = [*collected.annotations, *_of_items_gone(people, batch, collected)]
    later = {item_id for post in posts if post.asking > batch.asking for item_id in post.items}
    asked = [item.item_id for item in batch.items if item.item_id not in gold]
    return Asking(
        batch=batch, attempts=attempts, posts_of_round=posts, answers=answers, present=collected.present,
        tallies=settle(
            rule, asked, sorted(gold), answers, collected.present, elsewhere=later.union(labelled)
        ),
    )


def remove_late_copies(people: People, planned: PlannedRound, gold: Sequence[Item] = ()) -> None:
    """Remove copies from a closed round's batch that came late. Its labels stay as they are."""
    if len(read_posts(people.ledger, planned.number)) < 2:
        return
    batch = first_batch(people.ledger.name, planned, gold, people.opened.spec.seed)
    try:
        removed = collect_answers(people.desk, batch).copies_removed
    except DeskError as error:   # the round is closed: copies left on the desk are no reason to stop
        _log.warning("%s, round %d: late copies were not looked for: %s",
                     people.ledger.name, planned.number, error)
        return
    if removed:
        _log.info("%s, round %d: removed %s that came late",
                  people.ledger.name, planned.number, plural(removed, "copy", "copies"))


def _posts_with_arrival(people: People, batch: Batch, collected: Collected) -> list[Post]:
    """The round's attempts, the last one of this asking marked if all it carried was on the desk."""
    posts = read_posts(people.ledger, batch.round)
    of_asking = [post for post in posts if post.asking == batch.asking]
    if not of_asking or of_asking[-1].arrived or not collected.present.issuperset(of_asking[-1].items):
        return posts
    last = of_asking[-1]
    mark_arrived(people.ledger, batch.round, last.attempt)
    return [replace(post, arrived=True) if post is last else post for post in posts]


def _of_items_gone(people: People, batch: Batch, collected: Collected) -> list[Annotation]:
    """Answers seen earlier about items of the batch that are no longer on the desk."""
    gone = {item.item_id for item in batch.items} - collected.present
    if not gone:
        return []
    kept = stored_answers(people.ledger, batch.round, gone)
    return [answer for answer in kept if answer.asking == batch.asking]
