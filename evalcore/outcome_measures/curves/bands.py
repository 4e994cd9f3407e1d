"""The loss behind curves: which items are of a class, by bands of their score.

    t_h   share of items that are of the class and in band h     (d = H: depends on labels)
    n_h   share of items in band h                                (known from the pool)

Bands rise with the score.  An item is at or above a threshold where its probability is at least as high, or
where its score is higher: the rules by which `pool.threshold` makes predictions.  Probabilities are compared
as 32-bit floats, as a ledger keeps them.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from assay.evalcore.errors import BadInput
from assay.evalcore.outcome_measures.base import Asked, Loss
from assay.evalcore.outcomes.items import Items
from assay.evalcore.outcomes.score_grid import score_of
from assay.evalcore.types import Floats, Ints


@dataclass(frozen=True, slots=True)
class Bands(Loss):
    """Whether an item is of class `part`, in the band of its score.

    edges     (H - 1,) rising; None: those of no pool yet
    of_grid   edges are scores of a pool's grid, and the lowest of their band; else they are thresholds
    """

    part: int = 0
    edges: tuple[float, ...] | None = None
    of_grid: bool = True

    @property
    def size(self) -> int:
        """H."""
        return len(self.edges or ()) + 1

    @property
    def blocks(self) -> tuple[int, ...]:
        """Shares of items by band.  Those of a grid are too many to be drawn together: areas came out low."""
        return () if self.of_grid else (self.size,)

    def band(self, items: Items) -> Ints:
        """(n,) the band of each item."""
        score, given = score_of(items, self.part), items.score is not None
        edges = np.asarray(self.edges or (), np.float64 if given else np.float32)
        above: Literal["left", "right"] = "right" if self.of_grid or not given else "left"
        return np.asarray(np.searchsorted(edges, score, side=above), np.int64)

    def of(self, items: Items, phi: Floats) -> Floats:
        """(n, H)."""
        return np.asarray(self.known(items) * phi[:, self.part, None])

    def known(self, items: Items) -> Floats:
        """(n, H)."""
        return np.asarray(self.band(items)[:, None] == np.arange(self.size), np.float64)

    def pull(self, items: Items, slope: Floats) -> Floats:
        """(n, K)."""
        pull = np.zeros((len(items), self.kind.width))
        pull[:, self.part] = slope[self.band(items)]
        return pull

    def most(self, said: Floats, slope: Floats, told: Floats) -> Floats:
        """An item is in one band."""
        return np.full(len(said), (np.maximum(slope, 0.0) + told).max())

    def needs(self, items: Items) -> None:
        """Raises BadInput without scores, and for bands of no pool."""
        score_of(items.at(slice(0, 0)), self.part)
        if items.score is not None and self.part != self.kind.width - 1:
            raise BadInput(f"the score is one of {self.kind.parts[-1]!r}; ask for the curve of that class")
        if self.edges is None:
            raise BadInput("this measure is made of the pool's scores: give `outcome_measure` the pool's "
                           "grids, as evalcore.outcomes.score_grid.grids makes them")


def class_asked(asked: Asked, name: str) -> tuple[int, str | None]:
    """The class asked for, and what its numbers are told of; without one, the one that measures count."""
    part, counted = asked.one_part(), asked.kind.counted
    if part is not None:
        return part, asked.kind.parts[part]
    if counted is None:
        raise BadInput(f"{name} is of one class: name it, as in {{name: {name}, class: "
                       f"{asked.kind.parts[0]}}}")
    return asked.kind.parts.index(counted), None


def split_bands(risk: Floats) -> tuple[Floats, Floats]:
    """t, n (..., H)."""
    half = risk.shape[-1] // 2
    return risk[..., :half], risk[..., half:]


def upward(values: Floats) -> Floats:
    """Sums (..., H) of each band and those after it."""
    return np.cumsum(values[..., ::-1], axis=-1)[..., ::-1]
