"""The frozen pool cut into cells for the spec's method: made once, when the pool is frozen, and read back."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from assay.evalcore.methods.base import Method
from assay.evalcore.pool.partition import Partition, build_partition, count_by_segment
from assay.evalcore.types import Array, Floats, Ints
from assay.tasks.ledger import codec, layout
from assay.tasks.ledger.manifest import (
    Manifest,
    PartitionEntry,
    feature_columns,
    partition_digest,
    system_columns,
)
from assay.tasks.ledger.stores.protocol import Store
from assay.tasks.pool.frozen import frozen_parts
from assay.tasks.pool.outcomes import read_outcomes
from assay.tasks.spec.evaluation import Spec


def cut_tables(spec: Spec) -> dict[str, list[str]]:
    """What the spec's method cuts the pool by besides scores, as `build_partition` calls it -> columns."""
    pool, tables = spec.pool, {}
    if spec.chosen_method.feature_tree is not None:
        tables["features"] = feature_columns(pool.features)
    if pool.systems:
        tables["systems"] = system_columns(pool.systems)
    return tables


def table_of(part: pa.Table, columns: Sequence[str]) -> Floats:
    """These columns (N, D) of a part."""
    return np.stack([np.array(part.column(name)) for name in columns], axis=1)


def cut_pool(
    spec: Spec,
    store: Store,
    scores: Floats,
    probabilities: Floats,
    predictions: Array,
    tables: dict[str, Floats],
    part_keys: Sequence[str],
    outcomes: Mapping[str, int],
) -> PartitionEntry:
    """Cut the pool for the spec's method; put the cells and, ordered by cell and row, their rows.

    part_keys: of the parts just written, for segments and ids; outcomes: item -> label, known beforehand.
    """
    chosen = spec.chosen_method
    known = labels_known(store, part_keys, len(scores), outcomes)
    partition, rows = _cut(
        chosen, {"scores": scores, "probabilities": probabilities, "predictions": predictions, **tables},
        known, lambda made, cell: _with_segments(made, cell, store, part_keys, spec.pool.segments),
    )
    del scores, probabilities, predictions, tables
    n_cells = partition.cells.n_cells
    text = codec.to_json(partition.to_json())
    digest = partition_digest(text, rows)
    store.put(layout.partition_rows(spec.name, digest), rows)
    store.put(layout.partition(spec.name, digest), text)
    return PartitionEntry(method=chosen.name, digest=digest, cells=n_cells)


def cut_again(spec: Spec, store: Store, manifest: Manifest, chosen: Method) -> tuple[Partition, bytes]:
    """The frozen pool cut once more, from its parts: the partition, and its rows ordered by cell and row."""
    columns, tables = ["score", "probability", "prediction"], cut_tables(spec)
    wanted = [*columns, *(name for names in tables.values() for name in names)]
    parts = list(frozen_parts(store, manifest.part_keys, wanted))
    score, probability, prediction = (
        np.concatenate([np.array(part.column(name)) for part in parts]) for name in columns
    )
    cut_by = {
        name: np.concatenate([table_of(part, names) for part in parts]) for name, names in tables.items()
    }
    outcomes = read_outcomes(store, manifest.outcomes_key)
    return _cut(
        chosen, {"scores": score, "probabilities": probability, "predictions": prediction, **cut_by},
        labels_known(store, manifest.part_keys, manifest.rows, outcomes),
        lambda made, cell: _with_segments(made, cell, store, manifest.part_keys, manifest.segment_names),
    )


def _cut(
    chosen: Method, numbers: Mapping[str, Array], known: Ints | None,
    with_segments: Callable[[Partition, Ints], Partition],
) -> tuple[Partition, bytes]:
    """The partition of the items that may be sampled, and their rows ordered by cell and row.

    numbers (N, ...): what `build_partition` takes; known (N,): a label, or -1 for an item to be sampled.
    """
    if known is None:
        partition, cell = build_partition(chosen, **numbers)
        return with_segments(partition, cell), rows_by_cell(cell, partition.cells.n_cells)
    open_items = known < 0
    sampled = {name: values[open_items] for name, values in numbers.items()}
    partition, cell = build_partition(chosen, **sampled)
    table = np.zeros((2, 2), np.int64)
    at = np.asarray(numbers["predictions"])[~open_items].astype(np.int64), known[~open_items]
    np.add.at(table, at, 1)
    order = np.frombuffer(rows_by_cell(cell, partition.cells.n_cells), "<i8")
    rows = np.flatnonzero(open_items)[order].astype("<i8").tobytes()
    return replace(partition, known=table), rows


def labels_known(
    store: Store, part_keys: Sequence[str], n_items: int, outcomes: Mapping[str, int]
) -> Ints | None:
    """(N,) the label of each row whose outcome is known, -1 of the others.

    None where none is known, or all are: then every row is in a cell.
    """
    if not 0 < len(outcomes) < n_items:
        return None
    return np.concatenate([
        np.array([outcomes.get(item_id, -1) for item_id in part.column("item_id").to_pylist()], np.int64)
        for part in frozen_parts(store, part_keys, ["item_id"])
    ])


def _with_segments(
    partition: Partition, cell: Ints, store: Store, part_keys: Sequence[str], columns: Sequence[str]
) -> Partition:
    """The partition with the items of every segment by cell; reads the parts once, a part at a time."""
    if not columns:
        return partition
    n_cells, start = partition.cells.n_cells, 0
    counts: dict[str, dict[str, Ints]] = {name: {} for name in columns}
    for part in frozen_parts(store, part_keys, columns):
        here = cell[start:start + part.num_rows]
        start += part.num_rows
        for name, of_value in counts.items():
            codes = part.column(name).combine_chunks().dictionary_encode()
            values = codes.dictionary.to_pylist()
            found = count_by_segment(here, n_cells, np.array(codes.indices), len(values))
            for value, row in zip(values, found, strict=True):
                of_value[value] = of_value.get(value, 0) + row
    return replace(partition, by_segment={
        name: np.stack([of_value[value] for value in sorted(of_value)])
        for name, of_value in counts.items()
    })


def load_partition(store: Store, manifest: Manifest) -> Partition:
    """The partition that was made when the pool was frozen."""
    key = layout.partition(manifest.evaluation, manifest.partition.digest)
    data = codec.from_json(store.get(key), key)
    try:
        return Partition.from_json(data)
    except (KeyError, TypeError, ValueError) as error:
        raise codec.damaged(key, f"not a partition ({type(error).__name__})") from None


def rows_by_cell(cell: Ints, n_cells: int) -> bytes:
    """(N,) the cell of each row -> the rows ordered by cell and then by row, as partitions/ keeps them."""
    narrow = cell.astype(np.uint16 if n_cells <= 1 << 16 else np.int64)  # 16 bits sort by counting
    return np.argsort(narrow, kind="stable").astype("<i8", copy=False).tobytes()
