"""Cells of a pool for any kind of outcome: what a round needs to know of the items nobody has labelled.

    N   items;  C   cells;  B   guesses;  D   components of the losses;  D_k  those that the pool tells
    Q   numbers asked for;  S   systems

Cells are in an order in which neighbours are alike, so neighbours stand in for each other where labels are
few.  A round costs O(cells + labels): of the pool it uses these sums alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields

import numpy as np

from assay.evalcore.types import Array, Bools, Floats, Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Axis:
    """Where cells lie along a score of one class against the rest, (C,) each, rising."""

    part: int            # the code of the class
    stratum: Ints
    prediction: Ints     # 1 where the (first) system predicts the class
    score: Floats        # mean, minus the score where predictions change
    probability: Floats  # mean supplied probability of the class
    density: Floats      # log of the pool's density in score
    votes: Floats        # share of further systems and judges that say the class; 0 without any

    def to_array(self) -> Floats:
        """(7, C)."""
        rows = [getattr(self, f.name) for f in fields(self)[1:]]
        return np.stack([np.full(len(self.score), self.part), *rows]).astype(np.float64)

    @staticmethod
    def from_array(array: Floats) -> "Axis":
        """The inverse of `to_array`."""
        part, stratum, prediction, *rest = array
        score, probability, density, votes = rest
        return Axis(
            part=int(part[0]), stratum=stratum.astype(np.int64), prediction=prediction.astype(np.int64),
            score=score, probability=probability, density=density, votes=votes,
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OutcomeCells:
    """The cells of one pool, for one question."""

    size: Ints          # (C,) items
    guess: Floats       # (C, B, D) sums of what each guess expects of the losses
    spread: Floats      # (C, Q) mean guessed variance of an item's pull at each number
    relevant: Bools     # (C,) whether the labels of its items can change anything that is asked
    told: Floats        # (C, D_k) sums of what the pool tells of the losses
    said: Floats        # (C, S, w) what each system predicts of the items (`OutcomeKind.said`)
    known_sizes: Ints   # the length of each loss's part of `known`
    first: Floats       # (B,) the weights of the guesses before any label
    # of methods with a Dirichlet tree (`outcome_methods.dirichlet.leaves`); None for the others
    chance: Floats | None = None      # (C, K) the mean supplied probability of each class
    by_class: Floats | None = None    # (3, n) losses by class
    axis: Floats | None = None        # (7, C) of cells along a score: `Axis`
    slot: Ints | None = None          # (C,) the leaf
    lump: Ints | None = None          # (K,) classes of one number are one to the tree

    @property
    def known(self) -> Floats:
        """(D_k,) sums over the pool of what it tells of the losses."""
        return np.asarray(self.told.sum(axis=0))

    @property
    def n_cells(self) -> int:
        """C."""
        return len(self.size)

    @property
    def n_items(self) -> int:
        """N."""
        return int(self.size.sum())

    def to_arrays(self) -> dict[str, Array]:
        """Plain arrays, for whoever stores them."""
        named = {f.name: getattr(self, f.name) for f in fields(self)}
        return {name: values for name, values in named.items() if values is not None}

    @staticmethod
    def from_arrays(arrays: Mapping[str, Array]) -> "OutcomeCells":
        """The inverse of `to_arrays`."""
        return OutcomeCells(**{name: np.asarray(values) for name, values in arrays.items()})
