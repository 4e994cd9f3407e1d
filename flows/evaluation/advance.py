"""`advance`: take an evaluation as far as today's labels allow.

It may be run at any time, by anyone, twice at once, after any crash; what the ledger holds afterwards is the
same. Three rules make it so:

- everything decided is written before it is acted on, under a key that only the first writer gets, and every
  writer carries on with what is under the key, not with what it tried to write;
- everything that is computed depends only on what is in the ledger;
- everything due is found by reading the ledger, never remembered.

One round:  plan.parquet  →  design.parquet  →  posts/  →  people  →  annotations/  →  labels.parquet, which
closes it  →  estimate.json  →  annotators.json  →  seal.json  →  stop (ending.json, seal.json) or the next
plan.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from assay.evalcore.errors import BadInput
from assay.evalcore.evaluation.plan import plan as plan_draws
from assay.evalcore.evaluation.stopping import StopReason
from assay.flows.alerts.verdicts import raise_verdicts
from assay.flows.people.annotating import Annotating
from assay.flows.people.asking import Asker
from assay.flows.people.deadlines import deadline_of
from assay.flows.people.planning import plan_round
from assay.flows.people.quality import annotators_record
from assay.flows.record.fold import Fold, fold, why_stop
from assay.flows.record.opened import Opened, desk_of, open_evaluation, utc_now
from assay.flows.record.reissued import reissued_at
from assay.flows.record.standing import (
    Standing,
    State,
    current_standing,
    read_history,
    standing_of,
    verdict_on,
)
from assay.flows.revisions.revise import Reviser
from assay.tasks import events
from assay.tasks.desks.protocol import Desk
from assay.tasks.effects.calls import effect, retried
from assay.tasks.ledger import layout
from assay.tasks.ledger.ending import Ending, read_ending, write_ending
from assay.tasks.ledger.owner import Ledger
from assay.tasks.ledger.revisions import last_revision
from assay.tasks.ledger.rounds.annotators import write_annotators
from assay.tasks.ledger.rounds.estimate import RoundEstimate, write_estimate
from assay.tasks.ledger.rounds.labels import Decided, write_labels
from assay.tasks.ledger.rounds.plan import PlannedRound, write_design, write_plan
from assay.tasks.ledger.seals import seal_ending, seal_rounds
from assay.tasks.ledger.stores.protocol import Store
from assay.tasks.ledger.times import write_closed
from assay.tasks.settings import Settings

_log = logging.getLogger("assay.advance")
OnRound = Callable[[RoundEstimate], None]


def advance(
    store: Store,
    evaluation: str,
    desk: Desk | None = None,
    *,
    now: Callable[[], datetime] = utc_now,
    repost_after: timedelta | None = None,
    on_round: OnRound | None = None,
    look_again: bool = False,
    close_round: bool = False,
    round: int | None = None,
) -> Standing:
    """Do whatever is due and return where the evaluation stands: finished, or waiting and for what.

    desk           where people label; the one of the spec unless given
    repost_after   when items that are not on the desk are posted again; see `repost_delay`
    on_round       told of every round this call closed
    look_again     read the batches of all closed rounds too, finished evaluation or not: answers that changed
                   become a revision (flows.revisions.revise)
    close_round    close the round that is open with what is answered (evalcore.evaluation.nonresponse), if
                   anything is
    round          the round to close: nothing more is closed if that one is closed already, so the same call
                   made twice, or by two at once, closes one round

    Raises UnknownEvaluation, NoRoundToClose, NothingToStandFor, and whatever store and desk raise when they
    are away or refuse.
    """
    opened = open_evaluation(store, evaluation)
    ending = _read_ending(opened.ledger)

    def asker() -> Asker:
        return Asker(
            ledger=opened.ledger,
            desk=desk if desk is not None else desk_of(store, opened.spec),
            classes=opened.classes,
            annotators=opened.spec.desk.annotators_per_item,
            repost_after=repost_delay(opened) if repost_after is None else repost_after,
            now=now,
            cells=opened.question.cells,
            deadline=deadline_of(opened.spec),
            seed=opened.spec.seed,
        )

    if ending is not None:
        if close_round and (round is None or not 1 <= round <= ending.rounds):
            raise NoRoundToClose(
                f"evaluation {evaluation!r} is finished, with {ending.rounds} rounds: none of it is open"
            )
        seal_ending(opened.ledger, ending.rounds)
        reviser = None
        if last_revision(opened.ledger) is not None or look_again:
            reviser = Reviser(
                opened=opened, folded=_fold(opened), finished=True
            )
            reviser.catch_up()
        _leave_finished(opened, ending, now())
        if look_again and reviser is not None:
            _enter_index(opened.ledger)   # a look that is cut short is carried through by a sweep
            reviser.look_again(asker())
            _leave_finished(opened, ending, now())
        return current_standing(opened)
    _enter_index(opened.ledger)
    return _Run(
        opened=opened, asker=asker(), annotating=Annotating(opened), now=now,
        on_round=on_round, look_again=look_again, close_round=close_round, round=round,
    ).go()


class NoRoundToClose(BadInput):
    """A round was to be closed early, and none is open."""


def repost_delay(opened: Opened) -> timedelta:
    """How old a post must be before items that did not arrive are posted again."""
    late = opened.spec.desk.posts_arrive_late
    return timedelta(seconds=Settings().repost_after) if late else timedelta(0)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Run:
    """One call of `advance`."""

    opened: Opened
    asker: Asker
    annotating: Annotating
    now: Callable[[], datetime]
    on_round: OnRound | None
    look_again: bool
    close_round: bool
    round: int | None

    def go(self) -> Standing:
        folded = _fold(self.opened)
        to_close = self._to_close(folded) if self.close_round else None
        looked = False
        while True:
            if folded.estimate_due:
                folded = self._estimate(folded)
            # whoever wrote the last estimate may have died before what follows it, and its seal
            _write_annotators(self.opened, self.annotating, folded)
            seal_rounds(self.opened.ledger, folded.state.round)
            self._revise(folded, look=not looked)
            looked = True
            raise_verdicts(self.opened, folded.looks, None, self.now())
            reason = why_stop(self.opened.rule, folded)
            if reason is not None:
                return self._stop(folded, reason)
            planned = folded.open_round or self._plan(folded)
            folded = replace(folded, open_round=planned)
            _ensure_design(self.opened.ledger, planned)
            closed = [r.planned for r in folded.closed]
            rule = self.annotating.rule(planned, closed)
            answers = self.asker.ask(
                planned, rule, self.annotating.gold_items(planned), close=planned.number == to_close
            )
            if answers.decided is None:
                waiting_for = {**answers.waiting, "desk": self.opened.spec.desk.kind}
                return self._standing(folded, "waiting", waiting_for=waiting_for)
            decided = _write_labels(
                self.opened.ledger, planned.number, answers.decided, answers.gold
            )
            for before in closed[-1:]:
                self.asker.clear(before, self.annotating.gold_items(before))
            folded = folded.close(self.opened.question, decided)

    def _to_close(self, folded: Fold) -> int | None:
        """The round to close early; None if the one that was named is closed already."""
        there = folded.open_round.number if folded.open_round else None
        if self.round is not None and 1 <= self.round <= folded.state.round:
            _log.info("%s: round %d is closed already", self.opened.name, self.round)
            return None
        if there is None:
            raise NoRoundToClose(
                f"evaluation {self.opened.name!r} has no round open: nobody is being asked anything; run "
                "`assay advance` to plan the next one"
            )
        if self.round not in (None, there):
            raise NoRoundToClose(
                f"round {self.round} of evaluation {self.opened.name!r} is not open: round {there} is"
            )
        return there

    def _revise(self, folded: Fold, *, look: bool) -> None:
        """Reissue what closed rounds changed; where asked to, or where answers are missing, look again."""
        if not folded.state.round:
            return
        reviser = Reviser(opened=self.opened, folded=folded, finished=False)
        if look and (self.look_again or folded.state.nonresponse.unanswered):
            reviser.look_again(self.asker, only_gaps=not self.look_again)
        else:
            reviser.catch_up()

    def _standing(self, folded: Fold, state: State, **more: Any) -> Standing:
        known = folded.looks[-1] if folded.looks else None
        reissued = retried(reissued_at)(self.opened.ledger, known)
        return standing_of(self.opened, state, known, reissued=reissued, **more)

    def _plan(self, folded: Fold) -> PlannedRound:
        size = min(self.opened.spec.batch_size, self.opened.rule.budget - folded.asked)
        draws = plan_draws(self.opened.question, folded.state, size)
        planned = plan_round(self.opened, folded, draws, self.annotating)
        return _write_plan(self.opened.ledger, planned)

    def _estimate(self, folded: Fold) -> Fold:
        """Write down what the round just closed says."""
        computed = folded.estimate(self.opened.question, self.opened.segments)
        known = _write_estimate(self.opened.ledger, computed)
        write_closed(self.opened.ledger, known.round, self.now())
        events.round_closed(self.opened.ledger.store.url, self.opened.name, known)
        _log.info("%s: round %d closed, %d labels", self.opened.name, known.round, known.labels)
        if self.on_round:
            self.on_round(known)
        return replace(folded, looks=(*folded.looks, known))

    def _stop(self, folded: Fold, reason: StopReason) -> Standing:
        known = folded.looks[-1]
        ending = _write_ending(
            self.opened.ledger,
            Ending(
                stopped_by=reason,
                verdict=verdict_on(self.opened, known),
                rounds=known.round,
                labels=known.labels,
                undecided=known.undecided,
            ),
        )
        seal_ending(self.opened.ledger, ending.rounds)
        # before it leaves the index: whoever is cut off here comes back
        raise_verdicts(self.opened, folded.looks, ending, self.now())
        _leave_index(self.opened.ledger)
        events.evaluation_finished(self.opened.ledger.store.url, self.opened.name, known, ending)
        _log.info("%s: finished (%s)", self.opened.name, ending.stopped_by)
        return self._standing(folded, "finished", ending=ending)


def _leave_finished(opened: Opened, ending: Ending, now: datetime) -> None:
    """Tell what is to be told, and only then leave the index: whoever is cut off before comes back."""
    if opened.spec.threshold is not None:
        raise_verdicts(opened, _history(opened.ledger), ending, now)
    _leave_index(opened.ledger)


def _fold(opened: Opened) -> Fold:
    return retried(fold)(opened.ledger, opened.question)


@retried
def _history(ledger: Ledger) -> list[RoundEstimate]:
    return read_history(ledger)


@retried
def _read_ending(ledger: Ledger) -> Ending | None:
    return read_ending(ledger)


@retried
def _ensure_design(ledger: Ledger, planned: PlannedRound) -> None:
    """The plan's writer may have died before it wrote the design the plan carries."""
    if not ledger.exists(layout.design(ledger.name, planned.number)):
        write_design(ledger, planned)


@effect("write-plan")
def _write_plan(ledger: Ledger, planned: PlannedRound) -> PlannedRound:
    winner = write_plan(ledger, planned)
    write_design(ledger, winner)
    return winner


@effect("write-labels")
def _write_labels(
    ledger: Ledger, number: int, decided: list[Decided],
    gold: Mapping[str, tuple[str, ...]],
) -> list[Decided]:
    return write_labels(ledger, number, decided, gold)


@retried
def _write_annotators(opened: Opened, annotating: Annotating, folded: Fold) -> None:
    """Put how the people do after the last closed round, unless that is sealed already."""
    number = folded.state.round
    ledger = opened.ledger
    written = (layout.seal, layout.annotators)
    if number == 0 or any(ledger.exists(key(ledger.name, number)) for key in written):
        return
    record = annotators_record(opened, annotating, folded)
    if record is not None:
        write_annotators(ledger, record)


@effect("write-estimate")
def _write_estimate(ledger: Ledger, estimate: RoundEstimate) -> RoundEstimate:
    return write_estimate(ledger, estimate)


@effect("write-ending")
def _write_ending(ledger: Ledger, ending: Ending) -> Ending:
    return write_ending(ledger, ending)


@retried
def _enter_index(ledger: Ledger) -> None:
    """The index may have been lost; sweeps find what is in it."""
    if not ledger.exists(layout.open_index(ledger.name)):
        ledger.put(layout.open_index(ledger.name), b"")


@retried
def _leave_index(ledger: Ledger) -> None:
    ledger.store.discard(layout.open_index(ledger.name))
