"""The weighted sample of an evaluation: read from its ledger, and exported for programs of other people."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.evalcore.errors import BadInput
from assay.evalcore.outcomes.base import OutcomeKind
from assay.evalcore.outcomes.items import Items
from assay.evalcore.weighted.sample import WeightedSample
from assay.flows.record.fold import Fold, fold
from assay.flows.record.opened import Opened, probability_kind
from assay.flows.revisions.revise import revised_fold
from assay.tasks.effects import retried
from assay.tasks.ledger.revisions import last_revision
from assay.tasks.pool.frozen import FrozenRow, items_of
from assay.tasks.pool.index import PoolIndex


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
    if opened.manifest.rows > opened.cut.cells.n_items:
        raise BadInput(
            f"evaluation {opened.name!r} knows {opened.n_outcomes:,} labels that came by themselves; they "
            "are no sample, and its labels speak of the other items alone"
        )
    sample = opened.statistics.sample(folded.state, folded.closed)
    index = PoolIndex(opened.ledger, opened.manifest, opened.cut.cells)
    rows = index.rows(sample.cell, sample.rank)
    binary, supplied = opened.spec.labels.positive_name is not None, opened.spec.pool.probability
    # beside curves and clusters the probabilities of both classes are kept
    of_positive = binary and supplied is not None and rows[0].probabilities is None
    return PoolSample(
        sample=sample, rows=rows, items=items_of(rows, of_positive=of_positive),
        kind=opened.statistics.kind, folded=folded, revision=0 if newest is None else newest.number,
    )


def exported(opened: Opened, found: PoolSample, *, shown: bool) -> dict[str, Sequence[Any]]:
    """The columns of `tasks.weighted.export`, a row for each labelled item, in the order of the draws."""
    sample, rows, n = found.sample, found.rows, len(found.sample)
    spec, answers = opened.spec, opened.spec.labels.answers
    planned = [one.planned for one in found.folded.closed]
    columns: dict[str, Sequence[Any]] = {
        "item_id": [row.item_id for row in rows],
        "label": [answers.value(code) for code in sample.label.tolist()],
    }
    if rows[0].prediction is not None:
        columns["prediction"] = [answers.value(row.prediction) for row in rows if row.prediction is not None]
    if spec.pool.score is not None:
        columns["score"] = [row.score for row in rows]
    if spec.pool.probability is not None and rows[0].probabilities is None:
        columns["probability"] = [row.probability for row in rows]
    for number, system in enumerate(spec.pool.compared):
        columns[f"system:{system}"] = [answers.value((row.predictions or ())[number]) for row in rows]
        for code, name in enumerate(spec.labels.names if rows[0].by_system is not None else ()):
            columns[f"probability:{system}:{name}"] = [
                (row.by_system or ())[number * len(spec.labels.names) + code] for row in rows
            ]
    for code, name in enumerate(spec.labels.names):
        if spec.pool.probability is not None and rows[0].probabilities is not None:
            columns[f"probability:{name}"] = [row.probabilities[code] for row in rows if row.probabilities]
    for name in opened.manifest.segment_names:
        columns[f"segment:{name}"] = [row.segments[name] for row in rows]
    if shown:
        texts: list[Mapping[str, str]] = [
            planned[number - 1].shown[draw] or {}
            for number, draw in zip(sample.round.tolist(), sample.draw.tolist(), strict=True)
        ]
        columns |= {f"shown:{name}": [text.get(name, "") for text in texts] for name in spec.pool.display}
    kinds = [probability_kind(one.plan) for one in planned]
    return columns | {
        "cell": sample.cell.tolist(),
        "stratum": [opened.statistics.stratum(cell) for cell in sample.cell.tolist()],
        "round": sample.round.tolist(),
        "draw_probability": sample.probability.tolist(),
        "probability_kind": [kinds[number - 1] for number in sample.round.tolist()],
        "sample_weight": sample.weight.tolist(),
        "evaluation": [opened.name] * n,
        "revision": [found.revision] * n,
        "seed": [spec.seed] * n,
        "pool_items": [opened.manifest.rows] * n,
        "pool_digest": [opened.manifest.digest] * n,
    }
