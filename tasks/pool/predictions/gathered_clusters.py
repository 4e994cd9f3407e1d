"""The clusters of the rows read so far, for methods that draw whole ones."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from assay.evalcore.outcome_methods.registry import outcome_method
from assay.evalcore.outcome_methods.whole_clusters.method import MOST_CLUSTERS, too_many
from assay.evalcore.types import Array, Floats
from assay.tasks.ledger.manifest import CLUSTER
from assay.tasks.ledger.stores.travelling import Travelling
from assay.tasks.pool.cutting.frozen_shards import FrozenShard
from assay.tasks.pool.cutting.pool_to_cut import PoolToCut
from assay.tasks.spec.evaluation import Spec


def are_needed(spec: Spec) -> bool:
    """Whether the pool is cut by cluster."""
    return spec.pool.cluster is not None and outcome_method(spec.method).needs_clusters


def names_of_clusters(spec: Spec, pool: PoolToCut) -> tuple[str, ...]:
    """All clusters of a pool that is cut by cluster, in the order in which they come; none otherwise.

    Raises BadInput where there are more than can be cells.
    """
    if not are_needed(spec):
        return ()
    names: dict[str, None] = {}
    for found in pool.map_over(_Names(Travelling(pool.store)), pool.shards):
        names |= dict.fromkeys(found)
        if len(names) > MOST_CLUSTERS:
            raise too_many(f"more than {MOST_CLUSTERS:,}")
    return tuple(names)


@dataclass(frozen=True, slots=True)
class _Names:
    store: Travelling

    def __call__(self, shard: FrozenShard) -> list[str]:
        """The clusters of a shard, in the order in which they come: one more than can be cells, at most."""
        names: dict[str, None] = {}
        for table, _ in shard.tables(self.store.store, [CLUSTER]):
            names |= dict.fromkeys(table.column(CLUSTER).unique().to_pylist())
        return list(names)[: MOST_CLUSTERS + 1]


class GatheredClusters:
    """A number for each cluster, in the order in which they come; nothing where the method needs none."""

    def __init__(self, spec: Spec, names: Sequence[str] = ()) -> None:
        """names: the clusters that come first."""
        self.columns = [CLUSTER] if are_needed(spec) else []
        self._number = {name: number for number, name in enumerate(names)}
        self._found: list[Array] = []

    def add(self, table: pa.Table) -> None:
        """Take the rows of a part."""
        for name in self.columns:
            coded = table.column(name).combine_chunks().dictionary_encode()
            names = coded.dictionary.to_pylist()
            numbers = [self._number.setdefault(text, len(self._number)) for text in names]
            self._found.append(np.array(numbers, np.int64)[np.asarray(coded.indices)])

    def table(self) -> Floats | None:
        """(N, 1); None where none are gathered."""
        return np.concatenate(self._found).astype(np.float64)[:, None] if self._found else None
