"""The shards of a pool frozen: each is read, checked, counted and written to the ledger by whoever has time,
and all are put together in order and checked as a whole.

What a shard comes to is its receipt: small, exact when put together, and kept until the pool is committed.

    index/freezing/<evaluation>/<shard>-<digest>.json    the receipt of a shard whose parts are in the ledger,
                                                          with its digest and those of the two below
    index/freezing/<evaluation>/<shard>-<digest>-0000.ids the hashes of its ids, by first bits; in runs
    index/freezing/<evaluation>/<shard>-<digest>.scores   its scores, sorted, where the pool is cut by them

The digest is of all that the shard's bytes follow from: the spec, the files with their sizes and versions,
and the versions of what writes them. A freeze that was killed goes on from the receipts it finds; what was
begun for another spec or other files has another digest. These keys are removed once the manifest is there.
"""

import hashlib
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import islice
from threading import Lock
from typing import Any, Protocol, TypeVar

import pyarrow as pa

from assay.evalcore.errors import BadInput, plural
from assay.evalcore.json_values import JsonMapping
from assay.evalcore.types import Floats, Ints
from assay.tasks.arrow import numbers_of, value_counts
from assay.tasks.ledger import layout, record
from assay.tasks.ledger.checkpoints import put_derived
from assay.tasks.ledger.life import versions
from assay.tasks.ledger.manifest import FrozenPart, ShownFile
from assay.tasks.ledger.record import DamagedRecord, Ledger
from assay.tasks.ledger.stores.opening import Travelling
from assay.tasks.ledger.stores.store import KeyMissing, MemoryStore, Store
from assay.tasks.pool.checked_rows import MOST_LISTED, ColumnKind, ColumnKinds, RowChecker
from assay.tasks.pool.cut import prediction_kind
from assay.tasks.pool.duplicate_ids import HASHES_OF_RUN, SeenIds, first_duplicates, suspected
from assay.tasks.pool.frozen import PART_ROWS, frozen_parts, part_bytes, part_digests, read_part_rows
from assay.tasks.pool.kind import PredictionCounts
from assay.tasks.pool.scores import StoredRun, run_bytes
from assay.tasks.pool.shards import MapOver, Shard, is_small, one_after_the_other, shards_of_source, stopping
from assay.tasks.pool.shown import PartRead, in_parts, shown_keys
from assay.tasks.sources.reader import Source
from assay.tasks.spec.evaluation import Spec


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """A shard that was read to its end, or up to the row that was refused."""

    parts: tuple[FrozenPart, ...]
    values: tuple[str, ...]                     # digest of each part without where its rows come from
    rows_of_file: tuple[tuple[int, int], ...]   # (index of the file, rows of it)
    kinds: tuple[ColumnKind, ...]
    segments: dict[str, dict[str, int]]         # segment -> value -> rows
    counts: PredictionCounts | None             # None where there is no row
    buckets: tuple[tuple[int, ...], ...]        # of each run of hashes of ids, how many begin alike
    refused: str | None = None                  # what was wrong with the rows; such a receipt is not kept

    @property
    def rows(self) -> int:
        """The number of rows in all parts of the shard."""
        return sum(part.rows for part in self.parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class _KeptReceipt:
    """A receipt as it is kept, with the digest of all of it."""

    receipt: Receipt
    beside: tuple[str, ...]      # digests of the runs of hashes of ids, then of the scores
    digest: str

    @staticmethod
    def from_receipt(receipt: Receipt, beside: Sequence[str]) -> "_KeptReceipt":
        """With the digest that it has to have."""
        undigested = _KeptReceipt(receipt=receipt, beside=tuple(beside), digest="")
        return replace(undigested, digest=layout.digest(record.encode(undigested)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Basis:
    """What the bytes of the shards of one freeze follow from, as a digest, and the keys it gives."""

    evaluation: str
    digest: str

    @staticmethod
    def from_spec(spec: Spec, source: Source) -> "Basis":
        """What a freeze of this source rests on: the evaluation's name and a digest of the spec, the
        versions of the code, and the path, size and version of every file as it was listed."""
        content: JsonMapping = {
            "spec": spec.to_json(), "versions": versions(), "part rows": PART_ROWS,
            "files": [[file.path, file.size, file.version] for file in source.files],
        }
        return Basis(evaluation=spec.name, digest=hashlib.sha256(record.to_json(content)).hexdigest())

    def receipt_key(self, shard: Shard) -> str:
        """The key in the store under which the receipt of a shard is kept until the pool is committed."""
        return layout.freezing_receipt(self.evaluation, shard.number, self._of(shard))

    def ids_keys(self, shard: Shard, runs: int) -> list[str]:
        """Of so many runs of hashes of the ids of a shard."""
        digest = self._of(shard)
        return [layout.freezing_ids(self.evaluation, shard.number, digest, run) for run in range(runs)]

    def scores_key(self, shard: Shard) -> str:
        """The key in the store under which the sorted scores of a shard are kept until the pool is
        committed."""
        return layout.freezing_scores(self.evaluation, shard.number, self._of(shard))

    def _of(self, shard: Shard) -> str:
        slices = [[piece.file, piece.first, piece.rows] for piece in shard.slices]
        return hashlib.sha256(record.to_json([self.digest, shard.first_part, slices])).hexdigest()


def kept_receipt(
    store: Store, scratch: Store, basis: Basis, shard: Shard, ranked: bool
) -> Receipt | None:
    """The receipt of a shard that was frozen before, if its parts are there, and if it and what is kept
    beside it have their digests: everything is derived, and frozen again where it was damaged.

    ranked: whether its scores are kept.
    """
    key = basis.receipt_key(shard)
    try:
        kept_record = record.decode(_KeptReceipt, scratch.get(key), key)
        receipt = kept_record.receipt
        if kept_record != _KeptReceipt.from_receipt(receipt, kept_record.beside):
            return None
        beside = [*basis.ids_keys(shard, len(receipt.buckets)), *[basis.scores_key(shard)] * ranked]
        if [layout.digest(scratch.get(place)) for place in beside] != list(kept_record.beside):
            return None
    except (KeyMissing, record.DamagedRecord):
        return None
    keys = part_keys(basis.evaluation, shard.first_part, receipt)
    for i, part in enumerate(receipt.parts):
        keys += shown_keys(basis.evaluation, shard.first_part + i, part)
    return receipt if all(store.exists(key) for key in keys) else None


def part_keys(evaluation: str, first_part: int, receipt: Receipt) -> list[str]:
    """The keys in the ledger of the parts of a shard, in order; the first of them is part number
    `first_part` of the pool."""
    return [
        layout.pool_part(evaluation, first_part + i, part.file) for i, part in enumerate(receipt.parts)
    ]


def forget(store: Store, evaluation: str) -> None:
    """Remove everything that was kept to go on from while the pool was being frozen: receipts, hashes of
    ids, and scores."""
    for key in list(store.keys(layout.index_of_freezing(evaluation))):
        store.discard(key)



class SeenScores:
    """The scores of the rows of one shard read so far, kept because the cut asks for ranks; nothing is kept
    where no column is named."""

    def __init__(self, column: str | None) -> None:
        """column: that holds them; None: nothing is kept."""
        self._column, self._scores = column, list[Floats]()

    def add(self, table: pa.Table) -> None:
        """Take the scores of some rows, as a copy, so that the part they are in can be freed."""
        if self._column is not None:
            self._scores.append(numbers_of(table.column(self._column)).copy())

    def run(self) -> bytes:
        """All scores taken so far as the bytes of a run: sorted, 8 bytes each. Forgets everything seen."""
        blob = run_bytes(self._scores)
        self._scores.clear()
        return blob


_MOST_SEGMENT_VALUES = 1_000   # different values of a column of segments
_AHEAD = 2      # pieces of work that may wait for the thread that writes
Result = TypeVar("Result")


class OnRowsFrozen(Protocol):
    """A function that is called, as a freeze goes on, with the number of rows frozen so far over all shards.
    """

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
        """Note that so many rows of a shard are frozen by now, and tell the sum over all shards. A number
        that is not higher than before changes nothing."""
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
        old_receipt = kept_receipt(self.store.store, scratch, self.basis, shard, self.ranked is not None)
        if old_receipt is not None:
            return old_receipt
        pass_ = _Pass(self, shard)
        ids: list[tuple[int, ...]] = []
        beside: list[str] = []
        try:
            for rows in pass_.run():
                self.progress.reached(shard.number, rows)
                if pass_.seen.rows >= HASHES_OF_RUN:
                    ids.append(self._kept(shard, len(ids), pass_.seen, beside))
        except BadInput as error:
            return pass_.receipt(str(error))
        ids.append(self._kept(shard, len(ids), pass_.seen, beside))
        receipt = pass_.receipt(None, tuple(ids))
        if self.ranked:
            beside.append(self._put(self.basis.scores_key(shard), pass_.scores.run()))
        self._put(self.basis.receipt_key(shard), record.encode(_KeptReceipt.from_receipt(receipt, beside)))
        return receipt

    def _kept(self, shard: Shard, run: int, ids: SeenIds, beside: list[str]) -> tuple[int, ...]:
        """Keep the hashes seen so far as a run of the shard, whose digest is added to those beside, and tell
        how many are in each bucket."""
        hashes, sizes = ids.in_buckets()
        blob = hashes.astype("<i8", copy=False).tobytes()
        beside.append(self._put(self.basis.ids_keys(shard, run + 1)[run], blob))
        return sizes

    def _put(self, key: str, blob: bytes) -> str:
        """Keep these bytes, in place of others that may be there; their digest."""
        put_derived(Ledger(self.scratch.store, self.spec.name), key, blob, ())
        return layout.digest(blob)


class _Pass:
    """One pass over the rows of a shard. A thread beside compresses, digests and writes what was read."""

    def __init__(self, work: FreezeShard, shard: Shard) -> None:
        self.seen, self.scores = SeenIds(), SeenScores(work.ranked)
        self._work, self._shard, self._pool = work, shard, work.spec.pool
        self._checker = RowChecker(work.spec, [file.path for file in work.source.files])
        self._rows_of_file: dict[int, int] = {piece.file: 0 for piece in shard.slices}
        self._begun = 0                       # parts that were handed to the thread
        self._writing = deque[Future[Any]]()  # what it has not finished, in order
        self._parts: list[FrozenPart] = []
        self._values: list[str] = []
        self._predictions = prediction_kind(work.spec)
        self._counts: PredictionCounts | None = None
        self._segments: dict[str, Counter[str]] = {name: Counter() for name in self._pool.segments}

    def run(self) -> Iterator[int]:
        """Read, check and write everything; yields the rows read so far, after each part."""
        done = 0
        with ThreadPoolExecutor(1) as self._beside:
            for part in in_parts(self._checked(), self._keep_shown):
                self._count(part.rows)
                self._later(self._write, self._begun, part)
                self._begun += 1
                done += part.rows.num_rows
                yield done
            while self._writing:
                self._writing.popleft().result()

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

    def _later(self, work: Callable[..., Result], *arguments: object) -> Future[Result]:
        """Have it done by the thread, after what it has to do already; waits where that is much."""
        while len(self._writing) >= _AHEAD:
            self._writing.popleft().result()
        future = self._beside.submit(work, *arguments)
        self._writing.append(future)
        return future

    def _keep_shown(self, number: int, encode: Callable[[], bytes]) -> Future[str]:
        return self._later(self._write_shown, self._begun, number, encode)

    def _write_shown(self, part: int, number: int, encode: Callable[[], bytes]) -> str:
        blob = encode()
        digest = layout.digest(blob)
        place = self._shard.first_part + part
        self._put(layout.pool_shown(self._work.spec.name, place, number, digest), blob)
        return digest

    def _put(self, key: str, blob: bytes) -> None:
        if self._work.store.store.put(key, blob) != blob:
            raise DamagedRecord(f"{key}: holds other bytes than its name says; remove it and begin again")

    def _write(self, number: int, part: PartRead) -> None:
        blob = part_bytes(part.rows)
        digest = layout.digest(blob)
        self._put(layout.pool_part(self._work.spec.name, self._shard.first_part + number, digest), blob)
        full_digest, value_digest = part_digests(part.rows, part.shown)
        shown = tuple(ShownFile(file=file.result(), rows=rows) for file, rows in part.files)
        self._parts.append(FrozenPart(file=digest, rows=part.rows.num_rows, digest=full_digest, shown=shown))
        self._values.append(value_digest)

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
        self._basis = Basis.from_spec(spec, source)
        self._kept: list[tuple[str, tuple[int, ...]]] = []
        fit = len(shards) > 1 and max(shard.rows for shard in shards) <= HASHES_OF_RUN      # in memory, each
        self._ranked = prediction_kind(spec).ranked if fit else None
        self.score_runs: list[StoredRun] = []    # in the order of the shards; none where they are not kept
        meter = Progress(progress)
        work = FreezeShard(
            spec=spec, source=source, store=Travelling(store), scratch=self._scratch, basis=self._basis,
            progress=meter, ranked=self._ranked,
        )
        with stopping(self.map_over(work, shards)) as receipts:
            for shard, receipt in zip(shards, receipts, strict=True):
                self._add(shard, receipt)
                meter.reached(shard.number, receipt.rows)

    @property
    def rows(self) -> int:
        """The number of rows of the pool, over all files."""
        return sum(self.rows_of_file)

    @property
    def counts(self) -> PredictionCounts:
        """What the predictions of all rows add up to, over all shards: rows by predicted class, the range of
        scores, and how often systems differ."""
        total, *other_counts = self._counts
        for counts in other_counts:
            total = total.plus(counts)
        return total

    def check(self) -> None:
        """Check what can only be checked over all rows. Raises BadInput for a pool without rows, for an id
        that occurs twice, and for a budget larger than the pool unless items are asked anew."""
        files = ", ".join(file.path for file in self._source.files[:3])
        if not self.rows:
            raise BadInput(f"pool.source: {files}: no rows; an empty pool cannot be evaluated")
        suspects = suspected(self._scratch, self._kept, self.map_over)
        if len(suspects):
            self._refuse_duplicates(suspects)
        if self._spec.budget.labels > self.rows and not self._spec.asks_anew:
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
        [origin] = read_part_rows(self._store, self.part_keys[part], [place]).to_pylist()
        return f"{self._source.files[origin['source_file']].path} row {origin['source_row'] + 1}"
