"""Deadlines: how long a round waits for people, and what happens then.

The clock of a round starts with the first attempt to post it, `posts/0001.json`; if that process's clock was
ahead, the earliest date of an attempt counts. So everybody who reads the ledger knows the same deadline. The
time of now comes from the caller: nothing here reads a clock.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from assay.tasks.ledger.rounds.posts import Post
from assay.tasks.spec.evaluation import Spec


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundDeadline:
    """The deadline of one round, now."""

    at: datetime
    overdue: bool    # it has passed
    closes: bool     # it has passed, and the round is to be closed with what is answered


def deadline_of(
    spec: Spec, posts: Sequence[Post], now: datetime, since: datetime | None = None
) -> RoundDeadline | None:
    """The deadline of a round that was posted like this; None if it has none, or was not posted yet.

    since    the round was not posted before this, whatever its posts are dated; None: unknown
    """
    if spec.deadline is None or not posts:
        return None
    posted = min(post.at for post in posts)
    at = (posted if since is None else max(posted, since)) + timedelta(hours=spec.deadline.round_hours)
    overdue = now >= at
    return RoundDeadline(at=at, overdue=overdue, closes=overdue and spec.deadline.then == "close")
