"""Plan the next round: draw its items, look them up, and write down what was drawn before anyone is asked."""

from dataclasses import replace

from assay.evalcore.design.round import RoundPlan
from assay.evalcore.evaluation.plan import plan
from assay.evalcore.evaluation.seen import known_labels
from assay.flows.people.annotating import Annotating
from assay.flows.record.fold import Fold
from assay.flows.record.opened import Opened
from assay.tasks.effects.calls import effect, retried
from assay.tasks.ledger import layout
from assay.tasks.ledger.owner import Ledger
from assay.tasks.ledger.rounds.plan import PlannedRound, write_design, write_plan
from assay.tasks.pool.frozen import (
    clusters_of,
    judges_of,
    predictions_by_system,
    predictions_of,
    probabilities_by_system,
    probabilities_of,
    scores_of,
)
from assay.tasks.pool.index import PoolIndex


def open_round(opened: Opened, folded: Fold, annotating: Annotating) -> PlannedRound:
    """The round that is open, its design beside it; planned now if there is none."""
    if folded.open_round is not None:
        _ensure_design(opened.ledger, folded.open_round)
        return folded.open_round
    draws = plan(opened.question, folded.state, opened.round_size(folded.asked))
    return _write_plan(opened.ledger, _plan_round(opened, folded, draws, annotating))


@retried
def _plan_round(opened: Opened, folded: Fold, draws: RoundPlan, annotating: Annotating) -> PlannedRound:
    """Look up the items of a round that was drawn.

    Raises BadInput where the source no longer shows what it showed when the pool was frozen.
    """
    index = PoolIndex(opened.ledger, opened.manifest, opened.cut.cells)
    rows = index.rows(draws.cell, draws.rank)
    asked = [t for t, ask in enumerate(draws.ask) if ask]
    inherited = {t: opened.label_beforehand(rows[t].item_id, rows[t].shown_hash) for t in asked}
    # where all outcomes are known nobody is shown anything, and the source is not read again
    to_show = [] if opened.all_known else asked
    shown = dict(zip(to_show, index.shown(opened.spec, [rows[t] for t in to_show]), strict=True))
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
        known=[known.get(address) for address in addresses],
        segments=[row.segments for row in rows],
        shown=[shown.get(t) for t in range(len(rows))],
        inherited={t: label for t, label in inherited.items() if label is not None},
        gold=annotating.choose(folded, to_people),
        again_alone=opened.spec.desk.again.when == "always",
    )
    return replace(planned, again=annotating.surprises(folded, planned))


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
