"""Which stratum a row is in: by its score, by what further systems predict of it, or by its features.

A rule is made once and travels to workers. The stratum of a row follows from the row alone.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa

from assay.evalcore.pool.feature_strata import FeatureCut
from assay.evalcore.pool.patterns import pattern_of
from assay.evalcore.pool.stratum_finder import StratumFinder
from assay.evalcore.types import Array, Floats, Ints
from assay.tasks.arrow import numbers_of

Finder = Callable[[pa.Table], Ints]     # the stratum (n,) of each row of some


class Placing(Protocol):
    """A rule."""

    @property
    def n_strata(self) -> int:
        """Strata there may be."""
        ...

    @property
    def columns(self) -> Sequence[str]:
        """What it looks at beside score, probability and prediction."""
        ...

    def finder(self) -> Finder:
        """What applies it to the rows of a shard."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class ByScore:
    """Strata between edges."""

    edges: Floats
    columns: Sequence[str] = ()

    @property
    def n_strata(self) -> int:
        """See Placing."""
        return len(self.edges) + 1

    def finder(self) -> Finder:
        """See Placing."""
        strata = StratumFinder(self.edges)
        return lambda table: strata.of(numbers_of(table.column("score")))


@dataclass(frozen=True, slots=True)
class BySystems:
    """Items of which the further systems predict the same make a stratum."""

    columns: Sequence[str]

    @property
    def n_strata(self) -> int:
        """See Placing."""
        return 1 << len(self.columns)

    def finder(self) -> Finder:
        """See Placing."""
        return lambda table: pattern_of(_stacked(table, self.columns))[0]


@dataclass(frozen=True, slots=True, eq=False)
class ByFeatures:
    """The leaves of a cut by features."""

    columns: Sequence[str]
    cut: FeatureCut
    n_strata: int

    def finder(self) -> Finder:
        """See Placing."""
        return lambda table: self.cut.leaves(_stacked(table, self.columns))


def _stacked(table: pa.Table, columns: Sequence[str]) -> Array:
    return np.stack([numbers_of(table.column(name)) for name in columns], axis=1)
