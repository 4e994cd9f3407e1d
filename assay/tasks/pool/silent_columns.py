"""Columns that say nothing: weights that are all equal, one stratum, clusters of one item each.

A weighted mean sum(w x) / sum(w) with one weight for all is the plain mean; a sample from one stratum is a
simple one; clusters of one item are the items. So the question is asked as without the column: the same items
are labelled, and the interval is the same. The ledger keeps the spec as it was written, and the frozen pool
has no such column, which is how whoever opens the evaluation knows.
"""

from collections.abc import Callable, Iterator, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from assay.evalcore.errors import BadInput
from assay.tasks.ledger.manifest import Manifest
from assay.tasks.ledger.record import Ledger
from assay.tasks.pool.duplicate_ids import SeenIds
from assay.tasks.pool.same_source import FrozenPool, changed_source
from assay.tasks.sources.reader import open_source
from assay.tasks.sources.values import as_numbers, as_text
from assay.tasks.spec.evaluation import Spec


def are_equal_weights(batches: Iterator[pa.Array]) -> bool:
    """Whether all weights are the same finite number above 0, so that the weighted mean Σwx/Σw is the plain
    one."""
    first_weight: float | None = None
    for values in batches:
        weights, are_numbers = as_numbers(values)
        if not len(weights):
            continue
        first_weight = float(weights[0]) if first_weight is None else first_weight
        if not (are_numbers.all() and (weights == first_weight).all()):
            return False
    return first_weight is not None and bool(0 < first_weight < np.inf)


def is_one_stratum(batches: Iterator[pa.Array]) -> bool:
    """Whether all rows have the same name of a stratum, which is neither missing nor empty."""
    names: set[str | None] = set()
    for values in batches:
        names.update(pc.unique(as_text(values)).to_pylist())
        if len(names) > 1:
            return False
    return len(names) == 1 and None not in names and "" not in names


def are_single_items(batches: Iterator[pa.Array]) -> bool:
    """Whether no two rows have the same name.  Eight bytes a row are held."""
    names, rows = SeenIds(), 0
    for values in batches:
        texts = as_text(values)
        if texts.null_count or len(pc.unique(texts)) < len(texts):
            return False
        names.add(texts)
        rows += len(texts)
    return rows > 1 and not len(names.suspects())


_SAYS_NOTHING: Mapping[str, Callable[[Iterator[pa.Array]], bool]] = {
    "weight": are_equal_weights, "strata": is_one_stratum, "cluster": are_single_items,
}


def says_nothing(source: str, key: str, column: str | None) -> bool:
    """Whether a column that is named under `pool.weight`, `pool.strata` or `pool.cluster` says nothing.

    It is read until it says something, which is mostly in its first rows. False without a column, and where
    it cannot be read: whoever reads it next names the rows. Raises NoFile where no source is there.
    """
    if column is None:
        return False
    files = open_source(source)
    try:
        return _SAYS_NOTHING[key](batch.columns.column(0) for batch in files.batches([column]))
    except BadInput:
        return False


def without_silent_columns(spec: Spec) -> Spec:
    """The spec without the columns of its source that say nothing; itself where there are none, and where it
    could not be asked without them. Raises NoFile where no source is there."""
    silent = [key for key in _SAYS_NOTHING if says_nothing(spec.pool.source, key, getattr(spec.pool, key))]
    return spec.without(silent) if silent else spec


def refuse_columns_that_speak(ledger: Ledger, spec: Spec, manifest: Manifest) -> None:
    """Raise SourceChanged where the pool was frozen without a column that says something by now."""
    for key in spec.left_out(manifest.columns):
        if not says_nothing(spec.pool.source, key, getattr(spec.pool, key)):
            raise changed_source(
                FrozenPool.from_ledger(ledger, spec, manifest), spec.pool.source,
                f"column {getattr(spec.pool, key)!r} (pool.{key}) is missing, or says "
                "something that it did not say then",
            )
