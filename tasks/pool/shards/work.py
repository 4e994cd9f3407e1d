"""The work on one shard: its rows are read, checked, counted and written to the ledger."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from threading import Lock
from typing import Any, Protocol

import pyarrow as pa

from assay.evalcore.errors import BadInput
from assay.tasks.arrow import value_counts
from assay.tasks.ledger import codec, layout
from assay.tasks.ledger.codec import DamagedRecord
from assay.tasks.ledger.manifest import FrozenPart
from assay.tasks.ledger.stores.travelling import Travelling
from assay.tasks.pool.checked_rows import RowChecker
from assay.tasks.pool.frozen import in_parts, part_digests
from assay.tasks.pool.part_file import part_bytes
from assay.tasks.pool.predictions.kinds import predictions_of
from assay.tasks.pool.predictions.mergeable_counts import PredictionCounts
from assay.tasks.pool.shards.cutting import Shard
from assay.tasks.pool.shards.duplicate_ids import RUN, SeenIds, buckets
from assay.tasks.pool.shards.receipt import Basis, Receipt, kept_receipt
from assay.tasks.pool.shards.seen_scores import SeenScores
from assay.tasks.sources.reader import Source
from assay.tasks.spec.evaluation import Spec

_MOST_SEGMENT_VALUES = 1_000


class OnRowsFrozen(Protocol):
    """Called with the number of rows frozen so far."""

    def __call__(self, rows: int, /) -> object:
        """What it returns is not looked at."""
        ...


class Progress:
    """Adds up the rows of all shards, and tells. Safe in several threads; in other processes, silent."""

    def __init__(self, tell: OnRowsFrozen | None) -> None:
        self._tell, self._rows, self._lock = tell, Counter[int](), Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return Progress, (None,)

    def reached(self, shard: int, rows: int) -> None:
        """So many rows of a shard are frozen by now."""
        with self._lock:
            if self._tell and rows > self._rows[shard]:
                self._rows[shard] = rows
                self._tell(self._rows.total())


@dataclass(frozen=True, slots=True, kw_only=True)
class FreezeShard:
    """Freezes a shard, unless that was done; travels to workers. Safe to repeat: it puts the same bytes."""

    spec: Spec
    source: Source
    store: Travelling      # parts go there
    scratch: Travelling    # the receipt, the hashes of ids, and scores in order
    basis: Basis
    progress: Progress
    ranked: str | None     # the column whose numbers are kept in order of rank, for the cut

    def __call__(self, shard: Shard) -> Receipt:
        """What it comes to, or what is wrong with its rows. Raises StoreError when the ledger fails."""
        scratch = self.scratch.store
        kept = kept_receipt(self.store.store, scratch, self.basis, shard, self.ranked is not None)
        if kept is not None:
            return kept
        one = _Pass(self, shard)
        ids: list[tuple[int, ...]] = []
        try:
            for rows in one.run():
                self.progress.reached(shard.number, rows)
                if one.seen.rows >= RUN:
                    ids.append(self._kept(shard, len(ids), one.seen))
        except BadInput as error:
            return one.receipt(str(error))
        ids.append(self._kept(shard, len(ids), one.seen))
        receipt = one.receipt(None, tuple(ids))
        if self.ranked:
            scratch.put(self.basis.scores_key(shard), one.scores.run())
        scratch.put(self.basis.receipt_key(shard), codec.encode(receipt))
        return receipt

    def _kept(self, shard: Shard, run: int, seen: SeenIds) -> tuple[int, ...]:
        """Keep the hashes seen so far as a run of the shard, and tell how many are in each bucket."""
        hashes = seen.sorted()
        self.scratch.store.put(self.basis.ids_keys(shard, run + 1)[run], hashes.astype("<i8").tobytes())
        return buckets(hashes)


class _Pass:
    """One pass over the rows of a shard."""

    def __init__(self, work: FreezeShard, shard: Shard) -> None:
        self.seen, self.scores = SeenIds(), SeenScores(work.ranked)
        self._work, self._shard, self._pool = work, shard, work.spec.pool
        self._checker = RowChecker(work.spec, [file.path for file in work.source.files])
        self._rows_of_file: dict[int, int] = {one.file: 0 for one in shard.slices}
        self._parts: list[FrozenPart] = []
        self._values: list[str] = []
        self._predictions = predictions_of(work.spec)
        self._counts: PredictionCounts | None = None
        self._segments: dict[str, Counter[str]] = {name: Counter() for name in self._pool.segments}

    def run(self) -> Iterator[int]:
        """Read, check and write everything; yields the rows written so far, after each part."""
        done = 0
        for part in in_parts(self._checked()):
            self._write(part)
            done += part.num_rows
            yield done

    def _checked(self) -> Iterator[pa.RecordBatch]:
        for batch in self._work.source.slices(self._shard.slices, self._checker.columns):
            rows = self._checker.check(batch)
            self._rows_of_file[batch.file] += rows.num_rows
            yield rows

    def receipt(self, refused: str | None, ids: tuple[tuple[int, ...], ...] = ()) -> Receipt:
        """Of what was read so far."""
        return Receipt(
            parts=tuple(self._parts), values=tuple(self._values),
            rows_of_file=tuple(self._rows_of_file.items()), kinds=self._checker.kinds.found,
            segments={name: dict(counts) for name, counts in self._segments.items()},
            counts=self._counts, buckets=ids, refused=refused,
        )

    def _write(self, table: pa.Table) -> None:
        blob = part_bytes(table)
        digest = layout.digest(blob)
        number = self._shard.first_part + len(self._parts)
        key = layout.pool_part(self._work.spec.name, number, digest)
        if self._work.store.store.put(key, blob) != blob:
            raise DamagedRecord(f"{key}: holds other bytes than its name says; remove it and begin again")
        whole, told = part_digests(table)
        self._parts.append(FrozenPart(file=digest, rows=table.num_rows, digest=whole))
        self._values.append(told)
        self._count(table)

    def _count(self, table: pa.Table) -> None:
        self.seen.add(table.column("item_id"))
        self.scores.add(table)
        counts = self._predictions.counts(table)
        self._counts = counts if self._counts is None else self._counts.plus(counts)
        for name, so_far in self._segments.items():
            so_far.update(value_counts(table.column(name)))
            refuse_many_values(self._work.spec, name, so_far)


def refuse_many_values(spec: Spec, name: str, counts: Counter[str]) -> None:
    """Raise BadInput for a segment that splits the pool into more than a few parts."""
    if len(counts) > _MOST_SEGMENT_VALUES:
        raise BadInput(
            f"{spec.pool.source}: column {name!r} has more than {_MOST_SEGMENT_VALUES:,} "
            "different values; a segment splits the pool into a few parts: take it out of "
            "pool.segments, or group its values"
        )
