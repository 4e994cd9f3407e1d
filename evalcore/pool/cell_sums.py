"""Items counted and added up by stratum and prediction: all that cells are made of.

A key is 2 · stratum + prediction.  Cells are the keys that occur, in order, so rows ordered by key are
ordered by cell.
"""

from dataclasses import dataclass

import numpy as np

from assay.evalcore.pool.cells import Cells
from assay.evalcore.pool.ordered_scores import OrderedScores
from assay.evalcore.pool.strata import log_density
from assay.evalcore.types import Array, Floats, Ints


def keys_of(stratum: Ints, predictions: Array) -> Ints:
    """The key (n,) of each item; stratum (n,); predictions (n,) 0 or 1."""
    return np.asarray(stratum * 2 + predictions.astype(np.int64))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CellSums:
    """Of some items, by key; K keys."""

    size: Ints            # (K,) items
    score: Floats         # (K,) sum of their scores
    probability: Floats   # (K,) sum of their supplied probabilities

    @staticmethod
    def of(keys: Ints, n_keys: int, scores: Floats, probabilities: Floats) -> "CellSums":
        """Added up in the order of the items; keys, scores, probabilities (n,)."""
        return CellSums(
            size=np.bincount(keys, minlength=n_keys),
            score=np.asarray(np.bincount(keys, weights=scores, minlength=n_keys), np.float64),
            probability=np.asarray(np.bincount(keys, weights=probabilities, minlength=n_keys), np.float64),
        )

    @staticmethod
    def none(n_keys: int) -> "CellSums":
        """Of no items."""
        return CellSums(
            size=np.zeros(n_keys, np.int64), score=np.zeros(n_keys), probability=np.zeros(n_keys)
        )

    def plus(self, other: "CellSums") -> "CellSums":
        """Of these items and then the others.  Sums of floats depend on the order in which they are made."""
        return CellSums(
            size=self.size + other.size, score=self.score + other.score,
            probability=self.probability + other.probability,
        )

    def add(self, keys: Ints, scores: Floats, probabilities: Floats) -> None:
        """Add items (n,) to these, one after the other in their order, as `of` does with all at once."""
        self.size[:] += np.bincount(keys, minlength=len(self.size))
        np.add.at(self.score, keys, scores)
        np.add.at(self.probability, keys, probabilities)

    @property
    def occupied(self) -> Ints:
        """(C,) the keys that occur, rising."""
        return np.flatnonzero(self.size)

    def cells(self, n_slots: int, *, boundary: float = 0.0, ordered: OrderedScores | None = None) -> Cells:
        """The cells of all items.

        n_slots: leaves of the complete tree; boundary: the score at which the system changes its prediction;
        ordered: the scores, for their density.  Without them it is set to 0, as for strata that are no ranges
        of scores: methods that model the density need cuts by score.
        """
        key = self.occupied
        size = self.size[key]
        mean_score = self.score[key] / size
        density: Floats = np.zeros(len(key))
        if ordered is not None:
            density = log_density(ordered, np.minimum(ordered.below(mean_score), len(ordered) - 1))
        return Cells(
            stratum=key // 2,
            prediction=key % 2,
            size=size,
            mean_score=mean_score - boundary,
            mean_probability=self.probability[key] / size,
            log_density=density,
            n_slots=n_slots,
        )

    def cell_of(self, keys: Ints) -> Ints:
        """The cell (n,) of items of these keys (n,)."""
        key = self.occupied
        cell_of_key = np.zeros(len(self.size), np.int64)
        cell_of_key[key] = np.arange(len(key))
        return cell_of_key[keys]
