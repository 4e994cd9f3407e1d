"""All shards of a pool: frozen by whoever has time, put together in order, and checked as a whole."""

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice

import pyarrow as pa

from assay.evalcore.errors import BadInput
from assay.evalcore.plurals import plural
from assay.evalcore.types import Ints
from assay.tasks.ledger.manifest import FrozenPart
from assay.tasks.ledger.stores.memory import MemoryStore
from assay.tasks.ledger.stores.protocol import Store
from assay.tasks.ledger.stores.travelling import Travelling
from assay.tasks.pool.checked_rows import MOST_LISTED
from assay.tasks.pool.column_kinds import ColumnKinds
from assay.tasks.pool.cutting.score_runs import StoredRun
from assay.tasks.pool.frozen import PART_ROWS, frozen_parts, read_part_rows
from assay.tasks.pool.mapping import MapOver, one_after_the_other, stopping
from assay.tasks.pool.predictions.kinds import predictions_of
from assay.tasks.pool.predictions.mergeable_counts import PredictionCounts
from assay.tasks.pool.shards.cutting import Shard, is_small, shards_of_source
from assay.tasks.pool.shards.duplicate_ids import first_duplicates, suspected
from assay.tasks.pool.shards.receipt import Basis, Receipt, forget, part_keys
from assay.tasks.pool.shards.work import FreezeShard, Progress, refuse_many_values
from assay.tasks.sources.reader import Source
from assay.tasks.spec.evaluation import Spec


class FrozenRows:
    """The rows of a source in the ledger, and what they come to.

    `map_over` is the one to be used from then on: a pool of one shard is not worth a worker.
    """

    def __init__(
        self, spec: Spec, store: Store, source: Source, map_over: MapOver,
        progress: Callable[[int], None] | None = None,
    ) -> None:
        """Freeze them. Raises BadInput for the first rows that cannot be used; StoreError."""
        self.parts: list[FrozenPart] = []
        self.part_keys: list[str] = []
        self.value_digests: list[str] = []
        self.rows_of_file = [0] * len(source.files)
        self.segments: dict[str, Counter[str]] = {name: Counter() for name in spec.pool.segments}
        self._counts: list[PredictionCounts] = []
        self._spec, self._store, self._source = spec, store, source
        self._kinds = ColumnKinds([file.path for file in source.files])
        shards = shards_of_source(source, spec.pool.id, map_over)
        self.map_over: MapOver = map_over if len(shards) > 1 else one_after_the_other
        self._small = is_small(source)
        self._scratch = Travelling(MemoryStore() if self._small else store)
        self._basis = Basis.of(spec, source)
        self._kept: list[tuple[str, tuple[int, ...]]] = []
        self._ranked = predictions_of(spec).ranked if len(shards) > 1 else None
        self.score_runs: list[StoredRun] = []    # in the order of the shards; none where they are not kept
        told = Progress(progress)
        work = FreezeShard(
            spec=spec, source=source, store=Travelling(store), scratch=self._scratch, basis=self._basis,
            progress=told, ranked=self._ranked,
        )
        with stopping(self.map_over(work, shards)) as receipts:
            for shard, receipt in zip(shards, receipts, strict=True):
                self._add(shard, receipt)
                told.reached(shard.number, receipt.rows)

    @property
    def rows(self) -> int:
        """Of the pool."""
        return sum(self.rows_of_file)

    @property
    def counts(self) -> PredictionCounts:
        """What the predictions of all rows add up to."""
        first, *others = self._counts
        for one in others:
            first = first.plus(one)
        return first

    def check(self) -> None:
        """Check what needs all rows. Raises BadInput."""
        files = ", ".join(file.path for file in self._source.files[:3])
        if not self.rows:
            raise BadInput(f"pool.source: {files}: no rows; an empty pool cannot be evaluated")
        suspects = suspected(self._scratch, self._kept, self.map_over)
        if len(suspects):
            self._refuse_duplicates(suspects)
        if self._spec.budget.labels > self.rows:
            raise BadInput(
                f"budget.labels is {self._spec.budget.labels} but the pool has {plural(self.rows, 'item')}; "
                f"lower it to {self.rows} or less"
            )

    def forget(self) -> None:
        """Remove what was kept to go on from: the pool is committed."""
        if not self._small:
            forget(self._store, self._spec.name)

    def _add(self, shard: Shard, receipt: Receipt) -> None:
        """Put a shard behind those before it. Raises BadInput as one pass over all rows would."""
        for kind in receipt.kinds:
            self._kinds.add(kind)
        if receipt.refused is not None:
            raise BadInput(receipt.refused)
        self.part_keys += part_keys(self._spec.name, shard.first_part, receipt)
        self.parts += receipt.parts
        self.value_digests += receipt.values
        for file, rows in receipt.rows_of_file:
            self.rows_of_file[file] += rows
        for name, counts in receipt.segments.items():
            self.segments[name].update(counts)
            refuse_many_values(self._spec, name, self.segments[name])
        if receipt.counts is not None:
            self._counts.append(receipt.counts)
        if self._ranked and receipt.counts is not None:
            self.score_runs.append(StoredRun(
                store=self._scratch, key=self._basis.scores_key(shard), rows=receipt.rows,
                positives=receipt.counts.predicted[1],
            ))
        self._kept += zip(self._basis.ids_keys(shard, len(receipt.buckets)), receipt.buckets, strict=True)

    def _refuse_duplicates(self, suspects: Ints) -> None:
        def ids() -> Iterator[pa.ChunkedArray]:
            return (t.column("item_id") for t in frozen_parts(self._store, self.part_keys, ["item_id"]))

        listed = []
        for name, rows in islice(first_duplicates(suspects, ids), MOST_LISTED):
            listed.append(f"{name!r} ({', '.join(self._place(row) for row in rows)})")
        if listed:
            raise BadInput(
                f"pool.id: column {self._spec.pool.id!r} has ids that occur more than once: "
                f"{'; '.join(listed)}; every item needs an id of its own: drop the repeats, or name another "
                "column"
            )

    def _place(self, row: int) -> str:
        part, place = divmod(row, PART_ROWS)
        [found] = read_part_rows(self._store, self.part_keys[part], [place]).to_pylist()
        return f"{self._source.files[found['source_file']].path} row {found['source_row'] + 1}"
