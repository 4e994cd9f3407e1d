"""The items of a round as a desk gets them: one batch for each asking."""

from collections.abc import Collection, Sequence

from assay.evalcore.annotators.gold import shuffled
from assay.tasks.desks.protocol import Batch, Item
from assay.tasks.ledger.rounds.plan import PlannedRound


def first_batch(evaluation: str, planned: PlannedRound, gold: Sequence[Item] = (), seed: int = 0) -> Batch:
    """Everything a round asks, the gold items mixed in among it in an order that depends on the seed."""
    items = _items(planned)
    if gold:
        by_id = {item.item_id: item for item in (*items, *gold)}
        order = shuffled(list(by_id), seed=seed, evaluation=evaluation, number=planned.number)
        items = [by_id[item_id] for item_id in order]
    return Batch(evaluation=evaluation, round=planned.number, items=items)


def second_batch(evaluation: str, planned: PlannedRound, items: Collection[str]) -> Batch:
    """The second asking of these items of a round, in the order of the plan."""
    asked = [item for item in _items(planned) if item.item_id in items]
    return Batch(evaluation=evaluation, round=planned.number, items=asked, asking=2)


def _items(planned: PlannedRound) -> list[Item]:
    return [Item(item_id=planned.item_id[t], shown=planned.shown[t] or {}) for t in planned.to_people()]
