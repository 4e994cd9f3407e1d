"""Cells: the items of one stratum and one prediction, which no method tells apart.

Everything a round computes is an array over cells, so a round costs the same for ten thousand items and for
ten million.

    C   number of occupied cells, ordered by (stratum, prediction)
    N   number of items, the sum of the cells' sizes
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

from assay.evalcore.errors import BadInput
from assay.evalcore.measures.two_classes import Measure
from assay.evalcore.pool.strata import OrderedScores, log_density
from assay.evalcore.types import Array, Bools, Floats, Ints, JsonObject


@dataclass(frozen=True, kw_only=True, eq=False)
class Cells:
    """The occupied cells of one partition of a pool with one system and two classes.

    Raises BadInput when the arrays cannot describe a partition.
    """

    stratum: Ints            # (C,) slot of the stratum among the tree's leaves; slots rise with the score
    prediction: Ints         # (C,) 1 where the system predicts the positive class
    size: Ints               # (C,) items in the cell, at least 1
    mean_score: Floats       # (C,) mean of score minus decision boundary
    mean_probability: Floats  # (C,) mean supplied probability of the positive class
    log_density: Floats      # (C,) log of the pool's local density in score, at the cell's middle
    n_slots: int             # leaves of the complete tree the strata hang on

    def __post_init__(self) -> None:
        lengths = {f.name: len(getattr(self, f.name)) for f in fields(self) if f.name != "n_slots"}
        if len(set(lengths.values())) != 1 or not lengths["size"]:
            raise BadInput(f"cells need at least one entry and arrays of one length, got {lengths}")
        if self.size.min() < 1:
            raise BadInput(f"a cell of size {self.size.min()} is not an occupied cell")
        if not np.isin(self.prediction, (0, 1)).all():
            raise BadInput("predictions of cells are 0 or 1")
        if not (self.stratum.min() >= 0 and self.stratum.max() < self.n_slots):
            raise BadInput(f"strata must lie in 0..{self.n_slots - 1}")

    @cached_property
    def n_items(self) -> int:
        """N, the number of items in the pool."""
        return int(self.size.sum())

    @cached_property
    def predicted_positives(self) -> int:
        """Number of items the system calls positive: known, never estimated."""
        return int(self.size[self.prediction == 1].sum())

    @property
    def n_cells(self) -> int:
        """C, the number of occupied cells."""
        return len(self.size)

    def to_json(self) -> JsonObject:
        """Plain lists and numbers; floats keep every bit through JSON's shortest form."""
        return {f.name: _plain(getattr(self, f.name)) for f in fields(self)}

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> "Cells":
        """The inverse of `to_json`."""
        whole = {"stratum", "prediction", "size"}
        arrays: dict[str, Array] = {
            f.name: np.asarray(data[f.name], dtype=np.int64 if f.name in whole else np.float64)
            for f in fields(Cells)
            if f.name != "n_slots"
        }
        return Cells(**arrays, n_slots=int(data["n_slots"]))


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray) else value


# Items counted and added up by stratum and prediction: all that cells are made of.
#
# A key is 2 · stratum + prediction.  Cells are the keys that occur, in order, so rows ordered by key are
# ordered by cell.

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
        """Sums of no items."""
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


def relevant_cells(measures: Sequence[Measure], cells: Cells) -> Bools:
    """Cells (C,) in which a label can change at least one of the measures."""
    matters = np.any([measure.label_matters() for measure in measures], axis=0)
    return np.asarray(matters[cells.prediction])
