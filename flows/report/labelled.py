"""The labelled items of an evaluation, as its labels stand now."""

from assay.flows.record.opened import Opened
from assay.tasks.ledger.revisions import last_revision, with_revision
from assay.tasks.ledger.rounds.labels import Decided, read_labels
from assay.tasks.ledger.rounds.plan import PlannedRound, read_plan


def predicted_and_said(opened: Opened) -> list[tuple[float, float]]:
    """(prediction, label) of every labelled item, where both are numbers; nothing for other labels."""
    if opened.spec.labels.names or opened.spec.pool.prediction is None:
        return []
    ledger = opened.ledger
    plans: list[PlannedRound] = []
    closed: list[list[Decided]] = []
    while (decided := read_labels(ledger, len(closed) + 1)) is not None:
        closed.append(decided)
        planned = read_plan(ledger, len(closed))
        plans += [planned] if planned is not None else []
    predicted = {
        (planned.number, item): float(f)
        for planned in plans if planned.prediction is not None
        for item, f in zip(planned.item_id, planned.prediction.tolist(), strict=True)
    }
    return [
        (predicted[number, one.item_id], one.label)
        for number, decided in enumerate(with_revision(closed, last_revision(ledger)), start=1)
        for one in decided if one.label is not None
    ]
