"""K classes seen as one of them against all others.

Where every measure is of one class, nothing else about an item matters: it is of the class, or it is not.
Guesses are then made and weighed as those of two classes, and items are grouped by whether the class is
predicted.  Weighed by how well they tell the other classes apart, guesses that know the class well would
lose to some that do not.  Codes of outcomes stay those of K classes.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

import numpy as np

from assay.evalcore.outcomes.base import OutcomeKind
from assay.evalcore.outcomes.classes import Classes
from assay.evalcore.outcomes.items import SILENT, ItemPool, Items, Places
from assay.evalcore.types import Floats, Ints

B = TypeVar("B")


@dataclass(frozen=True, slots=True)
class OneClass:
    """Class `part` of a kind of K ≥ 2 classes."""

    kind: OutcomeKind
    part: int

    @property
    def two(self) -> Classes:
        """The other classes, and this one."""
        name = self.kind.parts[self.part]
        return Classes((f"not {name}", name))

    @property
    def of_class(self) -> Ints:
        """(K,) 1 for the class, 0 for the others."""
        return np.asarray(np.arange(self.kind.width) == self.part, np.int64)

    def sums(self, phi: Floats) -> Floats:
        """(..., 2) the sums of phi (..., K) over the other classes, and of this one."""
        mine = phi[..., self.part]
        return np.stack([phi.sum(axis=-1) - mine, mine], axis=-1)

    def shared(self, phi: Floats) -> Floats:
        """(..., K) of phi (..., 2): the other classes share what is theirs evenly."""
        each = np.where(self.of_class == 1, 1.0, 1 / (self.kind.width - 1))
        return np.asarray(phi[..., self.of_class] * each)

    def items(self, items: Items) -> Items:
        """The items with what is said of two classes."""
        probability, by_system = items.probability, items.by_system
        return replace(
            items,
            prediction=self._is(items.prediction),
            judge=None if items.judge is None else np.where(
                items.judge == SILENT, SILENT, np.maximum(1 - np.abs(items.judge - self.part), 0.0)
            ),
            probability=None if probability is None else self.sums(probability),
            by_system=None if by_system is None else self.sums(
                by_system.reshape(len(items), items.systems, -1)
            ).reshape(len(items), -1),
        )

    def _is(self, codes: Floats) -> Floats:
        return np.asarray(codes == self.part, np.float64)

    def places(self, pool: ItemPool) -> Places:
        """How items are grouped, by what is said of two classes."""
        return _PlacesOfTwo(self, self.two.places(_PoolOfTwo(self, pool)))


@dataclass(frozen=True, slots=True, eq=False)
class _PlacesOfTwo(Places):
    of: OneClass
    inner: Places

    @property
    def ranked(self) -> int:
        return self.inner.ranked

    def group(self, items: Items) -> Ints:
        return self.inner.group(self.of.items(items))

    def score(self, items: Items, spread: Floats) -> Floats:
        return self.inner.score(self.of.items(items), spread)


class _PoolOfTwo:
    """The items of a pool, with what is said of two classes."""

    def __init__(self, of: OneClass, pool: ItemPool) -> None:
        self._of, self._pool = of, pool

    def __len__(self) -> int:
        return len(self._pool)

    @property
    def n_shards(self) -> int:
        return self._pool.n_shards

    @property
    def none(self) -> Items:
        return self._of.items(self._pool.none)

    def over(self, work: Callable[[Items], B]) -> Iterator[B]:
        return self._pool.over(_OfTwo(self._of, work))


@dataclass(frozen=True, slots=True)
class _OfTwo(Generic[B]):
    of: OneClass
    work: Callable[[Items], B]

    def __call__(self, items: Items) -> B:
        return self.work(self.of.items(items))
