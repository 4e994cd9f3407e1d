"""Measures of the outcomes alone: the share of each class, tag or preference, and how often the first wins.

    rate       the share of the items whose outcome it is
    win rate   the share of items that the first answer wins, ties counting half

What a system predicts plays no part in them, so pools without predictions have them too.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from assay.evalcore.measures.measure import AskedMeasure, Loss, Margin, MeasureFamily, OutcomeMeasure
from assay.evalcore.outcomes.items import Items
from assay.evalcore.types import Floats

WINS = ("win_rate", "Win rate", "share of items that the first answer wins, ties counting half")
RATE = ("rate", "Rate", "share of the items that are of the class")   # name, title, meaning


@dataclass(frozen=True, slots=True)
class Shares(Loss):
    """The losses of the shares of outcomes: the vector φ itself, or the component of one class or tag.
    Predictions play no part, so pools without predictions have these measures too."""

    of_prediction: ClassVar[bool] = True

    part: int | None = None

    @property
    def size(self) -> int:
        """The length d of the loss vector: K classes or tags, or 1 where a single one is asked for. Each mean
        is the share of one class."""
        return self.kind.width if self.part is None else 1

    @property
    def zero_or_one(self) -> bool:
        """Always true: an item is of a class, or has a tag, or it is and has not. So each mean is a share,
        with the intervals of shares."""
        return True

    @property
    def blocks(self) -> tuple[int, ...]:
        """One run; none of preferences, of which no outcome is rare."""
        return () if self.kind.name == "preference" else (self.size,)

    def item_losses(self, items: Items, phi: Floats) -> Floats:
        """The outcomes themselves, (n, K) for n items, or the column of one class or tag, (n, 1). Predictions
        play no part in it. K counts the classes or tags; their means are shares of the pool."""
        return phi if self.part is None else phi[:, self.part : self.part + 1]

    def pull(self, items: Items, slope: Floats) -> Floats | None:
        """Coefficients of φ, (n, K): the slopes by class or tag, the same for each of n items, and 0 for
        parts that are not asked for."""
        return np.broadcast_to(self._by_outcome(slope), (len(items), self.kind.width))

    def most(self, support: Floats, slope: Floats, known_slope: Floats) -> Floats:
        """The outcome of an item is one of its kind's, or any set of tags. (C,) for C cells, the same for
        all: no prediction bounds it."""
        by_outcome = self._by_outcome(slope)
        best = by_outcome.max() if self.kind.one_of_parts else np.maximum(by_outcome, 0.0).sum()
        return np.full(len(support), best)

    def needs(self, items: Items) -> None:
        """Never raises: the shares of outcomes need no column of the pool."""

    def _by_outcome(self, slope: Floats) -> Floats:
        """(K,) the slope of each component of φ."""
        return slope if self.part is None else np.asarray(slope[0] * np.eye(self.kind.width)[self.part])


def _of_shares(
    words: tuple[str, str, str], loss: Shares, worth: Floats, parts: tuple[str | None, ...]
) -> OutcomeMeasure:
    """The numbers worth @ shares; worth (q, d).  words: name, title and meaning."""
    name, title, meaning = words

    def margin(limit: float, known_means: Floats, at_least: bool) -> Margin:
        return Margin(constant=-limit, slope=worth[0], known_slope=np.zeros(len(known_means)))

    return OutcomeMeasure(
        name=name, title=title, meaning=meaning, undefined_when="the pool is empty", bounds=(0.0, 1.0),
        losses=(loss,), value=lambda risk: risk @ worth.T,
        gradient=lambda risk: np.broadcast_to(worth, (*risk.shape[:-1], *worth.shape)), parts=parts,
        margin=margin if len(worth) == 1 else None,
    )


def _win_rate(request: AskedMeasure) -> OutcomeMeasure:
    return _of_shares(WINS, Shares(request.kind), np.array([request.kind.grades]), (None,))


def _rate(request: AskedMeasure) -> OutcomeMeasure:
    kind, only = request.kind, request.one_part()
    parts: tuple[str | None, ...] = kind.parts if only is None else (kind.parts[only],)
    if only is None and kind.counted is not None:
        only, parts = kind.parts.index(kind.counted), (None,)
    loss = Shares(kind, part=only)
    return _of_shares(RATE, loss, np.eye(loss.size), parts)


def _family(
    words: tuple[str, str, str], kinds: tuple[str, ...], make: Callable[[AskedMeasure], OutcomeMeasure],
    *options: str,
) -> MeasureFamily:
    name, title, meaning = words
    return MeasureFamily(
        name=name, title=title, meaning=meaning, kinds=kinds, options=options, needs=(), make=make
    )


FAMILIES = (
    _family(WINS, ("preference",), _win_rate),
    _family(RATE, ("classes", "tags", "preference"), _rate, "class"),
)
