"""The clusters of the rows read so far, for methods that draw whole ones."""

import numpy as np
import pyarrow as pa

from assay.evalcore.outcome_methods.registry import outcome_method
from assay.evalcore.types import Array, Floats
from assay.tasks.ledger.manifest import CLUSTER
from assay.tasks.spec.evaluation import Spec


class GatheredClusters:
    """A number for each cluster, in the order in which they come; nothing where the method needs none."""

    def __init__(self, spec: Spec) -> None:
        wanted = spec.pool.cluster is not None and outcome_method(spec.method).needs_clusters
        self.columns = [CLUSTER] if wanted else []
        self._number: dict[str, int] = {}
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
