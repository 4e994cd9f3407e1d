"""Wait: what a round that stays open waits for, and whom else to ask meanwhile."""

from collections.abc import Mapping

from assay.evalcore.annotators.adjudication import AnswerTally
from assay.flows.people.asked import AskedRound, Asking
from assay.flows.people.close import why_not_early
from assay.flows.people.context import People
from assay.flows.people.deadlines import RoundDeadline, deadline_of
from assay.flows.record.waiting import WaitingFor
from assay.tasks.desks.effects import request_more
from assay.tasks.desks.protocol import HasPlace
from assay.tasks.ledger.rounds.closing import read_closing


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
