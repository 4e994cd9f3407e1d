"""What a cut reads of the frozen parts besides the predictions: segments, and outcomes known beforehand."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from assay.evalcore.pool.partition import Partition, count_by_segment
from assay.evalcore.types import Ints
from assay.tasks.ledger.stores.protocol import Store
from assay.tasks.pool.frozen import frozen_parts


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FrozenTables:
    """The parts of a frozen pool while it is cut."""

    store: Store
    part_keys: Sequence[str]
    segments: Sequence[str]
    outcomes: Mapping[str, int]   # item -> label, known beforehand

    def labels_known(self, n_items: int) -> Ints | None:
        """(N,) the label of each row whose outcome is known, -1 of the others.

        None where none is known, or all are: then every row is in a cell.
        """
        if not 0 < len(self.outcomes) < n_items:
            return None
        return np.concatenate([
            np.array(
                [self.outcomes.get(item_id, -1) for item_id in part.column("item_id").to_pylist()], np.int64
            )
            for part in frozen_parts(self.store, self.part_keys, ["item_id"])
        ])

    def with_segments(self, partition: Partition, cell: Ints) -> Partition:
        """The partition with the items of every segment by cell; reads the parts once, a part at a time."""
        if not self.segments:
            return partition
        n_cells, start = partition.cells.n_cells, 0
        counts: dict[str, dict[str, Ints]] = {name: {} for name in self.segments}
        for part in frozen_parts(self.store, self.part_keys, self.segments):
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


def rows_by_cell(cell: Ints, n_cells: int) -> bytes:
    """(N,) the cell of each row -> the rows ordered by cell and then by row, as partitions/ keeps them."""
    narrow = cell.astype(np.uint16 if n_cells <= 1 << 16 else np.int64)  # 16 bits sort by counting
    return np.argsort(narrow, kind="stable").astype("<i8", copy=False).tobytes()
