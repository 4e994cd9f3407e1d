"""One round: planned before anyone is asked, and estimated and sealed when it is closed."""

import logging
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from assay.evalcore.design.round import RoundPlan
from assay.evalcore.errors import plural
from assay.evalcore.evaluation.state import known_labels, plan, with_one_more
from assay.flows.people.annotating import Annotating, annotators_record, one_person_still
from assay.flows.record.fold import Fold
from assay.flows.record.opened import Opened
from assay.tasks import events
from assay.tasks.effects import effect, retried
from assay.tasks.ledger import layout
from assay.tasks.ledger.asked_round import PlannedRound, write_design, write_plan
from assay.tasks.ledger.closed_round import RoundEstimate, write_annotators, write_estimate
from assay.tasks.ledger.life import ensure_closed, write_closed
from assay.tasks.ledger.record import Ledger
from assay.tasks.ledger.seals import seal_rounds
from assay.tasks.pool.frozen import (
    clusters_of,
    judges_of,
    predictions_by_system,
    predictions_of,
    probabilities_by_system,
    probabilities_of,
    scores_of,
)
from assay.tasks.pool.shown import PoolIndex


def open_round(opened: Opened, folded: Fold, annotating: Annotating) -> PlannedRound:
    """The round that is open, its design beside it; planned now if there is none."""
    if folded.open_round is not None:
        _ensure_design(opened.ledger, folded.open_round)
        return folded.open_round
    draws = plan(opened.question, folded.state, opened.round_size(folded.asked))
    return _write_plan(opened.ledger, _plan_round(opened, folded, draws, annotating))


@retried
def _plan_round(opened: Opened, folded: Fold, draws: RoundPlan, annotating: Annotating) -> PlannedRound:
    """Look up the items of a round that was drawn, and what people see of them."""
    index = PoolIndex(opened.ledger, opened.manifest, opened.cut.cells)
    rows = index.rows(draws.cell, draws.rank)
    asked = [t for t, ask in enumerate(draws.ask) if ask]
    # where all outcomes are known nobody is shown anything
    to_show = [] if opened.all_known else asked
    shown = dict(zip(to_show, index.shown(opened.spec, [rows[t] for t in to_show]), strict=True))
    inherited = {t: opened.label_beforehand(rows[t].item_id, shown.get(t)) for t in asked}
    known = known_labels(folded.state)
    addresses = zip(draws.cell.tolist(), draws.rank.tolist(), strict=True)
    item_id = [row.item_id for row in rows]
    to_people = [item_id[t] for t in asked if inherited[t] is None]
    planned = PlannedRound(
        number=folded.state.round + 1,
        plan=draws,
        item_id=item_id,
        prediction=predictions_of(rows),
        probabilities=probabilities_of(rows),
        predictions=predictions_by_system(rows),
        by_system=probabilities_by_system(rows),
        judges=judges_of(rows),
        scores=scores_of(rows),
        clusters=clusters_of(rows),
        # an item that is asked again has no label that its draw goes by
        known=[None if ask else known.get(one) for one, ask in zip(addresses, draws.ask, strict=True)],
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


# After a round is closed: its estimates, how the people did, and its seal.

_log = logging.getLogger("assay.advance")
OnRound = Callable[[RoundEstimate], None]


def estimate_round(opened: Opened, folded: Fold, now: datetime, on_round: OnRound | None) -> Fold:
    """Write the estimates of the round just closed and call `on_round`; returns the fold with them."""
    known = _write_estimate(opened.ledger, folded.estimate(opened.statistics, opened.segments))
    write_closed(opened.ledger, known.round, now)
    events.round_closed(opened.ledger.store.url, opened.name, known)
    _log.info("%s: round %d closed, %s", opened.name, known.round, plural(known.labels, "label"))
    if on_round:
        on_round(known)
    return replace(folded, looks=with_one_more(folded.looks, known))


def seal_closed_rounds(opened: Opened, annotating: Annotating, folded: Fold, now: datetime) -> None:
    """Put the time, the annotators' record and the seal of the last closed round, unless they are there.

    The process that wrote its estimate may have crashed before it wrote these. `now` is the time then.
    """
    ensure_closed(opened.ledger, folded.state.round, now)
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


@effect("write-estimate")
def _write_estimate(ledger: Ledger, estimate: RoundEstimate) -> RoundEstimate:
    return write_estimate(ledger, estimate)
