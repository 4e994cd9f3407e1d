"""`advance`: take an evaluation as far as today's labels allow; `drive`: again and again, until it stops.

`advance` may be run at any time, by anyone, twice at once, after any crash; what the ledger holds afterwards
is the same. Three rules make it so:

- everything decided is written before it is acted on, under a key that only the first writer gets, and every
  writer carries on with what is under the key, not with what it tried to write;
- everything that is computed depends only on what is in the ledger;
- everything due is found by reading the ledger, never remembered.

One round:  plan.parquet  →  design.parquet  →  posts/  →  people  →  annotations/  →  labels.parquet, which
closes it  →  estimate.json  →  times.json  →  annotators.json  →  seal.json  →  stop (ending.json, seal.json)
or the next plan.
"""

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Literal, TypeAlias

from assay.evalcore.design.round import RoundPlan
from assay.evalcore.errors import BadInput, plural
from assay.evalcore.evaluation.round_estimate import RoundEstimate
from assay.evalcore.evaluation.state import known_labels, with_one_more
from assay.flows.alerts import raise_verdicts
from assay.flows.evaluation.finish import finish_again, stop
from assay.flows.people.annotating import Annotating, annotators_record, one_person_still
from assay.flows.people.ask import ask, remove_late_copies, repost_delay
from assay.flows.people.closing import AskedRound, People, close, wait
from assay.flows.record.fold import (
    Fold,
    Known,
    in_full,
    keep_checkpoint,
    known_from,
    not_begun,
    read_fold,
    why_stop,
)
from assay.flows.record.opened import Opened, desk_of, open_evaluation, utc_now
from assay.flows.record.standing import current_standing, reissued_at, standing_of
from assay.flows.revisions import catch_up
from assay.flows.revisions import look_again as look_at_closed_rounds
from assay.tasks import events
from assay.tasks.desks.desk import Desk, DeskUnreachable
from assay.tasks.effects import effect, retried
from assay.tasks.ledger import layout
from assay.tasks.ledger.asked_round import PlannedRound, write_design, write_plan
from assay.tasks.ledger.checkpoints import CheckpointLost, Entries, find_checkpoint
from assay.tasks.ledger.closed_round import Decided, Revision, write_annotators, write_estimate, write_labels
from assay.tasks.ledger.life import (
    Ending,
    ensure_closed,
    enter_index,
    extensions_in,
    read_ending,
    read_extensions,
    write_closed,
)
from assay.tasks.ledger.record import Ledger
from assay.tasks.ledger.seals import seal_rounds
from assay.tasks.ledger.stores.store import Remembering, Store, StoreUnreachable
from assay.tasks.operating_system import one_thread
from assay.tasks.pool.frozen import columns_of_items
from assay.tasks.pool.shown import PoolIndex
from assay.tasks.report.standing import Standing, WaitingFor
from assay.tasks.settings import Settings

_log = logging.getLogger("assay.advance")
OnRound: TypeAlias = Callable[[RoundEstimate], None]     # called with what is known after each round
Closing: TypeAlias = int | Literal["open"]   # a round that is to be closed early: its number, or the open one


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """What time it is, and how long a post may be on its way."""

    now: Callable[[], datetime] = utc_now
    repost_after: timedelta | None = None   # when items that are not on the desk are posted again; None: as
                                            # the desk needs (flows.people.ask)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Call:
    """What `advance` was called with."""

    evaluation: str
    desk: Desk | None
    timing: Timing
    on_round: OnRound | None
    look_again: bool
    close_round: Closing | None

    @property
    def named(self) -> int | None:
        """The round to close; None: the open one, or none."""
        return None if self.close_round == "open" else self.close_round


def advance(
    store: Store,
    evaluation: str,
    desk: Desk | None = None,
    *,
    timing: Timing = Timing(),
    on_round: OnRound | None = None,
    look_again: bool = False,
    close_round: Closing | None = None,
) -> Standing:
    """Do whatever is due and return where the evaluation stands: finished, or waiting and for what.

    desk           where people label; the one of the spec unless given
    on_round       told of every round this call closed
    look_again     read the batches of all closed rounds too, finished evaluation or not: answers that changed
                   become a revision (flows.revisions)
    close_round    close this round, or the "open" one, with what is answered
                   (evalcore.evaluation.nonresponse), if anything is. Nothing more is closed if a round that
                   is named is closed already, so the same call made twice, or by two at once, closes one

    Raises UnknownEvaluation, NoRoundToClose, NothingToStandFor, and whatever store and desk raise when they
    cannot be reached or refuse.
    """
    layout.check_name(evaluation)
    entries = retried(find_checkpoint)(Ledger(store, evaluation))
    call = _Call(
        evaluation=evaluation, desk=desk, timing=timing, on_round=on_round, look_again=look_again,
        close_round=close_round,
    )

    def run(entries: Entries) -> Standing:
        return _advance(
            Remembering(store, entries.newest.records if entries.newest else None), entries, call
        )

    with one_thread():
        try:
            return run(entries)
        except CheckpointLost as error:
            _log.warning("%s: reading the ledger instead of a checkpoint: %s", evaluation, error)
            return run(replace(entries, newest=None))


def _advance(store: Remembering, entries: Entries, call: _Call) -> Standing:
    newest, evaluation = entries.newest, call.evaluation
    # later ones follow an ending, after rounds that the checkpoint has not seen closed
    extensions = None if newest is None else extensions_in(newest.records)
    opened = open_evaluation(store, evaluation, extensions)
    ending = _read_ending(opened) if newest is None else None

    def people() -> People:
        return People(
            opened=opened,
            desk=call.desk if call.desk is not None else desk_of(store, opened.spec),
            now=call.timing.now,
            repost_after=repost_delay(opened) if call.timing.repost_after is None else
            call.timing.repost_after,
        )

    def resume_finished(ending: Ending) -> Standing:
        if call.close_round:
            refuse_unless_closed(evaluation, ending, call.named)
        finish_again(opened, ending, people if call.look_again else None, call.timing.now)
        return current_standing(opened)

    if ending is not None:
        return resume_finished(ending)
    if layout.open_index(evaluation) not in entries.keys:
        retried(enter_index)(opened.ledger)
    begun = not_begun(opened.statistics)
    memory = None if newest is None else known_from(Ledger(store, evaluation), newest, begun)
    if newest is not None:
        retried(store.list_once)(layout.round_folder(evaluation, newest.round + 1))
    folded = read_fold(opened.ledger, opened.statistics, memory.fold if memory else begun)
    if newest is None or folded.state.round > newest.round:
        opened = opened.extended(retried(read_extensions)(opened.ledger))   # before any of these rounds
    # an evaluation whose round is open has not ended; a look must be sure of it
    looks = call.look_again or call.close_round or folded.state.nonresponse.unanswered
    if newest is not None and (looks or folded.open_round is None):
        ending = _read_ending(opened)
        if ending is not None:
            return resume_finished(ending)
    return _Run(
        store=store, opened=opened, people=people(), begun=begun, entries=entries,
        annotating=Annotating(
            opened, answers=memory.answered if memory else (), people=memory.people if memory else ()
        ),
        on_round=call.on_round, look_again=call.look_again,
        to_close=round_to_close(evaluation, folded, call.named) if call.close_round else None,
    ).go(folded)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Run:
    """One call of `advance`, of an evaluation that has not stopped."""

    store: Remembering
    opened: Opened
    people: People
    begun: Fold               # before the first round
    entries: Entries          # what the index held
    annotating: Annotating
    on_round: OnRound | None
    look_again: bool
    to_close: int | None      # the round to close early

    def go(self, folded: Fold) -> Standing:
        """Until people have to answer: estimate the closed round, then stop, or plan and ask the next one.
        Gives where the evaluation stands then. Raises whatever store and desk raise."""
        look = True
        newest = self.entries.newest
        while True:
            list_once = retried(self.store.list_once)
            list_once(layout.round_folder(self.opened.name, folded.state.round + 1))
            if folded.estimate_due:
                folded = estimate_round(self.opened, folded, self.people.now(), self.on_round)
            # a checkpoint is written after all of this, and a revision brings its alerts itself
            done = newest is not None and newest.round == folded.state.round
            if not done:
                seal_closed_rounds(self.opened, self.annotating, folded, self.people.now())
            revised = self._revise(folded, look=look)
            look = False   # once a call
            if revised or not done:
                raise_verdicts(self.opened, folded.looks, None, self.people.now())
            reason = why_stop(self.opened.rule, folded)
            if reason is not None:
                ending = stop(self.opened, folded, reason, self.people.now())
                return self._standing(folded, ending=ending)
            planned = open_round(self.opened, folded, self.annotating)
            folded = replace(folded, open_round=planned)
            round_ = self._ask(folded, planned)
            if not round_.is_open:   # others may have decided to close it early while the desk was read
                self.store.forget_listings()
                list_once(layout.round_folder(self.opened.name, planned.number))
            labels = close(self.people, round_, requested=planned.number == self.to_close)
            if labels is None:
                self._keep(folded)
                return self._standing(folded, waiting_for=wait(self.people, round_))
            labels = _write_labels(self.opened.ledger, planned.number, labels, round_.gold_answers)
            self._remove_late_copies(folded)
            folded = folded.close(self.opened.statistics, labels)

    def _revise(self, folded: Fold, *, look: bool) -> Revision | None:
        """Reissue estimates if rounds closed since; look again if asked to, or if answers are missing."""
        if not folded.state.round:
            return None
        if look and (self.look_again or folded.state.nonresponse.unanswered):
            self.store.forget_listings()
            return look_at_closed_rounds(
                self.people, folded, finished=False, only_gaps=not self.look_again
            )
        retried(self.store.list_once)(layout.revisions(self.opened.name))
        return catch_up(self.opened, folded, finished=False)

    def _keep(self, folded: Fold) -> None:
        """Write a checkpoint, so that the next call need not read the closed rounds."""
        keep_checkpoint(
            self.opened.ledger, self.opened.manifest, self.begun,
            Known(fold=folded, answered=self.annotating.known, people=self.annotating.people),
            self.store.known, self.entries,
        )

    def _ask(self, folded: Fold, planned: PlannedRound) -> AskedRound:
        rule = self.annotating.rule(planned, folded)
        return ask(self.people, planned, rule, self.annotating.gold_items(planned))

    def _remove_late_copies(self, folded: Fold) -> None:
        """Of the round that closed before this one."""
        for before in folded.closed[-1:]:
            planned_round = in_full(self.opened.ledger, before).planned
            remove_late_copies(self.people, planned_round, self.annotating.gold_items(planned_round))

    def _standing(
        self, folded: Fold, *, waiting_for: WaitingFor | None = None, ending: Ending | None = None
    ) -> Standing:
        look = folded.looks[-1] if folded.looks else None
        return standing_of(
            self.opened, "finished" if ending else "waiting", look, waiting_for=waiting_for,
            ending=ending, reissued=retried(reissued_at)(self.opened.ledger, look),
        )


@retried
def _read_ending(opened: Opened) -> Ending | None:
    return read_ending(opened.ledger, len(opened.extensions))


@effect("write-labels")
def _write_labels(
    ledger: Ledger, number: int, decided: list[Decided], gold: Mapping[str, tuple[str, ...]]
) -> list[Decided]:
    return write_labels(ledger, number, decided, gold)


class NoRoundToClose(BadInput):
    """A round was to be closed early, and none is open."""


def round_to_close(evaluation: str, folded: Fold, round_no: int | None) -> int | None:
    """The number of the round to close, which is the open one; None if the round named is closed already.

    round_no: the round that somebody asked for; None: the open one. Raises NoRoundToClose.
    """
    if round_no is not None and 1 <= round_no <= folded.state.round:
        _log.info("%s: round %d is closed already", evaluation, round_no)
        return None
    if folded.open_round is None:
        raise NoRoundToClose(
            f"evaluation {evaluation!r} has no round open: nobody is being asked anything; run "
            "`assay advance` to plan the next one"
        )
    number = folded.open_round.number
    if round_no not in (None, number):
        raise NoRoundToClose(f"round {round_no} of evaluation {evaluation!r} is not open: round {number} is")
    return number


def refuse_unless_closed(evaluation: str, ending: Ending, round_no: int | None) -> None:
    """For a finished evaluation. Raises NoRoundToClose unless the round named is one of its rounds."""
    if round_no is None or not 1 <= round_no <= ending.rounds:
        raise NoRoundToClose(
            f"evaluation {evaluation!r} is finished after {plural(ending.rounds, 'round')}: no round is open"
        )


_drive_log = logging.getLogger("assay.evaluate")
_WAIT_GROWTH = 1.5   # by which each wait is longer than the one before, up to the longest
AWAY = 600.0   # seconds of nothing but unreachable stores or desks after which waiting makes no sense


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long to wait between two looks, and in all. Seconds.

    The inline driver: advance, wait for people, again, until the evaluation stops.

    For demos and short runs with somebody watching. It holds no state: interrupt it at any time and run it
    again, here or elsewhere, or leave the rest to the scheduled sweep.
    """

    first: float              # after something has changed
    longest: float            # after nothing has for a while
    in_all: float | None      # give up waiting (not the evaluation) after this; None: never
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic

    @staticmethod
    def from_settings(in_all: float | None = None) -> "Patience":
        """The waiting times that the environment sets (`poll_first` and `poll_longest`, in seconds; the
        longest is never below the first), with this limit on the whole wait; None waits for ever."""
        settings = Settings()
        return Patience(
            first=settings.poll_first, longest=max(settings.poll_first, settings.poll_longest), in_all=in_all
        )


def drive(
    store: Store,
    evaluation: str,
    desk: Desk | None = None,
    *,
    patience: Patience,
    on_round: OnRound | None = None,
    on_wait: Callable[[Standing], None] | None = None,
) -> Standing:
    """Advance until the evaluation is finished or the waiting time is over; returns where it then stands.

    If a store or desk cannot be reached, wait and try again; after ten minutes raise its error.
    """
    clock = patience.clock
    started = last_reached = clock()
    wait = patience.first
    before: tuple[object, ...] | None = None
    while True:
        try:
            standing = advance(store, evaluation, desk, on_round=on_round)
            last_reached = clock()
        except (DeskUnreachable, StoreUnreachable) as error:
            if before is None or clock() - last_reached > AWAY:
                raise
            _drive_log.warning("%s; looking again in %.0f s", error, wait)
        else:
            if standing.state == "finished":
                return standing
            if on_wait:
                on_wait(standing)
            if patience.in_all is not None and clock() - started + wait > patience.in_all:
                return standing
            progress = (standing.rounds, standing.waiting_for)
            if progress != before:
                wait, before = patience.first, progress
        patience.sleep(wait)
        wait = min(wait * _WAIT_GROWTH, patience.longest)


def open_round(opened: Opened, folded: Fold, annotating: Annotating) -> PlannedRound:
    """The round that is open, its design beside it; planned now if there is none."""
    if folded.open_round is not None:
        _ensure_design(opened.ledger, folded.open_round)
        return folded.open_round
    draws = opened.next_draws(folded.state, folded.asked)
    return _write_plan(opened.ledger, _plan_round(opened, folded, draws, annotating))


@retried
def _plan_round(opened: Opened, folded: Fold, draws: RoundPlan, annotating: Annotating) -> PlannedRound:
    """Look up the items of a round that was drawn, and what people see of them."""
    index = PoolIndex(opened.ledger, opened.manifest, opened.cut.cells)
    rows = index.rows(draws.cell, draws.rank)
    positions = [t for t, ask in enumerate(draws.ask) if ask]
    # where all outcomes are known nobody is shown anything
    to_show = [] if opened.all_known else positions
    shown = dict(zip(to_show, index.shown(opened.spec, [rows[t] for t in to_show]), strict=True))
    inherited = {t: opened.label_beforehand(rows[t].item_id, shown.get(t)) for t in positions}
    labels = known_labels(folded.state)
    addresses = zip(draws.cell.tolist(), draws.rank.tolist(), strict=True)
    item_id = [row.item_id for row in rows]
    to_people = [item_id[t] for t in positions if inherited[t] is None]
    planned = PlannedRound(
        number=folded.state.round + 1,
        plan=draws,
        item_id=item_id,
        **columns_of_items(rows),
        # an item that is asked again has no label that its draw goes by
        known=[None if ask else labels.get(place) for place, ask in zip(addresses, draws.ask, strict=True)],
        segments=[row.segments for row in rows],
        shown=[shown.get(t) for t in range(len(rows))],
        inherited={t: label for t, label in inherited.items() if label is not None},
        gold=annotating.choose(folded, to_people),
        again_alone=opened.spec.desk.again.when == "always",
    )
    # where every answer is a draw of its own, one that surprises is none that another has to confirm
    alone = opened.method.asks_anew
    return planned if alone else replace(planned, again=annotating.surprises(folded, planned))


@retried
def _ensure_design(ledger: Ledger, planned: PlannedRound) -> None:
    """Write the design that the plan carries, if the process that wrote the plan crashed before that."""
    if not ledger.exists(layout.design(ledger.name, planned.number)):
        write_design(ledger, planned)


@effect("write-plan")
def _write_plan(ledger: Ledger, planned: PlannedRound) -> PlannedRound:
    """Write the plan, then the design of the plan that is under the key."""
    winner = write_plan(ledger, planned)
    write_design(ledger, winner)
    return winner


def estimate_round(opened: Opened, folded: Fold, moment: datetime, on_round: OnRound | None) -> Fold:
    """Write the estimates of the round just closed and call `on_round`; returns the fold with them. Prefect
    and the log hear of the closed round as well."""
    look = _write_estimate(opened.ledger, folded.estimate(opened.statistics, opened.segments))
    write_closed(opened.ledger, look.round, moment)
    events.round_closed(opened.ledger.store.url, opened.name, look)
    _log.info("%s: round %d closed, %s", opened.name, look.round, plural(look.labels, "label"))
    if on_round:
        on_round(look)
    return replace(folded, looks=with_one_more(folded.looks, look))


def seal_closed_rounds(opened: Opened, annotating: Annotating, folded: Fold, moment: datetime) -> None:
    """Put the time, the annotators' record and the seal of the last closed round, unless they are there.

    The process that wrote its estimate may have crashed before it wrote these. `moment` is the time then.
    """
    ensure_closed(opened.ledger, folded.state.round, moment)
    _write_annotators(opened, annotating, folded)
    seal_rounds(opened.ledger, folded.state.round, opened.extensions)


@retried
def _write_annotators(opened: Opened, annotating: Annotating, folded: Fold) -> None:
    ledger, number = opened.ledger, folded.state.round
    written = (layout.seal, layout.annotators)
    if number == 0 or any(ledger.exists(key(ledger.name, number)) for key in written):
        return
    if one_person_still(opened, annotating, folded):
        return
    record = annotators_record(opened, annotating, folded)
    if record is not None:
        write_annotators(ledger, record)


@effect(
    "write-estimate", shown=lambda ledger, estimate: f"estimate {ledger.name}, round {estimate.round}"
)
def _write_estimate(ledger: Ledger, estimate: RoundEstimate) -> RoundEstimate:
    return write_estimate(ledger, estimate)
