"""Post: put a round's items on the desk, once.

A post can succeed although its reply is lost, and may even take effect minutes later, so posting every item
exactly once cannot be promised. What is promised is one label per item, and few copies:

1. An attempt to post is recorded under a key of its own, `posts/0001.json`, before it is made. Only whoever
   creates the key makes the attempt.
2. The reply may be lost (AmbiguousPost), or the creator of the key may crash. In both cases nobody repeats
   the attempt; everybody, its creator included, reads the desk instead.
3. Items that are still not on the desk when the last attempt is older than `repost_after` are posted again,
   after one more read of the desk, by whoever creates the next key. So are those whose last attempt is dated
   in the future by more than `repost_after`: a clock was wrong, and the date says nothing.
4. An item that arrived twice and is gone again was removed on purpose: it is not posted a third time, and is
   recorded as deleted. An item that disappeared once may be an accident, and is posted again.
5. The two askings of a round are posted under the same rules. Their attempts are numbered in one sequence.
"""

import logging
from collections.abc import Sequence
from datetime import timedelta

from assay.flows.people.asked import Asking
from assay.flows.people.context import People
from assay.flows.record.opened import Opened
from assay.tasks.desks.effects import missing_items, post_items, prepare_desk
from assay.tasks.desks.protocol import AmbiguousPost, Batch, Item
from assay.tasks.ledger.rounds.posts import create_post, read_posts
from assay.tasks.settings import Settings

_log = logging.getLogger("assay.asking")


def repost_delay(opened: Opened) -> timedelta:
    """How old a post must be before items that did not arrive are posted again."""
    late = opened.spec.desk.posts_arrive_late
    return timedelta(seconds=Settings().repost_after) if late else timedelta(0)


def post_new(people: People, batch: Batch) -> None:
    """Post the items of a batch that were never posted."""
    # attempts are counted before it is decided what is due: others who decide the same at the same moment
    # then try to create the same key, and only one of them gets it
    posts = read_posts(people.ledger, batch.round)
    posted = {item_id for post in posts if post.asking == batch.asking for item_id in post.items}
    if not posted and (batch.round, batch.asking) == (1, 1):
        prepare_desk(people.desk)   # `begin` may have been cut short; later, a lost project is an error
    new = [item for item in batch.items if item.item_id not in posted]
    if new:
        _post(people, batch, new, len(posts) + 1)


def post_lost(people: People, asking: Asking) -> bool:
    """Post the items again that should be on the desk and are not; whether there were any."""
    absent = asking.absent - asking.removed
    posts = asking.posts
    if not absent or not posts or abs(people.now() - posts[-1].at) < people.repost_after:
        return False
    lost = [item for item in missing_items(people.desk, asking.batch) if item.item_id in absent]
    if lost:
        _post(people, asking.batch, lost, asking.attempts + 1)
    return bool(lost)


def _post(people: People, batch: Batch, items: Sequence[Item], attempt: int) -> None:
    """Create the key of this attempt and, if it is ours, make the attempt."""
    item_ids = [item.item_id for item in items]
    if create_post(people.ledger, batch.round, attempt, item_ids, people.now(), batch.asking):
        try:
            post_items(people.desk, batch, items)
        except AmbiguousPost as error:
            _log.warning("%s, round %d: %s; reading the desk", people.ledger.name, batch.round, error)
