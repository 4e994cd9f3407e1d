"""The labelled items of an evaluation as its report reads them: errors, pairs, scores, and probabilities
against labels."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import isnan

from assay.evalcore.pool.strata import Cells
from assay.evalcore.types import Floats
from assay.evalcore.weighted.judges import (
    ReliabilityBin,
    of_predicted,
    reliability,
    reliability_of_predictions,
)
from assay.evalcore.weighted.sample import (
    LabelledItem,
    ScoreBin,
    WrongPredictions,
    along_the_score,
    wrong_predictions,
)
from assay.flows.record.opened import Opened
from assay.flows.weighted import PoolSample
from assay.tasks.ledger.asked_round import PlannedRound, read_plan
from assay.tasks.ledger.closed_round import Decided, last_revision, read_labels, with_revision
from assay.tasks.pool.frozen import FrozenRow


def labelled_items(opened: Opened, sample: PoolSample | None) -> list[LabelledItem]:
    """Every labelled item that has a prediction, in the order of rounds and draws.

    sample: the labelled items with weights, where they have any; without it weights, scores and probabilities
    are left out. Where systems are compared the prediction is the baseline's.
    """
    ledger = opened.ledger
    plans: list[PlannedRound] = []
    closed: list[list[Decided]] = []
    while (decided := read_labels(ledger, len(closed) + 1)) is not None:
        planned = read_plan(ledger, len(closed) + 1)
        if planned is None:
            break
        closed.append(decided)
        plans.append(planned)
    items = [
        item for planned, decided in zip(plans, with_revision(closed, last_revision(ledger)), strict=True)
        for item in _of_round(opened, planned, decided)
    ]
    return items if sample is None else _with_weights(opened, items, sample)


def predicted_and_labelled(opened: Opened, items: Sequence[LabelledItem]) -> list[tuple[float, float]]:
    """(prediction, label) of every labelled item, where both are numbers; nothing for other labels."""
    if opened.spec.labels.names or opened.spec.pool.prediction is None:
        return []
    return [(item.predicted, item.label) for item in items]


def errors_found(opened: Opened, items: Sequence[LabelledItem]) -> WrongPredictions | None:
    """The errors among the labelled items, as people write them; None without labels or predictions."""
    if not items:
        return None
    answers = opened.spec.labels.answers
    errors = wrong_predictions(items, by_size=not opened.spec.labels.names)
    return replace(errors, items=tuple(
        replace(item, predicted_text=answers.text(item.predicted), label_text=answers.text(item.label))
        for item in errors.items
    ))


def texts_of_errors(opened: Opened, errors: WrongPredictions | None) -> dict[str, str]:
    """Item -> what people saw of it, of the errors that are listed; nothing where nobody was asked. Fields of
    one item are joined by a dot in the middle."""
    texts: dict[str, str] = {}
    listed = {} if errors is None else {error.item_id: error.round for error in errors.items}
    for number in sorted(set(listed.values())):
        planned = read_plan(opened.ledger, number)
        for item_id, shown in zip(planned.item_id, planned.shown, strict=True) if planned else ():
            if item_id in listed and shown:
                texts[item_id] = " · ".join(text for text in shown.values() if text)
    return texts


def score_axis(opened: Opened, items: Sequence[LabelledItem]) -> tuple[ScoreBin, ...]:
    """Where the labels went on the axis of the score, or of the probability where the pool has no score. Bins
    with the numbers of items and of labels, by class; none without cells of scores."""
    cells = opened.question.cells
    if not isinstance(cells, Cells):
        return ()
    return along_the_score(
        cells.mean_probability if opened.spec.pool.score is None else cells.mean_score, cells.size,
        [item.cell for item in items], [item.label == 1 for item in items],
    )


def probabilities_held(opened: Opened, sample: PoolSample | None) -> tuple[ReliabilityBin, ...]:
    """The pool's probabilities against the labels: of the positive one of two classes, or of the class that
    is predicted; () without them, and where systems are compared."""
    labels = opened.spec.labels
    if sample is None or sample.items.probability is None or opened.spec.pool.compares:
        return ()
    if labels.positive_name is None:
        return _of_predictions(opened, sample, sample.items.probability)
    return reliability(
        sample.sample, sample.items.probability[:, 1], sample.kind.parts, opened.manifest.rows,
        opened.confidence,
    )


def _of_predictions(
    opened: Opened, sample: PoolSample, probability: Floats
) -> tuple[ReliabilityBin, ...]:
    if not sample.kind.one_of_parts or sample.items.systems != 1:
        return ()
    return reliability_of_predictions(
        sample.kind, sample.sample, sample.items, of_predicted(sample.items.prediction[:, 0], probability),
        opened.manifest.rows, opened.spec.target.confidence,
    )


def _of_round(opened: Opened, planned: PlannedRound, decided: Sequence[Decided]) -> Iterator[LabelledItem]:
    predicted = _predicted(planned)
    if predicted is None:
        return
    plan = planned.plan
    kind = plan.probability_kind
    draw = {planned.item_id[t]: t for t in planned.asked()}
    for row in decided:
        if row.label is None:
            continue
        t = draw[row.item_id]
        yield LabelledItem(
            item_id=row.item_id, predicted=float(predicted[t]), label=row.label, round=planned.number,
            cell=row.cell, chance=float(plan.probability[t]), chance_kind=kind, asked=row.reason != "reused",
        )


def _predicted(planned: PlannedRound) -> Floats | None:
    """(T,) codes; None where nothing is predicted."""
    if planned.prediction is None and planned.predictions is not None:
        return planned.predictions[:, 0]
    return planned.prediction


def _with_weights(opened: Opened, items: Sequence[LabelledItem], sample: PoolSample) -> list[LabelledItem]:
    rows = dict(zip((row.item_id for row in sample.rows), zip(
        sample.sample.weight.tolist(), sample.rows, strict=True
    ), strict=True))
    return [
        item if (entry := rows.get(item.item_id)) is None else replace(
            item, weight=entry[0], score=_score(opened, entry[1]),
            probability=_probability(opened, entry[1], item),
        )
        for item in items
    ]


def _score(opened: Opened, row: FrozenRow) -> float | None:
    return None if opened.spec.pool.score is None or isnan(row.score) else row.score


def _probability(opened: Opened, row: FrozenRow, item: LabelledItem) -> float | None:
    """Of the positive of two classes, else of the predicted class; None for tags, and where there is none."""
    if opened.spec.pool.probability is None:
        return None
    if row.probabilities is not None:
        one_of = opened.statistics.kind.one_of_parts
        return row.probabilities[int(item.predicted)] if one_of else None
    return None if isnan(row.probability) else row.probability
