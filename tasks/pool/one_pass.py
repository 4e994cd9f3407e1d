"""One pass over the predictions: every row is read, checked, counted and written to the ledger."""

from collections import Counter
from collections.abc import Iterator
from itertools import islice

import pyarrow as pa
import pyarrow.compute as pc

from assay.evalcore.errors import BadInput
from assay.evalcore.plurals import plural
from assay.evalcore.types import Ints
from assay.tasks.ledger import layout
from assay.tasks.ledger.codec import DamagedRecord
from assay.tasks.ledger.manifest import PROVENANCE, FrozenPart
from assay.tasks.ledger.stores.protocol import Store
from assay.tasks.pool.checked_rows import MOST_LISTED, RowChecker
from assay.tasks.pool.duplicate_ids import SeenIds, first_duplicates
from assay.tasks.pool.frozen import PART_ROWS, frozen_parts, part_bytes, part_digest, read_part_rows
from assay.tasks.pool.predictions.kinds import predictions_of
from assay.tasks.pool.predictions.mergeable_counts import PredictionCounts
from assay.tasks.pool.predictions.protocol import Gathered
from assay.tasks.sources.reader import Source
from assay.tasks.spec.evaluation import Spec

_MOST_SEGMENT_VALUES = 1_000


class FreezingPass:
    """One pass over a source, and what it leaves behind: parts in the ledger, counts and numbers here."""

    def __init__(self, spec: Spec, store: Store, source: Source) -> None:
        self.rows = 0
        self.rows_of_file = [0] * len(source.files)
        self.parts: list[FrozenPart] = []
        self.part_keys: list[str] = []
        self.value_digests: list[str] = []
        self.gathered: Gathered = predictions_of(spec).gathered()
        self.counts: PredictionCounts      # there from the first part on
        self.segments: dict[str, Counter[str]] = {name: Counter() for name in spec.pool.segments}
        self._spec, self._store, self._source = spec, store, source
        self._seen = SeenIds()

    def run(self) -> Iterator[int]:
        """Read, check and write everything; yields the rows written so far, after each part."""
        checker = RowChecker(self._spec, [file.path for file in self._source.files])
        waiting: list[pa.RecordBatch] = []
        held = 0
        for batch in self._source.batches(checker.columns):
            rows = checker.check(batch)
            self.rows_of_file[batch.file] += rows.num_rows
            waiting.append(rows)
            held += rows.num_rows
            while held >= PART_ROWS:
                table = pa.Table.from_batches(waiting)
                self._write(table.slice(0, PART_ROWS))
                waiting = table.slice(PART_ROWS).to_batches()
                held -= PART_ROWS
                yield self.rows
        if held:
            self._write(pa.Table.from_batches(waiting))
            yield self.rows

    def check(self) -> None:
        """Check what needs all rows. Raises BadInput."""
        files = ", ".join(file.path for file in self._source.files[:3])
        if not self.rows:
            raise BadInput(f"pool.source: {files}: no rows; an empty pool cannot be evaluated")
        suspects = self._seen.suspects()
        if len(suspects):
            self._refuse_duplicates(suspects)
        if self._spec.budget.labels > self.rows:
            raise BadInput(
                f"budget.labels is {self._spec.budget.labels} but the pool has {plural(self.rows, 'item')}; "
                f"lower it to {self.rows} or less"
            )

    def _write(self, table: pa.Table) -> None:
        table = table.combine_chunks()
        blob = part_bytes(table)
        digest = layout.digest(blob)
        key = layout.pool_part(self._spec.name, len(self.parts), digest)
        if self._store.put(key, blob) != blob:
            raise DamagedRecord(f"{key}: holds other bytes than its name says; remove it and begin again")
        self.part_keys.append(key)
        self.parts.append(FrozenPart(file=digest, rows=table.num_rows, digest=part_digest(table)))
        self.value_digests.append(part_digest(table, PROVENANCE))
        self._count(table)

    def _count(self, table: pa.Table) -> None:
        self.rows += table.num_rows
        self._seen.add(table.column("item_id"))
        self.gathered.add(table)
        found = predictions_of(self._spec).counts(table)
        self.counts = found if self.rows == table.num_rows else self.counts.plus(found)
        for name, counts in self.segments.items():
            for entry in pc.value_counts(table.column(name)).to_pylist():
                counts[entry["values"]] += entry["counts"]
            if len(counts) > _MOST_SEGMENT_VALUES:
                raise BadInput(
                    f"{self._spec.pool.source}: column {name!r} has more than {_MOST_SEGMENT_VALUES:,} "
                    "different values; a segment splits the pool into a few parts: take it out of "
                    "pool.segments, or group its values"
                )

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
