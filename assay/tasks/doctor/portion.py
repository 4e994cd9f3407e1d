"""Which rows of a source are looked at: all of them, or a sample of a large source.

Of Parquet, blocks of rows spread evenly over all rows. A block begins where a row group begins, or behind the
block before it: the rows of a group cannot be reached without reading those before them. Of CSV and JSON
Lines, the first rows of files spread evenly over the files, for the same reason; how many rows there are in
all is estimated from their bytes. The same files give the same sample. Of arrays of JSON, tables and results
of queries all rows are looked at.
"""

import csv
import io
import zlib
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import accumulate
from math import ceil

from assay.tasks.sources.csv_rows import opened
from assay.tasks.sources.files.file import SourceFile, is_compressed, unreadable
from assay.tasks.sources.reader import DIVIDED, Slice, Source, SourceBatch, rows_of_units

LARGE_ROWS = 2_000_000     # of Parquet: more are sampled
LARGE_BYTES = 256 << 20    # of text, as stored: more are sampled
SAMPLE_ROWS = 1 << 20
_SAMPLE_BYTES = 128 << 20  # of text
_BLOCKS = 32
_LOOKED_INTO = 8           # files of text whose rows are counted for the estimate
_BEGINNING = 1 << 20       # bytes of each of them


@dataclass(frozen=True, slots=True, kw_only=True)
class Portion:
    """The rows of a source that the doctor looks at: all of them, or blocks spread over a large source. The
    same files always give the same sample."""

    source: Source
    sample: tuple[Slice, ...] = ()   # empty: all rows. Of a file of text, at most so many
    rows_in_all: int = 0             # with a sample: rows of the source, estimated for text

    @property
    def complete(self) -> bool:
        """Whether every row of the source is read, because no sample was taken."""
        return not self.sample

    @property
    def counted(self) -> bool:
        """Whether the rows of the source are known, and not estimated."""
        return self.complete or self.source.format in DIVIDED

    @property
    def files(self) -> tuple[SourceFile, ...]:
        """All files of the source, those that a sample reads nothing of among them."""
        return self.source.files

    def batches(self, columns: Sequence[str]) -> Iterator[SourceBatch]:
        """The rows that are looked at, in order and batch by batch, with these columns alone. Raises
        BadInput as `Source.batches` does, for what cannot be read."""
        if self.complete:
            yield from self.source.batches(columns)
        elif self.counted:
            yield from self.source.slices(self.sample, columns)
        else:
            for block in self.sample:
                yield from self._beginning(block, columns)

    def total(self, read: int) -> int:
        """The number of rows of the whole source: as many as were read where all are, else what the sample
        came with (an estimate for text), and never fewer than were read."""
        return read if self.complete else max(self.rows_in_all, read)

    def _beginning(self, block: Slice, columns: Sequence[str]) -> Iterator[SourceBatch]:
        rows_left = block.rows or 0
        for batch in self.source.slices([Slice(file=block.file)], columns):
            yield SourceBatch(
                file=batch.file, first_row=batch.first_row, columns=batch.columns.slice(0, rows_left)
            )
            rows_left -= batch.columns.num_rows
            if rows_left <= 0:
                break
        self.files[block.file].check_unchanged()


def portion_of(source: Source, *, sampling: bool) -> Portion:
    """All rows, or a sample where the source is large and `sampling` is asked for.

    Raises BadInput for a file that cannot be read, as far as that is needed.
    """
    if not sampling:
        return Portion(source=source)
    if source.format in DIVIDED:
        return _of_row_groups(source)
    if source.format == "json" or sum(file.size for file in source.files) <= LARGE_BYTES:
        return Portion(source=source)
    return _of_beginnings(source)


def _of_row_groups(source: Source) -> Portion:
    groups = [
        (number, rows) for number, file in enumerate(source.files)
        for rows in rows_of_units(file, source.format)
    ]
    starts = [0, *accumulate(rows for _, rows in groups)]      # of each group, over all files
    total = starts[-1]
    if total <= LARGE_ROWS:
        return Portion(source=source)
    first_of_file = {file: start for (file, _), start in reversed(list(zip(groups, starts, strict=False)))}
    chosen: list[Slice] = []
    end = 0
    for start, stop in _blocks(starts, total):
        for group in range(bisect_right(starts, start) - 1, len(groups)):
            low, high = max(start, starts[group]), min(stop, starts[group + 1])
            if low >= high:
                break
            file = groups[group][0]
            within = low - first_of_file[file]
            before = chosen[-1] if chosen else None
            if before and before.file == file and end == low:
                chosen[-1] = Slice(file=file, first=before.first, rows=(before.rows or 0) + high - low)
            else:
                chosen.append(Slice(file=file, first=within, rows=high - low))
            end = high
    return Portion(source=source, sample=tuple(chosen), rows_in_all=total)


def _blocks(starts: Sequence[int], total: int) -> Iterator[tuple[int, int]]:
    """First and end of each block, over all rows; none overlap."""
    long, end = ceil(SAMPLE_ROWS / _BLOCKS), 0
    for number in range(_BLOCKS):
        middle = (2 * number + 1) * total // (2 * _BLOCKS)
        start = max(starts[bisect_right(starts, middle) - 1], end)
        end = min(start + long, total)
        yield start, end


def _of_beginnings(source: Source) -> Portion:
    files = source.files
    probes = _spread(len(files), _LOOKED_INTO)
    looked = [_beginning(files[file], source.format == "csv") for file in probes]
    a_byte = sum(rows for rows, _ in looked) / max(sum(stored for _, stored in looked), 1)
    total = round(a_byte * sum(file.size for file in files))
    sample_rows = max(min(SAMPLE_ROWS, round(_SAMPLE_BYTES * a_byte)), 1)
    many = max(_BLOCKS, ceil(sample_rows * len(files) / max(total, 1)))
    chosen = _spread(len(files), many)
    block_rows = ceil(sample_rows / len(chosen))
    return Portion(
        source=source, sample=tuple(Slice(file=file, rows=block_rows) for file in chosen), rows_in_all=total
    )


def _spread(total: int, limit: int) -> list[int]:
    """At most so many of the numbers 0 to total - 1, spread evenly."""
    many = min(total, limit)
    return [(2 * i + 1) * total // (2 * many) for i in range(many)]


def _beginning(file: SourceFile, is_csv: bool) -> tuple[int, int]:
    """Rows at the beginning of a file of text, and the bytes that hold them, as stored."""
    try:
        with closing(file.open(_BEGINNING)) as raw, closing(opened(file, raw)) as stream:
            text = stream.read(_BEGINNING)
            stored = raw.tell() if is_compressed(file.path) else len(text)
    except (OSError, EOFError, zlib.error) as error:
        raise unreadable(file.path, str(error) or type(error).__name__) from None
    lines = text.count(b"\n")
    if not is_csv:
        return lines, stored
    try:    # quoted values may hold line breaks
        rows = csv.reader(io.StringIO(text.decode("utf-8-sig", errors="replace"), newline=""))
        return max(sum(1 for row in rows if row) - 1, 1), stored
    except csv.Error:
        return lines, stored
