"""The frozen pool cut into cells for the spec's method: made once, when the pool is frozen, and read back."""

from collections.abc import Mapping, Sequence

from assay.tasks.ledger import codec, layout
from assay.tasks.ledger.manifest import Manifest, PartitionEntry, partition_digest
from assay.tasks.ledger.stores.protocol import Store
from assay.tasks.pool.frozen import frozen_parts
from assay.tasks.pool.frozen_tables import FrozenTables
from assay.tasks.pool.outcomes import read_outcomes
from assay.tasks.pool.predictions.kinds import predictions_of
from assay.tasks.pool.predictions.protocol import FrozenCut, Gathered
from assay.tasks.spec.evaluation import Spec


def cut_pool(
    spec: Spec, store: Store, gathered: Gathered, part_keys: Sequence[str], outcomes: Mapping[str, int]
) -> PartitionEntry:
    """Cut the pool for the spec's method; put the cells and, ordered by cell and row, their rows.

    part_keys: of the parts just written, for segments and ids; outcomes: item -> label, known beforehand.
    """
    method = predictions_of(spec).method
    partition, rows = gathered.cut(method, FrozenTables(
        store=store, part_keys=part_keys, segments=spec.pool.segments, outcomes=outcomes
    ))
    n_cells = partition.cells.n_cells
    text = codec.to_json(partition.to_json())
    digest = partition_digest(text, rows)
    store.put(layout.partition_rows(spec.name, digest), rows)
    store.put(layout.partition(spec.name, digest), text)
    return PartitionEntry(method=method, digest=digest, cells=n_cells)


def cut_again(spec: Spec, store: Store, manifest: Manifest) -> tuple[FrozenCut, bytes]:
    """The frozen pool cut once more, from its parts: the partition, and its rows ordered by cell and row."""
    gathered = predictions_of(spec).gathered()
    for part in frozen_parts(store, manifest.part_keys, gathered.columns):
        gathered.add(part)
    return gathered.cut(manifest.partition.method, FrozenTables(
        store=store, part_keys=manifest.part_keys, segments=manifest.segment_names,
        outcomes=read_outcomes(store, manifest.outcomes_key),
    ))


def load_partition(spec: Spec, store: Store, manifest: Manifest) -> FrozenCut:
    """The partition that was made when the pool was frozen."""
    key = layout.partition(manifest.evaluation, manifest.partition.digest)
    data = codec.from_json(store.get(key), key)
    try:
        return predictions_of(spec).cut_from_json(data)
    except (KeyError, TypeError, ValueError) as error:
        raise codec.damaged(key, f"not a partition ({type(error).__name__})") from None
