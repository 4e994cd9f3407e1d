"""Deadlines: how long a round waits for people, and what happens then.

The clock of a round starts with the first attempt to post it (`posts/0001.json` says when), so everybody who
reads the ledger knows the same deadline. The time of now comes from the caller: nothing here reads a clock.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from assay.tasks.ledger.rounds.posts import Post
from assay.tasks.spec.evaluation import Spec


@dataclass(frozen=True, slots=True, kw_only=True)
class Deadline:
    """How long to wait, and for what."""

    after: timedelta | None = None               # None: for ever
    then: Literal["close", "wait"] = "close"     # what happens when it has passed
    ask_again: bool = True                       # whether to ask once more what everybody skipped

    def at(self, posts: Sequence[Post]) -> datetime | None:
        """When it passes; None if there is none, or nothing was posted yet."""
        return posts[0].at + self.after if posts and self.after is not None else None

    def passed(self, posts: Sequence[Post], now: datetime) -> bool:
        """Whether it has."""
        at = self.at(posts)
        return at is not None and now >= at

    def told(self, posts: Sequence[Post], now: datetime) -> dict[str, Any]:
        """What people who wait are told of it."""
        at = self.at(posts)
        if at is None:
            return {}
        return {"deadline": at.isoformat(timespec="seconds")} | ({"overdue": True} if now >= at else {})


def deadline_of(spec: Spec) -> Deadline:
    """As the spec has it."""
    asked = spec.skipped != "set-aside"
    if spec.deadline is None:
        return Deadline(ask_again=asked)
    hours = timedelta(hours=spec.deadline.round_hours)
    return Deadline(after=hours, then=spec.deadline.then, ask_again=asked)
