"""The labelled items whose label is not what was predicted, to learn from: those that weigh most first.

They are no picture of the pool's errors: items were drawn unevenly, and where errors were expected more than
elsewhere.  The weight says how many items of the pool an item stands for (`weighted.sample`).
"""

from collections.abc import Sequence
from dataclasses import dataclass

MOST_LISTED = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledItem:
    """One item with a label and a prediction."""

    item_id: str
    predicted: float            # codes: see `evalcore.outcomes.codes`
    label: float
    round: int                  # in which it was labelled, counted from 1
    cell: int
    chance: float               # of the draw that bought the label
    chance_kind: str            # "per draw", "inclusion" in the round, or "census"
    asked: bool = True          # False: its label was known beforehand, and nobody was asked
    weight: float | None = None        # items that it stands for; None where items have no known chances
    score: float | None = None         # where the pool has one
    probability: float | None = None   # of the positive or of the predicted class, where the pool has one
    predicted_text: str = ""           # both as people write them
    label_text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WrongPredictions:
    """The errors among the labelled items."""

    labelled: int                      # items with a label
    count: int                         # of them, those with an error
    weight: float | None               # items that the errors stand for; None where weights are not known
    items: tuple[LabelledItem, ...]    # MOST_LISTED of them at most, in order
    by_size: bool                      # the largest errors first, not those that weigh most


def wrong_predictions(items: Sequence[LabelledItem], *, by_size: bool) -> WrongPredictions:
    """The items (any number) whose label differs from the prediction.

    by_size: outcomes are numbers: the largest |prediction - label| first. Otherwise the largest weight first,
    or where weights are not known the smallest chance. What is equal stays in the order given.
    """
    wrong = [one for one in items if one.predicted != one.label]
    weights = [one.weight for one in wrong if one.weight is not None]
    ordered = sorted(wrong, key=_by_size if by_size else _by_weight)
    return WrongPredictions(
        labelled=len(items), count=len(wrong), weight=sum(weights) if len(weights) == len(wrong) else None,
        items=tuple(ordered[:MOST_LISTED]), by_size=by_size,
    )


def _by_size(one: LabelledItem) -> float:
    return -abs(one.predicted - one.label)


def _by_weight(one: LabelledItem) -> float:
    return one.chance if one.weight is None else -one.weight
