"""The attempts to put a round's items on a desk: `posts/0001.json`, and `posts/0001.arrived.json` beside it.

Whoever creates the key makes the attempt; everybody else reads. The keys hold times, and are not compared.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import uuid4

from assay.tasks.effects.calls import effect
from assay.tasks.ledger import codec, layout
from assay.tasks.ledger.owner import Ledger

_POST = re.compile(r"\d+\.json")


@dataclass(frozen=True, slots=True, kw_only=True)
class Post:
    """One attempt."""

    attempt: int               # 1 for the first
    at: datetime
    items: tuple[str, ...]
    arrived: bool              # all of them were once seen on the desk
    asking: int = 1            # 2: the items were asked again


def read_posts(ledger: Ledger, round: int) -> list[Post]:
    """The attempts to post a round, in order."""
    prefix = layout.posts(ledger.name, round)
    names = {key.removeprefix(prefix) for key in ledger.keys(prefix)}
    posts = []
    for name in sorted(filter(_POST.fullmatch, names), key=lambda name: int(name.removesuffix(".json"))):
        data = codec.from_json(ledger.get(prefix + name), prefix + name)
        posts.append(
            Post(
                attempt=data["attempt"],
                at=datetime.fromisoformat(data["at"]),
                items=tuple(data["items"]),
                arrived=name.replace(".json", ".arrived.json") in names,
                asking=data.get("asking", 1),
            )
        )
    return posts


@effect("create-post")
def create_post(
    ledger: Ledger, round: int, attempt: int, items: Sequence[str], at: datetime,
    asking: int = 1,
) -> bool:
    """Whether the attempt is ours to make.

    A put that is repeated because its reply was lost finds its own bytes and is still the creator: they hold
    a word nobody else has.
    """
    record = {"attempt": attempt, "at": at.isoformat(), "creator": uuid4().hex, "items": list(items)}
    blob = codec.to_json(record | ({"asking": asking} if asking > 1 else {}))
    return ledger.put(layout.post(ledger.name, round, attempt), blob) == blob


@effect("mark-arrived")
def mark_arrived(ledger: Ledger, round: int, attempt: int) -> None:
    """Write down that everything this attempt carried was seen on the desk."""
    ledger.put(layout.arrived(ledger.name, round, attempt), codec.to_json({}))


def removed_on_purpose(posts: Sequence[Post]) -> set[str]:
    """Items that arrived twice: one that is gone now was removed twice, so somebody meant it."""
    seen: set[str] = set()
    twice: set[str] = set()
    for post in posts:
        if post.arrived:
            twice |= seen.intersection(post.items)
            seen.update(post.items)
    return twice
