"""The first round of labels that were there before, as it will be once it is planned and closed."""

from dataclasses import replace
from typing import TYPE_CHECKING

from assay.flows.record.fold import Fold
from assay.flows.record.opened import Opened
from assay.tasks.effects import retried
from assay.tasks.ledger.asked_round import PlannedRound
from assay.tasks.ledger.closed_round import reused_row
from assay.tasks.pool.frozen import columns_of_items
from assay.tasks.pool.shown import PoolIndex

if TYPE_CHECKING:
    from assay.tasks.pool.held_labels import FrozenHeldLabels


@retried
def with_held(opened: Opened, folded: Fold, held: "FrozenHeldLabels") -> Fold:
    """The fold of an evaluation before its first round, with the labels of its held sample as that round;
    nothing is written, nobody is shown anything."""
    draws = opened.next_draws(folded.state, folded.asked)
    rows = PoolIndex(opened.ledger, opened.manifest, opened.cut.cells).rows(draws.cell, draws.rank)
    planned = PlannedRound(
        number=1, plan=draws, item_id=[row.item_id for row in rows], **columns_of_items(rows),
        known=[None] * len(rows), segments=[row.segments for row in rows], shown=[None] * len(rows),
        inherited={draw: held.code[row.item_id] for draw, row in enumerate(rows)},
    )
    labels = [reused_row(planned, draw) for draw in planned.asked()]
    return replace(folded, open_round=planned).close(opened.statistics, labels)
