"""Cuts the rows of a source into shards, the units in which a pool is frozen.

A shard is a run of whole parts, counted over the whole pool. What can be read by itself is a row group of
Parquet, or a whole file of text: a shard begins with the first part that begins there. About a million rows
make a shard; a row group or a file of text that has more is not divided. So where shards end follows from
the files alone, and never from how many workers there are.

A source of a few megabytes is one shard, and so is a single file of text: their rows are counted by nobody.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from assay.tasks.pool.frozen import PART_ROWS
from assay.tasks.pool.mapping import MapOver
from assay.tasks.sources.csv_rows import count_rows as count_csv
from assay.tasks.sources.files.protocol import SourceFile
from assay.tasks.sources.jsonl_rows import count_rows as count_jsonl
from assay.tasks.sources.parquet_rows import group_rows
from assay.tasks.sources.reader import Slice, Source

SHARD_ROWS = 16 * PART_ROWS
SMALL_BYTES = 16 << 20    # of all files: less is one shard
_FILES_AT_ONCE = 64       # whose rows one worker counts


@dataclass(frozen=True, slots=True, kw_only=True)
class Shard:
    """A run of whole parts."""

    number: int
    first_part: int
    slices: tuple[Slice, ...]    # where its rows are, in order


@dataclass(frozen=True, slots=True)
class _Units:
    """Counts the rows of each unit of some files; travels to workers."""

    source: Source
    column: str     # a column that every file has

    def __call__(self, files: Sequence[int]) -> list[tuple[int, ...]]:
        return [self._of(self.source.files[file]) for file in files]

    def _of(self, file: SourceFile) -> tuple[int, ...]:
        if self.source.format == "parquet":
            return tuple(group_rows(file))
        return (count_csv(file, self.column) if self.source.format == "csv" else count_jsonl(file),)


def shards_of(source: Source, column: str, map_over: MapOver) -> list[Shard]:
    """The shards of a source, one at least; column: one that every file has to have.

    Raises BadInput for a file that cannot be read, as far as that is needed.
    """
    files, text = range(len(source.files)), source.format != "parquet"
    small = sum(file.size for file in source.files) < SMALL_BYTES
    if small or (text and len(files) == 1):
        return [Shard(number=0, first_part=0, slices=tuple(Slice(file=file) for file in files))]
    some = [files[i : i + _FILES_AT_ONCE] for i in range(0, len(files), _FILES_AT_ONCE)]
    units = [rows for counted in map_over(_Units(source, column), some) for rows in counted]
    bounds = _bounds([rows for of_file in units for rows in of_file])
    starts = [0, *accumulate(sum(of_file) for of_file in units)]
    return [
        Shard(number=number, first_part=start // PART_ROWS, slices=tuple(_slices(starts, start, end)))
        for number, (start, end) in enumerate(pairwise(bounds))
    ]


def _bounds(units: Sequence[int]) -> list[int]:
    """Where shards begin, and where the last one ends, in rows from the start of the pool."""
    total, bounds = sum(units), [0]
    for end in accumulate(units):
        place = -(-end // PART_ROWS) * PART_ROWS
        if place - bounds[-1] >= SHARD_ROWS and place < total:
            bounds.append(place)
    return [*bounds, total]


def _slices(starts: Sequence[int], start: int, end: int) -> Iterator[Slice]:
    """The rows of the pool from start to end, file by file; a file without rows goes with what is before it.

    starts: where each file starts, and where the last one ends.
    """
    for file in range(max(bisect_left(starts, start) - 1, 0), len(starts) - 1):
        first, last = starts[file], starts[file + 1]
        if first > end:
            return
        low, high = max(start, first), min(end, last)
        if low < high or (first == last and (start < first or start == 0)):
            yield Slice(file=file, first=low - first, rows=max(high - low, 0))
