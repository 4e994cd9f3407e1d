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
from assay.evalcore.evaluation.stopping import Verdict, verdict
from assay.evalcore.measures.stack import Stack
from assay.flows.record.opened import Opened
from assay.tasks.effects import retried
from assay.tasks.ledger.asked_round import read_plan
from assay.tasks.ledger.checkpoints import last_checkpoint
from assay.tasks.ledger.closed_round import (
    Revision,
    RoundEstimate,
    last_revision,
    read_estimate,
    read_labels,
    read_revised_estimate,
    read_revisions,
)
from assay.tasks.ledger.life import Ending, Extension, read_ending
from assay.tasks.ledger.record import Ledger, understood
from assay.tasks.report.standing import ExtensionRow, Moved, Standing, StateName, WaitingFor

# The estimates that count now: those of the newest revision, and how they moved.

@dataclass(frozen=True, slots=True, kw_only=True)
class Reissued:
    """The newest revision as far as a standing needs it: its number, its reissued estimates, and how many
    items have another label than their round was closed with."""

    number: int
    known: RoundEstimate
    items: int             # whose labels are not those of the closing


def estimates_moved(before: RoundEstimate | None, after: RoundEstimate) -> tuple[Moved, ...]:
    """How the estimates of the whole pool moved: from the labels of the closing to the revised labels."""
    if before is None or before.round != after.round:
        return ()
    return tuple(
        Moved(
            measure=b.measure, of=b.of, value_before=b.value,
            value=a.value, lower_before=b.lower, lower=a.lower, upper_before=b.upper, upper=a.upper,
        )
        for b, a in zip(before.estimates, after.estimates, strict=True)
    )


def reissued_at(ledger: Ledger, known: RoundEstimate | None) -> Reissued | None:
    """The newest revision, if its estimates are those after the same round as `known`; else None."""
    last = last_revision(ledger)
    if last is None or known is None or last.rounds != known.round:
        return None
    estimate = read_revised_estimate(ledger, last.number)
    return None if estimate is None else Reissued(
        number=last.number, known=estimate, items=len(_differing(ledger, last))
    )


def _differing(ledger: Ledger, revision: Revision) -> list[str]:
    """Items whose label in a revision is not the one their round was closed with."""
    closed: dict[int, dict[str, float | str]] = {}
    for item in revision.items:
        if item.round not in closed:
            decided = read_labels(ledger, item.round) or []
            closed[item.round] = {one.item_id: one.came_to for one in decided}
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
        """The revision whose estimates this moment reports, in the form a standing takes; None where they
        are those of the closing."""
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
    stopped: dict[int, float] = {one.rounds: one.revisions for one in extensions}
    if finished and looks:
        stopped[looks[-1].round] = inf
    found: list[Moment] = []
    for known in looks:
        of_round = list(_of_round(known, revised))
        until = stopped.get(known.round, -1)
        stayed = [one.revision <= until or after for one, after in of_round]
        first = max((i for i, (_, after) in enumerate(of_round) if stayed[i] and not after), default=0)
        found += [
            replace(one, final=known.round in stopped and stayed[i] and i >= first)
            for i, (one, _) in enumerate(of_round)
        ]
    return found


def _of_round(
    known: RoundEstimate, revised: Sequence[Reissue]
) -> Iterator[tuple[Moment, bool]]:
    """The moments of one round, each with whether it came after the evaluation had stopped."""
    mine = [(one, estimate) for one, estimate in revised if one.rounds == known.round]
    in_its_place = bool(mine) and any(one.rounds < known.round for one, _ in revised)
    key = f"round-{known.round:04d}"
    if not in_its_place:
        yield Moment(key=key, known=known, revision=0, final=False), False
    for one, estimate in mine:
        name = key if in_its_place and one is mine[0][0] else f"revision-{one.number:04d}"
        yield Moment(key=name, known=estimate, revision=one.number, final=False), one.finished


@retried
def read_reissues(ledger: Ledger) -> list[Reissue]:
    """The complete revisions with their estimates; hardly any evaluation has one."""
    if last_revision(ledger) is None:
        return []
    pairs = [
        (one, read_revised_estimate(ledger, one.number))
        for one in read_revisions(ledger)
    ]
    return [(one, estimate) for one, estimate in pairs if estimate is not None]


# The standing.

def verdict_on(opened: Opened, known: RoundEstimate | None) -> Verdict | None:
    """The verdict on the first measure so far; None without a limit, or before the first round."""
    limit = opened.spec.limit
    if limit is None or known is None:
        return None
    return verdict(known.estimates[0], limit.min, limit.max)


def standing_of(
    opened: Opened,
    state: StateName,
    known: RoundEstimate | None,
    *,
    waiting_for: WaitingFor | None = None,
    ending: Ending | None = None,
    reissued: Reissued | None = None,
) -> Standing:
    """Put a standing together; `reissued`: the newest revision, whose estimates are the ones that count."""
    as_closed, known = known, reissued.known if reissued else known
    limit = opened.spec.limit
    return Standing(
        evaluation=opened.name,
        state=state,
        waiting_for=waiting_for,
        ending=ending,
        verdict=ending.verdict if ending and reissued is None else verdict_on(opened, known),
        rounds=known.round if known else 0,
        labels=known.labels if known else 0,
        undecided=known.undecided if known else 0,
        known=known,
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
        known_before=_known_before(opened, known.round if known else 0),
        ownership=opened.spec.ownership,
        ranks=_ranks(opened, known),
        question=opened.spec.question or "",
        limit_min=limit.min if limit else None,
        limit_max=limit.max if limit else None,
    )


def _ranks(opened: Opened, known: RoundEstimate | None) -> SystemRanks | None:
    """Of systems that are compared, or whose rows the pool has, after a round."""
    pool = opened.spec.pool
    if known is None or len(pool.system_names) < 2:
        return None
    stack = opened.question.measures
    if not isinstance(stack, Stack) or not stack.measures[0].prefers:
        return None
    from assay.evalcore.evaluation.ranks import Contest, system_ranks  # nothing loads where one is judged

    margin = opened.spec.target.best_of if pool.margin is None else pool.margin
    return system_ranks(known.rows, Contest(
        is_error=stack.measures[0].is_error, margin=margin, prices=pool.prices,
    ))


def extension_rows(opened: Opened) -> tuple[ExtensionRow, ...]:
    """The extensions of an evaluation as a report shows them, in order: the budget before and after, the
    confidence from then on, whether it was corrected for looking again, and who asked for it and why."""
    return tuple(
        ExtensionRow(
            extension=one.number, rounds=one.rounds, labels_before=one.labels_before, labels=one.labels,
            confidence=opened.as_of(one.rounds + 1).confidence,
            corrected=not opened.method.holds_at_every_look, beyond_target=one.beyond_target,
            by=one.by, reason=one.reason, at=one.at.isoformat(),
        )
        for one in opened.extensions
    )


def _known_before(opened: Opened, rounds: int) -> int:
    if not opened.inherited and not opened.outcomes:
        return 0
    decided = (read_labels(opened.ledger, number) or [] for number in range(1, rounds + 1))
    return sum(one.reason == "reused" for several in decided for one in several)


def current_standing(opened: Opened) -> Standing:
    """Where an evaluation stands by its ledger alone: no desk is asked, nothing is written.

    Raises DamagedRecord where records that can be read do not fit each other.
    """
    with understood(opened.name):
        return _standing_now(opened)


def _standing_now(opened: Opened) -> Standing:
    ending = read_ending(opened.ledger, len(opened.extensions))
    known = last_estimate(opened.ledger, ending.rounds if ending else last_checkpoint(opened.ledger))
    reissued = reissued_at(opened.ledger, known)
    if ending is not None:
        return standing_of(opened, "finished", known, ending=ending, reissued=reissued)
    number = known.round + 1 if known else 1
    planned = read_plan(opened.ledger, number)
    if planned is None or read_labels(opened.ledger, number) is not None:
        return standing_of(opened, "open", known, reissued=reissued)
    waiting_for = WaitingFor(round=number, items=len(planned.to_people()), desk=opened.spec.desk.kind)
    return standing_of(opened, "waiting", known, waiting_for=waiting_for, reissued=reissued)


def last_estimate(ledger: Ledger, closed: int) -> RoundEstimate | None:
    """The estimates after the last closed round; `closed`: rounds that are known to be closed."""
    known = read_estimate(ledger, closed) if closed else None
    number = known.round if known else 0
    while (later := read_estimate(ledger, number + 1)) is not None:
        known, number = later, number + 1
    return known


def read_history(ledger: Ledger) -> list[RoundEstimate]:
    """The estimates stored after each closed round, in order, up to the first round that has none. They are
    those of the closings; revisions are not applied."""
    history: list[RoundEstimate] = []
    while (known := read_estimate(ledger, len(history) + 1)) is not None:
        history.append(known)
    return history
