"""What people see of each item, frozen beside the parts, so that a question never changes once it is asked.

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
from itertools import accumulate

import numpy as np
import pyarrow as pa

from assay.tasks.arrow import ends_of, lengths_of
from assay.tasks.ledger import layout, open_reader, record
from assay.tasks.ledger.manifest import SHOWN, FrozenPart, Manifest
from assay.tasks.ledger.stores.store import Store
from assay.tasks.pool import frozen
from assay.tasks.pool.frozen import FrozenRow, NotAPart, part_bytes, read_part_file, read_rows_of

FILE_BYTES = 16 << 20        # of text; the last row may go beyond
GROUP_BYTES = 64 << 10       # what reading one row costs
_GROUP_ROWS = (16, 1024)     # at least, and at most
_MANY_FILES, _AT_ONCE = 4, 8   # files that are worth threads, and how many


def shown_hash(item_id: str, shown: Mapping[str, str]) -> str:
    """128 bits, in digits, of an item's id and of what people see of it, in the order of the fields.

    BLAKE2b of the lengths of all texts in bytes (32 bits, little-endian) and then of their UTF-8: no two
    items give the same bytes. Labels of an earlier evaluation hold for items with the same one.
    """
    texts = [text.encode() for text in (item_id, *shown.values())]
    lengths = np.array([len(text) for text in texts], "<u4").tobytes()
    return blake2b(lengths + b"".join(texts), digest_size=16).hexdigest()


# Taken in while a pool is read.

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
        """Take some rows of these columns."""
        for name, lengths, texts in zip(self._names, self._lengths, self._texts, strict=True):
            column = rows.column(name)
            lengths.update(lengths_of(column).astype("<i4", copy=False).data)
            texts.update(_text_bytes(column))
        if self._keep is None:
            return
        ends = np.cumsum(sum(lengths_of(column).astype(np.int64) for column in rows.columns))
        first = 0
        while first < len(rows):
            before = int(ends[first - 1]) if first else 0
            last = int(np.searchsorted(ends, FILE_BYTES - self._held_bytes + before)) + 1
            piece = rows.slice(first, last - first)
            self._held.append(piece)
            first += len(piece)
            self._held_bytes += int(ends[first - 1]) - before
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
    seen: ShownFields | None = None
    for batch in batches:
        names = batch.schema.names
        shown = [name for name in names if name.startswith(SHOWN)]
        first = 0
        while first < len(batch):
            rows = batch.slice(first, frozen.PART_ROWS - held)
            seen = seen or ShownFields(shown, keep)
            if shown:
                seen.add(rows.select(shown))
            waiting.append(rows.select(names[: len(names) - len(shown)]))
            first, held = first + len(rows), held + len(rows)
            if held == frozen.PART_ROWS:
                yield _part(waiting, seen)
                waiting, held, seen = [], 0, None
    if held and seen:
        yield _part(waiting, seen)


def _part(waiting: list[pa.RecordBatch], seen: ShownFields) -> PartRead:
    digests = seen.finished()
    return PartRead(pa.Table.from_batches(waiting).combine_chunks(), digests, tuple(seen.files))


def _text_bytes(column: pa.StringArray) -> memoryview:
    ends, text = ends_of(column), column.buffers()[2]
    return memoryview(b"") if text is None else memoryview(text)[ends[0] : ends[-1]]


# Read back.

def shown_keys(evaluation: str, number: int, part: FrozenPart) -> list[str]:
    """The ledger keys of the shown fields of a part."""
    return [layout.pool_shown(evaluation, number, i, one.file) for i, one in enumerate(part.shown)]


def digests_of_shown(store: Store, keys: Sequence[str], display: Sequence[str]) -> list[list[str]]:
    """Of the shown fields of a part, as `ShownFields.finished`. Raises DamagedRecord, KeyMissing."""
    seen = ShownFields([SHOWN + name for name in display])
    for key in keys:
        try:
            for batch in read_part_file(pa.BufferReader(store.get(key))).to_batches():
                seen.add(batch)
        except (NotAPart, KeyError) as error:
            raise record.damaged(key, str(error)) from None
    return seen.finished()


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
        starts = list(accumulate((one.rows for one in manifest.parts[part].shown), initial=0))
        number = int(np.searchsorted(starts[1:], place, side="right"))
        of_file[part, number][row.row] = place - starts[number]
    columns = [SHOWN + name for name in display]

    def read(file: tuple[int, int]) -> dict[int, dict[str, str]]:
        part, number = file
        key = shown_keys(manifest.evaluation, part, manifest.parts[part])[number]
        wanted = sorted(of_file[file].items())
        with open_reader(store, key) as stream:
            try:
                table = read_rows_of(stream, [place for _, place in wanted]).select(columns)
            except (NotAPart, KeyError) as error:
                raise record.damaged(key, str(error)) from None
        texts = zip(*(column.to_pylist() for column in table.columns), strict=True)
        return {
            row: dict(zip(display, values, strict=True))
            for (row, _), values in zip(wanted, texts, strict=True)
        }

    found: dict[int, dict[str, str]] = {}
    with ThreadPoolExecutor(_AT_ONCE if len(of_file) >= _MANY_FILES else 1) as threads:
        for some in threads.map(read, of_file):
            found |= some
    return [found[row.row] for row in rows]
