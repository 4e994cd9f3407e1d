"""Measures of preferences: how often the first answer wins, and the share of each outcome.

win rate   share of items that the first wins, ties counting half
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from assay.evalcore.measures.measure import AskedMeasure, Loss, Margin, MeasureFamily, OutcomeMeasure
from assay.evalcore.outcomes.items import Items
from assay.evalcore.types import Floats

_WINS = "share of items that the first answer wins, ties counting half"


@dataclass(frozen=True, slots=True)
class Shares(Loss):
    """φ itself: a prediction plays no part."""

    @property
    def size(self) -> int:
        """K."""
        return self.kind.width

    def of(self, items: Items, phi: Floats) -> Floats:
        """(n, K)."""
        return phi

    def pull(self, items: Items, slope: Floats) -> Floats | None:
        """The slopes."""
        return np.broadcast_to(slope, (len(items), self.size))

    def most(self, said: Floats, slope: Floats, told: Floats) -> Floats:
        """One outcome is there."""
        return np.full(len(said), slope.max())

    def needs(self, items: Items) -> None:
        """Nothing."""


def _measure(asked: AskedMeasure, name: str, title: str, meaning: str, worth: Floats) -> OutcomeMeasure:
    """worth (q, K) of each outcome."""

    def margin(limit: float, known: Floats, at_least: bool) -> Margin:
        return Margin(constant=-limit, slope=worth[0], told=np.zeros(len(known)))

    return OutcomeMeasure(
        name=name, title=title, meaning=meaning, undefined_when="the pool is empty", bounds=(0.0, 1.0),
        losses=(Shares(asked.kind),), value=lambda risk: risk @ worth.T,
        gradient=lambda risk: np.broadcast_to(worth, (*risk.shape[:-1], *worth.shape)),
        parts=(None,) if name == "win_rate" else _parts(asked), margin=margin if len(worth) == 1 else None,
    )


def _parts(asked: AskedMeasure) -> tuple[str, ...]:
    only = asked.one_part()
    return asked.kind.parts if only is None else (asked.kind.parts[only],)


def _win_rate(asked: AskedMeasure) -> OutcomeMeasure:
    return _measure(
        asked, "win_rate", "Win rate", _WINS, np.array([asked.kind.grades])
    )


def _rate(asked: AskedMeasure) -> OutcomeMeasure:
    chosen = [asked.kind.parts.index(part) for part in _parts(asked)]
    meaning = "share of items that people decided so"
    return _measure(asked, "rate", "Rate", meaning, np.eye(asked.kind.width)[chosen])


def _family(
    name: str, title: str, meaning: str, make: Callable[[AskedMeasure], OutcomeMeasure], *options: str
) -> MeasureFamily:
    return MeasureFamily(
        name=name, title=title, meaning=meaning, kinds=("preference",), options=options, needs=(), make=make
    )


FAMILIES = (
    _family("win_rate", "Win rate", _WINS, _win_rate),
    _family("rate", "Rate", "share of items that people decided so", _rate, "class"),
)
