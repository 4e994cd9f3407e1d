"""The shards of a pool: how its rows are divided, and how the same work is done for each of them, here one
after the other, elsewhere on workers.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Protocol, TypeVar

from assay.tasks.pool.frozen import PART_ROWS
from assay.tasks.sources.csv_rows import count_csv_rows
from assay.tasks.sources.files.file import SourceFile, is_compressed
from assay.tasks.sources.json_rows import count_json_rows
from assay.tasks.sources.jsonl_rows import count_jsonl_rows
from assay.tasks.sources.marks import Mark
from assay.tasks.sources.reader import DIVIDED, Slice, Source, rows_of_units

A = TypeVar("A")
B = TypeVar("B")


class MapOver(Protocol):
    """Does `work` for each of `over`; the results come in the order of `over`, whatever ends first.

    `work`, what it is given and what it returns are pickled where other processes do the work: a function of
    a module or a dataclass that can be called, paths and small results. It may run more than once for the
    same shard, so it has to be safe to repeat.
    """

    def __call__(self, work: Callable[[A], B], over: Sequence[A]) -> Iterator[B]:
        """Raises what `work` raises, of the first shard that fails."""
        ...


def one_after_the_other(work: Callable[[A], B], over: Sequence[A]) -> Iterator[B]:
    """The results of `work` for each piece, in order, done in this process as they are asked for: the
    plainest `MapOver`."""
    return map(work, over)


@contextmanager
def stopping(results: Iterator[B]) -> Iterator[Iterator[B]]:
    """The results of a `MapOver`; whoever goes away before the last one sends the workers home."""
    try:
        yield results
    finally:
        if isinstance(results, Generator):
            results.close()


SHARD_ROWS = 16 * PART_ROWS
SMALL_BYTES = 16 << 20    # of all files: less is one shard
LARGE_TEXT_BYTES = 256 << 20   # a single file of text with less is one shard
_FILES_AT_ONCE = 64       # whose rows one worker counts


@dataclass(frozen=True, slots=True, kw_only=True)
class Shard:
    """A run of whole parts of the frozen pool, which one worker reads.

    How the rows of a source are cut into shards, the units in which a pool is frozen.

    A shard is a run of whole parts, counted over the whole pool. What can be read by itself is a row group of
    Parquet, or the rows of a file of text from one mark to the next: a shard begins with the first part that
    begins there. About a million rows make a shard; a row group that has more is not divided. A file of text
    without marks is not divided: one that is compressed, or whose rows cannot be told apart for certain. So
    where shards end follows from the files alone, and never from how many workers there are.

    A source of a few megabytes is one shard, and so are a table, the result of a query, and a single file of
    text that is not large: their rows are counted by nobody.
    """

    number: int
    first_part: int
    slices: tuple[Slice, ...]    # where its rows are, in order

    @property
    def rows(self) -> int:
        """How many it has, as far as that is known before it is read."""
        return sum(piece.rows or 0 for piece in self.slices)


@dataclass(frozen=True, slots=True)
class _UnitsOfFile:
    rows: tuple[int, ...]               # of each unit
    marks: tuple[Mark, ...] = ()        # where the second unit begins, and those after it; none in Parquet

    def mark_before(self, row: int) -> Mark | None:
        """The last mark from which a row of the file is reached."""
        place = bisect_right(self.marks, row, key=lambda mark: mark.row)
        return self.marks[place - 1] if place else None


@dataclass(frozen=True, slots=True)
class _Units:
    """Counts the rows of each unit of some files; travels to workers."""

    source: Source
    column: str     # a column that every file has

    def __call__(self, files: Sequence[int]) -> list[_UnitsOfFile]:
        return [self._of(self.source.files[file]) for file in files]

    def _of(self, file: SourceFile) -> _UnitsOfFile:
        if self.source.format in DIVIDED:
            return _UnitsOfFile(tuple(rows_of_units(file, self.source.format)))
        if self.source.format == "json":
            return _UnitsOfFile((count_json_rows(file),))
        counted = count_csv_rows(file, self.column) if self.source.format == "csv" else count_jsonl_rows(file)
        ends = [*(mark.row for mark in counted.marks), counted.rows]
        return _UnitsOfFile(tuple(end - start for start, end in pairwise([0, *ends])), counted.marks)


def shards_of_source(source: Source, column: str, map_over: MapOver) -> list[Shard]:
    """The shards of a source, one at least; column: one that every file has to have.

    Raises BadInput for a file that cannot be read, as far as that is needed.
    """
    files, text = range(len(source.files)), source.format not in DIVIDED
    if is_small(source) or (text and len(files) == 1 and not _is_divisible(source)):
        return [Shard(number=0, first_part=0, slices=tuple(Slice(file=file) for file in files))]
    groups = [files[i : i + _FILES_AT_ONCE] for i in range(0, len(files), _FILES_AT_ONCE)]
    units = [of_file for counted in map_over(_Units(source, column), groups) for of_file in counted]
    bounds = _bounds([rows for of_file in units for rows in of_file.rows])
    starts = [0, *accumulate(sum(of_file.rows) for of_file in units)]
    return [
        Shard(number=number, first_part=start // PART_ROWS, slices=tuple(_slices(units, starts, start, end)))
        for number, (start, end) in enumerate(pairwise(bounds))
    ]


def is_small(source: Source) -> bool:
    """Whether all files of a source have less than SMALL_BYTES (16 MiB) together, so that it is one shard."""
    return sum(file.size for file in source.files) < SMALL_BYTES


def _is_divisible(source: Source) -> bool:
    """Whether it pays to look for marks in the only file of text; an array has none."""
    (file,) = source.files
    return source.format != "json" and file.size >= LARGE_TEXT_BYTES and not is_compressed(file.path)


def _bounds(units: Sequence[int]) -> list[int]:
    """Where shards begin, and where the last one ends, in rows from the start of the pool."""
    total, bounds = sum(units), [0]
    for end in accumulate(units):
        place = -(-end // PART_ROWS) * PART_ROWS
        if place - bounds[-1] >= SHARD_ROWS and place < total:
            bounds.append(place)
    return [*bounds, total]


def _slices(
    units: Sequence[_UnitsOfFile], starts: Sequence[int], start: int, end: int
) -> Iterator[Slice]:
    """The rows of the pool from start to end, file by file; a file without rows goes with what is before it.

    starts: where each file starts, and where the last one ends.
    """
    for file in range(max(bisect_left(starts, start) - 1, 0), len(starts) - 1):
        file_start, file_end = starts[file], starts[file + 1]
        if file_start > end:
            return
        low, high = max(start, file_start), min(end, file_end)
        if low < high or (file_start == file_end and (start < file_start or start == 0)):
            mark = units[file].mark_before(low - file_start)
            yield Slice(file=file, first=low - file_start, rows=max(high - low, 0), mark=mark)
