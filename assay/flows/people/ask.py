"""Ask: what is due of an open round is posted, and what people said is read.

Items that everybody skipped are asked a second time, when nothing else of the round is open: a batch of its
own, posted and read under the same rules as the first one. Every call may be repeated at any time, by several
at once and after any crash: the ledger's `posts/` keys record what was posted, so that it is not posted
again.
"""

import logging
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import timedelta

from assay.evalcore.annotators.adjudication import Annotation
from assay.evalcore.annotators.rules import Rule, settle, shuffled
from assay.evalcore.errors import plural
from assay.flows.people.closing import AskedRound, Asking, People
from assay.flows.record.opened import Opened
from assay.tasks.desks.desk import (
    AmbiguousPost,
    Batch,
    Collected,
    DeskError,
    HasPlace,
    Item,
    collect_answers,
    missing_items,
    post_items,
    prepare_desk,
)
from assay.tasks.ledger.asked_round import (
    PlannedRound,
    Post,
    create_post,
    mark_arrived,
    read_posts,
    store_answers,
    stored_answers,
)
from assay.tasks.ledger.closed_round import is_closed
from assay.tasks.settings import Settings


def ask(people: People, planned: PlannedRound, rule: Rule, gold: Sequence[Item] = ()) -> AskedRound:
    """Post what is due of a round, and read what was answered.

    rule: how answers become labels. gold: the gold items of the round; they are asked like the others, and
    their answers become no labels.
    """
    batch = first_batch(people.ledger.name, planned, gold, people.opened.spec.seed)
    if not batch.items:
        first_asking = Asking(
            batch=batch, attempts=0, posts_of_round=(), answers=(), tallies={}, present=frozenset()
        )
        return AskedRound(planned=planned, rule=rule, asks_twice=people.asks_twice, first=first_asking)
    mixed_in = frozenset(item.item_id for item in gold)
    first_asking = _post_and_collect(people, batch, rule, gold=mixed_in)
    twice = _asked_twice(first_asking)
    if people.asks_twice and not first_asking.unsettled:
        skipped = {i for i, tally in first_asking.tallies.items() if tally.status == "skipped"} - mixed_in
        # who asks again has written the skips down, and only then finds the round open: looks count on it
        if skipped - twice and not is_closed(people.ledger, planned.number):
            twice |= skipped
    repeat = second_batch(people.ledger.name, planned, twice)
    return AskedRound(
        planned=planned, rule=rule, asks_twice=people.asks_twice, first=first_asking,
        second=_post_and_collect(people, repeat, rule, labelled=_labelled(first_asking)) if twice else None,
    )


def reread_round(people: People, planned: PlannedRound, rule: Rule) -> AskedRound:
    """Read a closed round's batches once more, gold apart. Nothing is posted."""
    first_asking = collect(people, first_batch(people.ledger.name, planned), rule)
    repeat = second_batch(people.ledger.name, planned, _asked_twice(first_asking))
    second_asking = collect(people, repeat, rule, labelled=_labelled(first_asking)) if repeat.items else None
    return AskedRound(
        planned=planned, rule=rule, asks_twice=people.asks_twice, first=first_asking, second=second_asking
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


def _asked_twice(first_asking: Asking) -> set[str]:
    """Items that were posted a second time already."""
    return {item_id for post in first_asking.posts_of_round if post.asking > 1 for item_id in post.items}


def _labelled(first_asking: Asking) -> frozenset[str]:
    return frozenset(item_id for item_id, tally in first_asking.tallies.items() if tally.status == "labelled")


def first_batch(evaluation: str, planned: PlannedRound, gold: Sequence[Item] = (), seed: int = 0) -> Batch:
    """Everything a round asks, the gold items mixed in among it in an order that depends on the seed. The
    same arguments give the same batch, whoever asks for it again."""
    items = _items(planned)
    if gold:
        by_id = {item.item_id: item for item in (*items, *gold)}
        order = shuffled(list(by_id), seed=seed, evaluation=evaluation, number=planned.number)
        items = [by_id[item_id] for item_id in order]
    return Batch(evaluation=evaluation, round=planned.number, items=items)


def second_batch(evaluation: str, planned: PlannedRound, items: Collection[str]) -> Batch:
    """The second asking of these items of a round, in the order of the plan."""
    batch_items = [item for item in _items(planned) if item.item_id in items]
    return Batch(evaluation=evaluation, round=planned.number, items=batch_items, asking=2)


def _items(planned: PlannedRound) -> list[Item]:
    return [Item(item_id=planned.item_id[t], shown=planned.shown[t] or {}) for t in planned.to_people()]


_log = logging.getLogger("assay.asking")


def repost_delay(opened: Opened) -> timedelta:
    """How old a post must be before items that did not arrive are posted again.

    Post: put a round's items on the desk, once.

    A post can succeed although its reply is lost, and may even take effect minutes later, so posting every
    item exactly once cannot be promised. What is promised is one label per item, and few copies:

    1. An attempt to post is recorded under a key of its own, `posts/0001.json`, before it is made. Only
       whoever creates the key makes the attempt.
    2. The reply may be lost (AmbiguousPost), or the creator of the key may crash. In both cases nobody
       repeats the attempt; everybody, its creator included, reads the desk instead.
    3. Items that are still not on the desk when the last attempt is older than `repost_after` are posted
       again, after one more read of the desk, by whoever creates the next key. So are those whose last
       attempt is dated in the future by more than `repost_after`: a clock was wrong, and the date says
       nothing.
    4. An item that arrived twice and is gone again was removed on purpose: it is not posted a third time,
       and is recorded as deleted. An item that disappeared once may be an accident, and is posted again.
    5. The two askings of a round are posted under the same rules. Their attempts are numbered in one
       sequence.
    """
    late = opened.spec.desk.posts_arrive_late
    return timedelta(seconds=Settings().repost_after) if late else timedelta(0)


def post_new(people: People, batch: Batch) -> None:
    """Post those items of a batch that no attempt has posted yet. The attempt is recorded in the ledger
    first, so of several processes that try at once only one posts; before the very first attempt the desk
    is prepared."""
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
    """Post the items again that should be on the desk and are not; whether there were any. Only once the last
    post is old enough for the desk to have taken it in."""
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


def collect(
    people: People, batch: Batch, rule: Rule, *, gold: Collection[str] = (), labelled: Collection[str] = ()
) -> Asking:
    """Read the desk in full, keep what was read, and count it.

    gold       gold items among the batch
    labelled   items of a second asking that the first one has labelled

    Collect: read what people said.

    1. Every read is a full read of the batch. Whether anybody answered is never taken from the desk's
       counters: those of Label Studio lag behind its answers, and stay behind for good after a lost update.
    2. Answers are copied into the ledger as soon as they are seen. Of an item that is on the desk, only
       what the desk says now counts. Of an item that is gone from the desk, the answers seen before still
       count.
    3. When everything that an attempt to post carried has been seen on the desk, `posts/0001.arrived.json`
       records it.
    4. A round that was posted more than once is read again when the next one closes: a late import may have
       made copies since, and copies nobody has answered are removed before they cost somebody's time.
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
    item_ids = [item.item_id for item in batch.items if item.item_id not in gold]
    return Asking(
        batch=batch, attempts=attempts, posts_of_round=posts, answers=answers, present=collected.present,
        tallies=settle(
            rule, item_ids, sorted(gold), answers, collected.present, elsewhere=later.union(labelled)
        ),
    )


def remove_late_copies(people: People, planned: PlannedRound, gold: Sequence[Item] = ()) -> None:
    """Remove copies from a closed round's batch that came late. Its labels stay as they are. A desk that
    cannot be reached is a warning in the log and no error."""
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
    last_post = of_asking[-1]
    place = people.desk.place() if isinstance(people.desk, HasPlace) else ""
    on_the_web = place.startswith(("http://", "https://"))    # a folder of this machine is no address
    mark_arrived(people.ledger, batch.round, last_post.attempt, place if on_the_web else "")
    return [replace(post, arrived=True) if post is last_post else post for post in posts]


def _of_items_gone(people: People, batch: Batch, collected: Collected) -> list[Annotation]:
    """Answers seen earlier about items of the batch that are no longer on the desk."""
    gone = {item.item_id for item in batch.items} - collected.present
    if not gone:
        return []
    answers = stored_answers(people.ledger, batch.round, gone)
    return [answer for answer in answers if answer.asking == batch.asking]
