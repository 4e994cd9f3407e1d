"""From draws to a round people can be asked about: ids, predictions, segments and shown fields."""

from assay.evalcore.evaluation.state import RoundPlan
from assay.flows.people.annotating import Annotating
from assay.flows.record.fold import Fold
from assay.flows.record.opened import Opened
from assay.tasks.effects.calls import retried
from assay.tasks.ledger.rounds.plan import PlannedRound
from assay.tasks.pool.frozen import predictions_of
from assay.tasks.pool.index import PoolIndex


@retried
def plan_round(
    opened: Opened, folded: Fold, draws: RoundPlan, annotating: Annotating
) -> PlannedRound:
    """Look up the items of a round that was drawn.

    Raises BadInput where the source no longer shows what it showed when the pool was frozen.
    """
    index = PoolIndex(opened.ledger, opened.manifest, opened.partition)
    rows = index.rows(draws.cell, draws.rank)
    asked = [t for t, ask in enumerate(draws.ask) if ask]
    inherited = {t: opened.inherited.get((rows[t].item_id, rows[t].shown_hash or "")) for t in asked}
    shown = iter(index.shown(opened.spec, [row for row, ask in zip(rows, draws.ask, strict=True) if ask]))
    known = folded.known_labels()
    addresses = zip(draws.cell.tolist(), draws.rank.tolist(), strict=True)
    item_id = [row.item_id for row in rows]
    to_people = [item_id[t] for t in asked if inherited[t] is None]
    return PlannedRound(
        number=folded.state.round + 1,
        plan=draws,
        item_id=item_id,
        prediction=predictions_of(rows),
        known=[known.get(address) for address in addresses],
        segments=[row.segments for row in rows],
        shown=[next(shown) if ask else None for ask in draws.ask],
        inherited={t: label for t, label in inherited.items() if label is not None},
        gold=annotating.choose(folded, to_people),
        again=annotating.surprises(folded, draws, item_id),
        again_alone=opened.spec.desk.again.when == "always",
    )
