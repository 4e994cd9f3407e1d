"""Where an evaluation stands by its ledger: what it reported, in order, its estimates round by round, and
what counts now: when a verdict may have changed.

The closing of a round is a moment, with the estimates it was closed with. A revision is one, with the
estimates that were reissued. A round that closes after a revision is reported with the revised labels from
the start, so the first revision that covers it takes its place.

All of it is read from the ledger, and new moments come after the old ones. So every process that reads them
finds the same, after a crash and at the same time.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf

from assay.evalcore.evaluation.best import SystemRanks
from assay.evalcore.evaluation.round_estimate import RoundEstimate
from assay.evalcore.evaluation.stopping import Verdict, verdict
from assay.flows.record.opened import Opened
from assay.tasks.effects import retried
from assay.tasks.ledger.asked_round import read_plan
from assay.tasks.ledger.checkpoints import last_checkpoint
from assay.tasks.ledger.closed_round import (
    Revision,
    last_revision,
    read_estimate,
    read_labels,
    read_revised_estimate,
    read_revisions,
)
from assay.tasks.ledger.life import Ending, Extension, read_ending
from assay.tasks.ledger.record import Ledger, understood
from assay.tasks.report.standing import ExtensionRow, Moved, Standing, StateName, WaitingFor


@dataclass(frozen=True, slots=True, kw_only=True)
class Reissued:
    """The newest revision as far as a standing needs it: its number, its reissued estimates, and how many
    items have another label than their round was closed with."""

    number: int
    known: RoundEstimate
    items: int             # whose labels are not those of the closing


def estimates_moved(before: RoundEstimate | None, after: RoundEstimate) -> tuple[Moved, ...]:
    """How the estimates of the whole pool moved: from the labels of the closing to the revised labels. None
    where the two are of different rounds."""
    if before is None or before.round != after.round:
        return ()
    return tuple(
        Moved(
            measure=b.measure, of=b.of, value_before=b.value,
            value=a.value, lower_before=b.lower, lower=a.lower, upper_before=b.upper, upper=a.upper,
        )
        for b, a in zip(before.estimates, after.estimates, strict=True)
    )


def reissued_at(ledger: Ledger, look: RoundEstimate | None) -> Reissued | None:
    """The newest revision, if its estimates are those after the same round as `look`; else None. It carries
    the number of items whose label was revised."""
    revision = last_revision(ledger)
    if revision is None or look is None or revision.rounds != look.round:
        return None
    estimate = read_revised_estimate(ledger, revision.number)
    return None if estimate is None else Reissued(
        number=revision.number, known=estimate, items=len(_differing(ledger, revision))
    )


def _differing(ledger: Ledger, revision: Revision) -> list[str]:
    """Items whose label in a revision is not the one their round was closed with."""
    closed: dict[int, dict[str, float | str]] = {}
    for item in revision.items:
        if item.round not in closed:
            decided = read_labels(ledger, item.round) or []
            closed[item.round] = {row.item_id: row.came_to for row in decided}
    return [
        item.decided.item_id for item in revision.items
        if closed[item.round].get(item.decided.item_id) != item.decided.came_to
    ]


Reissue = tuple[Revision, RoundEstimate]


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """One moment at which estimates were reported: the closing of a round, or a revision that reissued them.
    It knows whether the evaluation was finished then."""

    key: str                  # `round-0003`, or `revision-0002` when the round had been reported before
    known: RoundEstimate
    revision: int             # whose estimates they are; 0: as the round was closed
    final: bool               # of an evaluation that was finished then

    @property
    def when(self) -> str:
        """The round, and the revision if there is one, in words."""
        return f"round {self.known.round}" + (f", revision {self.revision}" if self.revision else "")

    @property
    def reissued(self) -> Reissued | None:
        """The revision whose estimates this moment reports, in the form a standing takes; None where they are
        those of the closing. It names no items, because they are counted elsewhere."""
        return Reissued(number=self.revision, known=self.known, items=0) if self.revision else None


def moments(
    looks: Sequence[RoundEstimate], revised: Sequence[Reissue], finished: bool,
    extensions: Sequence[Extension] = (),
) -> list[Moment]:
    """All moments so far.

    looks        the estimates the rounds were closed with
    revised      the revisions, in order
    finished     the evaluation has stopped, and was not extended since
    extensions   of it, in order

    The last moment before a stop is final, and so are all after it until it was extended.
    """
    # how many revisions there were when it was extended, by the rounds closed by then
    stopped: dict[int, float] = {extension.rounds: extension.revisions for extension in extensions}
    if finished and looks:
        stopped[looks[-1].round] = inf
    timeline: list[Moment] = []
    for look in looks:
        of_round = list(_of_round(look, revised))
        until = stopped.get(look.round, -1)
        stayed = [moment.revision <= until or after for moment, after in of_round]
        start = max((i for i, (_, after) in enumerate(of_round) if stayed[i] and not after), default=0)
        timeline += [
            replace(moment, final=look.round in stopped and stayed[i] and i >= start)
            for i, (moment, _) in enumerate(of_round)
        ]
    return timeline


def _of_round(
    look: RoundEstimate, revised: Sequence[Reissue]
) -> Iterator[tuple[Moment, bool]]:
    """The moments of one round, each with whether it came after the evaluation had stopped."""
    pairs = [(revision, estimate) for revision, estimate in revised if revision.rounds == look.round]
    in_its_place = bool(pairs) and any(revision.rounds < look.round for revision, _ in revised)
    key = f"round-{look.round:04d}"
    if not in_its_place:
        yield Moment(key=key, known=look, revision=0, final=False), False
    for revision, estimate in pairs:
        name = key if in_its_place and revision is pairs[0][0] else f"revision-{revision.number:04d}"
        yield Moment(key=name, known=estimate, revision=revision.number, final=False), revision.finished


@retried
def read_reissues(ledger: Ledger) -> list[Reissue]:
    """The complete revisions with their estimates; hardly any evaluation has one."""
    if last_revision(ledger) is None:
        return []
    pairs = [
        (revision, read_revised_estimate(ledger, revision.number))
        for revision in read_revisions(ledger)
    ]
    return [(revision, estimate) for revision, estimate in pairs if estimate is not None]


def verdict_on(opened: Opened, look: RoundEstimate | None) -> Verdict | None:
    """The verdict on the first measure so far; None without a limit, or before the first round. By the
    interval that the spec trusts. The limit has a least or a largest value, or both."""
    limit = opened.spec.limit
    if limit is None or look is None:
        return None
    return verdict(look.estimates[0], limit.min, limit.max)


def standing_of(
    opened: Opened,
    state: StateName,
    look: RoundEstimate | None,
    *,
    waiting_for: WaitingFor | None = None,
    ending: Ending | None = None,
    reissued: Reissued | None = None,
) -> Standing:
    """Put a standing together; `reissued`: the newest revision, whose estimates are the ones that count."""
    as_closed, look = look, reissued.known if reissued else look
    limit = opened.spec.limit
    return Standing(
        evaluation=opened.name,
        state=state,
        waiting_for=waiting_for,
        ending=ending,
        verdict=ending.verdict if ending and reissued is None else verdict_on(opened, look),
        rounds=look.round if look else 0,
        labels=look.labels if look else 0,
        undecided=look.undecided if look else 0,
        known=look,
        budget=opened.rule.budget,
        positive=opened.spec.labels.positive_name or "",
        interval_note=opened.interval_note,
        method=opened.method.name,
        why_method=opened.why_method,
        rests_on=opened.rests_on,
        revision=reissued.number if reissued else 0,
        moved=estimates_moved(as_closed, reissued.known) if reissued else (),
        revised_items=reissued.items if reissued else 0,
        outcomes=None if opened.spec.outcomes is None else opened.n_outcomes,
        extensions=extension_rows(opened),
        confidence_asked=opened.spec.target.confidence,
        known_before=_known_before(opened, look.round if look else 0),
        ownership=opened.spec.ownership,
        ranks=_ranks(opened, look),
        question=opened.spec.question or "",
        limit_min=limit.min if limit else None,
        limit_max=limit.max if limit else None,
    )


def _ranks(opened: Opened, look: RoundEstimate | None) -> SystemRanks | None:
    """Of systems that are compared, or whose rows the pool has, after a round."""
    pool = opened.spec.pool
    if look is None or len(pool.system_names) < 2:
        return None
    stack = opened.question.stack
    if stack is None or not stack.measures[0].prefers:
        return None
    from assay.evalcore.evaluation.ranks import Contest, system_ranks  # nothing loads where one is judged

    margin = opened.spec.target.best_of if pool.margin is None else pool.margin
    return system_ranks(look.rows, Contest(
        is_error=stack.measures[0].is_error, margin=margin, prices=pool.prices,
    ))


def extension_rows(opened: Opened) -> tuple[ExtensionRow, ...]:
    """The extensions of an evaluation as a report shows them, in order: the budget before and after, the
    confidence from then on, whether it was corrected for looking again, and who asked for it and why."""
    return tuple(
        ExtensionRow(
            extension=e.number, rounds=e.rounds, labels_before=e.labels_before, labels=e.labels,
            confidence=opened.as_of(e.rounds + 1).confidence,
            corrected=not opened.method.holds_at_every_look, beyond_target=e.beyond_target,
            by=e.by, reason=e.reason, at=e.at.isoformat(),
        )
        for e in opened.extensions
    )


def _known_before(opened: Opened, rounds: int) -> int:
    if not (opened.inherited or opened.outcomes or opened.n_held):
        return 0
    decided = (read_labels(opened.ledger, number) or [] for number in range(1, rounds + 1))
    return sum(row.reason == "reused" for rows in decided for row in rows)


def current_standing(opened: Opened) -> Standing:
    """Where an evaluation stands by its ledger alone: no desk is asked, nothing is written.

    Raises DamagedRecord where records that can be read do not fit each other.
    """
    with understood(opened.name):
        return _standing_now(opened)


def _standing_now(opened: Opened) -> Standing:
    ending = read_ending(opened.ledger, len(opened.extensions))
    look = last_estimate(opened.ledger, ending.rounds if ending else last_checkpoint(opened.ledger))
    reissued = reissued_at(opened.ledger, look)
    if ending is not None:
        return standing_of(opened, "finished", look, ending=ending, reissued=reissued)
    number = look.round + 1 if look else 1
    planned = read_plan(opened.ledger, number)
    if planned is None or read_labels(opened.ledger, number) is not None:
        return standing_of(opened, "open", look, reissued=reissued)
    waiting_for = WaitingFor(round=number, items=len(planned.to_people()), desk=opened.spec.desk.kind)
    return standing_of(opened, "waiting", look, waiting_for=waiting_for, reissued=reissued)


def last_estimate(ledger: Ledger, closed: int) -> RoundEstimate | None:
    """The estimates after the last closed round; `closed`: rounds that are known to be closed."""
    look = read_estimate(ledger, closed) if closed else None
    number = look.round if look else 0
    while (later := read_estimate(ledger, number + 1)) is not None:
        look, number = later, number + 1
    return look


def read_history(ledger: Ledger) -> list[RoundEstimate]:
    """The estimates stored after each closed round, in order, up to the first round that has none. They are
    those of the closings; revisions are not applied."""
    history: list[RoundEstimate] = []
    while (look := read_estimate(ledger, len(history) + 1)) is not None:
        history.append(look)
    return history
