"""Close a round or go on waiting: whether it is closed, what its items came to, and what it waits for else.

A round is closed when nothing of it is open; or with what is there, at its deadline or when somebody says so.
A decision to close it early is recorded in `closing.json` before the labels are, so that after a crash the
next process closes the round too. What has no answer then is recorded as unanswered, and the others stand for
it (`evalcore.evaluation.nonresponse`). Where nothing could stand for it the round goes on waiting.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from assay.evalcore.annotators.adjudication import AnswerTally
from assay.evalcore.evaluation.nonresponse import NothingToStandFor, refuse_gaps
from assay.flows.people.asked import AskedRound, Asking, People
from assay.tasks.desks.desk import HasPlace, request_more
from assay.tasks.ledger.asked_round import Post
from assay.tasks.ledger.closed_round import Decided, answered, decide_to_close, read_closing
from assay.tasks.ledger.life import read_begun, read_closed
from assay.tasks.report.standing import WaitingFor
from assay.tasks.spec.evaluation import Spec


def close(people: People, asked: AskedRound, *, requested: bool = False) -> list[Decided] | None:
    """The labels to close a round with; None if it has to wait.

    requested: somebody says that the round is to be closed with what is there. NothingToStandFor if that
    cannot be.
    """
    early = read_closing(people.ledger, asked.planned.number) is not None
    complete = None if asked.is_open else asked.labels()
    if complete is not None and not any(one.label is None and one.reason is None for one in complete):
        # where it was decided to close it early before the last answers came in, that rule holds
        return asked.labels(early=True) if early else complete
    if requested and not early:
        _close_on_request(people, asked)
        early = True
    obstacle = why_not_early(people, asked)
    if not early and obstacle is None:
        early = _close_at_deadline(people, asked)
    return asked.labels(early=True) if early and obstacle is None else None


def why_not_early(people: People, asked: AskedRound) -> NothingToStandFor | None:
    """Why the round cannot be closed with what is there, or None if it can."""
    try:
        refuse_gaps(people.opened.question.cells, asked.planned.plan, answered(asked.labels(early=True)))
    except NothingToStandFor as error:
        return error
    return None


def _close_on_request(people: People, asked: AskedRound) -> None:
    obstacle = why_not_early(people, asked)
    if obstacle is not None:
        raise obstacle
    tallies = asked.tallies
    # gold, and labels bought before, are no answers about the pool
    if not any(tallies[asked.planned.item_id[t]].answers for t in asked.planned.to_people()):
        raise NothingToStandFor(
            f"round {asked.planned.number} cannot be closed: nobody has answered anything of it yet"
        )
    decide_to_close(people.ledger, asked.planned.number, "request")


def _close_at_deadline(people: People, asked: AskedRound) -> bool:
    spec, posts, number = people.opened.spec, asked.first.posts, asked.planned.number
    deadline = deadline_of(spec, posts, people.now())
    if deadline is None or not deadline.closes:
        return False
    # a post dated by a clock that was behind would end the round at once
    before = read_closed(people.ledger, number - 1) if number > 1 else read_begun(people.ledger)
    deadline = deadline_of(spec, posts, people.now(), before)
    if deadline is None or not deadline.closes:
        return False
    decide_to_close(people.ledger, number, "deadline")
    return True


# Deadlines: how long a round waits for people, and what happens then.
#
# The clock of a round starts with the first attempt to post it, `posts/0001.json`; if that process's clock
# was ahead, the earliest date of an attempt counts. So everybody who reads the ledger knows the same
# deadline. The time of now comes from the caller: nothing here reads a clock.

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


# Wait: what a round that stays open waits for, and whom else to ask meanwhile.

def wait(people: People, asked: AskedRound) -> WaitingFor:
    """What an open round waits for. Ties, and answers that are no class, go to one more person."""
    in_first = asked.open_in_first
    asking, still_open = asked.first, in_first
    if asked.second is not None and not in_first:
        asking, still_open = asked.second, asked.open_in_second
    _request_more(people, asking, still_open)
    deadline = deadline_of(people.opened.spec, asked.first.posts, people.now())
    return WaitingFor(
        round=asked.planned.number,
        items=len(asking.batch.items),
        desk=people.opened.spec.desk.kind,
        on_desk=len(asking.batch.items) - len(asking.absent),
        answered=sum(1 for tally in asking.tallies.values() if tally.votes or tally.skips),
        tied=sum(1 for tally in still_open.values() if tally.status == "waiting" and len(tally.votes) > 1),
        invalid=sum(1 for tally in still_open.values() if tally.status == "invalid"),
        not_on_desk=sum(1 for tally in still_open.values() if tally.status == "absent"),
        asked_again=len(still_open) if asking.batch.asking > 1 else 0,
        deadline=deadline.at if deadline else None,
        overdue=bool(deadline and deadline.overdue),
        place=people.desk.place() if isinstance(people.desk, HasPlace) else "",
        cannot_close=_why_not_closed(people, asked, deadline),
    )


def _request_more(people: People, asking: Asking, still_open: Mapping[str, AnswerTally]) -> None:
    wanted: dict[int, list[str]] = {}
    for item_id, tally in still_open.items():
        needed = tally.people + (1 if tally.status == "invalid" else 0)
        if tally.status != "absent" and (needed > people.annotators or tally.skips):
            wanted.setdefault(needed, []).append(item_id)
    for needed, item_ids in sorted(wanted.items()):
        request_more(people.desk, asking.batch, item_ids, needed)


def _why_not_closed(people: People, asked: AskedRound, deadline: RoundDeadline | None) -> str | None:
    """Why a round waits that is to be closed early: by its deadline, or because somebody decided it."""
    obstacle = why_not_early(people, asked)
    if obstacle is None:
        return None
    if not (deadline and deadline.closes) and read_closing(people.ledger, asked.planned.number) is None:
        return None
    return str(obstacle)
