"""The weighted sample of an evaluation, read from its ledger."""

from collections.abc import Sequence
from dataclasses import dataclass

from assay.evalcore.errors import BadInput
from assay.evalcore.outcomes.base import OutcomeKind
from assay.evalcore.outcomes.items import Items
from assay.evalcore.weighted.sample import WeightedSample
from assay.flows.record.fold import Fold, fold
from assay.flows.record.opened import Opened
from assay.flows.revisions.recompute import revised_fold
from assay.tasks.effects.calls import retried
from assay.tasks.ledger.revisions import last_revision
from assay.tasks.pool.frozen import FrozenRow
from assay.tasks.pool.index import PoolIndex
from assay.tasks.weighted.items import items_of


class NoLabels(BadInput):
    """No round has closed with a label yet, so there is nothing to weigh."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PoolSample:
    """The labelled items, their weights, and what the pool says of them, all in one order."""

    sample: WeightedSample
    rows: Sequence[FrozenRow]
    items: Items
    kind: OutcomeKind
    folded: Fold           # with the labels of now
    revision: int          # of the labels; 0: as the rounds were closed


@retried
def read_sample(opened: Opened) -> PoolSample:
    """The labelled items of the closed rounds, with the labels of now.

    Raises NoLabels before the first label, and BadInput where the items have no known chances.
    """
    folded, newest = fold(opened.ledger, opened.statistics), last_revision(opened.ledger)
    if newest is not None and newest.rounds:
        folded = revised_fold(opened, folded, newest)
    if not folded.state.labels:
        raise NoLabels(
            f"evaluation {opened.name!r} has no label yet; run `assay advance {opened.name}` when people "
            "have answered"
        )
    if opened.n_outcomes and not opened.all_known:
        raise BadInput(
            f"evaluation {opened.name!r} knows {opened.n_outcomes:,} labels that came by themselves; they "
            "are no sample, and its labels speak of the other items alone"
        )
    sample = opened.statistics.sample(folded.state, folded.closed)
    index = PoolIndex(opened.ledger, opened.manifest, opened.cut.cells)
    rows = index.rows(sample.cell, sample.rank)
    binary, supplied = opened.spec.labels.positive_name is not None, opened.spec.pool.probability
    return PoolSample(
        sample=sample, rows=rows, items=items_of(rows, of_positive=binary and supplied is not None),
        kind=opened.statistics.kind, folded=folded, revision=0 if newest is None else newest.number,
    )
