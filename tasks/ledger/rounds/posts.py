"""The attempts to put a round's items on a desk: `posts/0001.json`, and `posts/0001.arrived.json` beside it.

The process that creates the key makes the attempt; all others read. The keys hold times, and are not
compared.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import uuid4

from assay.tasks.effects.calls import effect
from assay.tasks.ledger import codec, layout
from assay.tasks.ledger.owner import Ledger
from assay.tasks.ledger.record import get_record


@dataclass(frozen=True, slots=True, kw_only=True)
class Post:
    """One attempt."""

    attempt: int               # 1 for the first
    at: datetime
    items: tuple[str, ...]
    arrived: bool              # all of them were once seen on the desk
    asking: int = 1            # 2: the items were asked again


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """`posts/0001.json`"""

    attempt: int
    at: datetime
    items: tuple[str, ...]
    asking: int
    creator: str               # a random word


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrived:
    """`posts/0001.arrived.json`: that it is there says everything."""


def read_posts(ledger: Ledger, round: int) -> list[Post]:
    """The attempts to post a round, in order."""
    there = set(ledger.keys(layout.posts(ledger.name, round)))
    made = [get_record(ledger, key, Attempt) for key in there if layout.post.match(key)]
    return [
        Post(
            attempt=one.attempt, at=one.at, items=one.items, asking=one.asking,
            arrived=layout.arrived(ledger.name, round, one.attempt) in there,
        )
        for one in sorted(made, key=lambda one: one.attempt)
    ]


@effect("create-post")
def create_post(
    ledger: Ledger, round: int, attempt: int, items: Sequence[str], at: datetime, asking: int = 1
) -> bool:
    """Whether this process makes the attempt.

    A put that is repeated because its reply was lost finds its own bytes and is still the creator: they hold
    a random word.
    """
    ours = Attempt(attempt=attempt, at=at, items=tuple(items), asking=asking, creator=uuid4().hex)
    blob = codec.encode(ours)
    return ledger.put(layout.post(ledger.name, round, attempt), blob) == blob


@effect("mark-arrived")
def mark_arrived(ledger: Ledger, round: int, attempt: int) -> None:
    """Write down that everything this attempt carried was seen on the desk."""
    ledger.put(layout.arrived(ledger.name, round, attempt), codec.encode(Arrived()))


def removed_on_purpose(posts: Sequence[Post]) -> set[str]:
    """Items that arrived twice: one that is gone now was removed twice, so somebody meant it."""
    seen: set[str] = set()
    twice: set[str] = set()
    for post in posts:
        if post.arrived:
            twice |= seen.intersection(post.items)
            seen.update(post.items)
    return twice
