"""Close: decide whether a round is closed, and what its items came to.

A round is closed when nothing of it is open; or with what is there, at its deadline or when somebody says so.
A decision to close it early is recorded in `closing.json` before the labels are, so that after a crash the
next process closes the round too. What has no answer then is recorded as unanswered, and the others stand for
it (`evalcore.evaluation.nonresponse`). Where nothing could stand for it the round goes on waiting.
"""

from assay.evalcore.evaluation.nonresponse import NothingToStandFor, refuse_gaps
from assay.flows.people.asked import AskedRound
from assay.flows.people.context import People
from assay.flows.people.deadlines import deadline_of
from assay.tasks.ledger.rounds.closing import decide_to_close, read_closing
from assay.tasks.ledger.rounds.labels import Decided, answered
from assay.tasks.ledger.times import read_begun, read_closed


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
