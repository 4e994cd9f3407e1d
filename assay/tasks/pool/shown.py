"""What people see of each item, frozen beside the parts, so that a question never changes once it is asked;
and the items that are asked, found again.

    pool/shown-00000-0000-<digest>.arrow    the shown fields of a part, as text, in the order of the spec

A part has one such file, or several where texts are long: a file ends at 16 MB of text. It is written as
parts are (`tasks.pool.frozen`), in groups of some 64 KB, each of which is read without the others. So a
round costs what its items cost, and nobody needs the source any more.

While a pool is read the fields travel behind the columns of its parts, called "assay.shown.NAME", and are put
into files as they come: long texts are never held for a whole part. Their digests are in that of the part, so
the pool's digest covers what people see.
"""

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from itertools import accumulate, pairwise

import numpy as np
import pyarrow as pa

from assay.evalcore.types import Ints
from assay.tasks.arrow import ends_of, lengths_of
from assay.tasks.ledger import layout, open_reader, record
from assay.tasks.ledger.manifest import SHOWN, FrozenPart, Manifest
from assay.tasks.ledger.record import DamagedRecord, Ledger
from assay.tasks.ledger.stores.store import Store
from assay.tasks.pool import frozen
from assay.tasks.pool.frozen import (
    PART_ROWS,
    FrozenRow,
    NotAPart,
    frozen_row,
    part_bytes,
    read_part_file,
    read_part_rows,
    read_rows_of,
)
from assay.tasks.pool.kind import NUMBER, NUMBER_BYTES, CellSizes
from assay.tasks.spec.evaluation import Spec

FILE_BYTES = 16 << 20        # of text; the last row may go beyond
GROUP_BYTES = 64 << 10       # what reading one row costs
_GROUP_ROWS = (16, 1024)     # at least, and at most
_MANY_FILES, _THREADS_AT_ONCE = 4, 8   # files that are worth threads, and how many


def shown_hash(item_id: str, shown: Mapping[str, str]) -> str:
    """128 bits, in digits, of an item's id and of what people see of it, in the order of the fields.

    BLAKE2b of the lengths of all texts in bytes (32 bits, little-endian) and then of their UTF-8: no two
    items give the same bytes. Labels of an earlier evaluation hold for items with the same one.
    """
    texts = [text.encode() for text in (item_id, *shown.values())]
    lengths = np.array([len(text) for text in texts], "<u4").tobytes()
    return blake2b(lengths + b"".join(texts), digest_size=16).hexdigest()


# Puts a file of a part, numbered from 0, whose bytes the second argument makes; its digest comes later.
Keep = Callable[[int, Callable[[], bytes]], Future[str]]


class ShownFields:
    """The shown fields of the rows of one part, as they come."""

    def __init__(self, names: Sequence[str], keep: Keep | None = None) -> None:
        """names: of the columns; keep: None where the rows are only digested."""
        self._names, self._keep = names, keep
        self._lengths = [hashlib.sha256() for _ in names]
        self._texts = [hashlib.sha256() for _ in names]
        self._held: list[pa.RecordBatch] = []
        self._held_bytes = 0
        self.files: list[tuple[Future[str], int]] = []

    def add(self, rows: pa.RecordBatch) -> None:
        """Take the shown fields of some rows, texts in the order of the spec: they go into the digests of
        the part, and into files that end at about FILE_BYTES of text."""
        for name, lengths, texts in zip(self._names, self._lengths, self._texts, strict=True):
            column = rows.column(name)
            lengths.update(lengths_of(column).astype("<i4", copy=False).data)
            texts.update(_text_bytes(column))
        if self._keep is None:
            return
        ends = np.cumsum(sum(lengths_of(column).astype(np.int64) for column in rows.columns))
        start = 0
        while start < len(rows):
            before = int(ends[start - 1]) if start else 0
            end = int(np.searchsorted(ends, FILE_BYTES - self._held_bytes + before)) + 1
            piece = rows.slice(start, end - start)
            self._held.append(piece)
            start += len(piece)
            self._held_bytes += int(ends[start - 1]) - before
            if self._held_bytes >= FILE_BYTES:
                self._close_file()

    def finished(self) -> list[list[str]]:
        """All rows of the part are taken: the name of each column, and its digest."""
        self._close_file()
        return [
            [name, hashlib.sha256(lengths.digest() + texts.digest()).hexdigest()]
            for name, lengths, texts in zip(self._names, self._lengths, self._texts, strict=True)
        ]

    def _close_file(self) -> None:
        if not self._held or self._keep is None:
            return
        table = pa.Table.from_batches(self._held)
        few, many = _GROUP_ROWS
        group = min(max(len(table) * GROUP_BYTES // max(self._held_bytes, 1), few), many)
        self.files.append((self._keep(len(self.files), partial(part_bytes, table, group)), len(table)))
        self._held, self._held_bytes = [], 0


@dataclass(frozen=True, slots=True)
class PartRead:
    """The rows of one part of a pool, read and checked."""

    rows: pa.Table                      # the columns of the part
    shown: list[list[str]]              # each shown column and its digest
    files: tuple[tuple[Future[str], int], ...] = ()   # of the shown fields: what `Keep` gave, and the rows


def in_parts(
    batches: Iterator[pa.RecordBatch], keep: Keep | None = None
) -> Iterator[PartRead]:
    """Checked rows that come in batches, a part at a time; the last part may be smaller.

    keep: puts a file of shown fields; None: they are only digested.
    """
    waiting: list[pa.RecordBatch] = []
    held = 0
    fields: ShownFields | None = None
    for batch in batches:
        names = batch.schema.names
        shown = [name for name in names if name.startswith(SHOWN)]
        start = 0
        while start < len(batch):
            rows = batch.slice(start, frozen.PART_ROWS - held)
            fields = fields or ShownFields(shown, keep)
            if shown:
                fields.add(rows.select(shown))
            waiting.append(rows.select(names[: len(names) - len(shown)]))
            start, held = start + len(rows), held + len(rows)
            if held == frozen.PART_ROWS:
                yield _part(waiting, fields)
                waiting, held, fields = [], 0, None
    if held and fields:
        yield _part(waiting, fields)


def _part(waiting: list[pa.RecordBatch], fields: ShownFields) -> PartRead:
    digests = fields.finished()
    return PartRead(pa.Table.from_batches(waiting).combine_chunks(), digests, tuple(fields.files))


def _text_bytes(column: pa.StringArray) -> memoryview:
    ends, text = ends_of(column), column.buffers()[2]
    return memoryview(b"") if text is None else memoryview(text)[ends[0] : ends[-1]]


def shown_keys(evaluation: str, number: int, part: FrozenPart) -> list[str]:
    """The keys in the ledger of the files with the shown fields of one part, in order of its rows; `number`
    is that of the part."""
    return [layout.pool_shown(evaluation, number, i, file.file) for i, file in enumerate(part.shown)]


def digests_of_shown(store: Store, keys: Sequence[str], display: Sequence[str]) -> list[list[str]]:
    """Of the shown fields of a part, as `ShownFields.finished`. Raises DamagedRecord, KeyMissing."""
    fields = ShownFields([SHOWN + name for name in display])
    for key in keys:
        try:
            for batch in read_part_file(pa.BufferReader(store.get(key))).to_batches():
                fields.add(batch)
        except (NotAPart, KeyError) as error:
            raise record.damaged(key, str(error)) from None
    return fields.finished()


def shown_of(
    store: Store, manifest: Manifest, display: Sequence[str], rows: Sequence[FrozenRow]
) -> list[dict[str, str]]:
    """What people see of these items: display column -> text, in the order of the spec.

    Reads the groups that hold them; many files at once, as a store waits. Raises DamagedRecord, KeyMissing.
    """
    if not display:
        return [{} for _ in rows]
    of_file: defaultdict[tuple[int, int], dict[int, int]] = defaultdict(dict)   # file -> row -> place in it
    for row in rows:
        part, place = divmod(row.row, frozen.PART_ROWS)
        starts = list(accumulate((file.rows for file in manifest.parts[part].shown), initial=0))
        number = int(np.searchsorted(starts[1:], place, side="right"))
        of_file[part, number][row.row] = place - starts[number]
    columns = [SHOWN + name for name in display]

    def read_texts(file: tuple[int, int]) -> dict[int, dict[str, str]]:
        part, number = file
        key = shown_keys(manifest.evaluation, part, manifest.parts[part])[number]
        places = sorted(of_file[file].items())
        with open_reader(store, key) as stream:
            try:
                table = read_rows_of(stream, [place for _, place in places]).select(columns)
            except (NotAPart, KeyError) as error:
                raise record.damaged(key, str(error)) from None
        texts = zip(*(column.to_pylist() for column in table.columns), strict=True)
        return {
            row: dict(zip(display, values, strict=True))
            for (row, _), values in zip(places, texts, strict=True)
        }

    by_row: dict[int, dict[str, str]] = {}
    with ThreadPoolExecutor(_THREADS_AT_ONCE if len(of_file) >= _MANY_FILES else 1) as threads:
        for piece in threads.map(read_texts, of_file):
            by_row |= piece
    return [by_row[row.row] for row in rows]


_MANY_PARTS = 4    # that are worth threads


class PoolIndex:
    """The items of one frozen pool, found by cell and rank: their rows, and what people are shown of them.

    Finds the item at a rank of a cell, and the fields of it that people see.

    Statistics address an item by its cell and its place in the cell; the ledger holds which row that is, and
    the frozen parts what the row is. Both are read by ranges, and so is what people see: a round costs what
    its items cost, whatever the size of the pool.
    """

    def __init__(self, ledger: Ledger, manifest: Manifest, cells: CellSizes) -> None:
        """`cells` of the partition that the manifest names."""
        self._ledger = ledger
        self._manifest = manifest
        self._sizes = cells.size
        self._finder = RowFinder(ledger.store, manifest, cells.size)
        self._segments = manifest.segment_names

    def rows(self, cells: Ints, ranks: Ints) -> list[FrozenRow]:
        """The items at (cell, rank), in the order asked; the same item may be asked for twice.

        Raises ValueError for a cell or rank that is not there, DamagedRecord if the ledger is not whole.
        """
        cells, ranks = np.asarray(cells, np.int64), np.asarray(ranks, np.int64)
        if len(cells) == 0:
            return []
        if cells.min() < 0 or cells.max() >= len(self._sizes):
            raise ValueError(f"cells must lie in 0..{len(self._sizes) - 1}")
        if (ranks < 0).any() or (ranks >= self._sizes[cells]).any():
            raise ValueError("a rank must be at least 0 and below the size of its cell")
        numbers = self._finder.rows(cells, ranks)
        of_part: defaultdict[int, list[int]] = defaultdict(list)
        for number in sorted(set(numbers.tolist())):
            of_part[number // PART_ROWS].append(number)
        rows: dict[int, FrozenRow] = {}
        for part_numbers, read in zip(of_part.values(), self._read(of_part), strict=True):
            for number, values in zip(part_numbers, read.to_pylist(), strict=True):
                rows[number] = frozen_row(number, values, self._segments)
        return [rows[number] for number in numbers.tolist()]

    def _read(self, of_part: Mapping[int, Sequence[int]]) -> Iterator[pa.Table]:
        """The rows of each part, numbered over the whole pool. Many parts are read at once: a store waits."""
        part_keys = self._manifest.part_keys

        def read_part(part: int) -> pa.Table:
            return read_part_rows(
                self._ledger.store, part_keys[part], [number % PART_ROWS for number in of_part[part]]
            )

        if len(of_part) < _MANY_PARTS:
            yield from map(read_part, of_part)
            return
        with ThreadPoolExecutor(_THREADS_AT_ONCE) as threads:
            yield from threads.map(read_part, of_part)

    def shown(self, spec: Spec, rows: Sequence[FrozenRow]) -> list[dict[str, str]]:
        """What people see of these items: display column -> text, in the order of the spec.

        Raises DamagedRecord if the ledger is not whole.
        """
        return shown_of(self._ledger.store, self._manifest, spec.pool.display, rows)


BRIDGED = 65_536       # numbers that it is cheaper to read than to skip with another request
_RESTORE = "restore this key from a copy of the ledger"


class RowFinder:
    """Finds the row of an item of one frozen pool by its cell and its rank in the cell, reading only ranges
    of the ledger's files."""

    def __init__(self, store: Store, manifest: Manifest, sizes: Ints) -> None:
        """sizes (C,): items in each cell."""
        self._store, self._sizes = store, sizes
        self._starts_key, self._piece_keys = manifest.partition_keys[1], manifest.piece_keys
        self._rows = np.array([piece.rows for piece in manifest.partition.pieces], np.int64)
        self._first = np.cumsum(self._rows) - self._rows

    def rows(self, cells: Ints, ranks: Ints) -> Ints:
        """The rows (n,) at these cells and ranks (n,), which are there.

        Raises DamagedRecord naming a key that does not hold them.
        """
        shard, place = self._places(cells, ranks)
        numbers = np.empty(len(cells), np.int64)
        for number in np.unique(shard):
            mask, key = shard == number, self._piece_keys[number]
            rows = self._numbers(key, place[mask])
            if rows.max() >= self._rows[number]:
                raise DamagedRecord(f"{key}: names rows the pool does not have; {_RESTORE}")
            numbers[mask] = rows + self._first[number]
        return numbers

    def _places(self, cells: Ints, ranks: Ints) -> tuple[Ints, Ints]:
        """The shard (n,) of each item, and its place (n,) in the piece of the shard."""
        n_shards = len(self._piece_keys)
        distinct, which = np.unique(cells, return_inverse=True)
        slots = distinct[:, None] * n_shards + np.arange(2 * n_shards)
        read = self._numbers(self._starts_key, slots.ravel()).reshape(len(distinct), 2, n_shards)
        starts, counts = read[:, 0], read[:, 1] - read[:, 0]
        if (counts < 0).any() or (counts.sum(axis=1) != self._sizes[distinct]).any():
            raise DamagedRecord(f"{self._starts_key}: its cells are not those of the partition; {_RESTORE}")
        ends = np.cumsum(counts, axis=1)[which]
        shard = (ends <= ranks[:, None]).sum(axis=1)
        before = np.take_along_axis(ends - counts[which], shard[:, None], axis=1)[:, 0]
        return shard, np.take_along_axis(starts[which], shard[:, None], axis=1)[:, 0] + ranks - before

    def _numbers(self, key: str, places: Ints) -> Ints:
        """The numbers at these places of a key."""
        slots = np.unique(places)
        values = np.empty(len(slots), np.int64)
        for low, high in _close(slots):
            start, end = int(slots[low]), int(slots[high - 1]) + 1
            blob = self._store.get_range(key, start * NUMBER_BYTES, (end - start) * NUMBER_BYTES)
            if len(blob) != (end - start) * NUMBER_BYTES:
                raise DamagedRecord(f"{key}: too short; {_RESTORE}")
            values[low:high] = np.frombuffer(blob, NUMBER)[slots[low:high] - start]
        return values[np.searchsorted(slots, places)]


def _close(places: Ints) -> Iterator[tuple[int, int]]:
    """Slices of the sorted places that are close enough to be read at once."""
    breaks = np.flatnonzero(np.diff(places) > BRIDGED) + 1
    yield from pairwise([0, *breaks.tolist(), len(places)])
