"""What people were asked in a round and what they have said; and by these values, whether the round is
closed, what its items came to, and what it waits for else.

The rows of labels.parquet are made here, one for each item a round asked, in the order of the plan. Closing a
round and verifying it make them by the same function from the same values, so `verify` only has to compare.

A round is closed when nothing of it is open; or with what is there, at its deadline or when somebody says so.
A decision to close it early is recorded in `closing.json` before the labels are, so that after a crash the
next process closes the round too. What has no answer then is recorded as unanswered, and the others stand for
it (`evalcore.evaluation.nonresponse`). Where nothing could stand for it the round goes on waiting.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from assay.evalcore.annotators.adjudication import Annotation, AnswerTally
from assay.evalcore.annotators.rules import SETTLED, Decision, Rule, decide, deciding_tally
from assay.evalcore.evaluation.nonresponse import NothingToStandFor, refuse_gaps
from assay.flows.record.opened import Opened
from assay.tasks.desks.desk import Batch, Desk, HasPlace, request_more
from assay.tasks.ledger.asked_round import PlannedRound, Post, digests_by_item, removed_on_purpose
from assay.tasks.ledger.closed_round import Decided, answered, decide_to_close, read_closing, reused_row
from assay.tasks.ledger.life import read_begun, read_closed
from assay.tasks.ledger.record import Ledger
from assay.tasks.report.standing import WaitingFor
from assay.tasks.spec.evaluation import Spec


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class People:
    """The people who answer for one evaluation: the desk they work at, and the clock."""

    opened: Opened
    desk: Desk
    now: Callable[[], datetime]
    repost_after: timedelta    # see flows.people.ask

    @property
    def ledger(self) -> Ledger:
        """The ledger of the evaluation that these people answer for."""
        return self.opened.ledger

    @property
    def annotators(self) -> int:
        """How many people are asked about each item, as the spec's desk says."""
        return self.opened.spec.desk.annotators_per_item

    @property
    def asks_twice(self) -> bool:
        """Whether items that everybody skipped are asked a second time. They are, unless the spec says
        `skipped: set-aside`. Setting them aside leaves them without a label at once."""
        return self.opened.spec.skipped != "set-aside"


def label_rows(
    planned: PlannedRound, decisions: Mapping[str, Decision], answers: Sequence[Annotation],
    asked_twice: Collection[str],
) -> list[Decided]:
    """What every item of a round came to.

    decisions     of the items people were asked about; a label bought by an earlier evaluation needs none
    answers       the answers they rest on
    asked_twice   items that were asked twice
    """
    digests = digests_by_item(answers)
    return [
        reused_row(planned, t) if t in planned.inherited else label_row(
            planned, t, decisions[planned.item_id[t]], digests.get(planned.item_id[t], ()),
            asked_twice=planned.item_id[t] in asked_twice,
        )
        for t in planned.asked()
    ]


def label_row(
    planned: PlannedRound, t: int, decision: Decision, annotations: tuple[str, ...], *, asked_twice: bool
) -> Decided:
    """What the item of draw t came to; annotations: names of the answers about it."""
    return Decided(
        item_id=planned.item_id[t], cell=int(planned.plan.cell[t]), rank=int(planned.plan.rank[t]),
        label=decision.label, reason=decision.reason, annotations=annotations,
        askings=2 if asked_twice else 1, share=decision.share,
    )


def gold_answers(gold: Collection[str], answers: Sequence[Annotation]) -> dict[str, tuple[str, ...]]:
    """Gold item -> names of the answers about it, where there are any."""
    digests = digests_by_item(answers)
    return {item_id: digests[item_id] for item_id in sorted(gold) if item_id in digests}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Asking:
    """The first or the second asking of a round, as the desk and the ledger had it when they were read."""

    batch: Batch
    attempts: int                        # to post anything of the round, counted before the desk was read
    posts_of_round: Sequence[Post]       # the attempts, read after the desk
    answers: Sequence[Annotation]        # those that count
    tallies: Mapping[str, AnswerTally]         # of its items, gold included
    present: frozenset[str]              # items on the desk

    @property
    def posts(self) -> list[Post]:
        """The attempts to post that belong to this asking, in order, without those of the round's other
        asking. Each says when it was made, and which items it took."""
        return [post for post in self.posts_of_round if post.asking == self.batch.asking]

    @property
    def absent(self) -> set[str]:
        """Items that are not on the desk and that no answer settles."""
        return {item_id for item_id, tally in self.tallies.items() if tally.status == "absent"}

    @property
    def removed(self) -> set[str]:
        """The absent items that were removed on purpose: they had arrived on the desk twice, so a person took
        them away twice. They are not posted again."""
        return self.absent & removed_on_purpose(self.posts)

    @property
    def unsettled(self) -> dict[str, AnswerTally]:
        """The items that people still have to answer, each with the tally of its answers so far: neither
        labelled nor skipped by everybody, and not removed on purpose."""
        removed = self.removed
        return {
            item_id: tally for item_id, tally in self.tallies.items()
            if tally.status not in SETTLED and item_id not in removed
        }


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AskedRound:
    """A planned round as it stands with the people asked about it: its plan, the rule that decides labels,
    its first asking, and the second one of items that everybody skipped, if there is one."""

    planned: PlannedRound
    rule: Rule
    asks_twice: bool                     # what everybody skipped is asked a second time
    first: Asking
    second: Asking | None = None

    @property
    def answers(self) -> list[Annotation]:
        """The answers that count, to the first and then to the second asking of the round."""
        return [*self.first.answers, *(self.second.answers if self.second else ())]

    @property
    def present(self) -> frozenset[str]:
        """The ids of items that are on the desk now, from either asking."""
        return self.first.present | (self.second.present if self.second else frozenset())

    @property
    def tallies(self) -> dict[str, AnswerTally]:
        """For each item of the round, gold included, the tally that decides its label: that of the first
        asking where it gave a label or the item was not asked twice, else that of the second."""
        later = self.second.tallies if self.second else {}
        return {item: deciding_tally(tally, later.get(item)) for item, tally in self.first.tallies.items()}

    @property
    def open_in_first(self) -> dict[str, AnswerTally]:
        """The items that still wait for answers to the first asking, each with its tally; an item that was
        asked a second time waits there alone."""
        return self._open_in(self.first)

    @property
    def open_in_second(self) -> dict[str, AnswerTally]:
        """The items that still wait for answers to the second asking, each with its tally; none where there
        was no second asking. Its keys are the ids of the items."""
        return self._open_in(self.second) if self.second else {}

    @property
    def gold_answers(self) -> dict[str, tuple[str, ...]]:
        """For each gold item that was answered, the names of the answers about it, in order of id. Gold is
        mixed into the first asking alone."""
        return gold_answers(self.planned.gold, self.first.answers)

    @property
    def is_open(self) -> bool:
        """Whether people still have to answer an item of either asking, gold included."""
        return bool(self.open_in_first or self.open_in_second)

    def labels(self, *, early: bool = False) -> list[Decided]:
        """What the items come to; early: with the answers there are, instead of those still awaited."""
        answers = self.answers
        decisions = decide(
            [self.planned.item_id[t] for t in self.planned.to_people()], answers, self.rule,
            removed=self._removed,
            asks_twice=self.asks_twice, early=early,
        )
        return label_rows(self.planned, decisions, answers, self.second.tallies if self.second else ())

    @property
    def _removed(self) -> set[str]:
        """Items removed on purpose from the last asking they are in."""
        if self.second is None:
            return self.first.removed
        return self.first.removed - self.second.tallies.keys() | self.second.removed

    def _open_in(self, asking: Asking) -> dict[str, AnswerTally]:
        decides = self.tallies
        return {item: tally for item, tally in asking.unsettled.items() if decides[item] is tally}


def close(people: People, round_: AskedRound, *, requested: bool = False) -> list[Decided] | None:
    """The labels to close a round with; None if it has to wait.

    requested: somebody says that the round is to be closed with what is there. NothingToStandFor if that
    cannot be.
    """
    early = read_closing(people.ledger, round_.planned.number) is not None
    complete = None if round_.is_open else round_.labels()
    if complete is not None and not any(row.label is None and row.reason is None for row in complete):
        # where it was decided to close it early before the last answers came in, that rule holds
        return round_.labels(early=True) if early else complete
    if requested and not early:
        _close_on_request(people, round_)
        early = True
    obstacle = why_not_early(people, round_)
    if not early and obstacle is None:
        early = _close_at_deadline(people, round_)
    return round_.labels(early=True) if early and obstacle is None else None


def why_not_early(people: People, round_: AskedRound) -> NothingToStandFor | None:
    """Why the round cannot be closed with what is there, or None if it can."""
    try:
        refuse_gaps(people.opened.question.cells, round_.planned.plan, answered(round_.labels(early=True)))
    except NothingToStandFor as error:
        return error
    return None


def _close_on_request(people: People, round_: AskedRound) -> None:
    obstacle = why_not_early(people, round_)
    if obstacle is not None:
        raise obstacle
    tallies = round_.tallies
    # gold, and labels bought before, are no answers about the pool
    if not any(tallies[round_.planned.item_id[t]].answers for t in round_.planned.to_people()):
        raise NothingToStandFor(
            f"round {round_.planned.number} cannot be closed: nobody has answered anything of it yet"
        )
    decide_to_close(people.ledger, round_.planned.number, "request")


def _close_at_deadline(people: People, round_: AskedRound) -> bool:
    spec, posts, number = people.opened.spec, round_.first.posts, round_.planned.number
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


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundDeadline:
    """The deadline of one round at one moment: when it is, whether it has passed, and whether the round is
    to be closed with what is answered by now.

    Deadlines: how long a round waits for people, and what happens then.

    The clock of a round starts with the first attempt to post it, `posts/0001.json`; if that process's clock
    was ahead, the earliest date of an attempt counts. So everybody who reads the ledger knows the same
    deadline. The time of now comes from the caller: nothing here reads a clock.
    """

    at: datetime
    overdue: bool    # it has passed
    closes: bool     # it has passed, and the round is to be closed with what is answered


def deadline_of(
    spec: Spec, posts: Sequence[Post], moment: datetime, since: datetime | None = None
) -> RoundDeadline | None:
    """The deadline of a round that was posted like this; None if it has none, or was not posted yet.

    since    the round was not posted before this, whatever its posts are dated; None: unknown
    """
    if spec.deadline is None or not posts:
        return None
    posted = min(post.at for post in posts)
    at = (posted if since is None else max(posted, since)) + timedelta(hours=spec.deadline.round_hours)
    overdue = moment >= at
    return RoundDeadline(at=at, overdue=overdue, closes=overdue and spec.deadline.then == "close")


def wait(people: People, round_: AskedRound) -> WaitingFor:
    """What an open round waits for. Ties, and answers that are no class, go to one more person. Those people
    are asked for on the desk here; nothing else is changed, and what keeps the round from being closed is
    said."""
    in_first = round_.open_in_first
    asking, still_open = round_.first, in_first
    if round_.second is not None and not in_first:
        asking, still_open = round_.second, round_.open_in_second
    _request_more(people, asking, still_open)
    deadline = deadline_of(people.opened.spec, round_.first.posts, people.now())
    return WaitingFor(
        round=round_.planned.number,
        items=len(asking.batch.items),
        desk=people.opened.spec.desk.kind,
        on_desk=len(asking.batch.items) - len(asking.absent),
        answered=len(asking.tallies) - len(still_open),
        waiting_for_person=_further_people(still_open, people.annotators),
        tied=sum(1 for tally in still_open.values() if _is_tied(tally, people.annotators)),
        invalid=sum(1 for tally in still_open.values() if tally.status == "invalid"),
        not_on_desk=sum(1 for tally in still_open.values() if tally.status == "absent"),
        asked_again=len(still_open) if asking.batch.asking > 1 else 0,
        deadline=deadline.at if deadline else None,
        overdue=bool(deadline and deadline.overdue),
        place=people.desk.place() if isinstance(people.desk, HasPlace) else "",
        cannot_close=_why_not_closed(people, round_, deadline),
    )


def _is_tied(tally: AnswerTally, annotators: int) -> bool:
    """Whether everybody who was asked about an item has answered, and one more person decides."""
    all_answered = sum(tally.votes.values()) >= annotators
    return tally.status == "waiting" and len(tally.votes) > 1 and all_answered


def _further_people(still_open: Mapping[str, AnswerTally], annotators: int) -> dict[str, int]:
    """Items that somebody answered and that wait for more people, by the person that they wait for."""
    people = Counter(
        str(tally.answers + 1) for tally in still_open.values()
        if tally.status == "waiting" and tally.answers and not _is_tied(tally, annotators)
    )
    return dict(sorted(people.items()))


def _request_more(people: People, asking: Asking, still_open: Mapping[str, AnswerTally]) -> None:
    requests: dict[int, list[str]] = {}
    for item_id, tally in still_open.items():
        needed = tally.people + (1 if tally.status == "invalid" else 0)
        if tally.status != "absent" and (needed > people.annotators or tally.skips):
            requests.setdefault(needed, []).append(item_id)
    for needed, item_ids in sorted(requests.items()):
        request_more(people.desk, asking.batch, item_ids, needed)


def _why_not_closed(people: People, round_: AskedRound, deadline: RoundDeadline | None) -> str | None:
    """Why a round waits that is to be closed early: by its deadline, or because somebody decided it."""
    obstacle = why_not_early(people, round_)
    if obstacle is None:
        return None
    if not (deadline and deadline.closes) and read_closing(people.ledger, round_.planned.number) is None:
        return None
    return str(obstacle)
