"""Checked rows of a window, and what is counted of them beside their predictions."""

from collections import Counter
from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from assay.tasks.arrow import value_counts
from assay.tasks.pool.checked_rows import RowChecker
from assay.tasks.pool.column_kinds import ColumnKind
from assay.tasks.pool.frozen import in_parts, part_digests
from assay.tasks.sources.reader import Slice, Source
from assay.tasks.sources.values import as_text
from assay.tasks.spec.evaluation import Spec


class WindowRows:
    """One pass over the rows of some slices, which begin where a part of the frozen pool would begin."""

    def __init__(self, spec: Spec, source: Source, slices: Sequence[Slice]) -> None:
        self.rows = 0
        self.digests: list[str] = []      # of each part as it would be frozen, without provenance
        self.segments: dict[str, Counter[str]] = {name: Counter() for name in spec.pool.segments}
        self.missing = dict.fromkeys(dict.fromkeys((*spec.pool.segments, *spec.pool.display)), 0)
        self._source, self._slices = source, slices
        self._checker = RowChecker(spec, [file.path for file in source.files])

    @property
    def kinds(self) -> tuple[ColumnKind, ...]:
        """What the columns hold, as far as they were read."""
        return self._checker.kinds.found

    def parts(self) -> Iterator[pa.Table]:
        """The rows, a part at a time. Raises BadInput as freezing would."""
        for part in in_parts(self._checked()):
            self.digests.append(part_digests(part)[1])
            yield part

    def _checked(self) -> Iterator[pa.RecordBatch]:
        for batch in self._source.slices(self._slices, self._checker.columns):
            checked = self._checker.check(batch)
            self._count(batch.columns, checked)
            yield checked

    def _count(self, given: pa.RecordBatch, checked: pa.RecordBatch) -> None:
        self.rows += checked.num_rows
        for name, counts in self.segments.items():
            counts.update(value_counts(checked.column(name)))
        for name in self.missing:
            self.missing[name] += _without_value(given.column(self._checker.columns.index(name)))


def _without_value(values: pa.Array) -> int:
    """Items whose value is missing, or the empty text."""
    return int(pc.sum(pc.equal(as_text(values).fill_null(""), "")).as_py() or 0)
