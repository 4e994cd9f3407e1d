"""State is a fold: what an evaluation knows is what its ledger says, read from the first round on.

Rounds are read in order until one is missing or still open. Nothing is written here but checkpoints, and
nothing is decided that a ledger already holds: estimates are the stored ones, whatever today's code would
make of the labels. A checkpoint spares the reading of closed rounds.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import inf

from assay.evalcore.evaluation.round_estimate import RoundEstimate
from assay.evalcore.evaluation.state import (
    Segments,
    State,
    before_any_label,
    close_round,
    counted,
    in_brief,
    with_last,
    with_one_more,
)
from assay.evalcore.evaluation.stopping import StoppingRule, StopReason, stop_reason
from assay.evalcore.evaluation_statistics import AsIf, Statistics
from assay.tasks.effects import retried
from assay.tasks.ledger import layout, record
from assay.tasks.ledger.asked_round import PlannedRound, RoundAnswers, read_plan
from assay.tasks.ledger.checkpoint_values import UNREADABLE, NotKept, read_value, written_value
from assay.tasks.ledger.checkpoints import Checkpoint, CheckpointLost, Entries, run_of, write_checkpoint
from assay.tasks.ledger.closed_round import (
    ClosedRound,
    Decided,
    codes_of,
    labels_of_draws,
    read_estimate,
    read_labels,
    shares_of_draws,
)
from assay.tasks.ledger.manifest import Manifest
from assay.tasks.ledger.record import Ledger


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Fold:
    """The state of one evaluation as its ledger's rounds give it: what the method knows, the estimates of
    the closed rounds, and the round that is open, if there is one."""

    state: State
    labelled: tuple[int, ...]                # labelled items by class or tag; () of numbers
    looks: Sequence[RoundEstimate] = ()      # of the closed rounds; one short while the last is not written
    open_round: PlannedRound | None = None   # planned, and not closed
    last_asked: int = 0                      # items the last closed round asked people about
    reused: int = 0                          # items whose label an earlier evaluation had bought
    closed: Sequence[ClosedRound] = ()       # what was drawn in them; from a checkpoint, in brief
    as_if: AsIf = None                       # see Statistics.as_if
    ways: int = 0                            # how many states it has, where it has any

    @property
    def asked(self) -> int:
        """Items that people were asked, labelled or not, answered or not."""
        return self.state.labels + self.state.undecided + self.state.nonresponse.unanswered - self.reused

    @property
    def estimate_due(self) -> bool:
        """Whether the last closed round has no estimate yet: there are fewer estimates than closed rounds. A
        process may have ended between closing a round and estimating it."""
        return len(self.looks) < self.state.round

    def close(self, statistics: Statistics, decided: list[Decided]) -> "Fold":
        """The fold after its open round was closed with these labels, one row for each item the round asked:
        the state updated, the round added to the closed ones. Raises ValueError where no round is open."""
        if self.open_round is None:
            raise ValueError("there is no open round to close")
        planned = self.open_round
        labels = labels_of_draws(planned, decided)
        closed = ClosedRound(planned=planned, labels=labels, decided=decided)
        answered = closed.answered(shares_of_draws(planned, decided))
        reused = sum(d.reason == "reused" for d in decided)
        return replace(
            self,
            state=close_round(statistics.question, self.state, answered),
            as_if=statistics.as_if(self.as_if, self.state, answered),
            labelled=counted(statistics.kind, self.labelled, codes_of(decided)),
            open_round=None,
            last_asked=len(decided) - reused,
            reused=self.reused + reused,
            closed=with_one_more(self.closed, closed),
        )

    def estimate(self, statistics: Statistics, segments: Segments) -> RoundEstimate:
        """The estimates after the last closed round, computed: of the pool, and of these segments."""
        rounds = [round_.labelled(segments) for round_ in self.closed] if segments else ()
        return statistics.estimate(
            self.state, self.as_if, self.labelled, rounds, segments, self.last_asked
        )


def not_begun(statistics: Statistics) -> Fold:
    """The fold of an evaluation before its first round: the state without any label, and zero labelled items
    of every class or tag. Every fold begins with it."""
    return Fold(
        state=before_any_label(statistics.question), labelled=(0,) * len(statistics.kind.parts),
        ways=len(statistics.kind.decided_alike),
    )


def fold(
    ledger: Ledger, statistics: Statistics, before: Fold | None = None, rounds: float = inf
) -> Fold:
    """Read the rounds of an evaluation, at most so many. The first round without labels, if one was planned,
    is its open round.

    before: what the first ones come to, where that is known
    """
    folded = before or not_begun(statistics)
    while folded.state.round < rounds:
        number = folded.state.round + 1
        planned = read_plan(ledger, number)
        if planned is None:
            return folded
        folded = replace(folded, open_round=planned)
        decided = read_labels(ledger, number)
        if decided is None:
            return folded
        folded = folded.close(statistics, decided)
        look = read_estimate(ledger, number)
        if look is None:
            return folded
        folded = replace(folded, looks=with_one_more(folded.looks, look))
    return folded


@retried
def read_fold(ledger: Ledger, statistics: Statistics, before: Fold | None = None) -> Fold:
    """The fold of the rounds in a ledger, as `fold` reads it, with retries while the store is away. It goes
    on from a fold of the first rounds where the caller has one."""
    return fold(ledger, statistics, before)


def in_full(ledger: Ledger, closed: ClosedRound) -> ClosedRound:
    """A closed round with what people saw and what its items were closed with, read where it is in brief.
    Raises DamagedRecord where its plan or its labels are missing."""
    if closed.decided is not None:
        return closed
    number = closed.planned.number
    planned, decided = read_plan(ledger, number), read_labels(ledger, number)
    if planned is None or decided is None:
        raise record.damaged(layout.labels(ledger.name, number), "its plan or its labels are missing")
    return replace(closed, planned=planned, decided=decided)


def why_stop(rule: StoppingRule, folded: Fold) -> StopReason | None:
    """Why to stop now, or None. Items that people could not decide were paid for: the budget counts them.
    Labels that were there before cost nothing and leave the budget alone."""
    if folded.estimate_due:
        return None
    rule = replace(rule, budget=rule.budget + folded.reused)   # labels that cost nothing
    reason = stop_reason(rule, [estimate.look() for estimate in folded.looks[-rule.looks:]])
    if reason is None and folded.asked + folded.reused >= rule.budget:
        return "budget"
    return reason


_log = logging.getLogger("assay.advance")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Known:
    """What a checkpoint spares the reading of: the fold of the first closed rounds, everybody's answers in
    them, and the names of the people who answered in each.

    Checkpoints. They decide nothing. What one lacks is read from the ledger: what people saw, what items were
    closed with, and answers where one person answered alone.
    """

    fold: Fold
    answered: Sequence[RoundAnswers]     # everybody's, in the first ones
    people: Sequence[Sequence[str]]      # who answered in each of the first ones


def known_from(ledger: Ledger, checkpoint: Checkpoint, begun: Fold) -> Known:
    """What a checkpoint says; begun: before the first round. Raises CheckpointLost."""
    try:
        state, as_if, labelled, last_asked, reused, looks, last_look, closed, answered, people = read_value(
            checkpoint.value, partial(retried(run_of), ledger), _base(begun)
        )
        folded = Fold(
            state=state, as_if=as_if, labelled=labelled, last_asked=last_asked, reused=reused, closed=closed,
            looks=with_last(looks, last_look),
        )
        if not folded.state.round == len(folded.looks) == len(closed) == checkpoint.round:
            raise ValueError("its parts are of different rounds")
    except UNREADABLE as error:
        raise CheckpointLost(f"{type(error).__name__}: {error}") from None
    return Known(fold=folded, answered=answered, people=people)


@retried
def keep_checkpoint(
    ledger: Ledger, manifest: Manifest, begun: Fold, memory: Known, read_so_far: Mapping[str, bytes],
    entries: Entries,
) -> None:
    """Write a checkpoint after the closed rounds, unless the newest one says all of it.

    begun         before the first round, as `memory` went on from it
    read_so_far   what this call read and put: key -> bytes
    entries       what the index held when the call began
    """
    number, newest = memory.fold.state.round, entries.newest
    records = {key: read_so_far[key] for key in _read_by_all(ledger.name, manifest, number, read_so_far)}
    if newest is not None and newest.round == number and newest.records.keys() >= records.keys():
        return
    try:
        value, runs = written_value(_value(memory), number, _base(begun))
    except NotKept as error:
        _log.debug("%s: no checkpoint: %s", ledger.name, error)
        return
    write_checkpoint(ledger, Checkpoint(round=number, records=records, value=value), runs, entries.keys)


def _value(memory: Known) -> tuple[object, ...]:
    folded = memory.fold
    return (
        folded.state, folded.as_if, folded.labelled, folded.last_asked, folded.reused,
        in_brief(folded.looks, _look_in_brief), folded.looks[-1] if folded.looks else None,
        in_brief(folded.closed, ClosedRound.in_brief), in_brief(memory.answered, _answers_in_brief),
        tuple(map(tuple, memory.people)),
    )


def _base(begun: Fold) -> tuple[object, ...]:
    """What the parts of `_value` are written against."""
    return (begun.state, (begun.state,) * begun.ways, *[None] * 8)


def _look_in_brief(look: RoundEstimate) -> RoundEstimate:
    """What stopping and alerts need of an earlier round."""
    return replace(look, segments=(), systems=(), joint=None)


def _answers_in_brief(round_: RoundAnswers) -> RoundAnswers:
    """Without the desk's own records."""
    return replace(round_, answers=tuple(replace(answer, raw={}) for answer in round_.answers))


def _read_by_all(
    name: str, manifest: Manifest, number: int, records: Mapping[str, bytes]
) -> Iterator[str]:
    """The keys that every call reads, of those that are there."""
    always = (
        layout.spec(name), layout.manifest(name), layout.identity(name), *manifest.partition_keys[:1],
        manifest.inherited_key, manifest.outcomes_key, manifest.held_key, manifest.gold_key,
        layout.plan(name, number + 1),
    )
    yield from (key for key in always if key is not None and key in records)
    yield from sorted(key for key in records if key.startswith(layout.posts(name, number + 1)))
    yield from sorted(key for key in records if layout.extension.match(key))
